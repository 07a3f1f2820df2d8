from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skcooc.counts import CSRCounts, csr
from skcooc.counts.lanes import power, replace_by_log
from tests.tables import random_table

TYPES = [np.float32, np.float64]


def powered(P, exponent):
    out = np.full(P.shape, np.nan, P.dtype)
    power(P, exponent, out)
    return out


def magnitudes(dtype, n=20_000):
    """Numbers of all sizes up to 2^40, subnormal ones too, and many that are near one."""
    rng, info = np.random.default_rng(0), np.finfo(dtype)
    exponents = rng.uniform(info.minexp - info.nmant, 40, n)
    near = 1 + rng.uniform(-1, 1, n) * 2.0 ** -rng.uniform(1, info.nmant, n)
    return np.concatenate([2.0**exponents, near]).astype(dtype)


def check_accuracy(dtype, exponent):
    """In units of the last place, those of the least number where results are subnormal."""
    x, info = magnitudes(dtype), np.finfo(dtype)
    exact = x.astype(np.longdouble) ** np.longdouble(dtype(exponent))
    unit = np.maximum(info.eps * exact, info.smallest_subnormal)
    assert np.max(np.abs(powered(x, exponent) - exact) / unit) < 4


@pytest.mark.parametrize("dtype", TYPES)
def test_powers_are_accurate_at_all_magnitudes(dtype):
    for exponent in (0.05, 0.5, 0.8, 0.97, 1.3, 2.5):
        check_accuracy(dtype, exponent)


@pytest.mark.parametrize("dtype", TYPES)
def test_some_powers_are_exact(dtype):
    info, x = np.finfo(dtype), magnitudes(dtype)
    np.testing.assert_array_equal(powered(x, 1), x)
    np.testing.assert_array_equal(powered(np.append(x, dtype(0)), 0), 1)
    few = np.array([0, 1, np.inf, np.nan, info.max, info.smallest_subnormal], dtype)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(powered(few[:4], 0.8), few[:4])
        np.testing.assert_array_equal(powered(few, 2.0), few**2)
        np.testing.assert_array_equal(powered(few[3:], 9.0), few[3:] ** 9)
    np.testing.assert_array_equal(powered(few[:1], -0.5), np.inf)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_power_depends_on_its_number_alone(dtype):
    x = magnitudes(dtype, 100)
    everywhere = powered(x, 0.8)
    for start in range(40):
        np.testing.assert_array_equal(powered(x[start : start + 37], 0.8), everywhere[start:][:37])
    square = x[:196].reshape(14, 14)
    frozen = square.T
    frozen.flags.writeable = False
    np.testing.assert_array_equal(powered(frozen, 0.8), everywhere[:196].reshape(14, 14).T)


def test_threads_give_bitwise_the_same(monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    counts, P = CSRCounts(random_table(dtype=np.float32)), magnitudes(np.float32)[:3003]
    P = P.reshape(-1, 7)
    before = P.copy()
    for n_threads in (2, 7):
        with ThreadPoolExecutor(n_threads) as pool:
            together = counts.with_threads(n_threads, pool.map).power(P, 0.8)
        np.testing.assert_array_equal(together, counts.power(P, 0.8))
    np.testing.assert_array_equal(P, before)


@pytest.mark.parametrize("dtype", TYPES)
def test_logarithms_are_those_of_numpy(dtype):
    info = np.finfo(dtype)
    special = np.array([1, info.max, info.smallest_normal, np.inf, np.nan], dtype)
    x = np.concatenate([np.maximum(magnitudes(dtype), info.smallest_normal), special])
    logs = x.copy()
    replace_by_log(logs)
    np.testing.assert_allclose(logs, np.log(x), rtol=4 * info.eps)
    np.testing.assert_array_equal(logs[-5], 0)
