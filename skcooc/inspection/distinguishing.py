"""The columns that tell components apart: log-ratios of their frequencies, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from scipy.stats import chi2

from skcooc.inspection.frames import table_of
from skcooc.inspection.models import HOW_MANY, ModelView, read_view
from skcooc.inspection.names import make_names
from skcooc.protocol import Array, Estimator, TableLike
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval
from skcooc.tables import as_counts

if TYPE_CHECKING:
    import pandas
    import polars

SPARE = 5  # times as many columns are examined as are asked for
PRIOR = 0.5  # tokens of a column, divided as all are, that shrink the ratios of rare ones
FLOOR = 1e-6  # probability of any column in the other components, relative to the unigram
ROUNDING = 1e-6  # of an expected token
FARTHEST, STEPS = 30.0, 45  # of logits; halvings of an interval twice as long
COLUMNS = "component", "name", "feature", "count", "probability", "log_ratio", "low", "high"


@overload
def distinguishing_features(
    model: Estimator, X: TableLike, feature_names: ArrayLike | None = None, *,
    n_features: int = 10, level: float = 0.95, backend: Literal["pandas"] = "pandas",
) -> pandas.DataFrame: ...  # fmt: skip
@overload
def distinguishing_features(
    model: Estimator, X: TableLike, feature_names: ArrayLike | None = ..., *,
    n_features: int = ..., level: float = ..., backend: Literal["polars"],
) -> polars.DataFrame: ...  # fmt: skip
@overload
def distinguishing_features(
    model: Estimator, X: TableLike, feature_names: ArrayLike | None = ..., *,
    n_features: int = ..., level: float = ..., backend: str,
) -> Any: ...  # fmt: skip
@validated({"n_features": HOW_MANY, "level": [Interval(Real, 0, 1, closed="neither")]})
def distinguishing_features(
    model: Estimator, X: TableLike, feature_names: ArrayLike | None = None, *,
    n_features: int = 10, level: float = 0.95, backend: str = "pandas",
) -> Any:  # fmt: skip
    """Columns more frequent in a component than in the others, with log-ratios.

    The ratio of a column y in component z, compared with all other components together, is

        [n_yz / n_z] / [(n_y - n_yz) / (n - n_z)]

    where n_yz is the expected number of tokens of y that belong to z. The share n_yz / n_y is
    estimated by maximum likelihood. The fitted mixtures are held fixed, and so are the relative
    shares of the other components in y. Half a pseudo-count shrinks the ratios of rare columns.
    Intervals are profile likelihood intervals, and are wider for bursty rows. Columns are sorted by
    the lower ends of their intervals. Columns with a negative lower end are left out.

    Intervals express the sampling of rows, not the uncertainty of the model. They are too narrow
    for fitted mixtures, because these are purer than the true ones. Use them to rank columns. The
    upper end is practically infinite if a column does not occur in the other components.

    Parameters
    ----------
    model : fitted estimator
        A model of this or another library with ``transform`` and at least two ``components_``
        (K, M), or a pipeline or search with such a model inside. In a tree, the nodes are the
        components.
    X : array-like, sparse array or matrix, DataFrame, Dyads of shape (n, M), or as a pipeline wants
        Counts of the training rows, or of other rows, which are folded in.
    feature_names : array-like of shape (M,), default=None
        Names of the columns. See :func:`top_features`.
    n_features : int, default=10
        Maximum number of columns for each component.
    level : float in (0, 1), default=0.95
        Coverage of the intervals.
    backend : str, default="pandas"
        Library of the table. See :func:`describe`.

    Returns
    -------
    table : data frame
        One line for each column of each component, with these fields:

        - ``component`` and ``name``: number and name (:func:`name_topics`) of the component.
        - ``feature``: name of the column y.
        - ``count``: n_yz.
        - ``probability``: P(y given z).
        - ``log_ratio``, ``low`` and ``high``: estimate and interval, in nats.

    Raises
    ------
    ValueError
        If there is only one component. If the length of ``feature_names`` is not M. If X is empty,
        or its columns are not those of the model.

    See Also
    --------
    characteristic_features : Columns of each component, without a table of counts.

    References
    ----------
    P. Carbonetto, K. Luo, A. Sarkar, A. Hung, K. Tayeb, S. Pott and M. Stephens, GoM DE:
    interpreting structure in sequence count data with differential expression analysis allowing for
    grades of membership, Genome Biology 24, 236, 2023, for log-ratios with shrinkage, given fixed
    mixtures. They compare a topic with the most similar one, and sample from posteriors.

    P. McCullagh and J. A. Nelder, Generalized linear models, 2nd ed., 1989, chapter 9, for
    quasi-likelihoods.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[24, 2, 0, 8], [20, 5, 0, 9], [0, 4, 30, 8], [1, 3, 19, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> table = inspection.distinguishing_features(model, X, ["tea", "cup", "goal", "the"])
    >>> sorted(table["feature"])
    ['goal', 'tea']
    """
    view = read_view(model, X, feature_names)
    if len(view.components) < 2:
        raise ValueError("The model has one component: at least two are needed.")
    names = make_names(view.model, view.components, view.weights, view.columns, view.names_fitted)
    observed = _expected_counts(view)
    expected = observed.expected
    if view.counts_without_factors is not view.counts:  # ratios are of these, counts as they are
        view = replace(view, counts=view.counts_without_factors)
        observed = _expected_counts(view)
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for k, name in enumerate(names):
        best, ratios = _best_ratios(view, observed, k, n_features, level)
        values = [
            [k] * len(best),
            [name] * len(best),
            [str(view.columns[j]) for j in best],
            expected[best, k].tolist(),
            view.components[k, best].tolist(),
            *ratios.tolist(),
        ]
        for column, entries in zip(COLUMNS, values, strict=True):
            columns[column] += entries
    return table_of(columns, backend)


class ExpectedCounts(NamedTuple):
    """A table by columns, with the expected numbers of tokens by a model."""

    counts: sp.csc_array  # (N, M)
    means: Array  # (nnz,): P(y given x) of each non-zero
    expected: Array  # (M, K): n_yz


class ColumnCounts(NamedTuple):
    """The non-zero counts of C columns, concatenated."""

    counts: Array  # (n,)
    expected: Array  # (n,): by the model
    odds: Array  # (n,): u / (u + v), for P(row given component) u and P(row given the others) v
    starts: Array  # (C,): the first count of each column


def _expected_counts(view: ModelView) -> ExpectedCounts:
    A = view.mixtures
    B = view.components.T
    counts = view.counts
    X = as_counts(counts.astype(np.float64))
    means = sp.csr_array((X.cells(A, B), counts.indices, counts.indptr), shape=counts.shape)
    expected = B * X.mixture(A, B).columns
    return ExpectedCounts(sp.csc_array(counts), sp.csc_array(means).data, expected)


def _best_ratios(
    view: ModelView, observed: ExpectedCounts, k: int, n_features: int, level: float
) -> tuple[Array, Array]:
    """Positions of the best columns of a component, (n,), and their log-ratios, (3, n)."""
    share = float(view.weights[k])
    expected = observed.expected[:, k]
    outside = np.maximum(observed.expected.sum(axis=1) - expected, 0) + PRIOR * (1 - share)
    inside = expected + PRIOR * share
    with np.errstate(divide="ignore"):  # lower ends as if expected counts were observed
        low = np.log(inside / outside) - logit(share) - 2 * np.sqrt(1 / inside + 1 / outside)
    columns = np.argsort(-low, kind="stable")
    columns = columns[expected[columns] > 1 + ROUNDING]  # a single token is not enough
    columns = columns[: SPARE * n_features]
    if not len(columns) or not 0 < share < 1:
        return columns[:0], np.empty((3, 0))
    ratios = log_ratios(_column_counts(view, observed, k, columns), share, level)
    order = np.argsort(-ratios[1], kind="stable")
    order = order[ratios[1, order] > 0][:n_features]
    return columns[order], ratios[:, order]


def _column_counts(
    view: ModelView, observed: ExpectedCounts, k: int, columns: Array
) -> ColumnCounts:
    """Counts of the given columns, with odds of the two distributions over rows."""
    q = view.components
    counts = observed.counts
    lengths = np.diff(counts.indptr)[columns]
    starts = np.cumsum(lengths) - lengths
    cells = np.arange(lengths.sum()) + np.repeat(counts.indptr[columns] - starts, lengths)
    rows = counts.indices[cells]
    shares = view.mixtures[rows, k]
    means = observed.means[cells]
    mass = view.weights * view.n_tokens
    floor = FLOOR * view.unigram[columns]
    rest = mass @ q[:, columns] - mass[k] * q[k, columns] + floor * (mass.sum() - mass[k])
    outside = np.maximum(means - shares * np.repeat(q[k, columns], lengths), 0)
    outside += np.repeat(floor, lengths) * (1 - shares)
    u = shares / mass[k]
    v = outside / np.repeat(rest, lengths)
    return ColumnCounts(counts.data[cells], view.row_sums[rows] * means, u / (u + v), starts)


def log_ratios(cells: ColumnCounts, share: float, level: float) -> Array:
    """Maximum-likelihood log-ratios and the ends of their profile likelihoods, in nats, (3, C).

    A share pi of the tokens of a column is of the component, with the likelihood

        sum_i n_ij log(pi u_i + (1 - pi) v_i) + a (w log(pi) + (1 - w) log(1 - pi)),

    concave in pi, with the share w of all tokens and a = PRIOR. The log-ratio is
    logit(pi) - logit(w). In its interval twice the likelihood is less than a quantile of chi
    squared below its maximum.
    """

    def likelihood(logits: Array) -> Array:
        """Log-likelihood of each column at logits of pi, (C,)."""
        prior = share * np.log(expit(logits)) + (1 - share) * np.log(expit(-logits))
        logs = cells.counts * np.log(_mixture(cells, logits))
        return np.add.reduceat(logs, cells.starts) + PRIOR * prior

    def slope(logits: Array) -> Array:
        """Derivative of the log-likelihood by the logit, (C,)."""
        slopes = np.add.reduceat(cells.counts * _surplus(cells, logits), cells.starts)
        return slopes + PRIOR * (share - expit(logits))

    C = len(cells.starts)
    low = np.full(C, -FARTHEST)
    high = np.full(C, FARTHEST)
    best = _bisect(lambda logits: slope(logits) > 0, low, high)
    enough = likelihood(best) - _dispersion(cells, best) * chi2.ppf(level, 1) / 2
    first = _bisect(lambda logits: likelihood(logits) < enough, low, best)
    last = _bisect(lambda logits: likelihood(logits) >= enough, best, high)
    return np.stack([best, first, last]) - logit(share)


def _bisect(is_below: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The points between low and high at which the condition becomes false, (C,)."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = is_below(middle)
        low = np.where(below, middle, low)
        high = np.where(below, high, middle)
    return (low + high) / 2


def _dispersion(cells: ColumnCounts, logits: Array) -> Array:
    """Variances of the counts over those of Poisson counts, (C,), at least 1.

    They are estimated by the squared parts of rows in the slope, as for a quasi-likelihood.
    """
    squares = _surplus(cells, logits) ** 2
    variance = np.add.reduceat((cells.counts - cells.expected) ** 2 * squares, cells.starts)
    poisson = np.add.reduceat(cells.counts * squares, cells.starts)
    return np.divide(variance, poisson, out=np.ones_like(variance), where=variance > poisson)


def _surplus(cells: ColumnCounts, logits: Array) -> Array:
    """P(component given row and column) - pi, (n,)."""
    pi = np.repeat(expit(logits), np.diff(cells.starts, append=len(cells.counts)))
    return pi * cells.odds / _mixture(cells, logits) - pi


def _mixture(cells: ColumnCounts, logits: Array) -> Array:
    """pi u + (1 - pi) v, divided by u + v, (n,)."""
    lengths = np.diff(cells.starts, append=len(cells.counts))
    pi = np.repeat(expit(logits), lengths)
    return pi * cells.odds + np.repeat(expit(-logits), lengths) * (1 - cells.odds)
