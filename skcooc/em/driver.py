"""Expectation maximisation for any model: it knows the E-step and the M-step, nothing else."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from skcooc.em.heldout import HeldOut, Validation
from skcooc.em.momentum import Momentum
from skcooc.em.relaxation import OverRelaxation
from skcooc.em.schedules import Schedule, Stage
from skcooc.em.sweep import Map, Sweep, sweep
from skcooc.protocol import Counts, Model, Rows


class Record(NamedTuple):
    """What is kept of one iteration."""

    beta: float
    free_energy: float  # nats, less the log prior; at the E-step
    validation_perplexity: float  # after the M-step; NaN where nothing is held out
    seconds: float


class State(NamedTuple):
    """Parameters, and the state of the rows of every block."""

    params: Any
    rows: list[Rows]


class Split(NamedTuple):
    """A phase transition of an annealed run: one cluster becomes several."""

    beta: float  # inverse temperature at which they were found apart
    parts: tuple[tuple[int, ...], ...]  # the components of each part; together those of the whole


class Fit(NamedTuple):
    """The outcome of a run of EM."""

    params: Any
    rows: list[Rows]
    objective: float  # nats, at the last E-step
    history: list[Record]
    converged: bool
    validation: Validation | None  # of the parameters returned; None where nothing is held out
    stopped: bool = False  # by the observer
    splits: list[Split] | None = None  # of an annealed run


Relaxation = float | Literal["momentum"]
Observe = Callable[[Record, Any, Sequence[Rows]], bool]


def ignore(record: Record, params: Any, rows: Sequence[Rows]) -> bool:
    """Observe nothing, never stop."""
    return False


class Watch:
    """An observer that remembers whether it has stopped the run."""

    def __init__(self, observe: Observe) -> None:
        self.observe, self.stopped = observe, False

    def __call__(self, record: Record, params: Any, rows: Sequence[Rows]) -> bool:
        """Pass the call on."""
        self.stopped = bool(self.observe(record, params, rows))
        return self.stopped


def accelerator(relaxation: Relaxation) -> OverRelaxation | Momentum:
    """What makes plain steps longer, at the beginning of a stage."""
    return Momentum() if relaxation == "momentum" else OverRelaxation(relaxation)


@dataclass(frozen=True)
class EM:
    """Settings of a run.

    Parameters
    ----------
    schedule : sequence of Stage
        Inverse temperatures, each kept until convergence or for a number of iterations.
    tol : float
        A stage has converged where the objective falls by no more than this share of its size.
    relaxation : float or "momentum", default=1.0
        eta of the over-relaxed M-step (memo, eq. 63); 1 is plain EM. "momentum" makes longer steps
        the longer all goes well. Where the objective rises after a longer step, the step is undone
        and the plain one taken instead.
    heldout : HeldOut or None, default=None
        Observations on which every iteration is validated. The parameters with the least held-out
        perplexity are returned.
    patience : int, default=10
        Iterations without a better held-out perplexity after which a validated run stops.
    """

    schedule: Schedule
    tol: float
    relaxation: Relaxation = 1.0
    heldout: HeldOut | None = None
    patience: int = 10

    def begin(self, model: Model, blocks: Sequence[Counts], rng: np.random.Generator) -> State:
        """Where ``fit`` begins, unless it is told."""
        return State(*model.start(blocks, rng))

    def fit(
        self,
        model: Model,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe = ignore,
        map: Map = serial_map,
        start: State | None = None,
    ) -> Fit:
        """Alternate E- and M-steps.

        Parameters
        ----------
        model : Model
        blocks : sequence of Counts
        rng : numpy Generator
            Used by ``model.start`` alone.
        observe : callable, default=ignore
            Called with a Record, parameters and row states after every iteration; True stops.
        map : callable, default=the built-in map
            Runs the E-step over the blocks.
        start : State or None, default=None
            Where to begin instead of ``begin(model, blocks, rng)``.

        Returns
        -------
        fit : Fit
        """
        run = _Run(self, model, blocks, observe, map, start or self.begin(model, blocks, rng))
        outcomes = [run.stage(stage) for stage in self.schedule if not run.stopped]
        return run.result(converged=outcomes[-1] and not run.stopped)


class _Run:
    """The moving parts of one call of EM.fit."""

    def __init__(
        self,
        em: EM,
        model: Model,
        blocks: Sequence[Counts],
        observe: Observe,
        map: Map,
        start: State,
    ) -> None:
        self.em, self.model, self.blocks, self.observe, self.map = em, model, blocks, observe, map
        self.state = start
        self.best: State | None = None  # kept only where something is held out
        self.validation: Validation | None = None
        self.history: list[Record] = []
        self.since_best = 0
        self.stopped = False

    def stage(self, stage: Stage) -> bool:
        """Iterate at one temperature; return whether it converged."""
        relaxation, before = accelerator(self.em.relaxation), np.inf
        for _ in range(stage.max_iter):
            began = perf_counter()
            step = self._sweep(stage.beta)
            if (plain := relaxation.undo(step)) is not None:
                self._advance(plain, stage.beta)
                step = self._sweep(stage.beta)
            self._advance(relaxation.take(step), stage.beta)
            self._record(stage.beta, step.objective, began)
            if self.stopped or self._settled(before, step.objective):
                return True
            before = step.objective
            del step, plain  # memory is shortest in the E-step
        return False

    def result(self, converged: bool) -> Fit:
        """The last state, or the best one where observations are held out."""
        params, rows = self.best or self.state
        objective = self.history[-1].free_energy
        return Fit(params, rows, objective, self.history, converged, self.validation, self.stopped)

    def _sweep(self, beta: float) -> Sweep:
        return sweep(self.model, self.blocks, *self.state, beta, self.map)

    def _advance(self, step: Sweep, beta: float) -> None:
        params = self.model.maximize(step.stats, self.state.params, beta)
        self.state = State(params, step.rows)

    def _record(self, beta: float, objective: float, began: float) -> None:
        record = Record(beta, objective, self._validate(), perf_counter() - began)
        self.history.append(record)
        self.stopped |= bool(self.observe(record, *self.state))

    def _validate(self) -> float:
        if self.em.heldout is None:
            return float("nan")
        validation = self.em.heldout(self.model, *self.state)
        self.since_best += 1
        if self.validation is None or validation.perplexity < self.validation.perplexity:
            self.validation, self.best, self.since_best = validation, self.state, 0
        return validation.perplexity

    def _settled(self, before: float, now: float) -> bool:
        if self.em.heldout is not None and self.since_best >= self.em.patience:
            return True
        return before - now <= self.em.tol * abs(now)
