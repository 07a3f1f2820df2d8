"""Exchange moves on tiny tables, against counts made from scratch."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.counts.cluster_loops import exchange_sweep, gain, x_log_x
from skcooc.metrics import mutual_information


def swept(X, labels, n_clusters):
    """Labels and counts of cluster pairs after one call of the compiled loop."""
    X, labels = CSRCounts(sp.csr_array(X, dtype=float)), np.array(labels)
    joint = counted(X.table, labels, n_clusters)
    columns = X.views.columns.structure
    sums = joint.sum(axis=1), joint.sum(axis=0)
    exchange_sweep(X.indptr, X.indices, X.data, *columns, labels, joint, *sums)
    return labels, joint


def counted(X, labels, n_clusters):
    I = np.eye(n_clusters)[np.array(labels)]
    return I.T @ X @ I


def kept(X, labels, n_clusters):
    return mutual_information(counted(sp.csr_array(X, dtype=float), labels, n_clusters))


def n_log_n(counts):
    return sum(n * np.log(n) for n in counts.ravel() if n > 0)


SMALL = np.array([[3.0, 0, 1, 0], [0, 0, 5, 2], [1, 4, 0, 0], [0, 2, 0, 0.5]])


def test_x_log_x_is_zero_at_zero():
    assert x_log_x(2.0) == pytest.approx(2 * np.log(2))
    assert [x_log_x(x) for x in (0.0, 1.0, -1e-17)] == [0, 0, 0]


@pytest.mark.parametrize("moving", [0, 3])
def test_gain_equals_the_change_of_the_likelihood(moving):
    """An object takes its row and column along; margins of other clusters keep their parts."""
    labels, others = np.array([0, 1, 2, 1]), np.arange(4) != moving
    I = np.eye(3)[labels[others]]
    joint, first = I.T @ SMALL[np.ix_(others, others)] @ I, I.T @ SMALL[others].sum(axis=1)
    second = I.T @ SMALL[:, others].sum(axis=0)
    to, back, own = I.T @ SMALL[moving, others], I.T @ SMALL[others, moving], SMALL[moving, moving]
    n, m = SMALL[moving].sum(), SMALL[:, moving].sum()
    before = n_log_n(joint) - n_log_n(first) - n_log_n(second)
    for c in range(3):
        labels[moving] = c
        now = counted(SMALL, labels, 3)
        added = n_log_n(now) - n_log_n(now.sum(axis=1)) - n_log_n(now.sum(axis=0)) - before
        assert gain(c, to, back, own, n, m, joint, first, second) == pytest.approx(added)


def test_the_counts_of_pairs_follow_the_labels_and_information_never_falls():
    for labels in product(range(3), repeat=4):
        after, joint = swept(SMALL, labels, 3)
        np.testing.assert_allclose(joint, counted(SMALL, after, 3), atol=1e-12)
        assert kept(SMALL, after, 3) >= kept(SMALL, labels, 3) - 1e-12


def test_the_best_of_two_clusters_is_found():
    """Objects of two kinds that take turns."""
    X = np.kron([[0, 1], [1, 0]], [[4, 5], [5, 4]])
    labels = np.array([0, 1, 1, 1])
    for _ in range(3):
        labels, _ = swept(X, labels, 2)
    assert kept(X, labels, 2) == pytest.approx(np.log(2))
    assert labels[0] == labels[1] != labels[2] == labels[3]


def test_one_cluster_keeps_all_and_no_observations_change_nothing():
    labels, joint = swept(np.zeros((3, 3)), [2, 0, 1], 3)
    np.testing.assert_array_equal(labels, [2, 0, 1])
    assert not joint.any()
    labels, joint = swept(SMALL, [0, 0, 0, 0], 1)
    np.testing.assert_array_equal(labels, 0)
    np.testing.assert_allclose(joint, [[SMALL.sum()]])


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


def test_objects_seen_on_one_side_alone_move():
    """The first two never follow, the last is never followed."""
    X, labels = np.array([[0, 0, 5, 0], [0, 0, 4, 0], [0, 0, 0, 3], [0, 0, 0, 0]]), [0, 1, 1, 1]
    assert kept(X, labels, 2) < 0.1
    for _ in range(2):
        labels, _ = swept(X, labels, 2)
    assert labels[0] == labels[1] == labels[3] != labels[2]
    assert kept(X, labels, 2) == pytest.approx(mutual_information(X))


def test_only_a_diagonal_makes_even_clusters():
    """Objects that follow themselves: the information is the entropy of the clusters."""
    labels = np.zeros(6, dtype=int)
    for _ in range(6):
        labels, joint = swept(np.eye(6), labels, 3)
    np.testing.assert_array_equal(np.bincount(labels), [2, 2, 2])
    np.testing.assert_allclose(joint, 2 * np.eye(3))


def test_rounding_moves_no_rare_object():
    """Two objects alike but for their numbers, next to a very frequent pair."""
    frequent = 1e9 * np.array([[0.1, 1], [1, 0.1]]) / 3
    X = sp.block_diag([frequent, np.zeros((2, 2))]).toarray()
    X[2, 0] = X[3, 0] = X[2, 1] = X[3, 1] = 1e-4
    for labels in ([0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 0]):
        once, _ = swept(X, labels, 2)
        np.testing.assert_array_equal(swept(X, once, 2)[0], once)


@pytest.mark.parametrize(("index_type", "dtype"), [(np.int32, np.float32), (np.int64, np.float64)])
def test_storage_does_not_matter(index_type, dtype):
    """Entries in any order, in parts and with zeros among them, single or double."""
    rows, columns = np.nonzero(SMALL)
    parts = np.concatenate([SMALL[rows, columns] / 2] * 2 + [[0.0]])
    places = np.concatenate([rows, rows[::-1], [0]]), np.concatenate([columns, columns[::-1], [1]])
    parts[len(rows) : -1] = parts[: len(rows)][::-1]
    by_row = np.argsort(places[0], kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(places[0]))]).astype(index_type)
    data, indices = parts[by_row].astype(dtype), places[1][by_row].astype(index_type)
    X = sp.csr_array((data, indices, indptr), shape=SMALL.shape)
    X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    np.testing.assert_allclose(X.toarray(), SMALL)
    assert X.nnz == 2 * len(rows) + 1
    for labels in product(range(3), repeat=4):
        moved = CSRCounts(X).exchange(np.array(labels), 3)
        np.testing.assert_array_equal(moved, swept(SMALL, labels, 3)[0])


def test_rows_count_by_their_weights():
    weights, labels = np.array([0.5, 2.0, 0.0, 1.5]), np.array([0, 1, 2, 1])
    moved = CSRCounts(sp.csr_array(SMALL), weights).exchange(labels, 3)
    np.testing.assert_array_equal(moved, swept(SMALL * weights[:, None], labels, 3)[0])
    np.testing.assert_array_equal(labels, [0, 1, 2, 1])
