from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.loops.exchange import exchange, exchange_sweep
from skcooc.metrics import mutual_information


def swept(X, labels, n_clusters):
    """Labels and counts of cluster pairs after one call of the compiled loop."""
    X, labels = CSRCounts(sp.csr_array(X, dtype=float)), np.array(labels)
    joint = counted(X.table, labels, n_clusters)
    columns = X.views.columns.structure
    sums, work = (joint.sum(axis=1), joint.sum(axis=0)), np.empty((2, n_clusters))
    exchange_sweep(X.indptr, X.indices, X.data, *columns, labels, joint, *sums, work)
    return labels, joint


def counted(X, labels, n_clusters):
    I = np.eye(n_clusters)[np.array(labels)]
    return I.T @ X @ I


def kept(X, labels, n_clusters):
    return mutual_information(counted(sp.csr_array(X, dtype=float), labels, n_clusters))


SMALL = np.array([[3.0, 0, 1, 0], [0, 0, 5, 2], [1, 4, 0, 0], [0, 2, 0, 0.5]])


def test_the_counts_of_pairs_follow_the_labels_and_information_never_falls():
    for labels in product(range(3), repeat=4):
        after, joint = swept(SMALL, labels, 3)
        np.testing.assert_allclose(joint, counted(SMALL, after, 3), atol=1e-12)
        assert kept(SMALL, after, 3) >= kept(SMALL, labels, 3) - 1e-12


def test_more_clusters_than_objects_part_them_all():
    labels, joint = np.zeros(4, dtype=int), None
    for _ in range(4):
        labels, joint = swept(SMALL, labels, 6)
    assert len(set(labels.tolist())) == 4
    assert kept(SMALL, labels, 6) == pytest.approx(mutual_information(SMALL))
    assert np.count_nonzero(joint.sum(axis=1)) == 4


def test_objects_without_observations_stay_where_they_are():
    for where in (0, 4):
        X = np.insert(np.insert(SMALL * 0.37, where, 0, axis=0), where, 0, axis=1)
        for labels in product(range(3), repeat=5):
            assert swept(X, labels, 3)[0][where] == labels[where]


def test_rounding_moves_no_rare_object():
    """Two objects alike but for their numbers, next to a very frequent pair."""
    frequent = 1e9 * np.array([[0.1, 1], [1, 0.1]]) / 3
    X = sp.block_diag([frequent, np.zeros((2, 2))]).toarray()
    X[2, 0] = X[3, 0] = X[2, 1] = X[3, 1] = 1e-4
    for labels in ([0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 0]):
        once, _ = swept(X, labels, 2)
        np.testing.assert_array_equal(swept(X, once, 2)[0], once)


def test_storage_does_not_matter():
    """Entries in any order, in parts and with zeros among them, single or double."""
    rows, columns = np.nonzero(SMALL)
    halves = SMALL[rows, columns] / 2
    by_row = np.argsort([*rows, *rows[::-1], 0], kind="stable")
    data = np.concatenate([halves, halves[::-1], [0.0]])[by_row]
    indices = np.concatenate([columns, columns[::-1], [1]])[by_row]
    indptr = [0, *np.cumsum(2 * np.bincount(rows) + [1, 0, 0, 0])]
    for index_type, dtype in ((np.int32, np.float32), (np.int64, np.float64)):
        X = sp.csr_array((data.astype(dtype), indices, indptr), shape=SMALL.shape)
        X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
        np.testing.assert_allclose(X.toarray(), SMALL)
        assert X.nnz == 2 * len(rows) + 1
        for labels in product(range(3), repeat=4):
            moved = exchange(CSRCounts(X), np.array(labels), 3)
            np.testing.assert_array_equal(moved, swept(SMALL, labels, 3)[0])


def test_rows_count_by_their_weights():
    weights, labels = np.array([0.5, 2.0, 0.0, 1.5]), np.array([0, 1, 2, 1])
    moved = exchange(CSRCounts(sp.csr_array(SMALL), weights), labels, 3)
    np.testing.assert_array_equal(moved, swept(SMALL * weights[:, None], labels, 3)[0])
    np.testing.assert_array_equal(labels, [0, 1, 2, 1])


def test_objects_seen_on_one_side_alone_move():
    """The first two never follow, the last is never followed."""
    X, labels = np.array([[0, 0, 5, 0], [0, 0, 4, 0], [0, 0, 0, 3], [0, 0, 0, 0]]), [0, 1, 1, 1]
    assert kept(X, labels, 2) < 0.1
    for _ in range(2):
        labels, _ = swept(X, labels, 2)
    assert labels[0] == labels[1] == labels[3] != labels[2]
    assert kept(X, labels, 2) == pytest.approx(mutual_information(X))
