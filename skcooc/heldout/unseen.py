"""Columns that the known part of a row has, and those that it has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.heldout.lookup import rows_of, values_at
from skcooc.heldout.predictors import log_cells
from skcooc.protocol import Array, Block, Predictor


@dataclass(frozen=True)
class Unseen:
    """What is predicted of a row, given that the column is one that its known part has not.

        P(y_j given x_i, unseen) = P(y_j given x_i) / (1 - sum_{l: n_il > 0} P(y_l given x_i))

    where n_ij = 0, and zero elsewhere. What a row repeats has no part in it: a memory of the row,
    which divides what it leaves among all columns as the model does, changes nothing.

    Parameters
    ----------
    known : counts of shape (N, M)
        The n_ij. Their non-zeros are all that is looked at.
    predictor : predictor
        Of the same rows.
    """

    known: Block
    predictor: Predictor

    def cells(self, X: Block) -> Array:
        """These probabilities at the non-zeros of further counts, (nnz,), float64."""
        P = np.where(seen(self.known, X), 0, self.predictor.cells(X))
        at_known = np.where(self.known.table.data > 0, self.predictor.cells(self.known), 0)
        left = (1 - self.known.summed(at_known))[rows_of(X.table)]
        left = np.maximum(left, P)  # of which P is a part: nothing is left but for rounding
        return P / np.where(left > 0, left, 1)


class Parts(NamedTuple):
    """Held-out observations in two parts, and the mean log-likelihood of each, nats.

    The mean of all is ``seen_share * seen + (1 - seen_share) * unseen``. A mean of nothing is NaN.
    """

    seen_share: float  # of the observations: those whose column the known part of the row has
    seen: float  # log P(y given x) of these
    unseen: float  # of the others
    renormalised: float  # of the others too, given that they are such: log of `Unseen`


def score_parts(X: Block, predictor: Predictor, known: Block) -> Parts:
    """The parts of counts of rows of which others are known."""
    n, logs, repeats = X.observations, log_cells(predictor, X), seen(known, X)
    new = np.where(repeats, 0, n)
    given = log_cells(Unseen(known, predictor), X)
    share = np.where(repeats, n, 0).sum() / n.sum()
    return Parts(float(share), _mean(logs, n - new), _mean(logs, new), _mean(given, new))


def seen(known: Block, X: Block) -> Array:
    """Whether the known part of its row has the column of each non-zero of X, (nnz,)."""
    return values_at(known.table, rows_of(X.table), X.indices) > 0


def _mean(values: Array, weights: Array) -> float:
    counted = weights > 0  # an impossible one that does not count would give NaN
    if not counted.any():
        return float("nan")
    return float(np.average(values[counted], weights=weights[counted]))
