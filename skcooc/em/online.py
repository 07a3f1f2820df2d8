"""Stepwise EM along a stream: batches of rows, whose statistics are blended, and their temperature.

More rows bear a larger beta: that of the first batch is too small for those that follow. So beta
follows what the held-out tokens of each batch ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skcooc.heldout import Validation
from skcooc.heldout.validation import new_share
from skcooc.line_search import TemperatureRange
from skcooc.protocol import Array, Block, OnlineModel, Rows

DECAY = 0.5  # of the step sizes
UNIGRAM_SHARE = 0.5  # share of the unigram in the components of the start
N_STEPS = 25  # from one end of the range to the other
FULL_STEP_TOKENS = 1000.0  # held-out tokens that are worth a step; with fewer it is as much shorter


class Averages(NamedTuple):
    """Expected statistics per token: a mean in which later batches count more."""

    stats: Any
    n_tokens: float  # of all batches
    n_batches: int
    columns: Array | None = None  # (m,): those of the statistics, in order; None: the first


class Step(NamedTuple):
    """Result of one batch."""

    params: Any
    rows: Rows  # of the batch
    averages: Averages
    free_energy: float  # of the batch, nats; before the step


def averages(stats: Any, n_tokens: float, columns: Array | None = None) -> Averages:
    """Return the statistics of a first batch, per token; they may have some columns alone, (m,)."""
    return Averages(scale_statistics(stats, 1 / n_tokens), n_tokens, 1, columns)


def step_size(averages: Averages, n_tokens: float) -> float:
    """Weight of a batch in the mean: (t + 1)^-DECAY for the batch after t others.

    Proportional to the tokens of the batch over those of a mean batch, so that a small batch at the
    end of a table counts less.

    >>> round(step_size(Averages(None, n_tokens=300.0, n_batches=3), 100.0), 3)
    0.5
    >>> round(step_size(Averages(None, n_tokens=300.0, n_batches=3), 10.0), 3)
    0.065
    """
    n_batches = averages.n_batches + 1
    share = n_tokens * n_batches / (averages.n_tokens + n_tokens)
    return min(1.0, share * n_batches**-DECAY)


def blend(averages: Averages, stats: Any, n_tokens: float) -> Averages:
    """Return the mean after one more batch."""
    weight = step_size(averages, n_tokens)
    batch = scale_statistics(stats, weight / n_tokens)
    pairs = zip(averages.stats, batch, strict=True)
    mean = type(stats)(*(old * (1 - weight) + new for old, new in pairs))
    n_tokens += averages.n_tokens
    return averages._replace(stats=mean, n_tokens=n_tokens, n_batches=averages.n_batches + 1)


def with_columns(model: OnlineModel, averages: Averages, columns: Array) -> Averages:
    """Return the statistics of these columns, (m,), with zeros for new ones.

    Those that are left out have no tokens.
    """
    stats = averages.stats
    arrays = {name: getattr(stats, name) for name in model.column_statistics}
    before = averages.columns
    if before is None:
        before = np.arange(len(arrays[model.column_statistics[0]]))
    if not np.array_equal(before, columns):
        stay = np.isin(before, columns)
        places = np.searchsorted(columns, before[stay])
        for name, old in arrays.items():
            arrays[name] = np.zeros((len(columns), *old.shape[1:]), old.dtype)
            arrays[name][places] = old[stay]
    return averages._replace(stats=stats._replace(**arrays), columns=columns)


def step(
    model: OnlineModel,
    X: Block,
    params: Any,
    rows: Rows,
    beta: float,
    averages: Averages,
    totals: Array,
    columns: Array,
) -> Step:
    """Make an E-step on a batch, and an M-step on the mean of all batches.

    The rows (n, k) are folded into the given parameters. In the M-step the mean stands for
    ``totals`` tokens of the columns, (M,), with a prior of the model. In the E-step the batch is
    part of an infinite table, whose columns depend on no single token. Only ``columns`` (m,) take
    part in both.

    O. Cappé and E. Moulines, On-line expectation-maximization algorithm for latent data models,
    Journal of the Royal Statistical Society B 71, 2009; P. Liang and D. Klein, Online EM for
    unsupervised models, NAACL 2009.
    """
    n_tokens = float(X.column_sums.sum())
    if is_narrow := len(columns) < len(totals):
        X = X.within(columns)
        params = model.restrict(params, columns)
    rows, stats = model.expect(X.part_of(np.inf), params, rows, beta)
    averages = blend(with_columns(model, averages, columns), stats, n_tokens)
    total = float(totals.sum())
    params = model.maximize(scale_statistics(averages.stats, total), params, beta)
    if is_narrow:
        share = new_share(model.column_prior, totals, X.mean_count_weight)
        params = model.among(params, columns, len(totals), share)
    return Step(params, rows, averages, float(stats.free_energy))


def smooth_for_new_columns(
    model: OnlineModel, params: Any, averages: Averages, totals: Array, batch: Array
) -> Any:
    """Return parameters that can meet the columns which a batch is the first to have.

    Under EM a probability of zero stays zero. So all components give new columns their share of the
    tokens. After the first batch, to which components were fitted until convergence, they are also
    mixed with the unigram. ``totals`` and ``batch`` are token counts of the columns, (M,).
    """
    components = model.factors(params, params.weights[None])[1]
    new = batch * ~components.any(axis=1)
    if averages.n_batches == 1:
        params = model.mix_with(params, _distribution(totals, components), UNIGRAM_SHARE)
    if new.any():
        share = float(new.sum() / (averages.n_tokens + batch.sum()))
        params = model.mix_with(params, _distribution(new, components), share)
    return params


def _distribution(column_sums: Array, components: Array) -> Array:
    return (column_sums / column_sums.sum()).astype(components.dtype)


def scale_statistics(stats: Any, factor: float) -> Any:
    return type(stats)(*(field * factor for field in stats))


class StreamTemperature(NamedTuple):
    """Inverse temperature of a stream, and the direction in which the next one is tried."""

    beta: float
    direction: int = 1  # 1 towards larger beta, -1 towards smaller


def track_beta(
    now: StreamTemperature,
    within: TemperatureRange,
    n_tokens: float,
    fold_in: Callable[[float], tuple[Rows, Validation | None]],
) -> tuple[StreamTemperature, Rows, Validation | None]:
    """Try the temperature next to the present one, and keep it if it predicts better.

    ``fold_in(beta)`` folds in the batch at a temperature. Where the present one stays, the other
    direction is next. Without held-out tokens nothing is tried.

    >>> def fold_in(beta):
    ...     return np.empty(0), Validation((beta - 0.8) ** 2, 0.0)
    >>> now = StreamTemperature(0.7)
    >>> for batch in range(9):
    ...     now, *_ = track_beta(now, TemperatureRange(0.5, 1.0), 1000.0, fold_in)
    >>> round(now.beta, 2)
    0.8
    """
    rows, validation = fold_in(now.beta)
    if not n_tokens or validation is None:
        return now, rows, validation
    beta = _neighbour(now, within, n_tokens)
    if beta != now.beta:
        other_rows, other = fold_in(beta)
        if other is not None and other.perplexity < validation.perplexity:
            return StreamTemperature(beta, now.direction), other_rows, other
    return StreamTemperature(now.beta, -now.direction), rows, validation


def _neighbour(now: StreamTemperature, within: TemperatureRange, n_tokens: float) -> float:
    """Return the temperature next to the present one, in its direction."""
    step = (within.scaled(within.high) - within.scaled(within.low)) / N_STEPS
    step *= now.direction * min(1.0, n_tokens / FULL_STEP_TOKENS)
    beta = within.unscaled(within.scaled(now.beta) + step)
    return float(np.clip(beta, min(within.low, now.beta), max(within.high, now.beta)))
