"""Fits that are watched: by scikit-learn's callbacks, and by a journal from which they resume."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from typing import Any, Literal, Self, cast

import numpy as np

from skcooc.em import EMResult, EMState, Record, State, fit
from skcooc.em.stages import Observe, Solver, StageSchedule, single_step, skipped
from skcooc.fitting.context import FitContext
from skcooc.fitting.fit import Tuned
from skcooc.fitting.journal import Journal, Name, UnfinishedRun
from skcooc.fitting.recipe import Settings
from skcooc.protocol import Counts, T
from skcooc.protocol.locks import free_in_forks
from skcooc.protocol.scikit_learn import CallbackContext

BEGINNING = Lock()  # tasks of runs begin side by side, and scikit-learn numbers them
free_in_forks(BEGINNING)


class WatchedContext(FitContext):
    """Context of a fit that is watched.

    ``attributes`` makes the attributes that the estimator would have if it stopped at an iteration:
    from what was tuned, the smoothing asked for, the record of the iteration and the state.
    Each part has its names in the journal and, where there are callbacks, a task of its own. All
    share a stop: once a callback has asked for it, no part makes further iterations.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        attributes: Callable[..., dict[str, object]] | None = None,
        task: CallbackContext | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(settings)
        self.journal = journal
        self._attributes = attributes
        self._task = task
        self._data = data or {}
        self._stop = Event()
        self._name: Name = ()
        self._n_runs = 0
        self._iterations: BlockTasks | None = None
        self._inner: WatchedContext | None = None  # the part that runs

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    @contextmanager
    def part(
        self,
        name: str | int,
        task: str | None = None,
        max_subtasks: int | None = None,
        n_blocks: int = 0,
    ) -> Iterator[Self]:
        part = copy.copy(self)
        part.history = []
        part._name = (*self._name, name)
        part._n_runs = 0
        part._inner = None
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
        return self.journal.get_or_compute(
            (*self._name, name), function, *args, checkpoint=checkpoint
        )

    def note(self, tuned: Tuned, smoothing: float | Literal["auto"]) -> None:
        if self._attributes is not None:
            self._attributes = partial(self._attributes, tuned, smoothing)

    def end_trial(self) -> None:
        self.journal.forget(self._name)
        self.journal.checkpoint()

    def with_progress(self, X: Counts) -> Counts:
        return X if self._iterations is None else X.with_progress(self._block)

    def _block(self) -> None:
        """Count a block of an E-step."""
        if self._inner is not None:
            self._inner._block()
        elif self._iterations is not None:
            self._iterations.block()

    def run(
        self,
        parts: Sequence[StageSchedule],
        rng: np.random.Generator,
        solver: Solver,
        start: State,
    ) -> EMResult:
        if self._task is None:  # no callback can stop it or write its checkpoints
            return super().run(parts, rng, solver, start)
        if self.stopped:
            return skipped(parts, rng, solver, start)
        name = (*self._name, "run", self._n_runs)
        self._n_runs += 1
        result = self.journal.get_run(name, rng)
        if result is None:
            resume = self.journal.resume_run(name, rng)
            result = fit(parts, rng, solver, start, self._observer(name, rng), resume)
            result = result._replace(X=None)
            self.journal.add_run(name, rng, result)
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
        name = (*self._name, "run")
        of_start = (*self._name, "start")
        resume = self.journal.resume_run(name, rng) or continued
        history: list[Record] = self.journal.get(of_start) or []
        if start is None and resume is None:
            start, history = self.begin(parts[0].stage, rng)
            self.journal.add(of_start, history)
        if self.stopped and resume is None:  # a step makes parameters of the last model
            state = skipped(parts, rng, solver, cast(State, start)).state
            result = single_step(parts[-1].stage, solver, state)
            return result._replace(history=history, converged=False, stopped=True)
        observe = self._observer(name, rng, self._attributes)
        result = fit(parts, rng, solver, start, observe, resume)
        end = self.journal.get(name).run
        return result._replace(history=[*history, *result.history], end=end)

    def _observer(
        self,
        name: Name,
        rng: np.random.Generator,
        attributes: Callable[..., dict[str, object]] | None = None,
    ) -> Observe:
        """Return what EM calls after an iteration; attributes are those of the last run."""

        def observe(record: Record, state: State, run: EMState) -> bool:
            self.journal.set(name, UnfinishedRun(run, rng.bit_generator.state))
            if attributes is None:
                self.journal.checkpoint(ended=False)
            made = None if attributes is None else partial(attributes, record, state)
            if self._iterations is not None and self._iterations.end(made):
                self._stop.set()
            return self.stopped

        return observe


@dataclass
class BlockTasks:
    """Iterations or passes: callback tasks of one name, with a sub-task for each block.

    A task begins with its first block.
    """

    parent: CallbackContext
    name: str
    n_blocks: int
    data: Mapping[str, object]  # what callbacks learn of the fit
    _current: CallbackContext | None = None
    _n_done: int = 0

    def __post_init__(self) -> None:
        if self.n_blocks == 1:  # a single one says nothing
            self.n_blocks = 0

    def block(self) -> None:
        # Blocks of a step that is made again are not counted.
        if self._n_done < self.n_blocks:
            self._n_done += 1
            begin_task(self._pass(), "block", 0, self.data).call_on_fit_task_end(**self.data)

    def end(self, attributes: Callable[[], dict[str, object]] | None) -> bool:
        """End the task; return whether a callback asks to stop.

        ``attributes`` makes those of an estimator that would have stopped here; None if it could
        not predict.
        """
        task = self._pass()
        self._current, self._n_done = None, 0
        fitted = {} if attributes is None else {"reconstruction_attributes": attributes}
        return bool(task.call_on_fit_task_end(**self.data, **fitted))

    def _pass(self) -> CallbackContext:
        if self._current is None:
            self._current = begin_task(self.parent, self.name, self.n_blocks, self.data)
        return self._current


def begin_task(
    parent: CallbackContext, name: str, max_subtasks: int | None, data: Mapping[str, object]
) -> CallbackContext:
    with BEGINNING:
        task = parent.subcontext(task_name=name, max_subtasks=max_subtasks)
    return task.call_on_fit_task_begin(**data)
