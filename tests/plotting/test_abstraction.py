import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcooc.hierarchy import binary_tree, explicit_tree
from skcooc.plotting import AbstractionDisplay
from tests.inspection.planted import EXPLICIT, hierarchy_model
from tests.plotting.boxes import outside, overlaps


def test_shares_are_those_of_the_nodes_given_the_word():
    model = hierarchy_model(4)
    display = AbstractionDisplay.from_estimator(model, "x3")
    joint = model.node_weights_ * model.components_[:, 3]
    np.testing.assert_allclose(display.shares, joint / joint.sum())
    assert display.name == display.ax_.get_title() == "x3"
    for feature in ("tea", 1, np.int64(1), -2):
        model, names = hierarchy_model(2, n_columns=3), ["cup", "tea", "wine"]
        assert AbstractionDisplay.from_estimator(model, feature, names).name == "tea"
    figure, axes = plt.subplots(1, 2)
    display = AbstractionDisplay.from_estimator(hierarchy_model(), 0, ax=axes[1], cmap="Reds")
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert display.circles_.get_cmap().name == "Reds"


def test_areas_and_colours_are_the_shares_and_large_ones_are_written():
    shares = np.array([0.55, 0.3, 0.08, 0.07, 0.0])
    display = AbstractionDisplay(binary_tree(3), shares, "tea").plot()
    sizes = display.circles_.get_sizes()
    np.testing.assert_allclose(sizes / sizes.sum(), shares)
    np.testing.assert_array_equal(display.circles_.get_array(), shares)
    assert {v: text.get_text() for v, text in display.texts_.items()} == {0: "55%", 1: "30%"}
    assert set(display.plot(label_from=0.07).texts_) == {0, 1, 2, 3}
    assert display.plot(label_from=2).texts_ == {}


def test_the_root_is_at_the_top_the_leaves_above_their_numbers_and_lines_between():
    tree = explicit_tree(EXPLICIT)
    display = AbstractionDisplay(tree, np.full(7, 1 / 7), "tea").plot()
    x, y = np.transpose(display.circles_.get_offsets())
    np.testing.assert_array_equal(y, -tree.depths)
    ticks = dict(zip(display.ax_.get_xticks(), display.ax_.get_xticklabels(), strict=True))
    assert [ticks[x[leaf]].get_text() for leaf in tree.leaves] == ["0", "1", "2", "3", "4"]
    display = AbstractionDisplay(binary_tree(5), np.full(9, 1 / 9), "tea").plot()
    places, parents = np.array(display.circles_.get_offsets()), binary_tree(5).parents
    for node, segment in zip(range(1, 9), display.lines_.get_segments(), strict=True):
        np.testing.assert_allclose(segment[[0, -1]], places[[parents[node], node]])


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 8, 32])
@pytest.mark.parametrize("size", [None, (5.5, 3.5), (9.4, 2.5)])
def test_no_text_overlaps_another_or_is_cut_off(n_clusters, size):
    """With half of the shares in the lowest level, side by side, and half above."""
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    tree = binary_tree(n_clusters)
    shares = np.zeros(tree.n_nodes)
    shares[-5:] += 0.1
    shares[tree.parents[-5:]] += 0.1
    display = AbstractionDisplay(tree, shares, "word").plot(ax)
    assert len(display.texts_) == (shares >= 0.1).sum()
    assert overlaps(display.figure_) == outside(display.figure_) == []
