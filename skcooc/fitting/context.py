"""Context of a fit: its limits and threads, and the EM runs of its parts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from typing import Any, Literal, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed

from skcooc.counts.passes import n_threads, threads
from skcooc.em import EMResult, EMStage, EMState, Record, State, fit
from skcooc.em.stages import Solver, StageSchedule
from skcooc.fitting.recipe import Settings
from skcooc.protocol import Counts, T

C = TypeVar("C", bound=Counts)


class FitContext:
    """What a fit, or a part of it, asks of its surroundings.

    Here nobody watches the fit; see `WatchedContext` for callbacks and checkpoints. It is the
    runner of the fits within starts, whose iterations it keeps.
    """

    def __init__(self, settings: Settings) -> None:
        self.max_iter, self.tol = settings.max_iter, settings.tol
        self.history: list[Record] = []  # of the runs of this part

    @property
    def stopped(self) -> bool:
        """True once no further iterations should be made."""
        return False

    @contextmanager
    def part(
        self,
        name: str | int,
        task: str | None = None,
        max_subtasks: int | None = None,
        n_blocks: int = 0,
    ) -> Iterator[Self]:
        """Begin a part of the fit; ``task`` names it for callbacks."""
        part = copy.copy(self)
        part.history = []
        yield part

    def once(
        self, name: str | int, function: Callable[..., T], *args: Any, checkpoint: bool = False
    ) -> T:
        """Return function(*args), or its result from the journal of an interrupted fit."""
        return function(*args)

    def note(self, tuned: Any, smoothing: float | Literal["auto"]) -> None:
        """Note what was tuned, and the smoothing asked for, before the last runs begin."""

    def end_trial(self) -> None:
        """Note that a trial of a search has ended."""

    def with_progress(self, X: Counts) -> Counts:
        """Return counts whose blocks are watched."""
        return X

    def run(
        self,
        parts: Sequence[StageSchedule],
        rng: np.random.Generator,
        solver: Solver,
        start: State,
    ) -> EMResult:
        """Run EM for a start, for a structure, or to judge values of hyper-parameters."""
        result = fit(parts, rng, solver, start)
        self.history += [record._replace(stage="start") for record in result.history]
        return result

    def run_last(
        self,
        parts: Sequence[StageSchedule],
        rng: np.random.Generator,
        solver: Solver,
        start: State | None,
        continued: EMState | None,
    ) -> EMResult:
        """Run EM for the result of the fit, from a state or a run; None: from its own start."""
        history: list[Record] = []
        if start is None and continued is None:
            start, history = self.begin(parts[0].stage, rng)
        result = fit(parts, rng, solver, start, resume=continued)
        return result._replace(history=[*history, *result.history])

    def begin(self, first: EMStage, rng: np.random.Generator) -> tuple[State, list[Record]]:
        """Return the state in which EM begins, and the iterations that led to it."""
        with self.part("start", "start", n_blocks=first.X.n_blocks) as part:
            state = first.start(first.model, first.X, rng, part)
        return state, part.history


@contextmanager
def threaded(X: C, n_threads: int) -> Iterator[C]:
    """Return the counts with a pool of threads, which is closed at the end."""
    with threads(n_threads) as map:
        yield X.with_threads(n_threads, map)


def split_threads(n_jobs: int | None, n_tasks: int) -> tuple[int, int]:
    """Return how many tasks run side by side, and with how many threads each."""
    n = n_threads(n_jobs)
    n_outer = min(n, n_tasks)
    return n_outer, n // n_outer


def in_threads(function: Callable[..., T], tasks: Sequence[tuple], n_jobs: int | None) -> list[T]:
    """Return function(*task) for each task, in order."""
    n_outer, _ = split_threads(n_jobs, len(tasks))
    with threads(1):  # for all of them: else BLAS would have one thread or several by turns
        if n_outer == 1:
            return list(starmap(function, tasks))
        parallel = Parallel(n_jobs=n_outer, prefer="threads", require="sharedmem")
        return list(parallel(delayed(function)(*task) for task in tasks))
