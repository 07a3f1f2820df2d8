import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import Dyads, ProductSpaceMixture
from skcooc.counts import CSRCounts
from skcooc.em import State
from skcooc.equations.product_aspects import Params, PredictiveProducts, ProductAspects
from skcooc.model_selection import split_counts
from tests.equations.broken import Twin
from tests.equations.literal_product_aspects import random_state
from tests.equations.running import run
from tests.tables import planted, random_table

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def blocks(C=2, D=3, n_tokens=4000, n_rows=60, n_columns=45, seed=0):
    """Counts drawn from P(c, d), P(x|c), P(y|d), and these."""
    rng = np.random.default_rng(seed)
    pi = 0.95 * np.eye(C, D) + 0.05
    pi[-1, C:], pi[D:, -1] = 1, 1  # whatever is left over goes with the last of the other side
    pi /= pi.sum()
    p = rng.dirichlet(np.full(n_rows, 0.3), C).T
    q = rng.dirichlet(np.full(n_columns, 0.3), D).T
    P = p @ pi @ q.T
    counts = rng.multinomial(n_tokens, P.ravel() / P.sum()).reshape(P.shape)
    return sp.csr_array(counts.astype(float)), pi, p, q


def test_components_without_observations_stay_as_they_are():
    X = random_table()
    (q, joint, _), rows = random_state(X.toarray())
    joint = joint * [1, 0]
    state = State(Params(q, joint / joint.sum(), joint.sum(axis=1) / joint.sum()), rows)
    for tempering in ("joint", "likelihood"):
        params = run(ProductAspects(3, 2, tempering), X, state, 0.9).params
        np.testing.assert_array_equal(params.components[:, 1], q[:, 1])
        np.testing.assert_array_equal(params.joint[:, 1], 0)
        np.testing.assert_allclose(params.components[:, 0], shares_of(X))


def shares_of(X):
    return np.asarray(X.sum(axis=0)) / X.sum()


def test_recovers_a_planted_product_space():
    """The larger side has components that the table cannot tell apart, but predicts as well."""
    joint = {"beta": 0.95, "tempering": "joint"}
    for sizes, options in (((3, 3), {}), ((4, 2), {}), ((2, 3), joint)):
        X, pi, p, q = blocks(*sizes, 30_000)
        model = ProductSpaceMixture(*sizes, random_state=0, **options).fit(X)
        given_c = pi @ q.T / pi.sum(axis=1, keepdims=True)
        given_x = p * pi.sum(axis=1) / (p @ pi.sum(axis=1))[:, None]
        errors = model.embedding_ @ model.components_ - given_x @ given_c
        assert np.median(np.abs(errors).sum(axis=1) / 2) < 0.06
        if sizes[0] <= sizes[1]:
            order = matched(model.components_, given_c)
            errors = np.abs(model.embedding_[:, order] - given_x).sum(axis=1)
            assert np.median(errors) < 0.15
        if sizes[1] <= sizes[0]:
            columns = matched(model.column_components_, q.T)
        if sizes[0] == sizes[1]:
            np.testing.assert_allclose(model.joint_[np.ix_(order, columns)], pi, atol=0.05)


def matched(found, planted):
    """Which component found is which one planted."""
    overlap = np.sqrt(planted) @ np.sqrt(found).T  # Bhattacharyya
    assert (overlap.max(axis=1) > 0.97).all()
    assert sorted(overlap.argmax(axis=1)) == list(range(len(planted)))
    return overlap.argmax(axis=1)


def test_components_are_those_of_the_columns_mixed():
    X, *_ = blocks()
    model = ProductSpaceMixture(2, 3, random_state=0).fit(X)
    given_c = model.joint_ / model.joint_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, given_c @ model.column_components_)
    np.testing.assert_allclose(model.column_components_.sum(axis=1), 1)
    np.testing.assert_allclose(model.weights_, model.joint_.sum(axis=1))
    # sum_cd P(x|c) P(c,d) P(y|d) has the margins of the table
    predicted = model.row_distribution_ @ model.embedding_ @ model.components_
    np.testing.assert_allclose(predicted, shares_of(X), atol=1e-4)


def test_more_aspects_than_the_table_has():
    X = np.outer([1, 2, 3, 4, 5], [5, 1, 3, 2])
    with warnings.catch_warnings(action="error"):  # one column topic has to be the unigram
        ProductSpaceMixture(3, 1, random_state=0).fit(X)
    for tempering, sizes in (("joint", (4, 2)), ("likelihood", (2, 4))):
        model = ProductSpaceMixture(*sizes, beta=0.8, tempering=tempering, random_state=0)
        with pytest.warns(UserWarning, match="components equal the unigram"):
            model.fit(X)
        expected = np.tile(X[0] / X[0].sum(), (sizes[0], 1))
        np.testing.assert_allclose(model.components_, expected, atol=0.01)
        np.testing.assert_allclose(model.embedding_.sum(axis=1), 1)
        assert model.joint_.sum() == pytest.approx(1)


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


def literal_left_out(n, params, rows, beta):
    """Mixtures of rows, and expected counts of columns and pairs: token by token."""
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
    """Distance of a step from the literal one: rows, shares of columns and pairs."""
    n, params, rows = given()
    new, stats = model.expect(CSRCounts(sp.csr_array(n)), params, rows, beta)
    mixtures, columns, pairs = literal_left_out(n, params, rows, beta)
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


def test_leave_one_out_step_equals_the_transcription():
    for beta, close in CLOSE.items():
        assert far(MODEL, beta) < close
        assert far(NothingOut(MODEL), beta) > 3 * close


def test_leave_one_out_overfits_less_on_short_rows():
    table = planted(12, 4000, n_rows=400, n_columns=100).X
    train, test = split_counts(table, random_state=0)
    options = {"beta": 0.9, "random_state": 0, "max_iter": 60}
    plain, left_out = (
        ProductSpaceMixture(10, 10, leave_one_out=how, **options).fit(train)
        for how in (False, True)
    )
    assert left_out.perplexity(Dyads(test)) < 0.97 * plain.perplexity(Dyads(test))
    assert left_out.transform(table[:3]).shape == (3, 10)
    with pytest.raises(AttributeError, match="partial_fit"):
        left_out.partial_fit(train)
