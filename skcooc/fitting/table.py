"""How a model is fitted to a table: held-out observations, structure, temperature, restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from skcooc.counts.threads import threads
from skcooc.em import Fit, Record, Run, State, TemperatureRange
from skcooc.em.legs import Observe, ignore
from skcooc.fitting.journal import Journal, Name
from skcooc.fitting.options import Options
from skcooc.fitting.plan import Grown, Plan
from skcooc.fitting.restarts import Begun, Progress, best_restart
from skcooc.fitting.trials import ShortFit, ShortFits
from skcooc.fitting.tuning import Record as Trials
from skcooc.fitting.tuning import Trial, Tunable, tune
from skcooc.heldout import HeldOut
from skcooc.heldout.validation import Judged, add_one_unigram, chosen_smoothing, hold_out
from skcooc.protocol import Array, Block, Counts, Model

BEGUN: Name = ("begun",)  # parts of a journal
GROWN: Name = (*BEGUN, "grown")
TRIALS: Name = (*BEGUN, "trials")
BURSTY: Name = (*BEGUN, "bursty")


class Fitted(NamedTuple):
    """A fit, with what was chosen on the way."""

    fit: Fit
    model: Model  # that given, or that which grew
    beta: float
    smoothing: float
    unigram: Array  # (M,): add-one, of the observations fitted
    mass: float  # of them, weights of rows included
    row_distribution: Array  # (N,): the share of each row
    trials: list[Trial]
    judged: Judged | None = None  # where observations were held out


def fit(
    plan: Plan,
    X: Counts,
    sample: Block,
    options: Options,
    progress: Progress,
    journal: Journal,
    start: Run | None = None,
) -> Fitted:
    """Fit a model to counts.

    The temperature is chosen on the sample, rows of X or all. A warm start has neither burn-in nor
    search: ``start`` is what it goes on from. The journal has what was found before the fit was cut
    short.
    """
    train, heldout = hold_out(sample, *options.division) if options.holds_out else (sample, None)
    within = options.beta
    tunables = plan.tuned(sample, within) if isinstance(within, TemperatureRange) else []
    begin = partial(_begun, plan, train, heldout, tunables, options, progress, journal)
    begun = journal.once(BEGUN, begin)
    grown = begun.grown
    seed = replace(plan, equations=grown.seed)
    X, judge = (train, heldout) if options.early_stopping else (X, None)
    del train, begin  # the final fit needs the memory
    fit = best_restart(seed, begun, journal, X, judge, options, progress, start)
    fit = fit._replace(splits=fit.splits if grown.splits is None else grown.splits)
    smoothing = chosen_smoothing(options.smoothing, fit.validation or begun.validation)
    unigram = add_one_unigram(X.column_sums, X.grain)
    mass, row_distribution = distributed(X)
    predicted = judge.predicted(grown.model, fit.params, fit.rows) if judge else begun.predicted
    judged = None if predicted is None else Judged(options.division, predicted)
    fit, found = fit._replace(rows=X.lasting(fit.rows)), (unigram, mass, row_distribution)
    return Fitted(fit, grown.model, fit.beta, smoothing, *found, begun.trials, judged)


def distributed(X: Counts) -> tuple[float, Array]:
    """How many observations there are, weights included; and the share of each row, (N,)."""
    mass = float(X.total(_mass))
    return mass, X.lasting(X.by_row(partial(_shares, mass=mass)))


def _mass(X: Block) -> Array:
    return np.sum(X.row_sums * X.row_weights)


def _shares(X: Block, mass: float) -> Array:
    return X.row_sums * X.row_weights / mass


def short_fits(plan: Plan, X: Block, options: Options) -> ShortFits:
    """Short fits to counts, a part of which is held out; with one thread."""
    rest, heldout = hold_out(X, *options.division)
    seed = _grown(plan, rest, heldout, options, lambda: nullcontext(ignore), Journal()).seed
    plan = replace(plan.searching, equations=seed)
    return ShortFits(plan, rest.spread(1, map), heldout, options)


def _begun(
    plan: Plan,
    train: Block,
    heldout: HeldOut | None,
    tunables: Sequence[Tunable],
    options: Options,
    progress: Progress,
    journal: Journal,
) -> Begun:
    """What comes before the random starts: the structure of the model, and the temperature."""
    grown = journal.once(
        GROWN,
        lambda: _grown(plan, train, heldout, options, progress.growing, journal),
        tells=plan.grow is not None,
    )
    if heldout is None or not tunables:
        return Begun(grown, [], float(options.beta))  # type: ignore[arg-type]
    seed = replace(plan, equations=grown.seed)
    record = journal.once(TRIALS, Trials[ShortFit])
    with threads(options.n_threads) as map, progress.searching(tunables) as observe:
        X = train.spread(options.n_threads, map)

        def told(trial: Trial) -> bool:
            journal.tell()
            return observe(trial)

        chosen = tune(tunables, ShortFits(seed.searching, X, heldout, options), record, told)
        short, model = record.best, seed.at(chosen.values).equations
        if plan.bursts is not None:  # what predicts is to be as bursty as what is fitted then
            fits = ShortFits(seed, X, heldout, options)
            bursty = journal.once(BURSTY, lambda: fits(chosen.values))
            short = bursty._replace(params=short.params)
    if plan.grow is None:
        grown = Grown(model, model, None)
    params = short.params if plan.hands_on else None
    return Begun(grown, record.trials, chosen.beta, short.validation, short.predicted, params)


def _grown(
    plan: Plan,
    train: Block,
    heldout: HeldOut | None,
    options: Options,
    growing: Callable[[], AbstractContextManager[Observe]],
    journal: Journal,
) -> Grown:
    """The model, with what its structure learns from the observations fitted."""
    if plan.grow is None:
        return Grown(plan.equations, plan.equations, None)
    rng, name = np.random.default_rng(options.seeds[0]), (*GROWN, "run")
    resume = journal.resumed(name, rng)
    with threads(options.n_threads) as map, growing() as observe:
        X = train.spread(options.n_threads, map)

        def told(record: Record, state: State, run: Run) -> bool:
            journal.tell(ended=False)
            return observe(record, state, run)

        noted = journal.noting(name, rng, told)
        return plan.grow(X, options, rng, heldout, noted, resume)
