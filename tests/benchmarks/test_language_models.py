"""Topic-free language models against their transcriptions and broken variants of these."""

import doctest

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.quality import language_models
from benchmarks.quality.language_models import (
    Grouped,
    SimilarRows,
    best_back_off,
    continuations,
    frequencies,
    mixed_order,
    nearest_rows,
)
from skcooc.heldout import Discounted, Interpolated, Unigram
from skcooc.metrics import perplexity_of
from tests.benchmarks import literal_language_models as literal
from tests.heldout.test_predictors import (
    N_COLUMNS,
    N_ROWS,
    check_predictors,
    dense,
    whole_counts,
)


def test_examples_of_the_docstrings():
    found = doctest.testmod(language_models)
    assert found.attempted > 10
    assert not found.failed


def test_all_predict_distributions():
    known, rng = whole_counts(), np.random.default_rng(1)
    similar = SimilarRows(known, *nearest_rows(known, 5), beta=4.0)
    contexts = rng.integers(N_COLUMNS, size=(N_ROWS, 2))
    predictors = [
        frequencies(known),
        Discounted(known, 0.7, Unigram(continuations(known))),
        similar,
        Grouped(similar, rng.integers(5, size=N_ROWS)),
        mixed_order(known, contexts, max_iter=3),
    ]
    check_predictors(predictors, known)


def test_continuations_count_rows_not_tokens():
    known = whole_counts()
    types = (known.toarray() > 0).sum(axis=0)
    expected = (types + 1) / (types.sum() + N_COLUMNS)
    np.testing.assert_allclose(continuations(known), expected)
    stored = known.copy()
    stored.data[0] = 0  # a stored zero does not count
    assert continuations(stored)[stored.indices[0]] < expected[stored.indices[0]]


@pytest.mark.parametrize("beta", [0.0, 3.0])
def test_similar_rows_equal_the_transcription(beta):
    known = whole_counts()
    neighbors, divergences = nearest_rows(known, 4)
    nearest, J = literal.nearest_rows(known.toarray(), 4)
    np.testing.assert_allclose(np.minimum(divergences, 9), np.minimum(J, 9), atol=1e-12)
    P = dense(SimilarRows(known, neighbors, divergences, beta))
    np.testing.assert_allclose(P, literal.similar(known.toarray(), nearest, J, beta))
    broken = literal.similar(known.toarray(), nearest, J / 2, beta)
    assert (np.abs(P - broken).max() > 1e-3) == (beta > 0)


def test_similar_rows_with_few_or_no_neighbours():
    known = sp.csr_array(np.array([[2.0, 0, 0], [0, 1.0, 1], [0, 2, 0], [0, 0, 0]]))
    neighbors, divergences = nearest_rows(known, 50)
    assert neighbors.shape == divergences.shape == (4, 3)
    assert np.isinf(divergences[[0, 3]]).all()
    P = dense(SimilarRows(known, neighbors, divergences, 2.0), known.shape)
    np.testing.assert_allclose(P, [[1 / 3, 1 / 2, 1 / 6], [0, 1, 0], [0, 0.5, 0.5], P[0]])


def text(seed=0, n_words=6, length=400, m=2):
    """Contexts of m words, the nearest first, and how often each word followed."""
    rng = np.random.default_rng(seed)
    words = list(rng.integers(n_words - 1, size=m))  # the last word is never seen
    while len(words) < length:
        source = words[-1] if rng.random() < 0.6 - 0.1 * words[-1] else words[-2]
        words.append((source + (rng.random() < 0.2)) % (n_words - 1))
    words = np.array(words)
    before = np.stack([words[m - k : -k] for k in range(1, m + 1)], axis=1)
    contexts, rows = np.unique(before, axis=0, return_inverse=True)
    n = np.zeros((len(contexts), n_words))
    np.add.at(n, (rows.ravel(), words[m:]), 1)
    return n, contexts


@pytest.mark.parametrize("m", [1, 2, 3])
def test_mixed_order_equals_the_transcription(m):
    n, contexts = text(m=max(m, 2))
    contexts = contexts[:, :m]
    model = mixed_order(sp.csr_array(n), contexts, max_iter=4)
    shares, M = literal.skipping(n, contexts)
    for _ in range(4):
        shares, M = literal.mixed_order_step(n, contexts, shares, M)
    np.testing.assert_allclose(dense(model, n.shape), literal.mixed_order(contexts, shares, M))


def test_mixed_order_differs_from_the_broken_step():
    n, contexts = text(m=3)
    model = mixed_order(sp.csr_array(n), contexts, max_iter=1)
    broken = literal.mixed_order_step(n, contexts, *literal.skipping(n, contexts), broken=True)
    difference = dense(model, n.shape) - literal.mixed_order(contexts, *broken)
    assert np.abs(difference).max() > 0.01


def test_each_step_of_mixed_order_lowers_the_perplexity():
    n, contexts = text()
    model, before = mixed_order(sp.csr_array(n), contexts, max_iter=0), np.inf
    for _ in range(12):
        after = perplexity_of(n, model)
        assert after < before
        model, before = model.step(sp.csr_array(n)), after


def test_contexts_of_unseen_words_get_the_unigram():
    n, contexts = text()
    model = mixed_order(sp.csr_array(n), contexts)
    P = dense(model.at(np.array([[5, 5], [0, 5]])), (2, 6))
    np.testing.assert_allclose(P[0], n.sum(axis=0) / n.sum())
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_best_back_off_is_as_good_as_a_grid():
    known, held_out = whole_counts(), whole_counts(seed=5).toarray()
    known_rows = known.sum(axis=1) > 0
    held_out[~known_rows] = 0
    rng = np.random.default_rng(0)
    lower = [Unigram(rng.dirichlet(np.ones(N_COLUMNS))) for _ in range(2)]
    best = best_back_off(held_out, known, lower)
    grid = {
        perplexity_of(held_out, Discounted(known, d, Interpolated(lower, (w, 1 - w)))): (d, w)
        for d in np.linspace(0, 1, 13)
        for w in np.linspace(0, 1, 13)
    }
    assert perplexity_of(held_out, best) <= min(grid) * (1 + 1e-6)
    assert best.discount == pytest.approx(grid[min(grid)][0], abs=0.1)


def test_wrong_arguments_are_refused():
    known = whole_counts()
    with pytest.raises(ValueError, match=r"beta=-1.0 should be in the \[0, inf\) range"):
        SimilarRows(known, *nearest_rows(known, 2), beta=-1.0)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        nearest_rows(known, 0)
    with pytest.raises(ValueError, match="do not match X"):
        mixed_order(known, np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match="should be columns of X"):
        mixed_order(known, np.full((N_ROWS, 2), N_COLUMNS))
