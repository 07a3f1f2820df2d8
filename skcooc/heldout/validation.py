"""Held-out observations: the perplexity of a model on them, and the smoothing they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skcooc.protocol import Array, Counts, Model, Rows

LEAST_SMOOTHING, LARGEST_SMOOTHING = 1e-3, 0.95  # between which smoothing is estimated
BISECTIONS = 16


class Validation(NamedTuple):
    """Perplexity on held-out observations, at this smoothing."""

    perplexity: float
    smoothing: float


@dataclass(frozen=True)
class HeldOut:
    """Held-out observations of the rows of every block.

    Parameters
    ----------
    blocks : sequence of Counts
        Held-out counts, row by row beside the blocks fitted. Each has ``observations``, counts of
        its non-zeros, and their column ``indices``.
    background : (M,) array
        Distribution with which the model is smoothed: the unigram of the training observations.
    smoothing : float or None, default=None
        Weight of the background; None estimates it on these observations.
    """

    blocks: Sequence[Any]
    background: Array
    smoothing: float | None = None

    def __call__(self, model: Model, params: Any, rows: Sequence[Rows]) -> Validation:
        """Score parameters and row states."""
        return self.score(model.factors(params, state) for state in rows)

    def score(self, factors: Iterable[tuple[Array, Array]]) -> Validation:
        """Score P(y_j given x_i) = A[i] @ B[j], given as A and B of every block."""
        P = np.concatenate(
            [cell_probabilities(X, A, B) for X, (A, B) in zip(self.blocks, factors, strict=True)]
        )
        counts = np.concatenate([X.observations for X in self.blocks])
        b = np.concatenate([self.background[X.indices] for X in self.blocks])
        s = estimate_smoothing(P, b, counts) if self.smoothing is None else self.smoothing
        with np.errstate(divide="ignore"):
            mean = (counts * np.log((1 - s) * P + s * b)).sum() / counts.sum()
        return Validation(float(np.exp(-mean)), s)


def cell_probabilities(X: Counts, A: Array, B: Array) -> Array:
    """P(y_j given x_i) at the non-zeros, in float64."""
    return X.cells(A, B).astype(np.float64)


def estimate_smoothing(P: Array, b: Array, counts: Array) -> float:
    """The s that maximises sum n log((1 - s) P + s b), by bisection: the sum is concave in s.

    Parameters
    ----------
    P, b : (nnz,) arrays
        Probability of each held-out cell under the model and under the background.
    counts : (nnz,) array

    Returns
    -------
    s : float in [.001, .95]

    Examples
    --------
    >>> import numpy as np
    >>> P, b = np.array([0.9, 0.0]), np.array([0.1, 0.5])
    >>> round(estimate_smoothing(P, b, np.array([3.0, 1.0])), 2)
    0.28
    """
    # Sums, not dot products: BLAS divides a dot product among threads, which on a busy machine wait
    # for each other 50 times longer than the sum takes, and whose number changes the last digits.
    low, high = LEAST_SMOOTHING, LARGEST_SMOOTHING
    for _ in range(BISECTIONS):
        s = (low + high) / 2
        slope = (counts * ((b - P) / ((1 - s) * P + s * b))).sum()
        low, high = (s, high) if slope > 0 else (low, s)
    return (low + high) / 2
