"""Rows in registers: what loops make of them is what NumPy makes of rows, and nothing else."""

import numpy as np
import pytest

from skcooc.counts import lanes as rows
from skcooc.counts.kernels import compiled
from skcooc.counts.lanes import at_least, dot, lanes, lined_up, load, over, plus, prefetch, store


@compiled
def combine(wide, w, A, B, out):
    """out[i] = A[i] + w B[i]; return the inner products."""
    products = np.empty(len(A), A.dtype)
    for i in range(np.uintp(len(A))):
        prefetch(wide, B, i)
        a, b = load(wide, A, i), load(wide, B, i)
        products[i] = dot(a, b)
        store(plus(a, w, b), out, i)
    return products


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 3, 16, 31])
def test_rows_of_any_width_equal_numpy(dtype, n_components):
    rng = np.random.default_rng(n_components)
    A, B = (rng.standard_normal((5, n_components)).astype(dtype) for _ in range(2))
    out, w = np.empty_like(A), dtype(0.75)
    products = combine(lanes(n_components, dtype), w, A, B, out)
    assert products.dtype == dtype
    limit = 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(products, (A * B).sum(axis=1), rtol=limit, atol=limit)
    np.testing.assert_allclose(out, A + w * B, rtol=limit, atol=limit)


@pytest.mark.parametrize("n_components", [5, 16])
def test_what_lies_beside_a_row_is_neither_read_nor_written(n_components):
    rng = np.random.default_rng(0)
    A, B, out = (np.full((4, n_components + 3), np.nan) for _ in range(3))
    some = slice(1, 1 + n_components)
    A[:, some], B[:, some] = rng.random((2, 4, n_components))
    products = combine(lanes(n_components, A.dtype), 2.0, A[:, some], B[:, some], out[:, some])
    np.testing.assert_allclose(products, (A * B)[:, some].sum(axis=1))
    np.testing.assert_allclose(out[:, some], (A + 2 * B)[:, some])
    assert np.isnan(out[:, [0, -2, -1]]).all()


@pytest.mark.parametrize("shape", [(1, 1), (7, 16), (1000, 33)])
def test_arrays_begin_with_a_line_of_the_cache(shape):
    for shift in (0, 8):
        zeros = lined_up(shape, np.float32, shift, np.zeros)
        assert zeros.ctypes.data % rows.PAGE == shift * rows.LINE
        assert zeros.shape == shape
        assert zeros.dtype == np.float32
        assert zeros.flags.c_contiguous
        assert zeros.flags.writeable
        assert not zeros.any()


@compiled
def ratios(wide, w, A, B, out):
    """out[i] = A[i] / B[i], but w where that is less."""
    for i in range(np.uintp(len(A))):
        store(at_least(over(load(wide, A, i), load(wide, B, i)), w), out, i)


def test_ratios_and_what_they_are_at_least():
    rng = np.random.default_rng(0)
    A, B = rng.random((2, 4, 5)).astype(np.float32) + 0.1
    out = np.empty_like(A)
    ratios(lanes(5, A.dtype), A.dtype.type(0.8), A, B, out)
    np.testing.assert_allclose(out, np.maximum(A / B, 0.8), rtol=1e-6)
