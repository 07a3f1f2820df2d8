"""Alternating steps of rows and columns, against literal formulas and their promises."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts, csr, settling
from skcooc.counts.settling import LEAST, TRIES
from tests.tables import random_table

CLOSE = {np.float32: {"rtol": 2e-4, "atol": 1e-5}, np.float64: {"rtol": 1e-9, "atol": 1e-12}}


def starts(X, k=3):
    """Factors with some numbers near zero."""
    rng = np.random.default_rng(2)
    return [rng.gamma(0.5, size=(n, k)).astype(X.dtype).round(1) + 1e-3 * k for n in X.shape]


def shortened(n, cells, change, slope, cost):
    """The length of a step: the first one tried at whose end it no longer leads uphill."""
    part = 1.0
    for _ in range(TRIES):
        gained = (n * change / np.maximum(cells + part * change, LEAST)).sum()
        if gained >= cost:
            return part
        shorter = 0.95 * slope / (slope + cost - gained)
        part *= np.clip(min(shorter, gained / cost) if cost > 0 else shorter, 0.1, 0.9)
    return 0.0


def whole(n, cells, change, slope, cost):
    """Broken: never shortened."""
    return 1.0


def literal_step(n, A, B, length=shortened):
    """A step of A at B for a dense table, row by row."""
    S, new = B.sum(axis=0), A.copy()
    for i, a in enumerate(A):
        seen = n[i] > 0
        counts, b = n[i][seen], B[seen]
        cells = b @ a
        g, H = (counts / cells) @ b, (counts / cells**2) @ b**2
        newton = np.where(g > 0, g / S * (g - S) / np.where(H > 0, H, 1), -a)
        step = np.maximum(newton, -a)
        part = length(counts, cells, b @ step, (g - S) @ step, S @ step)
        new[i] = np.maximum(a + part * step, 0)
        new[i] *= counts.sum() / max(S @ new[i], 1e-300)
    return new


def literal(X, A, B, weights=None):
    """Expected counts of rows and columns, and the log-likelihood before the step."""
    n, A, B = X.toarray().astype(float), A.astype(float), B.astype(float)
    w = np.ones(len(n)) if weights is None else weights
    before = (w[:, None] * n * np.log(np.where(n > 0, A @ B.T, 1))).sum()
    A = literal_step(n, A, B)
    B = literal_step((w[:, None] * n).T, B, w[:, None] * A)
    return A * B.sum(axis=0), B * (w @ A), before


def poisson(n, A, B):
    """Poisson loss, which steps decrease."""
    cells = A @ B.T
    with np.errstate(divide="ignore"):
        return cells.sum() - (n * np.log(np.where(n > 0, cells, 1))).sum()


@pytest.mark.parametrize(
    ("dtype", "n_columns", "weighted"),
    [
        (np.float32, 9, False),
        (np.float32, 40, True),
        (np.float64, 9, True),
        (np.float64, 40, False),
    ],
)
def test_a_step_is_the_literal_one(dtype, n_columns, weighted):
    X = random_table(n_columns=n_columns, dtype=dtype)
    A, B = starts(X)
    given = A.copy(), B.copy()
    weights = np.arange(12.0) % 3 + 0.5 if weighted else None
    found = CSRCounts(X, weights).alternate(A, B)
    rows, columns, log_likelihood = literal(X, A, B, weights)
    np.testing.assert_allclose(found.rows, rows, **CLOSE[dtype])
    np.testing.assert_allclose(found.columns, columns, **CLOSE[dtype])
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-5)
    assert {found.rows.dtype, found.columns.dtype} == {np.dtype(dtype)}
    np.testing.assert_array_equal((A, B)[0], given[0])
    np.testing.assert_array_equal((A, B)[1], given[1])
    assert not found.rows[3].any()  # without observations
    assert not found.columns[4].any()


def test_rows_and_cells_near_zero_come_back():
    X = random_table(dtype=np.float32)
    A, B = starts(X)
    A[0], A[1], B[0], B[1, :2] = 1e-18, 0, 1e-18, 0
    counts = CSRCounts(X)
    for _ in range(300):
        A, B = scaled(counts.alternate(A, B))
        assert np.isfinite(A).all()
        assert np.isfinite(B).all()
    C, D = starts(X)
    for _ in range(300):
        C, D = scaled(counts.alternate(C, D))
    goal = poisson(X.toarray(), C, D)
    assert poisson(X.toarray(), A, B) < goal + 0.05 * abs(goal)


def of_scale(scale):
    """Factors of counts of this scale, divided by it."""
    X = random_table(dtype=np.float32)
    A, B = starts(X)
    found = CSRCounts(X * np.float32(scale)).alternate(A * np.float32(scale), B)
    return found.rows / scale, found.columns / scale


def test_counts_may_be_of_any_scale(monkeypatch):
    rows, columns = of_scale(1.0)
    for scale in (2.0**-100, 1e-30, 1e30):
        some = of_scale(scale)
        np.testing.assert_allclose(some[0], rows, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(some[1], columns, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(settling, "power_of_two", lambda counts: np.float32(1))
    assert not np.isfinite(of_scale(1e30)[1]).all()  # broken
    assert not np.allclose(of_scale(1e-30)[0], rows, rtol=0.1)


def test_only_steps_that_are_shortened_never_lead_uphill():
    rng, rises = np.random.default_rng(0), []
    for length in (shortened, whole):
        for seed in range(20):
            n = random_table(seed=seed).toarray() + 1.0
            A, B = rng.gamma(0.3, size=(12, 4)) + 1e-6, 1 + 0.3 * rng.random((9, 4))
            new = literal_step(n, A, B, length)
            rises.append(poisson(n, new, B) > poisson(n, A, B) + 1e-9)
    assert not any(rises[:20])
    assert any(rises[20:])


def scaled(found):
    """Expected counts as factors of the means: rows keep theirs, columns sum to one."""
    return found.rows, found.columns / found.columns.sum(axis=0)


def test_it_ends_at_a_stationary_point_of_both_factors():
    X = random_table(30, 20)
    counts, n = CSRCounts(X), X.toarray()
    A, B = starts(X)
    values = []
    for _ in range(400):
        A, B = scaled(counts.alternate(A, B))
        values.append(poisson(n, A, B))
    assert np.diff(values).max() < 1e-9
    for table, factor, other in ((n, A, B), (n.T, B, A)):
        full = table.sum(axis=1) > 0
        ratios = np.where(table > 0, table / np.where(table > 0, factor @ other.T, 1), 0)
        excess = (ratios @ other / other.sum(axis=0))[full]
        assert excess.max() < 1 + 1e-3  # also where it is zero, which EM does not see to
        np.testing.assert_allclose(excess[factor[full] > 1e-3 * factor.max()], 1, atol=1e-3)
    assert (A[n.sum(axis=1) > 0] == 0).any()


def test_a_zero_can_grow_at_once_unlike_in_em():
    X = sp.csr_array(np.array([[9.0, 1.0], [1.0, 9.0], [5.0, 5.0]]))
    B = np.eye(2, 8)
    A = np.zeros((3, 8))
    A[:, :2] = [[9, 1], [1, 9], [10, 0]]
    counts = CSRCounts(X)
    found = counts.alternate(A, B).rows
    np.testing.assert_allclose(found[2, :2] / found[2].sum(), 0.5, atol=0.05)
    assert (A * counts.mixture(A, B).rows)[2, 1] == 0


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X = random_table(40, 30, dtype=np.float32)
    A, B = starts(X)
    serial = CSRCounts(X).alternate(A, B)
    with ThreadPoolExecutor(3) as pool:
        for n_threads in (2, 3, 7):
            threaded = CSRCounts(X).with_threads(n_threads, pool.map).alternate(A, B)
            for mine, its in zip(serial, threaded, strict=True):
                np.testing.assert_array_equal(mine, its)


def test_results_do_not_depend_on_where_arrays_lie():
    """Compiled sums may be added up in another order, if the loop stores something, too."""
    rng, lying_about, found = np.random.default_rng(0), [], set()
    X = sp.csr_array(rng.gamma(1.0, size=(80, 40)))
    A, B = starts(X)
    for _ in range(100):
        lying_about = [np.empty(n, np.uint8) for n in rng.integers(1, 5000, 40)] + lying_about[::2]
        found.add(CSRCounts(X.copy()).alternate(A, B).rows.tobytes())
    assert len(found) == 1
