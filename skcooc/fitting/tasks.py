"""What callbacks are told of a pass over blocks: each is a sub-task."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.callback import CallbackContext


class BlockTasks:
    """Passes over blocks, one after the other: tasks of the same name, with a sub-task a block.

    A pass begins with its first block. ``data`` is what callbacks are told of the fit.
    """

    def __init__(
        self, parent: CallbackContext, name: str, n_blocks: int, data: Mapping[str, object]
    ) -> None:
        self._parent, self._name, self._data = parent, name, data
        self._n_blocks = n_blocks if n_blocks > 1 else 0  # one tells nothing
        self._underway: CallbackContext | None = None
        self._n_done = 0

    def after_block(self) -> None:
        """A block is done. More than there are, where a step is made again, are not counted."""
        if self._n_done < self._n_blocks:
            self._n_done += 1
            self._begun(self._pass(), "block", 0).call_on_fit_task_end(**self._data)

    def end(self, **more: object) -> bool:
        """The pass is done; whether to stop."""
        task, self._underway, self._n_done = self._pass(), None, 0
        return bool(task.call_on_fit_task_end(**self._data, **more))

    def _pass(self) -> CallbackContext:
        if self._underway is None:
            self._underway = self._begun(self._parent, self._name, self._n_blocks)
        return self._underway

    def _begun(self, parent: CallbackContext, name: str, n_subtasks: int) -> CallbackContext:
        task = parent.subcontext(task_name=name, max_subtasks=n_subtasks)
        return task.call_on_fit_task_begin(**self._data)
