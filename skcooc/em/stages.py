"""EM in stages: each begins where the one before has ended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np

from skcooc.heldout import HeldOut, Validation
from skcooc.protocol import Array, Capability, Counts, Model, Params, Rows, Statistics


class Record(NamedTuple):
    """Record of one iteration."""

    beta: float
    free_energy: float  # nats, less the log prior; at the E-step
    validation_perplexity: float  # after the M-step; NaN where nothing is held out
    seconds: float
    stage: str = "fit"  # or "start": of a fit of another model, from which this one starts


class State(NamedTuple):
    """Parameters and row states."""

    params: Params
    rows: Rows


class Split(NamedTuple):
    """Phase transition of an annealed run: one cluster becomes several."""

    beta: float  # inverse temperature at which the clusters were found separated
    parts: tuple[tuple[int, ...], ...]  # the components of each part


class EMResult(NamedTuple):
    """Result of EM after all stages."""

    params: Params
    rows: Rows
    beta: float  # inverse temperature of the parameters
    objective: float  # nats, at the last E-step
    history: list[Record]
    converged: bool
    validation: Validation | None  # of the parameters; None where nothing is held out
    stopped: bool = False  # by the observer
    splits: list[Split] | None = None  # of an annealed run
    stats: Statistics = None  # at the parameters, set by fitting.fit
    end: EMState | None = None  # state for a warm start, set by fitting.fit where possible
    X: Counts | None = None  # table of the last stage

    @property
    def state(self) -> State:
        return State(self.params, self.rows)


class Runner(Protocol):
    """Runs EM for the start of a fit, within the limits of this fit and seen by its callbacks."""

    max_iter: int  # of a run, at most
    tol: float  # of a run, at least

    @property
    def stopped(self) -> bool:
        """True if a callback has stopped the fit: further runs return where they start."""

    def run(
        self, parts: Sequence[StageSchedule], rng: np.random.Generator, solver: Solver, start: State
    ) -> EMResult:
        """Run EM, as `fit` does."""


@dataclass
class PlainRunner:
    """Runs EM without callbacks."""

    max_iter: int = sys.maxsize
    tol: float = 0.0
    stopped: bool = False

    def run(
        self, parts: Sequence[StageSchedule], rng: np.random.Generator, solver: Solver, start: State
    ) -> EMResult:
        return fit(parts, rng, solver, start)


# Makes the state in which a fit of a model to a table begins.
Start = Callable[[Any, Counts, np.random.Generator, Runner], State]


def equations_start(model: Model, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return the start of the equations themselves."""
    return State(*model.start(X, rng))


class StageSchedule:
    """Stages of EM that follow each other; a subclass writes only what differs from a single one.

    The methods change the run that they are given, between its iterations.
    """

    stage: EMStage  # the single stage, or a pattern of all

    def current_stage(self, run: EMState) -> EMStage:
        return self.stage

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        """Prepare the run for the first iteration of a stage."""

    def leave(self, run: EMState) -> None:
        """Go on to the next schedule after the last iteration of a stage."""
        run.part += 1
        run.number = 0

    def finish(self, run: EMState) -> None:
        """Tidy up after the observer has stopped the fit."""

    def expand_rows(self, state: State) -> State:
        """Return the state with a row for each row of the finest table."""
        groups = self.stage.groups
        return state if groups is None else state._replace(rows=state.rows[groups])


@dataclass(frozen=True)
class EMStage(StageSchedule):
    """EM with one model on one table at one inverse temperature, until it converges."""

    model: Model
    X: Counts  # (n, M)
    beta: float
    max_iter: int
    tol: float  # relative fall of the objective, up to which EM has converged
    heldout: HeldOut | None = None  # validates every iteration; the best parameters are returned
    patience: int = 10  # iterations without a better validation perplexity
    stop_is_convergence: bool = False  # whether EM counts as converged after max_iter
    members: Array | None = None  # (n,): row of the stage before, for each row; None: the same
    groups: Array | None = None  # (N,): row of this stage, for each finest row; None: the same
    offset: float = 0.0  # nats, added to the objective, so that stages compare
    start: Start = equations_start

    @property
    def stage(self) -> EMStage:  # type: ignore[override]  # a schedule of one stage
        return self

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        if self.members is not None:
            run.state = run.state._replace(rows=run.state.rows[self.members])


class Variation:
    """A change of the stages of a fit, such as annealing; estimators list those that they want."""

    needs: ClassVar[Mapping[Capability, str]] = {}  # of a table, and the parameter that asks
    only_from_start: ClassVar[bool] = False  # whether a fit that continues another one omits it
    adds_iterations: ClassVar[bool] = True  # to the largest number
    improves: ClassVar[bool] = False  # whether further runs begin at the best result so far

    def checked(self, X: Counts) -> Variation:
        """Return the variation for a table; ValueError where it does not suit."""
        return self

    def in_short_fits(self, X: Counts, *, chosen: bool) -> Variation | None:
        """Return the variation of short fits to a table, or of the one with the chosen values."""
        return self

    def apply(
        self, stages: list[StageSchedule], X: Counts, values: Mapping[str, Any]
    ) -> list[StageSchedule]:
        """Return the stages with those that it adds or changes.

        ``values`` are those of tuned hyper-parameters, by the names of estimator parameters.
        """
        return stages

    def continued(self, last: EMStage) -> list[StageSchedule]:
        """Return what a warm start makes of the last stage; empty: the stage itself."""
        return []

    def improving(
        self, last: EMStage, solver: Solver, values: Mapping[str, Any], rank: int
    ) -> list[StageSchedule]:
        """Return the stages of a further run, which begins at the best result so far.

        ``rank`` is the number of runs since the last improvement.
        """
        return []


class Solver(Protocol):
    """Algorithm of an iteration. It is copied at the beginning of each stage."""

    @property
    def pace(self) -> float:
        """Mean number of plain EM steps that one step replaces; short fits run 50 / pace steps."""

    def relocated(self, move: Callable[[Rows], Rows]) -> Self:
        """Return a copy whose row states are moved by a function."""

    def step(self, stage: EMStage, state: State) -> tuple[State, float]:
        """Return the next state, and the objective of the present one in nats."""


@dataclass
class EMState:
    """Everything that EM needs to continue after an iteration.

    `fit` changes it at each iteration. A schedule changes it before and after each of its stages,
    in ``enter`` and ``leave``, or in ``finish`` where the observer has stopped the fit.
    """

    state: State  # `fit`; schedules expand its rows, and split and merge its components
    solver: Solver  # `fit` copies it for each stage
    # Position, changed by ``leave`` of the schedules, and iterations of this stage.
    part: int = 0  # number of the schedule
    number: int = 0  # number of the stage in it
    n_iter: int = 0
    # Convergence of this stage, changed by ``count``; `fit` resets it for the next stage.
    objective: float = np.inf  # the lowest so far, nats
    since_lowest: int = 0  # iterations without a lower objective
    converged: bool = False
    # Best state by validation perplexity, changed by ``judge``: `fit` calls it after each
    # iteration, `GrowClusters` after each stage. `DecreasingBeta` sets since_best to zero.
    best: State | None = None
    validation: Validation | None = None
    best_beta: float = np.nan  # inverse temperature
    since_best: int = 0  # iterations or stages without a better one
    history: list[Record] = field(default_factory=list)  # `fit` adds a record per iteration
    # Changed by single schedules alone.
    n_clusters: int = 0  # before they were duplicated: `SplitClusters`, `SplitComponents`
    splits: list[Split] | None = None  # `SplitClusters`
    best_splits: list[Split] | None = None  # those of the best state: `GrowClusters`
    anchor: State | None = None  # state in which a round begins: `BurstinessRounds`

    def copy(self) -> Self:
        """Return a copy that stays as it is while this one continues."""
        return replace(self, solver=copy(self.solver), history=list(self.history))

    def relocated(self, move: Callable[[Rows], Rows]) -> EMState:
        """Return a new run from this state, whose row states are moved by a function."""
        return EMState(self.state._replace(rows=move(self.state.rows)), self.solver.relocated(move))

    def count(self, stage: EMStage, objective: float) -> None:
        """Count an iteration, and find out whether EM has converged."""
        # False where both are infinite, as with a prior and components that begin with zeros.
        stalls = self.objective - objective <= stage.tol * abs(objective)
        self.since_lowest = self.since_lowest + 1 if stalls else 0
        impatient = stage.heldout is not None and self.since_best >= stage.patience
        self.converged = impatient or self.since_lowest >= stage.model.patience
        self.objective = min(self.objective, objective)
        self.n_iter += 1

    def judge(self, validation: Validation, beta: float) -> None:
        """Keep the present state if it is the best."""
        self.since_best += 1
        if self.validation is None or validation.perplexity < self.validation.perplexity:
            self.validation = validation
            self.best = self.state
            self.best_beta = beta
            self.since_best = 0


# Called after an iteration, with the state from which EM can continue; True stops.
Observe = Callable[[Record, State, EMState], bool]


def ignore(record: Record, state: State, run: EMState) -> bool:
    """Observe nothing, never stop."""
    return False


def fit(
    parts: Sequence[StageSchedule],
    rng: np.random.Generator,
    solver: Solver,
    start: State | None,
    observe: Observe = ignore,
    resume: EMState | None = None,
) -> EMResult:
    """Run EM through all stages.

    Parameters
    ----------
    parts : sequence of StageSchedule
    rng : Generator
        Used for splits alone.
    solver : Solver
    start : State or None
        Initial state; None where a run is resumed.
    observe : callable
        Called after every iteration, with rows of the finest table.
    resume : EMState, default=None
        State of an interrupted run, which continues exactly. Or one without iterations: its solver
        makes those of the first stage.
    """
    run = EMState(cast(State, start), copy(solver)) if resume is None else resume.copy()
    while run.part < len(parts):
        part = parts[run.part]
        if run.n_iter == 0:
            part.enter(run, rng)
            if run.history:  # of earlier stages
                run.solver = copy(solver)
                run.objective = np.inf
                run.since_lowest = 0
                run.converged = False
        stage = part.current_stage(run)
        while not (run.converged or run.n_iter >= stage.max_iter):
            start_time = perf_counter()
            perplexity = np.nan
            run.state, objective = run.solver.step(stage, run.state)
            objective += stage.offset
            if stage.heldout is not None:
                validation = stage.heldout(stage.model, *run.state)
                run.judge(validation, stage.beta)
                perplexity = validation.perplexity
            seconds = perf_counter() - start_time
            run.history.append(Record(stage.beta, objective, perplexity, seconds))
            run.count(stage, objective)
            if observe(run.history[-1], part.expand_rows(run.state), run.copy()):
                return _stopped(run, parts, stage, solver)
        part.leave(run)
        run.n_iter = 0
    beta = run.best_beta if run.best else run.history[-1].beta
    return EMResult(
        *(run.best or run.state),
        beta,
        run.history[-1].free_energy,
        run.history,
        run.converged or stage.stop_is_convergence,
        run.validation,
        splits=run.splits,
        X=stage.X,
    )


def _stopped(
    run: EMState, parts: Sequence[StageSchedule], stage: EMStage, solver: Solver
) -> EMResult:
    """Return the result of a stopped run, as parameters of the last stage's model."""
    part = parts[run.part]
    part.finish(run)
    state = part.expand_rows(run.best or run.state)
    last = parts[-1].current_stage(run)
    if part.stage is not part and last.model == stage.model:
        last = replace(last, beta=stage.beta)  # the temperature that annealing has reached
    validation = run.validation
    if last.model != stage.model:
        step = single_step(last, solver, state)
        state = step.state
        validation = step.validation
    beta = run.best_beta if run.best else last.beta
    objective = run.history[-1].free_energy
    result = EMResult(*state, beta, objective, run.history, False, validation, True, run.splits)
    return result._replace(X=last.X)


def single_step(stage: EMStage, solver: Solver, state: State) -> EMResult:
    """Return the result of one step, which is no iteration of a fit."""
    rng = np.random.default_rng()  # not used: nothing splits
    return fit([replace(stage, max_iter=1)], rng, solver, state)._replace(history=[])


def skipped(
    parts: Sequence[StageSchedule], rng: np.random.Generator, solver: Solver, start: State
) -> EMResult:
    """Return the result of a run that is stopped before its first iteration."""
    run = EMState(start, solver)
    parts[0].enter(run, rng)
    parts[0].finish(run)
    state = parts[0].expand_rows(run.state)
    beta = parts[-1].stage.beta
    return EMResult(*state, beta, np.inf, [], False, None, stopped=True, splits=run.splits)


def unknown_rows(params: Params, X: Counts) -> Rows:
    """States of rows without known tokens, (n, k), in the type of their counts."""
    weights = params.weights.astype(X.dtype)
    return np.broadcast_to(weights, (X.shape[0], len(weights)))
