"""Perplexity of predictions, weights tuned on validation data, words new to a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.heldout import Factors, predictors, scoring
from skcooc.heldout.predictors import smoothed
from skcooc.heldout.scoring import Parts, score_rows
from skcooc.heldout.validation import add_one_unigram
from skcooc.metrics import validation
from skcooc.metrics.validation import NOTHING_NEW
from skcooc.protocol import CSR, Array, Predictor, TableLike, refuse_objects
from skcooc.tables import Dyads, as_counts, check_index, read_rows


def unigram(X: TableLike) -> Array:
    """Add-one distribution of the columns, (m_j + 1) / (L + M).

    For entries n that are not integers, the pseudo-count is the mean weight of ceil(n)
    tokens.

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
    return add_one_unigram(as_counts(validation.check_counts(X)))


def perplexity(
    X: TableLike, mixtures: ArrayLike, components: ArrayLike, *,
    background: ArrayLike | None = None, smoothing: float = 0.0,
) -> float:  # fmt: skip
    """Perplexity exp(-mean log P(y given x)), with P = mixtures @ components.

    For models of any library: LDA's document-topic and topic-word distributions, or NMF's W times
    the sums of the rows of H, and H, both with rows divided by their sums.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the tokens to score, other than those from which ``mixtures`` were made.
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
        Infinite if a token has probability zero.

    Examples
    --------
    >>> from skcooc.metrics import perplexity
    >>> round(perplexity([[1, 1]], mixtures=[[1.0]], components=[[0.5, 0.5]]), 3)
    2.0
    """
    X, factors = _factorisation(X, mixtures, components, background)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing={smoothing} should be in the [0, 1] range")
    if background is None and smoothing:
        raise ValueError(f"smoothing={smoothing} needs a background, such as unigram(X_train).")
    b = np.zeros(X.shape[1]) if background is None else _check_background(background, X)
    return _perplexity(X, smoothed(factors, b, smoothing))


def best_smoothing(
    X: TableLike, mixtures: ArrayLike, components: ArrayLike, background: ArrayLike
) -> float:
    """The weight of the background that minimises the perplexity of tokens.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Validation counts, never test counts.
    mixtures, components, background : array-like of shapes (n, K), (K, M), (M,)
        See `perplexity`.

    Returns
    -------
    smoothing : float in [0.001, 0.95]

    Examples
    --------
    >>> from skcooc.metrics import best_smoothing
    >>> s = best_smoothing([[9, 1]], [[1.0]], [[1.0, 0.0]], background=[0.5, 0.5])
    >>> round(s, 2)
    0.2
    """
    X, factors = _factorisation(X, mixtures, components, background)
    b = _check_background(background, X)
    return predictors.best_smoothing(factors, b, as_counts(X))


def perplexity_of(X: TableLike, predictor: Predictor) -> float:
    """Perplexity exp(-mean log P(y given x)) of tokens under a predictor.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the tokens to score, other than those from which the predictor was made.
    predictor : predictor
        Of :mod:`skcooc.heldout`, or any object whose ``cells`` gives P(y_j given x_i).

    Returns
    -------
    perplexity : float
        Infinite if a token has probability zero.

    Raises
    ------
    ValueError
        If factors in the predictor give a row probabilities that sum to more than one.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import heldout, metrics
    >>> round(metrics.perplexity_of([[1, 1]], heldout.Unigram(np.array([0.5, 0.5]))), 3)
    2.0
    """
    return _perplexity(validation.check_observed(X), validation.check_predictor(predictor))


def best_weights(X: TableLike, among: Sequence[Predictor]) -> Array:
    """Weights that minimise the perplexity of a mean of predictors, by EM.

    The log-likelihood is concave in the weights, so there is one optimum.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Validation counts, neither test counts nor those from which the predictors were made.
        Tokens with probability zero under all predictors do not count.
    among : sequence of n predictors
        Of the rows of X.

    Returns
    -------
    weights : (n,) array
        They sum to one.

    References
    ----------
    F. Jelinek and R. L. Mercer, Interpolated estimation of Markov source parameters from sparse
    data, Pattern Recognition in Practice, 381-397, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import heldout, metrics
    >>> either = [heldout.Unigram(np.array([1.0, 0.0])), heldout.Unigram(np.array([0.0, 1.0]))]
    >>> metrics.best_weights([[3, 1]], either)
    array([0.75, 0.25])
    """
    checked = [validation.check_predictor(predictor) for predictor in among]
    return predictors.best_weights(checked, as_counts(validation.check_observed(X)))


def score_parts(X: TableLike, predictor: Predictor, known: TableLike) -> Parts:
    """Mean log-likelihood in nats of held-out words seen in, and new to, their rows.

    About half of the held-out words of a text already occur in the rest of it, and are easy to
    predict from it. Only words new to the text show what a model has learnt from other texts.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the tokens to score.
    predictor : predictor
        Of :mod:`skcooc.heldout`, or any object whose ``cells`` gives P(y_j given x_i).
    known : array-like, sparse array or matrix of shape (n, M)
        Known counts of the same rows, from which the predictor was made.

    Returns
    -------
    parts : Parts
        A named tuple of ``seen_share``, the share of the tokens whose column occurs in the
        known part of the row; ``seen`` and ``unseen``, the mean log-likelihood of these and of the
        others; and ``renormalised``, that of the others with P(y given x) renormalised over the
        columns that do not occur in the known part. Means over no tokens are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.heldout import Unigram
    >>> from skcooc.metrics import score_parts
    >>> parts = score_parts([[1, 1, 2]], Unigram(np.array([0.5, 0.3, 0.2])), known=[[5, 0, 0]])
    >>> parts.seen_share
    0.25
    >>> f"{np.exp(parts.seen):.2f} {np.exp(parts.unseen):.2f} {np.exp(parts.renormalised):.2f}"
    '0.50 0.23 0.46'
    """
    X = as_counts(validation.check_observed(X))
    known = as_counts(validation.check_observed(known))
    if X.shape != known.shape:
        raise ValueError(f"X of shape {X.shape} does not match known of shape {known.shape}")
    return scoring.score_parts(X, validation.check_predictor(predictor), known)


def unseen_perplexity(X: TableLike, predictor: Predictor, known: TableLike) -> float:
    """Perplexity of the tokens whose column is new to the row.

        exp(-mean log [P(y_j given x_i) / (1 - sum_{l: n_il > 0} P(y_l given x_i))])

    over held-out tokens with n_ij = 0, n_ij the known counts. A within-row cache such as
    `RowMemory` cancels out, so that models with and without one can be compared.

    Parameters
    ----------
    X, predictor, known
        As in `score_parts`. Tokens in known columns do not count.

    Returns
    -------
    perplexity : float
        Infinite if a token has probability zero.

    Raises
    ------
    ValueError
        If X holds no tokens in such columns.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import heldout, metrics
    >>> uniform = heldout.Unigram(np.full(5, 0.2))
    >>> round(metrics.unseen_perplexity([[3, 1, 0, 1, 0]], uniform, known=[[7, 0, 0, 0, 0]]), 3)
    4.0
    """
    return float(np.exp(-_unseen_log_likelihood(X, predictor, known)))


def make_unseen_scorer(all_tokens: Dyads | None = None) -> Callable[..., float]:
    """A scorer for searches: mean log-likelihood of words new to their rows.

    For ``scoring`` of `GridSearchCV` and other tools of scikit-learn, with all estimators of this
    package that predict. Larger is better, in nats; exp(-score) is `unseen_perplexity`, with the
    smoothing of the estimator. Repetition within rows has no part in it.

    Parameters
    ----------
    all_tokens : Dyads, default=None
        All tokens that are divided into folds, if these are Dyads: the known part of a row
        are its tokens outside the fold that is scored. Not used if rows are divided into
        folds: half of every new row is known and folded in, and the other half is scored.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)``.

    Raises
    ------
    ValueError
        By the scorer: for Dyads that are not among ``all_tokens``, or if no token is new
        to its row.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from skcooc import AspectModel, Dyads, datasets, metrics
    >>> X = Dyads(datasets.make_cooccurrences(60, 100, 3, burstiness=20, random_state=0).X)
    >>> model, folds = AspectModel(beta=0.9, random_state=0), KFold(2, shuffle=True, random_state=0)
    >>> options = {"scoring": metrics.make_unseen_scorer(X), "cv": folds}
    >>> GridSearchCV(model, {"n_components": [1, 3]}, **options).fit(X).best_params_
    {'n_components': 3}
    """
    return partial(_score, all_tokens=all_tokens)


def _score(
    estimator: Any, X: TableLike, y: object = None, *, all_tokens: Dyads | None = None
) -> float:
    estimator, X = validation.unwrap(estimator, X)
    validation.check_fitted_model(estimator, "make_unseen_scorer")
    X_known, X_scored = validation.split_known(estimator, X, all_tokens, "make_unseen_scorer")
    model = validation.without_feature_names(estimator)
    rows = None if isinstance(X, Dyads) else read_rows(model, X_known, scored=True)
    return _unseen_log_likelihood(X_scored, model.predictor(rows), X_known)


def _unseen_log_likelihood(X: TableLike, predictor: Predictor, X_known: TableLike) -> float:
    log_likelihood = score_parts(X, predictor, X_known).renormalised
    if np.isnan(log_likelihood):
        raise ValueError(NOTHING_NEW)
    return log_likelihood


def _perplexity(X: CSR, predictor: Predictor) -> float:
    means, counts = score_rows(as_counts(X), predictor)
    return float(np.exp(-np.average(means, weights=counts)))


def _check_background(background: ArrayLike, X: CSR) -> Array:
    b = np.asarray(background, dtype=np.float64)
    has_negative = (b < 0).any()
    if b.shape != X.shape[1:] or has_negative or not abs(b.sum() - 1) <= validation.SUM_TOLERANCE:
        hint = ", with negative values" if has_negative else ""
        raise ValueError(
            f"background of shape {b.shape} sums to {b.sum():.4g}{hint}, but should be a "
            f"distribution over the {X.shape[1]} columns, such as unigram(X_train)."
        )
    return b


def _factorisation(
    X: TableLike, mixtures: ArrayLike, components: ArrayLike, background: ArrayLike | None
) -> tuple[CSR, Factors]:
    check_index(X, mixtures=mixtures)
    validation.check_column_order(X, components=components, background=background)
    X = validation.check_observed(X)
    refuse_objects(
        mixtures,
        "mixtures",
        "mixtures",
        of_anndata="adata.obsm['X_topics']",
        of_model="its arrays, embedding_ and components_",
    )
    check = partial(check_array, dtype=np.float64, ensure_non_negative=True)
    A = check(mixtures, input_name="mixtures")
    B = check(components, input_name="components").T
    if A.shape != (X.shape[0], B.shape[1]) or B.shape[0] != X.shape[1]:
        raise ValueError(
            f"X of shape {X.shape} does not match mixtures of shape {A.shape} and components of "
            f"shape {B.T.shape}"
        )
    factors = Factors(A, B)
    validation.check_sums(factors)
    return X, factors
