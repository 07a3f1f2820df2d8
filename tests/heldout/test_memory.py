"""The memory of a row against a slow transcription, and its estimate against a search."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from skcooc.heldout import Unigram
from skcooc.heldout.memory import Memory, best_memory, memory_cells, rows_with, with_cache
from skcooc.heldout.validation import hold_out
from skcooc.metrics import perplexity_of
from skcooc.tables import as_counts
from tests.tables import planted

KNOWN = sp.csr_array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.4, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
MODEL = Unigram(np.array([0.1, 0.2, 0.3, 0.4]))
BACKGROUND = np.array([0.4, 0.3, 0.2, 0.1])
ALL = as_counts(sp.csr_array(np.ones(KNOWN.shape)))


def literal(known, P, b, a, d, s):
    """P(y given x) cell by cell, as the Chinese restaurant has it."""
    predicted = np.zeros(known.shape)
    for i, row in enumerate(known):
        saved = sum(min(n, d) for n in row)
        for j, n in enumerate(row):
            lower = (1 - s) * P[j] + s * b[j]
            known_share = max(n - d, 0) + (a + saved) * lower
            predicted[i, j] = known_share / (sum(row) + a)
    return predicted


def test_the_prediction_is_that_of_the_restaurant():
    n, P = KNOWN.toarray(), MODEL.distribution
    without_discount = literal(n, P, BACKGROUND, 2.0, 0.0, 0.3)
    for given in ((5.0, 0.6, 0.3), (0.5, 0.0, 0.0), (80.0, 1.0, 1.0)):
        cells = with_cache(KNOWN, MODEL, BACKGROUND, Memory(*given)).cells(ALL)
        expected = literal(n, P, BACKGROUND, *given)
        np.testing.assert_allclose(cells.reshape(n.shape), expected, rtol=1e-12)
        np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-12)
        assert not np.allclose(expected, without_discount)


@pytest.fixture
def bursty():
    """Bursty rows, the counts to be predicted, a model and a background."""
    X = planted(n_rows=40, n_columns=60, n_observations=4000, burstiness=15).X.astype(float)
    rest, heldout = hold_out(as_counts(X), 0.3, 0, "auto")
    model = Unigram(np.random.default_rng(0).dirichlet(np.ones(60)))
    return rest.table, heldout.X, model, np.full(60, 1 / 60)


def test_slopes_are_those_of_the_log_likelihood(bursty):
    known, heldout, model, background = bursty
    cells, at = memory_cells(*bursty), np.array([7.0, 0.4, 0.3])
    value, slopes = cells.log_likelihood(Memory(*at))
    predictor = with_cache(known, model, background, Memory(*at))
    assert value == pytest.approx(-math.log(perplexity_of(heldout.table, predictor)))
    numerical = approx_fprime(at, lambda x: cells.log_likelihood(Memory(*x))[0], 1e-7)
    np.testing.assert_allclose(slopes, numerical, rtol=1e-3)
    assert not np.allclose(slopes[::-1], numerical, rtol=0.5)


def test_the_best_memory_beats_a_grid_and_keeps_what_is_given(bursty):
    cells = memory_cells(*bursty)
    best, _ = cells.log_likelihood(best_memory(cells))
    grid = itertools.product((1, 5, 15, 30, 100), (0.01, 0.2, 0.5, 0.8), (0.01, 0.3, 0.9))
    assert all(cells.log_likelihood(Memory(*point))[0] <= best + 1e-9 for point in grid)
    assert cells.log_likelihood(Memory(1e4, 0.01, 0.3))[0] < best - 0.05  # next to no cache
    given = best_memory(cells, (None, 0.25, None))
    assert given.discount == 0.25
    assert cells.log_likelihood(given)[0] <= best + 1e-9


def test_rows_of_which_nothing_is_known_are_predicted_by_the_lower_one():
    X = sp.csr_array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    cells = memory_cells(KNOWN[[0, 2]], as_counts(X), MODEL, BACKGROUND)
    value, slopes = cells.log_likelihood(Memory(0.0, 0.5, 0.2))
    lower = 0.8 * MODEL.distribution + 0.2 * BACKGROUND
    known = (np.array([2.5, 0.5]) + 1.0 * lower[:2]) / 4
    assert value == pytest.approx(np.log([*known, lower[3]]).mean())
    assert np.isfinite(slopes).all()
    assert best_memory(cells, (0.0, 0.0, None)).smoothing != 0.02  # where the search begins


def test_rows_count_by_their_weights():
    X = as_counts(KNOWN)
    np.testing.assert_array_equal(rows_with(X), [1, 2, 0, 1])
    twice = as_counts(sp.vstack([KNOWN, KNOWN[[1]]]).tocsr())
    np.testing.assert_array_equal(rows_with(twice), [1, 3, 0, 2])
