"""Log-likelihoods of whole rows: an integral over mixtures that has become a sum."""

from __future__ import annotations

import numpy as np

from skcooc.heldout.predictors import Factors
from skcooc.protocol import Array, Block

NUMBERS = 2**22  # of an array that is made on the way


def log_likelihoods(X: Block, weights: Array, factors: Factors) -> Array:
    """log sum_a w_a prod_j P_aj^n_ij with P = A @ B.T, (n,), nats; -inf where impossible.

    Weights (a,) sum to one, as do the rows of A (a, k) and the columns of B (M, k). The sums are in
    float64, whatever the type of the factors: they are long, and of large numbers.
    """
    X, columns = X.astype(np.float64).occupied()
    A, B = (F.astype(np.float64) for F in (factors.A, factors.B[columns]))
    total = np.full(X.shape[0], -np.inf)
    for first in range(0, len(A), step := max(1, NUMBERS // (1 + sum(X.shape)))):
        some = slice(first, first + step)
        evidence = np.logaddexp.reduce(_joint(X, weights[some], B @ A[some].T), axis=1)
        total = np.logaddexp(total, evidence)
    return total


def _joint(X: Block, weights: Array, P: Array) -> Array:
    """log w_a + sum_j n_ij log P_ja, (n, a)."""
    impossible = (P <= 0).astype(P.dtype)
    scores = X.dot(np.log(P + impossible))
    if impossible.any():
        scores[X.dot(impossible) > 0] = -np.inf
    with np.errstate(divide="ignore"):
        return scores + np.log(weights.astype(np.float64))
