"""Fields of records, and what their names and values show of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import numpy as np

from skcooc.protocol import Array
from skcooc.tables.names import is_name_of_ids, is_name_of_measure

# A field of texts has long values that differ; names of things are short or repeated.
MIN_WORDS = 5  # in the mean
MIN_DISTINCT = 0.5  # share of the values
MAX_LINEAGES = 0.9  # share of values with a semicolon, as k__Bacteria; p__Firmicutes has
N_SAMPLE = 1000  # records in which texts, times and what is no number are looked for
N_LISTED = 8  # names in a message or note
FLAGS = {"true": 1.0, "false": 0.0}
NEARLY_ALL = 0.5  # share of numbers from which a column should hold nothing else
NOT_QUITE_NUMBER = re.compile(
    r"[-+]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?|[-+]?\d+,\d+|[-+]?[\d.,]+ ?%|#?n/?a|nan|null|none|-|\.",
    re.IGNORECASE,
)
DATE = re.compile(  # such as 2024-05-31T10:00, 31.5.2024
    r"\d{4}[-/]\d\d?[-/]\d\d?(\D.*)?|\d\d?[-/.]\d\d?[-/.]\d{4}(\D.*)?"
)
TITLES = "title", "subject", "name", "headline", "id"  # fields whose values name texts
PANDAS_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
LABEL = re.compile(
    "batch|block|class|cluster|group|label|plot|prediction|replicate|target", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a field in all records. Compared by identity."""

    name: str
    values: Sequence[Any]

    @cached_property
    def _distinct(self) -> dict[Any, None] | None:
        """Distinct values in order; None if some are lists or objects, which have no hash."""
        try:
            return dict.fromkeys(self.values)
        except TypeError:
            return None

    @cached_property
    def strings(self) -> Sequence[str]:
        are_strings = self._distinct is not None and all(type(v) is str for v in self._distinct)
        return self.values if are_strings else [*map(string, self.values)]

    @cached_property
    def _cells(self) -> Sequence[Any]:
        return self.strings if self._distinct is None else self.values

    @cached_property
    def _parsed(self) -> Mapping[Any, float | None]:
        """Numbers by distinct cells: NaN for empty ones, None for those that are no numbers."""
        return {
            value: parse_number(value) for value in self._distinct or dict.fromkeys(self._cells)
        }

    @cached_property
    def numbers(self) -> Array:
        """The values as numbers, (n,), zero where they are empty."""
        floats = map(self._parsed.__getitem__, self._cells)
        numbers = np.fromiter(floats, float, len(self._cells))
        numbers[np.isnan(numbers)] = 0
        return numbers

    @cached_property
    def is_number(self) -> bool:
        """Whether all values are numbers but the empty ones, of which not all are."""
        sample = self.first(N_SAMPLE)
        if sample is not self and None in sample._parsed.values():
            return False
        numbers = self._parsed.values()
        return None not in numbers and any(number == number for number in numbers)

    @property
    def holds_numbers(self) -> bool:
        """Whether the values are numbers, or should be as most are."""
        return self.is_number or self.wrong_number is not None

    @property
    def has_lists(self) -> bool:
        return self._distinct is None and any(isinstance(value, list) for value in self.values)

    @cached_property
    def is_empty(self) -> bool:
        return not any(self.strings)

    @cached_property
    def is_distinct(self) -> bool:
        """Whether no value is empty or occurs twice."""
        n = len(self.values)
        return len(self._parsed) == n == len(set(self.strings)) and all(self.strings)

    @cached_property
    def is_whole(self) -> bool:
        return self.is_number and bool((self.numbers == np.floor(self.numbers)).all())

    @property
    def decimals(self) -> list[str]:
        """Distinct strings with a point."""
        return [value for value in self._parsed if isinstance(value, str) and "." in value]

    @cached_property
    def is_flag(self) -> bool:
        """Whether all values are true or false."""
        return self.is_number and {string(v).lower() for v in self._parsed} <= {*FLAGS, ""}

    @cached_property
    def wrong_number(self) -> int | None:
        """The first value that is no number, if most, also of the first, are or look like some."""
        sample = self.first(N_SAMPLE)
        if sample is not self and not (sample.is_empty or sample.holds_numbers):
            return None
        wrong = {value for value, number in self._parsed.items() if number is None}
        if not wrong:
            return None
        odd = {value for value in wrong if not is_nearly_number(value)}
        n_odd = sum(value in odd for value in self._cells)
        if n_odd > (1 - NEARLY_ALL) * sum(map(bool, self.strings)):
            return None
        return next(i for i, value in enumerate(self._cells) if value in wrong)

    @cached_property
    def holds_dates(self) -> bool:
        """Whether all values are dates but the empty ones, of which not all are."""
        return not self.is_empty and all(DATE.fullmatch(value) for value in self.strings if value)

    @cached_property
    def mean_words(self) -> float:
        """Mean number of words if the values look like texts, else 0."""
        return 0.0 if self.is_number else mean_words(self.strings)

    @property
    def is_index(self) -> bool:
        """Whether it is the index of a data frame, which has no name and numbers the lines."""
        return bool(PANDAS_INDEX.fullmatch(self.name)) and self.is_whole and self.is_distinct

    @property
    def has_name_of_ids(self) -> bool:
        return is_name_of_ids(self.name)

    @property
    def has_name_of_measures(self) -> bool:
        """Whether it is called like a column of measurements or labels."""
        return is_name_of_measure(self.name) or LABEL.fullmatch(self.name.strip()) is not None

    @property
    def may_hold_counts(self) -> bool:
        is_other = self.is_flag or self.has_name_of_ids or self.has_name_of_measures
        return self.is_number and not is_other

    @cached_property
    def holds_measures(self) -> bool:
        """Whether values are times or measurements, which seldom are rows or columns of pairs."""
        sample = self.first(N_SAMPLE)
        if sample.holds_dates:
            return True
        return sample.is_number and (is_name_of_measure(self.name) or not sample.is_whole)

    def first(self, size: int) -> Column:
        """The column of the first records."""
        return self if size >= len(self.values) else Column(self.name, self.values[:size])


def listed(columns: Sequence[Column]) -> str:
    """The names of columns for a message."""
    names = ", ".join(
        repr(c.name) if c.name else "the column without a name" for c in columns[:N_LISTED]
    )
    more = len(columns) - N_LISTED
    return f"{names} and {more} others" if more > 0 else names


def parse_number(value: object) -> float | None:
    """A number, NaN if the value is empty, None if it is no number."""
    if value is None or value == "" or value != value:
        return nan
    try:
        number = float(value)  # type: ignore[arg-type]
    except ValueError:
        return FLAGS.get(value.strip().lower()) if isinstance(value, str) else None
    except TypeError:
        return None
    is_name = isinstance(value, str) and ("_" in value or number != number)  # 1_2 is no 12
    return None if is_name else number


def is_number(value: str) -> bool:
    """Whether a value is a number, and not empty."""
    number = parse_number(value)
    return number is not None and number == number


def is_nearly_number(value: object) -> bool:
    """Whether a value is written like a number, such as "1,234", "12 %" and "NA"."""
    return isinstance(value, str) and NOT_QUITE_NUMBER.fullmatch(value) is not None


def string(value: object) -> str:
    """A value as a field of a CSV file would have it."""
    if value is None or value != value:  # NaN, which pandas has for missing values
        return ""
    if isinstance(value, bytes):  # of Parquet, whose older writers do not mark texts
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, list):  # such as the topics of a text
        return ", ".join(map(string, value))
    return str(value)


def mean_words(values: Sequence[str]) -> float:
    """Mean number of words if the values look like texts, else 0."""
    filled = list(filter(None, map(str.strip, values)))
    if not filled or len(set(filled)) < MIN_DISTINCT * len(filled):
        return 0.0
    if sum(";" in value for value in filled) > MAX_LINEAGES * len(filled):
        return 0.0
    n_words = sum(len(value.split()) for value in filled) / len(filled)
    return n_words if n_words >= MIN_WORDS else 0.0
