"""Predictions of further observations, and how they compose: all have `cells`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.protocol import Array, Block, Predictor

LEAST_SMOOTHING, LARGEST_SMOOTHING = 1e-3, 0.95  # between which smoothing is estimated
BISECTIONS = 16


class Factors(NamedTuple):
    """P(y_j given x_i) = A[i] @ B[j]."""

    A: Array  # (n, k)
    B: Array  # (M, k)

    def cells(self, X: Block) -> Array:
        """Products of the factors."""
        return X.cells(self.A, self.B).astype(np.float64)


class Unigram(NamedTuple):
    """The same distribution for every row."""

    distribution: Array  # (M,)

    def cells(self, X: Block) -> Array:
        """The probability of each column."""
        return self.distribution[X.indices]


class Known(NamedTuple):
    """What a predictor made of the non-zeros of one table, for several uses."""

    values: Array  # (nnz,)

    def cells(self, X: Block) -> Array:
        """These."""
        return self.values


class Interpolated(NamedTuple):
    """The mean of several predictions."""

    predictors: Sequence[Predictor]
    weights: Sequence[float]  # they sum to one

    def cells(self, X: Block) -> Array:
        """The weighted mean of the probabilities."""
        pairs = zip(self.weights, self.predictors, strict=True)
        first, *others = (weight * predictor.cells(X) for weight, predictor in pairs)
        return sum(others, start=first)


def smoothed(predictor: Predictor, background: Array, s: float) -> Predictor:
    """(1 - s) P + s b with the distribution b of the columns, (M,)."""
    return Interpolated((predictor, Unigram(background)), (1 - s, s))


def with_background(factors: Factors, background: Array, s: float) -> Factors:
    """The same as ``smoothed``, where the background is one component more."""
    A, B = factors
    known = np.full((len(A), 1), s, dtype=A.dtype)
    return Factors(
        np.hstack([(1 - s) * A, known]), np.hstack([B, background[:, None].astype(B.dtype)])
    )


def log_cells(predictor: Predictor, X: Block) -> Array:
    """log P(y_j given x_i) at the non-zeros, (nnz,), nats; -inf where it is impossible."""
    with np.errstate(divide="ignore"):
        return np.log(predictor.cells(X))


def best_smoothing(predictor: Predictor, background: Array, X: Block) -> float:
    """The s in [.001, .95] that maximises sum n_ij log((1 - s) P_ij + s b_j) of held-out counts.

    By bisection: it is concave in s. The background b is (M,).
    """
    P, b, n = predictor.cells(X), Unigram(background).cells(X), X.observations
    # Sums, not dot products: BLAS divides a dot product among threads, which on a busy machine wait
    # for each other 50 times longer than the sum takes, and whose number changes the last digits.
    low, high = LEAST_SMOOTHING, LARGEST_SMOOTHING
    for _ in range(BISECTIONS):
        s = (low + high) / 2
        slope = (n * ((b - P) / ((1 - s) * P + s * b))).sum()
        low, high = (s, high) if slope > 0 else (low, s)
    return (low + high) / 2
