"""Which fields of records are texts, or the two sides of pairs, and what is to be known of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.arguments import Options, given
from skcooc.cli.progress import Screen
from skcooc.cli.records import Records
from skcooc.cli.table import InputError, Table
from skcooc.inspection.dates import SHORT
from skcooc.protocol import Array

N_LOOKED_AT = 1000  # records that tell what a field is
WORDS = 5  # in the mean, which names of things seldom have
NEW = 0.5  # share of values that differ; names of things come again
TITLES = "title", "subject", "name", "headline", "id"  # fields whose values name texts
LONGER = 4  # times as many words as others: the text, and what is its title
LATEST = 2.0**53  # numbers above it are not one apart


def table_of(records: Records, options: Options, screen: Screen) -> Table:
    """Texts where one field has them, or pairs; InputError where it is not clear which."""
    text = _text(records, options)
    if text is None:
        return _pairs(records, options)
    if option := given(options, "column", "count"):
        raise InputError(f"{records.path}: {option} is of pairs, and does not go with --text")
    table = _texts(records, text, options, screen)
    if options.group is not None:
        labels = [value.strip() or None for value in records.field(options.group)]
        table = replace(table, groups=np.array(labels, dtype=object))
    if options.time is not None:
        times = _times(records, options.time, records.field(options.time))
        table = replace(table, times=times)
    return table


def _text(records: Records, options: Options) -> str | None:
    """The field of texts that is asked for, or clear to see; None where there are pairs."""
    if options.text is not None:
        return options.text
    if options.column or options.count:
        return None
    n_words = {name: _words_of_texts(records.field(name)[:N_LOOKED_AT]) for name in records.names}
    longest, *others = sorted(records.names, key=lambda name: -n_words[name])
    if not n_words[longest]:
        return None
    if others and n_words[longest] < LONGER * n_words[others[0]]:
        raise InputError(
            f"{records.path}: {longest!r} and {others[0]!r} both look like texts: name one of "
            "them with --text, or the columns of pairs with --row and --column"
        )
    return longest


def _words_of_texts(values: Sequence[str]) -> float:
    """The mean number of words of values that look like texts; 0 where they do not."""
    filled = [value for value in values if value.strip()]
    if not filled or len(set(filled)) < NEW * len(filled):
        return 0.0
    n_words = sum(len(value.split()) for value in filled) / len(filled)
    return n_words if n_words >= WORDS else 0.0


def _texts(records: Records, text: str, options: Options, screen: Screen) -> Table:
    """Counts of words; rows have the names of a field, or begin as the texts do."""
    found = records.field(text)
    row = options.row or _title(records, text)
    if row is not None:
        names = records.field(row)
    else:
        numbers = (place.rpartition(" ")[2] for place in records.places)
        names = [f"{n}: {texts.excerpt(text)}" for n, text in zip(numbers, found, strict=True)]
    return texts.count(found, names, f"{records.path}, texts of {text!r}", options, screen)


def _title(records: Records, text: str) -> str | None:
    """The field that by its name has titles of texts, if all are different; the first in TITLES."""
    fields = {name.strip().lower(): name for name in records.names if name != text}
    for title in filter(fields.__contains__, TITLES):
        values = [value.strip() for value in records.field(fields[title])]
        if all(values) and len(set(values)) == len(values):
            return fields[title]
    return None


def _times(records: Records, name: str, values: Sequence[str]) -> Array:
    """Numbers, or dates; nothing where a value is empty."""
    time_of = _number if all(map(_is_number, values)) else _date
    times = []
    for value, place in zip(values, records.places, strict=True):
        try:
            times.append(time_of(value.strip()))
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"{records.path}, {place}: {value!r} of {name!r} is no time: it takes numbers up "
                f"to {LATEST:.0e}, or dates such as 2024-05-31"
            ) from error
    return np.array(times)


def _is_number(value: str) -> bool:
    try:
        float(value.strip() or "nan")
    except ValueError:
        return False
    return True


def _number(value: str) -> float:
    number = float(value or "nan")
    if abs(number) > LATEST:
        raise OverflowError(value)
    return number


def _date(value: str) -> np.datetime64:
    """A date in the format of ISO 8601, of which months and years alone are dates, too."""
    if not value:
        return np.datetime64("NaT", "s")
    date = datetime.fromisoformat(f"{value}-01-01"[:10] if SHORT.fullmatch(value) else value)
    if date.tzinfo is not None:
        date = date.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(date, "s")


def _pairs(records: Records, options: Options) -> Table:
    """The counts of pairs; records with the same pair are added up."""
    if option := given(options, "group", "time", "min_df", "max_df"):
        raise InputError(f"{records.path}: {option} is of texts, and needs --text")
    row, column, count = _sides(records, options)
    rows, columns = records.field(row), records.field(column)
    counts = _counts(records, count)
    if options.column is None and count is None:
        _check_pairs(records, {row: rows, column: columns})
    (row_names, i), (column_names, j) = _numbered(rows), _numbered(columns)
    X = sp.coo_array((counts, (i, j)), shape=(len(row_names), len(column_names)))
    kinds = f"values of {texts.excerpt(row)}", f"values of {texts.excerpt(column)}"
    return Table(X, row_names, column_names, str(records.path), kinds)


def _numbered(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """What is there, in order, and the position of each; an array is as wide as its widest."""
    names = sorted(set(values))
    positions = {name: i for i, name in enumerate(names)}
    return names, [positions[value] for value in values]


def _sides(records: Records, options: Options) -> tuple[str, str, str | None]:
    """The fields of the row, the column and the count."""
    if len(records.names) < 2:
        raise InputError(
            f"{records.path}: one column, {records.names[0]!r}, where pairs need two; is it one of "
            "texts, give --text"
        )
    row, column = options.row or records.names[0], options.column or records.names[1]
    for name in (row, column):
        records.position(name)
    if row == column:
        raise InputError(f"{records.path}: rows and columns are both {row!r}")
    return row, column, options.count or ("count" if "count" in records.names else None)


def _check_pairs(records: Records, sides: dict[str, list[str]]) -> None:
    """InputError where what nobody named is of no use as pairs."""
    for name, values in sides.items():
        if 2 < len(values) == len(set(values)):
            raise InputError(
                f"{records.path}: each {name!r} is there once, so that nothing occurs together "
                "with it twice: name a column of texts with --text, or those of pairs with --row "
                "and --column"
            )


def _counts(records: Records, name: str | None) -> list[float]:
    if name is None:
        return [1.0] * len(records.values)
    return [
        _count(f"{records.path}, {place}", value)
        for place, value in zip(records.places, records.field(name), strict=True)
    ]


def _count(where: str, value: str) -> float:
    try:
        count = float(value)
    except ValueError:
        count = math.nan
    if not 0 <= count < math.inf:
        raise InputError(
            f"{where}: {value!r} is not a count: it takes a number from 0 on, such as 3 or 0.5"
        )
    return count
