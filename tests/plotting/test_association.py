import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skcooc import SymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.plotting import AssociationDisplay
from skcooc.plotting.arrangement import Side
from skcooc.plotting.association import LIMIT
from tests.plotting.boxes import outside, overlaps


@pytest.fixture(scope="module")
def data():
    return make_cooccurrences(60, 40, 4, kind="coclusters", random_state=0)


@pytest.fixture(scope="module", params=["hard", "soft"])
def model(request, data):
    options = {"hard": True} if request.param == "hard" else {"beta": 0.4}
    return SymmetricClustering(4, 5, **options, n_init=2, random_state=0).fit(data.X)


def cells(display):
    """The colours of the blocks, (C, D), as they are seen from the top left."""
    return np.asarray(display.image_.get_array()).reshape(len(display.row_order_), -1)


def log_associations(model):
    with np.errstate(divide="ignore"):
        return np.clip(np.log2(model.association_), -LIMIT, LIMIT)


def at(display, x, y):
    """Value of the colour at a point."""
    corners = display.image_.get_coordinates()
    column = np.searchsorted(corners[0, :, 0], x) - 1
    row = len(corners) - 1 - np.searchsorted(corners[::-1, 0, 1], y)
    return cells(display)[row, column]


def test_colours_are_the_associations_and_masses_shares(model, data):
    display = AssociationDisplay.from_estimator(model)
    expected = log_associations(model)[display.row_order_][:, display.column_order_]
    np.testing.assert_allclose(cells(display), expected, atol=1e-6)
    assert display.image_.get_clim() == (-LIMIT, LIMIT)
    np.testing.assert_allclose(display.columns.masses, data.X.sum(axis=0) / data.X.sum(), rtol=1e-4)


def test_every_dot_is_in_the_block_of_its_clusters_its_area_the_count(model, data):
    display = AssociationDisplay.from_estimator(model, data.X)
    X = sp.coo_array(data.X)
    points = display.dots_.get_offsets()
    assert len(points) == X.nnz
    i, j, _ = display.pairs
    log2 = log_associations(model)
    found = [at(display, *point) for point in points]
    expected = log2[model.row_labels_[i], model.column_labels_[j]]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # A twin that forgets the labels of the columns is found out.
    wrong = log2[model.row_labels_[i], model.column_labels_[::-1][j]]
    assert not np.allclose(found, wrong, atol=1e-6)
    areas, counts = display.dots_.get_sizes(), display.pairs[2]
    np.testing.assert_allclose(areas / counts, areas[0] / counts[0])
    before = cells(display)
    figure, ax = plt.subplots()
    assert display.plot(ax, scale="objects") is display
    assert display.figure_ is figure
    np.testing.assert_array_equal(cells(display), before)


def test_sizes_of_blocks(model):
    for scale, masses in (("observations", model.row_distribution_), ("objects", np.ones(60))):
        display = AssociationDisplay.from_estimator(model, scale=scale)
        edges = display.image_.get_coordinates()[:, 0, 1]
        heights = -np.diff(edges) / (edges[0] - edges[-1])
        sizes = np.bincount(model.row_labels_, masses, minlength=4) / masses.sum()
        np.testing.assert_allclose(heights, sizes[display.row_order_], atol=1e-6)


def test_words_are_the_most_frequent_members(data):
    model = SymmetricClustering(4, 5, hard=True, random_state=0).fit(data.X)
    rows, columns = [f"r{i}" for i in range(60)], [f"c{j}" for j in range(40)]
    display = AssociationDisplay.from_estimator(model, None, columns, rows, n_features=3)
    sides = (display.rows, display.columns)
    labellings = (model.row_labels_, model.column_labels_)
    for side, labels, axis, letter in zip(sides, labellings, (1, 0), "rc", strict=True):
        totals = data.X.sum(axis=axis)
        for k, words in enumerate(side.words):
            members = np.flatnonzero(labels == k)
            best = members[np.argsort(-totals[members], kind="stable")][:3]
            assert words == [f"{letter}{i}" for i in best]
    assert display.row_texts_[2].get_text() == "2: " + ", ".join(display.rows.words[2])
    assert display.column_texts_[4].get_rotation() == 90


def test_names_without_any_given(data):
    model = SymmetricClustering(2, 2, hard=True, random_state=0)
    frame = pd.DataFrame(data.X.toarray(), columns=[f"word {j}" for j in range(40)])
    display = AssociationDisplay.from_estimator(model.fit(frame), frame)
    assert all(word.startswith("word ") for words in display.columns.words for word in words)
    assert all(word.isdigit() for words in display.rows.words for word in words)
    assert len(display.dots_.get_offsets()) == data.X.nnz


def test_a_tied_clustering():
    X = make_cooccurrences(30, 30, 3, kind="coclusters", random_state=1).X
    model = SymmetricClustering(3, 3, hard=True, tied=True, random_state=0).fit(X)
    display = AssociationDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.rows.labels, display.columns.labels)


def test_a_cluster_without_members_has_no_words():
    joint = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.0]])
    rows = (np.array([0, 1]), np.array([0.6, 0.4]), [["a"], ["b"]])
    columns = (np.array([0, 1]), np.array([0.6, 0.4]), [["a"], ["b"], []])
    display = AssociationDisplay(joint, Side(*rows), Side(*columns)).plot()
    assert set(display.column_texts_) == {0, 1}


@pytest.mark.parametrize("size", [None, (6, 5)])
@pytest.mark.parametrize("n_clusters", [2, 16, 40])
def test_no_text_overlaps_another_or_is_cut_off(n_clusters, size):
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(n_clusters**2, 0.2)).reshape(n_clusters, n_clusters)
    sides = []
    for masses in (joint.sum(axis=1), joint.sum(axis=0)):
        words = [["government", "question", f"word{k}"] for k in range(n_clusters)]
        sides.append(Side(np.arange(n_clusters), masses, words))
    ax = None if size is None else plt.subplots(figsize=size)[1]
    display = AssociationDisplay(joint, *sides).plot(ax)
    assert overlaps(display.figure_) == outside(display.figure_) == []
