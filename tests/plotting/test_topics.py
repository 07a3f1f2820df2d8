"""Pictures of topics and of their words."""

import numpy as np
import pytest

from skcooc import AspectModel, AveragedModels
from skcooc.inspection import characteristic_features
from skcooc.plotting import TopicsDisplay
from tests.plotting.boxes import outside, overlaps
from tests.plotting.rows import aspects

MODEL = aspects()


def test_bars_are_probabilities_and_marks_those_of_all_observations():
    display = TopicsDisplay.from_estimator(MODEL, n_features=4, topics=[2, 0])
    words = characteristic_features(MODEL, n_features=4)
    columns = MODEL.feature_names_in_.tolist()
    weights = MODEL.row_distribution_ @ MODEL.embedding_
    unigram = weights @ MODEL.components_
    for k, ax in zip([2, 0], display.axes_, strict=True):
        assert [text.get_text() for text in ax.get_yticklabels()] == words[k]
        at = [columns.index(word) for word in words[k]]
        bars = [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(bars, MODEL.components_[k, at])
        marks = [line[0, 0] for line in ax.collections[0].get_segments()]
        np.testing.assert_allclose(marks, unigram[at])
        assert ax.get_title("left").startswith(f"{weights[k]:.1%}")
    assert overlaps(display.figure_) == outside(display.figure_) == []


def test_names_and_the_largest_topics():
    display = TopicsDisplay.from_estimator(MODEL, topics=3, names=[*"abcde"], order="probable")
    weights = MODEL.row_distribution_ @ MODEL.embedding_
    largest = np.argsort(-weights)[:3]
    assert [topic.name for topic in display.topics] == ["abcde"[k] for k in largest]
    for topics in (0, [], [5], [-1]):
        with pytest.raises(ValueError, match="topics="):
            TopicsDisplay.from_estimator(MODEL, topics=topics)


def test_intervals_of_a_consensus_are_lines():
    X = MODEL.components_.repeat(4, axis=0) * 100
    average = AveragedModels(AspectModel(2, beta=0.9, max_iter=5), 3, random_state=0).fit(X)
    agreed = average.consensus_
    display = TopicsDisplay.from_estimator(agreed, n_features=3, topics=[1])
    columns = [int(word[1:]) for word in display.topics[0].features]
    lines = [[x for x, _ in line] for line in display.ax_.collections[1].get_segments()]
    np.testing.assert_allclose(lines, agreed.component_intervals_[:, 1, columns].T)
