"""Solvers: how one iteration of EM follows the other, plain or with longer steps."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Literal, NamedTuple, Self, cast

import numpy as np

from skcooc.em.stages import EMStage, Solver, State
from skcooc.loops.updates import longer_step
from skcooc.protocol import Array, Counts, Rows, Statistics
from skcooc.protocol.subnormals import flushed_subnormals

# Least share of the plain step in an expected count: a probability of zero could never come back.
FLOOR, MOMENTUM_FLOOR = 1e-3, 0.5

SolverName = float | Literal["em", "momentum"]


class Sweep(NamedTuple):
    """Result of an E-step, at the parameters that went into it."""

    rows: Rows
    stats: Statistics
    objective: float  # free energy less log prior, nats


def relocated(step: Sweep | None, to: Callable[[Rows], Rows]) -> Sweep | None:
    return None if step is None else step._replace(rows=to(step.rows))


class Accelerated:
    """Makes plain steps longer, and goes back where the objective rises.

    A subclass says how much longer in ``extrapolate``, and which step it takes back in
    ``rollback``.
    """

    pace: float

    def __init__(self) -> None:
        self._plain: Sweep | None = None  # the last plain sweep

    def relocated(self, move: Callable[[Rows], Rows]) -> Self:
        new = copy(self)
        new._plain = relocated(self._plain, move)
        return new

    def step(self, stage: EMStage, state: State) -> tuple[State, float]:

        @flushed_subnormals()
        def maximized(step: Sweep) -> State:
            return State(stage.model.maximize(step.stats, state.params, stage.beta), step.rows)

        step = self.sweep(stage, state)
        if (plain := self.rollback(step)) is not None:
            state = maximized(plain)
            step = self.sweep(stage, state)
        with flushed_subnormals():
            longer = self.extrapolate(step, stage.X)
        return maximized(longer), step.objective

    def sweep(self, stage: EMStage, state: State) -> Sweep:
        """Make the E-step through the counts; objective = free energy - log prior."""
        rows, stats = stage.X.expect(stage.model, *state, stage.beta)
        prior = stage.model.log_prior(state.params, stage.beta)
        return Sweep(rows, stats, float(stats.free_energy) - prior)

    def rollback(self, step: Sweep) -> Sweep | None:
        """Return the plain sweep to go back to if the objective rose; else None."""
        raise NotImplementedError

    def extrapolate(self, step: Sweep, X: Counts) -> Sweep:
        """Return the sweep on which the M-step works, in place of a plain one."""
        raise NotImplementedError


class OverRelaxation(Accelerated):
    """Over-relaxed EM: a longer M-step in its direction (Hofmann & Puzicha, 1998, eq. 63)."""

    def __init__(self, eta: float) -> None:
        super().__init__()
        self.eta = self.pace = eta  # with 1, the plain step, nothing is kept
        self._taken: Sweep | None = None  # what was made of the last plain sweep

    def relocated(self, move: Callable[[Rows], Rows]) -> Self:
        new = super().relocated(move)
        plain = self._taken is self._plain
        new._taken = new._plain if plain else relocated(self._taken, move)
        return new

    def rollback(self, step: Sweep) -> Sweep | None:
        plain = self._plain
        if plain is None or self._taken is plain or step.objective <= plain.objective:
            return None
        self._taken = plain
        return plain

    def extrapolate(self, step: Sweep, X: Counts) -> Sweep:
        if self.eta == 1.0:
            return step
        self._plain = step  # first, so that the plain sweep before it is free when memory is short
        previous = self._taken
        self._taken = step
        if previous is not None:
            self._taken = relax(previous, step, X, self.eta)
        return self._taken


class PlainEM(OverRelaxation):
    """Plain EM."""

    def __init__(self) -> None:
        super().__init__(1.0)


class Momentum(Accelerated):
    """Extrapolation of earlier steps.

    Restarts where the objective rises. Nesterov's method with the restarts of O'Donoghue and Candès
    (Adaptive restart for accelerated gradient schemes, Foundations of Computational Mathematics 15,
    2015), with EM's step in the expected counts for the gradient's: n steps after a restart it is
    1 + n / (n + 3) times as long, measured from the plain step before.
    """

    pace = 2.4

    def __init__(self) -> None:
        super().__init__()
        self._age = 0  # steps since the restart
        self._extrapolated = False

    def rollback(self, step: Sweep) -> Sweep | None:
        plain = self._plain
        if plain is None or not self._extrapolated or step.objective <= plain.objective:
            return None
        self._age = 0
        self._extrapolated = False
        return plain

    def extrapolate(self, step: Sweep, X: Counts) -> Sweep:
        previous = self._plain
        self._plain = step
        weight = self._age / (self._age + 3)  # share of the last change that is added
        self._age += 1
        self._extrapolated = previous is not None and weight > 0
        if previous is None or not self._extrapolated:
            return step
        return relax(previous, step, X, 1 + weight, MOMENTUM_FLOOR)


# A number is the eta of over-relaxed EM.
SOLVERS: dict[str, Callable[[], Solver]] = {"em": PlainEM, "momentum": Momentum}


def make_solver(solver: SolverName) -> Solver:
    """Return a solver by its name; a number is the step size of over-relaxed EM."""
    return SOLVERS.get(str(solver), partial(OverRelaxation, cast(float, solver)))()


def relax(previous: Sweep, step: Sweep, X: Counts, eta: float, floor: float = FLOOR) -> Sweep:
    """Return (1 - eta) previous + eta step, in statistics and row states.

    In the expected counts, which the M-step only normalises, the parameters stay admissible. Sums
    of row states stay those of the plain step. ``previous`` led to the parameters of ``step``,
    itself relaxed, or is the plain step before.
    """
    fill = partial(longer_step, eta=eta, floor=floor)

    def longer(old: Array, new: Array) -> Array:
        if np.ndim(new) == 0:  # the free energy
            return new
        out = np.empty(new.shape, new.dtype)
        fill(old.reshape(1, -1), new.reshape(1, -1), out.reshape(1, -1), keep_sums=False)
        return out

    stats = type(step.stats)(*map(longer, previous.stats, step.stats))
    rows = X.map_row_ranges(partial(fill, keep_sums=True), previous.rows, step.rows)
    return step._replace(stats=stats, rows=rows)
