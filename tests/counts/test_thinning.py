"""Thinning adds up, has the right distribution, and depends on the content of a row alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import thin
from skcooc.datasets import make_cooccurrences


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_add_up_and_seeds_differ(dtype):
    X = make_cooccurrences(random_state=0, dtype=dtype).X
    rest, drawn = thin(X, 0.3, seed=1)
    np.testing.assert_array_equal((rest + drawn).toarray(), X.toarray())
    assert (rest.data > 0).all()
    assert (drawn.data > 0).all()
    assert rest.nnz < X.nnz
    assert not any(np.shares_memory(part.indices, X.indices) for part in (rest, drawn))
    assert rest.dtype == drawn.dtype == dtype
    assert (drawn != thin(X, 0.3, seed=2)[1]).nnz > 100


@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_draws_are_binomial(count):
    rng = np.random.default_rng(0)
    X = sp.csr_array(count * (rng.random((3000, 20)) < 0.5).astype(float))
    _, drawn = thin(X, 0.2, seed=0)
    values = drawn.toarray()[X.toarray() > 0]
    n_cells = len(values)
    assert abs(values.mean() - 0.2 * count) < 4 * np.sqrt(0.16 * count / n_cells)
    assert abs(values.var() / (0.16 * count) - 1) < 0.06


def test_rows_are_drawn_independently_of_their_company():
    X = sp.csr_array(make_cooccurrences(random_state=0).X.astype(float))
    order = np.random.default_rng(1).permutation(X.shape[0])[:40]
    _, drawn = thin(X, 0.5, seed=3)
    _, alone = thin(X[order], 0.5, seed=3)
    np.testing.assert_array_equal(drawn.toarray()[order], alone.toarray())


def test_equal_rows_are_divided_equally_and_others_are_not():
    row = np.random.default_rng(0).poisson(1.0, 200)
    other = row.copy()
    other[0] += 1
    _, drawn = thin(sp.csr_array(np.array([row, row, other], dtype=float)), 0.5, seed=0)
    drawn = drawn.toarray()
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0, 1:] != drawn[2, 1:]).mean() > 0.1


def test_fractions_stand_for_observations_of_equal_weight():
    X = sp.csr_array(np.full((500, 2), 2.5))
    _, drawn = thin(X, 0.5, seed=0)
    assert set(np.round(np.unique(drawn.toarray()) / 2.5 * 3, 6)) <= {0.0, 1.0, 2.0, 3.0}


def test_occupied_scores_every_row_that_has_observations():
    X = sp.csr_array(np.eye(51, 50))
    _, drawn = thin(X, 0.1, seed=0, occupied=True)
    np.testing.assert_array_equal(drawn.sum(axis=1), [1] * 50 + [0])


def test_the_second_part_is_never_empty():
    X = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    for seed in range(20):
        assert thin(X, 1e-9, seed=seed)[1].sum() >= 1


def test_huge_counts():
    X = sp.csr_array([[1e9, 1e9]])
    rest, drawn = thin(X, 0.1, seed=0)
    np.testing.assert_allclose(drawn.toarray(), 1e8, rtol=1e-3)
    np.testing.assert_array_equal((rest + drawn).toarray(), X.toarray())


def test_stored_zeros_do_not_matter():
    X = sp.csr_array(make_cooccurrences(random_state=0).X.astype(float))
    padded = X.copy()
    padded.data[::3] = 0
    compact = padded.copy()
    compact.eliminate_zeros()
    for mine, its in zip(thin(padded, 0.3, 0), thin(compact, 0.3, 0), strict=True):
        np.testing.assert_array_equal(mine.toarray(), its.toarray())


def test_counts_that_no_float_tells_apart_are_divided_too():
    X = sp.csr_array([[1e30, 3.0], [1e25, 0.0]])
    rest, drawn = thin(X, 0.25, 0)
    np.testing.assert_allclose(drawn.toarray()[:, 0] / [1e30, 1e25], 0.25, rtol=1e-3)
    np.testing.assert_allclose((rest + drawn).toarray(), X.toarray())
