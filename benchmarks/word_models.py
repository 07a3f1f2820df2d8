"""Topic-free language models: Kneser-Ney, similar words, mixed-order Markov models.

They are predictors, as those of :mod:`skcooc.heldout`. Rows are contexts, columns the next words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from skcooc.heldout import Discounted, Interpolated, Unigram
from skcooc.heldout.predictors import rows_of, values_at
from skcooc.metrics import best_weights
from skcooc.protocol import CSR, Array, Block, Predictor, TableLike


def frequencies(known: CSR) -> Predictor:
    """Relative frequencies n_ij / n_i; the unigram where a row has no counts."""
    return Discounted(known, 0.0, Unigram(frequencies_of(known)))


def best_back_off(X: TableLike, known: CSR, lower: Sequence[Predictor]) -> Discounted:
    """The discounted table of least perplexity above a mean of predictors, by EM.

    The prediction is linear in the discount d and in d times the weights of the mean,

        (1 - d) P(., discount 0, any) + sum_k d w_k P(., discount 1, lower_k),

    where counts are whole, so that both are found at once and there is one optimum. Rows without
    training counts have no discount.

    Parameters
    ----------
    X : array-like or sparse array of shape (n, M)
        Validation counts. Tokens that every predictor gives probability zero do not count.
    known : (n, M) CSR array
        Training counts: whole numbers.
    lower : sequence of predictors
        Of the same rows; the table backs off to their mean.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skcooc.heldout import Unigram
    >>> known = sp.csr_array([[1.0, 1.0, 0.0]])
    >>> back_off = best_back_off([[4, 4, 2]], known, [Unigram(np.array([0.25, 0.25, 0.5]))])
    >>> round(back_off.discount, 2)
    0.4
    """
    equal = np.full(len(lower), 1 / len(lower))
    whole = Discounted(known, 0.0, Interpolated(lower, equal.tolist()))
    parts = best_weights(X, [whole, *(Discounted(known, 1.0, one) for one in lower)])
    discount = min(parts[1:].sum(), 1.0)
    weights = parts[1:] / discount if discount > 0 else equal
    return Discounted(known, float(discount), Interpolated(lower, weights.tolist()))


class Grouped(NamedTuple):
    """Predictions for groups of rows, such as contexts with the same last word."""

    predictor: Predictor  # its rows are the groups
    groups: Array  # (n,), the group of each row

    def cells(self, X: Block) -> Array:
        tied = X.coarsen(self.groups)
        cells = self.predictor.cells(tied), tied.indices, tied.table.indptr
        table = sp.csr_array(cells, shape=tied.shape)
        return values_at(table, self.groups[rows_of(X.table)], X.indices)


BLOCK = 500  # rows whose means are in memory


class RowMeans(NamedTuple):
    """Weighted means of the column frequencies of other rows; the unigram without any."""

    weights: sp.csr_array  # (N, N), rows sum to one or zero
    frequencies: sp.csr_array  # (N, M)
    unigram: Array  # (M,)

    def cells(self, X: Block) -> Array:
        """Probabilities of the non-zeros of X."""
        rows, ends, N = rows_of(X.table), X.table.indptr, X.shape[0]
        alone = np.diff(self.weights.indptr) == 0
        cells = np.where(alone[rows], self.unigram[X.indices], 0.0)
        for start in range(0, N, BLOCK):
            stop = min(start + BLOCK, N)
            part = slice(ends[start], ends[stop])
            means = sp.csr_array(self.weights[start:stop] @ self.frequencies)
            cells[part] += values_at(means, rows[part] - start, X.indices[part])
        return cells


def nearest_rows(known: CSR, n_neighbors: int = 60) -> tuple[Array, Array]:
    """The most similar rows, by the Jensen-Shannon divergence of their frequencies.

    The divergence of the distributions p and q of two rows is a sum over their common columns,

        J = log 2 - sum_j ((p_j + q_j) log(p_j + q_j) - p_j log p_j - q_j log q_j) / 2,

    so that time is the sum over the columns of their squared numbers of entries.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts.
    n_neighbors : int, default=60
        Number k of neighbours, each with at least one common column.

    Returns
    -------
    neighbors : (N, k) array of int
        The nearest first, never the row itself.
    divergences : (N, k) array
        In nats, from 0 to log 2; infinite where there are fewer neighbours.

    References
    ----------
    I. Dagan, L. Lee and F. C. N. Pereira, Similarity-based models of word cooccurrence
    probabilities, Machine Learning 34, 43-69, 1999, section 2.

    Examples
    --------
    >>> import scipy.sparse as sp
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
    """Reduction of the divergence by the columns of a row with probabilities p, (N,)."""
    starts, stops = by_column.indptr[columns], by_column.indptr[columns + 1]
    lengths = stops - starts
    ends = np.cumsum(lengths)
    places = np.arange(lengths.sum()) + np.repeat(starts - ends + lengths, lengths)
    p, q = np.repeat(p, lengths), by_column.data[places]
    gains = p * np.log1p(q / p) + q * np.log1p(p / q)
    return np.bincount(by_column.indices[places], weights=gains, minlength=by_column.shape[0])


def similar_rows(known: CSR, neighbors: Array, divergences: Array, beta: float) -> RowMeans:
    """Mean of the frequencies of the most similar rows (Dagan, Lee & Pereira, 1999).

        P(y_j given x_i) = sum_l W_il P(y_j given x_l) / sum_l W_il,   W_il = exp(-beta J_il)

    over the nearest rows l of `nearest_rows`; beta is log(10) times that of the paper. A row
    without neighbours gets the unigram. Combine it with the counts of the row itself: below a
    `Discounted` table, as in the paper, or in a mean.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skcooc.metrics import perplexity_of
    >>> known = sp.csr_array([[2.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 3.0]])
    >>> similar = similar_rows(known, *nearest_rows(known, n_neighbors=1), beta=5.0)
    >>> round(perplexity_of([[0, 0, 0], [0, 0, 0], [1, 0, 0]], similar), 3)
    2.0
    """
    if not 0 <= beta < np.inf:
        raise ValueError(f"beta={beta} should be in the [0, inf) range")
    n_rows, k = neighbors.shape
    found = np.isfinite(divergences)
    nearest = np.where(found[:, :1], divergences[:, :1], 0)  # the largest weight is one
    W = np.where(found, np.exp(-beta * np.where(found, divergences - nearest, 0)), 0)
    W /= np.maximum(W.sum(axis=1, keepdims=True), 1)
    ends = np.arange(0, n_rows * k + 1, k)
    weights = sp.csr_array((W.ravel(), neighbors.flatten(), ends), shape=(n_rows, n_rows))
    weights.eliminate_zeros()
    return RowMeans(weights, distributions(known), frequencies_of(known))


@dataclass(frozen=True)
class MixedOrder:
    """Mixed-order Markov model: one of the last m words predicts the next.

        P(w_t given w_{t-1}, ..., w_{t-m})
            = sum_k lambda_k(w_{t-k}) M_k(w_{t-k}, w_t) prod_{j<k} (1 - lambda_j(w_{t-j}))

    with lambda_m = 1: a mean of bigrams that skip k - 1 words, whose weights depend on the skipped
    words. It has m M^2 parameters, a Markov model of this order M^(m+1). Fit it by `mixed_order`;
    `at` returns it for the contexts of another table.

    Parameters
    ----------
    contexts : (n, m) array of int
        Indices of the preceding words, the nearest first.
    shares : (m, M) array
        lambda_k(w): probability that word w predicts the one k places later, given that no nearer
        word does. The last row is one.
    transitions : m CSR arrays of shape (M, M)
        M_k: distributions of the word k places later.
    background : (M,) array
        Distribution of the words, in place of M_m where the m-th word was not seen.

    References
    ----------
    L. Saul and F. Pereira, Aggregate and mixed-order Markov models for statistical language
    processing, Proceedings of EMNLP 2, 81-89, 1997, section 3.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skcooc.metrics import perplexity_of
    >>> contexts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # the last word, the one before
    >>> known = sp.csr_array(np.array([[9.0, 0], [0, 9], [9, 0], [0, 9]]))  # as the one before
    >>> model = mixed_order(known, contexts, max_iter=100)
    >>> perplexity_of(known, model) < 1.01
    True
    """

    contexts: Array
    shares: Array
    transitions: Sequence[CSR]
    background: Array

    def at(self, contexts: Array) -> Self:
        """The model for rows with these contexts, (n, m)."""
        return replace(self, contexts=contexts)

    def cells(self, X: Block) -> Array:
        rows, last = rows_of(X.table), self.contexts[:, -1]
        unseen = np.diff(self.transitions[-1].indptr)[last] == 0
        rest = np.where(unseen, self._chances()[-1], 0)[rows] * self.background[X.indices]
        return sum(self._terms(rows, X.indices), start=rest)

    def step(self, known: CSR) -> Self:
        """An EM step on training counts of the contexts, (n, M)."""
        rows, columns, n_words = rows_of(known), known.indices, self.shares.shape[1]
        terms = list(self._terms(rows, columns))
        total, left = sum(terms), known.data.astype(np.float64)
        per_probability = left / np.where(total > 0, total, 1)
        shares, transitions = [], []
        for words, term in zip(self.contexts.T, terms, strict=True):
            before, expected = words[rows], term * per_probability
            taken = np.bincount(before, weights=expected, minlength=n_words)
            reached = np.bincount(before, weights=left, minlength=n_words)
            shares.append(taken / np.where(reached > 0, reached, 1))
            transitions.append(_transitions(before, columns, expected, n_words))
            left = np.maximum(left - expected, 0)
        shares[-1] = np.ones(n_words)
        return replace(self, shares=np.stack(shares), transitions=transitions)

    def _terms(self, rows: Array, columns: Array) -> Iterator[Array]:
        """Contribution of each lag to the probability of a column in a row, (nnz,)."""
        lags = zip(self.contexts.T, self._chances(), self.transitions, strict=True)
        for words, chances, M in lags:
            yield chances[rows] * values_at(M, words[rows], columns)

    def _chances(self) -> Array:
        """Probability that each of the words of a context predicts the next, (m, n)."""
        own = np.stack([share[w] for share, w in zip(self.shares, self.contexts.T, strict=True)])
        return own * np.cumprod(np.vstack([np.ones_like(own[:1]), 1 - own[:-1]]), axis=0)


def mixed_order(known: CSR, contexts: Array, max_iter: int = 10) -> MixedOrder:
    """Fit a mixed-order Markov model by EM, from skip bigrams with equal weights.

    Counts ``known`` (n, M) say how often each word followed each of the ``contexts`` (n, m):
    indices of the last m words, the nearest first. Choose ``max_iter`` on held-out counts.
    """
    contexts = np.asarray(contexts)
    n_contexts, n_words = known.shape
    if contexts.ndim != 2 or len(contexts) != n_contexts or not contexts.shape[1]:
        raise ValueError(
            f"contexts of shape {contexts.shape} do not match X of shape {known.shape}"
        )
    if contexts.size and not 0 <= contexts.min() <= contexts.max() < n_words:
        raise ValueError(f"contexts should be columns of X, in the [0, {n_words}) range")
    rows, n = rows_of(known), known.data.astype(np.float64)
    shares = [np.full(n_words, 1 / k) for k in range(contexts.shape[1], 0, -1)]
    skipping = [_transitions(words[rows], known.indices, n, n_words) for words in contexts.T]
    model = MixedOrder(contexts, np.stack(shares), skipping, frequencies_of(known))
    for _ in range(max_iter):
        model = model.step(known)
    return model


def _transitions(before: Array, after: Array, n: Array, n_words: int) -> CSR:
    """Distributions of the words after each word, (M, M), from counts of pairs."""
    seen = n > 0
    pairs = sp.csr_array((n[seen], (before[seen], after[seen])), shape=(n_words, n_words))
    pairs.sum_duplicates()
    return distributions(pairs)


def frequencies_of(table: CSR) -> Array:
    """Unigram distribution of the columns, (M,), float64."""
    sums = np.bincount(table.indices, weights=table.data, minlength=table.shape[1])
    return sums / max(sums.sum(), np.finfo(float).tiny)


def distributions(table: CSR) -> CSR:
    """Rows divided by their sums, in float64; empty rows stay empty."""
    rows = rows_of(table)
    sums = np.bincount(rows, weights=table.data, minlength=table.shape[0])
    data = table.data / np.where(sums > 0, sums, 1)[rows]
    return sp.csr_array((data, table.indices, table.indptr), shape=table.shape, copy=True)
