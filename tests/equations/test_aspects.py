"""The aspect model against a literal transcription of its equations, and what follows from them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, Dyads
from skcooc.counts import CSRCounts, thin
from skcooc.em import EM, State
from skcooc.em.schedules import burn_in, constant
from skcooc.em.sweep import sweep
from skcooc.em.temperature import N_PRIORS
from skcooc.equations.aspects import Aspects, Params
from skcooc.model_selection import split_observations
from tests.broken import half_step
from tests.tables import planted, random_table

# ---- memo, eqs. (1)-(9) and (65), word for word


def literal_posterior(pi, p, q, beta, tempering):
    """r[i, j, k] for joint parameters pi (K,), p (N, K), q (M, K)."""
    likelihood = (p[:, None, :] * q[None, :, :]) ** beta
    prior = pi**beta if tempering == "joint" else pi
    r = prior * likelihood
    total = r.sum(axis=2, keepdims=True)
    return r / np.where(total > 0, total, 1)  # zero in the empty row and column


def literal_step(n, pi, p, q, beta, tempering):
    nr = n[:, :, None] * literal_posterior(pi, p, q, beta, tempering)
    mass = nr.sum(axis=(0, 1))
    return mass / n.sum(), nr.sum(axis=1) / mass, nr.sum(axis=0) / mass


def literal_free_energy(n, pi, p, q, beta, tempering):
    prior = pi**beta if tempering == "joint" else pi
    total = 0.0
    for i in range(n.shape[0]):
        for j in range(n.shape[1]):
            if n[i, j]:
                total -= n[i, j] / beta * np.log((prior * (p[i] * q[j]) ** beta).sum())
    return total


def joint_start(n, k, seed=0):
    """Random P(z), P(x|z), P(y|z), and the same as parameters and row state of the model."""
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.ones(k))
    q = rng.dirichlet(np.ones(n.shape[1]), k).T
    # P(x) is n_i / L after any M-step, so the mixtures of the rows determine p given pi.
    A = rng.dirichlet(np.ones(k), n.shape[0])
    p_x = n.sum(axis=1) / n.sum()
    pi = p_x @ A
    return pi, A * p_x[:, None] / pi, q, State(Params(q, pi), [A])


@pytest.mark.parametrize("tempering", ["joint", "likelihood"])
@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_equals_the_literal_equations(tempering, beta):
    X = random_table()
    n = X.toarray()
    pi, p, q, (params, rows) = joint_start(n, 3)
    model, blocks = Aspects(3, tempering), [CSRCounts(X)]
    constant_part = n.sum(axis=1)[n.sum(axis=1) > 0]
    constant_part = -(constant_part * np.log(constant_part / n.sum())).sum()
    for _ in range(5):
        step = sweep(model, blocks, params, rows, beta, map)
        energy = literal_free_energy(n, pi, p, q, beta, tempering)
        assert step.objective + constant_part == pytest.approx(energy)
        params, rows = model.maximize(step.stats, params, beta), step.rows
        pi, p, q = literal_step(n, pi, p, q, beta, tempering)
        occupied = n.sum(axis=1) > 0
        mixtures = p * pi / (p * pi).sum(axis=1, keepdims=True).clip(1e-300)
        np.testing.assert_allclose(rows[0][occupied], mixtures[occupied], rtol=1e-9)
        np.testing.assert_allclose(params.components, q, rtol=1e-9)
        np.testing.assert_allclose(params.weights, pi, rtol=1e-9)


# ---- stationarity, with twins that are broken on purpose


@dataclass(frozen=True)
class ForgottenPower(Aspects):
    """Broken: the posterior forgets the temperature of the components."""

    def expect(self, X, params, rows, beta):
        mixture = X.mixture(rows**beta, params.components)
        A = rows**beta * mixture.rows
        A /= A.sum(axis=1, keepdims=True).clip(1e-300)
        stats = self._stats(params.components * mixture.columns, mixture.log_likelihood, beta)
        return A, stats

    def _stats(self, components, log_likelihood, beta):
        from skcooc.equations.aspects import Statistics

        return Statistics(components, -log_likelihood / beta)


def slope_at_convergence(model, X, beta):
    """Largest slope of the objective along the simplex, by central differences, at the end of EM.

    The objective is evaluated by the literal formula, not by the model.
    """
    start = joint_start(X.toarray(), model.n_components)[3]
    em = EM(constant(beta, 3000), 1e-14)
    fit = em.fit(model, [CSRCounts(X)], None, start=start)
    n, A, B = X.toarray(), fit.rows[0], fit.params.components

    def objective(B):
        cells = ((A[:, None, :] * B[None, :, :]) ** beta).sum(axis=2)
        data = -(n[n > 0] * np.log(cells[n > 0])).sum() / beta
        return data - model.component_prior * np.log(B[B > 0]).sum()

    slopes, h = [], 1e-6
    for k in range(B.shape[1]):
        for j, other in pairwise(np.flatnonzero(B[:, k] > 0.02)):
            direction = np.zeros_like(B)
            direction[j, k], direction[other, k] = h, -h
            slopes.append((objective(B + direction) - objective(B - direction)) / (2 * h))
    assert slopes
    return np.abs(slopes).max() / n.sum()


STATIONARY = 1e-4


@pytest.mark.parametrize("beta", [1.0, 0.85])
@pytest.mark.parametrize("prior", [0.0, 0.1])
def test_stationary_at_convergence(beta, prior):
    X = sp.csr_array(planted(2, 2000, n_rows=20, n_columns=12).X.astype(float))
    assert slope_at_convergence(Aspects(2, component_prior=prior), X, beta) < STATIONARY


@pytest.mark.parametrize("broken", [half_step(Aspects), ForgottenPower])
def test_broken_twins_are_not_stationary(broken):
    X = sp.csr_array(planted(2, 2000, n_rows=20, n_columns=12).X.astype(float))
    assert slope_at_convergence(broken(2), X, 0.85) > 10 * STATIONARY


# ---- limits


def test_one_component_is_the_unigram():
    X = planted().X
    model = AspectModel(1, random_state=0).fit(X)
    shares = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    np.testing.assert_allclose(model.components_, shares[None])
    np.testing.assert_array_equal(model.embedding_, 1)


def test_hot_models_collapse_to_the_unigram_and_say_so():
    X = planted().X
    with pytest.warns(UserWarning, match="All 3 components are the unigram.*larger beta"):
        model = AspectModel(3, beta=0.05, random_state=0).fit(X)
    shares = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    np.testing.assert_allclose(model.components_, np.tile(shares, (3, 1)), atol=1e-3)


@pytest.mark.parametrize("tempering", ["joint", "likelihood"])
def test_recovers_planted_aspects(tempering):
    truth = planted(3, 30_000, seed=1)
    model = AspectModel(3, tempering=tempering, n_init=3, random_state=0).fit(truth.X)
    overlap = np.sqrt(model.components_) @ np.sqrt(truth.components).T  # Bhattacharyya
    assert sorted(overlap.argmax(axis=1)) == [0, 1, 2]
    assert (overlap.max(axis=1) > 0.97).all()
    best = overlap.argmax(axis=1)
    errors = np.abs(model.embedding_ - truth.mixtures[:, best]).sum(axis=1)
    assert np.median(errors) < 0.15


# ---- invariances


def refit(X, params_of, **options):
    """One plain run from a given start, which random starts would not keep fixed."""
    start = params_of(X)
    em = EM(constant(0.9, 25), 0.0)
    return em.fit(Aspects(3, **options), [CSRCounts(X)], None, start=start)


def test_permuting_rows_and_columns_permutes_the_result():
    X = planted().X.astype(float)
    state = joint_start(X.toarray(), 3)[3]
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    plain = refit(X, lambda X: state)
    params, (A,) = state
    moved = State(params._replace(components=params.components[columns]), [A[rows]])
    permuted = refit(X[rows][:, columns], lambda X: moved)
    np.testing.assert_allclose(permuted.params.components, plain.params.components[columns])
    np.testing.assert_allclose(permuted.rows[0], plain.rows[0][rows])


def test_permuted_rows_give_the_same_estimator():
    X = planted().X.astype(float)
    rows = np.random.default_rng(0).permutation(X.shape[0])
    one, two = (AspectModel(3, random_state=0).fit(table) for table in (X, X[rows]))
    assert one.beta_ == two.beta_
    np.testing.assert_allclose(one.embedding_[rows], two.embedding_, rtol=1e-6, atol=1e-9)


def test_scaling_all_weights_changes_nothing():
    X = planted().X.astype(float)
    one = AspectModel(3, random_state=0).fit(X)
    two = AspectModel(3, random_state=0).fit(X, sample_weight=np.full(X.shape[0], 8.0))
    np.testing.assert_allclose(one.components_, two.components_, rtol=1e-9)
    np.testing.assert_allclose(one.objective_ * 8, two.objective_)


# ---- held-out quality


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_the_temperature_it_finds_beats_maximum_likelihood():
    X = planted(6, 4000, n_rows=120, n_columns=100).X
    train, test = split_observations(X, random_state=0)
    scores = {
        beta: AspectModel(12, beta=beta, max_iter=100, tol=0, random_state=0)
        .fit(train)
        .perplexity(Dyads(test))
        for beta in (1.0, 0.9, 0.8, 0.7)
    }
    auto = AspectModel(12, random_state=0).fit(train)
    assert 0.5 < auto.beta_ < 1
    assert auto.perplexity(Dyads(test)) < 0.9 * scores[1.0]
    assert auto.perplexity(Dyads(test)) < 1.03 * min(scores.values())


def test_component_prior_is_a_pseudo_count():
    X = random_table()
    model = Aspects(2, component_prior=0.5)
    params, rows = model.start([CSRCounts(X)], np.random.default_rng(0))
    step = sweep(model, [CSRCounts(X)], params, rows, 1.0, map)
    mass = step.stats.components
    expected = (mass + 0.5) / (mass.sum(axis=0) + 0.5 * X.shape[1])
    np.testing.assert_allclose(model.maximize(step.stats, params, 1.0).components, expected)


# ---- the prior that it finds


THIN = planted(8, 3000, n_rows=150, n_columns=300).X  # most pairs are seen once


def test_the_prior_it_finds_helps_where_data_are_thin():
    train, test = split_observations(THIN, random_state=0)
    plain, auto = (
        AspectModel(16, component_prior=prior, random_state=0).fit(train) for prior in (0.0, "auto")
    )
    assert plain.component_prior_ == 0
    assert auto.beta_ == plain.beta_
    assert 0 < auto.component_prior_ < THIN.sum() / (16 * THIN.shape[1])
    assert auto.smoothing_ < plain.smoothing_  # the prior does what smoothing did
    assert auto.perplexity(Dyads(test)) < 0.98 * plain.perplexity(Dyads(test))


def test_the_prior_is_that_of_the_best_probe():
    """The validation of short fits, transcribed with public means."""
    X = sp.csr_array(THIN.astype(float))
    model = AspectModel(6, random_state=0).fit(X)
    (seed,) = model._seeds(1)
    rest, held = (part.toarray() for part in thin(X, 0.1, seed))
    tried = [probe for probe in model.temperature_search_ if probe.prior]
    assert len(tried) == N_PRIORS
    best = min(model.temperature_search_, key=lambda probe: probe.validation.perplexity)
    assert (best.beta, best.prior) == (model.beta_, model.component_prior_)
    assert best.validation.smoothing == model.smoothing_
    b = (rest.sum(axis=0) + 1) / (rest.sum() + X.shape[1])
    for probe in tried:
        short = burn_in(probe.beta, 25)
        blocks, rng = [CSRCounts(sp.csr_array(rest))], np.random.default_rng(seed)
        fit = EM(short, 3e-6, "momentum").fit(Aspects(6, component_prior=probe.prior), blocks, rng)
        s = probe.validation.smoothing
        P = (1 - s) * fit.rows[0] @ fit.params.components.T + s * b
        expected = np.exp(-(held * np.log(P)).sum() / held.sum())
        assert probe.validation.perplexity == pytest.approx(expected, rel=1e-6)


def test_no_prior_where_nothing_is_held_out_to_choose_it():
    model = AspectModel(3, beta=0.9, random_state=0).fit(THIN)
    assert model.component_prior_ == 0
    assert AspectModel(3, beta=0.9, component_prior=0.2).fit(THIN).component_prior_ == 0.2
    assert not hasattr(AspectModel(), "component_prior_")
    with pytest.raises(ValueError, match="The 'component_prior' parameter of AspectModel must be"):
        AspectModel(component_prior="none").fit(THIN)


def test_warm_starts_keep_the_prior():
    model = AspectModel(6, warm_start=True, random_state=0).fit(THIN)
    found = model.component_prior_
    assert found > 0
    assert model.fit(THIN).component_prior_ == found
