"""What the compiled loops promise beside their products, which test_csr checks."""

import numpy as np
import pytest

from skcooc.counts import kernels
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_uniforms_depend_on_the_values_not_on_their_type(dtype):
    X, reference = random_table(dtype=dtype), random_table()
    uniforms, expected = np.empty((2, X.nnz), dtype=np.float32)
    content_uniforms(X.indptr, X.indices, X.data, np.uint64(7), uniforms)
    args = reference.indptr, reference.indices, reference.data
    content_uniforms(*args, np.uint64(7), expected)
    np.testing.assert_array_equal(uniforms, expected)
    assert ((uniforms >= 0) & (uniforms < 1)).all()
