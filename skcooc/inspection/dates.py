"""Values that are dates: those of Python, NumPy and pandas, periods, and ISO 8601 strings."""

from __future__ import annotations

import contextlib
import datetime
import re
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na

from skcooc.protocol import Array

SHORT = re.compile(r"\d{4}(-\d{2})?")  # a year, or a month of one
CURE = "Dates are made of strings by pandas.to_datetime(...) or datetime.strptime(...)."


def missing(values: Array) -> Array:
    """Which are None, NaN, NaT or NA."""
    if values.dtype.kind == "O":
        return np.array([v is None or is_pandas_na(v) or v != v for v in values], dtype=bool)
    return values != values


def days_of(values: Array) -> Array | None:
    """The days of dates, or the first days of periods; None where not all are one.

    >>> days_of(np.array([datetime.date(2001, 2, 3)]))
    array(['2001-02-03'], dtype='datetime64[D]')
    """
    if values.dtype.kind == "M":
        return values.astype("datetime64[D]")
    listed = [_day(value) for value in values.tolist()] if values.dtype.kind == "O" else [None]
    return None if None in listed else np.array(listed, dtype="datetime64[D]")


def written_days(values: Array) -> Array | None:
    """The days that all strings are in ISO 8601; of months and years, the first.

    Others than strings are as they are in a table, and not missing. None where one is no date.

    >>> written_days(np.array(["2001-02-03", "2001-02-03T04:05Z", "2001-02", "2001"])).tolist()[2:]
    [datetime.date(2001, 2, 1), datetime.date(2001, 1, 1)]
    """
    known, numbers = np.unique(values.astype(str), return_inverse=True)
    listed = [_read(text.strip()) for text in known.tolist()]
    return None if None in listed else np.array(listed, dtype="datetime64[D]")[numbers]


def _day(value: Any) -> Any:
    """The day of a date, of a moment or of the beginning of a pandas Period."""
    value = getattr(value, "start_time", value)
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    return value.astype("datetime64[D]") if isinstance(value, np.datetime64) else None


def _read(text: str) -> str | None:
    if SHORT.fullmatch(text):
        text = f"{text}-01-01"[:10]
    with contextlib.suppress(ValueError):
        return datetime.datetime.fromisoformat(text).isoformat()[:10]
    return None
