"""Listeners: they follow a running fit, as scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from skcooc.em import EMState, Record, State
from skcooc.fitting.recipe import Recipe
from skcooc.fitting.tuning import Trial, Tunable
from skcooc.protocol.scikit_learn import CallbackContext, CallbackSupportMixin


class Listener:
    """Follows a running fit; a subclass overrides the events that it needs."""

    def trial(self, trial: Trial) -> bool:
        """Receive a trial; return True to end the search of the current tunable."""
        return False

    def iteration(self, record: Record, state: State, run: EMState) -> bool:
        """Receive an iteration, and the state to resume from; return True to stop the fit."""
        return False

    def block(self) -> None:
        """Receive the end of a block of an E-step."""


class Listeners(Listener):
    """Several listeners as one, in their order."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def trial(self, trial: Trial) -> bool:
        answers = [listener.trial(trial) for listener in self._listeners]  # all of them hear it
        return any(answers)

    def iteration(self, record: Record, state: State, run: EMState) -> bool:
        answers = [listener.iteration(record, state, run) for listener in self._listeners]
        return any(answers)


@dataclass
class BlockTasks(Listener):
    """Iterations or passes: callback tasks of one name, with a sub-task for each block.

    A task begins with its first block.
    """

    parent: CallbackContext
    name: str
    n_blocks: int
    data: Mapping[str, object]  # what callbacks are told of the fit
    # Makes the attributes of an estimator that would have stopped at an iteration.
    attributes: Callable[[Record, State], dict[str, object]] = lambda record, state: {}
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

    def iteration(self, record: Record, state: State, run: EMState) -> bool:
        return self.end(lambda: self.attributes(record, state))

    def end(self, attributes: Callable[[], dict[str, object]] = dict) -> bool:
        """End the task; return whether a callback asks to stop."""
        task, self._current, self._n_done = self._pass(), None, 0
        return bool(task.call_on_fit_task_end(**self.data, reconstruction_attributes=attributes))

    def _pass(self) -> CallbackContext:
        if self._current is None:
            self._current = begin_task(self.parent, self.name, self.n_blocks, self.data)
        return self._current


class TaskListener(Listener):
    """Callback task with a sub-task for each trial of a search, or iteration of a structure."""

    def __init__(self, task: CallbackContext, data: Mapping[str, object]) -> None:
        self._task, self._data = task, data

    def trial(self, trial: Trial) -> bool:
        return self._sub_task(str(trial))

    def iteration(self, record: Record, state: State, run: EMState) -> bool:
        return self._sub_task(f"beta = {record.beta:.3g}")

    def _sub_task(self, name: str) -> bool:
        step = begin_task(self._task, name, 0, self._data)
        return bool(step.call_on_fit_task_end(**self._data))


class Progress:
    """Callback tasks of a fit: the search, the structure, and each restart with its iterations.

    ``data`` is what ``fit`` was given: X, y and metadata.
    """

    def __init__(
        self, estimator: CallbackSupportMixin, recipe: Recipe, data: Mapping[str, object]
    ) -> None:
        self._data = {"estimator": estimator, **data}
        self.has_callbacks = hasattr(estimator, "_skl_callbacks")
        settings = recipe.settings
        n_tasks = (recipe.structure is not None) + settings.tunes + len(settings.seeds)
        self._max_iter = settings.max_iter if recipe.is_single_stage else None
        self._root = estimator._init_callback_context(max_subtasks=n_tasks)
        self._root.call_on_fit_task_begin(**self._data)
        self._restarts: list[CallbackContext] = []

    @contextmanager
    def search(self, tunables: Sequence[Tunable]) -> Iterator[Listener]:
        n_trials = sum(tunable.n_trials for tunable in tunables)
        task = begin_task(self._root, "temperature search", n_trials, self._data)
        yield TaskListener(task, self._data)
        task.call_on_fit_task_end(**self._data)

    @contextmanager
    def structure(self) -> Iterator[Listener]:
        task = begin_task(self._root, "annealing", None, self._data)
        yield TaskListener(task, self._data) if self.has_callbacks else Listener()
        task.call_on_fit_task_end(**self._data)

    def restart(
        self, n_blocks: int, attributes: Callable[[Record, State], dict[str, object]]
    ) -> Listener:
        task = begin_task(self._root, "EM", self._max_iter, self._data)
        self._restarts.append(task)
        if not self.has_callbacks:
            return Listener()
        return BlockTasks(task, "iteration", n_blocks, self._data, attributes)

    def end(self) -> None:
        for task in self._restarts:
            task.call_on_fit_task_end(**self._data)
        self._root.call_on_fit_task_end(**self._data)


def begin_task(
    parent: CallbackContext, name: str, max_subtasks: int | None, data: Mapping[str, object]
) -> CallbackContext:
    task = parent.subcontext(task_name=name, max_subtasks=max_subtasks)
    return task.call_on_fit_task_begin(**data)
