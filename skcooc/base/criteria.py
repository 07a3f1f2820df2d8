"""Information criteria: how many parameters a fitted model has, and whether they are worth it.

Methods of all estimators, which stand here since they are a subject of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcooc.base.predictions import Predictions
from skcooc.heldout.scoring import score_rows
from skcooc.protocol import Array, TableLike
from skcooc.simplex import log
from skcooc.tables import Dyads


class Evidence(NamedTuple):
    """What criteria weigh."""

    log_likelihood: float  # sum of log P(x, y), nats
    n_observations: float
    n_parameters: int


def n_parameters(self: Predictions) -> int:
    """Number of free parameters of P(x, y), those of the rows fitted included."""
    check_is_fitted(self)
    if not len(self.embedding_):
        raise AttributeError("n_parameters_ counts rows: of a table in blocks none are kept.")
    return _free(self, len(self.embedding_))


def aic(self: Predictions, X: TableLike) -> float:
    """Akaike's information criterion of the model for X; lower is better.

    Twice the number of parameters, less twice the log-likelihood: see ``bic``.

    Parameters
    ----------
    X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
        As in ``bic``.

    Returns
    -------
    aic : float
    """
    evidence = _evidence(self, X)
    return 2 * (evidence.n_parameters - evidence.log_likelihood)


def bic(self: Predictions, X: TableLike) -> float:
    """Bayesian information criterion of the model for X; lower is better.

    The number of parameters times log L, where L is the number of observations, less twice their
    log-likelihood. This is the sum of log P(x_i, y_j): of log P(y_j given x_i), smoothed, as in
    ``score``, and of log P(x_i) = log n_i / L, which is the same for all models.

    Both are of the observations that the rows know, and so are not honest where rows have mixtures
    of their own, unless the penalty makes up for it. They are meant for maximum likelihood: with
    beta below 1, with smoothing, and where posteriors stand for rows, they are heuristics.
    ``score`` and ``TemperatureSearchCV`` ask observations that were held out.

    Parameters
    ----------
    X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
        Observations of the rows fitted, with the mixtures fitted (Dyads); or new rows (anything
        else), which are folded in with all of their observations, and have parameters, too. Of the
        table fitted both say nearly the same, but where ``transform`` of the rows fitted is
        something else than ``embedding_``.

    Returns
    -------
    bic : float

    Raises
    ------
    ValueError
        Where X has no observations.

    Examples
    --------
    >>> from skcooc import AspectModel, Dyads
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(40, 30, n_components=3, n_observations=4000, random_state=0).X
    >>> models = [AspectModel(K, beta=1, random_state=0).fit(X) for K in (1, 2, 3, 4)]
    >>> [model.n_parameters_ for model in models]  # (N + M - 1) K - 1
    [68, 137, 206, 275]
    >>> len(min(models, key=lambda model: model.bic(Dyads(X))).components_)
    3
    """
    evidence = _evidence(self, X)
    penalty = evidence.n_parameters * float(np.log(evidence.n_observations))
    return penalty - 2 * evidence.log_likelihood


def _evidence(self: Predictions, X: TableLike) -> Evidence:
    check_is_fitted(self)
    if isinstance(X, Dyads):
        samples, weights = self._score_samples(X)
        n_rows, sizes = len(self.embedding_), np.bincount(X.rows, weights)
    else:
        rows = self._checked(X)
        samples, weights = score_rows(rows, self._predictor(rows))
        n_rows, sizes = len(weights), weights
    total = float(weights.sum())
    if not total:
        raise ValueError("X holds no observations to score: all entries are zero.")
    counted = weights > 0  # an impossible observation of weight zero would give NaN
    log_likelihood = float(np.sum(weights[counted] * samples[counted]))
    return Evidence(log_likelihood + _of_rows(sizes / total, total), total, _free(self, n_rows))


def _of_rows(shares: Array, total: float) -> float:
    """Sum of log P(x_i) over the observations, at the shares of the rows, nats."""
    return total * float(np.sum(shares * log(shares)))


def _free(self: Predictions, n_rows: int) -> int:
    """Those of P(y given x), which the equations count, and those of P(x)."""
    free: int = self._fitted_model.free_parameters(self._state.params, n_rows)
    return free + n_rows - 1
