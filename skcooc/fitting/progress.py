"""Reports the progress of a fit to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sklearn.callback import CallbackContext, CallbackSupportMixin

from skcooc.em import Record, Run, State
from skcooc.em.legs import Observe, ignore
from skcooc.em.temperature import N_PRIORS, N_PROBES, Probe
from skcooc.fitting.plan import Options, Plan
from skcooc.protocol import Model

if TYPE_CHECKING:
    from skcooc.fitting.restarts import Unfinished

    # A random start after an iteration, and all that the fit needs to go on; True stops.
    Watch = Callable[[Record, State, Unfinished], bool]
    AtIteration = Callable[[Model, Record, State, Unfinished], dict[str, object]]


class Progress:
    """The tasks of a fit: the temperature search with its probes, each restart with its steps.

    Parameters
    ----------
    estimator : estimator with callback support, not yet changed by its fit
    plan : Plan
    options : Options
        Tell what is searched for, and how many restarts there are.
    attributes : callable
        (model, record, state, unfinished) -> dict of fitted attributes, with which a callback that
        asks for the fitted estimator gets one as if the fit had ended there.
    data : mapping
        What ``fit`` was given: X, y and metadata.
    """

    def __init__(
        self,
        estimator: CallbackSupportMixin,
        plan: Plan,
        options: Options,
        attributes: AtIteration,
        data: Mapping[str, object],
    ) -> None:
        self._attributes, self._plan = attributes, plan
        self._data = {"estimator": estimator, **data}
        self._silent = not hasattr(estimator, "_skl_callbacks")
        n_tasks = (plan.grow is not None) + options.searches + len(options.seeds)
        self._max_iter = options.max_iter if plan.has_one_leg else None
        self._root = estimator._init_callback_context(max_subtasks=n_tasks)
        self._root.call_on_fit_task_begin(**self._data)
        self._restarts: list[CallbackContext] = []

    @contextmanager
    def searching(self) -> Iterator[Callable[[Probe], bool]]:
        """The search: what it yields is called with every probe and returns True to stop."""
        n_probes = N_PROBES + N_PRIORS * (self._plan.priors is not None)
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

        def observe(record: Record, state: State, run: Run) -> bool:
            step = self._begin(task, f"beta = {record.beta:.3g}", 0)
            return bool(step.call_on_fit_task_end(**self._data))

        yield ignore if self._silent else observe
        task.call_on_fit_task_end(**self._data)

    def restart(self, model: Model) -> Watch | None:
        """Begin a random start; the result observes its iterations, unless nobody listens."""
        task = self._begin(self._root, "EM", self._max_iter)
        self._restarts.append(task)
        if self._silent:
            return None

        def watch(record: Record, state: State, unfinished: Unfinished) -> bool:
            step = self._begin(task, "iteration", 0)
            return bool(
                step.call_on_fit_task_end(
                    **self._data,
                    reconstruction_attributes=lambda: self._attributes(
                        model, record, state, unfinished
                    ),
                )
            )

        return watch

    def end(self) -> None:
        """The fit has ended."""
        for task in self._restarts:
            task.call_on_fit_task_end(**self._data)
        self._root.call_on_fit_task_end(**self._data)

    def _begin(
        self, parent: CallbackContext, name: str, max_subtasks: int | None
    ) -> CallbackContext:
        task = parent.subcontext(task_name=name, max_subtasks=max_subtasks)
        return task.call_on_fit_task_begin(**self._data)
