"""Cells that are held out from rows, and what the methods are asked for."""

import numpy as np
import scipy.sparse as sp

from benchmarks.quality.recommending import METHODS, divided, found

RNG = np.random.default_rng(0)
X = sp.csr_array(RNG.poisson(0.3, (60, 40)) * 1.0)


def test_whole_cells_of_rows_that_have_enough_are_held_out():
    train, test = divided(X, 0.2, seed=0)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert not train.multiply(test).nnz
    sizes = np.diff(X.indptr)
    expected = np.where(sizes >= 5, np.maximum(1, np.round(0.2 * sizes)), 0)
    np.testing.assert_array_equal(np.diff(test.indptr), expected)
    assert (divided(X, 0.2, seed=1)[1] != test).nnz


def test_what_is_popular_and_new_comes_first():
    train, test = divided(X, 0.2, seed=0)
    held_out, items = found("most popular", {}, 0, train, test)
    rows = np.flatnonzero(np.diff(test.indptr))
    assert held_out.shape[0] == len(items) == len(rows)
    rows_with = (train > 0).sum(axis=0)
    for row, first in zip(rows, items[:, 0], strict=True):
        new = np.flatnonzero(train[[row]].toarray()[0] == 0)
        assert first in new
        assert rows_with[first] == rows_with[new].max()
    assert all(settings for _, settings in METHODS.values())
