"""The driver on a toy model whose every step is known, so that it is seen to know no model."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from skcooc.counts import CSRCounts
from skcooc.counts.here import Here
from skcooc.em import EM, HeldOut, State
from skcooc.em.schedules import Stage, burn_in, constant
from skcooc.em.sweep import sweep
from skcooc.equations.aspects import Aspects
from skcooc.metrics import unigram
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

    def start(self, blocks, rng):
        return Point(0.0, np.ones(1)), [np.ones((1, 1)) for _ in blocks]

    def expect(self, X, params, rows, beta):
        goal = 1 / beta
        return rows, Distance(np.array([(params.x + goal) / 2]), 1 + (params.x - goal) ** 2)

    def maximize(self, stats, params, beta):
        return params._replace(x=float(stats.x[0]))

    def log_prior(self, params, beta):
        return 0.0

    def factors(self, params, rows):
        return rows, np.ones((1, 1))


def fit(schedule, tol=0.0, **options):
    return EM(schedule, tol, **options).fit(Halving(), [Here()], np.random.default_rng(0))


def test_steps_follow_the_schedule():
    result = fit((Stage(1.0, 2), Stage(0.5, 3)))
    assert [record.beta for record in result.history] == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert result.params.x == pytest.approx(2 - (2 - 0.75) / 8)
    assert not result.converged


def test_stops_at_the_tolerance():
    result = fit(constant(1.0, 100), tol=1e-3)
    energies = [record.free_energy for record in result.history]
    falls = -np.diff(energies)
    assert result.converged
    assert falls[-1] <= 1e-3 * energies[-1]
    assert (falls[:-1] > 1e-3 * np.array(energies[1:-1])).all()
    assert result.objective == energies[-1]


def test_every_stage_of_an_annealing_runs_to_its_own_convergence():
    result = fit(tuple(Stage(beta, 50) for beta in (0.25, 0.5, 1.0)), tol=1e-4)
    betas = [record.beta for record in result.history]
    assert sorted(set(betas)) == [0.25, 0.5, 1.0]
    assert len(betas) < 150
    assert result.params.x == pytest.approx(1.0, abs=0.05)


def test_observers_see_every_iteration_and_can_stop():
    seen = []

    def observe(record, params, rows, run):
        seen.append(params.x)
        return len(seen) == 3

    result = EM(constant(1.0, 10), 0.0).fit(Halving(), [Here()], np.random.default_rng(0), observe)
    assert seen == [0.5, 0.75, 0.875]
    assert len(result.history) == 3
    assert not result.converged


def test_start_replaces_the_models_own():
    start = State(Point(0.5, np.ones(1)), [np.ones((1, 1))])
    em = EM(constant(1.0, 1), 0.0)
    assert em.fit(Halving(), [Here()], np.random.default_rng(0), start=start).params.x == 0.75


def aspects_fit(X, relaxation=1.0, heldout=None, max_iter=60, tol=0.0, beta=0.9):
    em = EM(burn_in(beta, max_iter), tol, relaxation, heldout)
    return em.fit(Aspects(4), [CSRCounts(X)], np.random.default_rng(0))


def test_statistics_add_up_over_blocks():
    X = planted().X.astype(float)
    model, whole = Aspects(3), CSRCounts(X)
    params, rows = model.start([whole], np.random.default_rng(0))
    parts = [CSRCounts(X[:30]), CSRCounts(X[30:])]
    one = sweep(model, [whole], params, rows, 0.8, map)
    two = sweep(model, parts, params, [rows[0][:30], rows[0][30:]], 0.8, map)
    np.testing.assert_allclose(one.stats.components, two.stats.components)
    assert one.objective == pytest.approx(two.objective)
    np.testing.assert_allclose(one.rows[0], np.vstack(two.rows))


@pytest.mark.parametrize("relaxation", [1.0, 1.5, 1.9])
def test_free_energy_never_rises_at_one_temperature(relaxation):
    records = aspects_fit(planted().X.astype(float), relaxation).history
    energies = np.array([record.free_energy for record in records if record.beta == 0.9])
    assert (np.diff(energies) <= 1e-9 * abs(energies[0])).all()


def test_over_relaxation_reaches_the_same_energy_in_fewer_steps():
    X = planted(n_observations=3000).X.astype(float)
    burnt = aspects_fit(X, max_iter=20)
    start = State(burnt.params, burnt.rows)

    def energies(relaxation):
        em = EM(constant(0.9, 40), 0.0, relaxation)
        history = em.fit(Aspects(4), [CSRCounts(X)], None, start=start).history
        return [record.free_energy for record in history]

    goal = energies(1.0)[-1]
    assert sum(energy > goal for energy in energies(1.8)) < 30


def test_a_relaxed_step_that_rises_is_undone():
    class Cliff(Halving):
        """Beyond x = 1.2 the free energy jumps; a step of 3 goes there, the plain step never."""

        def expect(self, X, params, rows, beta):
            rows, stats = super().expect(X, params, rows, beta)
            return rows, stats._replace(free_energy=stats.free_energy + 100 * (params.x > 1.2))

    em = EM(constant(1.0, 12), 0.0, relaxation=3.0)
    result = em.fit(Cliff(), [Here()], np.random.default_rng(0))
    assert max(record.free_energy for record in result.history) < 100


def heldout_of(X):
    from skcooc.counts import thin

    rest, drawn = thin(X, 0.2, seed=0)
    return rest, HeldOut([CSRCounts(drawn)], unigram(rest))


def test_validated_runs_return_their_best_parameters():
    rest, heldout = heldout_of(planted(n_observations=1500).X.astype(float))
    result = aspects_fit(rest, heldout=heldout, max_iter=200, beta=1.0)
    perplexities = [record.validation_perplexity for record in result.history]
    assert min(perplexities) < perplexities[-1]
    assert len(perplexities) < 200
    assert result.validation.perplexity == min(perplexities)
    again = heldout(Aspects(4), result.params, result.rows)
    assert again.perplexity == result.validation.perplexity


def test_nothing_held_out_is_recorded_as_nan():
    assert np.isnan(aspects_fit(random_table(), max_iter=3).history[0].validation_perplexity)
