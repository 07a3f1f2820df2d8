"""New rows: folded into fixed parameters, or as batches of a stream that the model follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from skcooc.counts.passes import n_threads, threads
from skcooc.em import online
from skcooc.em.online import StreamTemperature, track_beta
from skcooc.em.stages import unknown_rows
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.validation import validation_smoothing
from skcooc.line_search import TemperatureRange
from skcooc.loops.fold_in import solve_mixtures
from skcooc.protocol import Array, Block, FoldIn, OnlineModel, P, Params, Rows, S, Statistics

FOLD_IN_TOL = 1e-5  # largest change of a mixture proportion
FOLD_IN_ITERATIONS = 200
INNER_ITERATIONS = 10  # E-steps in which the rows of a batch are folded in
PASS_TOL = 1e-3  # relative fall of the loss, below which passes end

Online = OnlineModel[Params, Statistics]


def fold_in(
    model: FoldIn[P, S],
    params: P,
    beta: float,
    X: Block,
    n_jobs: int | None,
    start: Rows | None = None,
    max_iter: int = FOLD_IN_ITERATIONS,
) -> Rows:
    """Return the states of new rows at fixed parameters, (n, k), from those given or of empty rows.

    A row is left alone once it has converged, so that it does not depend on the others. Where rows
    are mixtures of components, all rows are solved at once.
    """
    solve = partial(solve_rows, model, params, beta, start=start, max_iter=max_iter)
    return over_rows(solve, X, n_jobs)


def solve_rows(
    model: FoldIn[P, S],
    params: P,
    beta: float,
    X: Block,
    start: Rows | None = None,
    max_iter: int = FOLD_IN_ITERATIONS,
) -> Rows:
    """Return what `fold_in` does, with the threads that X has already."""
    rows = np.array(unknown_rows(params, X)) if start is None else start
    X, columns = X.occupied()
    params = model.restrict(params, columns)
    fixed = model.fixed(X, params, beta)
    if fixed is not None:
        return solve_mixtures(X, fixed, rows, FOLD_IN_TOL, max_iter)
    active = np.arange(X.shape[0])
    rows, _ = model.expect(X, params, rows, beta)
    for _ in range(max_iter - 1):  # on the rows that still move by more than FOLD_IN_TOL
        new, _ = model.expect(X, params, rows[active], beta)
        moving = np.abs(new - rows[active]).max(axis=1) > FOLD_IN_TOL
        rows[active] = new
        if not moving.any():
            break
        if not moving.all():
            active = active[moving]
            X = X.take(np.flatnonzero(moving))
    return rows


def over_rows(function: Callable[[Block], Rows], X: Block, n_jobs: int | None) -> Rows:
    """function(X), where the passes over these rows use threads."""
    n = n_threads(n_jobs)
    with threads(n) as map:
        return function(X.with_threads(n, map))


class Stream(NamedTuple):
    """Summary of the batches seen."""

    averages: online.Averages
    column_sums: Array  # (M,): tokens of each column
    mean_count_weight: float  # of a token, in the first batch
    seed: int  # of the held-out tokens of its batches
    direction: int = 1  # in which the next temperature is tried
    held_out: float | None = None  # share of tokens; None before the first step


class Passes(NamedTuple):
    """Progress of a fit over blocks, in addition to the stream."""

    number: int = 0  # of those done
    loss: float = np.inf  # of the last
    converged: bool = False

    def after(self, loss: float) -> Passes:
        """Return the progress after one more pass."""
        return Passes(self.number + 1, loss, self.loss - loss <= PASS_TOL * abs(loss))


class Position(NamedTuple):
    """Model on its way along a stream."""

    params: Params
    rows: Rows  # of the last batch
    beta: float
    smoothing: float
    stream: Stream

    def with_columns(self, model: Online, n_columns: int) -> Position:
        """Return the same model of a table that has more columns, without counts so far."""
        sums = self.stream.column_sums
        if n_columns == len(sums):
            return self
        sums = np.pad(sums, (0, n_columns - len(sums)))
        return self._replace(
            params=model.among(self.params, np.arange(len(self.stream.column_sums)), n_columns),
            stream=self.stream._replace(column_sums=sums),
        )


@dataclass(frozen=True)
class Batch:
    """Rows of a stream."""

    X: Block  # (n, M): tokens to learn from
    heldout: Block | None = None  # the other tokens, where the temperature follows the stream

    @property
    def n_heldout(self) -> float:
        """Number of held-out tokens."""
        return 0.0 if self.heldout is None else float(self.heldout.weighted_counts.sum())

    def divided(self, fraction: float, seed: int) -> Batch:
        """Return the batch with this share of the tokens held out, unless there are too few.

        It is the same part whenever a row comes again, so that it is never learnt.
        """
        train, heldout = self.X.divide(fraction, seed)
        if not (train.weighted_counts.any() and heldout.weighted_counts.any()):
            return self
        return Batch(train, heldout)


def held_out_share(fraction: float, n_tokens: float) -> float:
    """Return the share of batches with so many tokens that is held out: what a step needs."""
    return min(fraction, online.FULL_STEP_TOKENS / max(n_tokens, 1.0))


@dataclass
class ProgressiveLoss:
    """Loss on batches before the model learns from them."""

    free_energy: float = 0.0  # nats
    log_loss: float = 0.0  # of what was held out, nats
    n_tokens: float = 0.0  # held out

    def add(self, free_energy: float, validation: Validation | None, n_tokens: float) -> None:
        self.free_energy += free_energy
        if validation is not None:
            self.log_loss += n_tokens * float(np.log(validation.perplexity))
            self.n_tokens += n_tokens

    @property
    def perplexity(self) -> float:
        """Perplexity of the held-out tokens; NaN where there are none."""
        return float(np.exp(self.log_loss / self.n_tokens)) if self.n_tokens else np.nan

    @property
    def loss(self) -> float:
        """Loss in nats, held-out where possible: free energies at different beta do not compare."""
        return self.log_loss / self.n_tokens if self.n_tokens else self.free_energy


@dataclass(frozen=True)
class StreamTrainer:
    """Makes steps of stepwise EM."""

    model: Online
    search: Callable[[Block], TemperatureRange | None]  # where the temperature follows the stream
    validation_fraction: float  # of a batch, held out at most where there is such a range
    smoothing: float | Literal["auto"]  # as asked for; "auto" follows the stream, too
    background: Array  # (M,): the unigram of the batches before
    n_jobs: int | None
    whole: bool  # whether columns without tokens take part in the steps

    def step(self, now: Position, X: Block, totals: Array, tally: ProgressiveLoss) -> Position:
        """Make one step with a batch, and add the batch to the tally.

        After it the mean of all batches stands for these totals of columns, (M,).
        """
        stream = now.stream
        within = self.search(X)
        batch = Batch(X.astype(now.params.weights.dtype))
        held_out = stream.held_out
        if held_out is None:
            held_out = held_out_share(self.validation_fraction, float(X.column_sums.sum()))
        if within:
            batch = batch.divided(held_out, stream.seed)
        judge = None
        if batch.heldout is not None:
            smoothing = validation_smoothing(self.smoothing)
            judge = HeldOut(batch.heldout, self.background, smoothing)
        n = n_threads(self.n_jobs)
        with threads(n) as map:
            X = batch.X.with_threads(n, map)
            params = online.smooth_for_new_columns(
                self.model, now.params, stream.averages, totals, X.column_sums
            )

            def fold(beta: float) -> tuple[Rows, Validation | None]:
                """Fold the rows in by a few E-steps, and predict the held-out tokens."""
                equations = self.model.batch_equations()
                rows = solve_rows(equations, params, beta, X.as_new(), max_iter=INNER_ITERATIONS)
                return rows, judge(self.model, params, rows) if judge else None

            temperature, rows, validation = track_beta(
                StreamTemperature(now.beta, stream.direction),
                within or TemperatureRange(now.beta, now.beta),
                batch.n_heldout,
                fold,
            )
            beta = temperature.beta
            columns = np.arange(len(totals)) if self.whole else np.flatnonzero(totals)
            step = online.step(self.model, X, params, rows, beta, stream.averages, totals, columns)
        tally.add(step.free_energy, validation, batch.n_heldout)
        smoothing = now.smoothing if self.smoothing == "auto" else self.smoothing
        if validation is not None and self.smoothing == "auto":
            weight = online.step_size(stream.averages, float(X.column_sums.sum()))
            smoothing += weight * (validation.smoothing - smoothing)
        stream = stream._replace(
            averages=step.averages,
            column_sums=totals,
            direction=temperature.direction,
            held_out=held_out,
        )
        return Position(step.params, step.rows, beta, smoothing, stream)
