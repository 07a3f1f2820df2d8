"""Quality of (co-)clusterings: known classes, information, integrated likelihood."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln
from sklearn.metrics.cluster import contingency_matrix

from skcooc.metrics.validation import (
    check_column_order,
    check_labels,
    check_observed,
    check_partitions,
)
from skcooc.protocol import CSR, Array, TableLike
from skcooc.tables import check_index, check_weights

NO_INFORMATION = 1e-12  # nats; rounding leaves less


def coclustering_adjusted_rand(
    rows_true: ArrayLike, columns_true: ArrayLike, rows_pred: ArrayLike, columns_pred: ArrayLike
) -> float:
    """Co-clustering adjusted Rand index of two partitions of N x M cells into blocks.

    The contingency table of the cells is the Kronecker product of those of the rows and of the
    columns, so that time and memory grow with N + M, not N x M. Leave out rows and columns without
    counts: their predicted labels mean nothing.

    Parameters
    ----------
    rows_true, rows_pred : array-like of shape (N,)
        Known classes and clusters of the rows.
    columns_true, columns_pred : array-like of shape (M,)
        Known classes and clusters of the columns.

    Returns
    -------
    cari : float in [-0.5, 1]
        1 if both partitions agree up to the names of the clusters. Its expectation is 0 for cells
        labelled at random, and O(1/N + 1/M) for rows and columns labelled at random.

    References
    ----------
    V. Robert, Y. Vasseur and V. Brault, *Comparing high-dimensional partitions with the
    co-clustering adjusted Rand index*, Journal of Classification 38, 2021, arXiv:1705.06760.

    Examples
    --------
    >>> from skcooc.metrics import coclustering_adjusted_rand
    >>> cari = coclustering_adjusted_rand([0, 0, 1], [0, 1, 1, 1], [1, 1, 0], [0, 0, 1, 1])
    >>> round(cari, 3)
    0.399
    """
    rows = check_partitions(rows_true, rows_pred, ("rows_true", "rows_pred"))
    columns = check_partitions(columns_true, columns_pred, ("columns_true", "columns_pred"))
    pair_counts = zip(_pair_counts(*rows), _pair_counts(*columns), strict=True)
    n = len(rows[0]) * len(columns[0])  # exact integers of any size, as are the numbers of pairs
    n_both, n_true, n_pred = (of_rows * of_columns for of_rows, of_columns in pair_counts)
    together = n_both - n
    only_true = n_true - n_both
    only_pred = n_pred - n_both
    apart = n * n - n_true - only_pred
    if only_true == only_pred == 0:
        return 1.0
    expected_true = (together + only_true) * (only_true + apart)
    expected_pred = (together + only_pred) * (only_pred + apart)
    gain = 2 * (together * apart - only_true * only_pred)
    return gain / (expected_true + expected_pred)


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Accuracy under the best one-to-one matching of clusters and classes.

    The numbers of clusters and classes may differ; items in unmatched clusters or classes count
    as errors. Leave out items without counts: their predicted labels mean nothing.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Known classes, and clusters, whose names do not matter.

    Returns
    -------
    accuracy : float in (0, 1]

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
    """Mutual information of rows and columns in nats, with P(x_i, y_j) = n_ij / L.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (N, M)
        Counts or weights.

    Returns
    -------
    information : float
        At least zero; at most the logarithm of the smaller of N and M.

    Examples
    --------
    >>> from skcooc.metrics import mutual_information
    >>> round(mutual_information([[5, 0], [0, 5]]), 4)
    0.6931
    """
    return _information(check_observed(X))


def mutual_information_kept(
    X: TableLike, row_labels: ArrayLike | None = None, column_labels: ArrayLike | None = None
) -> float:
    """Information that clusters keep, I(row cluster; column cluster) / I(x; y).

    Hard two-sided clustering maximises it. A finer clustering never keeps less.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (N, M)
        Counts or weights.
    row_labels, column_labels : array-like of shapes (N,) and (M,), default=None
        Clusters of the rows and of the columns; None: each is its own cluster.

    Returns
    -------
    kept : float in [0, 1]
        1 if rows and columns are independent: I(x; y) below 1e-12 nats, zero but for rounding.

    References
    ----------
    I. S. Dhillon, S. Mallela and D. S. Modha, *Information-theoretic co-clustering*, KDD 2003,
    lemma 2.1.

    Examples
    --------
    >>> from skcooc.metrics import mutual_information_kept
    >>> X = [[4, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 9]]
    >>> round(mutual_information_kept(X, row_labels=[0, 0, 1]), 3)
    0.961
    """
    _check_names(X, row_labels, column_labels)
    X = check_observed(X)
    total = _information(X)
    if row_labels is not None:
        X = _indicators(row_labels, X.shape[0], "row_labels").T @ X
    if column_labels is not None:
        X = X @ _indicators(column_labels, X.shape[1], "column_labels")
    return 1.0 if total < NO_INFORMATION else min(_information(sp.csr_array(X)) / total, 1.0)


def integrated_complete_likelihood(
    X: TableLike, row_labels: ArrayLike | None = None, column_labels: ArrayLike | None = None, *,
    concentration: float = 0.5, sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Exact integrated complete-data log-likelihood (ICL) of a hard (co-)clustering.

    All parameters have symmetric Dirichlet priors and are integrated out, in closed form. With
    D(n; a) = log Gamma(m a) - log Gamma(m a + sum n) + sum_j [log Gamma(n_j + a) - log Gamma(a)]
    for m counts n, it is

        ICL = D(sizes; a) + D(sizes'; a) + sum_c D(n_c.; a) + sum_d D(m_j, j in d; a)

    where sizes are those of the C clusters of rows and the D clusters of columns, n_cd counts the
    co-occurrences in a pair of clusters, and m_j those of a column. The first two terms are of the
    labels, the third of P(d given c), the last of P(y_j given d): the model of
    `AsymmetricClustering` and `SymmetricClustering`. The largest ICL selects the number of
    clusters.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (N, M)
        Counts.
    row_labels, column_labels : array-like of shapes (N,) and (M,), default=None
        Clusters of the rows and of the columns; None: each is its own cluster, and the term of
        its labels, which are known, is left out. Rows and columns without counts, or of weight
        zero, are members of no cluster.
    concentration : float > 0, default=0.5
        The parameter a of all priors: Jeffreys' prior.
    sample_weight : array-like of shape (N,), default=None
        Weight of each row: 2 is a row repeated, 0 one left out. None: all one.

    Returns
    -------
    icl : float
        In nats; larger is better. Compare it among clusterings of the same table.

    References
    ----------
    C. Biernacki, G. Celeux and G. Govaert, Exact and Monte Carlo calculations of integrated
    likelihoods for the latent class model, Journal of Statistical Planning and Inference 140, 2010.

    Examples
    --------
    >>> from skcooc.metrics import integrated_complete_likelihood
    >>> X = [[9, 1, 0], [8, 2, 0], [0, 1, 9], [0, 2, 8]]
    >>> two = integrated_complete_likelihood(X, [0, 0, 1, 1])
    >>> one = integrated_complete_likelihood(X, [0, 0, 0, 0])
    >>> two > one
    True
    """
    _check_names(X, row_labels, column_labels, sample_weight)
    a = concentration
    X = check_observed(X)
    if a <= 0:
        raise ValueError(f"concentration={a} should be above 0")
    weights = check_weights(sample_weight, X)
    sums = weights @ X
    pairs = X  # co-occurrences of clusters of rows and clusters of columns
    log_likelihood = 0.0
    if row_labels is not None:
        has_counts = np.asarray(X.sum(axis=1)) > 0
        rows = _indicators(row_labels, X.shape[0], "row_labels", weights * has_counts)
        pairs = rows.T @ pairs
        weights = np.ones(rows.shape[1])
        log_likelihood += _size_likelihood(rows, a)
    clusters = np.arange(X.shape[1])  # of the columns
    if column_labels is not None:
        columns = _indicators(column_labels, X.shape[1], "column_labels", np.sign(sums))
        pairs = pairs @ columns
        clusters = columns.indices
        sums = sums[sums > 0]
        log_likelihood += _size_likelihood(columns, a)
    log_likelihood += np.sum(weights * _dirichlet(sp.csr_array(pairs), pairs.shape[1], a))
    within = sp.csr_array((sums, (clusters, np.arange(len(clusters)))))
    return float(log_likelihood + _dirichlet(within, np.bincount(clusters), a).sum())


def _check_names(
    X: TableLike, row_labels: object, column_labels: object, sample_weight: object = None
) -> None:
    check_index(X, row_labels=row_labels, sample_weight=sample_weight)
    check_column_order(X, column_labels=column_labels)


def _pair_counts(true: Array, pred: Array) -> tuple[int, int, int]:
    """Numbers of ordered pairs, (i, i) too, together in both partitions, the first, the second."""
    table = contingency_matrix(true, pred, sparse=True, dtype=np.int64)
    return (
        int(np.square(table.data).sum()),
        int(np.square(np.asarray(table.sum(axis=1))).sum()),
        int(np.square(np.asarray(table.sum(axis=0))).sum()),
    )


def _information(X: CSR) -> float:
    row_sums = X.sum(axis=1)
    column_sums = X.sum(axis=0)
    total = row_sums.sum()
    given_row = X.data / np.repeat(row_sums, np.diff(X.indptr))
    gain = np.log(given_row / (column_sums[X.indices] / total))
    return max(float(X.data @ gain / total), 0.0)


def _indicators(labels: ArrayLike, n: int, name: str, weights: Array | None = None) -> CSR:
    """Weight of each item in its cluster, (n, C); clusters without any are left out."""
    values = check_labels(labels, name)
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} labels, but X has {n} to cluster on that side")
    weights = np.ones(n) if weights is None else weights
    positive = weights > 0
    clusters, index = np.unique(values[positive], return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(positive)])
    return sp.csr_array((weights[positive], index, indptr), shape=(n, len(clusters)))


def _size_likelihood(members: CSR, a: float) -> float:
    """D(sizes; a) of the clusters of an indicator matrix."""
    sizes = sp.csr_array(members.sum(axis=0)[None])
    return float(_dirichlet(sizes, sizes.shape[1], a).sum())


def _dirichlet(counts: CSR, m: Array | int, a: float) -> Array:
    """D(n; a) of each row of counts over m cells; see `integrated_complete_likelihood`."""
    total = np.asarray(counts.sum(axis=1))
    cells = counts.copy()
    cells.data = gammaln(cells.data + a) - gammaln(a)  # zero for zero counts
    return gammaln(m * a) - gammaln(m * a + total) + np.asarray(cells.sum(axis=1))
