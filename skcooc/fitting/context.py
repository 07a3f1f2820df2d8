"""Context of a fit: callbacks, journal and threads, which the parts of the fit ask for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any, Self, cast

import numpy as np
from joblib import Parallel, delayed

from skcooc.counts.passes import n_threads, threads
from skcooc.em import EMResult, EMState, Record, State, fit
from skcooc.em.stages import Solver, StageSchedule, ignore, single_step, skipped
from skcooc.fitting.journal import Journal, Name, UnfinishedRun
from skcooc.fitting.progress import BlockTasks, begin_task
from skcooc.fitting.recipe import Recipe
from skcooc.protocol import Counts, T
from skcooc.protocol.scikit_learn import CallbackContext


class FitContext:
    """Callbacks, journal, threads and limits of a fit or of a part of it.

    Parts are nested. Each has its names in the journal and, where there are callbacks, a task of
    its own. All share a stop: once a callback has asked for it, no part makes further iterations.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        max_iter: int,
        tol: float,
        n_jobs: int | None = None,
        task: CallbackContext | None = None,
        data: Mapping[str, object] | None = None,
        is_watched: bool = False,
        attributes: Callable[..., dict[str, object]] | None = None,
    ) -> None:
        self.journal, self.max_iter, self.tol, self.n_jobs = journal, max_iter, tol, n_jobs
        self.attributes = attributes
        self.history: list[Record] = []  # of the runs of this part
        self._task, self._data, self._is_watched = task, data or {}, is_watched
        self._name: Name = ()
        self._n_runs = 0
        self._stop = Event()
        self._iterations: BlockTasks | None = None
        self._inner: FitContext | None = None  # the part that runs

    @property
    def stopped(self) -> bool:
        """True if a callback has asked to stop."""
        return self._stop.is_set()

    @contextmanager
    def part(
        self,
        name: str | int,
        task: str | None = None,
        max_subtasks: int | None = None,
        n_blocks: int = 0,
    ) -> Iterator[Self]:
        """Begin a part of the fit, with names in the journal, and a task for callbacks if named."""
        part = copy.copy(self)
        part.history, part._n_runs, part._name = [], 0, (*self._name, name)
        if task is not None and self._task is not None:
            part._task = begin_task(self._task, task, max_subtasks, self._data)
            part._iterations = BlockTasks(part._task, "iteration", n_blocks, self._data)
        self._inner = part
        try:
            yield part
        finally:
            self._inner = None
        if part._task is None or part._task is self._task:
            return
        if part._task.call_on_fit_task_end(**self._data):
            self._stop.set()

    def once(
        self, name: str | int, function: Callable[..., T], *args: Any, checkpoint: bool = False
    ) -> T:
        """Return function(*args), or what an interrupted fit has kept of it."""
        return self.journal.get_or_compute(
            (*self._name, name), function, *args, checkpoint=checkpoint
        )

    def checkpoint(self) -> None:
        """Let checkpoints be written, and forget the parts of what has ended."""
        self.journal.forget(self._name)
        self.journal.checkpoint()

    def map(self, function: Callable[..., T], tasks: Sequence[tuple]) -> list[T]:
        """Return function(*task) for each task, side by side where there are threads."""
        return in_threads(function, tasks, self.n_jobs)

    def block(self) -> None:
        """Count a block of an E-step."""
        if self._inner is not None:
            self._inner.block()
        elif self._iterations is not None:
            self._iterations.block()

    def run(
        self,
        parts: Sequence[StageSchedule],
        rng: np.random.Generator,
        solver: Solver,
        start: State,
    ) -> EMResult:
        """Run EM for a start, a structure, or to judge values of hyper-parameters."""
        if self.stopped:
            return skipped(parts, rng, solver, start)
        name = (*self._name, "run", self._n_runs)
        self._n_runs += 1
        if not self._is_watched:
            result = fit(parts, rng, solver, start)
        else:
            result = self.journal.get_or_run(name, rng, self._watched_run, parts, solver, start)
        self.history += [record._replace(stage="start") for record in result.history]
        return result

    def _watched_run(
        self,
        name: Name,
        rng: np.random.Generator,
        parts: Sequence[StageSchedule],
        solver: Solver,
        start: State,
    ) -> EMResult:
        resume = self.journal.resume_run(name, rng)
        observe = self.observer(name, rng)
        return fit(parts, rng, solver, start, observe, resume)._replace(X=None)

    def with_progress(self, X: Counts) -> Counts:
        """Return counts whose blocks are counted, where there are callbacks."""
        return X.with_progress(self.block) if self._iterations is not None else X

    def run_last(
        self,
        parts: Sequence[StageSchedule],
        rng: np.random.Generator,
        solver: Solver,
        start: State | None,
        continued: EMState | None,
    ) -> tuple[EMState | None, EMResult]:
        """Run EM for the result of a fit, from a state, a run or the start of the first stage.

        Returns the last state of the run, where it is watched, and the result.
        """
        name = (*self._name, "last run")
        resume = self.journal.resume_run(name, rng) or continued
        history = self.journal.get((*self._name, "start history")) or []
        if start is None and resume is None:
            with self.part("start", "start") as part:
                start = parts[0].begin(rng, part)
            history = part.history
            self.journal.forget((*self._name, "start"))
            self.journal.set((*self._name, "start history"), history)
        if self.stopped and resume is None:  # a step makes parameters of the last model
            state = skipped(parts, rng, solver, cast(State, start)).state
            result = single_step(parts[-1].stage, solver, state)._replace(stopped=True)
            return None, result._replace(history=history, converged=False)
        observe = self.observer(name, rng, self.attributes) if self._is_watched else ignore
        result = fit(parts, rng, solver, start, observe, resume)
        last = self.journal.get(name)
        return last and last.run, result._replace(history=[*history, *result.history])

    def observer(
        self,
        name: Name,
        rng: np.random.Generator,
        attributes: Callable[..., dict[str, object]] | None = None,
    ) -> Callable[[Record, State, EMState], bool]:
        """Return what EM calls after an iteration; only that of the last run has attributes."""

        def observe(record: Record, state: State, run: EMState) -> bool:
            self.journal.set(name, UnfinishedRun(run, rng.bit_generator.state))
            if attributes is None:
                self.journal.checkpoint(ended=False)
            if self._iterations is not None and self._iterations.end(
                lambda: {} if attributes is None else attributes(record, state)
            ):
                self._stop.set()
            return self.stopped

        return observe


@contextmanager
def context_of_fit(
    estimator: Any,
    recipe: Recipe,
    journal: Journal,
    data: Mapping[str, object],
    attributes: Callable[..., dict[str, object]],
) -> Iterator[FitContext]:
    """Begin the context of an estimator's fit; ``data`` is what ``fit`` was given.

    ``attributes`` makes those of an estimator that would have stopped at an iteration, from the fit
    so far, the record of the iteration and the state.
    """
    settings = recipe.settings
    data = {"estimator": estimator, **data}
    n_tasks = (recipe.structure is not None) + settings.tunes + len(settings.seeds)
    task = estimator._init_callback_context(max_subtasks=n_tasks)
    task.call_on_fit_task_begin(**data)
    has_callbacks = hasattr(estimator, "_skl_callbacks")
    yield FitContext(
        journal,
        max_iter=settings.max_iter,
        tol=settings.tol,
        n_jobs=settings.n_jobs,
        task=task if has_callbacks else None,
        data=data,
        is_watched=has_callbacks or settings.resumable,
        attributes=attributes,
    )
    task.call_on_fit_task_end(**data)


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
            return [function(*task) for task in tasks]
        parallel = Parallel(n_jobs=n_outer, prefer="threads", require="sharedmem")
        return list(parallel(delayed(function)(*task) for task in tasks))
