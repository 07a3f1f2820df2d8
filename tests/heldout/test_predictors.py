"""Predictors, and the weights and smoothing that are estimated for them."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.heldout import Discounted, Factors, Interpolated, Unigram
from skcooc.heldout.predictors import CachedPredictions
from skcooc.metrics import best_weights, perplexity_of

N_ROWS, N_COLUMNS = 30, 12
EVERYWHERE = np.ones((N_ROWS, N_COLUMNS))


def whole_counts(seed=0, n_rows=N_ROWS, n_columns=N_COLUMNS):
    """Thin counts whose last two rows are empty, and whose last column is."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(rng.random((n_rows, 1)) * rng.random(n_columns) * 3.0)
    n[-2:], n[:, -1] = 0, 0
    return sp.csr_array(n.astype(float))


def dense(predictor, shape=EVERYWHERE.shape):
    """P(y_j given x_i) of all cells, (N, M)."""
    cells = predictor.cells(CSRCounts(sp.csr_array(np.ones(shape))))
    assert cells.dtype == np.float64
    return cells.reshape(shape)


def check_predictors(predictors, known):
    """Distributions in every row, empty ones too; the same at some cells as at all; pure."""
    before, some = known.copy(), whole_counts(seed=3)
    i, j = some.nonzero()
    for predictor in predictors:
        P = dense(predictor)
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_allclose(predictor.cells(CSRCounts(some)), P[i, j])
    for part in ("data", "indices", "indptr"):
        assert (getattr(known, part) == getattr(before, part)).all()


def test_all_predict_distributions():
    known, rng = whole_counts(), np.random.default_rng(1)
    factors = Factors(rng.dirichlet(np.ones(3), N_ROWS), rng.dirichlet(np.ones(N_COLUMNS), 3).T)
    unigram = Unigram(rng.dirichlet(np.ones(N_COLUMNS)))
    mean = Interpolated((factors, unigram), (0.3, 0.7))
    check_predictors([factors, unigram, mean, Discounted(known, 0.7, factors)], known)


def discounted(n, d, lower, broken=False):
    """Absolute discounting with interpolation; broken: what the zeros save is counted, too."""
    P = np.empty(n.shape)
    for i in range(n.shape[0]):
        for j in range(n.shape[1]):
            if not n[i].sum():
                P[i, j] = lower[j]
                continue
            types = n.shape[1] if broken else np.count_nonzero(n[i])
            P[i, j] = (max(n[i, j] - d, 0) + d * types * lower[j]) / n[i].sum()
    return P


@pytest.mark.parametrize("discount", [0.0, 0.4, 1.0])
def test_discounted_equals_the_transcription(discount):
    known = whole_counts()
    lower = np.random.default_rng(0).dirichlet(np.ones(N_COLUMNS))
    P = dense(Discounted(known, discount, Unigram(lower)))
    np.testing.assert_allclose(P, discounted(known.toarray(), discount, lower))
    broken = discounted(known.toarray(), discount, lower, broken=True)
    assert (np.abs(P - broken).max() > 0.01) == (discount > 0)


def literal_weights(n, cells, steps, broken=False):
    """EM for the weights of a mean; broken: every cell counts as one observation."""
    found = [1 / len(cells)] * len(cells)
    for _ in range(steps):
        expected = [0.0] * len(cells)
        for r in range(len(n)):
            total = sum(w * P[r] for w, P in zip(found, cells, strict=True))
            for k in range(len(cells)):
                expected[k] += (1 if broken else n[r]) * found[k] * cells[k][r] / total
        found = [e / sum(expected) for e in expected]
    return np.array(found)


def held_out_predictions(seed=0, n_predictors=3):
    rng = np.random.default_rng(seed)
    n = 1 + rng.poisson(2, 60).astype(float) ** 3
    return n, [CachedPredictions(rng.random(60) ** 3) for _ in range(n_predictors)]


def test_best_weights_are_those_of_literal_em_and_stationary():
    n, predictors = held_out_predictions()
    cells = [predictor.values for predictor in predictors]
    weights = best_weights(n[None], predictors)
    np.testing.assert_allclose(weights, literal_weights(n, cells, 300), atol=1e-3)
    mean = np.dot(weights, cells)
    slopes = np.array([(n * P / mean).sum() / n.sum() for P in cells])
    np.testing.assert_allclose(slopes[weights > 1e-2], 1, atol=1e-3)
    assert (slopes < 1 + 1e-3).all()
    steps = [literal_weights(n, cells, steps) for steps in range(12)]
    assert (np.diff([(n * np.log(w @ np.array(cells))).sum() for w in steps]) > 0).all()
    broken = literal_weights(n, cells, 300, broken=True)
    assert np.abs(weights - broken).max() > 0.01


def test_impossible_tokens_do_not_count_in_weights():
    n, (first, second, _) = held_out_predictions()
    some = first.values * (np.arange(60) % 2), second.values * (np.arange(60) % 2)
    odd = n * (np.arange(60) % 2)
    found = best_weights(n[None], [CachedPredictions(P) for P in some])
    X = sp.csr_array(odd[None])
    alone = best_weights(X, [CachedPredictions(P[1::2]) for P in some])
    np.testing.assert_allclose(found, alone)
    with pytest.raises(ValueError, match="X has no tokens to which any of the predictors"):
        best_weights(n[None], [CachedPredictions(np.zeros(60))])


def test_wrong_arguments_are_refused():
    unigram = Unigram(np.ones(2) / 2)
    with pytest.raises(ValueError, match=r"discount=1.5 should be in the \[0, 1\] range"):
        Discounted(whole_counts(), 1.5, unigram)
    with pytest.raises(ValueError, match="concentration=-1"):
        Discounted(whole_counts(), 0.5, unigram, -1)
    with pytest.raises(ValueError, match="no tokens"):
        perplexity_of(np.zeros((2, 2)), unigram)
