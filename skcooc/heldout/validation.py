"""Observations held out of a fit: how well they are predicted, and the smoothing they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from skcooc.heldout.predictors import (
    LEAST_SMOOTHING,
    Factors,
    Known,
    best_smoothing,
    log_cells,
    smoothed,
)
from skcooc.protocol import Array, Block, Model, Params, Predictor, Rows

DEFAULT_SMOOTHING = 1e-3  # where nothing is held out to estimate it


class Validation(NamedTuple):
    """Perplexity on held-out observations, at this smoothing."""

    perplexity: float
    smoothing: float


class Division(NamedTuple):
    """How observations are held out, and judged; see ``hold_out``."""

    fraction: float
    seed: int
    smoothing: float | Literal["auto"]


class Judged(NamedTuple):
    """What was predicted of observations held out, by the best fit to the others."""

    division: Division  # which they are
    predicted: Known


@dataclass(frozen=True)
class HeldOut:
    """Held-out observations of the rows that are fitted."""

    X: Block  # (N, M): row by row beside those fitted
    background: Array  # (M,): unigram of the training observations, which smooths predictions
    smoothing: float | None = None  # weight of the background; None estimates it on X

    def __call__(self, model: Model, params: Params, rows: Rows) -> Validation:
        """Score parameters and row states."""
        return self.score(self.predicted(model, params, rows))

    def predicted(self, model: Model, params: Params, rows: Rows) -> Known:
        """What parameters and row states predict of them."""
        return Known(Factors(*model.predicting(params, rows)).cells(self.X))

    def score(self, predictor: Predictor) -> Validation:
        """Score predictions for these rows; ValueError where they are no numbers."""
        known, s = Known(predictor.cells(self.X)), self.smoothing
        if s is None:
            s = best_smoothing(known, self.background, self.X)
        counts, logs = self.X.observations, log_cells(smoothed(known, self.background, s), self.X)
        perplexity = float(np.exp(-(counts * logs).sum() / counts.sum()))
        if np.isnan(perplexity):
            raise ValueError(
                "What is held out has no perplexity: the counts of X, or their weights, are too "
                "many orders of magnitude apart. Leave out rows that sum to next to nothing."
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
    """Divide counts into what is fitted and what is held out.

    ValueError where either is empty; ``purpose`` ends its message: what for, and what else to do.
    """
    rest, drawn = X.divide(fraction, seed)
    if not (rest.observations.any() and drawn.observations.any()):
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.row_sums.sum():g} observation(s), too "
            f"few to hold out validation_fraction={fraction} of them {purpose}"
        )
    return rest, HeldOut(
        drawn, add_one_unigram(rest.column_sums, rest.grain), judged_with(smoothing)
    )


def judged_with(asked: float | Literal["auto"]) -> float | None:
    """The smoothing with which held-out observations are scored; None where they choose it.

    Without any a single impossible observation would make all validations infinite.
    """
    return None if asked == "auto" else max(asked, LEAST_SMOOTHING)


def chosen_smoothing(asked: float | Literal["auto"], validation: Validation | None) -> float:
    """The smoothing given; else what held-out observations asked for; else a small constant."""
    if asked != "auto":
        return float(asked)
    return DEFAULT_SMOOTHING if validation is None else validation.smoothing


def add_one_unigram(column_sums: Array, grain: float) -> Array:
    """The distribution (m_j + g) / (L + M g) of the columns, (M,), of how often each was observed.

    One observation more of each weighs what others do: g is 1 of counts, and little where shares
    of rows are given, of which a row has but one in all.
    """
    return (column_sums + grain) / (column_sums.sum() + grain * len(column_sums))
