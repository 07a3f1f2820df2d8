"""The integrated likelihood of a clustering: how many clusters the counts are worth."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import gammaln

from skcooc.metrics.coclustering import indicators
from skcooc.metrics.validation import check_observed
from skcooc.protocol import CSR, Array, TableLike


def integrated_complete_likelihood(
    X: TableLike,
    row_labels: ArrayLike | None = None,
    column_labels: ArrayLike | None = None,
    *,
    concentration: float = 0.5,
) -> float:
    """Exact integrated complete-data log-likelihood (ICL) of a hard clustering or co-clustering.

    All parameters have symmetric Dirichlet priors and are integrated out, in closed form. With
    D(n; a) = log Gamma(m a) - log Gamma(m a + sum n) + sum_j [log Gamma(n_j + a) - log Gamma(a)]
    for m counts n, it is

        ICL = D(sizes; a) + D(sizes'; a) + sum_c D(n_c.; a) + sum_d D(m_j, j in d; a)

    where sizes are those of the C clusters of rows and the D clusters of columns, n_cd counts the
    observations in a pair of clusters, and m_j those of a column. The first two terms are of the
    labels, the third of P(d given c), the last of P(y_j given d): the model of
    `AsymmetricClustering` and `SymmetricClustering`, of columns given their rows. Each parameter
    costs what it is worth, so that the largest ICL tells the number of clusters.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (N, M)
        Counts.
    row_labels : array-like of shape (N,), default=None
        Clusters of the rows; None leaves each row by itself.
    column_labels : array-like of shape (M,), default=None
        Clusters of the columns; None leaves each column by itself.
    concentration : float > 0, default=0.5
        The parameter a of all priors: Jeffreys' prior.

    Returns
    -------
    icl : float
        In nats; larger is better. It can be compared among clusterings of the same table.

    Raises
    ------
    ValueError
        Where the labels do not match X, or X is not a table of counts with observations.

    References
    ----------
    C. Biernacki, G. Celeux and G. Govaert, Exact and Monte Carlo calculations of integrated
    likelihoods for the latent class model, Journal of Statistical Planning and Inference 140, 2010.

    J. Wyse, N. Friel and P. Latouche, Inferring structure in bipartite networks using the latent
    blockmodel and exact ICL, Network Science 5, 45-69, 2017: the same idea for counts of blocks.

    Examples
    --------
    >>> from skcooc.metrics import integrated_complete_likelihood
    >>> X = [[9, 1, 0], [8, 2, 0], [0, 1, 9], [0, 2, 8]]
    >>> two = integrated_complete_likelihood(X, [0, 0, 1, 1])
    >>> one = integrated_complete_likelihood(X, [0, 0, 0, 0])
    >>> four = integrated_complete_likelihood(X, [0, 1, 2, 3])
    >>> two > one, two > four
    (True, True)
    """
    X, a = check_observed(X), concentration
    if a <= 0:
        raise ValueError(f"concentration={a} should be above 0")
    pairs, columns, labels = X, np.arange(X.shape[1]), 0.0
    if row_labels is not None:
        rows = indicators(row_labels, X.shape[0], "row_labels")
        pairs, labels = rows.T @ pairs, _of_sizes(rows, a)
    if column_labels is not None:
        of_column = indicators(column_labels, X.shape[1], "column_labels")
        pairs, labels = pairs @ of_column, labels + _of_sizes(of_column, a)
        columns = of_column.indices
    within = sp.csr_array((X.sum(axis=0), (columns, np.arange(len(columns)))))
    sizes = np.bincount(columns)
    return float(
        labels
        + _dirichlet(sp.csr_array(pairs), pairs.shape[1], a).sum()
        + _dirichlet(within, sizes, a).sum()
    )


def _of_sizes(members: CSR, a: float) -> float:
    """The part of the labels, from an indicator matrix."""
    sizes = sp.csr_array(members.sum(axis=0)[None])
    return float(_dirichlet(sizes, sizes.shape[1], a).sum())


def _dirichlet(counts: CSR, m: Array | int, a: float) -> Array:
    """D of each row of counts, of which m may be positive."""
    total = np.asarray(counts.sum(axis=1))
    cells = counts.copy()
    cells.data = gammaln(cells.data + a) - gammaln(a)  # nothing where there are none
    return gammaln(m * a) - gammaln(m * a + total) + np.asarray(cells.sum(axis=1))
