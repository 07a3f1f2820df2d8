"""Rows that stand for several: sums over rows, and rows that are tied, against dense arithmetic."""

import numpy as np
import pytest

from skcooc.counts import CSRCounts
from tests.tables import factors, random_table


def weighted(X, seed=0):
    """Whole numbers, some of them zero."""
    return np.random.default_rng(seed).integers(0, 4, X.shape[0]).astype(float)


def test_a_weight_is_a_repetition_in_every_sum_over_rows():
    dtype = np.float32
    X = random_table(40, 30, dtype=dtype)
    A, B = factors(X)
    weights = weighted(X)
    again = np.repeat(np.arange(40), weights.astype(int))
    counts, repeated = CSRCounts(X, weights), CSRCounts(X[again])
    close = {"rtol": 1e-5 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(counts.tdot(A), repeated.tdot(A[again]), **close)
    mine, its = counts.mixture(A, B), repeated.mixture(A[again], B)
    np.testing.assert_allclose(mine.columns, its.columns, **close)
    np.testing.assert_allclose(mine.log_likelihood, its.log_likelihood, **close)
    np.testing.assert_allclose(mine.rows[again], its.rows, **close)
    np.testing.assert_allclose(counts.observations.sum(), repeated.observations.sum())
    assert {counts.tdot(A).dtype, mine.columns.dtype} == {np.dtype(dtype)}
    assert counts.observations.dtype == np.float64


def test_row_weights_leave_the_rows_alone_multiply_observations_and_travel_along():
    X = random_table()
    A, B = factors(X)
    plain, counts = CSRCounts(X), CSRCounts(X, weighted(X))
    np.testing.assert_array_equal(counts.row_sums, plain.row_sums)
    np.testing.assert_array_equal(counts.dot(B), plain.dot(B))
    np.testing.assert_array_equal(counts.cells(A, B), plain.cells(A, B))
    np.testing.assert_array_equal(counts.mixture(A, B).rows, plain.mixture(A, B).rows)
    np.testing.assert_array_equal(counts.row_weights, weighted(X))
    np.testing.assert_array_equal(plain.row_weights, 1)
    weights = weighted(X)
    dense = X.toarray() * weights[:, None]
    np.testing.assert_array_equal(counts.observations, dense[X.toarray() > 0])
    np.testing.assert_array_equal(plain.observations, X.data)
    np.testing.assert_array_equal(counts.take(np.array([5, 0])).row_weights, weights[[5, 0]])
    np.testing.assert_array_equal(counts.with_threads(2, map).row_weights, weights)
    np.testing.assert_array_equal(counts.with_threads(2, map).tdot(A), counts.tdot(A))


def test_weights_that_are_all_zero_leave_nothing():
    X = random_table()
    A, B = factors(X)
    counts = CSRCounts(X, np.zeros(X.shape[0]))
    assert not counts.tdot(A).any()
    assert not counts.mixture(A, B).columns.any()
    assert counts.mixture(A, B).log_likelihood == 0
    assert not counts.observations.any()


@pytest.mark.parametrize(
    ("dtype", "weighting"),
    [(np.float32, "none"), (np.float64, "some zero"), (np.float32, "a group of zero")],
)
def test_coarsened_rows_are_means_with_the_weight_of_their_members(dtype, weighting):
    X = random_table(12, 9, dtype=dtype)
    labels = np.array([0, 1, 2, 0, 1, 3, 3, 3, 4, 2, 0, 4])
    weights = np.ones(12) if weighting == "none" else weighted(X, seed=1)
    if weighting == "a group of zero":
        weights[labels == 4] = 0
    counts = CSRCounts(X, None if weighting == "none" else weights).coarsen(labels)
    mass = np.array([weights[labels == group].sum() for group in range(5)])
    sums = np.array([weights[labels == group] @ X.toarray()[labels == group] for group in range(5)])
    close = {"rtol": 1e-6 if dtype == np.float32 else 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(counts.row_weights, mass)
    np.testing.assert_allclose(
        counts.dot(np.eye(9)), sums / np.where(mass > 0, mass, 1)[:, None], **close
    )
    np.testing.assert_allclose(counts.tdot(np.eye(5)), sums.T, **close)
    assert counts.dtype == dtype
    assert mass.any()


def test_coarsening_twice_is_coarsening_once():
    X = random_table(12, 9)
    fine = np.array([0, 1, 2, 0, 1, 3, 3, 3, 4, 2, 0, 4])
    join = np.array([0, 1, 0, 1, 1])
    twice = CSRCounts(X, weighted(X)).coarsen(fine).coarsen(join)
    once = CSRCounts(X, weighted(X)).coarsen(join[fine])
    np.testing.assert_allclose(twice.dot(np.eye(9)), once.dot(np.eye(9)))
    np.testing.assert_array_equal(twice.row_weights, once.row_weights)
    np.testing.assert_allclose(twice.observations.sum(), (X.T @ weighted(X)).sum())
