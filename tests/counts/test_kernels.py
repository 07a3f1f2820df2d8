"""What the compiled loops promise beside their products, which test_csr checks."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from skcooc.counts import kernels
from skcooc.counts.powers import LOOPS
from skcooc.counts.thinning import content_uniforms
from tests.tables import random_table


def test_loops_compile_without_a_cache_folder(monkeypatch):
    """numba refuses to cache where it finds no folder that it can write to."""
    compile_plainly = kernels.njit

    def njit(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_plainly(**options)

    monkeypatch.setattr(kernels, "njit", njit)
    assert kernels.compiled(lambda x: x + 1)(2) == 3


def found_again(loop):
    """Whether numba knows a loop of an earlier process: by what it encloses, other loops not so."""
    cells = loop.py_func.__closure__ or ()
    return not any(isinstance(cell.cell_contents, Dispatcher) for cell in cells)


def test_loops_are_found_in_the_cache():
    modules = [module for name, module in sys.modules.items() if name.startswith("skcooc.counts.")]
    named = [value for module in modules for value in vars(module).values()]
    loops = [value for value in [*named, *LOOPS.values()] if isinstance(value, Dispatcher)]
    assert len(loops) > 30
    assert all(map(found_again, loops))
    one = loops[0]
    assert not found_again(kernels.compiled(lambda x: one(x)))  # broken


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_uniforms_depend_on_the_values_not_on_their_type(dtype):
    X, reference = random_table(dtype=dtype), random_table()
    uniforms, expected = np.empty((2, X.nnz), dtype=np.float32)
    content_uniforms(X.indptr, X.indices, X.data, np.uint64(7), uniforms)
    args = reference.indptr, reference.indices, reference.data
    content_uniforms(*args, np.uint64(7), expected)
    np.testing.assert_array_equal(uniforms, expected)
    assert ((uniforms >= 0) & (uniforms < 1)).all()
