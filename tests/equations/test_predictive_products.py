"""Product-space models whose observations leave themselves out: literal steps, and a limit."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import Dyads, ProductSpaceMixture
from skcooc.counts import CSRCounts
from skcooc.equations.aspects import Aspects, PredictiveAspects
from skcooc.equations.aspects import Params as AspectParams
from skcooc.equations.product_aspects import Params, PredictiveProducts, ProductAspects
from skcooc.model_selection import split_observations
from tests.equations.broken import Twin
from tests.tables import planted

ALPHA, ETA = 1.0, 0.5


def given(sizes=(2, 3), seed=0):
    """Counts of nearly all cells, and a state made of random expected counts."""
    C, D = sizes
    rng = np.random.default_rng(seed)
    n = rng.poisson(30 * rng.dirichlet(np.ones(10), 12)).astype(float)
    joint = rng.dirichlet(np.ones(C * D)).reshape(C, D)
    weights = joint.sum(axis=1)
    expected = n.sum(axis=1)[:, None] * rng.dirichlet(np.ones(C), 12)
    rows = (expected + ALPHA * weights) / (n.sum(axis=1) + ALPHA)[:, None]
    totals = n.sum() * joint.sum(axis=0)
    counts = totals * rng.dirichlet(np.ones(10), D).T
    return n, Params((counts + ETA) / (totals + 10 * ETA), joint, weights), rows


def literal_step(n, params, rows, beta):
    """Mixtures of rows, and expected counts of columns and pairs: observation by observation."""
    B, joint, weights = params
    (N, M), (C, D) = n.shape, joint.shape
    T, L = joint / weights[:, None], n.sum()
    expected, columns, pairs = np.zeros((N, C)), np.zeros((M, D)), np.zeros((C, D))
    for i, j in np.argwhere(n):
        A, size = rows[i] @ T, n[i].sum() + ALPHA
        own = A * B[j] / (A @ B[j])
        total = L * joint.sum(axis=0) + M * ETA
        left = np.maximum(size * A - own, ALPHA * joint.sum(axis=0)) / (size * A)
        left *= np.maximum(total * B[j] - own, ETA) / (total * B[j]) * total / (total - own)
        plain = joint * weights[:, None] ** -beta * rows[i][:, None] ** beta * B[j] ** beta
        r = plain * left**beta
        r /= r.sum()
        expected[i] += n[i, j] * r.sum(axis=1)
        columns[j] += n[i, j] * r.sum(axis=0)
        pairs += n[i, j] * r
    mixtures = expected + ALPHA * weights
    return mixtures / mixtures.sum(axis=1, keepdims=True), columns, pairs


def far(model, beta):
    """How far a step is from the literal one: rows, and shares of columns and pairs."""
    n, params, rows = given()
    new, stats = model.expect(CSRCounts(sp.csr_array(n)), params, rows, beta)
    mixtures, columns, pairs = literal_step(n, params, rows, beta)
    others = (stats.components - columns) / n.sum(), (stats.joint - pairs) / n.sum()
    return max(np.abs(found).max() for found in (new - mixtures, *others))


MODEL = PredictiveProducts(ProductAspects(2, 3), ALPHA, ETA)
CLOSE = {1.0: 2e-5, 0.8: 3e-4}  # own / T to second order; the approximant of the power


class NothingOut(Twin):
    """The prior alone."""

    def expect(self, X, params, rows, beta):
        new, stats = self.right.products.expect(X, params, rows, beta)
        mixed = new * X.row_sums[:, None] + ALPHA * params.weights
        return mixed / mixed.sum(axis=1, keepdims=True), stats


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_a_step_is_that_of_the_literal_equations(beta):
    assert far(MODEL, beta) < CLOSE[beta]
    assert far(NothingOut(MODEL), beta) > 3 * CLOSE[beta]


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_where_aspects_are_the_same_on_both_sides_it_is_the_aspect_model(beta):
    n, params, rows = given((3, 3))
    weights = params.joint.sum(axis=1)
    X, params = CSRCounts(sp.csr_array(n)), params._replace(joint=np.diag(weights))
    products = PredictiveProducts(ProductAspects(3, 3), ALPHA, ETA)
    aspects = PredictiveAspects(Aspects(3, "likelihood", ETA), ALPHA)
    one, stats = products.expect(X, params, rows, beta)
    two, others = aspects.expect(X, AspectParams(params.components, weights), rows, beta)
    np.testing.assert_allclose(one, two, rtol=1e-10)
    np.testing.assert_allclose(stats.components, others.components, rtol=1e-10)
    np.testing.assert_allclose(stats.joint, np.diag(others.components.sum(axis=0)), atol=1e-10)
    np.testing.assert_allclose(stats.free_energy, others.free_energy)


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_overfits_less_where_rows_are_short():
    table = planted(12, 4000, n_rows=400, n_columns=100).X
    train, test = split_observations(table, random_state=0)
    options = {"beta": 0.9, "random_state": 0, "max_iter": 60}
    plain, left_out = (
        ProductSpaceMixture(12, 12, leave_one_out=how, **options).fit(train)
        for how in (False, True)
    )
    assert left_out.perplexity(Dyads(test)) < 0.97 * plain.perplexity(Dyads(test))
    assert left_out.transform(table[:3]).shape == (3, 12)


def test_streams_are_refused():
    with pytest.raises(AttributeError, match="partial_fit"):
        ProductSpaceMixture(3, 3, leave_one_out=True, beta=0.9).partial_fit(planted().X)
