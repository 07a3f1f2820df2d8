"""Mixtures of rows by EM on one row at a time, against plain EM in float64 run far on."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts, NewRows, csr, settling
from skcooc.protocol import FixedComponents
from tests.tables import random_table

TOL, STEPS = 1e-5, 200
movement = settling.movement


def fixed_components(X, k=3, power=0.83):
    B = np.random.default_rng(1).gamma(0.3, size=(X.shape[1], k)).astype(X.dtype)
    return FixedComponents(B**power, power, np.linspace(1, 2, k).astype(X.dtype) / (1.5 * k))


def starts(X, fixed):
    return np.tile(fixed.otherwise, (X.shape[0], 1))


def settled(counts, fixed, tol=TOL, max_iter=STEPS):
    return counts.solve_mixtures(fixed, starts(counts, fixed), tol, max_iter)


def plain_em(X, fixed, n_steps=4000):
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
@pytest.mark.parametrize(("power", "k"), [(0.83, 1), (0.3, 3), (0.83, 21), (1.0, 3)])
def test_rows_converge_to_the_limit_of_plain_em(dtype, power, k):
    X = random_table(dtype=dtype)
    fixed = fixed_components(X, k, power)
    found = settled(NewRows(X), fixed, tol=1e-6)
    assert found.dtype == dtype
    n, B = X.toarray().astype(np.float64), fixed.components.astype(np.float64)
    if power < 1:  # where mixtures are unique
        np.testing.assert_allclose(found, plain_em(X, fixed), atol=1e-4)
    one, other = ((n * np.log(a**power @ B.T)).sum() for a in (found, plain_em(X, fixed)))
    assert one > other - 1e-4 * n.sum()


def test_a_forgotten_power_is_found():
    X = random_table()
    fixed = fixed_components(X)
    right = plain_em(X, fixed)
    assert np.abs(settled(NewRows(X), fixed) - right).max() < 1e-4
    assert np.abs(settled(NewRows(X), fixed._replace(power=1.0)) - right).max() > 0.01


def never_back(now, plain, last):
    """Broken: momentum without restarts."""
    furthest, _ = movement(now, plain, last)
    return furthest, False


def test_momentum_without_restarts_is_found(monkeypatch):
    X = random_table()
    fixed = fixed_components(X, power=1.0)
    right = settled(NewRows(X), fixed, 1e-13, 20000)
    assert np.abs(settled(NewRows(X), fixed, 1e-12, 40) - right).max() < 1e-7
    # The loop over rows as Python, so that a part of it can be replaced.
    monkeypatch.setattr(settling, "solve_rows", settling.solve_rows.py_func)
    monkeypatch.setattr(settling, "movement", never_back)
    assert np.abs(settled(NewRows(X), fixed, 1e-12, 40) - right).max() > 1e-6


def test_one_step_is_that_of_em_and_nothing_is_changed():
    X = random_table()
    fixed = fixed_components(X)
    rows = starts(X, fixed)
    given = rows.copy(), fixed.components.copy()
    found = NewRows(X).solve_mixtures(fixed, rows, 0.0, 1)
    np.testing.assert_allclose(found, plain_em(X, fixed, 1), rtol=1e-12)
    np.testing.assert_array_equal(given[0], rows)
    np.testing.assert_array_equal(given[1], fixed.components)


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
    np.testing.assert_array_equal(found[2], settled(NewRows(sp.csr_array([[0.0, 2, 0]])), fixed)[0])


def test_counts_of_a_million_converge():
    X = random_table()
    X.data[::5] *= 1e6
    single = sp.csr_array(X, dtype=np.float32)
    for power in (0.5, 0.83):
        fixed = fixed_components(single, power=power)
        np.testing.assert_allclose(settled(NewRows(single), fixed), plain_em(X, fixed), atol=1e-4)


def test_empty_columns_are_left_out():
    X = random_table()
    counts, columns = NewRows(X).occupied()
    np.testing.assert_array_equal(counts.table.toarray(), X.toarray()[:, columns])
    assert set(columns) == set(np.flatnonzero(X.toarray().any(axis=0)))
