from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln
from sklearn.base import clone

from skcooc import AspectModel, AveragedModels, Dyads, RowBlocks, RowMemory
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, EMState, OverRelaxation, State
from skcooc.em.burstiness import FAR, BurstinessRounds, bound, rise, slope
from skcooc.equations.aspects import Aspects, Params, PredictiveAspects
from skcooc.model_selection import split_counts
from tests.cases import FAST
from tests.equations.literal_aspects import literal_step, mixtures, parameters
from tests.equations.literal_predictive_aspects import step as literal_left_out
from tests.equations.running import run_stages
from tests.tables import factors, planted, random_table, refused

A_ROW = 20.0  # concentration
X = planted(n_rows=60, n_columns=80, n_tokens=6000, burstiness=A_ROW).X.astype(float)
BURSTY_AND_SHORT = planted(4, 6000, n_rows=200, n_columns=80, burstiness=A_ROW).X.astype(float)
TRAIN, TEST = split_counts(X, random_state=0)
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


def somewhere(table):
    """A state that fits nothing yet."""
    A, B = factors(table)
    A, B = A / A.sum(axis=1, keepdims=True), B / B.sum(axis=0)
    return State(Params(B, A.mean(axis=0), A.mean(axis=0)), A)


def fitted(a, kind=BurstinessRounds):
    """Ten iterations and five rounds of plain EM; the fit, and the states on the way."""
    stage = EMStage(Aspects(3), CSRCounts(X), 1.0, 10, -np.inf)
    stages, states = [stage, kind(replace(stage, max_iter=15), a)], []

    def observe(record, state, run):
        states.append(state)

    return run_stages(stages, PLAIN, observe, somewhere(X)), states


def predicted(state):
    return state.rows @ state.params.components.T


def check_tables(scale):
    table = random_table() * scale
    state, n = somewhere(table), table.toarray()
    counts, P = CSRCounts(table), predicted(state)
    for a in (0.1, 7.0, 1e4):
        tables, _ = bound(counts, state.rows, state.params.components, a)
        found = counts.replaced(tables).table.toarray()
        np.testing.assert_allclose(found, literal_tables(n, P, a), rtol=1e-9)
        if scale == 1:
            al = a * P
            closed = np.where(n > 0, al * (digamma(al + n) - digamma(al)), 0)
            np.testing.assert_allclose(found, closed, rtol=1e-9)


def test_tables_are_the_literal_ones(monkeypatch):
    for scale in (1, 0.3, 2.5):
        check_tables(scale)
    monkeypatch.setattr("skcooc.em.burstiness.slope", lambda x, c: digamma(x) - digamma(x + c))
    with pytest.raises(AssertionError):
        check_tables(1)


def first_round(model, table, beta, a=5.0):
    """The stage of the first round, at `somewhere`."""
    rounds = BurstinessRounds(EMStage(model, CSRCounts(table), beta, 1, 0.0), a)
    run = EMState(somewhere(table), PLAIN)
    rounds.enter(run, np.random.default_rng(0))
    return rounds.current_stage(run)


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_a_step_is_the_literal_one_on_the_tables(beta):
    table = random_table()
    state, n = somewhere(table), table.toarray()
    T = literal_tables(n, predicted(state), 5.0)
    (params, rows), _ = PLAIN.step(first_round(Aspects(3), table, beta), state)
    pi, p, q = literal_step(T, *parameters(T, *state), beta, "joint")
    np.testing.assert_allclose(params.components, q, rtol=1e-6)
    np.testing.assert_allclose(params.weights, pi, rtol=1e-6)
    occupied = n.any(axis=1)
    np.testing.assert_allclose(rows[occupied], mixtures(pi, p)[occupied], rtol=1e-6)

    model = PredictiveAspects(Aspects(3, component_prior=0.1), 2.0)
    stage = first_round(model, table, beta)
    rows, stats = stage.X.expect(model, *state, beta)
    C = np.maximum(state.params.components / model.per_totals(stage.X, state.params) - 0.1, 0)
    on_tables, on_counts = (
        literal_left_out(counts, state.rows, C, beta, 2.0, 0.1)[:2] for counts in (T, n)
    )
    for mine, literal, twin in zip((rows, stats.components), on_tables, on_counts, strict=True):
        np.testing.assert_allclose(mine, literal, atol=2e-3)
        assert np.abs(twin - literal).max() > 0.02


def test_near_and_far_formulas_meet():
    c = np.array([2.0, 7.0, 1000.0])
    for function in (slope, rise):
        near, far = (function(np.full(3, x), c) for x in (FAR * (1 - 1e-12), FAR))
        np.testing.assert_allclose(near, far, rtol=1e-9)


@dataclass(frozen=True)
class Stale(BurstinessRounds):
    """Broken: tables are those of the first round throughout."""

    def enter(self, run, rng):
        if run.number == 0:
            super().enter(run, rng)


def likelihoods(states):
    """Of the DCM, after the ten iterations and every round."""
    return np.array([dcm(X.toarray(), predicted(state), A_ROW) for state in states[9::3]])


def test_the_likelihood_of_the_dcm_never_falls(monkeypatch):
    found, states = fitted(A_ROW)
    values = likelihoods(states)
    assert np.diff(values).min() > -1e-8
    assert values[-1] > values[0] + 50
    assert np.diff([record.free_energy for record in found.history[10:]]).max() < 1e-8
    n, a = X.toarray(), A_ROW
    ordered = (gammaln(a) - gammaln(a + n.sum(axis=1))).sum() + n.sum() * np.log(a)
    for first in (10, 25, 40):  # the tangent touches where a round begins
        at = dcm(n, predicted(states[first - 1]), a)
        assert found.history[first].free_energy == pytest.approx(ordered - at, rel=1e-9)
    assert likelihoods(fitted(A_ROW, Stale)[1])[-1] < values[-1] - 0.1
    monkeypatch.setattr("skcooc.em.burstiness.slope", lambda x, c: digamma(x + 1) - digamma(x + c))
    assert np.diff(likelihoods(fitted(A_ROW)[1])).min() < -1


def test_limits_are_plain_and_binary_counts():
    for a, table in ((1e12, X), (1e-9, X > 0)):
        counts = CSRCounts(sp.csr_array(table.astype(float)))

        def plainly(stage, a, counts=counts):
            return replace(stage, X=counts, max_iter=45)

        limit, plain = (fitted(a, kind)[0] for kind in (BurstinessRounds, plainly))
        np.testing.assert_allclose(limit.params.components, plain.params.components, rtol=1e-6)
        assert a < 1 or limit.objective == pytest.approx(plain.objective, rel=1e-7)


def test_with_a_cache_bursty_fits_predict_better():
    """The search is that of plain fits; what predicts validation tokens is the bursty fit."""
    for meta in (RowMemory, lambda model: AveragedModels(model, 2, random_state=0)):
        plain, bursty = (meta(model).fit(TRAIN) for model in (AspectModel(3, **FAST), BURSTY))
        if meta is RowMemory:
            assert bursty.perplexity(Dyads(TEST)) < plain.perplexity(Dyads(TEST))
            plain, bursty = plain.estimator_, bursty.estimator_
        single = [[t for t in one.tuning_ if t.stage != "mean"] for one in (plain, bursty)]
        assert [str(trial) for trial in single[0]] == [str(trial) for trial in single[1]]
        judged = [one._heldout_predictions.predicted.values for one in (plain, bursty)]
        assert np.abs(judged[0] - judged[1]).max() > 1e-3


def test_it_goes_with_leave_one_out():
    train, test = split_counts(BURSTY_AND_SHORT, random_state=0)
    options = {"beta": 0.85, "leave_one_out": True, **FAST}
    bursty, whole = (
        RowMemory(AspectModel(10, **options, burstiness=a), random_state=0).fit(train)
        for a in (A_ROW, None)
    )
    assert bursty.perplexity(Dyads(test)) < whole.perplexity(Dyads(test))
    few = AspectModel(10, burstiness=A_ROW, random_state=0, max_iter=10, tol=1e-2)
    searched = few.fit(planted(n_rows=60, n_tokens=600).X).tuning_
    assert "left out" in {probe.stage for probe in searched}


def test_what_makes_no_sense_is_refused():
    for params, table, message in (
        ({"early_stopping": True}, X, "early_stopping=True cannot be combined"),
        ({"burstiness": 0.0}, X, "The 'burstiness' parameter of AspectModel must be"),
        ({}, RowBlocks([X]), "burstiness replaces counts"),
    ):
        model = clone(BURSTY).set_params(**params)
        refused(message, model.fit, table)
        assert not hasattr(model, "components_")


def test_a_warm_start_goes_on_with_rounds():
    model = AspectModel(3, beta=0.9, **FAST).fit(X)
    n = X.toarray()
    before = dcm(n, model.embedding_ @ model.components_, A_ROW)
    model.set_params(warm_start=True, burstiness=A_ROW).fit(X)
    assert dcm(n, model.embedding_ @ model.components_, A_ROW) > before + 10


def test_weights_are_repetitions():
    weights = np.arange(X.shape[0]) % 3
    model = AspectModel(3, beta=0.9, burstiness=A_ROW, **FAST)
    one = clone(model).fit(X, sample_weight=weights)
    two = clone(model).fit(sp.csr_array(X.toarray().repeat(weights, axis=0)))
    np.testing.assert_allclose(one.components_, two.components_, rtol=1e-4)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)
