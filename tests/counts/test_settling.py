import importlib.util
import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from skcooc.counts import CSRCounts, NewRows, csr, settling
from skcooc.counts.settling import MIN_DIVISOR, TRIES
from skcooc.protocol import FixedComponents
from tests.tables import random_table

TOL, STEPS = 1e-5, 200
RESTART = "age = 0 if total(back) > zero else age"


def fixed_components(X, k=3, power=0.83):
    B = np.random.default_rng(1).gamma(0.3, size=(X.shape[1], k)).astype(X.dtype)
    return FixedComponents(B**power, power, np.linspace(1, 2, k).astype(X.dtype) / (1.5 * k))


def settled(counts, fixed, tol=TOL, max_iter=STEPS):
    start = np.tile(fixed.otherwise, (counts.shape[0], 1))
    return counts.solve_mixtures(fixed, start, tol, max_iter)


def plain_em(X, fixed, n_steps=1500):
    """The step of FixedComponents literally, repeated."""
    n, B = X.toarray().astype(np.float64), fixed.components.astype(np.float64)
    a = np.tile(fixed.otherwise.astype(np.float64), (len(n), 1))
    for _ in range(n_steps):
        powers = a**fixed.power
        cells = powers @ B.T
        a = powers * ((n / np.where(cells > 0, cells, np.inf)) @ B)
        mass = a.sum(axis=1, keepdims=True)
        a = np.where(mass > 0, a / np.where(mass > 0, mass, 1), fixed.otherwise)
    return a


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_converge_to_the_limit_of_plain_em(dtype):
    X = random_table(dtype=dtype)
    n = X.toarray().astype(np.float64)
    for power, k in ((0.83, 1), (0.3, 3), (0.83, 20), (1.0, 3)):
        fixed = fixed_components(X, k, power)
        found, expected = settled(NewRows(X), fixed, tol=1e-6), plain_em(X, fixed)
        assert found.dtype == dtype
        B = fixed.components.astype(np.float64)
        if power < 1:  # where mixtures are unique
            np.testing.assert_allclose(found, expected, atol=1e-4)
        one, other = ((n * np.log(a**power @ B.T)).sum() for a in (found, expected))
        assert one > other - 1e-4 * n.sum()
    forgotten = fixed_components(X)._replace(power=1.0)
    assert np.abs(settled(NewRows(X), forgotten) - plain_em(X, fixed_components(X))).max() > 0.01
    X.data[::5] *= 1e6
    fixed = fixed_components(X, power=0.5)
    np.testing.assert_allclose(settled(NewRows(X), fixed), plain_em(X, fixed), atol=1e-4)


def test_one_step_is_that_of_em():
    X = random_table()
    fixed = fixed_components(X)
    before = fixed.components.copy()
    found = settled(NewRows(X), fixed, 0.0, 1)
    np.testing.assert_allclose(found, plain_em(X, fixed, 1), rtol=1e-12)
    np.testing.assert_array_equal(fixed.components, before)


def without_restarts():
    """Broken: momentum never begins anew."""
    source = inspect.getsource(settling.solve_rows.py_func)
    names = {**vars(settling), "compiled": njit(error_model="numpy")}
    assert source.count(RESTART) == 1
    exec(source.replace(RESTART, "pass"), names)
    return names["solve_rows"]


def test_momentum_without_restarts_is_found(monkeypatch):
    X = random_table()
    fixed = fixed_components(X, power=1.0)
    right = settled(NewRows(X), fixed, 1e-13, 20000)
    assert np.abs(settled(NewRows(X), fixed, 1e-12, 40) - right).max() < 1e-7
    monkeypatch.setattr(settling, "solve_rows", without_restarts())
    assert np.abs(settled(NewRows(X), fixed, 1e-12, 40) - right).max() > 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_depends_on_no_other_and_on_no_thread(dtype, monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X = random_table(40, 30, dtype=dtype)
    fixed, order = fixed_components(X, 5), np.random.default_rng(0).permutation(40)
    whole = settled(NewRows(X), fixed)
    with ThreadPoolExecutor(3) as pool:
        np.testing.assert_array_equal(settled(NewRows(X).with_threads(3, pool.map), fixed), whole)
    np.testing.assert_array_equal(settled(NewRows(X[order]), fixed), whole[order])
    np.testing.assert_array_equal(settled(CSRCounts(X, np.arange(40.0)), fixed), whole)
    for some in (slice(0, 1), slice(1, 4), slice(4, 40)):
        np.testing.assert_array_equal(settled(NewRows(X[some]), fixed), whole[some])


def test_rows_without_observations():
    X = sp.csr_array(([0.0, 3.0, 2.0, 0.0, 1.0], [0, 2, 1, 0, 2], [0, 1, 2, 5, 5]), shape=(4, 3))
    fixed = fixed_components(X)
    fixed.components[2] = 0  # a column that no component has
    found = settled(NewRows(X), fixed)
    assert (found[[0, 1, 3]] == fixed.otherwise).all()
    X = random_table()
    counts, columns = NewRows(X).occupied()
    np.testing.assert_array_equal(columns, np.flatnonzero(X.toarray().any(axis=0)))
    np.testing.assert_array_equal(counts.table.toarray(), X.toarray()[:, columns])
    np.testing.assert_array_equal(found[2], settled(NewRows(sp.csr_array([[0.0, 2, 0]])), fixed)[0])


CLOSE = {np.float32: {"rtol": 2e-4, "atol": 1e-5}, np.float64: {"rtol": 1e-9, "atol": 1e-12}}


def starts(X, k=3):
    """Factors with some numbers near zero."""
    rng = np.random.default_rng(2)
    return [rng.gamma(0.5, size=(n, k)).astype(X.dtype).round(1) + 1e-3 * k for n in X.shape]


def shortened(n, cells, change, slope, cost):
    """The length of a step: the first one tried at whose end it no longer leads uphill."""
    part = 1.0
    for _ in range(TRIES):
        gained = (n * change / np.maximum(cells + part * change, MIN_DIVISOR)).sum()
        if gained >= cost:
            return part
        shorter = 0.95 * slope / (slope + cost - gained)
        part *= np.clip(min(shorter, gained / cost) if cost > 0 else shorter, 0.1, 0.9)
    return 0.0


def literal_step(n, A, B):
    """A step of A at B for a dense table, row by row."""
    S, new = B.sum(axis=0), A.copy()
    for i, a in enumerate(A):
        seen = n[i] > 0
        counts, b = n[i][seen], B[seen]
        cells = b @ a
        g, H = (counts / cells) @ b, (counts / cells**2) @ b**2
        newton = np.where(g > 0, g / S * (g - S) / np.where(H > 0, H, 1), -a)
        step = np.maximum(newton, -a)
        part = shortened(counts, cells, b @ step, (g - S) @ step, S @ step)
        new[i] = np.maximum(a + part * step, 0)
        new[i] *= counts.sum() / max(S @ new[i], 1e-300)
    return new


def literal(X, A, B, weights=None):
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


def scaled(found):
    """Expected counts as factors of the means: rows keep theirs, columns sum to one."""
    return found.rows, found.columns / found.columns.sum(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_is_the_literal_one(dtype):
    for n_columns, weights in ((9, np.arange(12.0) % 3 + 0.5), (40, None)):
        X = random_table(n_columns=n_columns, dtype=dtype)
        A, B = starts(X)
        given = A.copy(), B.copy()
        found = CSRCounts(X, weights).alternate(A, B)
        rows, columns, log_likelihood = literal(X, A, B, weights)
        np.testing.assert_allclose(found.rows, rows, **CLOSE[dtype])
        np.testing.assert_allclose(found.columns, columns, **CLOSE[dtype])
        assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-5)
        assert {found.rows.dtype, found.columns.dtype} == {np.dtype(dtype)}
        np.testing.assert_array_equal(A, given[0])
        np.testing.assert_array_equal(B, given[1])
        assert not found.rows[3].any()  # without observations
        assert not found.columns[4].any()


def test_rows_and_cells_near_zero_come_back():
    X = random_table(dtype=np.float32)
    counts, ends = CSRCounts(X), []
    for near_zero in (False, True):
        A, B = starts(X)
        if near_zero:
            A[0], A[1], B[0], B[1, :2] = 1e-18, 0, 1e-18, 0
        for _ in range(300):
            A, B = scaled(counts.alternate(A, B))
        ends.append(poisson(X.toarray(), A, B))
    assert ends[1] < ends[0] + 0.05 * abs(ends[0])


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


def anew(path=settling.__file__):
    """Counts whose alternating steps have loops of their own: compiled, or found on disk."""
    spec = importlib.util.spec_from_file_location("skcooc.counts.anew", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return type("Anew", (module.AlternatingRows, CSRCounts), {})


def test_loops_that_are_compiled_and_loaded_give_the_same_digits(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.5, (300, 200)).astype(float))
    A, B = rng.random((300, 10)), rng.random((200, 10))
    compiled, loaded = (anew()(X).alternate(A, B) for _ in range(2))
    assert list(tmp_path.rglob("*.nbc"))
    np.testing.assert_array_equal(loaded.rows, compiled.rows)
    np.testing.assert_array_equal(loaded.columns, compiled.columns)
