"""Counts that are in memory, their names and their weights, checked."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_n_features, _check_sample_weight, validate_data

from skcooc.counts import check_sparse_structure, check_total, sum_duplicates
from skcooc.protocol import CSR, Array, TableLike
from skcooc.tables.blocks import RowBlocks
from skcooc.tables.disk import DiskTable
from skcooc.tables.dyads import Dyads
from skcooc.tables.triads import Triads

_TEXTS = (
    "X holds texts or other strings, not counts: count the words of texts with a vectorizer, such "
    "as scikit-learn's CountVectorizer; for pairs, such as user and item, take Dyads.from_frame."
)


class TextsError(ValueError):
    """There are texts or other strings in place of counts."""


def check_table(estimator: BaseEstimator, X: TableLike, *, reset: bool) -> CSR:
    """Turn counts into a CSR array of floats, (n, M); X itself where it is one already.

    With ``reset`` the estimator gets ``n_features_in_`` and ``feature_names_in_``, else it is
    compared with them. ValueError where counts are negative, not finite, or have another number of
    columns than fitted; TextsError where there are strings; TypeError where X is not in memory.
    """
    if is_collection(X):
        raise TypeError(
            f"{type(X).__name__} is a dask collection, which fit, transform and predict of the "
            "estimators take, as an array in blocks of rows. Elsewhere give its blocks, as in "
            "X.map_blocks(estimator.score_samples, dtype=float, drop_axis=1)."
        )
    if isinstance(X, Triads):
        raise TypeError(
            "Triads have three indices, and this takes two: X.dyads gives those of two of its ways."
        )
    if isinstance(X, RowBlocks | DiskTable):
        raise TypeError(
            f"{type(X).__name__} is a table that fit of an estimator reads. Elsewhere give its "
            "blocks, one at a time, as in [estimator.transform(block) for block in X]."
        )
    table = _canonical(estimator, X, reset)
    check_total(table.data.sum(dtype=np.float64))
    return table


def _canonical(estimator: BaseEstimator, X: TableLike, reset: bool) -> CSR:
    """Counts that are in memory, checked one by one."""
    if isinstance(X, Dyads):
        table = X.to_csr()
        _check_n_features(estimator, table, reset=reset)
        check_names(estimator, X.column_names, reset)
        return table
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    try:
        table = validate_data(
            estimator, check_sparse_structure(X), ensure_non_negative=True, reset=reset, **options
        )
    except ValueError as error:
        if not str(error).startswith("could not convert string to float"):
            raise
        raise TextsError(_TEXTS) from None  # which shows no text as long as a book
    return sum_duplicates(table) if sp.issparse(table) else sp.csr_array(table)


def is_collection(X: TableLike) -> bool:
    """Whether something is a dask collection, of whatever kind."""
    return hasattr(type(X), "__dask_graph__")


def is_elsewhere(X: TableLike) -> bool:
    """Whether a table that fit reads is not in memory."""
    return is_collection(X) or isinstance(X, RowBlocks | DiskTable)


def check_names(estimator: BaseEstimator, names: Array | None, reset: bool) -> None:
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


def check_weights(sample_weight: ArrayLike, X: CSR | Array, **options: bool) -> Array:
    """Weights of the rows of a table, (n,); ValueError where they are none."""
    weights: Array = _check_sample_weight(sample_weight, X, ensure_non_negative=True, **options)
    return weights
