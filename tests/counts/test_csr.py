import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts, NewRows, csr
from tests.tables import factors, random_table


def test_products_equal_dense_arithmetic():
    for dtype, index_type, container in (
        (np.float32, np.int32, sp.csr_array),
        (np.float64, np.int64, sp.csr_array),
        (np.float32, np.int64, sp.csr_matrix),
    ):
        X = random_table(40, 30, dtype=dtype)
        X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
        check_products(container(X))


def check_products(X):
    A, B = factors(X)
    dense, counts, cells = X.toarray(), CSRCounts(X), A @ B.T
    mixture, w = counts.mixture(A, B), dense / cells
    rtol = 1e-5 if X.dtype == np.float32 else 1e-12
    for found, expected in (
        (mixture.rows, w @ B),
        (mixture.columns, w.T @ A),
        (mixture.log_likelihood, (dense * np.log(cells)).sum()),
        (counts.dot(B), dense @ B),
        (counts.tdot(A), dense.T @ A),
        (counts.row_sums, dense.sum(axis=1)),
    ):
        np.testing.assert_allclose(found, expected, rtol=rtol)
    i = np.repeat(np.arange(len(dense)), np.diff(X.indptr))
    np.testing.assert_allclose(counts.cells(A, B), cells[i, X.indices], rtol=rtol)
    assert {mixture.rows.dtype, mixture.columns.dtype, counts.dot(B).dtype} == {X.dtype}


def test_unsorted_duplicate_and_zero_entries_and_impossible_cells():
    check_products(sp.csr_array(([1.0, 2, 3, 0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3)))
    mixture = CSRCounts(sp.csr_array([[1.0, 2.0]])).mixture(np.ones((1, 1)), np.eye(2, 1))
    np.testing.assert_array_equal(mixture.rows, [[1.0]])  # the second cell is impossible
    np.testing.assert_array_equal(mixture.columns, [[1.0], [0.0]])


def test_threads_give_bitwise_the_same(monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X = random_table(200, 50, dtype=np.float32)
    A, B = factors(X)
    alone = CSRCounts(X).mixture(A, B)
    for n_threads in (2, 7):
        with ThreadPoolExecutor(n_threads) as pool:
            counts = CSRCounts(X).with_threads(n_threads, pool.map)
            for mine, its in zip(alone, counts.mixture(A, B), strict=True):
                np.testing.assert_array_equal(mine, its)
            squares = counts.map_row_ranges(np.multiply, A, A)
            np.testing.assert_array_equal(squares, A * A)


def test_an_observation_weighs_one_unless_entries_are_no_counts():
    X, weights = random_table(), np.random.default_rng(0).random(12)
    for counts in (CSRCounts(X), CSRCounts(X, weights), CSRCounts(X * 1e9), CSRCounts(X[:0])):
        assert counts.mean_count_weight == 1.0
    fractions = 0.37 * X.toarray()
    literal = (fractions.T @ weights).sum() / (np.ceil(fractions).T @ weights).sum()
    assert CSRCounts(sp.csr_array(fractions), weights).mean_count_weight == pytest.approx(literal)


def test_little_work_is_not_divided_and_input_is_neither_copied_nor_changed():
    def fail(function, ranges):
        raise AssertionError

    X = random_table(dtype=np.float32)
    before = X.copy()
    counts = CSRCounts(X).with_threads(2, fail)
    counts.mixture(*factors(X))
    assert np.shares_memory(counts.data, X.data)
    np.testing.assert_array_equal(X.toarray(), before.toarray())


def test_new_rows_contribute_nothing_to_columns_and_can_be_taken_in_any_order():
    X = random_table()
    A, B = factors(X)
    mixture = NewRows(X).mixture(A, B)
    np.testing.assert_array_equal(mixture.rows, CSRCounts(X).mixture(A, B).rows)
    assert not mixture.columns.any()
    taken = NewRows(X).take(np.array([5, 0]))
    assert isinstance(taken, NewRows)
    np.testing.assert_array_equal(taken.row_sums, X.toarray()[[5, 0]].sum(axis=1))


def test_counts_can_be_pickled_with_their_views_and_are_freed_at_once():
    counts, D = CSRCounts(random_table(30, 20)), np.ones((30, 2))
    counts.tdot(D)
    assert counts.table is counts.with_threads(2, map).table  # and is made again
    twin = pickle.loads(pickle.dumps(counts))
    assert "table" not in vars(twin.views)
    np.testing.assert_array_equal(twin.tdot(D), counts.tdot(D))
    gone = weakref.ref(counts)
    gc.disable()
    try:
        del counts
        assert gone() is None
    finally:
        gc.enable()


def weighted(X, seed=0):
    return np.random.default_rng(seed).integers(0, 4, X.shape[0]).astype(float)


def test_a_weight_is_a_repetition_and_leaves_its_own_row_alone():
    X = random_table(40, 30, dtype=np.float32)
    A, B = factors(X)
    weights = weighted(X)
    again = np.repeat(np.arange(40), weights.astype(int))
    plain, counts, repeated = CSRCounts(X), CSRCounts(X, weights), CSRCounts(X[again])
    mine, its = counts.mixture(A, B), repeated.mixture(A[again], B)
    for D in (A, A[:, :1]):
        np.testing.assert_allclose(counts.tdot(D), repeated.tdot(D[again]), rtol=1e-5)
    np.testing.assert_allclose(mine.columns, its.columns, rtol=1e-5)
    np.testing.assert_allclose(mine.log_likelihood, its.log_likelihood, rtol=1e-5)
    np.testing.assert_array_equal(mine.rows, plain.mixture(A, B).rows)
    np.testing.assert_array_equal(counts.row_sums, plain.row_sums)
    np.testing.assert_array_equal(counts.dot(B), plain.dot(B))
    np.testing.assert_array_equal(counts.cells(A, B), plain.cells(A, B))
    dense = X.toarray() * weights[:, None]
    np.testing.assert_array_equal(counts.weighted_counts, dense[X.toarray() > 0])
    np.testing.assert_array_equal(plain.weighted_counts, X.data)
    assert counts.tdot(A).dtype == mine.columns.dtype == np.float32
    assert counts.tdot(np.ones((40, 1))).dtype == counts.dot(np.ones((30, 1))).dtype == np.float32
    assert counts.weighted_counts.dtype == np.float64


def test_row_weights_travel_along():
    X = random_table()
    counts, weights = CSRCounts(X, weighted(X)), weighted(X)
    np.testing.assert_array_equal(counts.row_weights, weights)
    np.testing.assert_array_equal(CSRCounts(X).row_weights, 1)
    np.testing.assert_array_equal(counts.take(np.array([5, 0])).row_weights, weights[[5, 0]])
    threaded, (A, _) = counts.with_threads(2, map), factors(X)
    np.testing.assert_array_equal(threaded.row_weights, weights)
    np.testing.assert_array_equal(threaded.tdot(A), counts.tdot(A))


LABELS = np.array([0, 1, 2, 0, 1, 3, 3, 3, 4, 2, 0, 4])


def test_coarsened_rows_are_means_with_the_weight_of_their_members():
    join = np.array([0, 1, 0, 1, 1])
    for dtype, weights in (
        (np.float32, None),
        (np.float64, weighted(np.ones(12), seed=1)),
        (np.float32, np.where(LABELS == 4, 0, weighted(np.ones(12), seed=1))),
    ):
        X = random_table(12, 9, dtype=dtype)
        counts = CSRCounts(X, weights)
        coarse, W = counts.coarsen(LABELS), np.ones(12) if weights is None else weights
        mass, sums = np.bincount(LABELS, W), np.zeros((5, 9))
        np.add.at(sums, LABELS, W[:, None] * X.toarray())
        close = {"rtol": 1e-6 if dtype == np.float32 else 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(coarse.row_weights, mass)
        means = sums / np.where(mass > 0, mass, 1)[:, None]
        np.testing.assert_allclose(coarse.dot(np.eye(9)), means, **close)
        np.testing.assert_allclose(coarse.tdot(np.eye(5)), sums.T, **close)
        assert coarse.dtype == dtype
        twice, once = coarse.coarsen(join), counts.coarsen(join[LABELS])
        np.testing.assert_allclose(twice.dot(np.eye(9)), once.dot(np.eye(9)), **close)
        np.testing.assert_array_equal(twice.row_weights, once.row_weights)
