"""Tasks of scikit-learn's callbacks: iterations or passes, and blocks within them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from skcooc.protocol.scikit_learn import CallbackContext


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

    def end(self, attributes: Callable[[], dict[str, object]] | None = None) -> bool:
        """End the task; return whether a callback asks to stop.

        ``attributes`` makes those of an estimator that would have stopped here.
        """
        task = self._pass()
        self._current, self._n_done = None, 0
        attributes = attributes or dict
        return bool(task.call_on_fit_task_end(**self.data, reconstruction_attributes=attributes))

    def _pass(self) -> CallbackContext:
        if self._current is None:
            self._current = begin_task(self.parent, self.name, self.n_blocks, self.data)
        return self._current


def begin_task(
    parent: CallbackContext, name: str, max_subtasks: int | None, data: Mapping[str, object]
) -> CallbackContext:
    task = parent.subcontext(task_name=name, max_subtasks=max_subtasks)
    return task.call_on_fit_task_begin(**data)
