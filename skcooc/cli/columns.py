"""Counts of records: of the words of a column, of a matrix, or of the pairs of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from skcooc.cli import texts
from skcooc.cli.crosstabs import MIN_COLUMNS, count_matrix, is_contingency_table, is_wide
from skcooc.cli.fields import MIN_WORDS, N_SAMPLE, TITLES, is_number
from skcooc.cli.pairs import count_pairs
from skcooc.cli.records import Records
from skcooc.cli.terminal import FIELDS, LIMITS, NAMES, Arguments, Screen, first_given
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection.times import read_times
from skcooc.protocol import Array

MIN_LENGTH_RATIO = 4  # of texts to the words of other fields, such as titles


def count_records(records: Records, options: Arguments, screen: Screen) -> NamedCounts:
    """Counts of texts, a matrix or pairs, as options say or columns show; InputError if unclear."""
    of_matrix = first_given(options, "names", "matrix", "transpose")
    of_texts = first_given(options, "text", "group", "time", "batch", *LIMITS)
    of_pairs = first_given(options, "column", "count")
    if of_matrix and (option := of_texts or of_pairs or first_given(options, "row")):
        raise InputError(
            f"{records.path}: {of_matrix} applies to matrices only, and {option} does not: leave "
            "one of them out"
        )
    records = _without(records, options.drop or ())
    _check_header(records, options)
    if of_matrix:
        return count_matrix(records, options)
    if not (of_texts or of_pairs or options.row) and is_wide(records):
        return count_matrix(records, options)
    text = _text_field(records, options)
    if not (text or of_texts or of_pairs or options.row) and is_contingency_table(records):
        return count_matrix(records, options)
    if option := first_given(options, *NAMES):
        raise InputError(
            f"{records.path}: {option} applies to matrices only; if this is one, give --matrix"
        )
    if text is not None:
        return _count_texts(records, text, options, screen)
    if of_texts:
        raise InputError(
            f"{records.path}: {of_texts} applies to texts only; name their column with --text"
        )
    return count_pairs(records, options)


def _without(records: Records, dropped: Sequence[str]) -> Records:
    for name in dropped:
        records.column(name)  # InputError if there is none
    columns = [column for column in records.columns if column.name not in dropped]
    if not columns:
        raise InputError(f"{records.path}: --drop leaves out all columns: keep some of them")
    index = tuple(name for name in records.index if name not in dropped)
    return replace(records, columns=columns, index=index)


def _check_header(records: Records, options: Arguments) -> None:
    """Raise InputError if the first line seems to be a record, and no option says otherwise."""
    if not records.has_line_of_names or first_given(options, *FIELDS):
        return
    columns = records.columns
    if any(not is_number(c.name) and c.name and c.is_number for c in columns):
        return  # a name above numbers
    numbers = [float(c.name) for c in columns if is_number(c.name)]
    is_sorted = all(a < b for a, b in pairwise(numbers))  # as columns of pandas.crosstab are
    is_record = not is_sorted or (len(numbers) == len(columns) < MIN_COLUMNS)
    for column in columns:
        if column.name and not is_number(column.name):
            is_long = len(column.name.split()) >= MIN_WORDS and not column.name.endswith("?")
            is_text = is_long and column.mean_words > 0
            is_record = is_record or is_text or column.name in column.strings
    if is_record:
        first = texts.excerpt(", ".join(column.name for column in columns))
        raise InputError(
            f"{records.path}: the first line, {first}, does not look like a header with the names "
            "of the columns: add a header, or give --header NAMES, such as user,item,count, or "
            "--header none for a matrix; if it is the header, give --matrix, --text, or --row and "
            "--column"
        )


def _count_texts(records: Records, text: str, options: Arguments, screen: Screen) -> NamedCounts:
    if option := first_given(options, "column", "count"):
        raise InputError(f"{records.path}: {option} applies to pairs only, not to --text")
    if any(isinstance(value, dict) for value in records.column(text).values):
        raise InputError(
            f"{records.path}: {text!r} holds objects instead of texts: write each text as a string"
        )
    values = records.column(text).strings
    if row := options.row or _title_field(records, text):
        names = records.column(row).strings
    else:
        numbered = zip(records.numbers, values, strict=True)
        names = [f"{number}: {texts.excerpt(value)}" for number, value in numbered]
    title = f"{records.path}, texts of {text!r}"
    table = texts.count_words(values, names, title, options, screen)
    groups = None if options.group is None else records.labels(options.group)
    batches = None if options.batch is None else records.labels(options.batch)
    times = None if options.time is None else _parse_times(records, options.time)
    notes = table.notes
    if groups is not None and (n_missing := sum(label is None for label in groups)):
        notes = (*notes, f"documents without a group (--group {options.group}): {n_missing:,}")
    if options.group is not None:
        values = records.column(options.group).values
        if n_lists := sum(isinstance(value, list) and len(value) > 1 for value in values):
            notes = (
                *notes,
                f"documents with several groups, counted in the first (--group {options.group}): "
                f"{n_lists:,}",
            )
    if times is not None and (n_missing := int((times != times).sum())):
        notes = (*notes, f"documents without a time (--time {options.time}): {n_missing:,}")
    return replace(table, groups=groups, batches=batches, times=times, notes=notes)


def _text_field(records: Records, options: Arguments) -> str | None:
    """The field of texts that is asked for, or evident; None if the records are pairs."""
    if options.text is not None:
        return options.text
    if options.column or options.count:
        return None
    used = options.row, options.group, options.time, options.batch
    n_words = {
        column.name: column.first(N_SAMPLE).mean_words
        for column in records.columns
        if column.name not in used
    }
    if not n_words:
        return None
    longest, *shorter = sorted(n_words, key=lambda name: -n_words[name])
    if not n_words[longest]:
        return None
    if shorter and n_words[longest] < MIN_LENGTH_RATIO * n_words[shorter[0]]:
        raise InputError(
            f"{records.path}: {longest!r} and {shorter[0]!r} both look like texts: name one of "
            "them with --text, or the columns of pairs with --row and --column"
        )
    return longest


def _title_field(records: Records, text: str) -> str | None:
    """The first field of TITLES, or of identifiers, whose values differ and are not empty."""
    columns = {c.name.strip().lower(): c for c in records.columns if c.name != text}
    identifiers = [name for name, column in columns.items() if column.has_name_of_ids]
    for title in (*filter(columns.__contains__, TITLES), *identifiers):
        values = [value.strip() for value in columns[title].strings]
        if all(values) and len(set(values)) == len(values):
            return columns[title].name
    return None


def _parse_times(records: Records, name: str) -> Array:
    """Numbers or dates of a field, NaN or NaT for empty values."""
    values = np.array(records.column(name).strings, dtype=object)

    def place(position: int) -> str:
        return f"{records.unit} {records.numbers[position]}"

    try:
        return read_times(values, f"--time {name}", place=place)
    except ValueError as error:
        raise InputError(f"{records.path}: {error}") from error
