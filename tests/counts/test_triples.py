import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import TripleCounts
from skcooc.counts.passes import MIN_BAND_HEIGHT, threads

N, M, L, K = 2 * MIN_BAND_HEIGHT + 100, 7, 5, 3
RNG = np.random.default_rng(0)
PLACES = np.unique(RNG.integers(N * M * L, size=4000))
I, J, W = np.unravel_index(PLACES, (N, M, L))
DATA = RNG.integers(0, 4, size=len(PLACES)).astype(float)  # what is held out leaves zeros
COUNTS = TripleCounts(sp.csr_array((DATA, (I, J * L + W)), shape=(N, M * L)), (M, L))
A, B = (RNG.uniform(0.1, 1, (size, K)) for size in (N + M, L))
A[:3, 0] = B[:, 1:] = 0  # with A[:3] nothing is possible


def literal(some=slice(None)):
    """Sums over the observations, one by one, times the factors; of one band alone, a twin."""
    rows, columns, total = np.zeros_like(A), np.zeros_like(B), 0.0
    for n, i, j, w in zip(DATA[some], I[some], J[some], W[some], strict=True):
        cell = (A[i] * A[N + j] * B[w]).sum()
        if cell > 0:
            ratio = n / cell
            rows[i] += ratio * A[N + j] * B[w]
            rows[N + j] += ratio * A[i] * B[w]
            columns[w] += ratio * A[i] * A[N + j]
            total += n * np.log(cell)
    return A * rows, B * columns, total


@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_are_those_of_the_observations(n_threads, monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    with threads(n_threads) as map:
        found = COUNTS.with_threads(n_threads, map).mixture(A, B)
    expected = A * found.rows, B * found.columns, found.log_likelihood  # as models use them
    for mine, its in zip(expected, literal(), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-10)
    alone = COUNTS.mixture(A, B)
    assert all((mine == its).all() for mine, its in zip(found[:2], alone[:2], strict=True))
    assert found.log_likelihood == alone.log_likelihood
    first_band = literal(slice(0, np.searchsorted(I, MIN_BAND_HEIGHT)))
    assert all(np.abs(mine - its).max() > 1 for mine, its in zip(expected, first_band, strict=True))


def test_new_rows_are_summed_alone():
    found, own = COUNTS.as_new().mixture(A, B), COUNTS.mixture(A, B)
    np.testing.assert_array_equal(found.rows[:N], own.rows[:N])
    assert not found.rows[N:].any()
    assert not found.columns.any()
    assert found.log_likelihood == own.log_likelihood
