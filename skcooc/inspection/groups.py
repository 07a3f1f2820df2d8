"""Rows in groups: by a label of each, or by the time that it is of."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from skcooc.inspection.dates import CURE, days_of, missing, written_days
from skcooc.protocol import Array, refuse_anndata

MOST_PERIODS = 24  # of which freq="auto" takes the shortest
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
FREQUENCIES = ("day", "week", *MONTHS)
WIDE = 3.0  # steps between groups, in units of the (lower) median, that no line goes over
A_PERIOD = np.timedelta64(7, "D")  # or longer: here no line goes over one that is left out


class Column(NamedTuple):
    """What rows are divided by."""

    values: Array  # (N,)
    name: str | None = None
    order: Sequence[object] | None = None  # of the values of a categorical column
    parameter: str = "by"  # as errors call it


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
    size. Dates are put into periods, and with a ``freq`` strings are dates in ISO 8601. ValueError
    where they are not as many as rows, where there is a ``freq`` and no dates, or where no group is
    left or a number is infinite.
    """
    column = read(by)
    return grouped(column if freq == "auto" else dated(column), weights, freq)


def grouped(column: Column, weights: Array, freq: str = "auto") -> Division:
    """Rows in groups by what has been read; see `divide`."""
    if column.values.shape != weights.shape:
        raise ValueError(
            f"{column.parameter} has shape {column.values.shape}, "
            f"but there are {len(weights)} rows."
        )
    known = np.flatnonzero(~missing(column.values) & (weights > 0))
    if not len(known):
        raise ValueError(f"{column.parameter} has no label for any row that has observations.")
    values = _plain(column.values[known])
    if values.dtype.kind == "M":
        return _periods(values, known, freq, column.name)
    if freq != "auto":
        first = values.tolist()[0]
        raise ValueError(f"freq={freq!r} needs dates; by has values such as {first!r}. {CURE}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(
            f"{column.parameter} has infinite numbers: rows of which nothing is known have NaN."
        )
    groups, numbers = _distinct(values, column.order)
    members = [known[numbers == g] for g in range(len(groups))]
    return Division(members, groups, [_written(group) for group in groups], column.name)


def dated(column: Column) -> Column:
    """The same with dates in the place of strings, where all of them are ISO 8601."""
    known = ~missing(column.values)
    texts = column.values[known]
    if not all(isinstance(text, str) for text in texts.tolist()):
        return column
    if (found := written_days(texts)) is None:
        return column
    days = np.full(column.values.shape, "NaT", dtype="datetime64[D]")
    days[known] = found
    return column._replace(values=days, order=None)


def read(by: Any, parameter: str = "by") -> Column:
    """The values of an array, of a series, or of the one column of a dict or a data frame."""
    import narwhals.stable.v2 as narwhals  # scikit-learn needs it too; only tables do here

    refuse_anndata(by, parameter, "labels: give a column of it, such as adata.obs['type'].")
    name = None
    if isinstance(by, Mapping):
        _check_one(list(by), parameter)
        ((name, by),) = by.items()
    given = narwhals.from_native(by, allow_series=True, pass_through=True)
    if isinstance(given, narwhals.DataFrame):
        _check_one(given.columns, parameter)
        given = given[given.columns[0]]
    if not isinstance(given, narwhals.Series):
        values = given if isinstance(given, np.ndarray) else np.array(list(given), dtype=object)
        return Column(values, None if name is None else str(name), parameter=parameter)
    categorical = given.dtype in (narwhals.Categorical, narwhals.Enum)
    order = given.cat.get_categories().to_list() if categorical else None
    name = name or given.name or None
    return Column(given.to_numpy(), None if name is None else str(name), order, parameter)


def _check_one(columns: Sequence[object], parameter: str) -> None:
    if len(columns) != 1:
        raise ValueError(
            f"{parameter} has {len(columns)} columns, {list(columns)}: give one of them."
        )


def _plain(values: Array) -> Array:
    """Numbers, dates or text; what is mixed becomes text."""
    if values.dtype.kind in "iuf":
        return values
    if (days := days_of(values)) is not None:
        return days
    listed = values.tolist()
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

    Days that all begin a month are months, and those that all begin a year are years.

    >>> shortest(np.arange("2001-01", "2003-01", dtype="datetime64[M]").astype("datetime64[D]"))
    'month'
    >>> shortest(np.arange("2001-01-01", "2003-01-01", dtype="datetime64[D]"))
    'month'
    """
    alike = [f for f in ("year", "month") if (begins(days, f) == days).all()]
    longer = FREQUENCIES[FREQUENCIES.index(alike[0]) if alike else 0 :]
    few = (f for f in longer if len(np.unique(begins(days, f))) <= MOST_PERIODS)
    return next(few, FREQUENCIES[-1])


def runs(places: Array) -> list[slice]:
    """Increasing places without gaps: steps above three times the median are one.

    Of weeks, months and years one that is left out is a gap; of days, weekends are none.

    >>> runs(np.array([1990, 1998, 1999, 2000]))
    [slice(0, 1, None), slice(1, 4, None)]
    """
    steps = np.diff(places)
    usual = np.sort(steps)[(len(steps) - 1) // 2] if len(steps) else steps.sum()
    wide = WIDE / 2 if places.dtype.kind == "M" and usual >= A_PERIOD else WIDE
    ends = [0, *(1 + np.flatnonzero(steps > wide * usual)).tolist(), len(places)]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


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
