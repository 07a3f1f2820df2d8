import re

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgba

from skcooc import AsymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.em import Split
from skcooc.hierarchy import binary_tree, division, explicit_tree
from skcooc.inspection import characteristic_features, top_features
from skcooc.inspection.palette import topic_ranks
from skcooc.plotting import AbstractionDisplay, HierarchyDisplay, SplitsDisplay, style
from skcooc.plotting.canvas import NEUTRAL, topic_colours
from skcooc.plotting.hierarchy import is_end, positions
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in
from tests.plotting.common import assert_legible, outside, overlaps, text_boxes
from tests.tables import refused

WORDS = ["algorithm", "word", "i", "classification", "Jäger", "WWW", "gyp", "$x$", "0", "of"]
NAMES = [f"{WORDS[j % 10]}{j // 10}" for j in range(30)]
CHAIN = explicit_tree([-1, 0, 0, 1, 1, 3, 3, 5, 5, 7, 7])


def test_positions_have_no_crossings_and_end_at_the_largest_depth():
    for tree in (binary_tree(1), binary_tree(7), explicit_tree(EXPLICIT)):
        places = positions(tree)
        assert sorted(places[tree.leaves]) == list(range(len(tree.leaves)))
        for node in range(tree.n_nodes):
            below = np.sort(places[tree.leaves[tree.above[:, node]]])
            assert (np.diff(below) == 1).all()
        for node in np.setdiff1d(np.arange(tree.n_nodes), tree.leaves):
            children = places[tree.children(node)]
            assert places[node] == (children.min() + children.max()) / 2
    tree = binary_tree(8)
    places = positions(tree, max_depth=2)
    np.testing.assert_array_equal(np.isnan(places), tree.depths > 2)
    assert places[tree.depths == 2].tolist() == [0, 1, 2, 3]
    assert is_end(tree, 3, 2)
    assert not is_end(tree, 3, None)


def test_texts_of_trees_are_legible():
    for n_clusters, n_features in [(1, 10), (8, 1), (20, 10)]:
        options = {"n_features": n_features, "order": "probable"}
        model = stand_in(binary_tree(n_clusters))
        assert_legible(HierarchyDisplay.from_estimator(model, NAMES, **options))
    for tree in (CHAIN, explicit_tree(EXPLICIT), explicit_tree([-1, 0, 1, 1, 1, 1])):
        assert_legible(HierarchyDisplay.from_estimator(stand_in(tree), NAMES))
    figure = HierarchyDisplay.from_estimator(hierarchy_model(8), NAMES).figure_
    for text in figure.axes[0].texts:
        text.set_fontsize(14)
    assert overlaps(figure)
    assert outside(figure, text_boxes(figure))
    for n_clusters, size in ((1, None), (32, None), (32, (9.4, 2.5))):
        ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
        tree = binary_tree(n_clusters)
        shares = np.zeros(tree.n_nodes)
        shares[-5:] += 0.1
        shares[tree.parents[-5:]] += 0.1
        display = AbstractionDisplay(tree, shares, "word").plot(ax)
        assert len(display.texts_) == (shares >= 0.1).sum()
        assert_legible(display)


def test_texts_of_splits_are_legible():
    for n_clusters, size in ((2, None), (32, None), (32, (6, 4))):
        splits = binary_splits(tuple(range(n_clusters)), 0.02)
        if size is None:
            model = stand_in(binary_tree(n_clusters), splits_=splits, beta_=0.3)
            display = SplitsDisplay.from_estimator(model)
        else:
            display = SplitsDisplay(splits).plot(plt.subplots(figsize=size)[1])
        assert_legible(display)
    for ratio in (1.001, 4, 150, 1e4):
        splits = [Split(0.0001, ((0,), (1, 2))), Split(0.0001 * ratio, ((1,), (2,)))]
        figure = SplitsDisplay(splits).plot().figure_
        assert overlaps(figure) == []
        assert len(figure.axes[0].get_xticks()) > 1


def test_text_is_smaller_on_small_axes_and_the_figure_grows_with_the_tree():
    for size in ((3, 2), (14, 11)):
        ax = plt.subplots(figsize=size)[1]
        display = HierarchyDisplay.from_estimator(hierarchy_model(8), NAMES, ax=ax)
        assert display.ax_ is ax
        assert_legible(display)
        assert (display.texts_[0].get_fontsize() < 8) == (size == (3, 2))
    displays = [HierarchyDisplay.from_estimator(stand_in(binary_tree(k))) for k in (1, 8, 32)]
    sizes = [display.figure_.get_size_inches() for display in displays]
    assert (np.diff(sizes, axis=0) > 0).all()
    assert (sizes[-1] < 15).all()
    display = displays[1]
    first = display.ax_
    assert display.plot(fontsize=12) is display
    assert display.ax_ is not first
    assert display.texts_[0].get_fontsize() == 12


def test_every_node_has_its_words_down_to_a_depth():
    model = hierarchy_model(8)
    display = HierarchyDisplay.from_estimator(model, NAMES, n_features=4, order="probable")
    expected = top_features(model, NAMES, n_features=4)
    assert display.features == expected
    assert sorted(display.texts_) == list(range(model.tree_.n_nodes))
    for node, text in display.texts_.items():
        assert text.get_text().replace("\n", " ").endswith(", ".join(expected[node]))
    for cluster, leaf in enumerate(model.tree_.leaves):
        text = display.texts_[leaf]
        assert text.get_text().startswith(f"{cluster}: ")
        parent = display.texts_[model.tree_.parents[leaf]]
        assert text.get_position()[0] > parent.get_position()[0]
    shown = HierarchyDisplay.from_estimator(model, n_features=3).features
    assert shown == characteristic_features(model, n_features=3)
    model = hierarchy_model(4)
    widths = HierarchyDisplay.from_estimator(model).lines_.get_linewidths()
    joint = model.node_weights_
    below = joint[[1, 3, 4]].sum(), joint[[2, 5, 6]].sum()
    np.testing.assert_allclose(widths[:2], 8 * np.array(below))
    np.testing.assert_allclose(sorted(widths[2:]), sorted(np.maximum(8 * joint[3:], 0.6)))
    model = hierarchy_model(8)
    for max_depth in (0, 1, 9):
        display = HierarchyDisplay.from_estimator(model, max_depth=max_depth)
        drawn = np.flatnonzero(model.tree_.depths <= max_depth)
        assert sorted(display.texts_) == drawn.tolist()
        for node, text in display.texts_.items():
            cut = model.tree_.depths[node] == max_depth and node not in model.tree_.leaves
            assert text.get_text().endswith("…") == cut
        assert_legible(display)


def test_clusters_have_the_colours_of_their_topics_where_their_lines_end():
    model = hierarchy_model(8)
    display = HierarchyDisplay.from_estimator(model)
    with style():
        colours = topic_colours(topic_ranks(model.node_weights_))
    nodes = list(display.texts_)
    places = dict(zip(nodes, display.circles_.get_offsets().tolist(), strict=True))
    drawn = dict(zip(nodes, display.circles_.get_facecolors().tolist(), strict=True))
    for node in nodes:
        is_leaf = node in model.tree_.leaves
        assert tuple(drawn[node]) == to_rgba(colours[node] if is_leaf else NEUTRAL)
        left, height = display.texts_[node].get_position()
        assert places[node][0] < left
        assert places[node][1] == height
    ends = [segment[-1].tolist() for segment in display.lines_.get_segments()]
    assert sorted(ends) == sorted(place for node, place in places.items() if node != 0)


def test_names_and_words_are_cut_one_by_one():
    tree = binary_tree(2)
    words = [["cup"], ["egypt"], ["w" * 50]]
    names = {1: "Deuteronomy or Numbers", 2: "n" * 50}
    texts = HierarchyDisplay(tree, words, names=names).plot().texts_
    assert re.fullmatch("0: Deuteronomy.*…: egypt", texts[1].get_text())
    assert texts[2].get_text().count("…") == 2


def test_shares_of_a_word_are_areas_at_their_levels():
    model = hierarchy_model(8)
    display = AbstractionDisplay.from_estimator(model, "x3")
    joint = model.node_weights_ * model.components_[:, 3]
    np.testing.assert_allclose(display.shares, joint / joint.sum())
    assert display.name == display.ax_.get_title() == "x3"
    model, names = stand_in(n_columns=3), ["cup", "tea", "wine"]
    for feature in ("tea", 1, np.int64(1), -2):
        assert AbstractionDisplay.from_estimator(model, feature, names).name == "tea"
    ax = plt.subplots()[1]
    display = AbstractionDisplay.from_estimator(model, 0, ["a", "b", "c"], ax=ax, cmap="Reds")
    assert display.ax_ is ax
    assert display.circles_.get_cmap().name == "Reds"
    shares = np.array([0.55, 0.3, 0.08, 0.07, 0.0])
    display = AbstractionDisplay(binary_tree(3), shares, "tea").plot()
    sizes = display.circles_.get_sizes()
    np.testing.assert_allclose(sizes / sizes.sum(), shares)
    np.testing.assert_array_equal(display.circles_.get_array(), shares)
    assert {v: text.get_text() for v, text in display.texts_.items()} == {0: "55%", 1: "30%"}
    assert set(display.plot(label_from=0.07).texts_) == {0, 1, 2, 3}
    assert display.plot(label_from=2).texts_ == {}
    tree = explicit_tree(EXPLICIT)
    display = AbstractionDisplay(tree, np.full(7, 1 / 7), "tea").plot()
    x, y = np.transpose(display.circles_.get_offsets())
    np.testing.assert_array_equal(y, -tree.depths)
    ticks = dict(zip(display.ax_.get_xticks(), display.ax_.get_xticklabels(), strict=True))
    assert [ticks[x[leaf]].get_text() for leaf in tree.leaves] == ["0", "1", "2", "3", "4"]
    nodes = np.flatnonzero(tree.parents >= 0)
    for node, segment in zip(nodes, display.lines_.get_segments(), strict=True):
        ends = [[x[v], y[v]] for v in (tree.parents[node], node)]
        np.testing.assert_allclose(segment[[0, -1]], ends)


PARTS = {0.02: ((0, 2, 3, 4), (1,)), 0.03: ((0, 4), (2, 3)), 0.08: ((2,), (3,))}
SPLITS = [Split(beta, parts) for beta, parts in PARTS.items()]


def leaf_names(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def binary_splits(clusters, beta):
    """Halves of halves, beta growing by a quarter each time."""
    if len(clusters) < 2:
        return []
    half = len(clusters) // 2
    parts = clusters[:half], clusters[half:]
    below = [split for part in parts for split in binary_splits(part, 1.25 * beta)]
    return sorted([Split(beta, parts), *below], key=lambda split: split.beta)


def test_groups_are_divided_and_drawn_where_the_splits_say():
    tree, groups, betas = division(SPLITS)
    assert groups == [(0, 1, 2, 3, 4), (0, 2, 3, 4), (1,), (0, 4), (2, 3), (2,), (3,)]
    assert tree.parents.tolist() == [-1, 0, 0, 1, 1, 4, 4]
    np.testing.assert_array_equal(betas, [0.02, 0.03, np.nan, np.nan, 0.08, np.nan, np.nan])
    tree, _, _ = division([Split(0.1, ((0,), (1,), (2,)))])
    assert tree.parents.tolist() == [-1, 0, 0, 0]
    splits = [Split(0.1, ((0, 1), (2,))), Split(0.2, ((0,), (1, 2))), Split(0.3, ((1,), (2,)))]
    tree, groups, betas = division(splits)
    assert groups == [(0, 1, 2), (0, 1), (2,), (0,), (1,)]
    np.testing.assert_array_equal(betas, [0.1, 0.2, np.nan, np.nan, np.nan])
    assert len(tree.leaves) == 3
    display = SplitsDisplay(SPLITS, beta=0.2).plot()
    segments = np.array([np.asarray(s) for s in display.lines_.get_segments()])
    vertical = segments[segments[:, 0, 0] == segments[:, 1, 0]]
    assert sorted(vertical[:, 0, 0]) == [0.02, 0.03, 0.08]
    horizontal = segments[segments[:, 0, 1] == segments[:, 1, 1]]
    assert len(horizontal) == 7
    assert (horizontal[:, 1, 0] == 0.2).sum() == 4  # clusters go on to the end
    assert horizontal[:, 0, 0].min() < 0.02
    assert display.ax_.get_xscale() == "log"
    assert leaf_names(display) == ["1", "0, 4", "2", "3"]


def test_the_words_of_clusters_are_those_of_leaves_also_if_annealed():
    model = stand_in(binary_tree(5), splits_=SPLITS, beta_=0.1)
    words = np.array(top_features(model, n_features=2), dtype=object)[model.tree_.leaves]
    names = leaf_names(SplitsDisplay.from_estimator(model, n_features=2, order="probable"))
    for name, cluster in zip(names, [1, 0, 2, 3], strict=True):
        assert name.endswith(": " + ", ".join(words[cluster]))
    assert leaf_names(SplitsDisplay.from_estimator(model, n_features=0))[0] == "1"
    X = make_cooccurrences(60, 40, 4, kind="clusters", random_state=0).X
    model = AsymmetricClustering(4, beta=0.2, annealing=1.5, random_state=0).fit(X)
    display = SplitsDisplay.from_estimator(model)
    drawn = {betas for betas in display.division_.betas if not np.isnan(betas)}
    assert drawn == {split.beta for split in model.splits_}
    assert display.ax_.get_xlim()[1] >= model.beta_
    assert len(leaf_names(display)) == 4


def test_names_of_leaves_or_of_nodes_and_lists_of_another_length_are_refused():
    tree = binary_tree(4)
    model = stand_in(tree)
    names = np.array(["tea", "wine", "ale", "milk"])
    of_clusters = {f"cluster {c}": name for c, name in enumerate(names)}
    for named in (names, names.tolist(), of_clusters):
        display = HierarchyDisplay.from_estimator(model, names=named)
        assert {node: str(name) for node, name in display.names.items()} == dict(
            zip(tree.leaves.tolist(), names.tolist(), strict=True)
        )
    assert HierarchyDisplay.from_estimator(model, names=list("abcdefg")).names[6] == "g"
    for wrong, n in ((list("abc"), 3), ("tea", 1), (list("abcde"), 5)):
        message = f"names has {n} entries, but the tree has 7 nodes and 4 leaves"
        refused(message, HierarchyDisplay.from_estimator, model, names=wrong)
    labels = [*names, "water"]
    model = stand_in(binary_tree(5), splits_=SPLITS)
    shown = leaf_names(SplitsDisplay.from_estimator(model, names=labels))
    assert shown[0].endswith(f": {labels[int(shown[0][0])]}")
    refused(
        "labels has 2 entries, but the splits are of 5", SplitsDisplay(SPLITS, labels="ab").plot
    )
