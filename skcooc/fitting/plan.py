"""The parameters of an estimator that concern fitting, in one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from skcooc.em import EM, HeldOut, TemperatureRange
from skcooc.em.legs import Observe, Relaxation
from skcooc.em.multiscale import Level, Multiscale
from skcooc.em.schedules import MakeSchedule, Schedule, constant
from skcooc.em.splitting import Annealing, Grown
from skcooc.em.staged import Staged
from skcooc.em.temperature import PROBE_ITERATIONS
from skcooc.protocol import Array, Counts, Model

LONG_STEP = 2.4  # of eta, steps with momentum on average

Grow = Callable[[EM, Counts, np.random.Generator, HeldOut | None, Observe], Grown]


class Priors(NamedTuple):
    """The pseudo-counts among which the best for the held-out observations is looked for."""

    within: TemperatureRange
    model: Callable[[float], Model]  # that with a pseudo-count


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator that concern fitting, checked; see CooccurrenceEstimator."""

    beta: float | TemperatureRange  # a number, or where to look for it
    max_iter: int
    tol: float
    relaxation: Relaxation
    smoothing: float | Literal["auto"]
    validation_fraction: float
    early_stopping: bool
    n_threads: int
    seeds: tuple[int, ...]  # one for each restart
    schedule: MakeSchedule
    coarsening: Sequence[Array] | None = None  # groups of rows, finest grouping first
    costly_start: bool = False  # whether a start is a fit of its own
    staged: bool = False  # whether the model has stages
    cooling: Callable[[Counts, float], Sequence[float]] | None = None  # the path to a temperature
    priors: Priors | None = None  # where the prior of the model is searched
    grow: Grow | None = None  # what makes the model of the observations fitted

    @property
    def holds_out(self) -> bool:
        """Whether a part of the observations is held out."""
        return self.searches or self.early_stopping

    @property
    def searches(self) -> bool:
        """Whether the temperature is chosen on observations held out."""
        return isinstance(self.beta, TemperatureRange)

    @property
    def probe_iterations(self) -> int:
        """Length of a short fit: over-relaxed steps are about eta times as long as plain ones."""
        eta = LONG_STEP if self.relaxation == "momentum" else self.relaxation
        return min(round(PROBE_ITERATIONS / eta), self.max_iter)

    @property
    def n_steps(self) -> int | None:
        """Largest number of iterations of a run; None where it has several parts."""
        several = self.staged or self.coarsening is not None or self.cooling is not None
        return None if several else self.max_iter

    def em(self, schedule: Schedule, heldout: HeldOut | None = None) -> EM:
        """The EM driver with these settings."""
        return EM(schedule, self.tol, self.relaxation, heldout)

    def probe(self, schedule: Schedule, levels: Sequence[Level]) -> EM | Multiscale | Staged:
        """What tries a temperature."""
        em = self.em(schedule)
        if self.staged:
            return Staged(em)
        return Multiscale(em, levels) if levels else em

    def resumed(self, model: Any, beta: float, heldout: HeldOut | None) -> EM:
        """What goes on from a fit, in the last stage where the model has stages."""
        limit = model.stages[-1][1] if self.staged else None
        n_iter = self.max_iter if limit is None else min(limit, self.max_iter)
        return self.em(constant(beta, n_iter), heldout)

    def optimiser(
        self, X: Counts, beta: float, levels: Sequence[Level], heldout: HeldOut | None
    ) -> EM | Multiscale | Annealing | Staged:
        """What fits the model at the temperature chosen."""
        em = self.em(self.schedule(beta, self.max_iter), heldout)
        if self.staged:
            return Staged(em)
        if self.cooling is None:
            return Multiscale(em, levels) if levels else em
        if not levels:
            return Annealing(em, self.cooling(X, beta))
        path = self.cooling(levels[-1].X, beta)
        return Multiscale(em, levels, first=Annealing(replace(em, heldout=None), path))
