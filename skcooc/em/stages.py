"""EM in stages: each begins where the one before has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from skcooc.heldout import HeldOut, Validation
from skcooc.protocol import Array, Block, Counts, Model, Params, Rows, Statistics

WARMUP_ITERATIONS = 8  # at beta = 1: enough to break the symmetry, too few to overfit


class Record(NamedTuple):
    """Record of one iteration."""

    beta: float
    free_energy: float  # nats, less the log prior; at the E-step
    validation_perplexity: float  # after the M-step; NaN where nothing is held out
    seconds: float


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


class StageSchedule:
    """Stages of EM that follow each other; a subclass writes only what differs from a single one.

    The methods change the run that they are given, between its iterations.
    """

    stage: EMStage  # the single stage, or a pattern of all

    def begin(self, rng: np.random.Generator) -> State:
        """Return the initial state of a fit without a start."""
        model = self.stage.model
        start = model.quick_start if self.stage.quick else model.start
        return State(*start(self.stage.X, rng))

    def current_stage(self, run: EMState) -> EMStage:
        return self.stage

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        """Prepare the run for the first iteration of a stage."""

    def leave(self, run: EMState) -> None:
        """Go on to the next schedule after the last iteration of a stage."""
        run.part, run.number = run.part + 1, 0

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
    quick: bool = False  # whether a fit without a start begins at the quick start of the model

    @property
    def stage(self) -> EMStage:  # type: ignore[override]  # a schedule of one stage
        return self

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        if self.members is not None:
            run.state = run.state._replace(rows=run.state.rows[self.members])

    def with_warmup(self, model: Model | None = None) -> list[EMStage]:
        """Return a short stage at beta = 1 and this one; ``max_iter`` iterations in all.

        Close to the critical temperature an initialisation would collapse to the unigram before its
        components differ. ``model`` is the model of the warm-up, if it is another one.
        """
        n_iter = min(WARMUP_ITERATIONS, self.max_iter - 1)
        if self.beta == 1.0 or not n_iter:
            return [self]
        first = replace(self, model=model or self.model, beta=1.0, max_iter=n_iter)
        return [first, replace(self, max_iter=self.max_iter - n_iter, members=None)]


class Solver(Protocol):
    """Algorithm of an iteration. It is copied at the beginning of each stage."""

    @property
    def pace(self) -> float:
        """Mean number of plain EM steps that one step replaces; short fits run 60 / pace steps."""

    def relocated(self, move: Callable[[Rows], Rows]) -> Self:
        """Return a copy whose row states are moved by a function."""

    def step(self, stage: EMStage, state: State) -> tuple[State, float]:
        """Return the next state, and the objective of the present one in nats."""


@dataclass
class EMState:
    """Everything that EM needs to continue after an iteration."""

    state: State
    solver: Solver
    part: int = 0  # number of the schedule
    number: int = 0  # number of the stage in it
    n_clusters: int = 0  # before they were duplicated
    n_iter: int = 0  # iterations of this stage
    anchor: State | None = None  # initial state of this stage, if its table depends on that
    objective: float = np.inf  # nats, the least so far
    since_least: int = 0  # iterations without a lower objective
    converged: bool = False  # whether the stage has converged
    best: State | None = None  # by validation perplexity
    validation: Validation | None = None  # of the best state
    best_beta: float = np.nan  # inverse temperature of the best state
    since_best: int = 0  # iterations, or stages where these are validated
    history: list[Record] = field(default_factory=list)
    splits: list[Split] | None = None
    best_splits: list[Split] | None = None

    def copy(self) -> Self:
        """Return a copy that stays as it is while this one continues."""
        return replace(self, solver=copy(self.solver), history=list(self.history))

    def relocated(self, move: Callable[[Rows], Rows]) -> EMState:
        """Return a new run from this state, whose row states are moved by a function."""
        return EMState(self.state._replace(rows=move(self.state.rows)), self.solver.relocated(move))

    def judge(self, validation: Validation, beta: float) -> None:
        """Keep the present state if it is the best."""
        self.since_best += 1
        if self.validation is None or validation.perplexity < self.validation.perplexity:
            self.validation, self.best, self.since_best = validation, self.state, 0
            self.best_beta = beta


# Called after an iteration, with the state from which EM can continue; True stops.
Observe = Callable[[Record, State, EMState], bool]


def ignore(record: Record, state: State, run: EMState) -> bool:
    """Observe nothing, never stop."""
    return False


def fit(
    parts: Sequence[StageSchedule],
    rng: np.random.Generator,
    solver: Solver,
    observe: Observe = ignore,
    start: State | None = None,
    resume: EMState | None = None,
) -> EMResult:
    """Run EM through all stages.

    Parameters
    ----------
    parts : sequence of StageSchedule
    rng : Generator
        Used for initial states and splits alone.
    solver : Solver
    observe : callable
        Called after every iteration, with rows of the finest table.
    start : State, default=None
        Initial state, instead of a random one; it may have been found on another table.
    resume : EMState, default=None
        State of an interrupted run, which continues exactly. Or one without iterations: its solver
        makes those of the first stage.
    """
    if resume is None and start is not None:
        first = parts[0].stage
        start = start._replace(params=first.model.for_table(start.params, first.X))
    run = resume.copy() if resume else EMState(start or parts[0].begin(rng), copy(solver))
    stopped = False
    while run.part < len(parts) and not stopped:
        part = parts[run.part]
        if run.n_iter == 0:
            part.enter(run, rng)
            if run.history:  # of earlier stages
                run.solver, run.converged = copy(solver), False
                run.objective, run.since_least = np.inf, 0
        stage = part.current_stage(run)
        while not (run.converged or run.n_iter >= stage.max_iter or stopped):
            iterate(run, stage)
            stopped = bool(observe(run.history[-1], part.expand_rows(run.state), run.copy()))
        if not stopped:
            part.leave(run)
            run.n_iter = 0
    if stopped:
        part.finish(run)
        state = part.expand_rows(run.best or run.state)
        last = parts[-1].current_stage(run)
        if part.stage is not part and last.model == stage.model:
            last = replace(last, beta=stage.beta)  # the temperature that annealing has reached
        return _stopped(run, state, stage, last, solver)
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


def _stopped(run: EMState, state: State, stage: EMStage, last: EMStage, solver: Solver) -> EMResult:
    """Return the result of a stopped run, as parameters of the last stage's model."""
    validation = run.validation
    if last.model != stage.model:
        rng = np.random.default_rng()  # not used: the start is given
        once = fit([replace(last, max_iter=1)], rng, solver, start=state)
        state, validation = once.state, once.validation
    beta, objective = run.best_beta if run.best else last.beta, run.history[-1].free_energy
    found = EMResult(*state, beta, objective, run.history, False, validation, True, run.splits)
    return found._replace(X=last.X)


def iterate(run: EMState, stage: EMStage) -> None:
    """Make one step of the solver, validate it, and find out whether EM has converged."""
    began, perplexity = perf_counter(), float("nan")
    run.state, objective = run.solver.step(stage, run.state)
    objective += stage.offset
    if stage.heldout is not None:
        validation = stage.heldout(stage.model, *run.state)
        run.judge(validation, stage.beta)
        perplexity = validation.perplexity
    run.history.append(Record(stage.beta, objective, perplexity, perf_counter() - began))
    impatient = stage.heldout is not None and run.since_best >= stage.patience
    # False where both are infinite, as with a prior and components that begin with zeros.
    stalls = run.objective - objective <= stage.tol * abs(objective)
    run.since_least = run.since_least + 1 if stalls else 0
    run.converged = impatient or run.since_least >= stage.model.patience
    run.objective, run.n_iter = min(run.objective, objective), run.n_iter + 1


def unknown_rows(params: Params, X: Counts) -> Rows:
    """States of rows without known tokens, (n, k), in the type of their counts."""
    weights = params.weights.astype(X.dtype)
    return np.broadcast_to(weights, (X.shape[0], len(weights)))


class Scale(NamedTuple):
    """Table of multiscale optimisation, in which rows may be tied."""

    X: Counts
    members: Array | None  # for each row, its row in the next coarser table
    groups: Array | None  # for each row of the finest table, its row in this one


def scales(X: Block, coarsening: Sequence[Array]) -> list[Scale]:
    """Return a table for each nested grouping of rows, (N,), the coarsest first, and X last.

    A group of rows with one posterior acts as its mean row, counted once for each member. So the
    objective is the same on all scales, it never rises from one to the next, and one temperature
    suits all: Hofmann & Puzicha (1998), section 5.4. The finest grouping comes first.
    """
    found, groups = [], None
    finer = np.arange(X.shape[0])
    for labels in coarsening:
        coarser = np.unique(labels, return_inverse=True)[1]
        members = coarser[np.unique(finer, return_index=True)[1]]
        found.append(Scale(X, members, groups))
        X, finer, groups = X.coarsen(members), coarser, coarser
    return [*reversed([*found, Scale(X, None, groups)])]


def check_coarsening(coarsening: Sequence[ArrayLike], n_rows: int) -> list[Array]:
    """Return labels of rows, (n_rows,), finest first; ValueError where they are not nested."""
    groupings: list[Array] = [np.asarray(labels) for labels in coarsening]
    if not all(labels.ndim == 1 and labels.dtype.kind not in "fc" for labels in groupings):
        raise ValueError("coarsening should be a list of 1d arrays of int, finest grouping first.")
    for labels in groupings:
        if len(labels) != n_rows:
            raise ValueError(
                f"coarsening has a grouping of {len(labels)} rows, but X has {n_rows} sample(s)."
            )
    for finer, coarser in pairwise(groupings):
        first, group = np.unique(finer, return_index=True, return_inverse=True)[1:]
        if not np.array_equal(coarser[first][group], coarser):
            raise ValueError(
                "coarsening should be nested, finest grouping first: a grouping divides a group of "
                "the one before it."
            )
    return groupings
