"""The products of CSRCounts against dense arithmetic, for every storage and number of threads."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts, NewRows, csr, passes
from skcooc.counts.passes import balanced_ranges
from tests.tables import factors, random_table


def stored(X, index_type):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    return X


@pytest.mark.parametrize(
    ("dtype", "index_type", "container"),
    [
        (np.float32, np.int32, sp.csr_array),
        (np.float64, np.int64, sp.csr_array),
        (np.float32, np.int64, sp.csr_matrix),
    ],
)
def test_products_equal_dense_arithmetic(dtype, index_type, container):
    X = container(stored(random_table(40, 30, dtype=dtype), index_type))
    dense, counts = X.toarray(), CSRCounts(X)
    A, B = factors(X)
    w = dense / (A @ B.T)
    mixture = counts.mixture(A, B)
    close = {"rtol": 1e-5 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(mixture.rows, w @ B, **close)
    np.testing.assert_allclose(mixture.columns, w.T @ A, **close)
    np.testing.assert_allclose(mixture.log_likelihood, (dense * np.log(A @ B.T)).sum(), **close)
    np.testing.assert_allclose(counts.dot(B), dense @ B, **close)
    np.testing.assert_allclose(counts.tdot(A), dense.T @ A, **close)
    np.testing.assert_allclose(counts.cells(A, B), (A @ B.T)[dense > 0], **close)
    np.testing.assert_allclose(counts.row_sums, dense.sum(axis=1))
    assert {mixture.rows.dtype, mixture.columns.dtype, counts.dot(B).dtype} == {np.dtype(dtype)}


def test_an_observation_weighs_one_unless_entries_are_no_counts():
    X, weights = random_table(), np.random.default_rng(0).random(12)
    for counts in (CSRCounts(X), CSRCounts(X, weights), CSRCounts(X * 1e9), CSRCounts(X[:0])):
        assert counts.mean_count_weight == 1.0
    fractions = 0.37 * X.toarray()
    literal = (fractions.T @ weights).sum() / (np.ceil(fractions).T @ weights).sum()
    assert CSRCounts(sp.csr_array(fractions), weights).mean_count_weight == pytest.approx(literal)


def test_unsorted_duplicate_and_zero_entries_count_as_they_are():
    X = sp.csr_array(([1.0, 2.0, 3.0, 0.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    A, B = factors(X)
    dense = X.toarray()
    mixture = CSRCounts(X).mixture(A, B)
    np.testing.assert_allclose(mixture.columns, (dense / (A @ B.T)).T @ A)
    np.testing.assert_allclose(mixture.log_likelihood, (dense * np.log(A @ B.T)).sum())


def test_impossible_cells_carry_no_information():
    X = sp.csr_array([[1.0, 2.0]])
    mixture = CSRCounts(X).mixture(np.array([[1.0]]), np.array([[1.0], [0.0]]))
    np.testing.assert_array_equal(mixture.rows, [[1.0]])
    np.testing.assert_array_equal(mixture.columns, [[1.0], [0.0]])


@pytest.mark.parametrize("n_threads", [2, 7])
def test_threads_give_bitwise_the_same(n_threads, monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X = random_table(200, 50, dtype=np.float32)
    A, B = factors(X)
    alone = CSRCounts(X).mixture(A, B)
    with ThreadPoolExecutor(n_threads) as pool:
        counts = CSRCounts(X).with_threads(n_threads, pool.map)
        together = counts.mixture(A, B)
        squares = counts.map_row_ranges(np.multiply, A, A)
    for mine, its in zip(alone, together, strict=True):
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(squares, A * A)


def test_ranges_cover_all_rows_and_balance_non_zeros():
    indptr = np.concatenate([[0], np.cumsum(np.random.default_rng(0).zipf(1.6, 500) % 90)])
    for n_ranges in (1, 2, 5, 900):
        ranges = balanced_ranges(indptr, n_ranges)
        assert [start for start, _ in ranges[1:]] == [stop for _, stop in ranges[:-1]]
        assert (ranges[0][0], ranges[-1][1]) == (0, 500)
        sizes = [indptr[stop] - indptr[start] for start, stop in ranges]
        assert max(sizes) <= indptr[-1] / n_ranges + np.diff(indptr).max()


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


def test_threads_share_views_made_by_the_first(monkeypatch):
    made = []
    monkeypatch.setattr(passes.Bands, "of_matrix", lambda X: made.append("bands") or object())
    monkeypatch.setattr(passes, "ColumnView", lambda X: made.append("columns") or object())
    counts = CSRCounts(random_table(30, 20))
    assert not made
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: counts.with_threads(n, map).views.bands, range(1, 9)))
    assert made == ["bands"]
    assert len(set(found)) == 1
    assert counts.with_threads(2, map).views.columns is counts.views.columns
    assert made == ["bands", "columns"]


def test_counts_can_be_pickled_with_their_views_and_are_freed_at_once():
    counts, D = CSRCounts(random_table(30, 20)), np.ones((30, 2))
    counts.tdot(D)
    twin = pickle.loads(pickle.dumps(counts))
    np.testing.assert_array_equal(twin.tdot(D), counts.tdot(D))
    gone = weakref.ref(counts)
    gc.disable()
    try:
        del counts
        assert gone() is None
    finally:
        gc.enable()
