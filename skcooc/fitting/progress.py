"""Reports the progress of a fit to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from skcooc.em.legs import Observe, Record, ignore
from skcooc.em.temperature import N_PRIORS, N_PROBES, Probe
from skcooc.fitting.plan import Settings
from skcooc.protocol import Model, Rows


class Progress:
    """The tasks of a fit: the temperature search with its probes, each restart with its steps.

    Parameters
    ----------
    estimator : estimator with callback support, not yet changed by its fit
    settings : Settings
        Tell what is searched for, and how many restarts there are.
    attributes : callable
        (model, record, params, rows, unfinished) -> dict of fitted attributes, with which a
        callback that asks for the fitted estimator gets one as if the fit had ended there.
    data : dict
        What ``fit`` was given: X, y and metadata.
    """

    def __init__(
        self,
        estimator: Any,
        settings: Settings,
        attributes: Callable[[Model, Record, Any, Sequence[Rows], Any], dict[str, Any]],
        data: dict[str, Any],
    ) -> None:
        self._attributes = attributes
        self._data = {"estimator": estimator, **data}
        self._silent = not hasattr(estimator, "_skl_callbacks")
        self._priors = settings.priors is not None
        n_tasks = (settings.grow is not None) + settings.searches + len(settings.seeds)
        self._root = estimator._init_callback_context(max_subtasks=n_tasks)
        self._root.call_on_fit_task_begin(**self._data)
        self._restarts: list[Any] = []

    @contextmanager
    def searching(self) -> Iterator[Callable[[Probe], bool]]:
        """The search: what it yields is called with every probe and returns True to stop."""
        n_probes = N_PROBES + N_PRIORS * self._priors
        task = self._begin(self._root, "temperature search", n_probes)

        def observe(probe: Probe) -> bool:
            prior = f", prior = {probe.prior:.2g}" if probe.prior else ""
            step = self._begin(task, f"beta = {probe.beta:.3f}{prior}", 0)
            return bool(step.call_on_fit_task_end(**self._data))

        yield observe
        task.call_on_fit_task_end(**self._data)

    @contextmanager
    def growing(self) -> Iterator[Observe]:
        """The growth of a tree: what it yields observes the iterations of EM on the way."""
        task = self._begin(self._root, "annealing", None)

        def observe(record: Record, params: Any, rows: Sequence[Rows], run: Any) -> bool:
            step = self._begin(task, f"beta = {record.beta:.3g}", 0)
            return bool(step.call_on_fit_task_end(**self._data))

        yield ignore if self._silent else observe
        task.call_on_fit_task_end(**self._data)

    def restart(self, model: Model, max_iter: int | None) -> Observe:
        """Begin a run of EM; the result observes its iterations."""
        task = self._begin(self._root, "EM", max_iter)
        self._restarts.append(task)
        if self._silent:
            return ignore

        def observe(record: Record, params: Any, rows: Sequence[Rows], unfinished: Any) -> bool:
            step = self._begin(task, "iteration", 0)
            return bool(
                step.call_on_fit_task_end(
                    **self._data,
                    reconstruction_attributes=lambda: self._attributes(
                        model, record, params, rows, unfinished
                    ),
                )
            )

        return observe

    def end(self) -> None:
        """The fit has ended."""
        for task in self._restarts:
            task.call_on_fit_task_end(**self._data)
        self._root.call_on_fit_task_end(**self._data)

    def _begin(self, parent: Any, name: str, max_subtasks: int | None) -> Any:
        task = parent.subcontext(task_name=name, max_subtasks=max_subtasks)
        return task.call_on_fit_task_begin(**self._data)
