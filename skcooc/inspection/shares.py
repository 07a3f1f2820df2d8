"""The shares of topics in groups of rows and over time, and where groups differ.

All tokens of a group are pooled: its shares are those of the mixture of topics that explains them
best. A linear approximation of these estimates is a ratio of sums over rows, so that resamples and
permutations are matrix products. Topics are computed in blocks, with the same draws for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import beta, false_discovery_control, norm, t
from sklearn.utils import check_random_state, gen_batches

from skcooc.inspection.frames import table_of
from skcooc.inspection.groups import RowGroups, divide
from skcooc.inspection.models import (
    ModelView,
    Names,
    check_row_order,
    kind_of,
    read_view,
    topic_weights,
)
from skcooc.inspection.names import make_names, override_names, resolve_model
from skcooc.protocol import CSR, Array, Estimator, RandomState, TableLike, warn
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.tables import check_order

if TYPE_CHECKING:
    import pandas
    import polars

LEVEL = 0.95  # of the intervals of shares
FEW = 5  # rows of a group, below which its share sets no scale
SIGNIFICANT = 0.05  # p_adjusted
BLOCK = 8_000_000  # numbers in the largest array
SMALLEST_ERROR = 1e-6  # standard error of a share
MOST_SEED = 2**31 - 1
STEPS, TOLERANCE = 1000, 1e-6  # of EM for the mixture of a group
UNIFORM = 0.01  # weight of equal shares in the mixture at which estimates are made linear
CHECKED = {
    "n_resamples": [Interval(Integral, 1, None, closed="left")],
    "n_permutations": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "level": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
}
WITHOUT_COUNTS = (
    "Without X, the share of a topic in a group is the mean of its rows' mixtures, and differences "
    "come out too small. Pass X=..., the counts of the rows (for a pipeline: its input)."
)


@dataclass(frozen=True, eq=False)
class RowTopics:
    """Rows with K topics, from which the shares of groups of rows are estimated."""

    mixtures: Array  # (N, K): P(z given x)
    counts: Array | CSR  # (N, M); or (N, K), tokens by topic, for shares as means of mixtures
    components: Array  # (K, M): P(y given z), each column positive somewhere; or the identity

    @cached_property
    def tokens(self) -> Array:  # (N,): of each row, as counts or as shares of all
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def overall(self) -> Array:  # (K,): shares of the topics in all rows
        return self.shares([np.arange(len(self.mixtures))])[0]

    @cached_property
    def linear(self) -> Array:
        """Tokens by topic, (N, K), such that ratios of their sums estimate the shares of groups.

        With the overall distribution p(y) as weights, shares are regressed on counts by weighted
        least squares: unbiased for every mixture of the topics, and one Newton step (Fisher
        scoring) from the overall mixture to that of a group.
        """
        q = self.components
        scores = q / ((1 - UNIFORM) * self.overall @ q + UNIFORM * q.mean(axis=0))
        information = scores @ q.T  # singular if topics are equal
        return self.counts @ scores.T @ np.linalg.pinv(information, rcond=1e-10, hermitian=True)

    def shares(self, members: list[Array], *, rest: bool = False) -> Array:
        """Shares of the topics in groups of rows, or in the rest of each group, (G, K)."""
        total = _sums(self.counts, [np.concatenate(members)])
        mixtures = []
        for batch in gen_batches(len(members), max(1, BLOCK // self.counts.shape[1])):
            sums = _sums(self.counts, members[batch])
            if rest:
                sums = np.maximum(total - sums, 0)
            mixtures.append(pooled_mixtures(sums, self.components))
        return np.concatenate(mixtures)

    def documents(self, members: list[Array]) -> Array:
        """Shares of the rows of each group by their largest topic, (G, K)."""
        largest = self.mixtures.argmax(axis=1)
        n_topics = self.mixtures.shape[1]
        counts = [np.bincount(largest[rows], minlength=n_topics) for rows in members]
        return np.array([n / max(n.sum(), 1) for n in counts])


class GroupedModel(NamedTuple):
    """The rows of a model in groups, and its topics."""

    topics: RowTopics
    division: RowGroups
    names: list[str]  # of the K topics
    weights: Array  # (K,): shares in the mixtures of all rows


class Differences(NamedTuple):
    """Shares of K topics in G groups and in the others, and intervals of differences; (G, K)."""

    share: Array
    rest: Array
    low: Array  # NaN for groups of one row
    high: Array


@overload
def topic_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = None, *,
    X: TableLike | None = None, freq: str = "auto", backend: Literal["pandas"] = "pandas",
    names: Names | None = None,
) -> pandas.DataFrame: ...  # fmt: skip
@overload
def topic_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = ..., *,
    X: TableLike | None = ..., freq: str = ..., backend: Literal["polars"],
    names: Names | None = ...,
) -> polars.DataFrame: ...  # fmt: skip
@overload
def topic_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = ..., *,
    X: TableLike | None = ..., freq: str = ..., backend: str, names: Names | None = ...,
) -> Any: ...  # fmt: skip
def topic_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = None, *,
    X: TableLike | None = None, freq: str = "auto", backend: str = "pandas",
    names: Names | None = None,
) -> Any:  # fmt: skip
    """Return the share of each topic in the tokens of each group of rows.

    A group is treated like one long row with the pooled counts n_gj of column j. Its shares s
    maximise the likelihood of these counts, without tempering:

        sum_j n_gj log sum_k s_k P(y_j given z_k)

    In clusterings and trees, where each row belongs to one cluster, the share is the average of
    P(z given x_i), weighted by tokens.

    Compare groups, not topics. The size of a share depends on the number of topics, and on which
    topics take the words that all have in common. The intervals do not contain this error: they
    express the choice of rows, and take the topics as known (Korn and Graubard 1998). For
    differences between groups, use :func:`compare_shares`.

    Parameters
    ----------
    model : fitted estimator
        A model with ``components_`` (K, M) and ``transform``, or a pipeline or search with such a
        model inside. Without X, a model with ``embedding_`` (N, K) and ``row_distribution_`` (N,),
        such as `Mixtures`.
    by : array-like of shape (N,), series, or dict or data frame of one or two columns
        The group of each row. Rows with None, NaN or NaT, and rows without tokens, belong to no
        group. A warning is raised if there are more groups than half of the rows.

        - labels: each label is a group. Groups are sorted alphabetically, or in the order of a
          pandas Categorical, whose values are always labels.
        - numbers: each number is a group. If ``freq`` is not "auto", numbers are dates: years, days
          such as 20240531, or Unix time.
        - dates, or periods of pandas: rows are grouped by periods. Periods without rows are left
          out.
        - strings: dates if more than half of those that are not numbers are dates in the same
          format. Formats are "2024-05-31", "05/31/2024", "31.5.2024", "May 2024", "Q2 2024" and the
          dates of e-mails. A ValueError is raised if a date cannot be read, or if it is unclear
          which number is the day.
        - two columns: groups are the combinations that occur, with names such as "treated, 2019".
    feature_names : array-like of shape (M,), default=None
        Names of the columns, which name the topics. See :func:`top_features`.
    X : array-like, sparse array or matrix, DataFrame, Dyads of shape (N, M), or as a pipeline wants
        Counts of the training rows, which keep their ``sample_weight``, or of other rows. With
        None, shares are averages of mixtures. Differences between groups are then too small, and a
        warning is raised.
    freq : {"auto", "day", "week", "month", "quarter", "year", "decade"}, default="auto"
        Length of the periods of dates. "auto" is the shortest length that gives at most 12 periods
        with a median of at least 100 rows. If there are too few rows for that, it is the longest
        that leaves at least 4 periods.
        If all days are the first of a month or of a year, they stand for months or years.
    backend : str, default="pandas"
        Library of the table. See :func:`describe`.
    names : sequence of K str, or dict of int to str, default=None
        Names of all topics, or of some. The other topics are named by :func:`name_topics`.

    Returns
    -------
    table : data frame
        One line for each group and topic, with these fields:

        - ``group``: label or number of the group, or the first day of a period.
        - ``component`` and ``topic``: number and name of the topic.
        - ``n_rows``: number of rows of the group with tokens.
        - ``share``: share of the topic in the tokens of the group.
        - ``low`` and ``high``: ends of its 95 % interval, NaN for a group of one row.
        - ``documents``: share of the rows of the group in which this topic is the largest.

    References
    ----------
    E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data, Survey Methodology 24, 193-201, 1998.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3], [0, 2, 8]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> table = inspection.topic_shares(model, ["a", "a", "a", "b"], ["tea", "cup", "ball"], X=X)
    >>> table = table[table["topic"].str.startswith("tea")]
    >>> table[["group", "n_rows", "share", "documents"]].round(2).values.tolist()
    [['a', 3, 0.81, 0.67], ['b', 1, 0.0, 0.0]]
    """
    grouped = group_model(model, by, feature_names, freq, names, X)
    members = grouped.division.members
    shares = grouped.topics.shares(members)
    low, high = share_intervals(grouped.topics, members, shares)
    columns = {
        **_line_keys(grouped),
        "share": shares.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "documents": grouped.topics.documents(members).ravel(),
    }
    return table_of(columns, backend)


@overload
def compare_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = None, *,
    X: TableLike | None = None, freq: str = "auto", n_resamples: int = 200,
    n_permutations: int | Literal["auto"] = "auto", level: float = 0.95,
    backend: Literal["pandas"] = "pandas", names: Names | None = None,
    random_state: RandomState = None,
) -> pandas.DataFrame: ...  # fmt: skip
@overload
def compare_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = ..., *,
    X: TableLike | None = ..., freq: str = ..., n_resamples: int = ...,
    n_permutations: int | Literal["auto"] = ..., level: float = ..., backend: Literal["polars"],
    names: Names | None = ..., random_state: RandomState = ...,
) -> polars.DataFrame: ...  # fmt: skip
@overload
def compare_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = ..., *,
    X: TableLike | None = ..., freq: str = ..., n_resamples: int = ...,
    n_permutations: int | Literal["auto"] = ..., level: float = ..., backend: str,
    names: Names | None = ..., random_state: RandomState = ...,
) -> Any: ...  # fmt: skip
@validated(CHECKED)
def compare_shares(
    model: Estimator, by: Any, feature_names: ArrayLike | None = None, *,
    X: TableLike | None = None, freq: str = "auto", n_resamples: int = 200,
    n_permutations: int | Literal["auto"] = "auto", level: float = 0.95,
    backend: str = "pandas", names: Names | None = None,
    random_state: RandomState = None,
) -> Any:  # fmt: skip
    """Test whether the share of a topic differs between a group and all other rows.

    Shares are those of :func:`topic_shares`, for the pooled tokens of the group and for those of
    all other rows. Of two groups only the first is listed, compared with the second.

    **Tests.** The null hypothesis is that the labels are independent of the rows. The test
    statistic is the difference between linear estimates of both shares, divided by its standard
    error. It is compared with its values for permuted labels (Chung and Romano 2013). A linear
    estimate is one Newton step from the mixture of all rows. It is a sum over rows, so permutations
    need no fits. Each line of the table is one test, and ``p_adjusted`` is adjusted for all of
    them. Of the lines with ``p_adjusted`` below 0.05, at most 5 % are expected to be false
    discoveries (Benjamini and Hochberg 1995).

    **Intervals.** They are bootstrap percentiles of the linear difference over rows, centred at the
    difference and expanded for small groups (Hesterberg 2015). They are not adjusted.

    Tests and intervals express the sampling of rows, and treat the topics as known. They assume
    that rows are independent. Posts of one author, or chapters of one book, are not independent.
    The model must be fitted without the labels. For numbers and for several covariates use
    :func:`share_effects`.

    Parameters
    ----------
    model, by, feature_names, X, freq, backend, names
        See :func:`topic_shares`. With two columns in ``by``, a combination is compared with all
        other rows. A ValueError is raised if there is only one group, or if there are more groups
        than half of the rows. For measured numbers use :func:`share_effects`.
    n_resamples : int, default=200
        Number of resamples for the intervals.
    n_permutations : int or "auto", default="auto"
        Number of permutations. The smallest possible p-value is 1 / (n_permutations + 1). "auto" is
        999, or 40 times the number of tests if that is larger, so that with enough rows a single
        difference can have ``p_adjusted`` below 0.05. If there are no more divisions of the rows
        into such groups than permutations, all of them are compared, and the test is exact.
    level : float, default=0.95
        Coverage of the intervals, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Seed of resamples and permutations.

    Returns
    -------
    table : data frame
        One line for each group and topic, with these fields:

        - ``group``, ``component``, ``topic`` and ``n_rows``: as in :func:`topic_shares`.
        - ``share`` and ``rest``: shares of the topic in the group and in all other rows.
        - ``difference``: ``share - rest``.
        - ``low`` and ``high``: interval of the difference.
        - ``p`` and ``p_adjusted``: two-sided p-value, and the same adjusted for all lines by the
          method of Benjamini and Hochberg.
        - ``n_tests``: number of tests in the adjustment.

        If the group or the rest consists of one row, intervals and p-values are NaN.

    Warns
    -----
    UserWarning
        If there are so few rows that ``p_adjusted`` of a single difference cannot be below 0.05.

    References
    ----------
    Y. Benjamini and Y. Hochberg, Controlling the false discovery rate: A practical and powerful
    approach to multiple testing, Journal of the Royal Statistical Society B 57, 289-300, 1995.

    E. Chung and J. P. Romano, Exact and asymptotically robust permutation tests, The Annals of
    Statistics 41, 484-507, 2013.

    T. C. Hesterberg, What teachers should know about the bootstrap: Resampling in the undergraduate
    statistics curriculum, The American Statistician 69, 371-386, 2015, section 5.3.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, inspection
    >>> X = datasets.make_cooccurrences(60, 40, n_components=2, random_state=0).X
    >>> model = AspectModel(2, beta=0.9, random_state=0).fit(X)
    >>> half = ["more" if share > 0.5 else "less" for share in model.embedding_[:, 0]]
    >>> table = inspection.compare_shares(model, half, X=X, random_state=0)
    >>> found = table[table["p_adjusted"] < 0.05]
    >>> len(found), int(found["n_tests"].max())
    (2, 2)
    """
    grouped = group_model(model, by, feature_names, freq, names, X)
    members = grouped.division.members
    n_rows = sum(map(len, members))
    if len(members) < 2:
        raise ValueError(f"by has one group, {grouped.division.labels[0]!r}: give at least two.")
    if 2 * len(members) > n_rows:
        raise ValueError(
            f"by has {len(members)} groups for {n_rows} rows, too many to compare: use "
            "share_effects for numbers, or put them into intervals by pandas.cut(by, 4)."
        )
    n_lines = (1 if len(members) == 2 else len(members)) * len(grouped.names)
    seed = draw_seed(random_state)
    differences = compare_groups(grouped.topics, members, n_resamples, level, seed)
    n = max(999, 40 * n_lines) if n_permutations == "auto" else n_permutations
    p = p_values(grouped.topics, members, n, seed + 1).ravel()[:n_lines]
    _warn_of_few_rows([len(of_group) for of_group in members], np.isfinite(p).sum())
    keys = {name: values[:n_lines] for name, values in _line_keys(grouped).items()}
    share, rest, low, high = (values.ravel()[:n_lines] for values in differences)
    columns = {"share": share, "rest": rest, "difference": share - rest, "low": low, "high": high}
    return table_of({**keys, **columns, **columns_of_tests(p)}, backend)


def group_model(
    model: Estimator,
    by: Any,
    feature_names: ArrayLike | None,
    freq: str,
    names: Names | None,
    X: TableLike | None,
) -> GroupedModel:
    if X is None:
        resolved = resolve_model(model, feature_names, names)
        topics = mean_topics(resolved.mixtures, resolved.row_distribution)
        check_order(getattr(resolved.model, "row_names_in_", None), by=by)
        division = divide(by, topics.tokens, freq)
        if resolved.components.shape[1] and kind_of(resolved.model) == "topic":
            warn(WITHOUT_COUNTS)
        return GroupedModel(topics, division, resolved.names, resolved.weights)
    view = read_view(model, X, feature_names)
    topics = row_topics(view)
    check_row_order(view, X, by=by)
    division = divide(by, topics.tokens, freq)
    return GroupedModel(topics, division, names_of_view(view, names), view.weights)


def names_of_view(view: ModelView, names: Names | None) -> list[str]:
    """Names of the K topics: given, or those of the fit, if it kept its rows."""
    has_rows = hasattr(view.model, "row_distribution_")
    weights = topic_weights(view.model) if has_rows else view.weights
    automatic = make_names(view.model, view.components, weights, view.columns, view.names_fitted)
    return override_names(names, automatic)


def row_topics(view: ModelView) -> RowTopics:
    """The rows of a view, with their weights in the fit; with counts if there are topics."""
    weights = view.fitted_weights
    if kind_of(view.model) != "topic":
        return mean_topics(view.mixtures, weights * view.row_sums)
    in_topics = view.components.any(axis=0)
    counts = sp.csr_array(sp.diags_array(weights) @ view.counts_without_factors)
    return RowTopics(view.mixtures, counts[:, in_topics], view.components[:, in_topics])


def mean_topics(mixtures: Array, tokens: Array) -> RowTopics:
    """Row topics whose shares are means of mixtures (N, K), weighted by tokens (N,)."""
    return RowTopics(mixtures, tokens[:, None] * mixtures, np.eye(mixtures.shape[1]))


def pooled_mixtures(counts: Array, components: Array) -> Array:
    """The maximum-likelihood mixture of components (K, M) for each line of counts, (B, K).

    EM iterations from equal shares, of each line until it has converged. NaN if it has no counts.
    """
    mixtures = np.full((len(counts), len(components)), 1 / len(components))
    active = np.arange(len(counts))
    with np.errstate(invalid="ignore"):
        for _ in range(STEPS):
            before = mixtures[active]
            p = before @ components
            ratios = np.divide(counts, p, out=np.zeros_like(p), where=p > 0)
            shares = before * (ratios @ components.T)
            mixtures[active] = shares = shares / shares.sum(axis=1, keepdims=True)
            moved = np.abs(shares - before).max(axis=1, initial=0.0) >= TOLERANCE
            if not moved.all():
                active = active[moved]
                counts = counts[moved]
            if not len(active):
                break
    return np.where(mixtures < TOLERANCE, 0, mixtures)


def columns_of_tests(p: Array) -> dict[str, Array]:
    """Columns of a table: p-values, those adjusted for all tests, and the number of tests."""
    tested = np.isfinite(p)
    adjusted = np.full(len(p), np.nan)
    if tested.any():
        adjusted[tested] = false_discovery_control(p[tested], method="bh")
    return {"p": p, "p_adjusted": adjusted, "n_tests": np.full(len(p), tested.sum())}


def _warn_of_few_rows(sizes: list[int], n_tests: int) -> None:
    """Warn if even the clearest of so many differences between groups cannot be significant."""
    n_rows = sum(sizes)
    size = min(sizes, key=lambda size: abs(2 * size - n_rows))
    n_ways = n_divisions(np.array([size, n_rows - size]))
    if 2 * size == n_rows:
        n_ways /= 2  # either half may come first
    if n_tests > SIGNIFICANT * n_ways:
        warn(
            f"There are only {n_ways:g} ways to divide {n_rows} rows into groups of {size} and "
            f"{n_rows - size}, so p is at least {1 / n_ways:.2g}, and p_adjusted of a single "
            f"difference among {n_tests} at least {min(n_tests / n_ways, 1):.2g}. Look at the p of "
            "a topic that was chosen beforehand, or at the intervals, or collect more rows."
        )


def draw_seed(random_state: RandomState) -> int:
    return int(check_random_state(random_state).randint(MOST_SEED))


def _line_keys(grouped: GroupedModel) -> dict[str, Array]:
    sizes = [len(rows) for rows in grouped.division.members]
    keys = keys_of_lines("group", grouped.division.groups, grouped.names)
    return keys | {"n_rows": np.repeat(sizes, len(grouped.names))}


def keys_of_lines(kind: str, values: Array, topics: Sequence[str]) -> dict[str, Array]:
    """Columns of a table with a line for each value and topic, value by value."""
    if values.dtype.kind == "M":
        values = values.astype("datetime64[ms]")  # data frames have no days
    return {
        kind: np.repeat(values, len(topics)),
        "component": np.tile(np.arange(len(topics)), len(values)),
        "topic": np.tile(np.array(topics, dtype=object), len(values)),
    }


def compare_groups(
    topics: RowTopics, members: list[Array], n_resamples: int, level: float, seed: int
) -> Differences:
    """Shares in each group and in all others, with bootstrap intervals of the differences."""
    share = topics.shares(members)
    rest = topics.shares(members, rest=True)
    sizes = np.array([len(rows) for rows in members])
    ends = np.full((2, *share.shape), np.nan)
    for batch in gen_batches(share.shape[1], max(1, BLOCK // (2 * len(members) * n_resamples))):
        parts, totals = _resamples(topics, members, batch, n_resamples, seed)
        differences = _differences(parts, totals[:, :, None])  # (G, R, k)
        for g, n in enumerate(np.minimum(sizes, sizes.sum() - sizes)):
            if n > 1:
                tail = expanded_tail(level, n)
                ends[:, g, batch] = np.quantile(differences[g], [tail, 1 - tail], axis=0)
    linear = _differences(_sums(topics.linear, members), _sums(topics.tokens, members)[:, None])
    low, high = np.clip(ends - linear + (share - rest), -1, 1)
    return Differences(share, rest, low, high)


def share_intervals(
    topics: RowTopics, members: list[Array], shares: Array, level: float = LEVEL
) -> Array:
    """Intervals of the shares (G, K) of topics in groups of rows, (2, G, K); NaN for one row.

    Those of Korn and Graubard (1998) for proportions in clustered samples: Clopper and Pearson's
    intervals with an effective number of tokens, at which a proportion would vary as the linear
    estimate varies between rows, reduced as the t distribution demands for few rows. Shares nearer
    to 0 or 1 than half a standard error have the number of one at that distance. The intervals
    express the choice of rows, and take the topics as known.

    E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data, Survey Methodology 24, 193-201, 1998.
    """
    ends = np.full((2, *shares.shape), np.nan)
    tail = (1 - level) / 2
    for g, (rows, share) in enumerate(zip(members, shares, strict=True)):
        n = len(rows)
        if n == 1:
            continue
        joint = topics.linear[rows]
        tokens = topics.tokens[rows]
        total = tokens.sum()
        residuals = joint - np.outer(tokens, joint.sum(axis=0) / total)
        errors = np.sqrt(n / (n - 1) * (residuals**2).sum(axis=0)) / total
        errors = np.maximum(errors, SMALLEST_ERROR)
        least = np.minimum(errors / 2, 0.5)
        p = np.clip(share, least, 1 - least)
        sizes = p * (1 - p) / errors**2 * (norm.ppf(tail) / t.ppf(tail, n - 1)) ** 2
        successes = share * sizes
        failures = sizes - successes
        low = beta.ppf(tail, successes, failures + 1)
        ends[0, g] = np.where(low > SMALLEST_ERROR, low, 0)
        ends[1, g] = np.where(share < 1, beta.ppf(1 - tail, successes + 1, failures), 1)
    return ends


def p_values(topics: RowTopics, members: list[Array], n_permutations: int, seed: int) -> Array:
    """p-values of permutation tests of each group against all others, (G, K).

    The statistic is the difference divided by its standard error, so that groups with longer or
    more variable rows can be compared (Chung and Romano 2013). NaN if a group or the rest has one
    row. All divisions into groups are compared if there are no more than ``n_permutations``.
    """
    rows = np.concatenate(members)
    sizes = np.array([len(of_group) for of_group in members])
    linear = topics.linear[rows]
    totals = topics.tokens[rows]
    p = np.empty((len(members), linear.shape[1]))
    for batch in gen_batches(linear.shape[1], max(1, BLOCK // (3 * len(rows)))):
        joint = linear[:, batch]
        table = np.column_stack([joint, joint**2, joint * totals[:, None], totals, totals**2])
        observed = _statistic(_group_sums(np.arange(len(rows))[None], sizes, table))
        if n_divisions(sizes) <= n_permutations:
            orders = np.array(list(divisions(tuple(range(len(rows))), sizes.tolist())))
            permuted = _statistic(_group_sums(orders, sizes, table))
            p[:, batch] = (permuted >= observed * (1 - 1e-9)).mean(axis=0)
            continue
        larger = np.zeros(observed.shape[1:])
        rng = np.random.default_rng(seed)
        at_once = max(1, BLOCK // max(table.size, len(rows)))
        for first in range(0, n_permutations, at_once):
            orders = np.tile(np.arange(len(rows)), (min(at_once, n_permutations - first), 1))
            permuted = _statistic(_group_sums(rng.permuted(orders, axis=1), sizes, table))
            larger += (permuted >= observed * (1 - 1e-9)).sum(axis=0)
        p[:, batch] = (1 + larger) / (1 + n_permutations)
    p[np.minimum(sizes, sizes.sum() - sizes) < 2] = np.nan
    return p


def n_divisions(sizes: Array) -> float:
    """Number of divisions of rows into groups of these sizes; inf if it is too large."""
    with np.errstate(over="ignore"):
        return float(np.exp(gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum()).round())


def divisions(rows: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All divisions of rows into groups of these sizes, which follow each other.

    >>> list(divisions((0, 1, 2), [2, 1]))
    [(0, 1, 2), (0, 2, 1), (1, 2, 0)]
    """
    if not sizes:
        yield ()
        return
    for first in combinations(rows, sizes[0]):
        rest = tuple(row for row in rows if row not in first)
        for others in divisions(rest, sizes[1:]):
            yield first + others


def _resamples(
    topics: RowTopics, members: list[Array], batch: slice, n_resamples: int, seed: int
) -> tuple[Array, Array]:
    """Sums over resampled rows, by topic (G, R, k) and in total (G, R)."""
    rng = np.random.default_rng(seed)
    sums = []
    for rows in members:
        table = np.column_stack([topics.linear[rows, batch], topics.tokens[rows]])
        n = len(rows)
        at_once = max(1, BLOCK // n)
        of_group = []
        for first in range(0, n_resamples, at_once):
            r = min(at_once, n_resamples - first)
            sampled = rng.integers(n, size=(r, n)) + n * np.arange(r)[:, None]
            times = np.bincount(sampled.ravel(), minlength=r * n).reshape(r, n)
            of_group.append(times.astype(np.float64) @ table)
        sums.append(np.concatenate(of_group))
    totals = np.array(sums)
    return totals[:, :, :-1], totals[:, :, -1]


def expanded_tail(level: float, n: int) -> float:
    """The expanded tail probability of an interval of a group of n rows.

    Resamples vary less than samples, by sqrt((n - 1) / n), and have lighter tails than a t
    distribution (Hesterberg 2015, section 5.3).

    >>> [round(expanded_tail(0.95, n), 3) for n in (5, 20, 1000)]
    [0.001, 0.016, 0.025]
    """
    return float(norm.cdf(-np.sqrt(n / (n - 1)) * t.ppf((1 + level) / 2, n - 1)))


def _sums(values: Array | CSR, members: list[Array]) -> Array:
    """Sums over the rows of each group, (G,) or (G, K)."""
    return np.array([values[rows].sum(axis=0) for rows in members])


def _differences(parts: Array, totals: Array) -> Array:
    """Shares of groups, along the first axis, less those of all other groups."""
    rest = (parts.sum(axis=0) - parts) / (totals.sum(axis=0) - totals)
    return parts / totals - rest


def _group_sums(order: Array, sizes: Array, table: Array) -> Array:
    """Sums over groups of these sizes for b orders of the rows, (b, G, columns)."""
    starts = np.concatenate([[0], np.cumsum(np.tile(sizes, len(order)))])
    shape = len(starts) - 1, len(table)
    indicators = sp.csr_array((np.ones(order.size), order.ravel(), starts), shape=shape)
    return (indicators @ table).reshape(len(order), len(sizes), -1)


def _statistic(group_sums: Array) -> Array:
    """Squared differences between groups and all others, over variances, (b, G, k)."""
    rest = group_sums.sum(axis=1, keepdims=True) - group_sums
    share, variance = _ratio(group_sums)
    rest_share, rest_variance = _ratio(rest)
    square = (share - rest_share) ** 2
    square[square < (1e-12 * (share + rest_share)) ** 2] = 0  # equal but for rounding
    spread = variance + rest_variance
    default = np.where(square > 0, np.inf, 0.0)
    return np.divide(square, spread, out=default, where=spread > 0)


def _ratio(group_sums: Array) -> tuple[Array, Array]:
    """A share and its variance, by linearisation of the ratio of sums."""
    k = (group_sums.shape[2] - 2) // 3
    joint, square, product = (group_sums[:, :, a * k : (a + 1) * k] for a in range(3))
    tokens = group_sums[:, :, -2, None]
    tokens_squared = group_sums[:, :, -1, None]
    share = joint / tokens
    spread = square - 2 * share * product + share**2 * tokens_squared
    spread[spread < 1e-12 * (square + share**2 * tokens_squared)] = 0  # equal but for rounding
    return share, spread / tokens**2
