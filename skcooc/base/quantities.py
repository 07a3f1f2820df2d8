"""The quantities of a fitted model by their names: methods and properties of all estimators.

They follow from P(x) and the factors of P(y given x), and are computed when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.heldout.predictors import Factors, with_background
from skcooc.heldout.whole_rows import log_likelihoods
from skcooc.protocol import Array, Block, TableLike
from skcooc.simplex import normalise
from skcooc.tables import Frame

PAIRS = 2**20  # numbers of a factor that are gathered at a time


class NoRowsError(ValueError, AttributeError):
    """Of a table that was read in blocks no rows are kept, and what they give is not there."""

    def __init__(self) -> None:
        super().__init__("There are no rows fitted: of a table in blocks none are kept.")


class Found(Protocol):
    """What is asked of a fitted model."""

    n_jobs: int | None
    components_: Array  # (K, M): P(y given z)
    embedding_: Array  # (N, K): P(z given x)
    row_distribution_: Array  # (N,): P(x)
    unigram_: Array  # (M,)
    smoothing_: float
    _checked: Callable[[TableLike], Block]
    _over_rows: Callable[[Callable[[Block], Array], Block], Array]
    _mixing: Callable[[], tuple[Array, Array]]
    _frame: Frame


def row_names(self: Found) -> Array:
    """Names of the rows fitted, (N,); AttributeError where they have none, or are not kept."""
    names = self._frame.row_names
    if names is None or len(names) != len(self.embedding_):
        raise AttributeError(f"{type(self).__name__} was fitted to rows without names.")
    return names


def component_distribution(self: Found) -> Array:
    """P(z) = sum_i P(x_i) P(z given x_i), (K,): the share of the observations."""
    return _marginal(self).astype(self.embedding_.dtype)


def row_components(self: Found) -> Array:
    """P(x_i given z), (K, N); each row sums to one."""
    joint, mass = (_masses(self)[:, None] * self.embedding_).T, _marginal(self)[:, None]
    P = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), self.row_distribution_)
    return P.astype(self.embedding_.dtype)


def column_embedding(self: Found) -> Array:
    """P(z given y_j), (M, K); each row sums to one."""
    P = _marginal(self)
    posteriors = normalise((P[:, None] * self.components_).T, axis=1, otherwise=P)
    return posteriors.astype(self.components_.dtype)


def joint_distribution(self: Found, rows: ArrayLike, columns: ArrayLike) -> Array:
    """P(x_i, y_j) = P(x_i) sum_k P(z_k given x_i) P(y_j given z_k) at pairs of indices.

    Over all rows and columns it sums to one. It is that of the model, without smoothing.

    Parameters
    ----------
    rows, columns : array-like of int
        Positions of rows fitted and of columns, which are broadcast against each other as where a
        NumPy array is indexed: two lists of equal length are pairs, and
        ``numpy.ix_(rows, columns)`` are all pairs. Negative ones count from the end.

    Returns
    -------
    P : array of the shape of the indices
        Nothing as large as the table is made unless it is asked for.

    Raises
    ------
    IndexError
        Where indices are not integers, do not fit together, or are out of bounds.
    ValueError
        Where the table was read in blocks, of which no rows are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import AspectModel
    >>> model = AspectModel(1, beta=1.0).fit([[3, 1], [3, 1]])
    >>> model.joint_distribution([0, 1], [0, -1])
    array([0.375, 0.125])
    >>> model.joint_distribution(*np.ix_([0, 1], [0, 1])).sum().round(6)
    np.float64(1.0)
    """
    mass, A, B = _masses(self), self.embedding_, self.components_.T
    i, j = positions(rows, len(A), "row"), positions(columns, len(B), "column")
    try:
        i, j = np.broadcast_arrays(i, j)
    except ValueError as error:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{i.shape} {j.shape}"
        ) from error
    P, flat = np.empty(i.size, dtype=A.dtype), (i.ravel(), j.ravel())
    for first in range(0, i.size, step := max(1, PAIRS // A.shape[1])):
        some = slice(first, first + step)
        of_rows, of_columns = (index[some] for index in flat)
        P[some] = mass[of_rows] * np.einsum("lk,lk->l", A[of_rows], B[of_columns])
    return P.reshape(i.shape)


def row_log_likelihood(self: Found, X: TableLike) -> Array:
    """Log-likelihood of *all* observations of new rows, with what is not known summed out.

    A row has a mixture theta of the components, and nobody knows which one. With a prior of
    finitely many mixtures theta_a of weights w_a the integral over it is a sum,

        log sum_a w_a prod_j P'(y_j given theta_a)^n_ij,   P' = (1 - s) theta_a @ P(y given z) + s b

    with smoothing s and unigram b as in all that is scored. It is exact, and a distribution over
    rows: exp of it sums to one over all sequences of so many observations. In models of clusters
    of rows the mixtures are the clusters, with their prior probabilities; in those with a prior of
    the cluster centers, these are taken at their means, and `ClusterAbstraction` takes the weights
    of the nodes at each leaf. Mixtures of aspects, or of clusters of columns, and averages of
    models have no prior: there it is the one that the table itself shows, the mixtures
    ``embedding_`` of the rows fitted, each with its P(x_i); of the last batch after
    ``partial_fit``. No temperature is in it.

    ``score_samples`` is another quantity: half of a row is folded in, and the other half is scored
    given the first. Here nothing of the row is known before, so that a row which is like no row
    fitted costs much, however well its halves explain each other. For the rows fitted themselves
    it would be too good: they are in the prior.

    Parameters
    ----------
    X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
        New rows.

    Returns
    -------
    log_likelihood : (n,) array of float64
        Nats for each row, added up over its observations in their order; -inf where the row is
        impossible, zero where it has no observations. Rows of different lengths compare by
        ``row_log_likelihood(X) / X.sum(axis=1)``, in nats for each observation.

    Raises
    ------
    ValueError
        Where X is negative, not finite, or of other columns than those fitted, or where the prior
        would be the rows of a table that was read in blocks, of which none are kept.

    Notes
    -----
    It takes time proportional to (non-zero entries of X) times the number of mixtures, plus M K
    times that number: clusters are much cheaper than the rows of a large table.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    section 3.1, for clusters.

    N. Laird, Nonparametric maximum likelihood estimation of a mixing distribution, Journal of the
    American Statistical Association 73, 805-811, 1978, for priors of finitely many points.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> X = [[8, 0, 1], [9, 1, 0], [0, 7, 2], [1, 8, 3]]
    >>> model = AsymmetricClustering(2, beta=0.5, random_state=0).fit(X)
    >>> usual, strange = model.row_log_likelihood([[4, 0, 0], [2, 2, 0]])
    >>> bool(usual > strange)
    True
    """
    table = self._checked(X)
    weights, mixtures = self._mixing()
    if not len(weights):
        raise NoRowsError
    factors = Factors(mixtures, self.components_.T)
    predictor = with_background(factors, self.unigram_, self.smoothing_)
    return self._over_rows(lambda X: log_likelihoods(X, weights, predictor), table)


def _masses(self: Found) -> Array:
    """P(x_i), (N,)."""
    check_is_fitted(self)
    if not len(self.embedding_):
        raise NoRowsError
    return self.row_distribution_


def _marginal(self: Found) -> Array:
    return np.asarray(_masses(self) @ self.embedding_)


def positions(index: ArrayLike, size: int, name: str) -> Array:
    """Indices from zero, of any shape; IndexError as NumPy would raise it."""
    index = np.asarray(index)
    if not (index.size == 0 or np.issubdtype(index.dtype, np.integer)):
        raise IndexError(f"{name} indices must be of integer type. Got {index.dtype}.")
    out = index[(index < -size) | (index >= size)]
    if out.size:
        raise IndexError(
            f"{name} index {out.flat[0]} is out of bounds for a table of {size} {name}s."
        )
    return np.where(index < 0, index + size, index).astype(np.intp)
