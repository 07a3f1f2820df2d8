"""What a model adds to what rows repeat: quality on columns that are new to a row."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skcooc.heldout import Factors, unseen
from skcooc.heldout.predictors import smoothed
from skcooc.heldout.scoring import check_rows_known, halves
from skcooc.heldout.unseen import Parts
from skcooc.metrics.validation import check_observed
from skcooc.protocol import CSR, Predictor, TableLike
from skcooc.tables import Dyads, as_counts, check_same_table, read_rows

PREDICTS = "components_", "unigram_", "smoothing_"  # with what a model is scored


def score_parts(X: TableLike, predictor: Predictor, known: TableLike) -> Parts:
    """Mean log-likelihood of held-out observations, in nats, by what is known of their rows.

    About half of the held-out words of a text are words that the rest of the text has already.
    Those are predicted from the row itself, by whoever looks; only the others tell what a model
    has learnt from other rows. So the parts are reported apart.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the observations to score.
    predictor : predictor
        Of :mod:`skcooc.heldout`, or any object whose ``cells`` gives P(y_j given x_i).
    known : array-like, sparse array or matrix of shape (n, M)
        Counts of what is known of the same rows: those from which the predictor was made.

    Returns
    -------
    parts : Parts
        A named tuple of ``seen_share``, the share of the observations whose column the known part
        of the row has; ``seen`` and ``unseen``, the mean log-likelihood of these and of the others;
        and ``renormalised``, that of the others where P(y given x) is divided by its sum over the
        columns that the known part has not. A mean of nothing is NaN.

    Raises
    ------
    ValueError
        Where X or ``known`` holds no observations, or their shapes differ.

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
    X, known = as_counts(check_observed(X)), as_counts(check_observed(known))
    if X.shape != known.shape:
        raise ValueError(f"X of shape {X.shape} does not match known of shape {known.shape}")
    return unseen.score_parts(X, predictor, known)


def unseen_perplexity(X: TableLike, predictor: Predictor, known: TableLike) -> float:
    """Perplexity of the observations whose column the known part of the row has not.

        exp(-mean log [P(y_j given x_i) / (1 - sum_{l: n_il > 0} P(y_l given x_i))])

    over held-out observations with n_ij = 0, n_ij the known counts. A memory of the row cancels
    out, so this is the measure of what a model adds, by which models with and without memory can be
    compared. It has no N x M array.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the observations to score. Those in columns that are known do not count.
    predictor : predictor
        Of :mod:`skcooc.heldout`, or any object whose ``cells`` gives P(y_j given x_i).
    known : array-like, sparse array or matrix of shape (n, M)
        Counts of what is known of the same rows.

    Returns
    -------
    perplexity : float
        Infinite where an observation has probability zero.

    Raises
    ------
    ValueError
        Where X holds no observations in such columns, ``known`` holds none, or shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.heldout import Unigram
    >>> from skcooc.metrics import unseen_perplexity
    >>> uniform = Unigram(np.full(5, 0.2))
    >>> round(unseen_perplexity([[3, 1, 0, 1, 0]], uniform, known=[[7, 0, 0, 0, 0]]), 3)
    4.0
    """
    return float(np.exp(-_of_unseen(score_parts(X, predictor, known))))


def make_unseen_scorer(observations: Dyads | None = None) -> Callable[..., float]:
    """A scorer for searches: mean log-likelihood of observations whose column is new to the row.

    For `GridSearchCV` and other tools of scikit-learn that take ``scoring``, of all estimators of
    this package that predict. Larger is better, in nats; exp(-score) is that of
    `unseen_perplexity`, smoothed as the estimator says. K, beta and the like are judged by it
    without being disturbed by what rows repeat.

    Parameters
    ----------
    observations : Dyads, default=None
        All observations that are divided into folds, where those are Dyads. Estimators keep no
        counts: what is known of a row when a fold is scored are the observations outside of it.
        Not used where rows are divided: half of every new row is folded in, which is then what is
        known, and the other half is scored, as in ``score``.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)``.

    Raises
    ------
    ValueError
        By the scorer: where it scores Dyads that are not among the observations, or nothing that it
        scores is new to its row.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from skcooc import AspectModel, Dyads
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.metrics import make_unseen_scorer
    >>> X = Dyads(make_cooccurrences(60, 100, 3, burstiness=20, random_state=0).X)
    >>> search = GridSearchCV(
    ...     AspectModel(beta=0.9, random_state=0),
    ...     {"n_components": [1, 3]},
    ...     scoring=make_unseen_scorer(X),
    ...     cv=KFold(2, shuffle=True, random_state=0),
    ... ).fit(X)
    >>> search.best_params_
    {'n_components': 3}
    """
    return partial(_score, observations=observations)


def _score(
    estimator: Any, X: TableLike, y: object = None, *, observations: Dyads | None = None
) -> float:
    """Mean log-likelihood of what is new to its row."""
    lacking = [name for name in PREDICTS if not hasattr(estimator, name)]
    if lacking:
        raise TypeError(
            f"make_unseen_scorer scores fitted models of skcooc; {type(estimator).__name__} has no "
            f"{lacking[0]}."
        )
    if isinstance(X, Dyads):
        known = known_of(X, observations, "make_unseen_scorer")
        scored, mixtures = X.to_csr(), estimator.embedding_
    else:
        half, other = halves(read_rows(estimator, X))
        known, scored, mixtures = (
            half.table,
            other.table,
            nameless(estimator).transform(half.table),
        )
    factors = Factors(np.asarray(mixtures), estimator.components_.T)
    predictor = smoothed(factors, estimator.unigram_, estimator.smoothing_)
    return _of_unseen(score_parts(scored, predictor, known))


def known_of(X: Dyads, observations: Dyads | None, scorer: str) -> CSR:
    """How many of the observations given to a scorer are not in X, as a table."""
    if observations is None:
        raise ValueError(
            f"X holds Dyads: give {scorer} all observations that are divided into folds."
        )
    check_same_table(observations.frame, X, scorer)
    all_of_them, scored = (one.like(one.rows, one.columns).to_csr() for one in (observations, X))
    known = all_of_them - scored
    known.eliminate_zeros()
    if known.nnz and known.data.min() < 0:
        raise ValueError(f"X holds observations that {scorer} was not given.")
    check_rows_known(np.diff(known.indptr), X.rows)
    return known


def nameless(estimator: Any) -> Any:
    """The estimator without names of columns, which have been compared already."""
    nameless = copy.copy(estimator)
    vars(nameless).pop("feature_names_in_", None)
    return nameless


def _of_unseen(parts: Parts) -> float:
    if np.isnan(parts.renormalised):
        raise ValueError("X holds no observations to score: the known part has all their columns.")
    return parts.renormalised
