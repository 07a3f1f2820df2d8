"""The bursty fit: literal tables, the likelihood that rises, limits, and what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln
from sklearn.base import clone

from skcooc import AspectModel, AveragedModels, Dyads, RowBlocks, RowMemory
from skcooc.counts import CSRCounts
from skcooc.em import BurstinessRounds, EMStage, EMState, OverRelaxation, State, fit
from skcooc.em.burstiness import FAR, bound, rise, slope
from skcooc.equations.aspects import Aspects, PredictiveAspects
from skcooc.model_selection import split_observations
from tests.cases import FAST
from tests.equations.literal_aspects import literal_step, mixtures, parameters
from tests.equations.literal_predictive_aspects import step as literal_left_out
from tests.tables import MANY_THREADS, factors, planted, random_table

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components")
A_ROW = 20.0  # concentration
X = planted(n_rows=60, n_columns=80, n_observations=6000, burstiness=A_ROW).X.astype(float)
BURSTY_AND_SHORT = planted(4, 6000, n_rows=200, n_columns=80, burstiness=A_ROW).X.astype(float)
TRAIN, TEST = split_observations(X, random_state=0)
BURSTY = AspectModel(3, burstiness=A_ROW, **FAST)
PLAIN = OverRelaxation(1.0)


def literal_tables(n, P, a):
    """Customer by customer: each of c = ceil(n) opens a table with probability al / (al + l)."""
    T = np.zeros(n.shape)
    for i, j in zip(*np.nonzero(n), strict=True):
        c, al = int(np.ceil(n[i, j])), a * P[i, j]
        T[i, j] = n[i, j] / c * sum(al / (al + before) for before in range(c))
    return T


def dcm(n, P, a):
    """Log-likelihood of the Dirichlet compound multinomial, but for the numbers of orders."""
    n_i = n.sum(axis=1)
    total = (gammaln(a) - gammaln(a + n_i)).sum()
    for i, j in zip(*np.nonzero(n), strict=True):
        total += gammaln(a * P[i, j] + n[i, j]) - gammaln(a * P[i, j])
    return total


def somewhere(table, K=3):
    """A state that fits nothing yet."""
    A, B = factors(table, K)
    A, B = A / A.sum(axis=1, keepdims=True), B / B.sum(axis=0)
    return State(
        type(Aspects(K).start(CSRCounts(table), np.random.default_rng(0))[0])(B, A.mean(axis=0)), A
    )


def fitted(table, a, beta=1.0, part=BurstinessRounds, n_plain=10, n_iter=15, tol=-np.inf):
    """Plain legs and rounds, by plain EM; all states on the way."""
    stage = EMStage(Aspects(3), CSRCounts(table), beta, n_plain, tol)
    rounds = part(EMStage(Aspects(3), stage.X, beta, n_iter, tol), a)
    states = []
    found = fit(
        [stage, rounds],
        np.random.default_rng(0),
        PLAIN,
        lambda record, state, run: states.append(state) or False,
        somewhere(table),
    )
    return found, states


def predicted(state):
    return state.rows @ state.params.components.T


@pytest.mark.parametrize("scale", [1, 0.3, 2.5])
def test_tables_are_the_literal_ones(scale):
    table = random_table() * scale
    state, n = somewhere(table), table.toarray()
    P = predicted(state)
    counts = CSRCounts(table)
    for a in (0.1, 7.0, 1e4):
        tables, _ = bound(counts, state.rows, state.params.components, a)
        found = counts.replaced(tables).table.toarray()
        np.testing.assert_allclose(found, literal_tables(n, P, a), rtol=1e-9)
        if scale == 1:
            al = a * P
            closed = np.where(n > 0, al * (digamma(al + n) - digamma(al)), 0)
            np.testing.assert_allclose(found, closed, rtol=1e-9)


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_tables_leave_themselves_out_as_the_literal_ones_do(beta):
    table, a, model = random_table(), 5.0, PredictiveAspects(Aspects(3, component_prior=0.1), 2.0)
    state, n = somewhere(table), table.toarray()
    run = EMState(state, PLAIN)
    rounds = BurstinessRounds(EMStage(model, CSRCounts(table), beta, 1, 0.0), a)
    rounds.enter(run, np.random.default_rng(0))
    stage = rounds.at(run)
    rows, stats = stage.X.expect(model, *state, beta)
    B = state.params.components
    C = np.maximum(B / model.per_totals(stage.X, state.params) - 0.1, 0)
    T = literal_tables(n, predicted(state), a)
    found = literal_left_out(T, state.rows, C, beta, 2.0, 0.1)[:2]
    whole = literal_left_out(n, state.rows, C, beta, 2.0, 0.1)[:2]
    for literal, ours, counts in zip(found, (rows, stats.components), whole, strict=True):
        np.testing.assert_allclose(ours, literal, atol=2e-3)
        assert np.abs(counts - literal).max() > 0.02


def test_a_swapped_slope_is_found(monkeypatch):
    monkeypatch.setattr("skcooc.em.burstiness.slope", lambda x, c: digamma(x) - digamma(x + c))
    with pytest.raises(AssertionError):
        test_tables_are_the_literal_ones(1)


def test_near_and_far_formulas_meet():
    c = np.array([2.0, 7.0, 1000.0])
    for function in (slope, rise):
        near, far = (function(np.full(3, x), c) for x in (FAR * (1 - 1e-12), FAR))
        np.testing.assert_allclose(near, far, rtol=1e-9)


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_a_step_is_the_literal_one_on_the_tables(beta):
    table, a = random_table(), 5.0
    state, n = somewhere(table), random_table().toarray()
    run = EMState(state, PLAIN)
    rounds = BurstinessRounds(EMStage(Aspects(3), CSRCounts(table), beta, 1, 0.0), a)
    rounds.enter(run, np.random.default_rng(0))
    (params, rows), _ = OverRelaxation(1.0).step(rounds.at(run), state)
    T = literal_tables(n, predicted(state), a)
    pi, p, q = literal_step(T, *parameters(T, *state), beta, "joint")
    np.testing.assert_allclose(params.components, q, rtol=1e-6)
    np.testing.assert_allclose(params.weights, pi, rtol=1e-6)
    occupied = n.any(axis=1)
    np.testing.assert_allclose(rows[occupied], mixtures(pi, p)[occupied], rtol=1e-6)


@dataclass(frozen=True)
class Stale(BurstinessRounds):
    """Broken: tables are those of the first round throughout."""

    def enter(self, run, rng):
        if run.number == 0:
            super().enter(run, rng)


def falls(found, states, a=A_ROW, n_plain=10):
    """The most that the likelihood of the DCM falls in a step of the rounds, nats."""
    n = X.toarray()
    values = np.array([dcm(n, predicted(state), a) for state in states[n_plain - 1 :: 3]])
    return -np.diff(values).min(), values


def test_the_likelihood_of_the_dcm_never_falls(monkeypatch):
    found, states = fitted(X, A_ROW)
    most, values = falls(found, states)
    assert most < 1e-8
    assert values[-1] > values[0] + 50
    history = [record.free_energy for record in found.history[10:]]
    assert np.diff(history).max() < 1e-8
    n, a = X.toarray(), A_ROW
    ordered = (gammaln(a) - gammaln(a + n.sum(axis=1))).sum() + n.sum() * np.log(a)
    for first in (10, 25, 40):  # the tangent touches where a round begins
        at = dcm(n, predicted(states[first - 1]), a)
        assert found.history[first].free_energy == pytest.approx(ordered - at, rel=1e-9)
    stale = falls(*fitted(X, A_ROW, part=Stale))[1]
    assert stale[-1] < values[-1] - 0.1
    monkeypatch.setattr("skcooc.em.burstiness.slope", lambda x, c: digamma(x + 1) - digamma(x + c))
    assert falls(*fitted(X, A_ROW))[0] > 1


@pytest.mark.parametrize("beta", [1.0, 0.9])
def test_limits_are_plain_and_binary_counts(beta):
    never, _ = fitted(X, 1e12, beta, n_iter=5)
    plain, _ = fitted(X, 1e12, beta, n_iter=5, part=lambda stage, a: replace_X(stage, X))
    np.testing.assert_allclose(never.params.components, plain.params.components, rtol=1e-6)
    assert never.objective == pytest.approx(plain.objective, rel=1e-7)
    always, _ = fitted(X, 1e-9, beta, n_iter=5)
    binary, _ = fitted(X, 1e-9, beta, n_iter=5, part=lambda stage, a: replace_X(stage, X > 0))
    np.testing.assert_allclose(always.params.components, binary.params.components, rtol=1e-6)


def replace_X(stage, table):
    """As many plain steps as the rounds take, on another table."""
    table = sp.csr_array(table.astype(float))
    return EMStage(stage.model, CSRCounts(table), stage.beta, 3 * stage.max_iter, stage.tol)


def test_with_memory_it_predicts_better_from_what_a_bursty_fit_predicts():
    plain, bursty = (RowMemory(model).fit(TRAIN) for model in (AspectModel(3, **FAST), BURSTY))
    assert bursty.perplexity(Dyads(TEST)) < plain.perplexity(Dyads(TEST))
    one, two = plain.estimator_, bursty.estimator_
    assert two.tuning_ == one.tuning_  # which ignores bursts
    judged = [model._heldout_predictions.predicted.values for model in (one, two)]
    assert np.abs(judged[0] - judged[1]).max() > 1e-3


def test_threads_and_single_precision(monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    monkeypatch.setattr("skcooc.counts.passes.config", MANY_THREADS)
    model = AspectModel(3, beta=0.9, burstiness=A_ROW, **FAST)
    one, two = (clone(model).set_params(n_jobs=n).fit(X.astype(np.float32)) for n in (1, 3))
    for name in ("components_", "embedding_", "objective_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.components_.dtype == one.embedding_.dtype == np.float32


def test_weights_are_repetitions():
    weights = np.arange(X.shape[0]) % 3
    model = AspectModel(3, beta=0.9, burstiness=A_ROW, **FAST)
    one = clone(model).fit(X, sample_weight=weights)
    two = clone(model).fit(sp.csr_array(X.toarray().repeat(weights, axis=0)))
    np.testing.assert_allclose(one.components_, two.components_, rtol=1e-4)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)


def test_a_warm_start_goes_on_with_rounds():
    model = AspectModel(3, beta=0.9, **FAST).fit(X)
    n = X.toarray()
    before = dcm(n, model.embedding_ @ model.components_, A_ROW)
    model.set_params(warm_start=True, burstiness=A_ROW).fit(X)
    assert dcm(n, model.embedding_ @ model.components_, A_ROW) > before + 10


def test_it_goes_with_observations_that_leave_themselves_out():
    train, test = split_observations(BURSTY_AND_SHORT, random_state=0)
    options = {"beta": 0.85, "leave_one_out": True, **FAST}
    bursty, whole = (
        RowMemory(AspectModel(8, **options, burstiness=a), random_state=0).fit(train)
        for a in (A_ROW, None)
    )
    assert bursty.estimator_.leave_one_out_
    assert bursty.perplexity(Dyads(test)) < whole.perplexity(Dyads(test))
    few = AspectModel(20, burstiness=A_ROW, random_state=0, max_iter=10, tol=1e-2)
    searched = few.fit(planted(n_rows=60, n_observations=600).X).tuning_
    assert "left out" in {probe.stage for probe in searched}


def test_averages_are_of_bursty_members():
    model = AveragedModels(clone(BURSTY), 2, random_state=0).fit(TRAIN)
    plain = AveragedModels(AspectModel(3, **FAST), 2, random_state=0).fit(TRAIN)
    assert model.tuning_ == plain.tuning_
    assert all(member.burstiness == A_ROW for member in model.estimators_)
    judged = (
        model._heldout_predictions.predicted.values,
        plain._heldout_predictions.predicted.values,
    )
    assert np.abs(judged[0] - judged[1]).max() > 1e-3


@pytest.mark.parametrize(
    ("params", "table", "message"),
    [
        ({"early_stopping": True}, X, "early_stopping=True .* set burstiness=None"),
        ({"burstiness": 0.0}, X, "The 'burstiness' parameter of AspectModel must be"),
        ({}, RowBlocks([X]), "burstiness replaces the counts"),
    ],
)
def test_what_makes_no_sense_is_refused(params, table, message):
    model = clone(BURSTY).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(table)
    assert not hasattr(model, "components_")
    assert not hasattr(clone(BURSTY), "partial_fit")
