"""The driver on a toy model whose every step is known, so that it is seen to know no model."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from skcooc.counts import CSRCounts
from skcooc.em import EMStage, OverRelaxation, State, fit
from skcooc.equations.aspects import Aspects
from skcooc.heldout.validation import hold_out
from tests.em.here import HERE
from tests.tables import planted, random_table


class Point(NamedTuple):
    x: float
    weights: np.ndarray


class Distance(NamedTuple):
    x: np.ndarray
    free_energy: float


@dataclass(frozen=True)
class Halving:
    """Each step halves the distance of x to 1 / beta."""

    patience = 1

    def start(self, X, rng):
        return Point(0.0, np.ones(1)), np.ones((1, 1))

    def expect(self, X, params, rows, beta):
        goal = 1 / beta
        return rows, Distance(np.array([(params.x + goal) / 2]), 1 + (params.x - goal) ** 2)

    def maximize(self, stats, params, beta):
        return params._replace(x=float(stats.x[0]))

    def log_prior(self, params, beta):
        return 0.0

    def factors(self, params, rows):
        return rows, np.ones((1, 1))


PLAIN = OverRelaxation(1.0)


def halved(*stages, tol=0.0, **options):
    """Legs at these temperatures, each with so many iterations at most."""
    stages = [EMStage(Halving(), HERE, beta, n_iter, tol) for beta, n_iter in stages]
    return fit(stages, np.random.default_rng(0), PLAIN, **options)


def test_steps_follow_the_legs():
    result = halved((1.0, 2), (0.5, 3))
    assert [record.beta for record in result.history] == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert result.params.x == pytest.approx(2 - (2 - 0.75) / 8)
    assert not result.converged
    start = State(Point(0.5, np.ones(1)), np.ones((1, 1)))  # in place of the model's own
    assert halved((1.0, 1), start=start).params.x == 0.75


def test_stops_at_the_tolerance():
    result = halved((1.0, 100), tol=1e-3)
    energies = [record.free_energy for record in result.history]
    falls = -np.diff(energies)
    assert result.converged
    assert falls[-1] <= 1e-3 * energies[-1]
    assert (falls[:-1] > 1e-3 * np.array(energies[1:-1])).all()
    assert result.objective == energies[-1]


def test_every_leg_runs_to_its_own_convergence():
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


def test_burn_in_takes_its_steps_from_the_leg():
    for n_iter, steps in ((100, [(1.0, 8), (0.8, 92)]), (5, [(1.0, 4), (0.8, 1)])):
        parts = EMStage(Halving(), HERE, 0.8, n_iter, 0.0).with_warmup()
        assert [(part.beta, part.max_iter) for part in parts] == steps
    hot = EMStage(Halving(), HERE, 1.0, 9, 0.0)
    assert hot.with_warmup() == [hot]


def aspects_fit(X, solver=1.0, heldout=None, max_iter=60, tol=0.0, beta=0.9):
    stage = EMStage(Aspects(4), CSRCounts(X), beta, max_iter, tol, heldout)
    return fit(stage.with_warmup(), np.random.default_rng(0), OverRelaxation(solver))


@pytest.mark.parametrize("solver", [1.0, 1.5, 1.9])
def test_free_energy_never_rises_at_one_temperature(solver):
    records = aspects_fit(planted().X.astype(float), solver).history
    energies = np.array([record.free_energy for record in records if record.beta == 0.9])
    assert (np.diff(energies) <= 1e-9 * abs(energies[0])).all()


def test_over_relaxation_reaches_the_same_energy_in_fewer_steps():
    X = planted(n_observations=3000).X.astype(float)
    burnt = aspects_fit(X, max_iter=20)
    start = State(burnt.params, burnt.rows)

    def energies(solver):
        stage = EMStage(Aspects(4), CSRCounts(X), 0.9, 40, 0.0)
        history = fit([stage], None, OverRelaxation(solver), start=start).history
        return [record.free_energy for record in history]

    goal = energies(1.0)[-1]
    assert sum(energy > goal for energy in energies(1.8)) < 30


def test_a_relaxed_step_that_rises_is_undone():
    class Cliff(Halving):
        """Beyond x = 1.2 the free energy jumps; a step of 3 goes there, the plain step never."""

        def expect(self, X, params, rows, beta):
            rows, stats = super().expect(X, params, rows, beta)
            return rows, stats._replace(free_energy=stats.free_energy + 100 * (params.x > 1.2))

    result = fit([EMStage(Cliff(), HERE, 1.0, 12, 0.0)], None, OverRelaxation(3.0))
    assert max(record.free_energy for record in result.history) < 100


def test_validated_runs_return_their_best_parameters_and_others_record_nan():
    X = CSRCounts(planted(n_observations=1500).X.astype(float))
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


class Model(NamedTuple):
    """What says when it has converged."""

    patience: int


@pytest.mark.parametrize(
    ("patience", "values"),
    [(1, (9, 5, 5.5)), (2, (9, 5, 5.5, 4, 4.5, 4)), (1, (9, 5, 4, 4)), (1, (np.inf, 5, 4, 4))],
)
def test_a_rise_is_no_end_where_a_model_is_patient(patience, values):
    stage = EMStage(Model(patience), None, 1.0, 50, 1e-6)
    run = fit([stage], np.random.default_rng(0), Scripted(iter(values)), start=State(None, None))
    assert run.converged
    assert [record.free_energy for record in run.history] == list(values)
