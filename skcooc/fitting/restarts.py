"""The random starts of a fit, side by side, and where they are when it is cut short."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from skcooc.counts.threads import n_threads, threads
from skcooc.em import Fit, Record, Run, State, fit
from skcooc.em.legs import ignore
from skcooc.em.temperature import Probe
from skcooc.fitting.plan import Grown, Options, Plan
from skcooc.fitting.progress import Progress
from skcooc.heldout import HeldOut
from skcooc.protocol import Counts, T

if TYPE_CHECKING:
    from skcooc.fitting.progress import Watch


class Underway(NamedTuple):
    """A random start that has not ended."""

    run: Run
    random: Mapping[str, object]  # state of the generator of random numbers


class Unfinished(NamedTuple):
    """What a fit has found so far, and where it is: all that it needs to go on."""

    seeds: tuple[int, ...]  # one for each random start
    warm: bool  # whether it goes on from an earlier fit
    grown: Grown
    probes: list[Probe]
    ended: dict[int, Fit]  # random starts by number
    underway: dict[int, Underway]


def best_restart(
    plan: Plan,
    unfinished: Unfinished,
    train: Counts,
    heldout: HeldOut | None,
    beta: float,
    options: Options,
    progress: Progress,
    start: State | None,
) -> Fit:
    """The best of several random starts, run side by side where there are threads for it.

    Parameters
    ----------
    plan : Plan
        Of the model that has grown, if it grows.
    unfinished : Unfinished
        Has the seeds, and the random starts that were begun before.
    train : Counts of shape (N, M)
    heldout : HeldOut or None
    beta : float
    options : Options
    progress : Progress
    start : State or None
        Where to start instead of at random.

    Returns
    -------
    fit : Fit
        With statistics at its parameters.
    """
    model, seeds = plan.equations, unfinished.seeds
    ended, underway = dict(unfinished.ended), dict(unfinished.underway)
    n_outer, n_inner = shares(options.n_jobs, len(seeds))

    def run(number: int, watch: Watch | None) -> Fit:
        if number in ended:
            return ended[number]
        rng, resume = np.random.default_rng(seeds[number]), None
        if number in underway:
            resume, rng.bit_generator.state = underway[number]

        def observe(record: Record, state: State, run: Run) -> bool:
            underway[number] = Underway(run, rng.bit_generator.state)
            now = unfinished._replace(ended=dict(ended), underway=dict(underway))
            return watch is not None and watch(record, state, now)

        with threads(n_inner) as map:
            X = train.spread(n_inner, map)
            if start is not None:
                parts = plan.last_leg(X, beta, options, heldout)
            else:
                parts = plan.legs(plan.scales(X), beta, options, heldout)
            observed = ignore if watch is None else observe
            found = fit(parts, rng, options.solver, observed, start, resume)
            # Rows are to be what the parameters returned make of them, as in ``transform``.
            rows, stats = X.expect(model, found.params, found.rows, beta)
        ended[number] = found._replace(rows=rows, stats=stats)
        underway.pop(number, None)
        return ended[number]

    tasks = [(number, progress.restart(model)) for number in range(len(seeds))]
    return min(in_threads(run, tasks, n_outer), key=_loss)


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
