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


def add_one_unigram(X: Any) -> Array:
    """Unigram of counts, or of a stream, with one more token in each column, (M,)."""
    return add_one(X.column_sums, X.mean_count_weight)
