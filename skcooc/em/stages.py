"""A fit as legs: runs of EM one after the other, each from where the one before has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from skcooc.heldout import HeldOut, Validation
from skcooc.protocol import Array, Block, Capability, Counts, Model, Params, Rows, Statistics

WARMUP_ITERATIONS = 8  # iterations at beta = 1: enough to break the symmetry, too few to overfit


class Record(NamedTuple):
    """What is kept of one iteration."""

    beta: float
    free_energy: float  # nats, less the log prior; at the E-step
    validation_perplexity: float  # after the M-step; NaN where nothing is held out
    seconds: float


class State(NamedTuple):
    """Parameters, and the states of the rows."""

    params: Params
    rows: Rows


class Split(NamedTuple):
    """A phase transition of an annealed run: one cluster becomes several."""

    beta: float  # inverse temperature at which they were found apart
    parts: tuple[tuple[int, ...], ...]  # the components of each part; together those of the whole


class EMResult(NamedTuple):
    """The outcome of all legs."""

    params: Params
    rows: Rows
    beta: float  # inverse temperature of the parameters returned
    objective: float  # nats, at the last E-step
    history: list[Record]
    converged: bool
    validation: Validation | None  # of the parameters returned; None where nothing is held out
    stopped: bool = False  # by the observer
    splits: list[Split] | None = None  # of an annealed run
    stats: Statistics = None  # at the parameters returned; None where nobody asked
    end: EMState | None = (
        None  # what another fit goes on from; None where nobody asked, or none can
    )
    X: Counts | None = None  # what they were fitted to in the end


class StageSchedule:
    """Stages of EM that follow each other; a subclass writes only what differs from a single one.

    The methods change the run that they are given, between its iterations.
    """

    stage: EMStage  # the stage, or that to which a schedule comes in the end

    def begin(self, rng: np.random.Generator) -> State:
        """Return the initial state of a fit without a start."""
        return State(*self.stage.model.start(self.stage.X, rng))

    def at(self, run: EMState) -> EMStage:
        """Return the current stage."""
        return self.stage

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        """Prepare the run for the first iteration of a stage."""

    def leave(self, run: EMState) -> None:
        """Go on to the next stage after the last iteration of one."""
        run.part += 1

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
    tol: float  # it has converged where the objective falls by no more than this share of it
    heldout: HeldOut | None = None  # validates every iteration; the best parameters are returned
    patience: int = 10  # iterations without a better held-out perplexity after which it ends
    stop_is_convergence: bool = False  # whether to reach max_iter is to converge
    members: Array | None = None  # (n,): for each row, its row in the leg before; None: the same
    groups: Array | None = None  # (N,): for each of the finest table, its row here; None: the same
    offset: float = 0.0  # nats: a constant of the objective, so that it goes on from other tables

    @property
    def stage(self) -> EMStage:  # type: ignore[override]  # a schedule of one stage
        return self

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        if self.members is not None:
            run.state = run.state._replace(rows=run.state.rows[self.members])

    def with_warmup(
        self, n_burn_in: int = WARMUP_ITERATIONS, by: Model | None = None
    ) -> list[EMStage]:
        """A few steps at beta = 1, then this leg; ``max_iter`` steps in all.

        ``by`` is a model with the same parameters that makes those steps, if it is another.

        Close to the critical temperature a random start decays to the unigram before its components
        have become different; the steps at beta = 1 make them so.
        """
        n_burn_in = min(n_burn_in, self.max_iter - 1)
        if self.beta == 1.0 or not n_burn_in:
            return [self]
        first = replace(self, model=by or self.model, beta=1.0, max_iter=n_burn_in)
        return [first, replace(self, max_iter=self.max_iter - n_burn_in, members=None)]


class Solver(Protocol):
    """How one iteration follows the other. It is copied at the beginning of each leg."""

    @property
    def pace(self) -> float:
        """Plain steps that one of its is worth in the mean: how long short fits have to be."""

    @property
    def needs(self) -> Mapping[Capability, str]:
        """What it needs of a table, and what to set instead; "alternation" of a model, too."""

    def relocated(self, to: Callable[[Rows], Rows]) -> Self:
        """The same, with the states of rows that it keeps elsewhere."""

    def step(self, stage: EMStage, state: State) -> tuple[State, float]:
        """The next state, and the objective of this one, in nats."""


@dataclass
class EMState:
    """A fit between two iterations: all that it needs to go on."""

    state: State
    solver: Solver
    part: int = 0  # number of the part under way
    number: int = 0  # of the leg in it
    n_clusters: int = 0  # where copies were made, of how many
    n_iter: int = 0  # iterations of this leg
    anchor: State | None = None  # where this leg began, if its table depends on that
    objective: float = np.inf  # nats, the least of them
    since_least: int = 0  # iterations in which it has not fallen
    settled: bool = False  # whether it has converged
    best: State | None = None  # kept only where something is held out
    validation: Validation | None = None  # of the best
    best_beta: float = np.nan  # its inverse temperature
    since_best: int = 0  # iterations; legs, where these are judged
    history: list[Record] = field(default_factory=list)
    splits: list[Split] | None = None
    best_splits: list[Split] | None = None

    def copy(self) -> Self:
        """The same, which stays as it is when this one goes on."""
        return replace(self, solver=copy(self.solver), history=list(self.history))

    def relocated(self, to: Callable[[Rows], Rows]) -> EMState:
        """Another one, which goes on from here, with states of rows elsewhere."""
        return EMState(self.state._replace(rows=to(self.state.rows)), self.solver.relocated(to))

    def judge(self, validation: Validation, beta: float) -> None:
        """Keep the state if it is the best."""
        self.since_best += 1
        if self.validation is None or validation.perplexity < self.validation.perplexity:
            self.validation, self.best, self.since_best = validation, self.state, 0
            self.best_beta = beta


Observe = Callable[
    [Record, State, EMState], bool
]  # True stops; the Run is that from which it goes on


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
    """Go through the legs.

    The generator is for starts and splits alone. ``observe`` is called after every iteration with
    the state of the finest table. ``start`` is where to begin instead of at random; ``resume`` what
    was observed of a fit that was cut short, which goes on as if nothing had happened, or a run
    without iterations: its solver makes those of the first leg.
    """
    run = resume.copy() if resume else EMState(start or parts[0].begin(rng), copy(solver))
    stopped = False
    while run.part < len(parts) and not stopped:
        part = parts[run.part]
        if run.n_iter == 0:
            part.enter(run, rng)
            if run.history:  # of the legs before
                run.solver, run.settled = copy(solver), False
                run.objective, run.since_least = np.inf, 0
        stage = part.at(run)
        while not (run.settled or run.n_iter >= stage.max_iter or stopped):
            iterate(run, stage)
            stopped = bool(observe(run.history[-1], part.expand_rows(run.state), run.copy()))
        if not stopped:
            part.leave(run)
            run.n_iter = 0
    if stopped:
        part.finish(run)
        return _cut_short(
            run, part.expand_rows(run.best or run.state), stage, parts[-1].at(run), solver
        )
    state, (last_beta, objective, *_) = run.best or run.state, run.history[-1]
    beta, converged = (
        run.best_beta if run.best else last_beta,
        run.settled or stage.stop_is_convergence,
    )
    found = EMResult(
        *state, beta, objective, run.history, converged, run.validation, splits=run.splits
    )
    return found._replace(X=stage.X)


def _cut_short(
    run: EMState, state: State, stage: EMStage, last: EMStage, solver: Solver
) -> EMResult:
    """What a fit that was stopped has found so far, as parameters of the model asked for."""
    validation = run.validation
    if last.model != stage.model:
        rng = np.random.default_rng()  # not used: it does not begin at random
        once = fit([replace(last, max_iter=1)], rng, solver, start=run.state)
        state, validation = State(once.params, once.rows), once.validation
    beta, objective = run.best_beta if run.best else last.beta, run.history[-1].free_energy
    found = EMResult(*state, beta, objective, run.history, False, validation, True, run.splits)
    return found._replace(X=last.X)


def iterate(run: EMState, stage: EMStage) -> None:
    """A step of the solver, and a look at what is held out."""
    began, perplexity = perf_counter(), float("nan")
    run.state, objective = run.solver.step(stage, run.state)
    objective += stage.offset
    if stage.heldout is not None:
        validation = stage.heldout(stage.model, *run.state)
        run.judge(validation, stage.beta)
        perplexity = validation.perplexity
    run.history.append(Record(stage.beta, objective, perplexity, perf_counter() - began))
    impatient = stage.heldout is not None and run.since_best >= stage.patience
    # Not so where both are infinite, as with a prior and components that begin with zeros.
    stalls = run.objective - objective <= stage.tol * abs(objective)
    run.since_least = run.since_least + 1 if stalls else 0
    run.settled = impatient or run.since_least >= stage.model.patience
    run.objective, run.n_iter = min(run.objective, objective), run.n_iter + 1


def unknown_rows(params: Params, X: Counts) -> Rows:
    """States of rows without known tokens, (n, k), in the type of their counts."""
    weights = params.weights.astype(X.dtype)
    return np.broadcast_to(weights, (X.shape[0], len(weights)))


class Scale(NamedTuple):
    """A table in which rows may be tied."""

    X: Counts
    members: Array | None  # for each row, its row in the next coarser table
    groups: Array | None  # for each row of the finest table, its row in this one


def scales(X: Block, coarsening: Sequence[Array]) -> list[Scale]:
    """The tables that nested groupings of rows, (N,), make of one, the coarsest first, X last.

    Tying the rows of a group in one posterior restricts the free energy to a subspace: a group acts
    as its mean row, counted as often as it has members. So the objective is the same on all scales,
    it never rises from one to the next, and one temperature is right for all: memo, section 5.4.
    The finest grouping comes first; each joins groups of the one before.
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
    """Labels of nested groups of rows, (n_rows,), finest first; ValueError where they are not."""
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
