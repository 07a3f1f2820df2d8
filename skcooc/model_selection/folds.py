"""Folds of observations and folds of rows: what is fitted, and how it is scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from skcooc.heldout.scoring import check_rows_known
from skcooc.model_selection.splits import ObservationSplit
from skcooc.model_selection.target import Params, Target
from skcooc.protocol import Array, TableLike
from skcooc.tables import Dyads

Folding: TypeAlias = int | BaseCrossValidator | Iterable[tuple[Array, Array]] | None

N_FOLDS = 10
SPLIT_SEED = 0  # of the folds where only their number is given


class Data(NamedTuple):
    """What an estimator is fitted to."""

    X: TableLike  # or what else the first step of a pipeline takes
    y: ArrayLike | None
    params: Params


class Fold(Protocol):
    """A part of the data that is scored, and the rest that is fitted."""

    @property
    def training(self) -> Data:
        """What is fitted."""

    def score(self, model: BaseEstimator) -> float:
        """Mean log-likelihood of the other part under a model fitted to this one, in nats."""


@dataclass(frozen=True)
class RowFold:
    """Other rows than those fitted: half of the observations of each are scored."""

    estimator: BaseEstimator
    data: Data
    train: Array
    test: Array

    @property
    def training(self) -> Data:
        """The rows fitted."""
        X, y = _safe_split(self.estimator, self.data.X, self.data.y, self.train)
        return Data(X, y, _check_method_params(self.data.X, self.data.params, self.train))

    def score(self, model: BaseEstimator) -> float:
        """Score the other rows."""
        y = None if self.data.y is None else _safe_indexing(self.data.y, self.test)
        return float(model.score(_safe_indexing(self.data.X, self.test), y))


@dataclass(frozen=True)
class ObservationFold:
    """Other observations of the rows that are fitted."""

    target: Target
    dyads: Dyads
    params: Params
    train: Array
    test: Array

    @property
    def training(self) -> Data:
        """The table of the observations fitted."""
        return Data(self.dyads[self.train].to_csr(), None, self.params)

    @property
    def scored(self) -> Dyads:
        """The other observations, with the weights of their rows."""
        dyads, weights = self.dyads[self.test], self.target.weights(self.params)
        return dyads if weights is None else dyads.reweighted(weights[dyads.rows])

    def score(self, model: BaseEstimator) -> float:
        """Score the other observations."""
        dyads = self.scored
        last, steps = self.target.parts(model)
        if steps is not None:
            dyads = Dyads(steps.transform(dyads.to_csr()))
        return float(last.score(dyads))


def divided(
    split: str, estimator: BaseEstimator, target: Target, data: Data, cv: Folding, params: Params
) -> Sequence[Fold]:
    """Folds of rows or of observations, by a splitter with its parameters, or by their number."""
    cv = N_FOLDS if cv is None else cv
    if split == "observations":
        return observation_folds(target, data, cv, params)
    if isinstance(data.X, Dyads):
        raise TypeError(
            "split='rows' divides the rows of a matrix, got Dyads, whose samples are observations. "
            "Use X.to_csr()."
        )
    parts = check_cv(cv).split(data.X, data.y, **params)
    return [RowFold(estimator, data, *part) for part in parts]


def observation_folds(
    target: Target, data: Data, cv: Folding, split_params: Params
) -> list[ObservationFold]:
    """Folds of the observations of a table; TypeError where a pipeline is given Dyads."""
    X, params = data.X, data.params
    if isinstance(X, Dyads):
        if target.has_steps:
            raise TypeError(
                "The steps before the last one transform tables, got Dyads. Use X.to_csr()."
            )
        # Weights are counted into the observations; what is left concerns rows, which all stay.
        weights, params = target.weights(params), target.unweighted(params)
        X = X if weights is None else X.reweighted(weights)
    else:
        X = Dyads(X)
    if isinstance(cv, Integral):
        cv = ObservationSplit(int(cv), random_state=SPLIT_SEED)
    parts = check_cv(cv).split(X, None, **split_params)
    return [_observation_fold(target, X, params, *part) for part in parts]


def _observation_fold(
    target: Target, X: Dyads, params: Params, train: Array, test: Array
) -> ObservationFold:
    """A fold; a warning where most of its rows are not in what is fitted."""
    check_rows_known(np.bincount(X.rows[train], minlength=X.table_shape[0]), X.rows[test])
    return ObservationFold(target, X, params, train, test)
