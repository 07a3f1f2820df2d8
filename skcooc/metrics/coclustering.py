"""Quality of clusterings of rows and columns: against known classes, or by the information kept."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from skcooc.metrics.validation import check_labels, check_observed, check_partitions
from skcooc.protocol import CSR, Array, TableLike

NO_INFORMATION = 1e-12  # nats; rounding leaves less


def coclustering_adjusted_rand(
    rows_true: ArrayLike, columns_true: ArrayLike, rows_pred: ArrayLike, columns_pred: ArrayLike
) -> float:
    """Co-clustering adjusted Rand index: that of the two partitions of all N x M cells into blocks.

    The contingency table of the cells is the Kronecker product of that of the rows and that of
    the columns, and its sum of squares is the product of theirs: time and memory are those of N
    rows and M columns. The counts are exact, however many cells there are.

    Parameters
    ----------
    rows_true, rows_pred : array-like of shape (N,)
        Known classes and clusters of the rows.
    columns_true, columns_pred : array-like of shape (M,)
        Known classes and clusters of the columns.

    Returns
    -------
    cari : float in [-0.5, 1]
        1 where both partitions agree up to the names of the clusters. Of cells labelled at random
        0 is expected; of rows and columns labelled at random a little more, by O(1/N + 1/M).

    Raises
    ------
    ValueError
        Where the labels of one side differ in length, are empty, or are not one-dimensional.

    References
    ----------
    V. Robert, Y. Vasseur and V. Brault, *Comparing high-dimensional partitions with the
    co-clustering adjusted Rand index*, Journal of Classification 38, 2021, arXiv:1705.06760.

    Examples
    --------
    >>> from skcooc.metrics import coclustering_adjusted_rand
    >>> round(coclustering_adjusted_rand([0, 0, 1], [0, 1, 1, 1], [1, 1, 0], [0, 1, 1, 1]), 3)
    1.0
    >>> cari = coclustering_adjusted_rand([0, 0, 1], [0, 1, 1, 1], [1, 1, 0], [0, 0, 1, 1])
    >>> round(cari, 3)
    0.399
    """
    rows = check_partitions(rows_true, rows_pred, ("rows_true", "rows_pred"))
    columns = check_partitions(columns_true, columns_pred, ("columns_true", "columns_pred"))
    by_row, by_column = _squares(*rows), _squares(*columns)
    both, true, pred = (r * c for r, c in zip(by_row, by_column, strict=True))
    return _adjusted_rand(len(rows[0]) * len(columns[0]), both, true, pred)


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of objects that are right under the best one-to-one matching of clusters and classes.

    There may be more clusters than classes, or fewer; objects are wrong where their cluster or
    their class is left without a partner.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        Known classes.
    labels_pred : array-like of shape (n,)
        Clusters; their names do not matter.

    Returns
    -------
    accuracy : float in (0, 1]

    Raises
    ------
    ValueError
        Where the labels differ in length, are empty, or are not one-dimensional.

    Examples
    --------
    >>> from skcooc.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
    true, pred = check_partitions(labels_true, labels_pred, ("labels_true", "labels_pred"))
    table = contingency_matrix(true, pred)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(true))


def mutual_information(X: TableLike) -> float:
    """Mutual information I(x; y) of rows and columns, in nats, with P(x_i, y_j) = n_ij / L.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (N, M)
        Counts or weights.

    Returns
    -------
    information : float
        At least zero; at most the logarithm of the smaller of N and M.

    Raises
    ------
    ValueError
        Where all entries are zero, or one is negative, NaN or infinite.

    Examples
    --------
    >>> from skcooc.metrics import mutual_information
    >>> round(mutual_information([[5, 0], [0, 5]]), 4)
    0.6931
    >>> round(mutual_information([[5, 5], [5, 5]]), 4)
    0.0
    """
    return _information(check_observed(X))


def mutual_information_kept(
    X: TableLike, row_labels: ArrayLike | None = None, column_labels: ArrayLike | None = None
) -> float:
    """Information that clusters keep, I(row cluster; column cluster) / I(x; y).

    What information-theoretic co-clustering and hard two-sided clustering maximise for given
    numbers of clusters. A finer clustering never keeps less.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (N, M)
        Counts or weights.
    row_labels : array-like of shape (N,), default=None
        Clusters of the rows; None leaves each row by itself.
    column_labels : array-like of shape (M,), default=None
        Clusters of the columns; None leaves each column by itself.

    Returns
    -------
    kept : float in [0, 1]
        1 where rows and columns are independent, that is where I(x; y) is zero to rounding (below
        1e-12 nats): there is nothing to lose.

    Raises
    ------
    ValueError
        Where the labels do not match X, or X is not a table of counts with observations.

    References
    ----------
    I. S. Dhillon, S. Mallela and D. S. Modha, *Information-theoretic co-clustering*, KDD 2003,
    lemma 2.1.

    Examples
    --------
    >>> from skcooc.metrics import mutual_information_kept
    >>> X = [[4, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 9]]
    >>> round(mutual_information_kept(X, column_labels=[0, 1, 2, 2]), 3)
    1.0
    >>> round(mutual_information_kept(X, row_labels=[0, 0, 1]), 3)
    0.961
    """
    X = check_observed(X)
    whole = _information(X)
    if row_labels is not None:
        X = indicators(row_labels, X.shape[0], "row_labels").T @ X
    if column_labels is not None:
        X = X @ indicators(column_labels, X.shape[1], "column_labels")
    return 1.0 if whole < NO_INFORMATION else min(_information(sp.csr_array(X)) / whole, 1.0)


def _squares(true: Array, pred: Array) -> tuple[int, int, int]:
    """Ordered pairs, each with itself, that are together in both partitions, the first, the second.

    They are sums of squares of the contingency table and of its margins.
    """
    table = contingency_matrix(true, pred, sparse=True, dtype=np.int64)
    parts = table.data, table.sum(axis=1), table.sum(axis=0)
    both, in_true, in_pred = (int(np.square(np.asarray(part)).sum()) for part in parts)
    return both, in_true, in_pred


def _adjusted_rand(n: int, both: int, true: int, pred: int) -> float:
    """The adjusted Rand index of n objects from such numbers of pairs; integers of any size."""
    together, only_true, only_pred = both - n, true - both, pred - both
    apart = n * n - true - only_pred
    if only_true == only_pred == 0:
        return 1.0
    expected_true = (together + only_true) * (only_true + apart)
    expected_pred = (together + only_pred) * (only_pred + apart)
    gain = 2 * (together * apart - only_true * only_pred)
    return gain / (expected_true + expected_pred)


def _information(X: CSR) -> float:
    """Mutual information of a csr_array, in nats."""
    row_sums, column_sums = X.sum(axis=1), X.sum(axis=0)
    total = row_sums.sum()
    given_row = X.data / np.repeat(row_sums, np.diff(X.indptr))
    gain = np.log(given_row / (column_sums[X.indices] / total))
    return max(float(X.data @ gain / total), 0.0)


def indicators(labels: ArrayLike, n: int, name: str) -> CSR:
    """One-hot csr_array of shape (n, number of clusters)."""
    values = check_labels(labels, name)
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} labels, but X has {n} to cluster on that side")
    clusters, index = np.unique(values, return_inverse=True)
    return sp.csr_array((np.ones(n), index, np.arange(n + 1)), shape=(n, len(clusters)))
