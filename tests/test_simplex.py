import numpy as np
import pytest

from skcooc.simplex import normalise


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1])
def test_normalise(dtype, axis):
    P = np.random.default_rng(0).random((5, 4)).astype(dtype)
    Q = normalise(P, axis, otherwise=0.25)
    np.testing.assert_allclose(Q.sum(axis=axis), 1, rtol=1e-6)
    assert Q.dtype == dtype


def test_slices_without_mass_become_the_alternative():
    P = np.array([[0.0, 2.0], [0.0, 2.0]], dtype=np.float32)
    Q = normalise(P, 0, otherwise=np.array([[0.3, 0], [0.7, 0]]))
    np.testing.assert_allclose(Q, [[0.3, 0.5], [0.7, 0.5]], rtol=1e-6)
    assert Q.dtype == np.float32
