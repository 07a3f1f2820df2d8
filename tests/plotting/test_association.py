import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage

from skcooc import SymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import to_linkage
from skcooc.inspection.features import association_ratios, cluster_orders
from skcooc.plotting import AssociationDisplay
from skcooc.plotting.association import LIMIT, MatrixSide
from skcooc.plotting.dendrograms import leaf_order
from tests.plotting.common import assert_legible

X = make_cooccurrences(60, 40, 4, kind="coclusters", random_state=0).X


@pytest.fixture(scope="module", params=[{"hard": True}, {"beta": 0.4}], ids=repr)
def model(request):
    return SymmetricClustering(4, 5, **request.param, random_state=0).fit(X)


def literal_orders(joint):
    C, D = joint.shape
    pi_c, pi_d = joint.sum(axis=1), joint.sum(axis=0)
    rows = sorted(range(C), key=lambda c: -pi_c[c])

    def place(d):
        parts = [joint[c, d] * np.log(joint[c, d] / (pi_c[c] * pi_d[d])) for c in rows]
        return parts.index(max(parts)), -max(parts)

    return rows, sorted(range(D), key=place)


def test_orders_against_the_definition_and_empty_clusters():
    rng = np.random.default_rng(0)
    for shape in [(5, 5), (3, 8), (8, 3), (1, 4)]:
        joint = rng.dirichlet(np.full(shape[0] * shape[1], 0.3)).reshape(shape)
        rows, columns = cluster_orders(joint)
        assert (rows.tolist(), columns.tolist()) == literal_orders(joint)
    joint = np.diag([0.4, 0.25, 0.15, 0.1, 0.06]) + 0.04 / 25
    shuffled = joint[rng.permutation(5)][:, rng.permutation(5)]
    rows, columns = cluster_orders(shuffled)
    np.testing.assert_array_equal(shuffled[rows][:, columns], joint)
    assert not np.array_equal(shuffled, joint)
    joint = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    expected = [[2, 0, 1], [0, 2, 1], [1, 1, 1]]
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(association_ratios(joint), expected)
        rows, columns = cluster_orders(joint)
    assert rows.tolist() == [0, 1, 2]
    assert sorted(columns.tolist()) == [0, 1, 2]


def cells(display):
    return np.asarray(display.image_.get_array()).reshape(len(display.row_order_), -1)


def log_associations(model):
    with np.errstate(divide="ignore"):
        return np.clip(np.log2(model.association_), -LIMIT, LIMIT)


def colour_at(display, x, y):
    corners = display.image_.get_coordinates()
    column = np.searchsorted(corners[0, :, 0], x) - 1
    row = len(corners) - 1 - np.searchsorted(corners[::-1, 0, 1], y)
    return cells(display)[row, column]


def test_colours_are_the_associations_sizes_the_shares_and_dots_the_counts(model):
    for scale, masses in (("counts", model.row_distribution_), ("equal", np.ones(60))):
        display = AssociationDisplay.from_estimator(model, scale=scale)
        expected = log_associations(model)[display.row_order_][:, display.column_order_]
        np.testing.assert_allclose(cells(display), expected, atol=1e-6)
        assert display.image_.get_clim() == (-LIMIT, LIMIT)
        edges = display.image_.get_coordinates()[:, 0, 1]
        heights = -np.diff(edges) / (edges[0] - edges[-1])
        sizes = np.bincount(model.row_labels_, masses, minlength=4) / masses.sum()
        np.testing.assert_allclose(heights, sizes[display.row_order_], atol=1e-6)
    np.testing.assert_allclose(display.columns.masses, X.sum(axis=0) / X.sum(), rtol=1e-4)
    display = AssociationDisplay.from_estimator(model, X)
    points = display.dots_.get_offsets()
    assert len(points) == sp.coo_array(X).nnz
    i, j, counts = display.pairs
    log2 = log_associations(model)
    colours = [colour_at(display, *point) for point in points]
    expected = log2[model.row_labels_[i], model.column_labels_[j]]
    np.testing.assert_allclose(colours, expected, atol=1e-6)
    # A twin that forgets the labels of the columns is noticed.
    wrong = log2[model.row_labels_[i], model.column_labels_[::-1][j]]
    assert not np.allclose(colours, wrong, atol=1e-6)
    areas = display.dots_.get_sizes()
    np.testing.assert_allclose(areas / counts, areas[0] / counts[0])
    before = cells(display)
    ax = plt.subplots()[1]
    assert display.plot(ax, scale="equal") is display
    assert display.ax_ is ax
    np.testing.assert_array_equal(cells(display), before)


def test_words_are_the_most_frequent_members_also_of_tied_and_empty_clusters():
    model = SymmetricClustering(4, 5, hard=True, random_state=0)
    frame = pd.DataFrame(X.toarray(), columns=[f"c{j}" for j in range(40)])
    rows = [f"r{i}" for i in range(60)]
    display = AssociationDisplay.from_estimator(model.fit(frame), frame, None, rows, n_features=3)
    assert len(display.dots_.get_offsets()) == X.nnz
    for side, labels, axis, letter in (
        (display.rows, model.row_labels_, 1, "r"),
        (display.columns, model.column_labels_, 0, "c"),
    ):
        totals = X.sum(axis=axis)
        for k, words in enumerate(side.words):
            members = np.flatnonzero(labels == k)
            best = members[np.argsort(-totals[members], kind="stable")][:3]
            assert words == [f"{letter}{i}" for i in best]
    assert display.row_texts_[2].get_text() == "2: " + ", ".join(display.rows.words[2])
    assert display.column_texts_[4].get_rotation() == 90
    display = AssociationDisplay.from_estimator(model)
    assert all(word.isdigit() for words in display.rows.words for word in words)
    square = make_cooccurrences(30, 30, 3, kind="coclusters", random_state=1).X
    model = SymmetricClustering(3, 3, hard=True, tied=True, random_state=0).fit(square)
    display = AssociationDisplay.from_estimator(model, square)
    np.testing.assert_array_equal(display.rows.labels, display.columns.labels)
    joint = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.0]])
    rows = MatrixSide(np.array([0, 1]), np.array([0.6, 0.4]), [["a"], ["b"]])
    display = AssociationDisplay(joint, rows, rows._replace(words=[["a"], ["b"], []])).plot()
    assert set(display.column_texts_) == {0, 1}
    long = rows._replace(words=[["undergraduate", "postgraduate", "graduate"], [60 * "w"]])
    texts = AssociationDisplay(joint[:, :2], rows, long).plot().column_texts_
    assert texts[0].get_text() == "0: undergraduate, postgraduate"  # not all: too tall
    assert texts[1].get_text().endswith("w…")


def leaves_below(Z):
    """The leaves of each inner node of a tree, as sets."""
    nodes = [{leaf} for leaf in range(len(Z) + 1)]
    for first, second in Z[:, :2].astype(int):
        nodes.append(nodes[first] | nodes[second])
    return nodes[len(Z) + 1 :]


def corners(lines):
    return np.array([path.vertices for path in lines.get_paths()])


def test_trees_have_no_crossings_and_join_the_middles_of_the_blocks_at_their_heights(model):
    display = AssociationDisplay.from_estimator(model, dendrograms=True)
    edges = display.image_.get_coordinates()
    down = (edges[0, 0, 1] - edges[:, 0, 1]) / (edges[0, 0, 1] - edges[-1, 0, 1])
    across = (edges[0, :, 0] - edges[0, 0, 0]) / (edges[0, -1, 0] - edges[0, 0, 0])
    of_rows, of_columns = (corners(lines) for lines in display.trees_)
    for side, order, places, lines in (
        ("rows", display.row_order_, down, of_rows),
        ("columns", display.column_order_, across, of_columns[:, :, ::-1]),
    ):
        Z = to_linkage(model, axis=side)
        for leaves in leaves_below(Z):
            drawn = [i for i, leaf in enumerate(order.tolist()) if leaf in leaves]
            assert drawn == list(range(drawn[0], drawn[0] + len(leaves)))
        np.testing.assert_allclose(lines[:, 1:3, 0], np.tile(Z[:, 2:3], 2))
        middles = dict(zip(order.tolist(), (places[:-1] + places[1:]) / 2, strict=True))
        nodes = [(0.0, middles[leaf]) for leaf in range(len(order))]
        for (first, second, height, _), path in zip(Z, lines, strict=True):
            ends = nodes[int(first)], nodes[int(second)]
            np.testing.assert_allclose(path[[0, 3]], ends, atol=1e-5)
            nodes.append((height, (ends[0][1] + ends[1][1]) / 2))
    beside, over = (lines.axes for lines in display.trees_)
    assert beside.get_xlim()[::-1] == over.get_ylim()  # one scale
    assert beside.get_xlim()[0] > max(of_rows[-1, 1, 0], of_columns[-1, 1, 1])
    assert beside.get_ylim() == (1, 0)
    assert over.get_xlim() == (0, 1)
    assert AssociationDisplay.from_estimator(model).trees_ == ()


def test_subtrees_are_as_near_to_the_order_as_can_be():
    Z = np.array([[0, 3, 1, 2], [1, 2, 2, 2], [4, 5, 3, 4]], dtype=float)
    for order, expected in (([0, 1, 2, 3], [0, 3, 1, 2]), ([1, 3, 0, 2], [3, 0, 1, 2])):
        # Of equal means the first in the tree is first.
        assert leaf_order(Z, np.array(order), np.ones(4)).tolist() == expected
    heavy = np.array([0.1, 0.1, 0.1, 9.0])
    assert leaf_order(Z, np.arange(4), heavy).tolist() == [1, 2, 0, 3]
    assert leaf_order(np.empty((0, 4)), np.array([0]), np.ones(1)).tolist() == [0]
    empty = leaf_order(Z, np.arange(4), np.array([0.0, 1.0, 1.0, 0.0]))
    assert sorted(empty.tolist()) == [0, 1, 2, 3]


def test_a_side_of_one_cluster_has_a_tree_without_merges():
    joint = np.array([[0.5, 0.3, 0.2]])
    rows = MatrixSide(np.array([0]), np.array([1.0]), [["a"]])
    columns = MatrixSide(np.arange(3), joint[0], [["a"], ["b"], ["c"]])
    for highest in (0, 5):  # nothing is lost, or something
        Z = np.array([[0, 1, 0, 2], [2, 3, highest, 3]], dtype=float)
        display = AssociationDisplay(joint, rows, columns, linkages=(np.empty((0, 4)), Z)).plot()
        assert [len(lines.get_paths()) for lines in display.trees_] == [0, 2]
        low, high = display.trees_[1].axes.get_ylim()
        assert low == 0
        assert high > highest
        assert_legible(display)


def test_texts_beside_trees_are_legible():
    rng = np.random.default_rng(0)
    for n_clusters, size, highest in ((2, None, 5e-3), (16, (6, 6), 5e4), (40, None, 3.7e6)):
        shape = n_clusters, n_clusters
        joint = rng.dirichlet(np.full(n_clusters**2, 0.2)).reshape(shape)
        words = [["government", "question", f"word{k}"] for k in range(n_clusters)]
        sides = [MatrixSide(np.arange(n_clusters), joint.sum(axis=axis), words) for axis in (1, 0)]
        tree = linkage(rng.random((n_clusters, 2)))
        tree[:, 2] *= highest / tree[-1, 2]
        ax = None if size is None else plt.subplots(figsize=size)[1]
        assert_legible(AssociationDisplay(joint, *sides, linkages=(tree, tree)).plot(ax))


def test_texts_are_legible():
    for n_clusters, size in ((2, None), (16, (6, 5)), (40, None)):
        joint = np.random.default_rng(0).dirichlet(np.full(n_clusters**2, 0.2))
        joint = joint.reshape(n_clusters, n_clusters)
        words = [["government", "question", f"word{k}"] for k in range(n_clusters)]
        sides = [MatrixSide(np.arange(n_clusters), joint.sum(axis=axis), words) for axis in (1, 0)]
        ax = None if size is None else plt.subplots(figsize=size)[1]
        assert_legible(AssociationDisplay(joint, *sides).plot(ax))
