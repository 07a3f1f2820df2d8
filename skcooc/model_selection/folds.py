"""Folds of tokens and of rows: the part fitted, the part scored, and how it is scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, check_cv, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state, check_scalar

from skcooc import counts, tables
from skcooc.counts import TextsError
from skcooc.heldout.scoring import warn_about_unknown_rows
from skcooc.protocol import CSR, Array, Block, RandomState, TableLike
from skcooc.protocol.scikit_learn import (
    check_method_params,
    num_samples,
    safe_indexing,
    safe_split,
)
from skcooc.tables import DiskTable, Dyads, RowBlocks, Triads

ParamMapping: TypeAlias = Mapping[str, object]  # parameters by name
Folding: TypeAlias = int | BaseCrossValidator | Iterable[tuple[Array, Array]] | None

N_FOLDS = 10
Listed = TypeVar("Listed", Dyads, Triads)
SPLIT_SEED = 0  # of the folds where only their number is given


@overload
def split_counts(
    X: Listed, test_size: float = 0.1, random_state: RandomState = None
) -> tuple[Listed, Listed]: ...
@overload
def split_counts(
    X: TableLike, test_size: float = 0.1, random_state: RandomState = None
) -> tuple[CSR, CSR]: ...
def split_counts(X: Any, test_size: float = 0.1, random_state: RandomState = None) -> Any:
    """Divide the tokens of a table into two tables of the same shape.

    A count of n is n tokens, divided between both parts. To evaluate recommendations, hold out
    whole cells instead: a cell divided here is known, so that mostly small counts would be tested.

    Parameters
    ----------
    X : Dyads, Triads, or array-like, sparse array or matrix, DataFrame of shape (N, M)
        Tokens or counts.
    test_size : float in (0, 1), default=0.1
        Share of the tokens in the second part; for a matrix the expected share, since tokens are
        drawn independently.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X_train, X_test : Dyads, Triads, or CSR arrays of shape (N, M)
        Integers if those of X are.

    Raises
    ------
    ValueError
        If counts are negative or not finite, or ``test_size`` is not in (0, 1).

    Examples
    --------
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import split_counts
    >>> X = make_cooccurrences(random_state=0).X
    >>> X_train, X_test = split_counts(X, random_state=0)
    >>> int(X_train.sum() + X_test.sum()) == int(X.sum())
    True
    """
    limits = {"min_val": 0, "max_val": 1, "include_boundaries": "neither"}
    check_scalar(test_size, "test_size", Real, **limits)
    if isinstance(X, (Dyads, Triads)):
        train, test = train_test_split(X, test_size=test_size, random_state=random_state)
        return train, test
    if isinstance(X, RowBlocks | DiskTable):
        raise TypeError(f"X is a {type(X).__name__}: give its blocks, one at a time.")
    with counts.explained(X):
        checked = check_array(
            counts.check_sparse_structure(X), accept_sparse="csr", ensure_non_negative=True
        )
    X = counts.float_table(checked)
    counts.check_total(X.data.sum(dtype=np.float64))
    train, test = counts.divide(X, test_size, check_random_state(random_state).random_sample(X.nnz))
    dtype = np.int64 if checked.dtype.kind in "iub" else X.dtype
    return train.astype(dtype, copy=False), test.astype(dtype, copy=False)


class CountSplit(BaseCrossValidator):
    """Cross-validation over the tokens of each row.

    Each row is divided evenly among the folds: numbers of tokens differ by at most one, so a row
    with two tokens or more is part of every training set.

    Read more in the :doc:`user guide </guide/heldout>`.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds, at least 2.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> from skcooc import Dyads
    >>> from skcooc.model_selection import CountSplit
    >>> dyads = Dyads([[2, 2], [3, 1]])
    >>> folds = CountSplit(n_splits=2, random_state=0).split(dyads)
    >>> [dyads[test].to_csr().sum(axis=1).tolist() for train, test in folds]
    [[2.0, 2.0], [2.0, 2.0]]
    """

    def __init__(self, n_splits: int = 10, *, random_state: RandomState = None) -> None:
        check_scalar(n_splits, "n_splits", Integral, min_val=2)
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        return self.n_splits

    def split(
        self, X: Dyads | Triads, y: object = None, groups: object = None
    ) -> Iterator[tuple[Array, Array]]:
        """Positions of the training and of the test tokens of each fold.

        Parameters
        ----------
        X : Dyads or Triads
            The first way of Triads are their rows.
        y, groups : None
            Ignored.

        Yields
        ------
        train, test : arrays of int

        Raises
        ------
        TypeError
            If X is neither Dyads nor Triads: the tokens of a matrix have no positions.
        """
        if not isinstance(X, (Dyads, Triads)):
            raise TypeError(
                f"CountSplit divides Dyads, got {type(X).__name__}. Use Dyads(X), or "
                "split_counts(X) for one division of a matrix."
            )
        counted = np.arange(len(X)) if X.weights is None else np.flatnonzero(X.weights)
        n = len(counted)
        if n < self.n_splits:
            raise ValueError(
                f"Cannot have number of splits n_splits={self.n_splits} greater than the number "
                f"of samples: n_samples={n}."
            )
        rng = check_random_state(self.random_state)
        by_row = counted[np.lexsort((rng.permutation(n), X.rows[counted]))]
        folds = np.zeros(len(X), dtype=np.intp)  # tokens of no weight are in any
        # Neighbours in this order belong to one row and go to different folds.
        folds[by_row] = (np.arange(n) + rng.randint(self.n_splits)) % self.n_splits
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


class Data(NamedTuple):
    """Arguments of the ``fit`` of an estimator."""

    X: TableLike  # or other input of the first step of a pipeline
    y: ArrayLike | None
    params: ParamMapping


@dataclass(frozen=True)
class Target:
    """An estimator with a temperature, alone or at the end of a pipeline."""

    prefix: str  # of its parameters; empty where there is no pipeline
    has_steps: bool  # whether other steps come before it

    def parts(self, estimator: BaseEstimator) -> tuple[BaseEstimator, Pipeline | None]:
        """The estimator with a temperature, and the steps before it, or None."""
        if not self.prefix:
            return estimator, None
        return estimator[-1], estimator[:-1] if self.has_steps else None

    def name(self, parameter: str) -> str:
        """Name of a parameter for ``set_params``."""
        return self.prefix + parameter

    def weights(self, params: ParamMapping) -> Array | None:
        """``sample_weight`` among the parameters of ``fit``, or None."""
        given = [params[name] for name in self._weight_names() if params.get(name) is not None]
        return np.asarray(given[0], dtype=np.float64) if given else None

    def unweighted(self, params: ParamMapping) -> ParamMapping:
        """The parameters of ``fit`` without ``sample_weight``."""
        return {name: params[name] for name in params if name not in self._weight_names()}

    def _weight_names(self) -> tuple[str, ...]:
        return self.name("sample_weight"), "sample_weight"


@dataclass(frozen=True)
class RowFold:
    """Test rows that were not fitted: half of each is folded in, the other half scored.

    Scores of folds are mean log-likelihoods of tokens, in nats.
    """

    estimator: BaseEstimator
    data: Data
    train: Array
    test: Array

    @property
    def training(self) -> Data:
        X, y = safe_split(self.estimator, self.data.X, self.data.y, self.train)
        return Data(X, y, check_method_params(self.data.X, self.data.params, self.train))

    def score(self, model: BaseEstimator) -> float:
        y = None if self.data.y is None else safe_indexing(self.data.y, self.test)
        return float(model.score(safe_indexing(self.data.X, self.test), y))


@dataclass(frozen=True)
class CountFold:
    """Test tokens of the rows that are fitted."""

    target: Target
    dyads: Dyads
    params: ParamMapping
    train: Array
    test: Array

    @property
    def training(self) -> Data:
        table = self.dyads[self.train].to_csr()
        if self.dyads.weights is None:  # the estimator chooses the type, as for integers given
            table = table.astype(np.int64)
        return Data(tables.with_names(table, self.dyads.column_names), None, self.params)

    @property
    def scored(self) -> Dyads:
        """The test tokens, with the weights of their rows."""
        dyads, weights = self.dyads[self.test], self._row_weights
        return dyads if weights is None else dyads.reweighted(weights[dyads.rows])

    @property
    def known(self) -> Block:
        """The training tokens, in rows with weights."""
        return tables.as_counts(self.dyads[self.train].to_csr(), self._row_weights)

    @property
    def whole(self) -> Block:
        """All tokens, in rows with weights."""
        return tables.as_counts(self.dyads.to_csr(), self._row_weights)

    @property
    def _row_weights(self) -> Array | None:
        return self.target.weights(self.params)

    def score(self, model: BaseEstimator) -> float:
        dyads = self.scored
        last, steps = self.target.parts(model)
        if steps is not None:
            dyads = Dyads(steps.transform(dyads.to_csr()))
        return float(last.score(dyads))


Fold: TypeAlias = RowFold | CountFold


def make_folds(
    split: str,
    estimator: BaseEstimator,
    target: Target,
    data: Data,
    cv: Folding,
    split_params: ParamMapping,
) -> Sequence[Fold]:
    cv = N_FOLDS if cv is None else cv
    tables.check_index(data.X, y=data.y, **data.params)
    if split == "counts":
        return count_folds(target, data, cv, split_params)
    if isinstance(data.X, Dyads):
        raise TypeError(
            "split='rows' divides the rows of a matrix, got Dyads, whose samples are tokens. "
            "Use X.to_csr()."
        )
    if isinstance(cv, Integral) and (weights := target.weights(data.params)) is not None:
        rows = np.flatnonzero(tables.check_weights(weights, np.empty((num_samples(data.X), 0))))
        cv = [(rows[train], rows[test]) for train, test in check_cv(cv).split(rows)]
    parts = check_cv(cv).split(data.X, data.y, **split_params)
    return [RowFold(estimator, data, *part) for part in parts]


def count_folds(
    target: Target, data: Data, cv: Folding, split_params: ParamMapping
) -> list[CountFold]:
    """Folds of the tokens of a table; warns if most rows scored are not fitted."""
    X, params = data.X, data.params
    if isinstance(X, Dyads):
        if target.has_steps:
            raise TypeError(
                "The steps before the last one transform tables, got Dyads. Use X.to_csr()."
            )
        # sample_weight of Dyads is one of tokens; other parameters concern rows.
        weights, params = target.weights(params), target.unweighted(params)
        if weights is not None:
            X = X.reweighted(tables.check_weights(weights, np.empty((len(X), 0))))
    else:
        try:
            X = Dyads(X)
        except TextsError as error:
            if not target.has_steps:
                raise
            what = "X holds texts, and split='counts' divides tables of counts"
            raise TextsError(f"{what}: set split='rows', or give counts.") from error
        if (weights := target.weights(params)) is not None:
            weights = tables.check_weights(weights, np.empty((X.table_shape[0], 0)))[X.rows]
    weighted = X if weights is None else X.with_positions(X.positions, weights)
    if isinstance(cv, Integral):
        cv = CountSplit(int(cv), random_state=SPLIT_SEED)
    folds = []
    for train, test in check_cv(cv).split(weighted, None, **split_params):
        if weighted.weights is not None:  # tokens of no weight are not scored
            test = test[weighted.weights[test] > 0]
        warn_about_unknown_rows(
            np.bincount(X.rows[train], minlength=X.table_shape[0]), X.rows[test]
        )
        folds.append(CountFold(target, X, params, train, test))
    return folds
