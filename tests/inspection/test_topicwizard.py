"""What topicwizard asks of a topic model: a pipeline of texts, and nothing of ours."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, ClusterAbstraction

TEXTS = ["tea cup milk", "goal ball net", "milk sugar tea", "ball team goal"] * 10


@pytest.mark.parametrize(
    "model",
    [AspectModel(3, beta=0.9, random_state=0), ClusterAbstraction(2, beta=0.5, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_its_protocol(model):
    pipeline = make_pipeline(CountVectorizer(), model).fit(TEXTS)
    words = pipeline[0].get_feature_names_out()
    mixtures, topics = pipeline.transform(TEXTS), pipeline[-1].components_
    assert topics.shape == (mixtures.shape[1], len(words))
    assert len(pipeline[-1].get_feature_names_out()) == len(topics)
    np.testing.assert_allclose(mixtures.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_its_pictures():
    reason = "topic-wizard is not installed: it is no dependency, for it brings a web server"
    pytest.importorskip("topicwizard", reason=reason)
    from topicwizard import figures
    from topicwizard.pipeline import make_topic_pipeline

    model = AspectModel(3, beta=0.9, random_state=0)
    data = make_topic_pipeline(CountVectorizer(), model).fit(TEXTS).prepare_topic_data(TEXTS)
    np.testing.assert_array_equal(data["topic_term_matrix"], model.components_)
    assert data["document_topic_matrix"].shape == (len(TEXTS), 3)
    assert len(figures.topic_barcharts(data).data) == 6
