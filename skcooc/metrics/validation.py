"""Counts and labels as the metrics want them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skcooc.protocol import Array


def check_counts(X: Any) -> Any:
    """Non-negative float64 counts of shape (n, M) as a csr_array without stored zeros.

    Raises
    ------
    ValueError
        Where an entry is negative, NaN or infinite, or X has no rows or columns.
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True)
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def check_labels(labels: Any, name: str) -> Array:
    """Labels of any kind, one for each object, as an array of shape (n,).

    Raises
    ------
    ValueError
        Where they are not one-dimensional, empty, or NaN; it begins with their name.
    """
    try:
        return column_or_1d(check_array(labels, ensure_2d=False, dtype=None))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def check_partitions(true: Any, pred: Any, names: tuple[str, str]) -> tuple[Array, Array]:
    """Two labellings of the same objects, each of shape (n,).

    Raises
    ------
    ValueError
        Where one of them is no labelling, or they differ in length.
    """
    partitions = check_labels(true, names[0]), check_labels(pred, names[1])
    try:
        check_consistent_length(*partitions)
    except ValueError as error:
        raise ValueError(f"{' and '.join(names)}: {error}") from error
    return partitions
