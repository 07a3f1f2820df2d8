"""Expectation maximisation for any model: it knows the E-step and the M-step, nothing else."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from skcooc.em.momentum import Momentum
from skcooc.em.schedules import Schedule
from skcooc.em.solvers import OverRelaxation
from skcooc.em.sweep import Map, Sweep, sweep
from skcooc.heldout.validation import HeldOut, Validation
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
    stats: Any = None  # at the parameters returned; None where nobody asked


Relaxation = float | Literal["momentum"]


def accelerator(relaxation: Relaxation) -> OverRelaxation | Momentum:
    """What makes plain steps longer, at the beginning of a stage."""
    return Momentum() if relaxation == "momentum" else OverRelaxation(relaxation)


@dataclass
class Run:
    """A run of EM between two iterations: all that it needs to go on."""

    state: State
    accelerator: OverRelaxation | Momentum
    stage: int = 0  # number in the schedule
    n_iter: int = 0  # iterations of this stage
    objective: float = np.inf  # nats, at the last of them
    settled: bool = False  # whether it has converged
    best: State | None = None  # kept only where something is held out
    validation: Validation | None = None  # of the best
    since_best: int = 0  # iterations
    history: list[Record] = field(default_factory=list)

    def copy(self) -> Run:
        """The same, which stays as it is when this one goes on."""
        return replace(self, accelerator=copy(self.accelerator), history=list(self.history))


class Place(NamedTuple):
    """Where an optimiser is that runs others in turn: all that it needs to go on."""

    number: int  # of the run under way
    state: State  # in which that begins
    history: list[Record]  # of those before
    splits: list[Split] | None = None
    run: Any = None  # the Run or Place of that under way; None before its first iteration

    def after(self, fit: Fit) -> Place:
        """Where the next run begins."""
        state = State(fit.params, fit.rows)
        return Place(self.number + 1, state, self.history + fit.history, self.splits)


# A Record, parameters, states of the rows, and the Run or Place from which ``fit`` can go on.
Observe = Callable[[Record, Any, Sequence[Rows], Any], bool]


def ignore(record: Record, params: Any, rows: Sequence[Rows], run: Any) -> bool:
    """Observe nothing, never stop."""
    return False


class Watch:
    """An observer that remembers whether it has stopped the run."""

    def __init__(self, observe: Observe) -> None:
        self.observe, self.stopped = observe, False

    def __call__(self, record: Record, params: Any, rows: Sequence[Rows], run: Any) -> bool:
        """Pass the call on."""
        self.stopped = bool(self.observe(record, params, rows, run))
        return self.stopped

    def at(self, place: Place) -> Observe:
        """What observes the run that is under way at a place."""

        def within(record: Record, params: Any, rows: Sequence[Rows], run: Any) -> bool:
            return self(record, params, rows, place._replace(run=run))

        return within


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
        resume: Run | None = None,
    ) -> Fit:
        """Alternate E- and M-steps.

        Parameters
        ----------
        model : Model
        blocks : sequence of Counts
        rng : numpy Generator
            Used by ``model.start`` alone.
        observe : callable, default=ignore
            Called after every iteration: Record, parameters, row states, Run; True stops.
        map : callable, default=the built-in map
            Runs the E-step over the blocks.
        start : State or None, default=None
            Where to begin instead of ``begin(model, blocks, rng)``.
        resume : Run or None, default=None
            What was observed of a run that was cut short. It goes on as if nothing had happened.

        Returns
        -------
        fit : Fit
        """
        run, stopped = resume and resume.copy(), False
        if run is None:
            run = Run(start or self.begin(model, blocks, rng), accelerator(self.relaxation))
        while not stopped:
            if run.settled or run.n_iter >= self.schedule[run.stage].max_iter:
                if run.stage + 1 == len(self.schedule):
                    break
                run.stage, run.n_iter, run.objective, run.settled = run.stage + 1, 0, np.inf, False
                run.accelerator = accelerator(self.relaxation)
            self._iterate(run, model, blocks, map)
            stopped = bool(observe(run.history[-1], *run.state, run.copy()))
        params, rows = run.best or run.state
        objective, converged = run.history[-1].free_energy, run.settled and not stopped
        return Fit(params, rows, objective, run.history, converged, run.validation, stopped)

    def _iterate(self, run: Run, model: Model, blocks: Sequence[Counts], map: Map) -> None:
        """Go on by one iteration."""
        began, beta = perf_counter(), self.schedule[run.stage].beta
        objective = self._step(run, model, blocks, map, beta)
        record = Record(beta, objective, self._validate(run, model), perf_counter() - began)
        fallen = run.objective - objective
        impatient = self.heldout is not None and run.since_best >= self.patience
        run.settled = impatient or fallen <= self.tol * abs(objective)
        run.objective, run.n_iter = objective, run.n_iter + 1
        run.history.append(record)

    def _step(
        self, run: Run, model: Model, blocks: Sequence[Counts], map: Map, beta: float
    ) -> float:
        """An E-step and an M-step; the objective at the E-step."""

        def advance(step: Sweep) -> None:
            params = model.maximize(step.stats, run.state.params, beta)
            run.state = State(params, step.rows)

        step = sweep(model, blocks, *run.state, beta, map)
        if (plain := run.accelerator.undo(step)) is not None:
            advance(plain)
            step = sweep(model, blocks, *run.state, beta, map)
        advance(run.accelerator.take(step, blocks))
        return step.objective

    def _validate(self, run: Run, model: Model) -> float:
        """Held-out perplexity of the state; the best is kept."""
        if self.heldout is None:
            return float("nan")
        validation = self.heldout(model, *run.state)
        run.since_best += 1
        if run.validation is None or validation.perplexity < run.validation.perplexity:
            run.validation, run.best, run.since_best = validation, run.state, 0
        return validation.perplexity
