import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar
from sklearn.metrics import adjusted_rand_score

from skcooc import ClusteringProjection
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, make_solver
from skcooc.equations import projections
from skcooc.equations.dirichlet import best_prior, best_total, divergence, evidence, expected_log
from skcooc.equations.projections import StructuredProjections
from skcooc.fitting.stream import fold_in
from skcooc.starts.topics import projection_start
from tests.equations import literal_projections as literal
from tests.equations.running import energies, run_stages, step
from tests.tables import planted

MODELS = {
    "factorial": projections.FactorialProjections,
    "structured": projections.StructuredProjections,
}
every_posterior = pytest.mark.parametrize("posterior", MODELS)


@every_posterior
def test_the_bound_never_falls(posterior):
    X = CSRCounts(planted(4, 2000, kind="clusters", n_rows=30, n_columns=25).X.astype(float))
    for solver, beta, n_clusters, options in (
        (1.0, 0.6, None, {"topic_prior": 0.5, "alpha": 30.0, "lambda_": 0.02}),
        (1.0, 1.0, None, {"update_priors": True}),
        (1.0, 0.6, 4, {"update_priors": True, "topic_prior": 0.01, "lambda_": 2.0}),
        (1.8, 0.8, None, {}),
    ):
        model = MODELS[posterior](3, n_clusters, **options)
        stage = EMStage(model, X, beta, 25, -np.inf, start=projection_start)
        values = energies(run_stages([stage], make_solver(solver)))
        assert np.max(np.diff(values) / np.abs(values[1:])) <= 1e-11
        assert values[-1] < values[0]


@every_posterior
def test_clusters_die(posterior):
    given = {"posterior": posterior, "beta": 1.0, "smoothing": 0.0, "random_state": 0}
    model = ClusteringProjection(4, **given).fit(planted(3, 10_000, kind="clusters", n_rows=24).X)
    assert 3 <= model.n_clusters_ < 12
    assert model.cluster_centers_.shape == (model.n_clusters_, 4)
    np.testing.assert_allclose(model.cluster_centers_.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(model.cluster_weights_.sum(), 1, rtol=1e-6)
    assert model.labels_.max() < model.n_clusters_ == len(model.cluster_weights_)


@every_posterior
def test_recovers_planted_clusters(posterior):
    data = planted(4, 20_000, kind="clusters", n_rows=150)
    dtype = np.float64 if posterior == "factorial" else np.float32
    model = ClusteringProjection(6, 4, posterior=posterior, random_state=0)
    model.fit(data.X.astype(dtype))
    assert adjusted_rand_score(data.labels, model.labels_) > 0.95
    assert adjusted_rand_score(model.labels_, model.predict(data.X.astype(dtype))) > 0.95
    assert model.lower_bound_ == pytest.approx(-model.beta_ * model.objective_)
    model.fit(data.X, sample_weight=np.arange(150) % 3)  # rows of weight 0 have clusters, too
    assert adjusted_rand_score(data.labels, model.labels_) > 0.95


def test_priors_are_fitted_only_where_asked():
    X = planted(4, 5000, kind="clusters").X
    fixed = ClusteringProjection(3, 4, beta=1.0, center_prior=0.7, random_state=0).fit(X)
    assert fixed.alpha_ == 1
    np.testing.assert_allclose(fixed.lambda_, 0.7)
    free = fixed.set_params(update_priors=True).fit(X)
    assert free.alpha_ != 1
    assert np.ptp(np.log(free.lambda_)) > 0.1


def test_one_cluster_a_row_needs_no_square_array():
    N = 2500
    X = sp.random_array((N, 50), density=0.1, random_state=np.random.default_rng(0), format="csr")
    model, counts = projections.FactorialProjections(3), CSRCounts(X.astype(np.float32))
    state = model.start(counts, np.random.default_rng(0))
    tracemalloc.start()
    after, *_ = step(model, counts, state)
    model.factors(*after)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < N * N  # bytes; a square array of float32 has four times as many


def fitted(**options):
    X = planted(5, 6000, n_rows=100, n_columns=30, concentration=0.5).X.astype(float)
    model = ClusteringProjection(4, 10, random_state=0, **{"beta": 1.0, "smoothing": 0.0} | options)
    return model.fit(X[:70]), X[70:]


@every_posterior
def test_topics_of_new_rows_are_summed_out(posterior):
    model, new = fitted(posterior=posterior, beta=0.9)
    theta, n = model.cluster_centers_, new.toarray()
    scores = np.log(model.cluster_weights_) + 0.9 * n @ np.log(theta @ model.components_).T
    psi = np.array([literal.normalised(row) for row in scores])
    np.testing.assert_allclose(model.predict_proba(new), psi, atol=1e-10)
    np.testing.assert_array_equal(model.predict(new), psi.argmax(axis=1))
    np.testing.assert_allclose(model.transform(new), psi @ theta)


def test_the_bound_of_new_rows():
    """By mean field it is eq. (5); with topics summed out it is tighter, row by row."""
    model, new = fitted(inference="variational")
    q, n = literal.posterior_of(model._state.params), new.toarray()
    psi = np.zeros((len(n), len(q.eta)))
    psi[:, projections.clusters_of(model._state.params).alive] = model.predict_proba(new)
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
    psi[:, projections.clusters_of(model._state.params).alive] = model.predict_proba(new)
    S = np.einsum("ij,ijk->ik", n, literal.topics_of_words(q, psi, n, 1.0))
    np.testing.assert_allclose(model.project(new), S / n.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.project(np.zeros((1, 30))), model.weights_[None])


def test_mean_field_locks_in_when_started_from_the_prior():
    model, new = fitted(inference="variational")
    _, params = projections.StructuredProjections(4).fold_in_equations(model._state.params)
    n = new.toarray()

    def bound(psi):
        A = np.exp(psi @ params.log_centers)
        return projections.cluster_terms(params, psi) + (n * np.log(A @ params.topics.T)).sum(
            axis=1
        )

    from_prior = fold_in(projections.MeanField(), params, 1.0, CSRCounts(new).as_new(), 1)
    assert bound(model.predict_proba(new)).sum() > bound(from_prior).sum() + 1


def counts(C=40, prior=(0.5, 2.0, 0.1), seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(50, p) for p in rng.dirichlet(prior, C)]).astype(float)


def test_moments_are_those_of_samples():
    n, prior = np.array([[3.0, 0.0, 1.0]]), np.array([0.7, 0.5, 0.9])
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(n[0] + prior, 200_000)
    logs = np.log(np.maximum(posterior, 1e-300))
    np.testing.assert_allclose(expected_log(n, prior, prior.sum())[0], logs.mean(axis=0), rtol=0.02)
    likelihood = np.prod(rng.dirichlet(prior, 400_000) ** n, axis=1).mean()
    assert evidence(n, prior, prior.sum()) == pytest.approx(np.log(likelihood), abs=0.02)
    # log of the density ratio of posterior and prior is n log theta - evidence
    assert divergence(n, prior, prior.sum()) == pytest.approx(
        (logs @ n[0]).mean() - np.log(likelihood), abs=0.05
    )


def test_the_best_prior_is_that_of_a_general_optimiser():
    n = counts()
    peer = minimize(
        lambda t: -evidence(n, np.exp(t), np.exp(t).sum()), np.zeros(3), method="Nelder-Mead"
    )
    for start in (1e-3, 0.3, 100.0):
        found = best_prior(n, np.full(3, start))
        assert evidence(n, found, found.sum()) == pytest.approx(-peer.fun, abs=1e-4)


def test_the_best_total_is_that_of_a_general_optimiser():
    n, C = np.array([30.0, 5.0, 2.0, 1.0]), 10

    def value(total):
        return evidence(n[None], np.full(4, total / C), total)

    peer = minimize_scalar(lambda t: -value(np.exp(t)), bounds=(-9, 9), method="bounded")
    for start in (1e-3, 1.0, 100.0):
        assert value(best_total(n, start, C)) == pytest.approx(-peer.fun, abs=1e-4)


def test_the_evidence_never_falls():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, prior = rng.gamma(0.2, 20, (5, 4)), rng.gamma(0.3, 3, 4) + 1e-3
        found = best_prior(n, prior)
        assert evidence(n, found, found.sum()) >= evidence(n, prior, prior.sum())
        assert (found > 0).all()


def test_a_cluster_without_expected_rows_is_removed():
    X = planted(3, 600, n_rows=20, n_columns=12).X.astype(float)
    model, counts = StructuredProjections(3, 4), CSRCounts(sp.csr_array(X))
    params, rows = model.start(counts, np.random.default_rng(0))
    rows, stats = model.expect(counts, params, rows, 1.0)
    sizes = stats.sizes * [1, 1e-12, 1, 1]
    new = model.maximize(stats._replace(sizes=sizes), params, 1.0)
    assert np.flatnonzero(new.sizes == 0).tolist() == [1]
    assert not new.counts[1].any()
    mixtures, centers = model.mixture_prior(new)
    assert centers.shape == (3, 3)
    assert mixtures.sum() == pytest.approx(1)
