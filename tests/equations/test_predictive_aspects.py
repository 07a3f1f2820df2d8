"""Predictive EM: fixed points of the literal equations, limits, and what it predicts."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, Dyads
from skcooc.counts import CSRCounts
from skcooc.equations.aspects import Aspects
from skcooc.equations.predictive_aspects import PredictiveAspects
from skcooc.model_selection import split_observations
from tests.equations import literal_predictive_aspects as literal
from tests.equations.broken import Twice
from tests.equations.running import run
from tests.tables import planted

FORMS = [("joint", 0.0), ("likelihood", 0.0), ("joint", 0.5), ("likelihood", 0.5)]


def converged(model, X, beta, n_iter=800):
    return run(model, X, beta=beta, n_iter=n_iter)


def rich_table(dtype=np.float64):
    """Nearly all rows and columns have several observations."""
    return sp.csr_array(planted(2, 1500, n_rows=15, n_columns=10).X.astype(dtype))


def posteriors_of(model, X, fit, beta):
    """r[i, j, k] of a fitted model, one cell at a time, from tables that hold one cell alone."""
    n, params = X.toarray(), fit.params
    r = np.zeros((*n.shape, params.components.shape[1]))
    for i, j in zip(*np.nonzero(n), strict=True):
        cell = np.zeros_like(n)
        cell[i, j] = n[i, j]
        counts = CSRCounts(sp.csr_array(cell))
        counts.row_sums = n.sum(axis=1)
        stats = model.expect(counts, params, fit.rows, beta)[1]
        r[i, j] = stats.components[j] / n[i, j]
    return r


@pytest.mark.parametrize(("tempering", "prior"), FORMS)
@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_converges_to_a_fixed_point_of_the_literal_equations(tempering, prior, beta):
    X = rich_table()
    model = PredictiveAspects(Aspects(2, tempering, prior))
    r = posteriors_of(model, X, converged(model, X, beta), beta)
    again = literal.posterior(X.toarray(), r, beta, tempering, prior)
    np.testing.assert_allclose(again, r, atol=2e-4)


def test_the_literal_iteration_arrives_there_too_with_the_free_energy_of_what_is_left_out():
    X, beta = rich_table(), 0.9
    n, model = X.toarray(), PredictiveAspects(Aspects(2))
    fit = converged(model, X, beta)
    r = posteriors_of(model, X, fit, beta)
    assert fit.objective == pytest.approx(literal.free_energy(n, r, beta), rel=1e-4)
    r += 0.05 * (n > 0)[:, :, None]
    r /= r.sum(axis=2, keepdims=True).clip(1e-300)
    for _ in range(200):
        r = literal.posterior(n, r, beta)
    components = (n[:, :, None] * r).sum(axis=0)
    components /= components.sum(axis=0)
    np.testing.assert_allclose(fit.params.components, components, atol=1e-3)


def test_broken_twins_are_no_fixed_points():
    X, beta = rich_table(), 0.8
    for model in (Aspects(2), Twice(PredictiveAspects(Aspects(2)))):
        fit = converged(model, X, beta)
        r = posteriors_of(model, X, fit, beta)
        again = literal.posterior(X.toarray(), r, beta)
        assert np.abs(again - r).max() > 4e-3


def test_large_counts_are_plain_em():
    X = rich_table()
    plain = converged(Aspects(2), X, 0.9)
    many = converged(PredictiveAspects(Aspects(2)), X * 1e6, 0.9)
    few = converged(PredictiveAspects(Aspects(2)), X, 0.9)
    np.testing.assert_allclose(many.params.components, plain.params.components, atol=1e-4)
    assert np.abs(few.params.components - plain.params.components).max() > 1e-3


def test_where_nothing_is_left_the_posterior_is_uniform():
    table = rich_table().toarray()
    table[0], table[:, 0] = 0, 0
    table[0, 3], table[4, 0] = 1, 1  # the only observations of their row and of their column
    model = PredictiveAspects(Aspects(3))
    X = sp.csr_array(table)
    fit = converged(model, X, 1.0, 50)
    np.testing.assert_allclose(fit.rows[0], 1 / 3)
    stats = model.expect(CSRCounts(X), fit.params, fit.rows, 1.0)[1]
    np.testing.assert_allclose(stats.components[0], 1 / 3)


def test_new_rows_are_folded_in_plainly():
    X = planted().X
    model = AspectModel(3, beta=0.8, leave_one_out=True, random_state=0).fit(X)
    counts, rows = CSRCounts(X.astype(float)), model.transform(X)
    plain, _ = Aspects(3).expect(counts, model._state.params, rows, 0.8)
    np.testing.assert_allclose(plain, rows, atol=1e-3)


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_overfits_less_at_beta_one():
    train, test = split_observations(planted(6, 2500, n_rows=120, n_columns=60).X, random_state=0)
    plain, predictive = (
        AspectModel(8, beta=1.0, leave_one_out=out, random_state=0, max_iter=300).fit(train)
        for out in (False, True)
    )
    assert predictive.perplexity(Dyads(test)) < plain.perplexity(Dyads(test))
