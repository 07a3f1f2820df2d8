from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc import AspectModel, AsymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em import EMStage, OverRelaxation, State
from skcooc.em.coarsening import scales
from skcooc.em.warmup import with_warmup
from skcooc.equations.aspects import Aspects
from skcooc.equations.row_clusters import RowClusters
from skcooc.heldout.validation import hold_out
from skcooc.image import grid_coarsening
from tests.data import requires_callbacks
from tests.em.toys import HERE, Halving, Point
from tests.equations.running import energies, run_stages
from tests.tables import planted, random_table
from tests.watching import Watcher


def halved(*stages, tol=0.0, **options):
    """Stages at these temperatures, each with so many iterations at most."""
    stages = [EMStage(Halving(), HERE, beta, n_iter, tol) for beta, n_iter in stages]
    return run_stages(stages, OverRelaxation(1.0), **options)


def test_steps_follow_the_stages():
    result = halved((1.0, 2), (0.5, 3))
    assert [record.beta for record in result.history] == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert result.params.x == pytest.approx(2 - (2 - 0.75) / 8)
    assert not result.converged
    start = State(Point(0.5, np.ones(1)), np.ones((1, 1)))  # in place of the model's own
    assert halved((1.0, 1), start=start).params.x == 0.75


def test_every_stage_stops_at_the_tolerance():
    result = halved((1.0, 100), tol=1e-3)
    falls = -np.diff(energies(result))
    assert result.converged
    assert falls[-1] <= 1e-3 * energies(result)[-1]
    assert (falls[:-1] > 1e-3 * energies(result)[1:-1]).all()
    assert result.objective == energies(result)[-1]
    result = halved(*((beta, 50) for beta in (0.25, 0.5, 1.0)), tol=1e-4)
    betas = [record.beta for record in result.history]
    assert sorted(set(betas)) == [0.25, 0.5, 1.0]
    assert len(betas) < 150
    assert result.params.x == pytest.approx(1.0, abs=0.05)


def test_observers_see_every_iteration_and_can_stop():
    seen = []

    def observe(record, state, run):
        seen.append(state.params.x)
        return len(seen) == 3

    result = halved((1.0, 10), observe=observe)
    assert seen == [0.5, 0.75, 0.875]
    assert len(result.history) == 3
    assert not result.converged


def test_warm_up_takes_its_steps_from_the_stage():
    for n_iter, steps in ((100, [(1.0, 8), (0.8, 92)]), (5, [(1.0, 4), (0.8, 1)])):
        parts = with_warmup(EMStage(Halving(), HERE, 0.8, n_iter, 0.0), Halving())
        assert [(part.beta, part.max_iter) for part in parts] == steps
    hot = EMStage(Halving(), HERE, 1.0, 9, 0.0)
    assert with_warmup(hot, Halving()) == [hot]


def aspects_fit(X, solver=1.0, heldout=None, max_iter=60, beta=0.9):
    stage = EMStage(Aspects(4), CSRCounts(X), beta, max_iter, 0.0, heldout)
    return run_stages(with_warmup(stage, stage.model), OverRelaxation(solver))


def test_over_relaxation_falls_to_the_same_energy_in_fewer_steps():
    X = planted(n_tokens=3000).X.astype(float)
    for solver in (1.0, 1.5, 1.9):
        values = energies(aspects_fit(X, solver))[8:]
        assert (np.diff(values) <= 1e-9 * abs(values[0])).all()
    warm = aspects_fit(X, max_iter=20)
    stage = EMStage(Aspects(4), CSRCounts(X), 0.9, 40, 0.0)
    plain, relaxed = (
        energies(run_stages([stage], OverRelaxation(eta), start=warm.state)) for eta in (1.0, 1.8)
    )
    assert (relaxed > plain[-1]).sum() < 30


def test_a_relaxed_step_that_rises_is_undone():
    class Cliff(Halving):
        """Beyond x = 1.2 the free energy jumps; a step of 3 goes there, the plain step never."""

        def expect(self, X, params, rows, beta):
            rows, stats = super().expect(X, params, rows, beta)
            return rows, stats._replace(free_energy=stats.free_energy + 100 * (params.x > 1.2))

    result = run_stages([EMStage(Cliff(), HERE, 1.0, 12, 0.0)], OverRelaxation(3.0))
    assert energies(result).max() < 100


def test_validated_runs_return_their_best_parameters_and_others_record_nan():
    X = CSRCounts(planted(n_tokens=1500).X.astype(float))
    rest, heldout = hold_out(X, 0.2, 0, "auto")
    result = aspects_fit(rest.table, heldout=heldout, max_iter=200, beta=1.0)
    perplexities = [record.validation_perplexity for record in result.history]
    assert min(perplexities) < perplexities[-1]
    assert len(perplexities) < 200
    assert result.validation.perplexity == min(perplexities)
    again = heldout(Aspects(4), result.params, result.rows)
    assert again.perplexity == result.validation.perplexity
    assert np.isnan(aspects_fit(random_table(), max_iter=3).history[0].validation_perplexity)


@dataclass(frozen=True)
class Scripted:
    """A solver whose objectives are known: they may rise before they fall."""

    objectives: Iterator[float]
    pace: float = 1.0

    def step(self, stage, state):
        return state, next(self.objectives)


class Patient(NamedTuple):
    patience: int

    def for_table(self, params, X):
        return params


def test_a_rise_is_no_end_where_a_model_is_patient():
    for patience, values in (
        (1, [9, 5, 5.5]),
        (2, [9, 5, 5.5, 4, 4.5, 4]),
        (1, [9, 5, 4, 4]),
        (1, [np.inf, 5, 4, 4]),
    ):
        stage = EMStage(Patient(patience), None, 1.0, 50, 1e-6)
        run = run_stages([stage], Scripted(iter(values)), start=State(None, None))
        assert run.converged
        assert energies(run).tolist() == values


SIDE, K, BETA = 16, 3, 0.2
COARSENING = grid_coarsening((SIDE, SIDE), 2)


def image(seed=0):
    """Histograms of 30 values on average at the sites of three segments, with ragged borders."""
    rng = np.random.default_rng(seed)
    y, x = np.indices((SIDE, SIDE))
    segments = np.where(y + rng.integers(-1, 2, y.shape) < 7, 0, np.where(x < 9, 1, 2)).ravel()
    histograms = rng.dirichlet(np.full(12, 0.3), K)
    X = np.array([rng.multinomial(rng.poisson(30), histograms[segment]) for segment in segments])
    return sp.csr_array(X.astype(float)), segments


X, SEGMENTS = image()
COUNTS = CSRCounts(X)


def fitted(X, coarsening, model=None, seed=0, heldout=None):
    *coarse, finest = (
        EMStage(model or RowClusters(K), table, BETA, 300, 1e-9, members=members, groups=groups)
        for table, members, groups in scales(X, coarsening)
    )
    stages = [*coarse, replace(finest, heldout=heldout)]
    return run_stages(stages, OverRelaxation(1.0), seed=seed)


def test_scales_of_nested_labels_and_of_none():
    X = sp.csr_array(np.arange(12.0).reshape(6, 2))
    fine, coarse = [7, -2, 7, 100, -2, 5], [0, 3, 0, 3, 3, 0]
    *levels, finest = scales(CSRCounts(X), [np.array(fine), np.array(coarse)])
    for level, labels in zip(levels, (coarse, fine), strict=True):
        groups = sorted(set(labels))
        means = [X.toarray()[np.array(labels) == group].mean(axis=0) for group in groups]
        np.testing.assert_allclose(level.X.dot(np.eye(2)), means)
        assert level.X.row_weights.tolist() == [labels.count(group) for group in groups]
        assert [groups[g] for g in level.groups] == labels
    np.testing.assert_array_equal(finest.members, levels[1].groups)
    np.testing.assert_array_equal(levels[1].members[levels[1].groups], levels[0].groups)
    assert levels[0].members is None
    assert finest.groups is None
    assert scales(finest.X, []) == [(finest.X, None, None)]


@pytest.mark.parametrize("hard", [False, True])
def test_the_objective_falls_from_scale_to_scale_to_where_a_single_one_ends(hard):
    ends = {"uniform": [], "estimated": [], "single": []}
    for seed in range(4):
        for proportions in ("uniform", "estimated"):
            model = RowClusters(K, hard, "counts", proportions)
            found = fitted(COUNTS, COARSENING, model, seed)
            assert (np.diff(energies(found)) <= 1e-12 * energies(found)[0]).all()
            ends[proportions].append(found)
        ends["single"].append(fitted(COUNTS, [], RowClusters(K, hard), seed))
    single, multiscale = (
        min(ends[name], key=lambda fit: fit.objective) for name in ("single", "uniform")
    )
    assert multiscale.objective == pytest.approx(single.objective, rel=1e-3)
    assert adjusted_rand_score(SEGMENTS, multiscale.rows.argmax(axis=1)) > 0.95


def test_scales_are_visited_from_coarse_to_fine():
    sizes = []

    class Counted(RowClusters):
        def expect(self, X, params, rows, beta):
            sizes.append(X.shape[0])
            return super().expect(X, params, rows, beta)

    multiscale = fitted(COUNTS, COARSENING, Counted(K))
    assert len(multiscale.history) == len(sizes)
    assert sizes == sorted(sizes)
    assert set(sizes) == {16, 64, 256}
    n_finest = sizes.count(256)
    sizes.clear()
    fitted(COUNTS, [], Counted(K))
    assert n_finest < len(sizes)


def test_tying_rows_that_are_the_same_changes_nothing():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 1 + np.arange(40) % 3))
    repeated = CSRCounts(X[:40][labels])
    for hard, object_weights in ((False, "counts"), (False, "equal"), (True, "equal")):
        model = RowClusters(K, hard, object_weights, "estimated")
        one, two = fitted(repeated, [], model), fitted(repeated.coarsen(labels), [], model)
        np.testing.assert_allclose(energies(one), energies(two), rtol=1e-6)
        np.testing.assert_allclose(one.params.components, two.params.components, atol=1e-9)
        np.testing.assert_allclose(one.rows, two.rows[labels], atol=1e-9)


def test_only_the_finest_scale_is_validated():
    counts, heldout = hold_out(COUNTS, 0.2, 0, "auto")
    fit = fitted(counts, COARSENING, heldout=heldout)
    validated = np.isfinite([record.validation_perplexity for record in fit.history])
    first = int(np.flatnonzero(validated)[0])
    assert validated[first:].all()
    coarse = energies(fitted(counts, COARSENING))[:first]
    np.testing.assert_array_equal(energies(fit)[:first], coarse)
    assert first > 10
    assert heldout(RowClusters(K), fit.params, fit.rows) == fit.validation


class KeepPosteriors(Watcher):
    """Keep the posteriors at every iteration, and stop after some."""

    def __init__(self, after):
        self.after, self.posteriors = after, []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None:
            self.posteriors.append(fitted_estimator.posteriors_)
        return len(self.posteriors) >= self.after


@requires_callbacks
def test_callbacks_see_all_rows_and_can_stop_on_a_coarse_scale():
    early, late = KeepPosteriors(2), KeepPosteriors(10_000)
    stopped, finished = (
        AsymmetricClustering(K, beta=BETA, coarsening=COARSENING, random_state=0)
        .set_callbacks(watch)
        .fit(X)
        for watch in (early, late)
    )
    assert {posteriors.shape for posteriors in late.posteriors} == {(256, K)}
    for model, watch in ((stopped, early), (finished, late)):
        n_iter = sum(record.stage == "fit" for record in model.history_)
        assert len(watch.posteriors) == n_iter < model.n_iter_
    assert len(early.posteriors) == 2 < len(late.posteriors)
    assert not stopped.converged_
    np.testing.assert_array_equal(late.posteriors[1], early.posteriors[1])
    blocks = late.posteriors[1].reshape(4, 4, 4, 4, K)
    np.testing.assert_array_equal(blocks, np.broadcast_to(blocks[:, :1, :, :1], blocks.shape))


def test_estimators_find_the_segments_of_an_image():
    renamed = [[f"block {block}" for block in labels] for labels in COARSENING]
    for coarsening in (COARSENING, renamed):
        model = AsymmetricClustering(K, n_init=3, coarsening=coarsening, random_state=0).fit(X)
        assert adjusted_rand_score(SEGMENTS, model.labels_) > 0.95


def test_annealing_concerns_the_coarsest_groups():
    options = {"beta": BETA, "coarsening": COARSENING, "solver": 1.0, "random_state": 0}
    model = AsymmetricClustering(K, annealing=1.5, **options).fit(X)
    critical = RowClusters(K).critical_beta(scales(COUNTS, COARSENING)[0].X)
    betas = np.array([record.beta for record in model.history_])
    assert betas[0] == pytest.approx(critical)
    assert (np.diff(betas) >= 0).all()
    at_last = [record.free_energy for record in model.history_ if record.beta == BETA]
    assert at_last[-1] < at_last[0]
    best = AsymmetricClustering(K, n_init=4, **options).fit(X)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-3)
    assert model.splits_
    assert adjusted_rand_score(SEGMENTS, model.labels_) > 0.95


def test_early_stopping_returns_no_iteration_of_the_warm_up():
    X = make_cooccurrences(300, 200, n_components=10, random_state=0).X
    model = AspectModel(20, beta=0.3, early_stopping=True, random_state=0).fit(X)
    assert model.beta_ == 0.3  # even where it predicts worse
