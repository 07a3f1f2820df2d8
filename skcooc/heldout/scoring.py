"""Log-likelihoods of held-out tokens and of rows, sampling, rankings of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from skcooc.heldout.predictors import Factors, log_cells, rows_of, values_at
from skcooc.protocol import Array, Block, Predictor, warn

SPLIT_SEED = 0  # of document completion: halves of new rows
CHUNK_SIZE = 2**22  # size of a temporary array


def halves(X: Block) -> tuple[Block, Block]:
    """Divide new rows into known and scored halves; a single token of a row is scored."""
    return X.divide(0.5, SPLIT_SEED, occupied=True)


def score_pairs(X: Block, order: Array, predictor: Predictor) -> Array:
    """log P(y given x) of single tokens, (L,), nats, in the order of ``Dyads.listed``."""
    log_likelihood = np.empty(len(order))
    log_likelihood[order] = log_cells(predictor, X)
    return log_likelihood


def warn_about_unknown_rows(mass: Array, rows: Array) -> None:
    """Warn if most tokens, in ``rows`` (L,), have no training ``mass`` (N,)."""
    if len(rows) and 2 * np.count_nonzero(mass[rows]) < len(rows):
        warn(
            "Most tokens to score are in rows without training tokens, which all have the same "
            "predictions. Folds of unshuffled tokens leave out whole rows: use "
            "KFold(n_splits, shuffle=True) or skcooc.model_selection.CountSplit(n_splits).",
        )


def score_rows(X: Block, predictor: Predictor) -> tuple[Array, Array]:
    """Mean log P(y given x) of the tokens of each row (zero if empty), and their number, (n,)."""
    sums = X.sum_rows(X.weighted_counts * log_cells(predictor, X))
    counts = X.row_sums
    return sums / np.where(counts > 0, counts, 1), counts


def weighted_mean(samples: Array, weights: Array) -> float:
    """Mean of samples (n,); ValueError where all weights are zero."""
    if not weights.any():
        raise ValueError("X has no tokens to score: all entries are zero.")
    counted = weights > 0  # an impossible token of weight zero would give NaN
    return float(np.average(samples[counted], weights=weights[counted]))


def draw(
    n_samples: int, row_distribution: Array, A: Array, components: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Rows and columns of tokens from P(x) (N,), P(z given x) (N, K), P(y given z) (K, M)."""
    per_row = rng.multinomial(n_samples, row_distribution)
    per_component = rng.multinomial(per_row, _exactly(A))  # (N, K)
    rows = [np.repeat(np.arange(len(A)), n) for n in per_component.T]
    columns = [
        rng.choice(len(p), size=n, p=p)
        for p, n in zip(_exactly(components), per_component.sum(axis=0), strict=True)
    ]
    order = rng.permutation(n_samples)
    return np.concatenate(rows)[order], np.concatenate(columns)[order]


def draw_given(z: Array, components: Array, rng: np.random.Generator) -> Array:
    """A random column for each component z, (n_samples,), from P(y given z), (K, M)."""
    columns = np.empty(len(z), dtype=np.intp)
    for k, p in enumerate(_exactly(components)):
        columns[z == k] = rng.choice(len(p), size=np.count_nonzero(z == k), p=p)
    return columns


def _exactly(P: Array) -> Array:
    P = P.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)  # else NumPy may refuse them


@dataclass(frozen=True)
class Unseen:
    """Predictions for words new to the document, which have no known count n_ij in it.

        P(y_j given x_i, unseen) = P(y_j given x_i) / (1 - sum_{l: n_il > 0} P(y_l given x_i))

    The probability is zero for columns with a known count. A within-document cache does not change
    these predictions.

    Parameters
    ----------
    known : counts of shape (N, M)
        Known counts n_ij. Only the positions of non-zero entries matter.
    predictor : predictor
        Predictor of the same rows.
    """

    known: Block
    predictor: Predictor

    def cells(self, X: Block) -> Array:
        P = np.where(is_observed(self.known, X), 0, self.predictor.cells(X))
        at_known = np.where(self.known.table.data > 0, self.predictor.cells(self.known), 0)
        left = (1 - self.known.sum_rows(at_known))[rows_of(X.table)]
        left = np.maximum(left, P)  # they include P: less is rounding
        return P / np.where(left > 0, left, 1)


class Parts(NamedTuple):
    """Mean log-likelihoods, in nats, of repeated words and of words new to the document.

    The mean of all tokens is ``seen_share * seen + (1 - seen_share) * unseen``. A part without
    tokens is NaN.
    """

    seen_share: float  # share of tokens whose column the known part of the row has
    seen: float  # mean log P(y given x) of these
    unseen: float  # of the others
    renormalised: float  # of the others, given that they are new: log of `Unseen`


def score_parts(X: Block, predictor: Predictor, known: Block) -> Parts:
    n = X.weighted_counts
    logs = log_cells(predictor, X)
    repeats = is_observed(known, X)
    new = np.where(repeats, 0, n)
    renormalised = log_cells(Unseen(known, predictor), X)
    share = np.where(repeats, n, 0).sum() / n.sum()
    return Parts(float(share), _mean(logs, n - new), _mean(logs, new), _mean(renormalised, new))


def is_observed(known: Block, X: Block) -> Array:
    """Mask (nnz,) of the non-zeros of X in cells with a ``known`` count."""
    return values_at(known.table, rows_of(X.table), X.indices) > 0


def _mean(values: Array, weights: Array) -> float:
    counted = weights > 0  # 0 * -inf would give NaN
    mean = np.average(values[counted], weights=weights[counted]) if counted.any() else np.nan
    return float(mean)


def log_likelihoods(X: Block, weights: Array, factors: Factors) -> Array:
    """Log-likelihoods of whole rows: log sum_a w_a prod_j P_aj^n_ij with P = A @ B.T.

    Weights (a,) sum to one, as do the rows of A (a, k) and the columns of B (M, k). Returns (n,),
    nats, float64; -inf for impossible rows.
    """
    X, columns = X.astype(np.float64).occupied()
    A, B = (F.astype(np.float64) for F in (factors.A, factors.B[columns]))
    total = np.full(X.shape[0], -np.inf)
    for first in range(0, len(A), step := max(1, CHUNK_SIZE // (1 + sum(X.shape)))):
        chunk = slice(first, first + step)
        P = B @ A[chunk].T
        impossible = (P <= 0).astype(P.dtype)
        scores = X.dot(np.log(P + impossible))
        if impossible.any():
            scores[X.dot(impossible) > 0] = -np.inf
        with np.errstate(divide="ignore"):
            scores += np.log(weights[chunk].astype(np.float64))
        total = np.logaddexp(total, np.logaddexp.reduce(scores, axis=1))
    return total


class Ranked(NamedTuple):
    """Columns of several rows with the largest values, the best first."""

    columns: Array  # (n, k) of int, padded with -1
    values: Array  # (n, k), float64, padded with NaN

    @classmethod
    def none(cls, n: int, k: int) -> Self:
        return cls(np.full((n, k), -1), np.full((n, k), np.nan))


def ranked(values: Array, k: int) -> Ranked:
    """The k largest values of each row, (n, M); equal values by column, -inf excluded."""
    n = len(values)
    width = min(k, values.shape[1])
    lowest = np.partition(values, -width, axis=1)[:, -width]
    rows, columns = np.nonzero((values >= lowest[:, None]) & (values > -np.inf))
    values = values[rows, columns]
    order = np.lexsort((columns, -values, rows))
    sizes = np.bincount(rows, minlength=n)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = order[place < k]
    place = place[place < k]
    best = Ranked.none(n, k)
    best.columns[rows[order], place] = columns[order]
    best.values[rows[order], place] = values[order]
    return best
