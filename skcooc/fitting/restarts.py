"""The random starts of a fit, side by side: what callbacks are told of it, and where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.callback import CallbackContext, CallbackSupportMixin

from skcooc.counts.threads import n_threads, threads
from skcooc.em import Fit, Record, Run, State, fit
from skcooc.em.legs import Observe, Part, ignore
from skcooc.fitting.fold_in import unknown_rows
from skcooc.fitting.journal import Journal, Name
from skcooc.fitting.options import Options
from skcooc.fitting.plan import Diluted, Grown, Plan
from skcooc.fitting.tasks import BlockTasks
from skcooc.fitting.tuning import Trial, Tunable
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.predictors import Known
from skcooc.protocol import Counts, Model, Params, T

STARTS: Name = ("start",)  # of the parts of a journal that are random starts
DILUTION = 0.01  # share of the unigram in components that go on with more observations


class Begun(NamedTuple):
    """What comes before the random starts: the structure of the model, and the temperature."""

    grown: Grown
    trials: list[Trial]
    beta: float  # to fit at
    validation: Validation | None = None  # of what is held out, by the best short fit
    predicted: Known | None = None  # of the same, by the same
    params: Params | None = None  # with which the first start begins; None where it is random, too


# A random start after an iteration, what came before it, and all that has been found; True stops.
Watch = Callable[[Record, State, Begun, Journal], bool]
AtIteration = Callable[[Model, Record, State, Begun, Journal], dict[str, object]]


class Watched(NamedTuple):
    """What observes a random start."""

    after_iteration: Watch
    after_block: Callable[[], None]  # of the table, in an E-step


class Progress:
    """The tasks of a fit: the temperature search with its probes, each restart with its steps.

    The estimator is not yet changed by its fit. With ``attributes`` a callback that asks for the
    fitted estimator gets one as if the fit had ended there. ``data`` is what ``fit`` was given: X,
    y and metadata.
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
    def searching(self, tunables: Sequence[Tunable]) -> Iterator[Callable[[Trial], bool]]:
        """The search: what it yields is called with every trial and returns True to stop."""
        n_trials = sum(tunable.n_trials for tunable in tunables)
        task = self._begin(self._root, "temperature search", n_trials)

        def observe(trial: Trial) -> bool:
            step = self._begin(task, str(trial), 0)
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

    def restart(self, model: Model, n_blocks: int) -> Watched | None:
        """Begin a random start; the result observes its iterations, unless nobody listens."""
        task = self._begin(self._root, "EM", self._max_iter)
        self._restarts.append(task)
        if self._silent:
            return None
        iterations = BlockTasks(task, "iteration", n_blocks, self._data)

        def watch(record: Record, state: State, begun: Begun, journal: Journal) -> bool:
            return iterations.end(
                reconstruction_attributes=lambda: self._attributes(
                    model, record, state, begun, journal.of(None)
                )
            )

        return Watched(watch, iterations.after_block)

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


def best_restart(
    plan: Plan,
    begun: Begun,
    journal: Journal,
    train: Counts,
    heldout: HeldOut | None,
    options: Options,
    progress: Progress,
    start: Run | None,
) -> Fit:
    """The best of several random starts, run side by side where there are threads for it.

    The plan is of the model that has grown, if it grows. ``start`` is what a warm start goes on
    from. The fit has statistics at its parameters.
    """
    model, seeds = plan.equations, options.seeds
    n_outer, n_inner = shares(options.n_jobs, len(seeds))

    def run(number: int, watched: Watched | None) -> Fit:
        rng, name = np.random.default_rng(seeds[number]), (*STARTS, number, "run")
        resume = journal.resumed(name, rng) or start

        def observe(record: Record, state: State, run: Run) -> bool:
            return watched is not None and watched.after_iteration(record, state, begun, journal)

        with threads(n_inner) as map:
            X = train.spread(n_inner, map)
            if watched is not None:
                X = X.watched(watched.after_block)
            params = None if number else begun.params  # other starts are random
            warm = start is not None
            parts, begin = _way(plan, X, begun.beta, options, heldout, warm, params)
            noted = watched is not None or options.resumable
            observed = journal.noting(name, rng, observe) if noted else ignore
            found = fit(parts, rng, options.solver, observed, begin, resume)
            settled = _settled(found, model, X)
            end = _end(journal.noted(name).run, found, X) if options.resumable else None
        return settled._replace(end=end)

    def ended(number: int, watched: Watched | None) -> Fit:
        return journal.once((*STARTS, number), lambda: run(number, watched))

    tasks = [(number, progress.restart(model, train.n_blocks)) for number in range(len(seeds))]
    return min(in_threads(ended, tasks, n_outer), key=_loss)


def _way(
    plan: Plan,
    X: Counts,
    beta: float,
    options: Options,
    heldout: HeldOut | None,
    warm: bool,
    params: Params | None,
) -> tuple[list[Part], State | None]:
    """What a run goes through, and where it begins: with these parameters, or at random."""
    if warm:
        return plan.last_leg(X, beta, options, heldout), None
    if params is None or plan.hands_on is None:
        return plan.legs(plan.scales(X), beta, options, heldout), None
    parts = plan.burnt_in.legs(plan.scales(X), beta, options, heldout)
    return parts, _handed_on(plan.hands_on, params, X)


def _handed_on(diluted: Diluted, params: Params, X: Counts) -> State:
    """Where a fit goes on from one with fewer observations, to which columns may be new."""
    unigram = (X.column_sums / X.column_sums.sum()).astype(X.dtype)
    return State(diluted(params, unigram, DILUTION), unknown_rows(params, X))


def _settled(found: Fit, model: Model, X: Counts) -> Fit:
    """With rows that are what the parameters returned make of them, as in ``transform``."""
    last = (X if found.X is None else found.X).watched(lambda: None)  # it is no iteration
    rows, stats = last.expect(model, found.params, found.rows, found.beta)
    return found._replace(rows=rows, stats=stats, X=None)


def _end(last: Run, found: Fit, X: Counts) -> Run | None:
    """What a warm start on the same table goes on from; None where it is to begin elsewhere.

    So it is where an earlier iteration was the best, or a round of bursts has counts of its own.
    """
    if found.stopped or last.best is not None or last.anchor is not None:
        return None
    return last.moved(X.lasting)


def _loss(fit: Fit) -> float:
    return fit.objective if fit.validation is None else fit.validation.perplexity


def shares(n_jobs: int | None, n_tasks: int) -> tuple[int, int]:
    """How many tasks run side by side, and with how many threads each."""
    n = n_threads(n_jobs)
    n_outer = min(n, n_tasks)
    return n_outer, n // n_outer


def in_threads(function: Callable[..., T], tasks: Sequence[tuple], n_outer: int) -> list[T]:
    """function(*task) for each task, in order."""
    with threads(1):  # throughout: by turns BLAS would have one thread, or several
        if n_outer == 1:
            return [function(*task) for task in tasks]
        parallel = Parallel(n_jobs=n_outer, prefer="threads", require="sharedmem")
        return list(parallel(delayed(function)(*task) for task in tasks))
