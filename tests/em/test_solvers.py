from itertools import pairwise, product

import numpy as np
import pytest

from skcooc.counts import CSRCounts
from skcooc.em import EMStage, OverRelaxation, State, make_solver, online
from skcooc.em.online import FULL_STEP_TOKENS, N_STEPS, StreamTemperature, track_beta
from skcooc.em.solvers import FLOOR, Momentum, Sweep, relax
from skcooc.equations.aspects import Aspects, Statistics
from skcooc.equations.product_aspects import ProductAspects
from skcooc.equations.projections import StructuredProjections
from skcooc.equations.row_clusters import RowClusters
from skcooc.heldout import Validation
from skcooc.line_search import TemperatureRange
from tests.em.toys import HERE, Halving
from tests.equations.running import run_stages
from tests.tables import planted, random_table

TABLE = CSRCounts(planted(n_tokens=3000).X.astype(float))


def sweeps():
    rng = np.random.default_rng(0)
    return [
        Sweep(rng.dirichlet(np.ones(3), 5), Statistics(rng.random((4, 3)), energy), energy)
        for energy in (2.0, 1.0)
    ]


def test_one_is_the_plain_step_and_more_goes_beyond_it_and_stays_positive():
    old, new = sweeps()
    plain = relax(old, new, HERE, 1.0)
    np.testing.assert_allclose(plain.stats.components, new.stats.components)
    np.testing.assert_allclose(plain.rows, new.rows)
    relaxed = relax(old, new, HERE, 1.9)
    beyond = old.stats.components + 1.9 * (new.stats.components - old.stats.components)
    inside = beyond > 0.01
    np.testing.assert_allclose(relaxed.stats.components[inside], beyond[inside])
    assert (relaxed.stats.components >= FLOOR * new.stats.components).all()
    assert (relaxed.rows > 0).all()
    np.testing.assert_allclose(relaxed.rows.sum(axis=1), 1)
    assert relaxed.objective == new.objective


def test_sums_of_logarithms_have_no_floor():
    """They may go down as far as they go up, which counts may not."""
    old, new = (
        sweep._replace(stats=sweep.stats._replace(components=sweep.stats.components - 0.5))
        for sweep in sweeps()
    )
    change = new.stats.components - old.stats.components
    falls = (change < 0) & (new.stats.components < 0)
    assert falls.any()
    relaxed = relax(old, new, HERE, 1.9).stats.components
    np.testing.assert_allclose(relaxed[falls], (old.stats.components + 1.9 * change)[falls])


class Unguarded(Momentum):
    """Broken: goes on where the objective rises."""

    def rollback(self, step):
        return None


def energies(solver, model, beta, n_iter, start=None):
    stage = EMStage(model, TABLE, beta, n_iter, -np.inf)
    found = run_stages([stage], solver, start=start)
    values = np.array([record.free_energy for record in found.history])
    return values, State(found.params, found.rows)


def test_solvers_by_their_names():
    assert type(make_solver("momentum")) is Momentum
    assert make_solver(1.8).eta == make_solver(1.8).pace == 1.8


def test_reaches_the_same_energy_in_fewer_steps():
    start = energies(OverRelaxation(1.0), Aspects(4), 0.9, 20)[1]
    plain = energies(OverRelaxation(1.0), Aspects(4), 0.9, 400, start)[0]
    goal = plain[-1] * (1 + 1e-6)

    def steps(solver):
        return int(np.argmax(energies(make_solver(solver), Aspects(4), 0.9, 400, start)[0] <= goal))

    assert 0 < steps("momentum") < 0.6 * steps(1.0)


def never_rises(solver, model, beta, n_iter):
    values = energies(solver, model, beta, n_iter)[0]
    return np.diff(values).max() <= 1e-9 * abs(values[0])


def told(kind, objectives, n_iter, *args):
    """The solver after a fit whose E-steps have these objectives, and the x of each."""
    seen, left = [], iter(objectives)

    class Told(kind):
        def sweep(self, stage, state):
            seen.append(state.params.x)
            return super().sweep(stage, state)._replace(objective=next(left))

    stage = EMStage(Halving(), HERE, 1.0, n_iter, -np.inf)
    run_stages([stage], Told(*args))
    return seen


def test_a_longer_step_is_taken_back_and_a_plain_one_is_not():
    """Where the objective of a plain step rises, there is nothing better to go back to."""
    seen = told(OverRelaxation, range(9), 4, 1.5)
    assert len(seen) == 6  # of four steps the last two are made again
    assert all(x != y for x, y in pairwise(seen))
    assert len(told(OverRelaxation, [3, 2, 1, 0], 4, 1.5)) == 4


def test_momentum_begins_anew_where_the_objective_rises():
    ages = []

    class Watched(Momentum):
        def extrapolate(self, step, X):
            ages.append(self._age)
            return super().extrapolate(step, X)

    told(Watched, [5, 4, 3, 2, 3, 1, 0], 6)
    assert ages == [0, 1, 2, 3, 0, 1]


def test_free_energy_never_rises_but_without_the_guard():
    assert never_rises(Momentum(), Aspects(4), 0.9, 120)
    assert never_rises(Momentum(), RowClusters(3), 0.3, 120)
    assert not never_rises(Unguarded(), Aspects(4), 0.9, 120)


MODELS = [
    Aspects(3),
    Aspects(3, "likelihood", component_prior=0.3),
    RowClusters(3, proportions="estimated"),
    RowClusters(3, object_weights="equal"),
    ProductAspects(3, 2),
    StructuredProjections(3, 4, topic_prior=0.1),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
X = planted(n_tokens=3000).X.astype(float)
BETA = 0.4


def started(model, X=X):
    counts = CSRCounts(X)
    params, rows = model.start(counts, np.random.default_rng(0))
    rows, stats = model.expect(counts, params, rows, BETA)
    return params, rows, online.averages(stats, X.sum())


def assert_equal(one, two):
    for mine, its in zip(one, two, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)


@every_model
def test_steps_follow_the_recursion(model):
    """S <- (1 - w) S + w s / L with w = (L_t / mean of L_1 ... L_t) t^-1/2, word for word."""
    params, rows, kept = started(model, X[:20])
    ends, seen = [20, 50, 60, 80], [X[:20].sum()]
    theirs, S = params, kept.stats
    for t, (first, last) in enumerate(pairwise(ends), start=2):
        batch = CSRCounts(X[first:last])
        L, states = X[first:last].sum(), np.full((last - first, rows.shape[1]), 1 / rows.shape[1])
        seen.append(L)
        columns, totals = np.arange(X.shape[1]), X[:last].sum(axis=0)
        step = online.step(model, batch, params, states, BETA, kept, totals, columns)
        params, kept = step.params, step.averages
        weight = L / (sum(seen) / t) / t**0.5
        own, s = model.expect(batch, theirs, states, BETA)
        np.testing.assert_allclose(step.rows, own, rtol=1e-9)
        assert step.free_energy == pytest.approx(s.free_energy)
        S = type(s)(*((1 - weight) * old + weight * new / L for old, new in zip(S, s, strict=True)))
        whole = type(s)(*(sum(seen) * field for field in S))
        theirs = model.maximize(whole, theirs, BETA)
        assert_equal(kept.stats, S)
        assert_equal(params, theirs)
    assert kept.n_batches == 4
    assert kept.n_tokens == pytest.approx(X.sum())
    later = kept._replace(n_tokens=300.0, n_batches=3)
    assert online.step_size(later, 100.0) == 0.5  # and not 100 / 400
    assert online.step_size(kept._replace(n_tokens=0.0), X.sum()) == 1


def blended_in(model, params, ends, step=online.blend):
    """The mean of batches that end at these rows, at fixed parameters."""
    kept = None
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        states = np.full((last - first, len(params.weights)), 1 / len(params.weights))
        stats = model.expect(CSRCounts(X[first:last]), params, states, BETA)[1]
        L = X[first:last].sum()
        kept = online.averages(stats, L) if kept is None else step(kept, stats, L)
    return kept.stats


def without_sizes(kept, stats, n_tokens):
    """Broken: a small batch counts as much as a large one."""
    equal = kept.n_tokens / kept.n_batches
    batch = type(stats)(*(field * (equal / n_tokens) for field in stats))
    return online.blend(kept, batch, equal)


def test_without_forgetting_batches_of_any_size_add_up(monkeypatch):
    monkeypatch.setattr(online, "DECAY", 1.0)
    for model in MODELS:
        params = started(model)[0]
        whole = blended_in(model, params, [80])
        for step in (online.blend, without_sizes):
            parts = zip(blended_in(model, params, [7, 10, 60, 80], step), whole, strict=True)
            same = all(np.allclose(mine, its, rtol=1e-9) for mine, its in parts)
            assert same == (step is online.blend)


@pytest.mark.parametrize("model", [MODELS[0], *MODELS[2:]], ids=repr)
def test_columns_that_are_new_become_possible(model):
    """Once there are more batches than the start, nothing else changes."""
    table = random_table(n_rows=20, n_columns=9)
    params, _, kept = started(model, table)
    kept = kept._replace(n_batches=2)
    batch = table.sum(axis=0)
    step = model.maximize(
        online.scale_statistics(kept.stats, 1.0), params, BETA
    )  # column 4 is empty
    assert online.smooth_for_new_columns(model, step, kept, batch, batch) is step
    batch[4] = batch.sum() / 9
    opened = online.smooth_for_new_columns(model, step, kept, batch, batch)
    before, after = (model.factors(p, p.weights[None])[1] for p in (step, opened))
    share = batch[4] / (kept.n_tokens + batch.sum())
    np.testing.assert_allclose(before[4], 0)
    np.testing.assert_allclose(after[4], share)
    np.testing.assert_allclose(np.delete(after, 4, 0), (1 - share) * np.delete(before, 4, 0))


def test_only_the_start_is_mixed_with_the_unigram():
    model = Aspects(3)
    params, _, kept = started(model)
    totals = X.sum(axis=0)
    opened = online.smooth_for_new_columns(model, params, kept, totals, totals)
    expected = 0.5 * params.components + 0.5 * (totals / totals.sum())[:, None]
    np.testing.assert_allclose(opened.components, expected)
    later = kept._replace(n_batches=2)
    assert online.smooth_for_new_columns(model, params, later, totals, totals) is params


LINEAR, LOG = TemperatureRange(0.5, 1.0), TemperatureRange(0.01, 1.0, "log")


def follow(now, n_batches, best, within=LINEAR, n_tokens=FULL_STEP_TOKENS):
    """Track batches that are predicted the better, the nearer to ``best`` they are folded in."""

    def fold_in(beta):
        return np.array([beta]), Validation(1 + abs(beta - best), 0.0)

    for _ in range(n_batches):
        now, rows, validation = track_beta(now, within, n_tokens, fold_in)
        assert rows == now.beta
        assert validation == fold_in(now.beta)[1]
    return now


def test_it_finds_the_best_temperature_and_stays_there_turning():
    step = 0.5 / N_STEPS
    for best in (0.6, 0.95):
        for n_batches in (20, 21, 50):
            assert abs(follow(StreamTemperature(0.7), n_batches, best).beta - best) <= step
        for now, then in ((1, -1), (-1, 1)):
            assert follow(StreamTemperature(best, now), 1, best) == StreamTemperature(best, then)


def test_a_step_is_a_part_of_the_range_on_its_scale_and_less_of_few_observations():
    assert follow(StreamTemperature(0.6), 1, 1.0).beta == pytest.approx(0.62)
    assert follow(StreamTemperature(0.1), 1, 1.0, LOG).beta == pytest.approx(
        0.1 * 100 ** (1 / N_STEPS)
    )
    few = follow(StreamTemperature(0.6), 10, 1.0, n_tokens=FULL_STEP_TOKENS / 10)
    assert few.beta == pytest.approx(0.62)
    assert follow(
        StreamTemperature(0.6), 1, 1.0, n_tokens=10 * FULL_STEP_TOKENS
    ).beta == pytest.approx(0.62)


def test_it_stays_in_the_range_and_from_beyond_goes_back_and_not_away():
    assert follow(StreamTemperature(0.9), 30, 2.0).beta == 1.0
    assert follow(StreamTemperature(0.6), 30, 0.0).beta == 0.5
    assert follow(StreamTemperature(0.4), 5, 0.0).beta == 0.4
    assert follow(StreamTemperature(0.4), 1, 0.8).beta == pytest.approx(0.42)  # step by step
    assert follow(StreamTemperature(0.4), 30, 0.8).beta == pytest.approx(0.8, abs=0.02)


def test_where_nothing_is_held_out_nothing_is_tried():
    tried = []

    def fold_in(beta):
        tried.append(beta)
        return np.array([beta]), None

    betas = np.linspace(0.02, 0.98, 50).tolist()
    for within, beta in product((LINEAR, LOG), betas):  # exp(log(beta)) may differ from beta
        now, rows, _ = track_beta(StreamTemperature(beta), within, 0.0, fold_in)
        assert (now, rows) == (StreamTemperature(beta), beta)
    assert tried == 2 * betas
