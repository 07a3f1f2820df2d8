import numpy as np
import pytest

from skcooc.simplex import LEAST, entropy, first_largest, hardmax, log, normalise, softmax, sums


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    return request.param


def test_normalise(dtype):
    P, S = np.random.default_rng(0).random((5, 4)).astype(dtype), scores(np.float64)
    for axis in (0, 1):
        Q = normalise(P, axis, otherwise=0.25)
        np.testing.assert_allclose(Q.sum(axis=axis), 1, rtol=1e-6)
        assert Q.dtype == dtype
        np.testing.assert_allclose(sums(S, axis), S.sum(axis=axis))
    # Slices without mass become the alternative.
    P = np.array([[0.0, 2.0], [0.0, 2.0]], dtype=np.float32)
    Q = normalise(P, 0, otherwise=np.array([[0.3, 0], [0.7, 0]]))
    np.testing.assert_allclose(Q, [[0.3, 0.5], [0.7, 0.5]], rtol=1e-6)
    assert Q.dtype == np.float32


def scores(dtype, scale=1.0):
    return (np.random.default_rng(0).standard_normal((6, 4)) * scale).astype(dtype)


def test_softmax_is_its_definition_and_neither_overflows_nor_underflows(dtype):
    S = scores(dtype)
    P, log_sums = S.copy(), np.empty((6, 1), dtype)
    softmax(P, log_sums)
    np.testing.assert_allclose(P, np.exp(S) / np.exp(S).sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(log_sums[:, 0], np.log(np.exp(S).sum(axis=1)), rtol=1e-5, atol=1e-6)
    assert P.dtype == dtype
    for shift in (-1e9, 1e9):
        S = np.array([[0.0, 0.0, -4096.0], [4096.0, 0.0, 0.0]], dtype) + dtype(shift)
        log_sums = np.empty((2, 1), dtype)
        softmax(S, log_sums)
        np.testing.assert_array_equal(S, [[0.5, 0.5, 0], [1, 0, 0]])
        np.testing.assert_allclose(log_sums[:, 0], [shift, shift + 4096], rtol=1e-6)


def test_hardmax_is_softmax_of_scores_far_apart_and_takes_the_first_of_equals(dtype):
    S = scores(dtype, scale=1e4)
    soft, hard, log_sums, largest = S.copy(), S.copy(), *np.empty((2, 6, 1), dtype)
    softmax(soft, log_sums)
    hardmax(hard, largest)
    np.testing.assert_array_equal(hard, soft)
    np.testing.assert_array_equal(largest, log_sums)
    np.testing.assert_array_equal(hard.argmax(axis=1), S.argmax(axis=1))
    assert hard.dtype == dtype
    S, largest = np.array([[2.0, 2.0, 1.0], [0.0, 0.0, 0.0]]), np.empty((2, 1))
    hardmax(S, largest)
    np.testing.assert_array_equal(S, [[1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(largest, [[2], [0]])
    places = first_largest(np.array([[0.3, 0.1 + 0.2, 0.0], [-1e9, -1e9 - 1e-7, -2e9], [1, 2, 3]]))
    np.testing.assert_array_equal(places, [0, 0, 2])
    np.testing.assert_array_equal(first_largest(np.array([[1.0, 1.0 + 1e-9]])), [1])


def test_logarithms_of_zero_are_finite_and_entropies(dtype):
    P = np.array([[0.0, 1e-35, 0.25, 1.0]], dtype)
    expected = np.log([LEAST, LEAST, 0.25, 1.0])[None]
    np.testing.assert_allclose(log(P), expected, rtol=1e-6)
    np.testing.assert_array_equal(P, np.array([[0.0, 1e-35, 0.25, 1.0]], dtype))
    assert log(P, out=P) is P
    np.testing.assert_allclose(P, expected, rtol=1e-6)
    assert P.dtype == dtype
    P = np.random.default_rng(0).dirichlet(np.ones(5), 3).astype(dtype)
    assert entropy(P) == pytest.approx(-(P * np.log(P)).sum(), rel=1e-5)
    assert entropy(np.full((2, 4), 0.25, dtype)) == pytest.approx(2 * np.log(4))
    assert entropy(np.eye(3, dtype=dtype)) == 0
