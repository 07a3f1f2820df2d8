import importlib.util
import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from skcooc.counts import CSRCounts, NewRows, csr
from skcooc.loops import fold_in
from skcooc.loops.fold_in import solve_mixtures
from skcooc.protocol import FixedComponents
from tests.tables import random_table

TOL, STEPS = 1e-5, 200
RESTART = "age = 0 if total(back) > zero else age"


def fixed_components(X, k=3, power=0.83):
    B = np.random.default_rng(1).gamma(0.3, size=(X.shape[1], k)).astype(X.dtype)
    return FixedComponents(B**power, power, np.linspace(1, 2, k).astype(X.dtype) / (1.5 * k))


def settled(counts, fixed, tol=TOL, max_iter=STEPS, solve=solve_mixtures):
    start = np.tile(fixed.otherwise, (counts.shape[0], 1))
    return solve(counts, fixed, start, tol, max_iter)


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
    source = inspect.getsource(fold_in.solve_rows.py_func)
    names = {**vars(fold_in), "compiled": njit(error_model="numpy")}
    assert source.count(RESTART) == 1
    exec(source.replace(RESTART, "pass"), names)
    return names["solve_rows"]


def test_momentum_without_restarts_is_found(monkeypatch):
    X = random_table()
    fixed = fixed_components(X, power=1.0)
    right = settled(NewRows(X), fixed, 1e-13, 20000)
    assert np.abs(settled(NewRows(X), fixed, 1e-12, 40) - right).max() < 1e-7
    monkeypatch.setattr(fold_in, "solve_rows", without_restarts())
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


def anew():
    """The function with a loop that is compiled anew, or found on disk."""
    spec = importlib.util.spec_from_file_location("skcooc.loops.anew", fold_in.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.solve_mixtures


def test_a_loop_that_is_compiled_and_loaded_gives_the_same_digits(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    X = random_table(60, 40)
    compiled, loaded = (settled(CSRCounts(X), fixed_components(X), solve=anew()) for _ in range(2))
    assert list(tmp_path.rglob("*.nbc"))
    np.testing.assert_array_equal(loaded, compiled)
