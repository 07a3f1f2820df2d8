"""The shares of topics in groups of rows and over time, and where groups differ."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from skcooc.inspection.found import found
from skcooc.inspection.groups import Division, divide
from skcooc.inspection.labels import Names
from skcooc.inspection.resampling import Mass, Shares, differences, p_values, shares
from skcooc.inspection.tables import table_of
from skcooc.protocol import Array, FactorModel, RandomState
from skcooc.protocol.decorators import validated

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

MOST_SEED = 2**31 - 1
CHECKED = {
    "n_resamples": [Interval(Integral, 1, None, closed="left")],
    "level": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
}


class Divided(NamedTuple):
    """A model whose rows are in groups."""

    mass: Mass
    division: Division
    names: list[str]  # of the K topics


@validated(CHECKED)
def topic_shares(
    model: FactorModel, by: Any, feature_names: ArrayLike | None = None, *, freq: str = "auto",
    n_resamples: int = 200, level: float = 0.95, backend: str = "pandas",
    names: Names | None = None, random_state: RandomState = None,
) -> IntoDataFrame:  # fmt: skip
    """The share of each topic in the observations of each group of rows, with intervals.

    It is sum_i n_i P(z given x_i) / sum_i n_i over the rows of the group, so that a row counts by
    its observations. The intervals are those of resamples of the rows of a group: they say how far
    other rows of its kind would have other shares, and not whether another fit would have the same
    topics. They are percentiles, expanded for small groups (Hesterberg 2015).

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M), ``embedding_`` (N, K) and ``row_distribution_`` (N,); or a
        pipeline or a search with one inside.
    by : array-like of shape (N,), series, or dict or data frame of one column
        A label, a number or a date of each of the rows that were fitted. Rows without one (None,
        NaN, NaT), and those without observations, are in no group. Each label and number is a
        group, in alphabetical or numerical order or in that of a categorical series; dates, and
        periods of pandas, are put into periods. Strings are labels and, where there is a ``freq``,
        dates in ISO 8601.
    feature_names : array-like of shape (M,), default=None
        Names of the columns, of which topics are named; see :func:`top_features`.
    freq : {"auto", "day", "week", "month", "quarter", "year", "decade"}, default="auto"
        Length of the periods of dates. "auto" means the shortest of which there are at most 24;
        days that all begin a month are months, and those that all begin a year are years.
    n_resamples : int, default=200
        Number of resamples.
    level : float, default=0.95
        How often an interval is to hold the share, in (0, 1).
    backend : str, default="pandas"
        The library of the table: "pandas", "polars", "pyarrow" or another that narwhals knows.
    names : sequence of K str, or dict of int to str, default=None
        Names of the topics, or of some of them; the others have those of :func:`name_topics`.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples.

    Returns
    -------
    table : data frame of that library
        With a line for each group and topic, and the columns

        group : str, int, float or date
            The label or number; of periods, the first day.
        component : int
            The number of the topic, which is its row in ``components_``.
        topic : str
            What it is called.
        n_rows : int
            Rows of the group that have observations.
        share : float
            Of the observations of the group; those of all topics sum to one.
        low, high : float
            The interval; NaN in groups of one row.

    Raises
    ------
    ValueError
        Where ``by`` has no label for each row or infinite numbers, there is a ``freq`` and no date,
        or there are not as many names as there are topics or columns.
    TypeError
        Where the model has not all of these attributes.
    ImportError
        Where the library of the table is not installed.

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
    of = divided(model, by, feature_names, freq, names)
    its = resampled(of, n_resamples, level, random_state)
    return table_of({**_lines(of), **_flat(its)}, backend)


@validated({**CHECKED, "n_permutations": CHECKED["n_resamples"]})
def compare_shares(
    model: FactorModel, by: Any, feature_names: ArrayLike | None = None, *, freq: str = "auto",
    n_resamples: int = 200, n_permutations: int = 999, level: float = 0.95,
    backend: str = "pandas", names: Names | None = None,
    random_state: RandomState = None,
) -> IntoDataFrame:  # fmt: skip
    """Where the share of a topic in a group differs from that in all other groups.

    The hypothesis of a test is that the labels say nothing about a topic: the difference, divided
    by its standard error, is compared with those of permuted labels (Chung and Romano 2013). There
    are as many tests as groups times topics; ``p_adjusted`` is for all of them together. Reporting
    the lines where it is below .05, one expects at most 5 % of these to be false discoveries
    (Benjamini and Hochberg 1995). Intervals are those of single differences, not adjusted.

    The model has been fitted to the same rows, without their labels. Tests take the rows to be
    independent of each other: posts of one author, or chapters of one book, are not.

    Parameters
    ----------
    model, by, feature_names, freq, backend, names
        See :func:`topic_shares`.
    n_resamples : int, default=200
        Number of resamples, for the intervals.
    n_permutations : int, default=999
        Number of permutations; no p is below 1 / (n_permutations + 1).
    level : float, default=0.95
        Of the intervals, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Seed of resamples and permutations.

    Returns
    -------
    table : data frame of that library
        With a line for each group and topic, the columns ``group``, ``component``, ``topic`` and
        ``n_rows`` of :func:`topic_shares`, and

        share, rest : float
            Of the observations of the group, and of those of all other groups together.
        difference : float
            The first less the second.
        low, high : float
            Its interval; NaN where the group, or the rest, is one row.
        p : float
            Of the two-sided test; NaN where the group, or the rest, is one row.
        p_adjusted : float
            By the procedure of Benjamini and Hochberg.
        n_tests : int
            How many tests it is adjusted for, the same on all lines.

    Raises
    ------
    ValueError
        As :func:`topic_shares`, and where there is one group alone.
    TypeError, ImportError
        As :func:`topic_shares`.

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
    of = divided(model, by, feature_names, freq, names)
    members = of.division.members
    if len(members) < 2:
        raise ValueError(f"There is one group alone, {of.division.labels[0]!r}: nothing to compare")
    seed = _seed(random_state)
    differ = differences(of.mass, members, n_resamples, level, seed)
    p = p_values(of.mass, members, n_permutations, seed + 1).ravel()
    share = shares(of.mass, members, 1, level, seed).share
    columns = {
        **_lines(of),
        "share": share.ravel(),
        "rest": (share - differ.share).ravel(),
        "difference": differ.share.ravel(),
        "low": differ.low.ravel(),
        "high": differ.high.ravel(),
        "p": p,
        "p_adjusted": _adjusted(p),
        "n_tests": np.full(len(p), np.isfinite(p).sum()),
    }
    return table_of(columns, backend)


def divided(
    model: FactorModel, by: Any, feature_names: ArrayLike | None, freq: str,
    names: Names | None,
) -> Divided:  # fmt: skip
    """The rows of a model in groups."""
    topics = found(model, feature_names, names)
    rows = topics.row_distribution
    mass = Mass(rows[:, None] * topics.mixtures, rows)
    return Divided(mass, divide(by, rows, freq), topics.names)


def resampled(of: Divided, n_resamples: int, level: float, random_state: RandomState) -> Shares:
    """The shares in all groups, with their intervals."""
    return shares(of.mass, of.division.members, n_resamples, level, _seed(random_state))


def _seed(random_state: RandomState) -> int:
    return int(check_random_state(random_state).randint(MOST_SEED))


def _lines(of: Divided) -> dict[str, Array]:
    """What the lines are of, group by group."""
    n_groups, n_topics = len(of.division.groups), len(of.names)
    groups = of.division.groups
    if groups.dtype.kind == "M":
        groups = groups.astype("datetime64[ms]")  # data frames have no days
    sizes = [len(rows) for rows in of.division.members]
    return {
        "group": np.repeat(groups, n_topics),
        "component": np.tile(np.arange(n_topics), n_groups),
        "topic": np.tile(np.array(of.names, dtype=object), n_groups),
        "n_rows": np.repeat(sizes, n_topics),
    }


def _flat(of: Shares) -> dict[str, Array]:
    return {name: values.ravel() for name, values in of._asdict().items()}


def _adjusted(p: Array) -> Array:
    """Benjamini and Hochberg's, of the tests that were made."""
    made, adjusted = np.isfinite(p), np.full(len(p), np.nan)
    if made.any():
        adjusted[made] = false_discovery_control(p[made], method="bh")
    return adjusted
