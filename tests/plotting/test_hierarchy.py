import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcooc.hierarchy import explicit_tree
from skcooc.inspection import characteristic_features, node_top_features
from skcooc.plotting import HierarchyDisplay
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in
from tests.plotting.boxes import outside, overlaps

WORDS = ["algorithm", "word", "i", "classification", "Jäger", "WWW", "gyp", "$x$", "0", "of"]
NAMES = [f"{WORDS[j % 10]}{j // 10}" for j in range(30)]


@pytest.mark.parametrize(
    ("n_clusters", "n_features"), [(1, 10), (2, 5), (3, 1), (5, 10), (8, 5), (32, 1), (32, 10)]
)
def test_no_text_overlaps_another_or_is_cut_off(n_clusters, n_features):
    model = hierarchy_model(n_clusters)
    figure = HierarchyDisplay.from_estimator(
        model, NAMES, n_features=n_features, order="probable"
    ).figure_
    assert overlaps(figure) == outside(figure) == []


def test_overlaps_are_found():
    figure = HierarchyDisplay.from_estimator(hierarchy_model(8), NAMES).figure_
    for text in figure.axes[0].texts:
        text.set_fontsize(11)
    assert overlaps(figure)
    assert outside(figure)


@pytest.mark.parametrize("size", [(3, 2), (14, 11)])
def test_text_is_made_smaller_where_axes_are_small(size):
    figure, ax = plt.subplots(figsize=size)
    display = HierarchyDisplay.from_estimator(hierarchy_model(16), NAMES, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert overlaps(figure) == outside(figure) == []
    assert (display.texts_[0].get_fontsize() < 8) == (size == (3, 2))


def test_a_chain_and_nodes_with_many_children():
    chain = explicit_tree([-1, 0, 0, 1, 1, 3, 3, 5, 5, 7, 7])
    for tree in (chain, explicit_tree(EXPLICIT), explicit_tree([-1, 0, 1, 1, 1, 1])):
        model = stand_in(tree)
        figure = HierarchyDisplay.from_estimator(model, NAMES).figure_
        assert overlaps(figure) == outside(figure) == []


def test_every_node_has_its_words_and_leaves_their_numbers_at_the_right():
    model = hierarchy_model(6)
    display = HierarchyDisplay.from_estimator(model, NAMES, n_features=4, order="probable")
    expected = node_top_features(model, NAMES, n_features=4)
    assert sorted(display.texts_) == list(range(model.tree_.n_nodes))
    for node, text in display.texts_.items():
        shown = text.get_text().replace("\n", " ")
        assert shown.endswith(", ".join(expected[node]))
    for cluster, leaf in enumerate(model.tree_.leaves):
        text = display.texts_[leaf]
        assert text.get_text().startswith(f"{cluster}: ")
        parent = display.texts_[model.tree_.parents[leaf]]
        assert text.get_position()[0] > parent.get_position()[0]


def test_lines_join_nodes_to_their_children_and_cross_no_text():
    display = HierarchyDisplay.from_estimator(hierarchy_model(4))
    ends = {round(segment[-1, 1], 6) for segment in display.lines_.get_segments()}
    heights = [display.texts_[v].get_position()[1] for v in range(7)]
    assert {round(y, 6) for y in heights[1:]} <= ends  # node 0 is the root
    display = HierarchyDisplay.from_estimator(hierarchy_model(16), NAMES)
    display.figure_.draw_without_rendering()
    inverse = display.ax_.transData.inverted()
    boxes = [text.get_window_extent().transformed(inverse) for text in display.texts_.values()]
    for (x0, y0), (x1, y1) in (segment[[0, -1]] for segment in display.lines_.get_segments()):
        for box in boxes:
            apart_x = max(x0, x1) < box.x0 or min(x0, x1) > box.x1
            apart_y = max(y0, y1) < box.y0 or min(y0, y1) > box.y1
            assert apart_x or apart_y


def test_the_figure_grows_with_the_tree_and_is_drawn_again():
    sizes = [
        HierarchyDisplay.from_estimator(hierarchy_model(k)).figure_.get_size_inches()
        for k in (2, 8, 32)
    ]
    assert (np.diff(sizes, axis=0) > 0).all()
    assert (sizes[-1] < 15).all()
    display = HierarchyDisplay.from_estimator(hierarchy_model(4))
    first = display.ax_
    assert display.plot(fontsize=12) is display
    assert display.ax_ is not first
    assert display.texts_[0].get_fontsize() == 12


@pytest.mark.parametrize("max_depth", [0, 1, 2, 3, 9])
def test_the_upper_part(max_depth):
    model = hierarchy_model(8)
    display = HierarchyDisplay.from_estimator(model, max_depth=max_depth)
    drawn = np.flatnonzero(model.tree_.depths <= max_depth)
    assert sorted(display.texts_) == drawn.tolist()
    for node, text in display.texts_.items():
        cut = model.tree_.depths[node] == max_depth and node not in model.tree_.leaves
        assert text.get_text().endswith("…") == cut
    assert overlaps(display.figure_) == outside(display.figure_) == []


def test_words_are_characteristic_unless_probable_ones_are_asked_for():
    model = hierarchy_model(8)
    shown = HierarchyDisplay.from_estimator(model, n_features=3).features
    assert shown == characteristic_features(model, n_features=3)
    shown = HierarchyDisplay.from_estimator(model, n_features=3, order="probable").features
    assert shown == node_top_features(model, n_features=3)
