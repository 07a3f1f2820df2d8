"""Quality of any predictors, and what is chosen on held-out observations for them to compose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skcooc.heldout import predictors
from skcooc.heldout.scoring import score_rows
from skcooc.metrics.validation import check_observed
from skcooc.protocol import Array, Predictor, TableLike
from skcooc.tables import as_counts


def perplexity_of(X: TableLike, predictor: Predictor) -> float:
    """Perplexity exp(-mean log P(y given x)) of observations, by a predictor of their rows.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the observations to score: not those from which the predictor was made.
    predictor : predictor
        Of :mod:`skcooc.heldout`, or any object whose ``cells`` gives P(y_j given x_i).

    Returns
    -------
    perplexity : float
        Infinite where an observation has probability zero.

    Raises
    ------
    ValueError
        Where X holds no observations.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.heldout import Unigram
    >>> from skcooc.metrics import perplexity_of
    >>> round(perplexity_of([[1, 1]], Unigram(np.array([0.5, 0.5]))), 3)
    2.0
    """
    means, counts = score_rows(as_counts(check_observed(X)), predictor)
    return float(np.exp(-np.average(means, weights=counts)))


def best_weights(X: TableLike, among: Sequence[Predictor]) -> Array:
    """The weights with which the mean of several predictors has the least perplexity, by EM.

    The log-likelihood is concave in the weights, so that there is one optimum. To be estimated on
    validation observations, never on those that are reported, nor on those from which the
    predictors were made: relative frequencies would get all the weight.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M)
        Validation counts. Observations that no predictor holds possible do not count.
    among : sequence of n predictors
        Of the rows of X.

    Returns
    -------
    weights : (n,) array
        They sum to one.

    Raises
    ------
    ValueError
        Where X holds no observations that any of them holds possible.

    References
    ----------
    F. Jelinek and R. L. Mercer, Interpolated estimation of Markov source parameters from sparse
    data, Pattern Recognition in Practice, 381-397, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.heldout import Interpolated, Unigram
    >>> from skcooc.metrics import best_weights
    >>> either = [Unigram(np.array([1.0, 0.0])), Unigram(np.array([0.0, 1.0]))]
    >>> best_weights([[3, 1]], either)
    array([0.75, 0.25])
    """
    return predictors.best_weights(among, as_counts(check_observed(X)))
