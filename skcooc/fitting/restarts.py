"""The random starts of a fit, side by side, and where they are when it is cut short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from skcooc.counts.threads import threads
from skcooc.em import Fit, HeldOut, State
from skcooc.em.legs import Observe, Record, ignore
from skcooc.em.multiscale import coarser_levels
from skcooc.em.splitting import Grown
from skcooc.em.temperature import Probe
from skcooc.fitting.plan import Settings
from skcooc.fitting.progress import Progress
from skcooc.protocol import Rows


class Underway(NamedTuple):
    """A random start that has not ended."""

    run: Any  # as the optimiser showed it after its last iteration
    random: Mapping[str, Any]  # state of the generator of random numbers


class Unfinished(NamedTuple):
    """What a fit has found so far, and where it is: all that it needs to go on."""

    seeds: tuple[int, ...]  # one for each random start
    warm: bool  # whether it goes on from an earlier fit
    grown: Grown
    probes: list[Probe]
    ended: dict[int, Fit]  # random starts by number
    underway: dict[int, Underway]


def best_restart(
    unfinished: Unfinished,
    train: Any,
    heldout: HeldOut | None,
    beta: float,
    settings: Settings,
    progress: Progress,
    start: State | None,
) -> Fit:
    """The best of several random starts, run side by side where there are threads for it.

    Parameters
    ----------
    unfinished : Unfinished
        Has the model, the seeds, and the random starts that were begun before.
    train : Counts of shape (N, M)
        With ``spread``.
    heldout : HeldOut or None
    beta : float
    settings : Settings
    progress : Progress
    start : State or None
        Where to start instead of at random.

    Returns
    -------
    fit : Fit
        With statistics at its parameters.
    """
    model, seeds = unfinished.grown.seed, unfinished.seeds
    ended, underway = dict(unfinished.ended), dict(unfinished.underway)
    n_outer = min(settings.n_threads, len(seeds))
    n_inner = settings.n_threads // n_outer

    def run(number: int, observe: Observe) -> Fit:
        if number in ended:
            return ended[number]
        rng, resume = np.random.default_rng(seeds[number]), None
        if number in underway:
            resume, rng.bit_generator.state = underway[number]

        def watched(record: Record, params: Any, rows: Sequence[Rows], run: Any) -> bool:
            underway[number] = Underway(run, rng.bit_generator.state)
            now = unfinished._replace(ended=dict(ended), underway=dict(underway))
            return observe(record, params, rows, now)

        with threads(n_inner) as map:
            X = train.spread(n_inner, map)
            optimiser = _optimiser(settings, model, X, beta, heldout, warm=start is not None)
            watch = ignore if observe is ignore else watched
            fit = optimiser.fit(model, [X], rng, watch, start=start, resume=resume)
            # Rows are to be what the parameters returned make of them, as in ``transform``.
            rows, stats = X.expect(model, fit.params, fit.rows[0], beta)
        ended[number] = fit._replace(rows=[rows], stats=stats)
        underway.pop(number, None)
        return ended[number]

    tasks = [(number, progress.restart(model, settings.n_steps)) for number in range(len(seeds))]
    if n_outer == 1:
        fits = [run(*task) for task in tasks]
    else:
        parallel = Parallel(n_jobs=n_outer, prefer="threads", require="sharedmem")
        fits = parallel(delayed(run)(*task) for task in tasks)
    return min(fits, key=_loss)


def _optimiser(
    settings: Settings, model: Any, X: Any, beta: float, heldout: HeldOut | None, *, warm: bool
) -> Any:
    """What runs EM: from the coarsest level on, or at the last temperature where it goes on."""
    if warm:
        return settings.resumed(model, beta, heldout)
    levels = coarser_levels(X, settings.coarsening or ())
    return settings.optimiser(X, beta, levels, heldout)


def _loss(fit: Fit) -> float:
    return fit.objective if fit.validation is None else fit.validation.perplexity
