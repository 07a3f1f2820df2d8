"""Estimators that follow a stream of rows, batch by batch, and tables in blocks, pass by pass."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from skcooc.base import attributes
from skcooc.callbacks import PASS
from skcooc.em import Record, State, TemperatureRange, online
from skcooc.fitting.plan import Plan
from skcooc.fitting.stream import Batch, Follower, Online, Passes, Position, Stream, Tally
from skcooc.fitting.table import Fitted
from skcooc.heldout.validation import add_one_unigram
from skcooc.protocol import Array, Block, Counts
from skcooc.tables import CheckedBlocks, Table, read_in_memory

if TYPE_CHECKING:
    from skcooc.base.estimator import CooccurrenceEstimator as Estimator

PASS_TOL = 1e-3  # relative fall of the loss, with less of which passes end


def missing(plan: Plan) -> str | None:
    """Why a model cannot follow a stream; None where it can."""
    lacking = [plan.needs[need] for need in plan.needs if need not in CheckedBlocks.offers]
    return lacking[0] if lacking else None


def follows(estimator: Estimator) -> bool:
    """True where an estimator can follow a stream; else AttributeError says why it cannot."""
    try:
        reason = missing(estimator._plan())
    except (TypeError, ValueError):  # fit says what is wrong with the parameters
        return True
    if reason is not None:
        raise AttributeError(f"There is no partial_fit: {reason}.")
    return True


def goes_on(estimator: Estimator) -> bool:
    """Whether a fit of blocks goes on along the stream of an earlier one."""
    return estimator._goes_on and estimator._stream is not None


def begun(estimator: Estimator, plan: Plan, fitted: Fitted, X: Counts) -> attributes.Attributes:
    """What a finished fit leaves for further batches."""
    if missing(plan):
        return {}
    averages = online.averages(fitted.fit.stats, float(fitted.row_mass.sum()))
    return {"_stream": Stream(averages, X.column_sums, estimator._seeds(1)[0])}


def step(estimator: Estimator, plan: Plan, X: object, sample_weight: ArrayLike | None) -> None:
    """Go on with a batch of further rows."""
    estimator._check_shape(plan, "partial_fit", "Fit anew.")
    if estimator._stream is None:
        raise ValueError(
            "partial_fit goes on from a fit that came to its end, with parameters that allow it. "
            "Fit anew."
        )
    start, tally = perf_counter(), Tally()
    table = read_in_memory(estimator, X, sample_weight, reset=False)
    batch, estimator._table = table.sample, table.frame
    _follow(estimator, plan, batch, estimator._stream.column_sums + batch.column_sums, tally)
    _use(estimator, estimator._state.rows, batch.row_sums * batch.row_weights)
    _record(estimator, tally, start, converged=False)
    estimator._passes = None


def fit_blocks(estimator: Estimator, plan: Plan, table: Table) -> None:
    """Fit a sample, then go through the blocks until that helps no more."""
    blocks, passes = cast(CheckedBlocks, table.blocks), Passes()
    if not goes_on(estimator):
        known = attributes.of_input(estimator)
        estimator.__dict__.pop("_state", None)  # also where the fit of a sample was cut short
        _fit_sample(estimator, plan, table.sample)
        estimator.__dict__.update(known)
    elif estimator._passes is None:
        estimator._check_shape(plan, "warm_start=True", "Set warm_start=False to start anew.")
    else:
        kept = cast(Stream, estimator._stream).column_sums
        estimator._check_as_before(np.array_equal(cast(Array, blocks.column_sums), kept))
        passes = estimator._passes
    estimator._table = table.frame
    _go_through(estimator, plan, blocks, passes)


def _fit_sample(estimator: Estimator, plan: Plan, sample: Block) -> None:
    """Fit rows to begin with, less what the passes hold out of them."""
    seed, batch = estimator._seeds(1)[0], Batch(sample)
    if _searched(estimator, plan)(sample):
        batch = batch.divided(estimator.validation_fraction, seed)
    estimator.fit(batch.X.table, sample_weight=batch.X.weights)
    estimator._stream = cast(Stream, estimator._stream)._replace(seed=seed)


@with_callbacks
def _go_through(estimator: Estimator, plan: Plan, blocks: CheckedBlocks, passes: Passes) -> None:
    """Passes over the blocks, a step for each block."""
    max_passes, totals = blocks.blocks.max_passes, cast(Array, blocks.column_sums)
    root, data = estimator._init_callback_context(max_subtasks=max_passes), {"estimator": estimator}
    root.call_on_fit_task_begin(**data)
    stopped = False
    while passes.number < max_passes and not (passes.converged or stopped):
        task = root.subcontext(task_name=PASS, max_subtasks=0).call_on_fit_task_begin(**data)
        start, tally = perf_counter(), Tally()
        for block in blocks:
            if block.column_sums.any():
                _follow(estimator, plan, block, totals, tally)
        converged = passes.loss - tally.loss <= PASS_TOL * abs(tally.loss)
        passes = estimator._passes = Passes(passes.number + 1, tally.loss, converged)
        _use(estimator, estimator._state.rows[:0], np.empty(0))
        _record(estimator, tally, start, converged)
        stopped = task.call_on_fit_task_end(**data, reconstruction_attributes=dict)
    estimator._passes = None
    root.call_on_fit_task_end(**data)


def _follow(estimator: Estimator, plan: Plan, X: Block, totals: Array, tally: Tally) -> None:
    """One step: it changes parameters, temperature, smoothing and stream, and nothing else."""
    follower = Follower(
        cast(Online, estimator._fitted_model),
        _searched(estimator, plan),
        estimator.validation_fraction,
        estimator.smoothing,
        estimator.unigram_,
        estimator.n_jobs,
    )
    now = Position(
        *estimator._state, estimator.beta_, estimator.smoothing_, cast(Stream, estimator._stream)
    )
    params, rows, beta, smoothing, stream = follower.step(now, X, totals, tally)
    estimator._state, estimator._stream = State(params, rows), stream
    estimator.beta_, estimator.smoothing_ = beta, smoothing


def _searched(estimator: Estimator, plan: Plan) -> Callable[[Block], TemperatureRange | None]:
    """Where the temperature of counts may be; None where it is given, or there is one."""

    def search(X: Block) -> TemperatureRange | None:
        within = plan.temperatures(X) if estimator.beta == "auto" else None
        return within if within and within.low < within.high else None

    return search


def _use(estimator: Estimator, rows: Array, row_mass: Array) -> None:
    """Make attributes of the parameters, and of these rows with so many observations."""
    unigram = add_one_unigram(cast(Stream, estimator._stream).column_sums)
    settings = estimator.beta_, estimator.smoothing_, unigram, row_mass
    state = State(estimator._state.params, rows)
    usable = attributes.usable(estimator._fitted_model, state, *settings)
    estimator.__dict__.update(usable)


def _record(estimator: Estimator, tally: Tally, start: float, converged: bool) -> None:
    log_prior = estimator._fitted_model.log_prior(estimator._state.params, estimator.beta_)
    objective = tally.free_energy - log_prior
    record = Record(estimator.beta_, objective, tally.perplexity, perf_counter() - start)
    estimator.history_ = [*estimator.history_, record]
    estimator.n_iter_ += 1
    estimator.objective_, estimator.converged_ = objective, converged
