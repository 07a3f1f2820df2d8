from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import em
from skcooc.counts import CSRCounts
from skcooc.em import annealing, merging
from skcooc.em.stages import PlainRunner, ignore
from skcooc.em.warmup import WARMUP_ITERATIONS, with_warmup
from skcooc.equations.aspects import Aspects, Params
from skcooc.equations.row_clusters import RowClusters
from skcooc.heldout import Validation
from skcooc.simplex import hellinger, match_rows
from tests.em.toys import HERE, Forks, Halving, Point
from tests.equations.running import energies, run_stages, separate
from tests.tables import planted

PLAIN = em.OverRelaxation(1.0)
FALLING = annealing.path(1.0, 0.25, 0.8)


def run(stages, observe=ignore, start=None):
    return run_stages(stages, PLAIN, observe, start)


def fallen(beta=0.25, kind=em.DecreasingBeta, **options):
    stage = em.EMStage(Halving(), HERE, beta, 30, 1e-9, **options)
    return run([kind(stage, annealing.path(1.0, beta, 0.8))])


def betas_of(found):
    """The temperatures in their order, and the validations at each."""
    betas = np.array([record.beta for record in found.history])
    starts = np.flatnonzero(np.diff(betas, prepend=np.nan))
    scores = np.array([record.validation_perplexity for record in found.history])
    return betas[starts].tolist(), np.split(scores, starts[1:])


def near(goal):
    """Held-out observations that are predicted best where x is this."""
    return lambda model, params, rows: Validation(1 + abs(params.x - goal), 0.0)


@dataclass(frozen=True)
class Anew(em.DecreasingBeta):
    """Broken: begins every temperature at the start."""

    def enter(self, run, rng):
        run.state = self.stage.start(self.stage.model, self.stage.X, rng, PlainRunner())


def test_it_goes_on_and_ends_where_it_converges_at_the_temperature():
    found = fallen()
    betas, scores = betas_of(found)
    assert betas == pytest.approx(FALLING)
    assert [len(stage) for stage in scores[:-1]] == [WARMUP_ITERATIONS] * (len(FALLING) - 1)
    assert WARMUP_ITERATIONS < len(scores[-1]) < 30
    assert found.params.x == pytest.approx(1 / 0.25, rel=1e-3)
    assert found.beta == 0.25
    assert found.converged
    later = [record.beta < 1 for record in found.history]
    assert energies(found)[later].max() < 1.6  # nearer to the goal than the start is
    assert energies(fallen(kind=Anew))[-30:].max() > 10


@dataclass(frozen=True)
class Stubborn(em.DecreasingBeta):
    """Broken: falls to the end, whatever is held out."""

    def leave(self, run):
        run.best = None
        super().leave(run)


def check_tempered(found):
    """Hofmann's rule, from the records alone."""
    betas, scores = betas_of(found)
    best = [stage.min() for stage in scores]
    assert betas == pytest.approx(FALLING[: len(betas)])
    assert (np.diff(best[:-1]) < 0).all()
    assert best[-1] >= best[-2]
    assert found.beta == betas[-2]
    assert found.validation.perplexity == pytest.approx(best[-2])


def test_it_ends_where_what_is_held_out_is_no_longer_predicted_better():
    found = fallen(heldout=near(1.8), patience=4)
    check_tempered(found)
    assert found.params.x == pytest.approx(1.8, abs=0.12)  # the nearest on the way
    last = next(record for record in found.history if record.beta == found.history[-1].beta)
    assert last.free_energy == pytest.approx(1 + (found.params.x - 1 / last.beta) ** 2)
    with pytest.raises(AssertionError):
        check_tempered(fallen(heldout=near(1.8), patience=4, kind=Stubborn))


def test_a_fit_that_is_stopped_has_the_temperature_of_its_best_parameters():
    options = {"heldout": near(1.8), "patience": 4}
    whole = fallen(**options)
    n_iter = len(whole.history) - 1  # at a temperature that was tried in vain
    stage = em.EMStage(Halving(), HERE, 0.25, 30, 1e-9, **options)
    found = run(
        [em.DecreasingBeta(stage, FALLING)], lambda record, state, run: len(run.history) == n_iter
    )
    assert found.stopped
    assert (found.beta, found.params) == (whole.beta, whole.params)
    assert found.history[-1].beta < found.beta


def test_the_factor_says_which_way():
    stage, critical = em.EMStage(Halving(), HERE, 0.5, 5, 0.0), lambda X: 0.25
    rising = em.Annealed(2.0, critical).apply([stage, stage], HERE, {})
    assert [type(part) for part in rising] == [em.SplitClusters, em.EMStage, em.EMStage]
    assert rising[0].betas == [0.25, 0.5]
    falling = em.Annealed(0.5, critical).apply([stage, stage], HERE, {})
    assert [type(part) for part in falling] == [em.DecreasingBeta, em.EMStage]
    assert falling[0].betas == [1.0, 0.5]
    assert em.split_annealing(None) == (None, None)
    assert em.split_annealing(1.5) == (None, 1.5)
    assert em.split_annealing(0.5) == (0.5, None)
    assert betas_of(fallen(beta=1.0))[0] == [1.0]  # there is no way to go
    divergence = em.decreasing_beta(replace(stage, beta=3.0), 0.8)
    assert divergence[0].betas == [3.0]


BETAS = [0.2, 0.25, 0.35, 0.4, 0.55, 0.7, 1.0]


def ends(model, X, betas, n_iter=40, tol=-np.inf, **options):
    """Stages that end with all clusters, at the last temperature."""
    start = annealing.one_cluster_start
    stage = em.EMStage(model, X, betas[-1], n_iter, tol, start=start)
    return [em.SplitClusters(stage, betas), replace(stage, **options)]


def annealed(betas=BETAS, n_iter=40, n_clusters=4, observe=ignore, **options):
    model = Forks(n_clusters)
    return model, run(ends(model, HERE, betas, n_iter, **options), observe)


def test_splits_are_recorded_where_they_happen_and_are_as_many_as_asked_for():
    model, found = annealed(n_iter=20)
    np.testing.assert_allclose(np.sort(found.params.x), [-0.3, -0.1, 0.1, 0.3], atol=1e-2)
    assert found.splits == [
        em.Split(0.35, ((0, 2), (1, 3))),
        em.Split(0.7, ((0,), (2,))),
        em.Split(0.7, ((1,), (3,))),
    ]
    assert model.amounts == [annealing.PERTURBATION] * 6  # until all clusters are apart
    assert [record.beta for record in found.history] == np.repeat([*BETAS, 1.0], 20).tolist()
    assert annealed(BETAS[:2])[1].splits == []
    assert annealed(BETAS[:2])[1].params.x == pytest.approx(np.zeros(4), abs=1e-2)
    three = annealed(n_clusters=3)[1]
    assert three.splits == [em.Split(0.35, ((0, 2), (1,))), em.Split(0.7, ((0,), (2,)))]
    assert annealed(n_clusters=1)[1].splits == []
    _, found = annealed(BETAS[:6], n_clusters=5)  # one that has not come apart is there twice
    parts = [((0, 2, 4), (1, 3)), ((0, 4), (2,)), ((1,), (3,))]
    assert [split.parts for split in found.splits] == parts
    assert found.params.x[4] == found.params.x[0]
    assert found.rows.shape == (1, 5)


def test_observers_see_all_temperatures_and_can_stop():
    seen = []

    def observe(record, state, run):
        seen.append(record.beta)
        return len(seen) == 110

    _, found = annealed(observe=observe)
    assert seen == [record.beta for record in found.history] == np.repeat(BETAS, 40)[:110].tolist()
    assert [split.beta for split in found.splits] == [0.35]
    assert found.rows.shape == (1, len(found.params.x)) == (1, 4)
    assert found.stopped
    assert not found.converged


def test_only_the_end_is_validated():
    asked = []

    def heldout(model, params, rows):
        asked.append(params.x.tolist())
        return Validation(float(len(asked)), 0.0)

    _, found = annealed(heldout=heldout, patience=3)
    perplexities = np.array([record.validation_perplexity for record in found.history])
    assert np.isnan(perplexities[: 40 * 7]).all()
    assert perplexities[40 * 7 :].tolist() == [1, 2, 3, 4]
    assert found.validation.perplexity == 1
    assert found.params.x.tolist() == asked[0]


def test_start_replaces_the_models_own():
    start = em.State(Point(np.array([-0.2, 0.2]), np.ones(2) / 2), np.ones((1, 2)) / 2)
    found = run(ends(Forks(), HERE, [1.0]), start=start)
    assert [split.parts for split in found.splits] == [((0,), (2,)), ((1,), (3,))]


def test_clusters_begin_to_split_at_the_critical_temperature():
    X = planted(4, 3000, kind="clusters", n_rows=40, n_columns=30).X
    X = CSRCounts(sp.csr_array((X.toarray() * (1 + np.arange(40) % 4)[:, None]).astype(float)))
    for object_weights, tol, latest in (  # with patience, and without
        ("counts", -np.inf, 1.15),
        ("equal", -np.inf, 1.15),
        ("counts", 3e-6, 1.6),  # with the tolerance of the end it would be 2.3
        ("equal", 3e-6, 1.6),
    ):
        model = RowClusters(4, object_weights=object_weights)
        critical = model.critical_beta(X)
        found = run(ends(model, X, annealing.path(critical / 1.2, 3 * critical, 1.1), 100, tol))
        assert critical < found.splits[0].beta < latest * critical
        assert separate(found.splits) == {(0,), (1,), (2,), (3,)}


def test_at_the_last_temperature_everything_comes_apart():
    seen, model = [], RowClusters(4)
    X = CSRCounts(planted(4, 3000, kind="clusters", n_rows=40, n_columns=30).X.astype(float))
    stages = ends(model, X, [5 * model.critical_beta(X)], 60)[:1]
    run(stages, lambda record, state, run: seen.append(state.rows.shape[1]))
    assert seen == [2] * 60 + [4] * 120


def growing_stage():
    start = annealing.one_cluster_start
    return em.EMStage(Forks(4), HERE, 1.0, 40, -np.inf, start=start)


def test_growth_ends_with_what_predicts_best():
    """Judged best with two clusters, it goes back there after some more temperatures."""
    judged = []

    def judge(model, params, rows):
        judged.append(len(params.x))
        return Validation(abs(len(params.x) - 2) + 1e-3 * len(judged), 0.0)

    stage, betas = growing_stage(), annealing.path(0.2, 1.0, 1.05)
    found, freely = (run([em.GrowClusters(stage, betas, *given)]) for given in ([judge], []))
    assert found.rows.shape == (1, 2)
    assert [split.parts for split in found.splits] == [((0,), (1,))]
    assert set(judged) >= {1, 2}
    assert freely.rows.shape == (1, 4)
    assert freely.beta == freely.history[-1].beta
    assert freely.history[-1].beta < 1.0  # where all are there


def test_patience_begins_once_there_are_several_clusters():
    """However many temperatures a single one has before, all predicted alike."""

    def judge(model, params, rows):
        return Validation(float(abs(len(params.x) - 2)), 0.0)

    stage, betas = growing_stage(), annealing.path(0.1, 1.0, 1.05)
    assert sum(beta < 0.3 for beta in betas) > 2 * annealing.PATIENCE
    found = run([em.GrowClusters(stage, betas, judge)])
    assert found.rows.shape == (1, 2)
    assert [split.parts for split in found.splits] == [((0,), (1,))]


def test_clusters_are_separate_where_they_differ_enough_most_first():
    ones = np.full((2, 3), 0.5)
    change = np.array([1.1, 0.9, 2.0]) * annealing.DISTINCT
    assert annealing.separated(ones, ones + np.array([change, -change])) == [2, 0]


DATA = planted(4, 8000)
X = CSRCounts(DATA.X.astype(float))


def merged_aspects(*parts):
    """The planted aspects, some of them merged."""
    shares = np.zeros((4, len(parts)))
    for new, part in enumerate(parts):
        shares[list(part), new] = 1
    rows = DATA.mixtures @ shares
    components = DATA.components.T @ (shares * DATA.mixtures.mean(axis=0)[:, None])
    weights = rows.mean(axis=0)
    return em.State(Params(components / components.sum(axis=0), weights, weights), rows)


def test_merged_aspects_come_apart_and_with_a_wrong_choice_they_do_not(monkeypatch):
    def recovered():
        stage = em.EMStage(Aspects(4), X, 1.0, 60, 1e-6)
        end = run([em.SplitComponents(stage), stage], start=merged_aspects((0,), (1,), (2, 3)))
        return match_rows(DATA.components, end.params.components.T)[1].min()

    assert recovered() > 0.95
    monkeypatch.setattr(em.annealing, "farthest", lambda components, weights, n: [0])
    assert recovered() < 0.95


def doubled_and_merged():
    """A local optimum: a planted aspect is there twice, and two others are one."""
    truth = merged_aspects((0,), (1,), (2,), (3,))
    return annealing.mix_components(Aspects(4), truth, [(0,), (0,), (1,), (2, 3)])


BROKEN_MOVES = [
    (Aspects, "perturb", lambda model, params, rng, amount: params),  # copies that stay copies
    (merging, "merging_costs", lambda model, X, state: np.eye(state.rows.shape[1])),  # any pair
    (merging.MergeAndSplit, "finish", lambda part, run: part.merge_copies(run, [0])),
]


@pytest.mark.parametrize("broken", [None, *BROKEN_MOVES], ids=["right", "same", "any", "first"])
def test_merge_and_split_leaves_a_local_optimum(monkeypatch, broken):
    stage = em.EMStage(Aspects(4), X, 1.0, 60, 1e-6)
    start = doubled_and_merged()
    stuck = run([stage], start=start)
    assert match_rows(DATA.components, stuck.params.components.T)[1].min() < 0.95
    if broken is not None:
        monkeypatch.setattr(*broken)
    found = run([merging.MergeAndSplit(replace(stage, tol=0.0)), stage], start=stuck.state)
    similarity = match_rows(DATA.components, found.params.components.T)[1].min()
    assert (similarity > 0.95) == (broken is None)
    assert (found.objective < stuck.objective - 100) == (broken is None)


def test_costs_of_merging_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    rows, components = rng.dirichlet(np.ones(5), size=80), rng.dirichlet(np.ones(60), size=5).T
    rows[:, 1], components[:, 3] = 0.4 * rows[:, 0], components[:, 2]
    weights = np.full(5, 0.2)
    state, n = em.State(Params(components, weights, weights), rows), X.row_sums
    costs = merging.merging_costs(Aspects(5), X, state)
    for k, l in np.ndindex(5, 5):
        both = rows[:, k] + rows[:, l]
        share = np.sum(n * rows[:, k] * both) / np.sum(n * both**2)
        apart = 1 - np.sum(np.sqrt(components[:, k] * components[:, l]))
        expected = np.sum(n * (rows[:, k] - share * both) ** 2) * apart
        assert costs[k, l] == pytest.approx(0 if k == l else expected, abs=1e-9)
    assert costs[0, 1] < 1e-9 > costs[2, 3]  # in one proportion, or equal
    hard = em.State(state.params, np.eye(5)[rng.integers(5, size=80)])
    sizes = n @ hard.rows
    harmonic = sizes[:, None] * sizes / (sizes[:, None] + sizes)
    costs = merging.merging_costs(Aspects(5), X, hard)
    np.testing.assert_allclose(costs, harmonic * hellinger(components.T) ** 2, atol=1e-9)
    assert np.isfinite(merging.merging_costs(Aspects(5), X, em.State(state.params, 0 * rows))).all()


def test_pairs_are_merged_in_the_order_of_their_costs():
    truth = merged_aspects((0,), (1,), (2,), (3,))
    costs = merging.merging_costs(Aspects(4), X, truth)
    pairs = sorted(combinations(range(4), 2), key=lambda pair: costs[pair])
    for rank in range(8):
        move = merging.MergeAndSplit(em.EMStage(Aspects(4), X, 1.0, 9, 0.0), rank)
        at = em.stages.EMState(truth, PLAIN)
        move.enter(at, np.random.default_rng(0))
        first, second = pairs[rank % 6]  # from the cheapest again
        both = truth.rows[:, first] + truth.rows[:, second]
        np.testing.assert_allclose(2 * at.state.rows[:, first], both, rtol=1e-9)


def test_many_more_are_reached_by_doubling():
    stage = em.EMStage(Aspects(6), X, 1.0, 3, 0.0)
    end = run([em.SplitComponents(stage)], start=merged_aspects((0, 1, 2, 3)))
    assert end.rows.shape == (80, 6)
    np.testing.assert_allclose(end.rows.sum(axis=1), 1)
    np.testing.assert_allclose(end.params.components.sum(axis=0), 1)


def test_components_are_ranked_by_mass_and_by_distance():
    components = np.array([[0.5, 1, 0.5, 0.5, 0, 0.5], [0.5, 0, 0.5, 0.5, 1, 0.5]])
    assert annealing.farthest(components, np.full(6, 1 / 6), 1) == [1]
    components = np.array([[0.9, 0.7, 0.1, 0.3], [0.1, 0.3, 0.9, 0.7]])
    assert annealing.farthest(components, np.array([0.01, 0.49, 0.01, 0.49]), 1) == [1]
    assert annealing.farthest(components, np.full(4, 0.25), 1) == [0]
    assert annealing.farthest(components, np.zeros(4), 2) == [0, 1]  # nobody has any mass
    weights = np.array([0.18, 0.54, 0.18, 0.10])
    components = np.vstack([[0.8, 0.8, 0.2, 0.2], [0.2, 0.2, 0.8, 0.8]])  # all as different
    pairs = [2 / (1 / weights[c] + 1 / weights[2 + c]) for c in range(2)]
    assert np.argmax(pairs) == 0  # and by the product of the weights it would be 1
    assert annealing.farthest(components, weights, 1) == [0]


def test_large_components_are_split_before_small_ones():
    weights = np.array([0.01, 0.49, 0.01, 0.49])
    components = np.array([[0.9, 0.7, 0.1, 0.3], [0.1, 0.3, 0.9, 0.7]])
    state = em.State(Params(components, weights, weights), np.tile(weights, (80, 1)))
    run = em.stages.EMState(state, PLAIN, n_clusters=2)
    em.SplitComponents(em.EMStage(Aspects(3), X, 1.0, 9, 0.0)).finish(run)
    np.testing.assert_allclose(run.state.params.weights, [0.02, 0.49, 0.49])
    np.testing.assert_allclose(run.state.params.components[:, 1:], components[:, 1::2])


def test_pairs_are_joined_one_by_one():
    """The same by loops over pairs, as a sum over columns."""
    rng = np.random.default_rng(3)
    components, weights = rng.dirichlet(np.full(6, 0.5), size=9).T, rng.dirichlet(np.full(9, 0.5))
    P, shares, groups = list(components.T), list(weights), [(c,) for c in range(9)]
    while len(groups) > 4:
        costs = {}
        for b in range(len(P)):
            for a in range(b):
                squares = (np.sqrt(P[a]) - np.sqrt(P[b])) ** 2
                costs[a, b] = squares.sum() / (1 / shares[a] + 1 / shares[b])
        a, b = min(costs, key=costs.get)
        P[a] = (shares[a] * P[a] + shares[b] * P[b]) / (shares[a] + shares[b])
        shares[a], groups[a] = shares[a] + shares[b], groups[a] + groups[b]
        del P[b], shares[b], groups[b]
    assert annealing.cheapest_merges(components, weights, 4) == groups
    assert annealing.cheapest_merges(components, np.full(9, 1 / 9), 4) != groups  # without weights


def test_split_components_are_merged_again_and_nothing_else():
    (components, weights, _), rows = merged_aspects((0,), (1,), (2,), (3,))
    both = np.tile(weights / 2, 2)
    params = Params(np.tile(components, 2), both, both)
    again = em.merge_components(Aspects(4), em.State(params, np.tile(rows / 2, 2)), 4)
    np.testing.assert_allclose(again.rows, rows)
    np.testing.assert_allclose(again.params.components, components)
    np.testing.assert_allclose(again.params.weights, weights)
    assert len(annealing.cheapest_merges(params.components, np.zeros(8), 7)) == 7


@pytest.mark.parametrize("factor", [0.95, 1.25])
def test_a_fit_that_is_stopped_reports_the_temperature_reached(factor):
    anneal = em.Annealed(factor, Aspects(3).critical_beta)
    X = CSRCounts(planted(3, 3000).X.astype(float))
    stage = em.EMStage(Aspects(3), X, 0.9, 5, 1e-9)
    stages = anneal.apply([stage], X, {})
    found = run(stages, observe=lambda record, state, run: len(run.history) == 7)
    reached = found.history[-1].beta
    assert found.beta == reached != 0.9
    # A warm-up is no annealing: its fit has the temperature that was asked for.
    parts = with_warmup(replace(stage, max_iter=30), stage.model)
    found = run(parts, observe=lambda record, state, run: len(run.history) == 2)
    assert found.history[-1].beta == 1.0 != found.beta == 0.9
