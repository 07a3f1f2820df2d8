"""Log-likelihoods of held-out observations under P(y_j given x_i) = A[i] @ B[j], and sampling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.protocol import Array


class Smoothing(NamedTuple):
    """Probabilities that are scored are (1 - s) P + s b."""

    s: float
    background: Array  # (M,)

    def log(self, P: Array, columns: Array) -> Array:
        """Logarithms of smoothed probabilities of these columns, in float64; -inf for zero."""
        with np.errstate(divide="ignore"):
            return np.log((1 - self.s) * P.astype(np.float64) + self.s * self.background[columns])


def score_pairs(rows: Array, columns: Array, A: Array, B: Array, smooth: Smoothing) -> Array:
    """log P(y given x) of single observations.

    Parameters
    ----------
    rows, columns : (L,) arrays of int
    A : (N, K) array
    B : (M, K) array
    smooth : Smoothing

    Returns
    -------
    log_likelihood : (L,) array, nats
    """
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(A)))])
    ones = np.ones(len(rows), dtype=A.dtype)
    X = sp.csr_array((ones, columns[order], indptr), shape=(len(A), len(B)))
    log_likelihood = np.empty(len(rows))
    log_likelihood[order] = smooth.log(CSRCounts(X).cells(A, B), X.indices)
    return log_likelihood


def score_rows(X: Any, A: Array, B: Array, smooth: Smoothing) -> tuple[Array, Array]:
    """Mean of log P(y given x) over the observations of each row.

    Parameters
    ----------
    X : CSR array of shape (n, M)
    A : (n, K) array
    B : (M, K) array
    smooth : Smoothing

    Returns
    -------
    log_likelihood : (n,) array, nats
        Zero where a row has no observations.
    counts : (n,) array
        Number of observations of each row.
    """
    counts = CSRCounts(X)
    terms = X.data * smooth.log(counts.cells(A, B), X.indices)
    sums = CSRCounts(sp.csr_array((terms, X.indices, X.indptr), shape=X.shape)).row_sums
    return sums / np.where(counts.row_sums > 0, counts.row_sums, 1), counts.row_sums


def draw(
    n_samples: int, row_distribution: Array, A: Array, components: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw observations: a row, a component given the row, a column given the component.

    Parameters
    ----------
    n_samples : int
    row_distribution : (N,) array
    A : (N, K) array
    components : (K, M) array
    rng : numpy Generator

    Returns
    -------
    rows, columns : (n_samples,) arrays of int
    """
    per_row = rng.multinomial(n_samples, row_distribution)
    per_component = rng.multinomial(per_row, _exactly(A))  # (N, K)
    rows = [np.repeat(np.arange(len(A)), n) for n in per_component.T]
    columns = [
        rng.choice(len(p), size=n, p=p)
        for p, n in zip(_exactly(components), per_component.sum(axis=0), strict=True)
    ]
    order = rng.permutation(n_samples)
    return np.concatenate(rows)[order], np.concatenate(columns)[order]


def _exactly(P: Array) -> Array:
    """Distributions in float64 whose sums numpy accepts as one."""
    P = P.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)
