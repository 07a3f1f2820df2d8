"""Validation tokens held out of a fit: their perplexity and smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from skcooc.heldout import predictors
from skcooc.heldout.predictors import LEAST_SMOOTHING, CachedPredictions
from skcooc.protocol import Array, Block, Model, Params, Predictor, Rows

DEFAULT_SMOOTHING = 1e-3  # without validation tokens


class Validation(NamedTuple):
    """Perplexity of validation tokens, and the smoothing with which it was computed."""

    perplexity: float
    smoothing: float


class HoldOutOptions(NamedTuple):
    fraction: float
    seed: int
    smoothing: float | Literal["auto"]


class HeldOutPredictions(NamedTuple):
    division: HoldOutOptions  # by which tokens were held out
    predicted: CachedPredictions  # by the best fit to the others


@dataclass(frozen=True)
class HeldOut:
    """Validation tokens of the training rows."""

    X: Block  # (N, M)
    background: Array  # (M,): unigram of the training tokens
    smoothing: float | None = None  # weight of the background; None: estimated on X

    def __call__(self, model: Model, params: Params, rows: Rows) -> Validation:
        return self.score(self.predicted(model, params, rows))

    def predicted(self, model: Model, params: Params, rows: Rows) -> CachedPredictions:
        return CachedPredictions(model.predict(params, rows, self.X))

    def score(self, predictor: Predictor) -> Validation:
        """Perplexity of a predictor; ValueError if it is NaN."""
        predictor = CachedPredictions(predictor.cells(self.X))
        s = self.smoothing
        if s is None:
            s = predictors.best_smoothing(predictor, self.background, self.X)
        counts = self.X.weighted_counts
        smoothed = predictors.smoothed(predictor, self.background, s)
        logs = predictors.log_cells(smoothed, self.X)
        perplexity = float(np.exp(-(counts * logs).sum() / counts.sum()))
        if np.isnan(perplexity):
            raise ValueError(
                "The perplexity of the held-out part of X is NaN: its counts, or weights of rows, "
                "differ by too many orders of magnitude. Drop rows with sums near zero."
            )
        return Validation(perplexity, s)


TO_TUNE = (
    "for beta='auto' or early_stopping=True. Give beta a number, or change validation_fraction."
)


def hold_out(
    X: Block,
    fraction: float,
    seed: int,
    smoothing: float | Literal["auto"],
    *,
    purpose: str = TO_TUNE,
) -> tuple[Block, HeldOut]:
    """Divide counts into a training part and validation tokens; ValueError if either is empty.

    Empty columns of the table do not change which tokens are held out.
    """
    narrow, columns = X.occupied()
    rest, tokens = narrow.divide(fraction, seed)
    if narrow is not X:
        rest = rest.among(columns, X.shape[1])
        tokens = tokens.among(columns, X.shape[1])
    if not (rest.weighted_counts.any() and tokens.weighted_counts.any()):
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.row_sums.sum():g} token(s), too few "
            f"to hold out validation_fraction={fraction} of them {purpose}"
        )
    return rest, HeldOut(tokens, add_one_unigram(rest), validation_smoothing(smoothing))


def validation_smoothing(smoothing: float | Literal["auto"]) -> float | None:
    """The smoothing with which validation tokens are scored; None: estimated on them."""
    # Without smoothing one impossible token makes all perplexities infinite.
    return None if smoothing == "auto" else max(smoothing, LEAST_SMOOTHING)


def chosen_smoothing(smoothing: float | Literal["auto"], validation: Validation | None) -> float:
    if smoothing != "auto":
        return float(smoothing)
    return DEFAULT_SMOOTHING if validation is None else validation.smoothing


def add_one(numbers: Array, weight: float = 1.0) -> Array:
    """Distribution with one more in each column: (m_j + g) / (L + M g), (M,); g is its weight."""
    return (numbers + weight) / (numbers.sum() + weight * len(numbers))


def new_share(prior: float, column_sums: Array, weight: float) -> float:
    """Share of each component that a prior gives to the columns without tokens, all together.

    ``prior`` are the pseudo-counts of a column in all components, ``weight`` is that of a token.
    Empty columns have what the prior gives to new words, in all components alike, since nobody
    knows what they are about. Of tables of hashed words most columns are no words at all. So the
    prior counts for as many of them as there are columns with one token, and one more: after Good
    and Turing, a further token is new as often as one so far was the only one of its column.

    >>> round(new_share(0.5, np.array([6.0, 1.0, 0.0, 0.0, 0.0]), 1.0), 3)  # 1 / (7 + 1 + 1)
    0.111
    """
    n_occupied = np.count_nonzero(column_sums)
    n_once = np.count_nonzero((column_sums > 0) & (column_sums <= weight))
    n_new = min(len(column_sums) - n_occupied, n_once + 1)
    return float(prior * n_new / (column_sums.sum() + prior * (n_occupied + n_new)))


def add_one_unigram(X: Any) -> Array:
    """Unigram of counts, or of a stream, with one more token in each column, (M,)."""
    return add_one(X.column_sums, X.mean_count_weight)
