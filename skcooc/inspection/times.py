"""Times of rows: dates in one format for a whole column, or numbers."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skcooc.protocol import Array
from skcooc.protocol.scikit_learn import is_missing

EMPTY = {"", "nan", "nat", "none", "null", "na", "n/a"}  # texts in lower case
PRECISIONS = {"D": "day", "M": "month", "3M": "quarter", "Y": "year"}  # units of datetime64
YEARS = 1000, 2999  # of numbers that are dates
UNIX = {"seconds": 1.0, "milliseconds": 1e3}
UNIX_SECONDS = 1e8, 5e9  # from 1973 to 2128
LARGEST = 5e12  # of these milliseconds: larger numbers may be dates in other units

CLOCK = re.compile(  # T10:00:00.5+02:00, 10:00 AM, 10:00:00 +0000 (UTC)
    r"(?:T|,? +)\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M)?"
    r"(?: ?(?:Z|[A-Z]{3,4}|[+-]\d\d(?::?\d\d)?))?(?: \(.*\))?",
    re.IGNORECASE,
)
WEEKDAY = re.compile(r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +", re.IGNORECASE)
QUARTER = re.compile(r"(?:(\d{4})[-/ ]*)?Q([1-4])(?:[-/ ]*(\d{4}))?", re.IGNORECASE)

# Of strptime, after _plain_date. The dates of a column are in formats of one line.
DAY_FIRST = ("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y")
MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y")
FORMATS = (
    ("%Y-%m-%d", "%Y/%m/%d", "%Y-%m", "%Y"),
    DAY_FIRST,
    MONTH_FIRST,
    ("%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%B %d %Y", "%b %d %Y", "%B %Y", "%b %Y"),
    ("%m/%Y",),
    ("%YQ%m",),
)
DIGITS = {6: "%Y%m", 8: "%Y%m%d"}  # formats of whole numbers, by their length

Date = tuple[datetime.date, str]  # the first day, and the unit of datetime64


@dataclass(frozen=True, eq=False)
class Texts:
    """The values of a column that are not empty, as texts."""

    values: list[str]  # (n,)
    rows: Array  # (n,): positions
    parameter: str
    place: Callable[[int], str]  # names a row, by its position

    def refuse_others(self, mask: Array, kind: str) -> None:
        """Raise ValueError that names the first text that is not selected, if there is one."""
        others = np.flatnonzero(~mask)
        if not len(others):
            return
        example = f" like {self.values[np.argmax(mask)]!r}" if mask.any() else ""
        first = others[0]
        raise ValueError(
            f"{self.parameter}: {self.values[first]!r} ({self.place(int(self.rows[first]))}) is "
            f"not a {kind}{example}; {len(others)} of {len(mask)} values are not. Write dates as "
            '2024-05-31, and leave missing ones empty (None, NaN or "").'
        )


def read_times(
    values: Array,
    parameter: str,
    *,
    only_dates: bool = False,
    place: Callable[[int], str] = "row {}".format,
) -> Array:
    """Read times as dates (datetime64 of days, months, quarters or years) or as numbers.

    The format that reads most of the values decides for all of them. Dates are read in ISO 8601, as
    in mails, with English names of months, as 31.5.2024, 05/31/2024, Q2 2024 and 20240531, and as
    Unix time in seconds or milliseconds, from 1973 to 2128, whose days are those of UTC. Other days
    are those of the place where the date was written. Of several precisions, the coarsest holds for
    all.

    Parameters
    ----------
    values : ndarray of shape (N,)
        Numbers, texts, dates, or periods of pandas; None, NaN, NaT or "" where a time is missing.
    parameter : str
        What the values are called in errors.
    only_dates : bool, default=False
        Read numbers of four digits as years, and refuse other numbers.
    place : callable, default="row {}".format
        Names a row in errors, by its position.

    Returns
    -------
    times : ndarray of shape (N,)
        NaN or NaT where a time is missing.

    Raises
    ------
    ValueError
        If a value is no time, or if no value tells which number is the day.

    Examples
    --------
    >>> read_times(np.array(["05/31/2024", "", "6/1/2024"]), "by").astype(str).tolist()
    ['2024-05-31', 'NaT', '2024-06-01']
    >>> read_times(np.array(["May 2024", "Jun 2024"]), "by").astype(str).tolist()
    ['2024-05', '2024-06']
    >>> read_times(np.array([1717113600, 1717200000]), "by").astype(str).tolist()
    ['2024-05-31', '2024-06-01']
    """
    rows = np.flatnonzero(~is_missing(values))
    times = days_of(values[rows])
    if times is None:
        texts = _read_texts(values, rows, parameter, place)
        rows = texts.rows
        times = _parse(texts, only_dates)
    missing = "NaT" if times.dtype.kind == "M" else np.nan
    filled = np.full(len(values), missing, dtype=times.dtype)
    filled[rows] = times
    return filled


def are_dates(values: Array) -> bool:
    """Whether values are dates, or are texts of which, numbers aside, more than half are."""
    rows = np.flatnonzero(~is_missing(values))
    if days_of(values[rows]) is not None:
        return True
    if not all(isinstance(value, str) for value in values[rows].tolist()):
        return False
    texts = [
        text for text in _read_texts(values, rows, "", str).values if np.isnan(_as_number(text))
    ]
    n_dates = max(_is_date(dates).sum() for dates in _readings(texts).values())
    return bool(2 * n_dates > len(texts))


def days_of(values: Array) -> Array | None:
    """The days of dates, or longer units of datetime64 and of periods; None if not all are one."""
    if values.dtype.kind == "M":
        unit, n = np.datetime_data(values.dtype)
        is_unit = (unit if n == 1 else f"{n}{unit}") in PRECISIONS
        return values if is_unit else values.astype("datetime64[D]")
    if values.dtype.kind != "O" or not len(values):
        return None
    dates = list[Date]()
    for value in values.tolist():
        if hasattr(value, "start_time"):  # of a pandas Period
            letter = value.freqstr[0]
            unit = {"A": "Y", "Q": "3M"}.get(letter, letter)
            dates.append((value.start_time.date(), unit if unit in PRECISIONS else "D"))
        elif isinstance(value, np.datetime64):
            dates.append((value.astype("datetime64[D]").item(), "D"))
        elif isinstance(value, datetime.date):
            dates.append((datetime.date(value.year, value.month, value.day), "D"))
        else:
            return None
    return _as_array(dates)


def _read_texts(values: Array, rows: Array, parameter: str, place: Callable[[int], str]) -> Texts:
    """The texts of the rows that are not empty; those of numbers in all their digits."""
    is_number = values.dtype.kind in "iuf"
    texts = [
        format(value, ".17g") if is_number else str(value).strip()
        for value in values[rows].tolist()
    ]
    selected = [i for i, text in enumerate(texts) if text.lower() not in EMPTY]
    return Texts([texts[i] for i in selected], rows[selected], parameter, place)


def _parse(texts: Texts, only_dates: bool) -> Array:
    numbers = np.array([_as_number(text) for text in texts.values], dtype=np.float64)
    is_number = ~np.isnan(numbers)
    if is_number.all():
        return _parse_numbers(texts, numbers, only_dates)
    readings = _readings(texts.values)
    best = max(readings, key=lambda formats: _is_date(readings[formats]).sum())
    dates = readings[best]
    is_date = _is_date(dates)
    if is_date.sum() < is_number.sum():
        texts.refuse_others(is_number, "number")
    texts.refuse_others(is_date, "date" if is_date.any() else "date or number")
    if best == DAY_FIRST and all(readings[MONTH_FIRST]):
        for text, date, other in zip(texts.values, dates, readings[MONTH_FIRST], strict=True):
            if date and other and date != other:
                raise ValueError(
                    f"{texts.parameter}: {text!r} may be {date[0]} or {other[0]}, and no value "
                    "shows which number is the day: write dates as 2024-05-31, such as with "
                    f"pandas.to_datetime(..., format={DAY_FIRST[0]!r}), or {MONTH_FIRST[0]!r}."
                )
    return _as_array(dates)


def _parse_numbers(texts: Texts, numbers: Array, only_dates: bool) -> Array:
    """Dates of numbers that are digits of dates or Unix times; else the numbers."""
    texts.refuse_others(np.abs(numbers) < LARGEST, f"number below {LARGEST:g}")
    formats = {4: "%Y", **DIGITS} if only_dates else DIGITS
    dates = [_digits_as_date(number, formats) for number in numbers.tolist()]
    is_date = _is_date(dates)
    if 2 * is_date.sum() > len(dates):
        texts.refuse_others(is_date, "date")
        return _as_array(dates)
    for unit, scale in UNIX.items():
        seconds = numbers / scale
        is_unix = (seconds >= UNIX_SECONDS[0]) & (seconds < UNIX_SECONDS[1])
        if 2 * is_unix.sum() > len(numbers):
            texts.refuse_others(is_unix, f"Unix time in {unit}")
            return seconds.astype("datetime64[s]").astype("datetime64[D]")
    if only_dates:
        texts.refuse_others(is_date, "date")
    return numbers


def _readings(texts: Sequence[str]) -> dict[tuple[str, ...], list[Date | None]]:
    """The date of each text in each line of formats; None for those it does not read."""
    plain = [_plain_date(text) for text in texts]
    distinct = set(plain)
    readings = dict[tuple[str, ...], list[Date | None]]()
    for formats in FORMATS:
        dates = dict[str, Date]()
        for form in formats:  # strptime remembers few formats
            for text in distinct - dates.keys():
                with contextlib.suppress(ValueError):
                    dates[text] = _strptime(text, form)
        readings[formats] = [dates.get(text) for text in plain]
    return readings


def _plain_date(text: str) -> str:
    """A date without weekday, time and commas; a quarter as the first month, such as 2024Q04."""
    if match := QUARTER.fullmatch(text):
        return f"{match[1] or match[3]}Q{3 * int(match[2]) - 2:02}"
    return WEEKDAY.sub("", CLOCK.sub("", text)).replace(",", "")


def _strptime(text: str, form: str) -> Date:
    if "%d" in form:
        unit = "D"
    elif "Q" in form:
        unit = "3M"
    else:
        unit = "Y" if form == "%Y" else "M"
    return datetime.datetime.strptime(text, form).date(), unit


def _digits_as_date(number: float, formats: Mapping[int, str]) -> Date | None:
    text = f"{number:.0f}"
    if float(text) != number or not YEARS[0] <= int(text[:4]) <= YEARS[1]:
        return None
    with contextlib.suppress(KeyError, ValueError):
        return _strptime(text, formats[len(text)])
    return None


def _is_date(dates: Sequence[Date | None]) -> Array:
    return np.array([date is not None for date in dates], dtype=bool)


def _as_number(text: str) -> float:
    """The number, NaN if the text is none."""
    try:
        return np.nan if "_" in text else float(text)  # 1_2 is no 12
    except ValueError:
        return np.nan


def _as_array(dates: Sequence[Date | None]) -> Array:
    """Dates as datetime64, in the coarsest of their units."""
    units = {unit for _, unit in filter(None, dates)}
    unit = next((unit for unit in reversed(PRECISIONS) if unit in units), "D")
    days = np.array([day for day, _ in filter(None, dates)], dtype="datetime64[D]")
    return days if unit == "D" else days.astype("datetime64[M]").astype(f"datetime64[{unit}]")
