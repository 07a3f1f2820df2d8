"""A temperature that falls while EM goes on, on a toy model whose every step is known."""

from dataclasses import dataclass

import numpy as np
import pytest

from skcooc.em import DecreasingBeta, EMStage, OverRelaxation, fit, split_start_schedule
from skcooc.em.annealing import annealing_schedule, decreasing_beta, path
from skcooc.em.stages import WARMUP_ITERATIONS
from skcooc.heldout import Validation
from tests.em.here import HERE
from tests.em.test_legs import Halving

BETAS = path(1.0, 0.25, 0.8)


def fallen(beta=0.25, n_iter=30, kind=DecreasingBeta, **options):
    stage = EMStage(Halving(), HERE, beta, n_iter, options.pop("tol", 1e-9), **options)
    return fit([kind(stage, path(1.0, beta, 0.8))], np.random.default_rng(0), OverRelaxation(1.0))


def betas_of(found):
    """The temperatures in their order, and the validations at each."""
    betas = np.array([record.beta for record in found.history])
    starts = np.flatnonzero(np.diff(betas, prepend=np.nan))
    scores = np.array([record.validation_perplexity for record in found.history])
    return betas[starts].tolist(), np.split(scores, starts[1:])


def near(goal):
    """Held-out observations that are predicted best where x is this."""
    return lambda model, params, rows: Validation(1 + abs(params.x - goal), 0.0)


def test_it_goes_on_and_ends_where_it_converges_at_the_temperature():
    found = fallen()
    betas, scores = betas_of(found)
    assert betas == pytest.approx(BETAS)
    assert [len(stage) for stage in scores[:-1]] == [WARMUP_ITERATIONS] * (len(BETAS) - 1)
    assert WARMUP_ITERATIONS < len(scores[-1]) < 30
    assert found.params.x == pytest.approx(1 / 0.25, rel=1e-3)
    assert found.beta == 0.25
    assert found.converged
    energies = [record.free_energy for record in found.history]
    later = [record.beta < 1 for record in found.history]
    assert max(np.array(energies)[later]) < 1.6  # nearer to the goal than the start is


@dataclass(frozen=True)
class Anew(DecreasingBeta):
    """A broken twin, which begins every temperature at the start."""

    def enter(self, run, rng):
        run.state = self.begin(rng)


def test_a_twin_that_begins_anew_is_found():
    energies = [record.free_energy for record in fallen(kind=Anew).history[-30:]]
    assert max(energies) > 10


def check_tempered(found):
    """Hofmann's rule, from the records alone."""
    betas, scores = betas_of(found)
    best = [stage.min() for stage in scores]
    assert betas == pytest.approx(BETAS[: len(betas)])
    assert (np.diff(best[:-1]) < 0).all()
    assert best[-1] >= best[-2]
    assert found.beta == betas[-2]
    assert found.validation.perplexity == pytest.approx(best[-2])


def test_it_ends_where_what_is_held_out_is_no_longer_predicted_better():
    found = fallen(heldout=near(1.8), patience=4)
    check_tempered(found)
    assert found.params.x == pytest.approx(1.8, abs=0.12)  # the nearest on the way
    last = [record for record in found.history if record.beta == found.history[-1].beta]
    assert last[0].free_energy == pytest.approx(1 + (found.params.x - 1 / last[0].beta) ** 2)


@dataclass(frozen=True)
class Stubborn(DecreasingBeta):
    """A broken twin, which falls to the end, whatever is held out."""

    def leave(self, run):
        run.best = None
        super().leave(run)


def test_a_twin_that_falls_in_any_case_is_found():
    with pytest.raises(AssertionError):
        check_tempered(fallen(heldout=near(1.8), patience=4, kind=Stubborn))


def test_a_fall_that_has_no_way_to_go_is_one_temperature():
    assert betas_of(fallen(beta=1.0))[0] == [1.0]
    stage = EMStage(Halving(), HERE, 3.0, 5, 0.0)
    assert decreasing_beta(0.8)(stage)[0].betas == [3.0]  # the exponent of a divergence


def test_the_factor_says_which_way():
    stage, critical = EMStage(Halving(), HERE, 0.5, 5, 0.0), lambda X: 0.25
    assert annealing_schedule(None, critical) is None
    assert [type(part).__name__ for part in annealing_schedule(2.0, critical)(stage)] == [
        "SplitClusters",
        "EMStage",
    ]
    assert annealing_schedule(2.0, critical)(stage)[0].betas == [0.25, 0.5]
    assert annealing_schedule(0.5, critical)(stage)[0].betas == [1.0, 0.5]
    assert split_start_schedule(1.5) == (1.5, None)
    assert split_start_schedule(None) == (None, None)
    assert split_start_schedule(0.5)[1](stage)[0].betas == [1.0, 0.5]
