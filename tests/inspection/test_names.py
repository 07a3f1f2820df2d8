"""Names of topics: made, set by users, shown, and kept or forgotten."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import AspectModel, ClusterAbstraction, RowMemory, inspection
from skcooc.hierarchy import binary_tree
from skcooc.inspection import describe, explore, export_dict, name_topics, set_names, top_features
from skcooc.plotting import HierarchyDisplay, SplitsDisplay
from tests.inspection import pages
from tests.inspection.planted import stand_in
from tests.plotting.test_splits import SPLITS

X = np.random.default_rng(0).poisson(2.0, (20, 7))
pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")


@pytest.fixture
def model():
    return AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(X)


def test_made_names_differ_and_the_largest_topic_has_the_first_choice():
    model = pages.stand_in(pages.table())
    model.components_[1] = model.components_[0]
    weights = model.row_distribution_ @ model.embedding_
    names = name_topics(model, pages.WORDS, n_features=2)
    assert len(set(names)) == 3
    large, less = sorted([0, 1], key=lambda k: -weights[k])
    assert len(names[large].split(" · ")) == 2
    assert names[less].startswith(names[large])
    model.components_ = np.ones((3, 1))  # nothing is characteristic
    assert name_topics(model) == ["topic 0", "topic 1", "topic 2"]


def test_names_are_kept_until_another_fit_and_those_of_a_page_can_be_set(model):
    plain = ["aspectmodel0", "aspectmodel1", "aspectmodel2"]
    assert model.get_feature_names_out().tolist() == plain
    automatic = name_topics(model)
    assert set_names(model, {1: "mine", "2": automatic[0]}) is model
    names = ["aspectmodel0", "mine", automatic[0]]
    for same in (model, pickle.loads(pickle.dumps(model))):
        assert same.get_feature_names_out().tolist() == names
        assert name_topics(same)[1:] == describe(same)["name"].tolist()[1:] == names[1:]
        assert name_topics(same)[0] not in names  # another one than has been set
    frame = model.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == names
    assert describe(model, names={1: "here"})["name"].tolist()[1:] == ["here", automatic[0]]
    assert not hasattr(clone(model), "component_names_")
    assert model.fit(X).get_feature_names_out().tolist() == plain
    assert set_names(set_names(model, list("abc")), None).get_feature_names_out().tolist() == plain
    exported = {"0": "one", "1": "two", "2": "three"}
    shown = explore(set_names(model, exported), X, names={"0": "given"}).shown["topics"]
    assert [topic["name"] for topic in shown] == ["given", "two", "three"]


def test_names_of_the_model_inside():
    pipeline = make_pipeline(FunctionTransformer(), AspectModel(2, beta=0.9, max_iter=5))
    set_names(pipeline.fit(X), ["x", "y"])
    assert pipeline[-1].get_feature_names_out().tolist() == ["x", "y"]
    leaves = ClusterAbstraction(2, beta=0.5, max_iter=5, random_state=0)
    memory = RowMemory(leaves, concentration=1, discount=0, smoothing=0).fit(X)
    set_names(memory, ["root", "left", "right"])
    assert memory.get_feature_names_out().tolist() == ["root", "left", "right"]
    assert export_dict(memory)["name"] == "root"
    lda = set_names(LatentDirichletAllocation(2, max_iter=1).fit(X), ["a", "b"])
    assert lda.component_names_ == {0: "a", 1: "b"}


def test_names_of_nodes_stand_before_their_words():
    model, words = stand_in(binary_tree(5), splits_=SPLITS), [f"w{j}" for j in range(30)]
    plain = inspection.export_text(model, words).splitlines()
    root, leaf = model.tree_.preorder[0], model.tree_.leaves[2]
    set_names(model, {root: "all of it", leaf: "a leaf"})
    lines = inspection.export_text(model, words).splitlines()
    assert lines[0] == plain[0].replace("|--- ", "|--- all of it: ")
    assert lines[1:] == [line.replace("cluster 2: ", "cluster 2: a leaf: ") for line in plain[1:]]
    drawn = HierarchyDisplay.from_estimator(model, words)
    assert drawn.texts_[root].get_text().startswith("all of it: ")
    assert drawn.texts_[leaf].get_text().startswith("2: a leaf: ")
    given = HierarchyDisplay.from_estimator(model, words, names={0: "other"}, n_features=0)
    assert given.texts_[0].get_text() == "other"
    words_of = top_features(model, words, n_features=3)
    labels = SplitsDisplay.from_estimator(model, words, order="probable").labels
    expected = [", ".join(words_of[node]) for node in model.tree_.leaves]
    assert labels == [*expected[:2], "a leaf", *expected[3:]]


def test_invalid_names(model):
    for names, message in (
        (["a"], "1 entries, but there are 3 topics"),
        ("abc", "3 entries"),
        ({3: "a"}, "names has 3, but topics are 0 to 2"),
        ({"tea": "a"}, "names has tea, but topics are 0 to 2"),
        ({0: "a", 1: "a"}, "all different"),
        ({0: ""}, "none empty"),
    ):
        with pytest.raises(ValueError, match=message):
            set_names(model, names)
        assert not hasattr(model, "component_names_")
    with pytest.raises(TypeError, match=r"got 5\. Did you mean n_features=5\?"):
        describe(model, 5)
    with pytest.raises(TypeError, match="n_rows=5"):
        describe(model, None, 5)
