"""Predictors of language: each equals its literal equation, and the equation without a part."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.heldout import (
    Discounted,
    Factors,
    Grouped,
    Interpolated,
    SimilarRows,
    Unigram,
    continuations,
    frequencies,
    mixed_order,
    nearest_rows,
)
from skcooc.heldout.predictors import Known
from skcooc.metrics import best_back_off, best_weights, perplexity_of
from tests.heldout import literal_predictors as literal

N_ROWS, N_COLUMNS = 30, 12


def whole_counts(seed=0, n_rows=N_ROWS, n_columns=N_COLUMNS):
    """Thin counts whose last two rows are empty, and whose last column is."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(rng.random((n_rows, 1)) * rng.random(n_columns) * 3.0)
    n[-2:], n[:, -1] = 0, 0
    return sp.csr_array(n.astype(float))


EVERYWHERE = np.ones((N_ROWS, N_COLUMNS))


def dense(predictor, shape=EVERYWHERE.shape):
    """P(y_j given x_i) at all places, (N, M)."""
    cells = predictor.cells(CSRCounts(sp.csr_array(np.ones(shape))))
    assert cells.dtype == np.float64
    return cells.reshape(shape)


def some_predictors(known):
    rng = np.random.default_rng(1)
    factors = Factors(rng.dirichlet(np.ones(3), N_ROWS), rng.dirichlet(np.ones(N_COLUMNS), 3).T)
    follows = Unigram(continuations(known))
    similar = SimilarRows(known, *nearest_rows(known, 5), beta=4.0)
    contexts = rng.integers(N_COLUMNS, size=(N_ROWS, 2))
    return {
        "frequencies": frequencies(known),
        "Kneser-Ney": Discounted(known, 0.7, follows),
        "back-off to aspects": Discounted(known, 0.7, factors),
        "similar": similar,
        "grouped": Grouped(similar, rng.integers(5, size=N_ROWS)),
        "mixed order": mixed_order(known, contexts, max_iter=3),
        "mean": Interpolated((similar, factors), (0.3, 0.7)),
    }


@pytest.mark.parametrize("name", some_predictors(whole_counts()))
def test_predictions_are_distributions_in_every_row_also_in_empty_ones(name):
    P = dense(some_predictors(whole_counts())[name])
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_cells_do_not_depend_on_which_others_are_asked_for():
    known, asked = whole_counts(), whole_counts(seed=3)
    for predictor in some_predictors(known).values():
        found = sp.csr_array(asked)
        found.data = predictor.cells(CSRCounts(asked))
        i, j = asked.nonzero()
        np.testing.assert_allclose(found.toarray()[i, j], dense(predictor)[i, j])


def test_arguments_are_not_changed():
    known = whole_counts()
    before = known.copy()
    for predictor in some_predictors(known).values():
        dense(predictor)
    for part in ("data", "indices", "indptr"):
        assert (getattr(known, part) == getattr(before, part)).all()


@pytest.mark.parametrize("discount", [0.0, 0.4, 1.0])
def test_discounting_is_the_equation_and_not_the_one_that_forgets_empty_rows(discount):
    known = whole_counts()
    lower = np.random.default_rng(0).dirichlet(np.ones(N_COLUMNS))
    P = dense(Discounted(known, discount, Unigram(lower)))
    np.testing.assert_allclose(P, literal.discounted(known.toarray(), discount, lower))
    broken = literal.discounted(known.toarray(), discount, lower, broken=True)
    assert (np.abs(P - broken).max() > 0.01) == (discount > 0)


def test_continuations_count_rows_not_observations():
    known = whole_counts()
    types = (known.toarray() > 0).sum(axis=0)
    expected = (types + 1) / (types.sum() + N_COLUMNS)
    np.testing.assert_allclose(continuations(known), expected)
    stored = known.copy()
    stored.data[0] = 0  # an entry that is stored and zero is no row
    assert continuations(stored)[stored.indices[0]] < expected[stored.indices[0]]


@pytest.mark.parametrize("beta", [0.0, 3.0])
def test_similar_rows_are_the_equations_and_not_with_half_the_divergence(beta):
    known = whole_counts()
    neighbors, divergences = nearest_rows(known, 4)
    nearest, J = literal.nearest_rows(known.toarray(), 4)
    np.testing.assert_allclose(np.minimum(divergences, 9), np.minimum(J, 9), atol=1e-12)
    P = dense(SimilarRows(known, neighbors, divergences, beta))
    np.testing.assert_allclose(P, literal.similar(known.toarray(), nearest, J, beta))
    broken = literal.similar(known.toarray(), nearest, J / 2, beta)
    assert (np.abs(P - broken).max() > 1e-3) == (beta > 0)


def test_more_neighbours_than_rows_and_rows_like_no_other():
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
def test_mixed_order_is_the_equations(m):
    n, contexts = text(m=max(m, 2))
    contexts = contexts[:, :m]
    model = mixed_order(sp.csr_array(n), contexts, max_iter=4)
    shares, M = literal.skipping(n, contexts)
    for _ in range(4):
        shares, M = literal.mixed_order_step(n, contexts, shares, M)
    np.testing.assert_allclose(dense(model, n.shape), literal.mixed_order(contexts, shares, M))


def test_a_step_that_forgets_the_words_skipped_is_found():
    n, contexts = text(m=3)
    model = mixed_order(sp.csr_array(n), contexts, max_iter=1)
    broken = literal.mixed_order_step(n, contexts, *literal.skipping(n, contexts), broken=True)
    difference = dense(model, n.shape) - literal.mixed_order(contexts, *broken)
    assert np.abs(difference).max() > 0.01


def test_each_step_of_mixed_order_raises_the_likelihood():
    n, contexts = text()
    model, before = mixed_order(sp.csr_array(n), contexts, max_iter=0), np.inf
    for _ in range(12):
        after = perplexity_of(n, model)
        assert after < before
        model, before = model.step(sp.csr_array(n)), after


def test_contexts_of_unseen_words_get_the_frequencies():
    n, contexts = text()
    model = mixed_order(sp.csr_array(n), contexts)
    P = dense(model.at(np.array([[5, 5], [0, 5]])), (2, 6))
    np.testing.assert_allclose(P[0], n.sum(axis=0) / n.sum())
    np.testing.assert_allclose(P.sum(axis=1), 1)


def held_out_predictions(seed=0, n_predictors=3):
    rng = np.random.default_rng(seed)
    n = 1 + rng.poisson(2, 60).astype(float) ** 3
    return n, [Known(rng.random(60) ** 3) for _ in range(n_predictors)]


def test_weights_are_those_of_literal_em_and_stationary():
    n, predictors = held_out_predictions()
    cells = [predictor.values for predictor in predictors]
    weights = best_weights(n[None], predictors)
    np.testing.assert_allclose(weights, literal.weights(n, cells, 300), atol=1e-3)
    mean = np.dot(weights, cells)
    slopes = np.array([(n * P / mean).sum() / n.sum() for P in cells])
    np.testing.assert_allclose(slopes[weights > 1e-2], 1, atol=1e-3)
    assert (slopes < 1 + 1e-3).all()
    broken = literal.weights(n, cells, 300, broken=True)
    assert np.abs(weights - broken).max() > 0.01


def test_literal_em_of_weights_rises():
    n, predictors = held_out_predictions()
    cells = np.array([predictor.values for predictor in predictors])
    steps = [literal.weights(n, cells, steps) for steps in range(12)]
    rising = [(n * np.log(w @ cells)).sum() for w in steps]
    assert (np.diff(rising) > 0).all()


def test_the_impossible_does_not_count_in_weights_unless_all_is():
    n, (first, second, _) = held_out_predictions()
    some = first.values * (np.arange(60) % 2), second.values * (np.arange(60) % 2)
    odd = n * (np.arange(60) % 2)
    found = best_weights(n[None], [Known(P) for P in some])
    X = sp.csr_array(odd[None])
    alone = best_weights(X, [Known(P[1::2]) for P in some])
    np.testing.assert_allclose(found, alone)
    with pytest.raises(ValueError, match="X holds no observations that any of the predictors"):
        best_weights(n[None], [Known(np.zeros(60))])


def test_the_best_back_off_is_the_best_of_a_grid():
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


def test_what_is_refused():
    known = whole_counts()
    with pytest.raises(ValueError, match=r"discount=1.5 should be in the \[0, 1\] range"):
        Discounted(known, 1.5, frequencies(known))
    with pytest.raises(ValueError, match=r"beta=-1.0 should be in the \[0, inf\) range"):
        SimilarRows(known, *nearest_rows(known, 2), beta=-1.0)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        nearest_rows(known, 0)
    with pytest.raises(ValueError, match="do not match X"):
        mixed_order(known, np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match="should be columns of X"):
        mixed_order(known, np.full((N_ROWS, 2), N_COLUMNS))
    with pytest.raises(ValueError, match="no observations"):
        perplexity_of(np.zeros((2, 2)), Unigram(np.ones(2) / 2))
