"""Folds of tokens: the part that is fitted and the part that is scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator, check_cv, train_test_split
from sklearn.utils import check_array, check_random_state, check_scalar

from skcooc import counts, tables
from skcooc.heldout.scoring import warn_about_unknown_rows
from skcooc.protocol import CSR, Array, Block, RandomState, TableLike
from skcooc.tables import DiskTable, Dyads, RowBlocks, Triads

ParamMapping: TypeAlias = Mapping[str, object]  # parameters by name
Folding: TypeAlias = int | BaseCrossValidator | Iterable[tuple[Array, Array]] | None

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

    A count of n represents n tokens, which are divided between the two tables. Do not use this to
    evaluate recommendations: an item with tokens in both parts is already known. Hold out whole
    cells instead.

    Parameters
    ----------
    X : Dyads, Triads, or array-like, sparse array or matrix, DataFrame of shape (N, M)
        Tokens or counts.
    test_size : float in (0, 1), default=0.1
        Proportion of tokens in the second table. For a matrix it is the expected proportion,
        because each token is drawn independently.
    random_state : int, RandomState instance or None, default=None
        Seed of the division.

    Returns
    -------
    X_train, X_test : Dyads, Triads, or CSR arrays of shape (N, M)
        Counts are integers if those of X are. CSR arrays keep the names of a DataFrame or of
        `NamedCounts`, and models and ``Dyads`` use these names.

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
    table = counts.float_table(checked)
    counts.check_total(table.data.sum(dtype=np.float64))
    names = tables.column_names_of(X), tables.row_names_of(X)
    shares = check_random_state(random_state).random_sample(table.nnz)
    dtype = np.int64 if checked.dtype.kind in "iub" else table.dtype
    parts = counts.divide(table, test_size, shares)
    train, test = (tables.with_names(part.astype(dtype, copy=False), *names) for part in parts)
    return train, test


class CountSplit(BaseCrossValidator):
    """Cross-validation over the tokens of each row.

    The tokens of each row are divided evenly among the folds: their numbers differ by at most one.
    A row with two or more tokens is therefore part of every training set.

    Read more in the :doc:`user guide </guide/heldout>`.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds, at least 2.
    random_state : int, RandomState instance or None, default=None
        Seed of the division.

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
        """Yield the positions of the training tokens and test tokens of each fold.

        Parameters
        ----------
        X : Dyads or Triads
            Tokens. The rows of Triads are their first index.
        y, groups : None
            Ignored.

        Yields
        ------
        train, test : arrays of int

        Raises
        ------
        TypeError
            If X is neither Dyads nor Triads, because the tokens of a matrix have no positions.
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

    X: TableLike
    y: ArrayLike | None
    params: ParamMapping


@dataclass(frozen=True)
class CountFold:
    """Test tokens of the rows that are fitted."""

    dyads: Dyads
    params: ParamMapping  # of fit
    train: Array
    test: Array

    @property
    def training(self) -> Data:
        table = self.dyads[self.train].to_csr()
        if self.dyads.weights is None:  # the estimator chooses the type, as for integers given
            table = table.astype(np.int64)
        named = tables.with_names(table, self.dyads.column_names, self.dyads.row_names)
        return Data(named, None, self.params)

    @property
    def scored(self) -> Dyads:
        """The test tokens, with the weights of their rows."""
        dyads = self.dyads[self.test]
        weights = row_weights(self.params)
        return dyads if weights is None else dyads.reweighted(weights[dyads.rows])

    @property
    def known(self) -> Block:
        """The training tokens, in rows with weights."""
        return tables.as_counts(self.dyads[self.train].to_csr(), row_weights(self.params))

    @property
    def whole(self) -> Block:
        """All tokens, in rows with weights."""
        return tables.as_counts(self.dyads.to_csr(), row_weights(self.params))


def row_weights(params: ParamMapping) -> Array | None:
    """``sample_weight`` among the parameters of ``fit``, or None."""
    weights = params.get("sample_weight")
    return None if weights is None else np.asarray(weights, dtype=np.float64)


def count_folds(data: Data, cv: Folding, split_params: ParamMapping) -> list[CountFold]:
    """Folds of the tokens of a table; warns if most rows scored are not fitted."""
    X = data.X
    params = dict(data.params)
    weights = row_weights(params)
    if isinstance(X, Dyads):
        # sample_weight of Dyads is one of tokens; other parameters concern rows.
        params.pop("sample_weight", None)
        if weights is not None:
            X = X.reweighted(tables.check_weights(weights, np.empty((len(X), 0))))
    else:
        X = Dyads(X)
        if weights is not None:
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
        folds.append(CountFold(X, params, train, test))
    return folds
