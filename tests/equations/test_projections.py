"""Probabilistic clustering-projection against a literal transcription of its equations."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from benchmarks import corpora
from skcooc import ClusteringProjection
from skcooc.counts import CSRCounts
from skcooc.em import EM, State
from skcooc.em.schedules import constant
from skcooc.em.sweep import sweep
from skcooc.equations.at_centers import MeanField, cluster_terms
from skcooc.equations.factorial_projections import FactorialProjections
from skcooc.equations.projections import Params, clusters_of
from skcooc.equations.structured_projections import StructuredProjections
from skcooc.fitting.table import fold_in
from tests import projections as literal
from tests.broken import half_step
from tests.data import requires_data
from tests.tables import planted, random_table

MODELS = {"factorial": FactorialProjections, "structured": StructuredProjections}
every_posterior = pytest.mark.parametrize("posterior", MODELS)
every_beta = pytest.mark.parametrize("beta", [1.0, 0.6])
DEAD = 1  # the cluster of the start that has died


def start(posterior, X, C=4, K=3, seed=0):
    """Random topics and clusters, one of which has died, and random row states."""
    rng = np.random.default_rng(seed)
    n, sizes = X.toarray(), rng.uniform(1, 3, C)
    sizes[DEAD] = 0
    counts = rng.gamma(2.0, 3.0, (C, K)) * (sizes > 0)[:, None]
    B = rng.dirichlet(np.ones(n.shape[1]), K).T
    S = rng.dirichlet(np.ones(K), len(n)) * n.sum(axis=1, keepdims=True)
    rows = S if posterior == "factorial" else np.zeros((len(n), C))
    lam = np.array([0.3, 0.5, 0.2])[:K]
    params = Params(B, counts, sizes, np.array(1.5), lam, np.array(1.0), np.zeros(rows.shape[1]))
    return State(params, [rows])


def literal_step(posterior, q, rows, n, beta, alive):
    if posterior == "structured":
        psi, phi = literal.structured_step(q, n, beta, alive)
        return psi * n.any(axis=1, keepdims=True), psi, phi
    return literal.factorial_step(q, rows, n, beta, alive)


@every_posterior
@every_beta
@pytest.mark.parametrize("topic_prior", [0.0, 0.1])
def test_equals_the_literal_equations_and_bound(posterior, beta, topic_prior):
    X = random_table()
    model = MODELS[posterior](3, 4, topic_prior=topic_prior)
    params, rows = start(posterior, X)
    q, state, n = literal.posterior_of(params), rows[0], X.toarray()
    q = q._replace(B=q.B * n.any(axis=0)[:, None])  # the bound speaks of columns that occur
    params = params._replace(topics=q.B)
    alive = np.arange(4) != DEAD
    for _ in range(3):
        step = sweep(model, [CSRCounts(X)], params, rows, beta, map)
        params, rows = model.maximize(step.stats, params, beta), step.rows
        state, psi, phi = literal_step(posterior, q, state, n, beta, alive)
        bound = literal.bound(q, psi, phi, n, beta, topic_prior)
        q = literal.m_step(q, psi, phi, n, beta, topic_prior, posterior == "structured")
        assert step.objective == pytest.approx(-bound / beta)
        np.testing.assert_allclose(rows[0], state, atol=1e-10)
        for mine, expected in zip(literal.posterior_of(params), q, strict=True):
            np.testing.assert_allclose(mine, expected, atol=1e-12)


@dataclass(frozen=True)
class NoPriorOfCenters(FactorialProjections):
    """Broken: the centers forget what the topics of their rows are, by and by."""

    def maximize(self, stats, params, beta):
        right = super().maximize(stats, params, beta)
        return right._replace(counts=right.counts**0.9)


def energies(model, beta, relaxation=1.0, n_iter=25, X=None):
    X = planted(4, 2000, kind="clusters", n_rows=30, n_columns=25).X if X is None else X
    em = EM(constant(beta, n_iter), -np.inf, relaxation)
    fit = em.fit(model, [CSRCounts(X.astype(float))], np.random.default_rng(0))
    return np.array([record.free_energy for record in fit.history])


def largest_rise(values):
    return np.max(np.diff(values) / np.abs(values[1:]))


@every_posterior
@every_beta
@pytest.mark.parametrize("n_clusters", [None, 4])
@pytest.mark.parametrize(
    "options",
    [
        {"lambda_": 0.02},
        {"topic_prior": 0.5, "alpha": 30.0},
        {"update_priors": True},
        {"update_priors": True, "topic_prior": 0.01, "lambda_": 2.0},
    ],
    ids=str,
)
def test_the_bound_never_falls(posterior, beta, n_clusters, options):
    values = energies(MODELS[posterior](3, n_clusters, **options), beta)
    assert largest_rise(values) <= 1e-11
    assert values[-1] < values[0]


@every_posterior
def test_over_relaxed_steps_keep_the_bound(posterior):
    values = energies(MODELS[posterior](3), 0.8, relaxation=1.8)
    assert largest_rise(values) <= 1e-11


@requires_data
@every_posterior
def test_the_bound_never_falls_on_texts(posterior):
    n_clusters = 20 if posterior == "structured" else None
    model = MODELS[posterior](5, n_clusters, topic_prior=0.01, update_priors=True)
    assert largest_rise(energies(model, 0.9, n_iter=4, X=corpora.cranfield().X[::3])) < 0


def test_a_broken_twin_lets_the_bound_fall():
    assert largest_rise(energies(NoPriorOfCenters(3, 4), 1.0)) > 1e-9


def test_single_precision_lets_the_bound_fall_by_rounding_alone():
    X = CSRCounts(planted(4, 20_000, kind="clusters").X.astype(np.float32))
    for model in (FactorialProjections(5), StructuredProjections(5, 4)):
        fit = EM(constant(0.7, 30), -np.inf).fit(model, [X], np.random.default_rng(0))
        assert all(array.dtype == np.float32 for array in (*fit.params, *fit.rows))
        assert largest_rise(np.array([record.free_energy for record in fit.history])) < 1e-6


def slopes(model, beta):
    """Slopes of the objective in topics (on the simplex), centers, sizes and priors, at the end."""
    X = planted(3, 600, kind="clusters", n_rows=20, n_columns=8, concentration=2.0).X.astype(float)
    counts = [CSRCounts(X)]
    fit = EM(constant(beta, 4000), 0.0).fit(model, counts, np.random.default_rng(0))

    def energy(**changes):
        params = fit.params._replace(**changes)
        return sweep(model, counts, params, fit.rows, beta, map).objective

    def slope(name, direction):
        value, h = getattr(fit.params, name), 1e-5
        ahead, back = (energy(**{name: value + sign * h * direction}) for sign in (1, -1))
        return abs(ahead - back) / (2 * h)

    B, C = fit.params.topics, fit.params.counts
    found = {"topics": 0.0, "counts": 0.0}
    for k in range(B.shape[1]):
        j, other = np.argsort(-B[:, k])[:2]
        direction = np.zeros_like(B)
        direction[j, k], direction[other, k] = 1, -1
        found["topics"] = max(found["topics"], slope("topics", direction))
        direction = np.zeros_like(C)
        direction[np.argmax(C[:, k]), k] = 1
        found["counts"] = max(found["counts"], slope("counts", direction))
    found["sizes"] = slope("sizes", np.eye(len(C))[fit.params.sizes.argmax()])
    found["lambda_"] = max(slope("lambda_", e) for e in np.eye(C.shape[1]))
    found["alpha"] = slope("alpha", np.array(1.0))
    return found


@every_posterior
def test_stationary_at_convergence(posterior):
    found = slopes(MODELS[posterior](2, 3, update_priors=True, topic_prior=0.1), 0.9)
    assert max(found.values()) < 2e-2, found  # of an objective of more than 1000 nats


def test_a_broken_twin_is_not_stationary():
    broken = half_step(StructuredProjections, "topics")
    assert slopes(broken(2, 3, update_priors=True), 0.9)["topics"] > 1


@every_posterior
def test_statistics_add_up_over_blocks(posterior):
    X = random_table()
    model, (params, (R,)) = MODELS[posterior](3, 4), start(posterior, X)
    whole = sweep(model, [CSRCounts(X)], params, [R], 0.5, map)
    parts = sweep(model, [CSRCounts(X[:5]), CSRCounts(X[5:])], params, [R[:5], R[5:]], 0.5, map)
    for one, other in zip(whole.stats, parts.stats, strict=True):
        np.testing.assert_allclose(one, other)


@every_posterior
def test_rows_count_by_their_weights(posterior):
    X, weights = random_table(), np.arange(12) % 3
    repeated = np.repeat(np.arange(12), weights)
    model, (params, (R,)) = MODELS[posterior](3, 4), start(posterior, X)
    one = sweep(model, [CSRCounts(X, weights.astype(float))], params, [R], 0.5, map)
    other = sweep(model, [CSRCounts(X[repeated])], params, [R[repeated]], 0.5, map)
    for mine, expected in zip(one.stats, other.stats, strict=True):
        np.testing.assert_allclose(mine, expected)


def test_the_structured_bound_is_not_below_the_factorial_one():
    X, beta = random_table(), 1.0
    params, rows = start("factorial", X)
    loose, tight = (model(3, 4) for model in MODELS.values())
    for _ in range(20):
        step = sweep(loose, [CSRCounts(X)], params, rows, beta, map)
        close = sweep(tight, [CSRCounts(X)], params, rows, beta, map)
        assert close.objective <= step.objective
        params, rows = loose.maximize(step.stats, params, beta), step.rows


@every_posterior
def test_clusters_die_and_one_topic_is_the_unigram(posterior):
    X = planted().X
    single = {"posterior": posterior, "topic_prior": 0.0, "beta": 0.9, "random_state": 0}
    model = ClusteringProjection(1, 6, **single).fit(X)
    shares = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    np.testing.assert_allclose(model.components_, shares[None])
    given = {"posterior": posterior, "beta": 1.0, "smoothing": 0.0, "random_state": 0}
    model = ClusteringProjection(4, **given).fit(planted(3, 30_000, kind="clusters").X)
    assert 3 <= model.n_clusters_ < 40
    assert model.cluster_centers_.shape == (model.n_clusters_, 4)
    assert model.cluster_weights_.shape == (model.n_clusters_,)
    np.testing.assert_allclose(model.cluster_centers_.sum(axis=1), 1)
    np.testing.assert_allclose(model.cluster_weights_.sum(), 1)
    assert model.labels_.max() < model.n_clusters_


@every_posterior
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_recovers_planted_clusters(posterior, dtype):
    data = planted(4, 20_000, kind="clusters", n_rows=150)
    model = ClusteringProjection(6, 4, posterior=posterior, random_state=0)
    model.fit(data.X.astype(dtype))
    assert adjusted_rand_score(data.labels, model.labels_) > 0.95
    assert adjusted_rand_score(model.labels_, model.predict(data.X.astype(dtype))) > 0.95
    assert model.lower_bound_ == pytest.approx(-model.beta_ * model.objective_)


def test_priors_are_fitted_only_where_asked():
    X = planted(4, 5000, kind="clusters").X
    fixed = ClusteringProjection(3, 4, beta=1.0, center_prior=0.7, random_state=0).fit(X)
    assert fixed.alpha_ == 1
    np.testing.assert_allclose(fixed.lambda_, 0.7)
    free = fixed.set_params(update_priors=True).fit(X)
    assert free.alpha_ != 1
    assert np.ptp(np.log(free.lambda_)) > 0.1


def test_one_cluster_a_row_needs_no_square_array():
    N = 4000
    X = sp.random_array((N, 50), density=0.1, rng=np.random.default_rng(0), format="csr")
    model, counts = FactorialProjections(3), CSRCounts(X.astype(np.float32))
    rng = np.random.default_rng(0)
    params, rows = model.start([counts], rng)
    tracemalloc.start()
    step = sweep(model, [counts], params, rows, 1.0, map)
    model.factors(model.maximize(step.stats, params, 1.0), step.rows[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < N * N  # bytes; a square array of float32 has four times as many


# ---- new rows


def fitted(**options):
    X = planted(5, 6000, n_rows=100, n_columns=30, concentration=0.5).X.astype(float)
    model = ClusteringProjection(4, 12, random_state=0, **{"beta": 1.0, "smoothing": 0.0} | options)
    return model.fit(X[:70]), X[70:]


@pytest.mark.parametrize("posterior", ["factorial", "structured"])
def test_topics_of_new_rows_are_summed_out(posterior):
    model, new = fitted(posterior=posterior, beta=0.9)
    theta, n = model.cluster_centers_, new.toarray()
    scores = np.log(model.cluster_weights_) + 0.9 * n @ np.log(theta @ model.components_).T
    psi = np.array([literal.normalised(row) for row in scores])
    np.testing.assert_allclose(model.predict_proba(new), psi, atol=1e-10)
    np.testing.assert_array_equal(model.predict(new), psi.argmax(axis=1))
    np.testing.assert_allclose(model.transform(new), psi @ theta)


def test_projections_of_new_rows_are_their_mean_topics():
    model, new = fitted()
    q, n = literal.posterior_of(model._state.params), new.toarray()
    psi = np.zeros((len(n), len(q.eta)))
    psi[:, clusters_of(model._state.params).alive] = model.predict_proba(new)
    S = np.einsum("ij,ijk->ik", n, literal.topics_of_words(q, psi, n, 1.0))
    np.testing.assert_allclose(model.project(new), S / n.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.project(np.zeros((1, 30))), model.weights_[None])


def test_the_bound_of_new_rows():
    """By mean field it is eq. (5); with topics summed out it is tighter, row by row."""
    model, new = fitted(inference="variational")
    q, n = literal.posterior_of(model._state.params), new.toarray()
    psi = np.zeros((len(n), len(q.eta)))
    psi[:, clusters_of(model._state.params).alive] = model.predict_proba(new)
    phi = literal.topics_of_words(q, psi, n, 1.0)
    expected = np.zeros(len(n))
    for i, j in np.argwhere(n):
        terms = phi[i, j] @ (np.log(q.B[j]) + psi[i] @ q.log_theta)
        expected[i] += n[i, j] * (terms - literal.xlogx(phi[i, j]).sum())
    expected += psi @ q.log_pi - literal.xlogx(psi).sum(axis=1)
    bound = model.bound(new)
    np.testing.assert_allclose(bound, expected)
    assert (model.set_params(inference="collapsed").bound(new) >= bound - 1e-9).all()
    assert np.isfinite(model.bound(np.eye(30))).all()


def test_mean_field_locks_in_when_started_from_the_prior():
    model, new = fitted(inference="variational")
    params, n = model._prediction_params(), new.toarray()

    def bound(psi):
        A = np.exp(psi @ params.log_centers)
        return cluster_terms(params, psi) + (n * np.log(A @ params.topics.T)).sum(axis=1)

    from_prior = fold_in(MeanField(), params, 1.0, new, 1)
    assert bound(model.predict_proba(new)).sum() > bound(from_prior).sum() + 1
