"""Counts and labels as the metrics want them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skcooc.protocol import CSR, Array, TableLike
from skcooc.tables import as_table, check_total, sound


def check_counts(X: TableLike) -> CSR:
    """Counts in float64, a copy without stored zeros; ValueError where X has others, or none."""
    X = sound(as_table(X))
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True)
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    check_total(X.data.sum())
    return X


def check_observed(X: TableLike) -> CSR:
    """Counts as of ``check_counts``, not all of them zero."""
    X = check_counts(X)
    if not X.nnz:
        raise ValueError("X holds no observations: all entries are zero.")
    return X


def check_labels(labels: ArrayLike, name: str) -> Array:
    """Labels of any kind, (n,); ValueError, which begins with their name, where they are none."""
    try:
        return column_or_1d(check_array(labels, ensure_2d=False, dtype=None))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def check_partitions(
    true: ArrayLike, pred: ArrayLike, names: tuple[str, str]
) -> tuple[Array, Array]:
    """Two labellings of the same objects, each (n,); ValueError where they are not."""
    partitions = check_labels(true, names[0]), check_labels(pred, names[1])
    try:
        check_consistent_length(*partitions)
    except ValueError as error:
        raise ValueError(f"{' and '.join(names)}: {error}") from error
    return partitions
