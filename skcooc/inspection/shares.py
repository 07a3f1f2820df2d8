"""The shares of topics in groups of rows and over time, and where groups differ.

A share is a ratio of sums over rows, so that all resamples of a group are matrix products. Topics
are computed in blocks, with the same draws for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control, norm, t
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.inspection.groups import RowGroups, divide
from skcooc.inspection.models import Names
from skcooc.inspection.names import resolve_model
from skcooc.inspection.tables import table_of
from skcooc.protocol import Array, FactorModel, RandomState
from skcooc.protocol.decorators import validated

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

FEW = 5  # rows of a group, below which its interval sets no scale
BLOCK = 8_000_000  # numbers in the largest array
MOST_SEED = 2**31 - 1
CHECKED = {
    "n_resamples": [Interval(Integral, 1, None, closed="left")],
    "level": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
}


class TopicCounts(NamedTuple):
    """The tokens of N rows, as counts or as shares of all."""

    joint: Array  # (N, K): by topic
    rows: Array  # (N,): in total


class GroupedModel(NamedTuple):
    """The rows of a model in groups, and its topics."""

    mass: TopicCounts
    division: RowGroups
    names: list[str]  # of the K topics


class Shares(NamedTuple):
    """Shares of K topics in G groups, with intervals, NaN for groups of one row."""

    share: Array  # (G, K)
    low: Array  # (G, K)
    high: Array  # (G, K)


@validated(CHECKED)
def topic_shares(
    model: FactorModel, by: Any, feature_names: ArrayLike | None = None, *, freq: str = "auto",
    n_resamples: int = 200, level: float = 0.95, backend: str = "pandas",
    names: Names | None = None, random_state: RandomState = None,
) -> IntoDataFrame:  # fmt: skip
    """Share of each topic in the tokens of each group of rows, with intervals.

    The share is sum_i n_i P(z given x_i) / sum_i n_i over the rows of the group: rows are weighted
    by their tokens. The intervals are bootstrap percentiles over the rows of a group,
    expanded for small groups (Hesterberg 2015). They express the choice of rows, and not the
    uncertainty of the model.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M), ``embedding_`` (N, K) and ``row_distribution_`` (N,); or a
        pipeline or a search with one inside.
    by : array-like of shape (N,), series, or dict or data frame of one column
        A label, a number or a date of each of the rows that were fitted. Rows without one (None,
        NaN, NaT), and those without tokens, are in no group. Each label and number is a
        group, in alphabetical or numerical order or in that of a categorical series; dates, and
        periods of pandas, are put into periods. Strings are labels or, with a ``freq``, dates in
        ISO 8601. ValueError for infinite numbers.
    feature_names : array-like of shape (M,), default=None
        Names of the columns, from which topics are named; see :func:`top_features`.
    freq : {"auto", "day", "week", "month", "quarter", "year", "decade"}, default="auto"
        Length of the periods of dates. "auto" means the shortest that gives at most 24 periods;
        days that all begin a month are months, and those that all begin a year are years.
    n_resamples : int, default=200
        Number of resamples.
    level : float, default=0.95
        Coverage of the intervals, in (0, 1).
    backend : str, default="pandas"
        The library of the table; see :func:`describe`.
    names : sequence of K str, or dict of int to str, default=None
        Names of the topics, or of some of them; the others have those of :func:`name_topics`.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples.

    Returns
    -------
    table : data frame of that library
        With a line for each group and topic: ``group`` (its label or number, or the first day of a
        period), ``component`` (the row of the topic in ``components_``), ``topic`` (its name),
        ``n_rows`` (rows of the group with tokens), ``share`` (of the tokens of the
        group), and its interval, ``low`` to ``high``, NaN in groups of one row.

    References
    ----------
    T. C. Hesterberg, What teachers should know about the bootstrap: Resampling in the undergraduate
    statistics curriculum, The American Statistician 69, 371-386, 2015, section 5.3.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.inspection import topic_shares
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3], [0, 2, 8]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> table = topic_shares(model, ["a", "a", "a", "b"], ["tea", "cup", "ball"], random_state=0)
    >>> table[table["topic"].str.startswith("tea")][["group", "n_rows", "share"]].values.tolist()
    [['a', 3, 0.8], ['b', 1, 0.0]]
    """
    grouped = group_model(model, by, feature_names, freq, names)
    found = resample_shares(grouped, n_resamples, level, random_state)
    flat = {name: values.ravel() for name, values in found._asdict().items()}
    return table_of({**_line_keys(grouped), **flat}, backend)


@validated({**CHECKED, "n_permutations": [*CHECKED["n_resamples"], StrOptions({"auto"})]})
def compare_shares(
    model: FactorModel, by: Any, feature_names: ArrayLike | None = None, *, freq: str = "auto",
    n_resamples: int = 200, n_permutations: int | Literal["auto"] = "auto", level: float = 0.95,
    backend: str = "pandas", names: Names | None = None,
    random_state: RandomState = None,
) -> IntoDataFrame:  # fmt: skip
    """Test for differences between the share of a topic in a group and in all others.

    The null hypothesis is that the labels are independent of a topic: the difference, divided by
    its standard error, is compared with those of permuted labels (Chung and Romano 2013). There are
    as many tests as groups times topics; ``p_adjusted`` is adjusted for all of them. Of the lines
    with ``p_adjusted`` below 0.05 at most 5 % are expected to be false discoveries (Benjamini and
    Hochberg 1995). Intervals are those of single differences, not adjusted.

    Tests assume independent rows: posts of one author, or chapters of one book, are not. The model
    has to be fitted without the labels.

    Parameters
    ----------
    model, by, feature_names, freq, n_resamples, level, backend, names
        See :func:`topic_shares`; ValueError also if there is only one group.
    n_permutations : int or "auto", default="auto"
        Number of permutations; the smallest p is 1 / (n_permutations + 1). "auto" is 999, or 40 for
        each test if that is more, so that a single difference can have ``p_adjusted`` below 0.05.
    random_state : int, RandomState instance or None, default=None
        Seed of resamples and permutations.

    Returns
    -------
    table : data frame of that library
        With a line for each group and topic, the columns ``group``, ``component``, ``topic`` and
        ``n_rows`` of :func:`topic_shares`, and ``share`` and ``rest`` (shares of the topic in the
        group, and in all others together), ``difference`` (``share - rest``) with its interval,
        ``low`` to ``high``, ``p`` (of the two-sided test), ``p_adjusted`` (Benjamini and Hochberg)
        and ``n_tests`` (the number adjusted for, the same on all lines). Intervals and p are NaN if
        the group, or the rest, is one row.

    References
    ----------
    Y. Benjamini and Y. Hochberg, Controlling the false discovery rate: A practical and powerful
    approach to multiple testing, Journal of the Royal Statistical Society B 57, 289-300, 1995.

    E. Chung and J. P. Romano, Exact and asymptotically robust permutation tests, The Annals of
    Statistics 41, 484-507, 2013.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.inspection import compare_shares
    >>> X = make_cooccurrences(60, 40, n_components=2, random_state=0).X
    >>> model = AspectModel(2, beta=0.9, random_state=0).fit(X)
    >>> half = ["more" if share > 0.5 else "less" for share in model.embedding_[:, 0]]
    >>> table = compare_shares(model, half, random_state=0)
    >>> found = table[table["p_adjusted"] < 0.05]
    >>> len(found), int(found["n_tests"].max())
    (4, 4)
    """
    grouped = group_model(model, by, feature_names, freq, names)
    members = grouped.division.members
    if len(members) < 2:
        only = grouped.division.labels[0]
        raise ValueError(f"by has one group, {only!r}: give at least two.")
    seed = _seed(random_state)
    differ = share_differences(grouped.mass, members, n_resamples, level, seed)
    enough = max(999, 40 * len(members) * grouped.mass.joint.shape[1])
    n = enough if n_permutations == "auto" else n_permutations
    p = p_values(grouped.mass, members, n, seed + 1).ravel()
    tested, adjusted = np.isfinite(p), np.full(len(p), np.nan)
    if tested.any():
        adjusted[tested] = false_discovery_control(p[tested], method="bh")
    share = _shares(grouped.mass, members)
    columns = {
        **_line_keys(grouped),
        "share": share.ravel(),
        "rest": (share - differ.share).ravel(),
        "difference": differ.share.ravel(),
        "low": differ.low.ravel(),
        "high": differ.high.ravel(),
        "p": p,
        "p_adjusted": adjusted,
        "n_tests": np.full(len(p), tested.sum()),
    }
    return table_of(columns, backend)


def group_model(
    model: FactorModel, by: Any, feature_names: ArrayLike | None, freq: str, names: Names | None
) -> GroupedModel:
    topics = resolve_model(model, feature_names, names)
    rows = topics.row_distribution
    mass = TopicCounts(rows[:, None] * topics.mixtures, rows)
    return GroupedModel(mass, divide(by, rows, freq), topics.names)


def resample_shares(
    grouped: GroupedModel, n_resamples: int, level: float, random_state: RandomState
) -> Shares:
    members, seed = grouped.division.members, _seed(random_state)
    return group_shares(grouped.mass, members, n_resamples, level, seed)


def _seed(random_state: RandomState) -> int:
    return int(check_random_state(random_state).randint(MOST_SEED))


def _line_keys(grouped: GroupedModel) -> dict[str, Array]:
    """The group and the topic of each line, group by group."""
    groups, n_topics = grouped.division.groups, len(grouped.names)
    if groups.dtype.kind == "M":
        groups = groups.astype("datetime64[ms]")  # data frames have no days
    sizes = [len(rows) for rows in grouped.division.members]
    return {
        "group": np.repeat(groups, n_topics),
        "component": np.tile(np.arange(n_topics), len(groups)),
        "topic": np.tile(np.array(grouped.names, dtype=object), len(groups)),
        "n_rows": np.repeat(sizes, n_topics),
    }


def group_shares(
    mass: TopicCounts, members: list[Array], n_resamples: int, level: float, seed: int
) -> Shares:
    """Shares in groups, with bootstrap intervals over the rows of each group."""
    sizes = [len(rows) for rows in members]
    ends = []
    for topics in _blocks(mass.joint.shape[1], len(members) * n_resamples):
        parts, totals = _resamples(mass, members, topics, n_resamples, seed)
        ends.append(_percentiles(parts / totals[:, :, None], sizes, level))
    low, high = np.concatenate(ends, axis=2)
    return Shares(_shares(mass, members), low, high)


def share_differences(
    mass: TopicCounts, members: list[Array], n_resamples: int, level: float, seed: int
) -> Shares:
    """Differences between the share in each group and in all others, with intervals."""
    sizes = np.array([len(rows) for rows in members])
    ends = []
    for topics in _blocks(mass.joint.shape[1], 2 * len(members) * n_resamples):
        parts, totals = _resamples(mass, members, topics, n_resamples, seed)
        found = _differences(parts, totals[:, :, None])
        ends.append(_percentiles(found, np.minimum(sizes, sizes.sum() - sizes), level))
    low, high = np.concatenate(ends, axis=2)
    parts, totals = _sums(mass.joint, members), _sums(mass.rows, members)
    return Shares(_differences(parts, totals[:, None]), low, high)


def p_values(mass: TopicCounts, members: list[Array], n_permutations: int, seed: int) -> Array:
    """p-values of permutation tests of each group against all others, (G, K).

    The statistic is the difference divided by its standard error, so that groups with longer or
    more variable rows can be compared (Chung and Romano 2013). NaN if a group or the rest has one
    row.
    """
    rows = np.concatenate(members)
    sizes = np.array([len(of_group) for of_group in members])
    n_topics, found = mass.joint.shape[1], []
    for topics in _blocks(n_topics, 3 * len(rows)):
        joint, totals = mass.joint[rows][:, topics], mass.rows[rows]
        table = np.column_stack([joint, joint**2, joint * totals[:, None], totals, totals**2])
        seen = _statistic(_group_sums(np.arange(len(rows))[None], sizes, table))
        larger = np.zeros(seen.shape[1:])
        rng, at_once = np.random.default_rng(seed), max(1, BLOCK // max(table.size, len(rows)))
        for first in range(0, n_permutations, at_once):
            order = np.tile(np.arange(len(rows)), (min(at_once, n_permutations - first), 1))
            drawn = _statistic(_group_sums(rng.permuted(order, axis=1), sizes, table))
            larger += (drawn >= seen * (1 - 1e-9)).sum(axis=0)
        found.append((1 + larger) / (1 + n_permutations))
    p = np.concatenate(found, axis=1)
    p[np.minimum(sizes, sizes.sum() - sizes) < 2] = np.nan
    return p


def _blocks(n_topics: int, numbers: int) -> Iterator[slice]:
    """Slices of topics whose arrays, with so many numbers each, fit into a block."""
    step = max(1, BLOCK // numbers)
    return (slice(first, first + step) for first in range(0, n_topics, step))


def _resamples(
    mass: TopicCounts, members: list[Array], topics: slice, n_resamples: int, seed: int
) -> tuple[Array, Array]:
    """Sums over drawn rows, by topic (G, R, k) and in total (G, R)."""
    rng, parts, totals = np.random.default_rng(seed), [], []
    for rows in members:
        table = np.column_stack([mass.joint[rows, topics], mass.rows[rows]])
        drawn = np.concatenate([times @ table for times in _draws(len(rows), n_resamples, rng)])
        parts.append(drawn[:, :-1])
        totals.append(drawn[:, -1])
    return np.array(parts), np.array(totals)


def _draws(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Numbers of draws of each of n rows in each resample, in blocks (r, n)."""
    at_once = max(1, BLOCK // n)
    for first in range(0, n_resamples, at_once):
        r = min(at_once, n_resamples - first)
        drawn = rng.integers(n, size=(r, n)) + n * np.arange(r)[:, None]
        yield np.bincount(drawn.ravel(), minlength=r * n).reshape(r, n).astype(np.float64)


def _percentiles(values: Array, sizes: Array | list[int], level: float) -> Array:
    """Ends of the intervals of resamples (G, R, K), (2, G, K)."""
    ends = np.full((2, len(values), values.shape[2]), np.nan)
    for g, n in enumerate(sizes):
        if n > 1:
            tail = expanded_tail(level, n)
            ends[:, g] = np.quantile(values[g], [tail, 1 - tail], axis=0)
    return ends


def expanded_tail(level: float, n: int) -> float:
    """The expanded tail probability of an interval of a group of n rows.

    Resamples vary less than samples, by sqrt((n - 1) / n), and have lighter tails than a t
    distribution (Hesterberg 2015, section 5.3).

    >>> [round(expanded_tail(0.95, n), 3) for n in (5, 20, 1000)]
    [0.001, 0.016, 0.025]
    """
    return float(norm.cdf(-np.sqrt(n / (n - 1)) * t.ppf((1 + level) / 2, n - 1)))


def _sums(values: Array, members: list[Array]) -> Array:
    """Sums over the rows of each group, (G,) or (G, K)."""
    return np.array([values[rows].sum(axis=0) for rows in members])


def _shares(mass: TopicCounts, members: list[Array]) -> Array:
    return _sums(mass.joint, members) / _sums(mass.rows, members)[:, None]


def _differences(parts: Array, totals: Array) -> Array:
    """Shares of groups, along the first axis, less those of all other groups."""
    rest, others = parts.sum(axis=0) - parts, totals.sum(axis=0) - totals
    return parts / totals - rest / others


def _group_sums(order: Array, sizes: Array, table: Array) -> Array:
    """Sums over groups of these sizes for b orders of the rows, (b, G, columns)."""
    begin = np.concatenate([[0], np.cumsum(np.tile(sizes, len(order)))])
    shape = len(begin) - 1, len(table)
    chosen = sp.csr_array((np.ones(order.size), order.ravel(), begin), shape=shape)
    return (chosen @ table).reshape(len(order), len(sizes), -1)


def _statistic(group_sums: Array) -> Array:
    """Squared differences between groups and all others, over variances, (b, G, k)."""
    rest = group_sums.sum(axis=1, keepdims=True) - group_sums
    share, variance = _ratio(group_sums)
    other, its_variance = _ratio(rest)
    square, spread = (share - other) ** 2, variance + its_variance
    square[square < (1e-12 * (share + other)) ** 2] = 0  # equal but for rounding
    found = np.where(square > 0, np.inf, 0.0)
    return np.divide(square, spread, out=found, where=spread > 0)


def _ratio(group_sums: Array) -> tuple[Array, Array]:
    """A share and its variance, by linearisation of the ratio of sums."""
    k = (group_sums.shape[2] - 2) // 3
    joint, square, product = (group_sums[:, :, a * k : (a + 1) * k] for a in range(3))
    rows, rows_squared = group_sums[:, :, -2, None], group_sums[:, :, -1, None]
    share = joint / rows
    spread = square - 2 * share * product + share**2 * rows_squared
    spread[spread < 1e-12 * (square + share**2 * rows_squared)] = 0  # equal but for rounding
    return share, spread / rows**2
