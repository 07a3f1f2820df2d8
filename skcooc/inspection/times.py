"""Times of rows: one format for a whole column, of texts or of numbers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skcooc.protocol import Array
from skcooc.protocol.scikit_learn import is_missing

EMPTY = {"", "nan", "nat", "none", "null", "na", "n/a"}  # texts in lower case
LARGEST = 2.0**53  # larger numbers are not one apart
MOST_PERIODS = 12  # that are shown: of more, longer ones are chosen
PRECISIONS = {"D": "day", "M": "month", "3M": "quarter", "Y": "year"}  # units of datetime64
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
UNIX = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
UNIX_SECONDS = 1e8, 5e9  # from 1973 to 2128
EXCEL = 25569, 60000  # days since 1899-12-30: from 1970 to 2064
YEARS = 1000, 2999
FOUR_DIGITS = re.compile(r"\d{4}")
N_SAMPLE = 1000  # texts in which formats are looked for

CLOCK = (  # after a date: 10:00, T10:00:00.5+02:00, 10 AM, 10:00:00 +0000 (UTC)
    r"(?:(?:T|,? +)(?:[01]?\d|2[0-3])(?::?[0-5]\d){0,2}(?:[.,]\d+)?(?: ?[AP]M)?"
    r"(?: ?(?:Z|[A-Z]{3,4}|[+-]\d\d(?::?\d\d)?))?(?: \(.*\))?)?"
)
DAY = r"(?P<day>\d\d?)"
MONTH = r"(?P<month>\d\d?)"
YEAR = r"(?P<year>\d{4})"
NAME = (
    r"(?P<name>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,? +)?"
SHORT_YEAR = r"(?P<year>\d{4}|\d\d)"
SEPARATOR = r"(?P<separator>[-/.]) ?"

Date = tuple[datetime.date, str]  # the first day, and the precision


def _patterns(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


COMPACT = r"(?P<year>1[5-9]\d\d|2[01]\d\d)(?P<month>\d\d)"  # other numbers are no dates
DIGITS = _patterns(rf"{COMPACT}(?P<day>\d\d)(?:\d{{6}}|{CLOCK})", COMPACT)
DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "%d/%m/%Y", "%m/%d/%Y", "%y/%m/%d"
FORMATS = {
    "%Y-%m-%d": _patterns(
        rf"{YEAR}(?P<separator>[-/.]){MONTH}(?P=separator){DAY}{CLOCK}",
        rf"{YEAR}-{MONTH}",
        YEAR,
        rf"{YEAR}-?W(?P<week>\d\d)(?:-?(?P<weekday>[1-7]))?{CLOCK}",
    ),
    "%d %B %Y": _patterns(
        rf"{WEEKDAY}{DAY}(?:st|[nr]d|th)?[-. ]+{NAME}[-, ]+{SHORT_YEAR}{CLOCK}",  # of mails, too
        rf"{WEEKDAY}{NAME} +{DAY}(?:st|[nr]d|th)?,? +{YEAR}{CLOCK}",
        rf"{WEEKDAY}{NAME} +{DAY} [\d:]+ (?:[+-]\d{{4}} |[A-Z]{{3,4}} )?{YEAR}",  # as in C
        rf"{NAME}[-, ]+{YEAR}",
        rf"{YEAR}[-, ]+{NAME}",
    ),
    "quarters": _patterns(rf"Q(?P<quarter>[1-4])[-/ ]*{YEAR}", rf"{YEAR}[-/ ]*Q(?P<quarter>[1-4])"),
    "%Y%m%d": DIGITS,
    DAY_FIRST: _patterns(
        rf"{DAY}{SEPARATOR}{MONTH}(?P=separator) ?{SHORT_YEAR}{CLOCK}", rf"{MONTH}[-/.]{YEAR}"
    ),
    MONTH_FIRST: _patterns(
        rf"{MONTH}{SEPARATOR}{DAY}(?P=separator) ?{SHORT_YEAR}{CLOCK}", rf"{MONTH}[-/.]{YEAR}"
    ),
    YEAR_FIRST: _patterns(rf"(?P<year>\d\d){SEPARATOR}{MONTH}(?P=separator) ?{DAY}{CLOCK}"),
}
DECIMALS = _patterns(rf"{MONTH}\.(?P<year>(?:19|20)\d\d)")  # months, such as 5.2024


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct texts of a column, and the rows where they are."""

    rows: Array  # (n,): positions of the rows that are not empty
    texts: list[str]  # (m,)
    numbers: Array  # (n,): of the text of each of these rows
    parameter: str
    place: Callable[[int], str]  # names a row, by its position

    def n_rows(self, mask: Array) -> int:
        """Number of rows whose text is selected, by a mask of shape (m,)."""
        return int(mask[self.numbers].sum())

    def first_row(self, text: int) -> str:
        return self.place(int(self.rows[np.argmax(self.numbers == text)]))

    def refuse_others(self, mask: Array, kind: str) -> None:
        """Raise ValueError that names the first row whose text is not selected, if there is one."""
        others = self.numbers[~mask[self.numbers]]
        if not len(others):
            return
        example = f", as {self.texts[int(np.argmax(mask))]!r} is" if mask.any() else ""
        raise ValueError(
            f"{self.parameter}: {self.texts[others[0]]!r} ({self.first_row(others[0])}) is no "
            f"{kind}{example}; {len(others)} of {len(self.numbers)} values are none. Write dates "
            'as 2024-05-31, and leave missing ones empty (None, NaN or "").'
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
    Unix time, from 1973 to 2128, whose days are those of UTC. Other days are those of the place
    where the date was written. Of several precisions, the coarsest holds for all.

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
        If a value is no time, if day and month cannot be told apart, or if numbers number the rows
        or may be dates of a spreadsheet.

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
    if (days := days_of(values[rows])) is not None:
        return _fill(days, rows, len(values))
    cells = read_cells(values, parameter, place)
    floats = [_number(text) for text in cells.texts]
    are_numbers = np.array([number is not None for number in floats], dtype=bool)
    if are_numbers.all():
        times = _read_numbers(cells, np.array(floats, dtype=np.float64), only_dates)
        return _fill(times[cells.numbers], cells.rows, len(values))
    dates = _most_dates(cells)
    n_dates = cells.n_rows(_is_date(dates))
    if n_dates < cells.n_rows(are_numbers):
        cells.refuse_others(are_numbers, "number")
    cells.refuse_others(_is_date(dates), "date" if n_dates else "date or number")
    return _fill(_as_array(dates)[cells.numbers], cells.rows, len(values))


def are_dates(values: Array) -> bool:
    """Whether values are dates, or are texts of which more than half are, with four-digit years."""
    values = values[~is_missing(values)]
    if days_of(values) is not None:
        return True
    if not all(isinstance(value, str) for value in values.tolist()):
        return False
    cells = read_cells(values, "", str)
    if all(_number(text) is not None for text in cells.texts):
        return False
    has_date = [
        bool(FOUR_DIGITS.search(text)) and any(_read_date(text, form) for form in FORMATS.values())
        for text in cells.texts
    ]
    return 2 * cells.n_rows(np.array(has_date)) > len(cells.rows)


def days_of(values: Array) -> Array | None:
    """The days of dates, or longer units of datetime64 and of periods; None if not all are one."""
    if values.dtype.kind == "M":
        unit, n = np.datetime_data(values.dtype)
        is_unit = (unit if n == 1 else f"{n}{unit}") in PRECISIONS
        return values if is_unit else values.astype("datetime64[D]")
    if values.dtype.kind != "O" or not len(values):
        return None
    dates = list[Date | None]()
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


def read_cells(values: Array, parameter: str, place: Callable[[int], str]) -> Cells:
    if values.dtype.kind in "iuf":
        strings = [format(value, ".17g") for value in values.tolist()]
    else:
        strings = [str(value).strip() for value in values.tolist()]
    texts = np.array(strings, dtype=str)
    is_empty = np.array([text.lower() in EMPTY for text in strings], dtype=bool)
    rows = np.flatnonzero(~(is_empty | is_missing(values)))
    distinct, numbers = np.unique(texts[rows], return_inverse=True)
    return Cells(rows, distinct.tolist(), numbers, parameter, place)


def _most_dates(cells: Cells) -> list[Date | None]:
    """Dates of the texts, in the format that reads most rows; None for those it does not read.

    ValueError if several orders of day, month and year read all, and differ.
    """
    sample = cells.texts[:: 1 + len(cells.texts) // N_SAMPLE]
    readings = {
        order: [_read_date(text, form) for text in cells.texts]
        for order, form in FORMATS.items()
        if any(_read_date(text, form) for text in sample)
    }
    if not readings:
        return [None] * len(cells.texts)
    sizes = {order: cells.n_rows(_is_date(dates)) for order, dates in readings.items()}
    best = max(sizes, key=lambda order: sizes[order])
    dates = readings.pop(best)
    for order, others in readings.items():
        has_points = all("." in text[:3] for text in cells.texts)  # then the day comes first
        if sizes[order] < len(cells.rows) or (best == DAY_FIRST and has_points):
            continue
        for text, date, other in zip(cells.texts, dates, others, strict=True):
            if date and other and date != other:
                raise ValueError(
                    f"{cells.parameter}: {text!r} may be {date[0]} or {other[0]}, and no value "
                    "tells which number is the day: write dates as 2024-05-31, as by "
                    f"pandas.to_datetime(..., format={best!r}), or {order!r}."
                )
    return dates


def _read_date(text: str, form: Sequence[re.Pattern[str]]) -> Date | None:
    match = next(filter(None, (pattern.fullmatch(text) for pattern in form)), None)
    if match is None:
        return None
    part = match.groupdict()
    year = int(part["year"])
    if len(part["year"]) == 2:
        year += 2000 if year < 69 else 1900  # as in Python
    try:
        if part.get("week"):
            return datetime.date.fromisocalendar(
                year, int(part["week"]), int(part["weekday"] or 1)
            ), "D"
        if part.get("quarter"):
            return datetime.date(year, 3 * int(part["quarter"]) - 2, 1), "3M"
        if part.get("name"):
            month = 1 + MONTHS.index(part["name"][:3].lower())
        else:
            month = int(part.get("month") or 1)
        day = int(part.get("day") or 1)
        unit = "D" if part.get("day") else "M" if part.get("name") or part.get("month") else "Y"
        return datetime.date(year, month, day), unit
    except ValueError:  # such as February 30
        return None


def _read_numbers(cells: Cells, x: Array, only_dates: bool) -> Array:
    """Dates, or numbers, of distinct numbers x (m,)."""
    n = len(cells.rows)
    cells.refuse_others(np.isfinite(x), "finite number")
    is_whole = x == np.floor(x)
    digits = [
        f"{value:.0f}" if whole and abs(value) < LARGEST else text
        for value, whole, text in zip(x.tolist(), is_whole.tolist(), cells.texts, strict=True)
    ]
    dates = [_read_date(text, [*DIGITS, *DECIMALS]) for text in digits]
    if 2 * cells.n_rows(_is_date(dates)) > n:
        cells.refuse_others(_is_date(dates), "date")
        return _as_array(dates)
    for unit, scale in UNIX.items():
        seconds = x / scale
        is_unix = (seconds >= UNIX_SECONDS[0]) & (seconds < UNIX_SECONDS[1])
        if 2 * cells.n_rows(is_unix) > n:
            cells.refuse_others(is_unix, f"Unix time in {unit}")
            return seconds.astype("datetime64[s]").astype("datetime64[D]")
    cells.refuse_others(np.abs(x) <= LARGEST, "number below 2^53")
    if n and EXCEL[0] <= x.min() <= x.max() < EXCEL[1]:
        first, last = (np.datetime64("1899-12-30") + int(end) for end in (x.min(), x.max()))
        raise ValueError(
            f"{cells.parameter}: numbers from {x.min():g} to {x.max():g} may be dates of a "
            f"spreadsheet, {first} to {last}. If so, give dates, as by pandas.to_datetime(..., "
            "unit='D', origin='1899-12-30'), or save the table with its cells formatted as dates; "
            "if not, divide the numbers by 1000."
        )
    if only_dates:
        cells.refuse_others(is_whole & (x >= YEARS[0]) & (x <= YEARS[1]), "date")
        return np.array([f"{year:.0f}" for year in x], dtype="datetime64[Y]")
    is_numbering = n == len(x) > MOST_PERIODS and is_whole.all() and x.min() in (0, 1)
    if is_numbering and np.ptp(x) == n - 1:
        raise ValueError(
            f"{cells.parameter}: {x.min():g} to {x.max():g} number the rows, and are no times: "
            "give dates, or leave it out. If rows follow each other in time, give equal parts of "
            "them, as by pandas.cut(..., 10, labels=False)."
        )
    return x


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)  # 1_2 is no 12
    except ValueError:
        return None


def _is_date(dates: Sequence[Date | None]) -> Array:
    return np.array([date is not None for date in dates], dtype=bool)


def _as_array(dates: Sequence[Date | None]) -> Array:
    """Dates as datetime64, in the coarsest of their units."""
    units = {unit for _, unit in filter(None, dates)}
    unit = next((unit for unit in reversed(PRECISIONS) if unit in units), "D")
    days = np.array([day for day, _ in filter(None, dates)], dtype="datetime64[D]")
    if unit == "D":
        return days
    return days.astype("datetime64[M]").astype(f"datetime64[{unit}]")


def _fill(times: Array, rows: Array, n_rows: int) -> Array:
    """Times of n rows, NaN or NaT where they are missing."""
    missing = "NaT" if times.dtype.kind == "M" else np.nan
    filled = np.full(n_rows, missing, dtype=times.dtype)
    filled[rows] = times
    return filled
