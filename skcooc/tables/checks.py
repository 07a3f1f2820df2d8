"""Checks of what estimators are given; all of them are made before any work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numba import config
from sklearn.utils.validation import _check_n_features, _check_sample_weight, validate_data

from skcooc.protocol import Array
from skcooc.tables.blocks import RowBlocks
from skcooc.tables.dyads import Dyads


def check_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Turn counts into a CSR array of floats.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and ``feature_names_in_``, or is compared with them.
    X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
    reset : bool
        Whether this is the table that is fitted.

    Returns
    -------
    table : CSR array or matrix of shape (n, M), float32 or float64
        X itself where it is one already.

    Raises
    ------
    ValueError
        Where counts are negative, not finite, or have another number of columns than fitted.
    """
    if is_collection(X):
        raise TypeError(
            f"{type(X).__name__} is a dask collection, which fit and transform of the estimators "
            "take, as an array in blocks of rows. Elsewhere give its blocks, as in "
            "X.map_blocks(estimator.predict, dtype=int, drop_axis=1)."
        )
    if isinstance(X, RowBlocks):
        raise TypeError(
            "RowBlocks are read by fit of the estimators that have partial_fit. Elsewhere give "
            "their blocks, one at a time."
        )
    if isinstance(X, Dyads):
        table = X.to_csr()
        _check_n_features(estimator, table, reset=reset)
        _check_names(estimator, X.column_names, reset)
        return table
    table = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_non_negative=True,
        reset=reset,
    )
    return table if sp.issparse(table) else sp.csr_array(table)


def is_collection(X: Any) -> bool:
    """Whether something is a dask collection, of whatever kind."""
    return hasattr(type(X), "__dask_graph__")


def check_collection(estimator: Any, X: Any, sample_weight: Any = None) -> None:
    """Raise where a dask collection cannot be fitted, or not by this estimator.

    Parameters
    ----------
    estimator : estimator
    X : dask collection
    sample_weight : object
        Must be None.

    Raises
    ------
    TypeError
        Where X is not an array.
    ValueError
        Where it is not in blocks of rows, or the parameters need all rows in one place.
    """
    check_row_blocks(X)
    reason = estimator._no_dask()
    if reason is None and estimator.early_stopping:
        reason = "early_stopping=True holds out observations of all rows; it needs False"
    if reason is None and sample_weight is not None:
        reason = "sample_weight is not supported; it needs None"
    if reason is not None:
        raise ValueError(f"X cannot be fitted where it is, on the workers: {reason}.")


def check_row_blocks(X: Any) -> None:
    """Raise where a dask collection is not an array in blocks of rows."""
    if not hasattr(type(X), "map_blocks"):
        raise TypeError(
            f"Expected a dask array, got {type(X).__name__} instead. A dataframe has "
            "to_dask_array(lengths=True); for delayed blocks use skcooc.delayed_rows."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}.")
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X should be in blocks of rows, but its columns are divided into {X.numblocks[1]} "
            "chunks. Use X.rechunk({1: -1}) first."
        )


def _check_names(estimator: Any, names: Array | None, reset: bool) -> None:
    """Keep the column names of Dyads if they are strings, or compare them with those kept."""
    known = getattr(estimator, "feature_names_in_", None)
    if names is None or not all(isinstance(name, str) for name in names):
        names = None
    if reset and known is not None:
        del estimator.feature_names_in_
    if reset and names is not None:
        estimator.feature_names_in_ = names.astype(object)
    if not reset and not (names is None or known is None or np.array_equal(known, names)):
        raise ValueError(
            "The feature names should match those that were passed during fit: the column names "
            "of X are others."
        )


def check_training(
    estimator: Any, X: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Any, Array | None]:
    """The table to fit, and the weights of its rows.

    The weights of observations (Dyads) are counted into the table.

    Parameters
    ----------
    estimator : estimator
        Gets what ``check_table`` finds, and the table without its observations as ``_table``.
    X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
    sample_weight : array-like of shape (n_samples,) or None
    reset : bool, default=True
        False where the table goes on from those fitted before.

    Returns
    -------
    table : CSR array or matrix of shape (N, M)
    row_weights : (N,) array or None

    Raises
    ------
    ValueError
        Also where no observation is left.
    """
    if isinstance(X, Dyads) and sample_weight is not None:
        X, sample_weight = X.reweighted(_weights(sample_weight, np.empty((len(X), 0)))), None
    table = check_table(estimator, X, reset=reset)
    names = getattr(estimator, "feature_names_in_", None)
    empty = sp.csr_array(table.shape)
    estimator._table = X[:0] if isinstance(X, Dyads) else Dyads(empty, column_names=names)
    if sample_weight is not None:
        sample_weight = _weights(sample_weight, table)
    observed = table.data if sample_weight is None else table @ np.ones(table.shape[1])
    if not (observed if sample_weight is None else observed * sample_weight).any():
        raise ValueError(
            f"Found array with 0 observation(s) (shape={table.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}: all counts, or their weights, are zero."
        )
    return table, sample_weight


def check_blocks(
    estimator: Any, X: RowBlocks, sample_weight: Array | None, *, reset: bool
) -> Iterator[tuple[Any, Array | None]]:
    """The blocks, checked, with the weights of their rows.

    Parameters
    ----------
    estimator : estimator
    X : RowBlocks
    sample_weight : (N,) array or None
    reset : bool
        Whether the first block says which columns there are.

    Yields
    ------
    table : CSR array or matrix of shape (n, M)
    row_weights : (n,) array or None
    """
    last = 0
    for block in X:
        table = check_table(estimator, block, reset=reset and last == 0)
        first, last, row_weights = last, last + table.shape[0], None
        if sample_weight is not None:
            own = sample_weight[first:last]
            row_weights = _weights(own, table, allow_all_zero_weights=True)
        yield table, row_weights
    if sample_weight is not None and len(sample_weight) != last:
        raise ValueError(f"sample_weight should be of shape ({last},), as X has so many rows.")


def check_coarsening(coarsening: Sequence[Any], n_rows: int) -> list[Array]:
    """Labels of nested groups of rows, finest grouping first.

    Parameters
    ----------
    coarsening : sequence of array-likes of shape (n_rows,)
    n_rows : int

    Returns
    -------
    coarsening : list of (n_rows,) arrays of int

    Raises
    ------
    ValueError
        Where a grouping has another length, or divides a group of the one before.
    """
    groupings: list[Array] = [np.asarray(labels) for labels in coarsening]
    if not all(labels.ndim == 1 and labels.dtype.kind not in "fc" for labels in groupings):
        raise ValueError("coarsening should be a list of 1d arrays of int, finest grouping first.")
    for labels in groupings:
        if len(labels) != n_rows:
            raise ValueError(
                f"coarsening has a grouping of {len(labels)} rows, but X has {n_rows} sample(s)."
            )
    for finer, coarser in pairwise(groupings):
        first, group = np.unique(finer, return_index=True, return_inverse=True)[1:]
        if not np.array_equal(coarser[first][group], coarser):
            raise ValueError(
                "coarsening should be nested, finest grouping first: a grouping divides a group of "
                "the one before it."
            )
    return groupings


def check_same_table(fitted: Dyads, X: Dyads, name: str) -> None:
    """Raise ValueError where observations belong to another table than the one fitted."""
    if not fitted.same_table(X):
        raise ValueError(
            f"X holds observations of a table of shape {X.table_shape}, but {name} was fitted on a "
            f"table of shape {fitted.table_shape}, or with other names. Observations of new rows "
            "are scored as a matrix: X.to_csr()."
        )


def n_threads(n_jobs: int | None) -> int:
    """Number of threads in joblib's conventions.

    At most as many as numba may use: a joblib worker process lowers that limit, so that workers
    with threads of their own do not oversubscribe the cores.
    """
    return max(1, min(effective_n_jobs(n_jobs), config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


def _weights(sample_weight: Any, X: Any, **options: Any) -> Array:
    return _check_sample_weight(sample_weight, X, ensure_non_negative=True, **options)
