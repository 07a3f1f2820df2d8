"""Predictors of held-out tokens: all have `cells`, and they compose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.protocol import CSR, Array, Block, Predictor

LEAST_SMOOTHING, LARGEST_SMOOTHING = 1e-3, 0.95  # limits of estimated smoothing
BISECTIONS = 16
EM_STEPS, EM_TOLERANCE = 1000, 1e-9  # of weights: maximum number, and least gain, nats


class Factors(NamedTuple):
    """Predictions of a fitted mixture model, P(y_j given x_i) = A[i] @ B[j]."""

    A: Array  # (N, K): P(z given x) of the rows, such as ``embedding_``
    B: Array  # (M, K): P(y given z), such as ``components_.T``

    def cells(self, X: Block) -> Array:
        return X.cells(self.A, self.B).astype(np.float64)


class Unigram(NamedTuple):
    """Topic-free baseline: one distribution for all rows; see :func:`skcooc.metrics.unigram`."""

    distribution: Array  # (M,)

    def cells(self, X: Block) -> Array:
        return self.distribution[X.indices]


class CachedPredictions(NamedTuple):
    """Probabilities of the non-zeros of one table, computed once for several uses."""

    values: Array  # (nnz,)

    def cells(self, X: Block) -> Array:
        return self.values


class Interpolated(NamedTuple):
    """Weighted average of predictions of the same rows.

    Use :func:`skcooc.metrics.best_weights` to estimate the weights.
    """

    predictors: Sequence[Predictor]
    weights: Sequence[float]  # they sum to one

    def cells(self, X: Block) -> Array:
        pairs = zip(self.weights, self.predictors, strict=True)
        first, *terms = (weight * predictor.cells(X) for weight, predictor in pairs)
        return sum(terms, start=first)


def growth(n: Array, c: float, power: int = 1) -> Array:
    """n^p / (n^p + c^p) of the known tokens n of rows: one half at n = c; all one for c = 0."""
    return np.ones(len(n)) if c == 0 else n**power / (n**power + c**power)


@dataclass(frozen=True)
class Growing:
    """Mean of two predictors with a weight for each row, which grows with its known tokens.

    (1 - w_i) P(y_j given x_i) + w_i Q(y_j given x_i)
    """

    first: Predictor  # P
    second: Predictor  # Q, of the same rows
    weights: Array  # (n,): the w_i in [0, 1], such as a multiple of ``growth``

    def cells(self, X: Block) -> Array:
        w = self.weights[rows_of(X.table)]
        return (1 - w) * self.first.cells(X) + w * self.second.cells(X)


@dataclass(frozen=True)
class Discounted:
    """Absolute discounting of known counts, interpolated with a lower predictor.

        P(y_j given x_i) = (max(n_ij - d, 0) + (a + sum_l min(n_il, d)) P_lower(y_j given x_i))
                           / (n_i + a)

    An empty row is predicted by the lower predictor alone. With d = 0 this is a Dirichlet prior of
    weight a. With positive a and d it is a Pitman-Yor process with one table per known column of a
    row. With a = 0 it is the Kneser-Ney estimate, if the lower predictor is proportional to the
    number of rows in which a column occurs.

    Read more in the :doc:`user guide </guide/heldout>`.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts n_ij.
    discount : float in [0, 1]
        Discount d, which is subtracted from each count.
    lower : predictor
        Lower predictor of the same rows.
    concentration : float >= 0, default=0.0
        Concentration a, the pseudo-count of the lower predictor in every row.

    References
    ----------
    H. Ney, U. Essen and R. Kneser, On structuring probabilistic dependences in stochastic language
    modelling, Computer Speech and Language 8, 1-38, 1994.

    Y. W. Teh, A hierarchical Bayesian language model based on Pitman-Yor processes, ACL 2006.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skcooc.heldout import Discounted, Unigram
    >>> from skcooc.metrics import perplexity_of
    >>> known = sp.csr_array([[3.0, 1.0, 0.0]])
    >>> back_off = Discounted(known, 0.5, Unigram(np.array([0.2, 0.2, 0.6])))
    >>> round(perplexity_of([[0, 0, 1]], back_off), 3)  # 4 / (0.5 + 0.5) / 0.6
    6.667
    """

    known: CSR
    discount: float
    lower: Predictor
    concentration: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.discount <= 1:
            raise ValueError(f"discount={self.discount} should be in the [0, 1] range")
        if not self.concentration >= 0:
            raise ValueError(f"concentration={self.concentration} should not be negative")

    def cells(self, X: Block) -> Array:
        d = self.discount
        rows = rows_of(X.table)
        n_rows = self.known.shape[0]
        of_row = rows_of(self.known)
        seen = np.bincount(of_row, weights=self.known.data, minlength=n_rows)
        taken = np.bincount(of_row, weights=np.minimum(self.known.data, d), minlength=n_rows)
        total = seen + self.concentration
        saved = taken + self.concentration
        saved = np.where(total > 0, saved, 1)
        total = np.where(total > 0, total, 1)
        discounted = np.maximum(values_at(self.known, rows, X.indices) - d, 0)
        return (discounted + saved[rows] * self.lower.cells(X)) / total[rows]


def smoothed(predictor: Predictor, background: Array, s: float) -> Predictor:
    """(1 - s) P + s b, with the background b (M,)."""
    return Interpolated((predictor, Unigram(background)), (1 - s, s))


def weighted(mixtures: Sequence[Array], weights: Sequence[float]) -> Array:
    """Concatenated mixtures of models, (n, K_m), times the weights of the models."""
    return np.hstack([float(w) * A for A, w in zip(mixtures, weights, strict=True)])


def side_by_side(models: Sequence[Factors], weights: Sequence[float]) -> Factors:
    """The weighted mean of models as one product, with the components of all."""
    A, B = zip(*models, strict=True)
    return Factors(weighted(A, weights), np.hstack(B))


def with_background(factors: Factors, background: Array, s: float) -> Factors:
    """Smoothed factors: the background is an additional component."""
    A, B = factors
    ones = np.ones((len(A), 1), dtype=A.dtype)
    return side_by_side([factors, Factors(ones, background[:, None].astype(B.dtype))], (1 - s, s))


def rows_of(table: CSR) -> Array:
    """Row index of each non-zero, (nnz,)."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def row_sums(table: CSR) -> Array:
    """Sum of each row, (n,), float64."""
    return np.bincount(rows_of(table), weights=table.data, minlength=table.shape[0])


def values_at(table: CSR, rows: Array, columns: Array) -> Array:
    """table[i, j] for each pair, (n,), float64; zero if not stored."""
    width = table.shape[1]
    keys = rows_of(table) * width + table.indices
    order = np.argsort(keys, kind="stable")  # fast for sorted indices
    keys = keys[order]
    wanted = rows.astype(np.int64) * width + columns
    if not keys.size:
        return np.zeros(len(rows))
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, table.data[order[places]], 0).astype(np.float64)


def log_cells(predictor: Predictor, X: Block) -> Array:
    """log P(y_j given x_i) at the non-zeros, (nnz,), nats; -inf for impossible ones."""
    with np.errstate(divide="ignore"):
        return np.log(predictor.cells(X))


def best_smoothing(predictor: Predictor, background: Array, X: Block) -> float:
    """The smoothing s in [0.001, 0.95] that is best on held-out counts.

    Maximises sum n_ij log((1 - s) P_ij + s b_j), which is concave in s, by bisection.
    """
    P = predictor.cells(X)
    b = Unigram(background).cells(X)
    n = X.weighted_counts
    # Sums, not dot products: those of BLAS are slow on a busy machine, and their last digits depend
    # on the number of threads.
    low, high = LEAST_SMOOTHING, LARGEST_SMOOTHING
    for _ in range(BISECTIONS):
        s = (low + high) / 2
        slope = (n * ((b - P) / ((1 - s) * P + s * b))).sum()
        low, high = (s, high) if slope > 0 else (low, s)
    return (low + high) / 2


def best_weights(predictors: Sequence[Predictor], X: Block) -> Array:
    """The best weights, (n,), of a mean of predictors on held-out counts, by EM.

    Maximises sum n_ij log(sum_k w_k P_k(y_j given x_i)), which is concave in w, from equal weights
    (Jelinek and Mercer, 1980). Tokens that all predictors hold impossible do not count; ValueError
    if there are no others.
    """
    n = X.weighted_counts
    cells = [predictor.cells(X) for predictor in predictors]
    possible = (n > 0) & (sum(cells) > 0)
    if not possible.any():
        raise ValueError("X has no tokens to which any of the predictors gives a probability.")
    n = n[possible] / n[possible].sum()
    cells = [P[possible] for P in cells]
    weights = np.full(len(cells), 1 / len(cells))
    before = -np.inf
    for _ in range(EM_STEPS):
        mean = sum(w * P for w, P in zip(weights, cells, strict=True))
        objective = (n * np.log(mean)).sum()
        if objective - before < EM_TOLERANCE:
            break
        before = objective
        weights = weights * [(n * (P / mean)).sum() for P in cells]
    return weights
