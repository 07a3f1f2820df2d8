"""How well held-out observations are predicted: methods of all estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from skcooc.protocol import Array, TableLike


class Scoring(Protocol):
    """What is asked of a fitted model."""

    _score_samples: Callable[[TableLike], tuple[Array, Array]]  # of samples, and their weights
    score: Callable[[TableLike], float]


def score_samples(self: Scoring, X: TableLike) -> Array:
    """Log-likelihood of held-out observations, in nats for each.

    For that of whole new rows see ``row_log_likelihood``.

    Parameters
    ----------
    X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
        Observations of the rows fitted (Dyads), or new rows (anything else): half of the
        observations of a new row are folded in, and the other half is scored.

    Returns
    -------
    log_likelihood : (n_samples,) array
        Of each observation (Dyads); the mean over the scored observations of each row
        (otherwise), which is zero for a row that has none.

    Warns
    -----
    UserWarning
        Where most of the observations (Dyads) are of rows of which none was fitted, as in
        folds in the order of the observations.
    """
    return self._score_samples(X)[0]


def score(self: Scoring, X: TableLike, y: object = None) -> float:
    """Mean log-likelihood of held-out observations, in nats; larger is better.

    Parameters
    ----------
    X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
        As in ``score_samples``.
    y : None
        Ignored.

    Returns
    -------
    score : float
    """
    samples, weights = self._score_samples(X)
    if not weights.any():
        raise ValueError("X holds no observations to score: all entries are zero.")
    counted = weights > 0  # an impossible observation of weight zero would give NaN
    return float(np.average(samples[counted], weights=weights[counted]))


def perplexity(self: Scoring, X: TableLike) -> float:
    """exp(-score(X)): among how many columns the model seems to guess.

    Parameters
    ----------
    X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)

    Returns
    -------
    perplexity : float
    """
    return float(np.exp(-self.score(X)))
