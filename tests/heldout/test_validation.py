import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from skcooc.counts import CSRCounts
from skcooc.equations.aspects import Aspects
from skcooc.heldout import HeldOut
from skcooc.heldout.predictors import CachedPredictions, best_smoothing
from skcooc.heldout.validation import add_one_unigram
from tests.tables import random_table


def literal_perplexity(X, P, s, b):
    dense = X.toarray()
    smoothed = (1 - s) * P + s * b
    return np.exp(-(dense * np.log(smoothed)).sum() / dense.sum())


def state(X, k=3, seed=0):
    model = Aspects(k)
    params, _ = model.start(CSRCounts(X), np.random.default_rng(seed))
    return model, params, np.random.default_rng(1).dirichlet(np.ones(k), X.shape[0])


def test_perplexity_is_the_definition_and_infinite_where_the_impossible_is_seen():
    X = random_table()
    model, params, rows = state(X)
    b = np.full(X.shape[1], 1 / X.shape[1])
    validation = HeldOut(CSRCounts(X), b, smoothing=0.1)(model, params, rows)
    P = rows @ params.components.T
    assert validation.perplexity == pytest.approx(literal_perplexity(X, P, 0.1, b))
    params = params._replace(components=np.zeros_like(params.components))
    assert HeldOut(CSRCounts(X), b, smoothing=0.0)(model, params, rows).perplexity == np.inf
    assert np.isfinite(HeldOut(CSRCounts(X), b)(model, params, rows).perplexity)


def test_one_observation_more_weighs_what_others_do():
    X = random_table()
    shares = X / X.sum(axis=1).clip(1)[:, None]
    for n, observations in ((X, X.sum()), (shares, X.nnz), (1e-6 * shares, X.nnz)):
        counts, one = CSRCounts(sp.csr_array(n)), n.sum() / observations
        literal = [(column + one) / (n.sum() + one * 9) for column in n.sum(axis=0)]
        found = add_one_unigram(counts.column_sums, counts.mean_count_weight)
        np.testing.assert_allclose(found, literal)
    flat = add_one_unigram(counts.column_sums, 1.0)  # adds whole observations to tiny shares
    assert np.abs(flat - found).sum() > 0.1


def test_estimated_smoothing_is_the_best_of_a_grid():
    rng = np.random.default_rng(0)
    P, b, n = rng.random(400) ** 4, rng.random(400), 1 + rng.poisson(2, 400).astype(float)
    s = best_smoothing(CachedPredictions(P), b, CSRCounts(sp.csr_array(n[None])))
    grid = np.linspace(0.001, 0.95, 2000)
    losses = [-(n * np.log((1 - g) * P + g * b)).sum() for g in grid]
    assert s == pytest.approx(grid[int(np.argmin(losses))], abs=1e-3)


def test_the_number_of_blas_threads_changes_no_digit():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = random_table(n_rows=300, n_columns=400, seed=seed)
        model, params, rows = state(X)
        heldout = HeldOut(CSRCounts(X), rng.dirichlet(np.ones(X.shape[1])))
        found = []
        for threads in (1, 2, 4):
            with threadpool_limits(threads):
                found.append(heldout(model, params, rows))
        assert found[0] == found[1] == found[2]
