"""Quality of factorisations P(y given x), whatever estimator they come from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.heldout import predictors
from skcooc.heldout.predictors import Factors, smoothed
from skcooc.heldout.scoring import score_rows
from skcooc.heldout.validation import add_one_unigram
from skcooc.metrics.validation import check_counts
from skcooc.protocol import CSR, Array, TableLike
from skcooc.tables import as_counts


def unigram(X: TableLike) -> Array:
    """Add-one distribution of the columns, (m_j + 1) / (L + M).

    Where entries are no integers, what is added weighs as much as an observation does on average,
    if an entry n is taken for ceil(n) of them.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Training counts.

    Returns
    -------
    background : (M,) array

    Examples
    --------
    >>> from skcooc.metrics import unigram
    >>> unigram([[2, 0], [1, 0]])
    array([0.8, 0.2])
    """
    counts = as_counts(check_counts(X))
    return add_one_unigram(counts.column_sums, counts.grain)


def perplexity(
    X: TableLike,
    mixtures: ArrayLike,
    components: ArrayLike,
    *,
    background: ArrayLike | None = None,
    smoothing: float = 0.0,
) -> float:
    """Perplexity exp(-mean log P(y given x)) of observations, P = mixtures @ components.

    For models of any library: LDA's document-topic and topic-word distributions, or NMF's factors
    divided by their sums.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the observations to score: not those from which ``mixtures`` were made.
    mixtures : array-like of shape (n, K)
        Rows are distributions over components.
    components : array-like of shape (K, M)
        Rows are distributions over columns.
    background : array-like of shape (M,), default=None
        Distribution to smooth with, such as ``unigram(X_train)``.
    smoothing : float in [0, 1], default=0.0
        Weight of the background.

    Returns
    -------
    perplexity : float
        Infinite where an observation has probability zero.

    Examples
    --------
    >>> from skcooc.metrics import perplexity
    >>> round(perplexity([[1, 1]], mixtures=[[1.0]], components=[[0.5, 0.5]]), 3)
    2.0
    """
    X, A, B = _factorisation(X, mixtures, components)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing={smoothing} should be in the [0, 1] range")
    b = np.zeros(X.shape[1]) if background is None else np.asarray(background, dtype=np.float64)
    means, counts = score_rows(as_counts(X), smoothed(Factors(A, B), b, smoothing))
    return float(np.exp(-np.average(means, weights=counts)))


def best_smoothing(
    X: TableLike, mixtures: ArrayLike, components: ArrayLike, background: ArrayLike
) -> float:
    """The weight of the background that gives observations the least perplexity.

    To be estimated on validation observations, never on those that are reported.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
    mixtures : array-like of shape (n, K)
    components : array-like of shape (K, M)
    background : array-like of shape (M,)

    Returns
    -------
    smoothing : float in [.001, .95]

    Examples
    --------
    >>> from skcooc.metrics import best_smoothing
    >>> s = best_smoothing([[9, 1]], [[1.0]], [[1.0, 0.0]], background=[0.5, 0.5])
    >>> round(s, 2)
    0.2
    """
    X, A, B = _factorisation(X, mixtures, components)
    b = np.asarray(background, dtype=np.float64)
    return predictors.best_smoothing(Factors(A, B), b, as_counts(X))


def _factorisation(
    X: TableLike, mixtures: ArrayLike, components: ArrayLike
) -> tuple[CSR, Array, Array]:
    X = check_counts(X)
    A, B = check_array(mixtures, dtype=np.float64), check_array(components, dtype=np.float64).T
    if A.shape != (X.shape[0], B.shape[1]) or B.shape[0] != X.shape[1]:
        raise ValueError(
            f"X of shape {X.shape} does not match mixtures of shape {A.shape} and components of "
            f"shape {B.T.shape}"
        )
    if not X.nnz:
        raise ValueError("X holds no observations to score: all entries are zero.")
    return X, A, B
