"""Similarity-based smoothing: what is known of the rows that are most alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from skcooc.heldout.lookup import distributions, frequencies_of, rows_of
from skcooc.protocol import CSR, Array, Block

BLOCK = 256  # rows whose dense predictions are in memory at one time


def nearest_rows(known: CSR, n_neighbors: int = 60) -> tuple[Array, Array]:
    """The rows that are most alike, by the Jensen-Shannon divergence of their frequencies.

    The divergence of the distributions p and q of two rows is a sum over the columns that both
    have,

        J = log 2 - sum_j ((p_j + q_j) log(p_j + q_j) - p_j log p_j - q_j log q_j) / 2,

    so that time is the sum of the squared numbers of entries in the columns. One row at a time is
    compared with all: memory is that of the table.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts.
    n_neighbors : int, default=60
        How many are kept, k, of those with a column in common.

    Returns
    -------
    neighbors : (N, k) array of int
        The nearest first, never the row itself.
    divergences : (N, k) array
        In nats, from 0 to log 2; infinite where there are fewer neighbours.

    Raises
    ------
    ValueError
        Where ``n_neighbors`` is not positive.

    References
    ----------
    I. Dagan, L. Lee and F. C. N. Pereira, Similarity-based models of word cooccurrence
    probabilities, Machine Learning 34, 43-69, 1999, section 2.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skcooc.heldout import nearest_rows
    >>> known = sp.csr_array([[2.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 3.0]])
    >>> neighbors, divergences = nearest_rows(known, n_neighbors=1)
    >>> neighbors.ravel().tolist(), divergences.round(2).ravel().tolist()
    ([1, 0, 0], [0.0, 0.0, 0.45])
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} should be in the [1, inf) range")
    P = distributions(known)
    P.eliminate_zeros()
    by_column, n_rows = P.tocsc(), P.shape[0]
    k = min(n_neighbors, max(n_rows - 1, 1))
    neighbors, divergences = np.zeros((n_rows, k), dtype=np.int64), np.full((n_rows, k), np.inf)
    for i in range(n_rows):
        own = slice(P.indptr[i], P.indptr[i + 1])
        shared = _shared(by_column, P.indices[own], P.data[own])
        shared[i] = 0
        nearest = np.argsort(-shared, kind="stable")[:k]
        nearest = nearest[shared[nearest] > 0]
        neighbors[i, : len(nearest)] = nearest
        divergences[i, : len(nearest)] = np.maximum(np.log(2) - shared[nearest] / 2, 0)
    return neighbors, divergences


def _shared(by_column: CSR, columns: Array, p: Array) -> Array:
    """What the columns of one row with probabilities p take from the divergence, (N,)."""
    starts, stops = by_column.indptr[columns], by_column.indptr[columns + 1]
    lengths = stops - starts
    ends = np.cumsum(lengths)
    places = np.arange(lengths.sum()) + np.repeat(starts - ends + lengths, lengths)
    p, q = np.repeat(p, lengths), by_column.data[places]
    gains = p * np.log1p(q / p) + q * np.log1p(p / q)
    return np.bincount(by_column.indices[places], weights=gains, minlength=by_column.shape[0])


@dataclass(frozen=True)
class SimilarRows:
    """The mean of what is known of the most similar rows, the more alike the heavier.

        P(y_j given x_i) = sum_l W_il P(y_j given x_l) / sum_l W_il,   W_il = exp(-beta J_il)

    over the nearest rows l of `nearest_rows`; P(y_j given x_l) are relative frequencies. A row that
    has no column in common with another gets the frequencies of the columns. To be combined with
    what is known of the row itself: below a `Discounted` table, as in the paper, or in a mean.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts.
    neighbors, divergences : (N, k) arrays
        Of `nearest_rows`; their first columns are fewer neighbours.
    beta : float in [0, inf)
        How fast weights fall with the divergence; log(10) times that of the paper.

    Raises
    ------
    ValueError
        Where beta is negative or not finite.

    References
    ----------
    I. Dagan, L. Lee and F. C. N. Pereira, Similarity-based models of word cooccurrence
    probabilities, Machine Learning 34, 43-69, 1999, section 2.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skcooc.heldout import SimilarRows, nearest_rows
    >>> from skcooc.metrics import perplexity_of
    >>> known = sp.csr_array([[2.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 3.0]])
    >>> similar = SimilarRows(known, *nearest_rows(known, n_neighbors=1), beta=5.0)
    >>> round(perplexity_of([[0, 0, 0], [0, 0, 0], [1, 0, 0]], similar), 3)
    2.0
    """

    known: CSR
    neighbors: Array
    divergences: Array
    beta: float

    def __post_init__(self) -> None:
        if not 0 <= self.beta < np.inf:
            raise ValueError(f"beta={self.beta} should be in the [0, inf) range")

    def cells(self, X: Block) -> Array:
        """P(y_j given x_i) at the non-zeros of further counts of these rows, (nnz,), float64."""
        P, weights = distributions(self.known), self._weights()
        ends, rows = X.table.indptr, rows_of(X.table)
        alone = weights.sum(axis=1) == 0
        cells = np.where(alone[rows], frequencies_of(self.known)[X.indices], 0.0)
        asked = np.flatnonzero(np.diff(ends))
        for start in range(0, len(asked), BLOCK):
            some = asked[start : start + BLOCK]
            part = slice(ends[some[0]], ends[some[-1] + 1])
            dense = (weights[some] @ P).toarray()
            cells[part] += dense[np.searchsorted(some, rows[part]), X.indices[part]]
        return cells

    def _weights(self) -> CSR:
        """W divided by its row sums, (N, N), k entries a row at most."""
        n_rows, k = self.neighbors.shape
        found = np.isfinite(self.divergences)
        nearest = np.where(found[:, :1], self.divergences[:, :1], 0)  # the largest weight is one
        W = np.where(found, np.exp(-self.beta * np.where(found, self.divergences - nearest, 0)), 0)
        W /= np.maximum(W.sum(axis=1, keepdims=True), 1)
        ends = np.arange(0, n_rows * k + 1, k)
        return sp.csr_array((W.ravel(), self.neighbors.ravel(), ends), shape=(n_rows, n_rows))
