"""Rows in groups: by a label, a number, or the period of a date."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from skcooc.inspection.times import PRECISIONS, are_dates, days_of, read_times
from skcooc.protocol import Array, refuse_objects, warn
from skcooc.protocol.scikit_learn import is_missing

MOST_PERIODS = 12  # that are shown: of more, longer ones are chosen
FEWEST_PERIODS, MANY_ROWS = 4, 100  # longer periods of as many rows are chosen if so many are left
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
FREQUENCIES = ("day", "week", *MONTHS)
WIDE = 3.0  # steps between groups, in units of the (lower) median, above which a line is broken
A_PERIOD = np.timedelta64(7, "D")  # or longer: a line is broken at each period that is left out
FEW_GROUPS = 5  # of which each may have one row
LARGEST_WHOLE = 1e15  # that is written with all its digits


class Labels(NamedTuple):
    """Labels, numbers or dates of N rows."""

    values: Array  # (N,)
    name: str | None = None
    order: Sequence[object] | None = None  # of the categories of a categorical column
    parameter: str = "by"  # for error messages

    def as_times(self, *, only_dates: bool = False) -> Labels:
        """The same column, read as dates or, unless these are needed, numbers."""
        times = read_times(self.values, self.parameter, only_dates=only_dates)
        return self._replace(values=times, order=None)


class RowGroups(NamedTuple):
    """Rows in G groups."""

    members: list[Array]  # positions of the rows of each group
    groups: Array  # (G,): labels, numbers, or the days on which periods begin
    labels: list[str]  # the same as strings
    name: str | None = None

    @property
    def values(self) -> Array:
        """The groups, (G,); of intervals the labels, as their middles may be no values."""
        is_number = self.groups.dtype.kind == "f"
        if is_number and number_labels(self.groups) != self.labels:
            return np.array(self.labels, dtype=object)
        return self.groups

    @property
    def ordered(self) -> bool:
        return bool(np.issubdtype(self.groups.dtype, np.number)) or self.groups.dtype.kind == "M"


def divide(by: Any, weights: Array, freq: str = "auto") -> RowGroups:
    """Group the rows of positive weight that have a label, or a label in both of two columns.

    Labels are sorted in alphabetical order or, for a categorical column, in its own; numbers and
    dates by size. Dates, and strings that are dates, are put into periods; with a ``freq`` numbers
    are dates, too.

    >>> divide({"arm": ["b", "a", "b"], "year": [2019, 2019, 2018]}, np.ones(3)).labels
    ['a, 2019', 'b, 2018', 'b, 2019']
    """
    if not len(weights):
        raise ValueError(
            "The training rows were not kept, because the model was fitted to blocks: give "
            "Mixtures(model.transform(X), n_tokens) instead of the model."
        )
    if (factors := columns_by_name(by)) is None:
        columns = [read_labels(by)]
    elif len(factors) in (1, 2):
        columns = [read_labels({name: column}) for name, column in factors.items()]
    else:
        raise ValueError(f"by has {len(factors)} columns, {[*factors]}: give one or two of them.")
    has_dates = [column.order is None and are_dates(column.values) for column in columns]
    divisions = []
    for column, is_date in zip(columns, has_dates, strict=True):
        # freq applies to a column of dates, if there is one
        period = freq if is_date or not any(has_dates) else "auto"
        if period != "auto":
            column = column.as_times(only_dates=True)
        elif is_date:
            try:
                column = column.as_times()
            except ValueError as error:
                raise ValueError(
                    f"{error} If these are labels and not dates, give a pandas.Categorical."
                ) from error
        divisions.append(group_rows(column, weights, period))
    if len(divisions) == 1:
        warn_of_many(divisions[0], columns[0].parameter)
        return divisions[0]
    first, second = divisions
    members = []
    names = []
    for a, rows_a in zip(first.labels, first.members, strict=True):
        for b, rows_b in zip(second.labels, second.members, strict=True):
            rows = np.intersect1d(rows_a, rows_b, assume_unique=True)
            if len(rows):
                members.append(rows)
                names.append(f"{a}, {b}")
    if not names:
        raise ValueError("by has no row with a label in both columns.")
    division = RowGroups(members, np.array(names), names, f"{first.name}, {second.name}")
    warn_of_many(division, "by")
    return division


def divide_by_label(labels: Any, weights: Array, parameter: str = "groups") -> RowGroups:
    """Group the rows of positive weight by one column of labels, also where these are dates."""
    division = group_rows(read_labels(labels, parameter), weights)
    warn_of_many(division, parameter)
    return division


def divide_by_time(times: Any, weights: Array, parameter: str = "times") -> RowGroups:
    """Group the rows of positive weight by at most MOST_PERIODS times, in order.

    Times are the periods of dates, numbers, or equal intervals of many numbers, whose groups are
    named by their middles. Rows without a time are left out, and so are periods and intervals
    without rows.
    """
    division = group_rows(read_labels(times, parameter).as_times(), weights)
    if division.groups.dtype.kind == "M" or len(division.groups) <= MOST_PERIODS:
        return division
    return _into_intervals(division)


def _into_intervals(division: RowGroups) -> RowGroups:
    """Groups by number merged into intervals: the shortest that leave at most MOST_PERIODS groups.

    Their width is 1, 2 or 5 times a power of ten. Intervals of whole numbers are named by the first
    and the last, others by their ends.
    """
    numbers = division.groups
    is_whole = bool((numbers == np.floor(numbers)).all())
    power = np.floor(np.log10(np.diff(numbers).min()))
    widths = (
        digit * 10.0**e
        for e in itertools.count(max(power, 0) if is_whole else power)
        for digit in (1, 2, 5)
    )
    for width in widths:
        intervals, places = np.unique(np.floor(numbers / width + 1e-9), return_inverse=True)
        if len(intervals) <= MOST_PERIODS:
            break
    members = [
        np.concatenate([division.members[g] for g in np.flatnonzero(places == t)])
        for t in range(len(intervals))
    ]
    first = intervals * width
    last = (intervals + 1) * width - is_whole
    ends = np.unique([first, last])
    names = dict(zip(ends.tolist(), number_labels(ends), strict=True))
    labels = [
        f"{names[a]} – {names[b]}" for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    return RowGroups(members, (first + last) / 2, labels, division.name)


def group_rows(column: Labels, weights: Array, freq: str = "auto") -> RowGroups:
    if column.values.shape != weights.shape:
        raise ValueError(
            f"{column.parameter} has shape {column.values.shape}, "
            f"but there are {len(weights)} rows."
        )
    rows = np.flatnonzero(~is_missing(column.values) & (weights > 0))
    if not len(rows):
        raise ValueError(f"{column.parameter} has no label for any row with counts.")
    values = plain_values(column.values[rows])
    if values.dtype.kind == "M":
        if freq not in ("auto", *FREQUENCIES):
            raise ValueError(f"freq={freq!r} should be 'auto' or one of {', '.join(FREQUENCIES)}.")
        freq = shortest_period(values) if freq == "auto" else freq
        if FREQUENCIES.index(freq) < FREQUENCIES.index(precision := precision_of(values)):
            raise ValueError(
                f"freq={freq!r} is shorter than the {precision}s that {column.parameter} has: "
                f"give freq={precision!r} or a longer one."
            )
        groups, numbers = np.unique(period_starts(values, freq), return_inverse=True)
        names = [_period_label(day, freq) for day in groups]
    else:
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(
                f"{column.parameter} has infinite numbers: give NaN for rows without a label."
            )
        if values.dtype.kind == "f" and _are_whole(values).all():
            values = values.astype(np.int64)  # as years, of which some are missing
        order = column.order
        if order is None and values.dtype.kind == "U":
            with contextlib.suppress(ValueError):  # strings that are all numbers
                order = [*sorted(np.unique(values).tolist(), key=float)]
        groups, numbers = number_levels(values, order)
        is_float = groups.dtype.kind == "f"
        names = number_labels(groups) if is_float else list(map(str, groups))
    members = [rows[numbers == g] for g in range(len(groups))]
    return RowGroups(members, groups, names, column.name)


def _are_whole(numbers: Array) -> Array:
    return (numbers == np.round(numbers)) & (np.abs(numbers) < LARGEST_WHOLE)


def warn_of_many(division: RowGroups, parameter: str) -> None:
    """Warn of more groups than half of the rows, unless they are periods."""
    n = len(division.groups)
    n_rows = sum(map(len, division.members))
    if n > max(FEW_GROUPS, n_rows / 2) and division.groups.dtype.kind != "M":
        warn(
            f"{parameter}: {n_rows} rows are in {n} groups, such as {division.labels[0]!r}, so "
            "many groups have a single row. Give labels that several rows share. Divide numbers "
            "into intervals, such as with pandas.cut(..., 10)."
        )


def number_labels(numbers: Array) -> list[str]:
    """Different numbers as strings: whole ones exactly, others with the digits they differ in.

    >>> number_labels(np.array([0.1 + 0.2, 2001])), number_labels(np.array([20240531.0, 20240601]))
    (['0.3', '2001'], ['20240531', '20240601'])
    """
    forms = [".0f" if is_whole else "" for is_whole in _are_whole(numbers)]
    labels = (
        [format(x, form or f".{digits}g") for x, form in zip(numbers, forms, strict=True)]
        for digits in range(6, 18)
    )
    return next(names for names in labels if len(set(names)) == len(numbers))


def columns_by_name(table: Any) -> dict[Any, Any] | None:
    """The columns of a dict or a data frame by their names; None for anything else."""
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    native = narwhals.from_native(table, pass_through=True)
    if isinstance(native, narwhals.DataFrame):
        return {name: native.get_column(name).to_native() for name in native.columns}
    return dict(native) if isinstance(native, Mapping) else None


def read_labels(by: Any, parameter: str = "by") -> Labels:
    """Values of an array, a series, or the single column of a dict or a data frame."""
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    refuse_objects(by, parameter, "labels", of_anndata="a column of it, such as adata.obs['type']")
    if by is None:
        raise TypeError(f"{parameter} is None; give a label of each row.")
    if isinstance(by, str):
        raise TypeError(f"{parameter} is a string; give the labels, such as adata.obs[{by!r}].")
    name = None
    columns = columns_by_name(by)
    if columns is not None:
        if len(columns) != 1:
            raise ValueError(
                f"{parameter} has {len(columns)} columns, {list(columns)}: give one of them."
            )
        ((name, by),) = columns.items()
    column = narwhals.from_native(by, allow_series=True, pass_through=True)
    if isinstance(column, narwhals.Series):
        categorical = column.dtype in (narwhals.Categorical, narwhals.Enum)
        order = column.cat.get_categories().to_list() if categorical else None
        name = name or column.name or None
        if column.dtype == narwhals.Datetime:  # else days are those of UTC
            column = column.dt.replace_time_zone(None)
        values = column.to_numpy()
    else:
        if getattr(column, "ndim", 1) != 1:
            raise ValueError(f"{parameter} has shape {column.shape}: give a label for each row.")
        is_array = hasattr(column, "__array__")
        values = np.asarray(column) if is_array else np.array(list(column), dtype=object)
        order = getattr(column, "categories", None)  # of a pandas Categorical
    kinds = list | set | dict | np.ndarray
    if values.dtype == object and (lists := [v for v in values if isinstance(v, kinds)]):
        raise TypeError(
            f"{parameter} has several labels for a row, such as {lists[0]!r}: give one for each, "
            "such as the first, column.str[0]."
        )
    if values.dtype.kind == "m":
        raise ValueError(f"{parameter} has durations: give numbers, as of Series.dt.days.")
    return Labels(values, None if name is None else str(name), order, parameter)


def plain_values(values: Array) -> Array:
    """Values as numbers, dates or strings; mixed values become strings."""
    if values.dtype.kind in "iuf":
        return values
    if (days := days_of(values)) is not None:
        return days
    listed = [float(v) if isinstance(v, Decimal) else v for v in values.tolist()]
    if all(isinstance(v, Real) and not isinstance(v, bool) for v in listed):
        return np.array(listed)
    return np.array([str(v) for v in listed])


def number_levels(values: Array, order: Sequence[object] | None) -> tuple[Array, Array]:
    """The groups, and the number of the group of each row."""
    groups, numbers = np.unique(values, return_inverse=True)
    if order is None:
        return groups, numbers
    # Integers are floats where some are missing, and mixed categories are strings.
    places = {key: place for place, value in enumerate(order) for key in (value, str(value))}
    group_places = [places[group] for group in groups.tolist()]
    ranks = np.argsort(np.argsort(group_places))
    return np.array([str(order[place]) for place in sorted(group_places)]), ranks[numbers]


def precision_of(days: Array) -> str:
    """The period that a value of datetime64 stands for: a day, month, quarter or year."""
    unit, n = np.datetime_data(days.dtype)
    return PRECISIONS.get(unit if n == 1 else f"{n}{unit}", "day")


def shortest_period(days: Array) -> str:
    """The shortest period with at most MOST_PERIODS values, and a median of MANY_ROWS or more rows.

    If there is none, the longest that leaves FEWEST_PERIODS. Days that all begin a month are
    months, and those that all begin a year are years.

    >>> months = np.arange("2001-01", "2002-01", dtype="M8[M]").astype("M8[D]")
    >>> shortest_period(months.repeat(100)), shortest_period(months.repeat(99))
    ('month', 'quarter')
    """
    precision = precision_of(days)
    if precision == "day":
        alike = (f for f in ("year", "month") if (period_starts(days, f) == days).all())
        precision = next(alike, "day")
    fitting = list[str]()
    for freq in FREQUENCIES[FREQUENCIES.index(precision) :]:
        _, sizes = np.unique(period_starts(days, freq), return_counts=True)
        if len(sizes) > MOST_PERIODS:
            continue
        if fitting and len(sizes) < FEWEST_PERIODS:
            break
        fitting.append(freq)
        if np.median(sizes) >= MANY_ROWS:
            break
    return fitting[-1] if fitting else FREQUENCIES[-1]


def period_starts(days: Array, freq: str) -> Array:
    """The first day of the period of each day; weeks begin on Monday."""
    if freq in MONTHS:
        months = days.astype("datetime64[M]").astype(np.int64)
        months = months // MONTHS[freq] * MONTHS[freq]
        return months.astype("datetime64[M]").astype("datetime64[D]")
    if freq == "week":
        numbers = days.astype("datetime64[D]").astype(np.int64)
        numbers = (numbers + 3) // 7 * 7 - 3  # day 0, 1970-01-01, was a Thursday
        return numbers.astype("datetime64[D]")
    return days.astype("datetime64[D]")


def _period_label(day: Any, freq: str) -> str:
    """The label of a period: "2001-02", "2001 Q1", "2001", "2000s"; or its first day."""
    text = str(day)
    year, month, _ = text.rsplit("-", 2)
    quarter = f"{year} Q{(int(month) + 2) // 3}"
    words = {"month": text[:-3], "quarter": quarter, "year": year, "decade": f"{year}s"}
    return words.get(freq, text)


def runs(places: Array) -> list[slice]:
    """Slices of increasing places without gaps: steps above three times the median.

    A single missing week, month or year is a gap; a weekend is none between days.

    >>> runs(np.array([1990, 1998, 1999, 2000]))
    [slice(0, 1, None), slice(1, 4, None)]
    """
    steps = np.diff(places)
    usual = np.sort(steps)[(len(steps) - 1) // 2] if len(steps) else steps.sum()
    wide = WIDE / 2 if places.dtype.kind == "M" and usual >= A_PERIOD else WIDE
    ends = [0, *(1 + np.flatnonzero(steps > wide * usual)).tolist(), len(places)]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]
