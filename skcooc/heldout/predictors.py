"""Predictions of further observations, and how they compose: all have `cells`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.protocol import Array, Block, Predictor

LEAST_SMOOTHING, LARGEST_SMOOTHING = 1e-3, 0.95  # between which smoothing is estimated
BISECTIONS = 16
EM_STEPS, EM_TOLERANCE = 1000, 1e-9  # of weights: at most, and the gain that ends it, nats


class Factors(NamedTuple):
    """P(y_j given x_i) = A[i] @ B[j]: what every fitted model predicts.

    Parameters
    ----------
    A : (N, K) array
        P(z given x) of the rows, such as ``embedding_``.
    B : (M, K) array
        P(y given z), such as ``components_.T``.
    """

    A: Array
    B: Array

    def cells(self, X: Block) -> Array:
        """Products of the factors."""
        return X.cells(self.A, self.B).astype(np.float64)


class Unigram(NamedTuple):
    """The same distribution for every row.

    Parameters
    ----------
    distribution : (M,) array
        Such as that of :func:`skcooc.metrics.unigram`.
    """

    distribution: Array

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
    """The mean of several predictions.

    Parameters
    ----------
    predictors : sequence of predictors
        Of the same rows.
    weights : sequence of float
        They sum to one; the best are found by :func:`skcooc.metrics.best_weights`.
    """

    predictors: Sequence[Predictor]
    weights: Sequence[float]

    def cells(self, X: Block) -> Array:
        """The weighted mean of the probabilities."""
        pairs = zip(self.weights, self.predictors, strict=True)
        first, *others = (weight * predictor.cells(X) for weight, predictor in pairs)
        return sum(others, start=first)


def smoothed(predictor: Predictor, background: Array, s: float) -> Predictor:
    """(1 - s) P + s b with the distribution b of the columns, (M,)."""
    return Interpolated((predictor, Unigram(background)), (1 - s, s))


def weighted(mixtures: Sequence[Array], weights: Sequence[float]) -> Array:
    """The mixtures of models, (n, K_m) each, times the weights of these, beside each other."""
    return np.hstack([float(w) * A for A, w in zip(mixtures, weights, strict=True)])


def side_by_side(models: Sequence[Factors], weights: Sequence[float]) -> Factors:
    """The weighted mean of models as one product, of which theirs are the components."""
    A, B = zip(*models, strict=True)
    return Factors(weighted(A, weights), np.hstack(B))


def with_background(factors: Factors, background: Array, s: float) -> Factors:
    """The same as ``smoothed``, where the background is one component more."""
    A, B = factors
    ones = np.ones((len(A), 1), dtype=A.dtype)
    return side_by_side([factors, Factors(ones, background[:, None].astype(B.dtype))], (1 - s, s))


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


def best_weights(predictors: Sequence[Predictor], X: Block) -> Array:
    """The weights, (n,), with which the mean of predictions is best on held-out counts, by EM.

    Maximises sum n_ij log(sum_k w_k P_k(y_j given x_i)), which is concave in w, from equal weights
    (Jelinek and Mercer 1980). Observations that none of them holds possible do not count.
    ValueError where there are no others.
    """
    n, cells = X.observations, [predictor.cells(X) for predictor in predictors]
    possible = (n > 0) & (sum(cells) > 0)
    if not possible.any():
        raise ValueError("X holds no observations that any of the predictors gives a probability.")
    n, cells = n[possible] / n[possible].sum(), [P[possible] for P in cells]
    weights, before = np.full(len(cells), 1 / len(cells)), -np.inf
    for _ in range(EM_STEPS):
        mean = sum(w * P for w, P in zip(weights, cells, strict=True))
        objective = (n * np.log(mean)).sum()
        if objective - before < EM_TOLERANCE:
            break
        before = objective
        weights = weights * [(n * (P / mean)).sum() for P in cells]
    return weights
