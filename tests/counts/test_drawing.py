"""Rows that are drawn by their content."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts.drawing import draw, drawn_of


@pytest.mark.parametrize("n_rows", [7, 100])
def test_rows_are_drawn_by_their_content_from_tables_and_from_blocks(n_rows):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(1.0, (40, 12)).astype(float))
    times = rng.integers(0, 4, 40)
    repeated = X[rng.permutation(np.repeat(np.arange(40), times))].astype(np.float32)
    blocks = [repeated[:20], repeated[20:25], repeated[25:]]
    parts = [draw(block, np.ones(block.shape[0]), n_rows, 5) for block in blocks]
    expected = draw(X, times.astype(float), n_rows, 5)
    assert expected.rows.shape[0] == min(n_rows, np.count_nonzero(times))
    whole = draw(repeated, np.ones(repeated.shape[0]), n_rows, 5)
    for found in (whole, drawn_of(parts, n_rows, 5)):
        np.testing.assert_array_equal(found.rows.toarray(), expected.rows.toarray())
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_all_rows_have_the_same_chance():
    X, weights = sp.csr_array(np.eye(10) + 1), np.arange(10)
    drawn = [draw(X, weights, 3, seed).rows.toarray().argmax(axis=1) for seed in range(2000)]
    shares = np.bincount(np.concatenate(drawn), minlength=10) / 2000
    assert not shares[0]
    np.testing.assert_allclose(shares[1:], 1 / 3, atol=0.05)
