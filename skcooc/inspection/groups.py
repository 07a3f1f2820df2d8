"""Rows in groups: by a label of each, or by the time that it is of."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._missing import is_pandas_na

from skcooc.protocol import Array

MOST_PERIODS = 24  # of which freq="auto" takes the shortest
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
FREQUENCIES = ("day", "week", *MONTHS)


class Column(NamedTuple):
    """What rows are divided by."""

    values: Array  # (N,)
    name: str | None = None
    order: Sequence[object] | None = None  # of the values of a categorical column


class Division(NamedTuple):
    """Rows in G groups."""

    members: list[Array]  # their positions, of each group
    groups: Array  # (G,): labels, numbers, or the days on which periods begin
    labels: list[str]  # the same in words
    name: str | None = None

    @property
    def ordered(self) -> bool:
        """Whether groups are places on an axis."""
        return bool(np.issubdtype(self.groups.dtype, np.number)) or self.groups.dtype.kind == "M"


def divide(by: Any, weights: Array, freq: str = "auto") -> Division:
    """Rows of positive weight in groups; those without a label are in none.

    Labels come in alphabetical order or, of a categorical column, in its own; numbers and dates by
    size. Dates are put into periods. ValueError where they are not as many as rows, where there is
    a ``freq`` and no dates, or where no group is left.
    """
    column = read(by)
    if column.values.shape != weights.shape:
        raise ValueError(
            f"by has shape {column.values.shape}, but the model has {len(weights)} rows"
        )
    known = np.flatnonzero(~_missing(column.values) & (weights > 0))
    if not len(known):
        raise ValueError("by has no label for any row that has observations.")
    values = _plain(column.values[known])
    if values.dtype.kind == "M":
        return _periods(values, known, freq, column.name)
    if freq != "auto":
        raise ValueError(f"freq={freq!r} needs dates; by has values such as {values[0]!r}.")
    groups, numbers = _distinct(values, column.order)
    members = [known[numbers == g] for g in range(len(groups))]
    return Division(members, groups, [_written(group) for group in groups], column.name)


def read(by: Any) -> Column:
    """The values of an array, of a series, or of the one column of a dict or a data frame."""
    import narwhals.stable.v2 as narwhals  # scikit-learn needs it too; only tables do here

    name = None
    if isinstance(by, Mapping):
        _check_one(list(by))
        ((name, by),) = by.items()
    given = narwhals.from_native(by, allow_series=True, pass_through=True)
    if isinstance(given, narwhals.DataFrame):
        _check_one(given.columns)
        given = given[given.columns[0]]
    if not isinstance(given, narwhals.Series):
        values = given if isinstance(given, np.ndarray) else np.array(list(given), dtype=object)
        return Column(values, None if name is None else str(name))
    categorical = given.dtype in (narwhals.Categorical, narwhals.Enum)
    order = given.cat.get_categories().to_list() if categorical else None
    name = name or given.name or None
    return Column(given.to_numpy(), None if name is None else str(name), order)


def _check_one(columns: Sequence[object]) -> None:
    if len(columns) != 1:
        raise ValueError(f"by has {len(columns)} columns, {list(columns)}: give one of them.")


def _missing(values: Array) -> Array:
    """Which are None, NaN, NaT or NA."""
    if values.dtype.kind == "O":
        return np.array([v is None or is_pandas_na(v) or v != v for v in values], dtype=bool)
    return values != values


def _plain(values: Array) -> Array:
    """Numbers, dates or text; what is mixed becomes text."""
    if values.dtype.kind in "iuf":
        return values
    if values.dtype.kind == "M":
        return values.astype("datetime64[D]")
    listed = values.tolist()
    if all(isinstance(v, datetime.date | np.datetime64) for v in listed):
        days = [v if isinstance(v, np.datetime64) else v.isoformat()[:10] for v in listed]
        return np.array(days, dtype="datetime64[D]")
    if all(isinstance(v, Real) and not isinstance(v, bool) for v in listed):
        return np.array(listed)
    return np.array([str(v) for v in listed])


def _distinct(values: Array, order: Sequence[object] | None) -> tuple[Array, Array]:
    """The groups, and the number of that of each row."""
    groups, numbers = np.unique(values, return_inverse=True)
    if order is None:
        return groups, numbers
    places = {str(value): place for place, value in enumerate(order)}
    by_place = np.argsort([places[str(group)] for group in groups.tolist()])
    return groups[by_place].astype(str), np.argsort(by_place)[numbers]


def _written(group: Any) -> str:
    return f"{group:.6g}" if isinstance(group, np.floating) else str(group)


def _periods(days: Array, known: Array, freq: str, name: str | None) -> Division:
    if freq not in ("auto", *FREQUENCIES):
        raise ValueError(f"freq={freq!r} should be 'auto' or one of {', '.join(FREQUENCIES)}.")
    freq = shortest(days) if freq == "auto" else freq
    groups, numbers = np.unique(begins(days, freq), return_inverse=True)
    members = [known[numbers == g] for g in range(len(groups))]
    return Division(members, groups, [_called(day, freq) for day in groups], name)


def shortest(days: Array) -> str:
    """The shortest period of which there are not too many; decades at most.

    >>> shortest(np.arange("2001-01", "2003-01", dtype="datetime64[M]").astype("datetime64[D]"))
    'day'
    >>> shortest(np.arange("2001-01-01", "2003-01-01", dtype="datetime64[D]"))
    'month'
    """
    few = (f for f in FREQUENCIES if len(np.unique(begins(days, f))) <= MOST_PERIODS)
    return next(few, FREQUENCIES[-1])


def begins(days: Array, freq: str) -> Array:
    """The first day of the period of each day; weeks begin on Monday.

    >>> begins(np.array(["2001-02-03"], dtype="datetime64[D]"), "quarter")
    array(['2001-01-01'], dtype='datetime64[D]')
    """
    if freq in MONTHS:
        months = days.astype("datetime64[M]").astype(np.int64)
        begun = months // MONTHS[freq] * MONTHS[freq]
        return begun.astype("datetime64[M]").astype("datetime64[D]")
    since = days.astype("datetime64[D]").astype(np.int64)
    week = (since + 3) // 7 * 7 - 3  # day 0, 1970-01-01, was a Thursday
    return (week if freq == "week" else since).astype("datetime64[D]")


def _called(day: Any, freq: str) -> str:
    """A period in words: "2001-02", "2001 Q1", "2001", "2000s"; days and weeks by their first."""
    year, month = str(day)[:-6], int(str(day)[-5:-3])
    words = {
        "month": str(day)[:-3], "quarter": f"{year} Q{(month + 2) // 3}", "year": year,
        "decade": f"{year}s",
    }  # fmt: skip
    return words.get(freq, str(day))
