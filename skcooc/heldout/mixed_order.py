"""Mixed-order Markov models: any of the last words may predict the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp

from skcooc.heldout.lookup import distributions, frequencies_of, rows_of, values_at
from skcooc.protocol import CSR, Array, Block


@dataclass(frozen=True)
class MixedOrder:
    """Mixed-order Markov model: going back word by word, one of the last m predicts the next.

        P(w_t given w_{t-1}, ..., w_{t-m})
            = sum_k lambda_k(w_{t-k}) M_k(w_{t-k}, w_t) prod_{j<k} (1 - lambda_j(w_{t-j}))

    with lambda_m = 1: a mean of bigrams that skip k - 1 words, whose weights depend on the words
    skipped. It has m M^2 parameters where a Markov model of this order has M^(m+1). Rows of the
    table are contexts, columns are words.

    Made by `mixed_order`; for the contexts of another table by `at`.

    Parameters
    ----------
    contexts : (n, m) array of int
        The words before, the nearest first, as numbers of columns.
    shares : (m, M) array
        lambda_k(w): probability that word w predicts the one k places ahead, if those between have
        not. The last row is one.
    transitions : m CSR arrays of shape (M, M)
        M_k: distributions of the word k places ahead of each.
    background : (M,) array
        Distribution of the words, which takes the place of M_m where the last word was not seen.

    References
    ----------
    L. Saul and F. Pereira, Aggregate and mixed-order Markov models for statistical language
    processing, Proceedings of EMNLP 2, 81-89, 1997, section 3.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skcooc.heldout import mixed_order
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
        """The same model, for rows with these contexts, (n, m)."""
        return replace(self, contexts=contexts)

    def cells(self, X: Block) -> Array:
        """P(w given the context) at the non-zeros of counts of these contexts, (nnz,), float64."""
        rows, last = rows_of(X.table), self.contexts[:, -1]
        unseen = np.diff(self.transitions[-1].indptr)[last] == 0
        rest = np.where(unseen, self._chances()[-1], 0)[rows] * self.background[X.indices]
        return sum(self._terms(rows, X.indices), start=rest)

    def step(self, known: CSR) -> Self:
        """One step of EM on training counts of these contexts, (n, M)."""
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
        """What each lag contributes to the probability of a column in a row, (nnz,)."""
        lags = zip(self.contexts.T, self._chances(), self.transitions, strict=True)
        for words, chances, M in lags:
            yield chances[rows] * values_at(M, words[rows], columns)

    def _chances(self) -> Array:
        """Probability that each of the words of a context predicts the next, (m, n)."""
        own = np.stack([share[w] for share, w in zip(self.shares, self.contexts.T, strict=True)])
        return own * np.cumprod(np.vstack([np.ones_like(own[:1]), 1 - own[:-1]]), axis=0)


def mixed_order(known: CSR, contexts: Array, max_iter: int = 10) -> MixedOrder:
    """Fit a mixed-order Markov model by EM, from bigrams that skip words and equal chances.

    Parameters
    ----------
    known : (n, M) CSR array
        Training counts: how often word j followed context i.
    contexts : (n, m) array of int
        The last m words of each context, the nearest first, as numbers of columns.
    max_iter : int, default=10
        Number of EM steps. More fit the training counts better, and are to be chosen on held-out
        ones.

    Returns
    -------
    model : MixedOrder
        Whose rows are those contexts.

    Raises
    ------
    ValueError
        Where contexts do not match the table: other rows, or words that are no columns.
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
