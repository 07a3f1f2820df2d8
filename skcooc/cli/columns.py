"""Counts of records: of the words of a column, of a matrix, or of the pairs of two columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise, takewhile
from pathlib import Path
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.matrices import name_matrix
from skcooc.cli.records import (
    MIN_WORDS,
    Column,
    Records,
    is_nearly_number,
    is_number,
    parse_number,
)
from skcooc.cli.terminal import FIELDS, LIMITS, NAMES, Arguments, Screen, argument, first_given
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection.groups import parse_date
from skcooc.protocol import Array
from skcooc.tables.names import is_name_of_ids
from skcooc.tables.pairs import usual_counts

N_SAMPLE = 1000  # records in which texts are looked for
MIN_LENGTH_RATIO = 4  # of texts to the words of other fields, such as titles
TITLES = "title", "subject", "name", "headline", "id"  # fields whose values name texts
MAX_TIME = 2.0**53  # larger numbers are not one apart
DATE = re.compile(  # such as 20240531, 2024-05-31T10:00, 31.5.2024
    r"(1[5-9]|2[01])\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])|\d{4}[-/]\d\d?[-/]\d\d?(\D.*)?|"
    r"\d\d?[-/.]\d\d?[-/.]\d{4}(\D.*)?"
)

THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # as in German, or fractions

MIN_COLUMNS = 10  # of numbers in a table that is taken for a matrix
MIN_LONG = 20  # words in the mean of texts that can be meant beside so many numbers
MIN_ROWS_FIRST = 3  # where the first column may number them
MIN_ROWS = 10  # where a column that numbers the lines is seen by its order
MIN_ROWS_DISTINCT = 30  # where it is seen by its values, as no other ones are distinct
MIN_LINES_TOTAL = 3  # rows and columns where sums are seen
N_LISTED = 8  # names in a message or note
PANDAS_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__|level_\d+")
FIRST_IDENTIFIER = re.compile(r"|#.*|index|row\.?names?|" + "|".join(TITLES), re.IGNORECASE)
LABEL = re.compile(
    "batch|block|class|cluster|fold|group|label|leiden|louvain|plot|prediction|quadrat|replicate|"
    "target|transect",
    re.IGNORECASE,
)
MEASURE = re.compile(
    "age|altitude|date|day|depth|duration|elevation|fpkm|(eff(ective|_))?length|start|end|lat|"
    "latitude|lon|long|longitude|month|ph|price|ratings?|rpkm|score|stars|sum|temp|temperature|"
    "time|timestamp|totals?|tpm|year|total_counts.*|n_genes.*|pct_.*|.*%.*",
    re.IGNORECASE,
)
FORMATS = {  # whose first columns hold no counts, and the one that names the rows
    ("label", "group", "numotus"): 1,  # mothur
    ("geneid", "chr", "start", "end", "strand", "length"): 0,  # featureCounts
}


def count_records(records: Records, options: Arguments, screen: Screen) -> NamedCounts:
    """Counts of texts, a matrix or pairs, as options say or columns show; InputError if unclear."""
    of_matrix = first_given(options, "names", "matrix", "transpose")
    of_texts = first_given(options, "text", "group", "time", "batch", *LIMITS)
    of_pairs = first_given(options, "column", "count")
    if of_matrix and (option := of_texts or of_pairs or first_given(options, "row")):
        raise InputError(f"{records.path}: {of_matrix} is for matrices, and {option} is not")
    records = _without(records, options.drop or ())
    _check_header(records, options)
    if of_matrix:
        return _count_matrix(records, options)
    if not (of_texts or of_pairs or options.row) and _is_wide(records):
        return _count_matrix(records, options)
    text = _text_field(records, options)
    if not (text or of_texts or of_pairs or options.row) and _is_contingency_table(records):
        return _count_matrix(records, options)
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
    return _count_pairs(records, options)


def _without(records: Records, dropped: Sequence[str]) -> Records:
    for name in dropped:
        records.column(name)  # InputError if there is none
    columns = [column for column in records.columns if column.name not in dropped]
    if not columns:
        raise InputError(f"{records.path}: --drop leaves no column")
    index = tuple(name for name in records.index if name not in dropped)
    return replace(records, columns=columns, index=index)


def _check_header(records: Records, options: Arguments) -> None:
    """Raise InputError if the first line seems to be a record, and no option says otherwise."""
    if not records.has_line_of_names or first_given(options, *FIELDS):
        return
    columns = records.columns
    if any(not is_number(c.name) and c.name.strip() and c.is_number for c in columns):
        return  # a name above numbers
    numbers = [float(c.name) for c in columns if is_number(c.name)]
    is_sorted = all(a < b for a, b in pairwise(numbers))  # as columns of pandas.crosstab are
    is_record = not is_sorted or (len(numbers) == len(columns) < MIN_COLUMNS)
    for column in columns:
        if column.name.strip() and not is_number(column.name):
            is_long = len(column.name.split()) >= MIN_WORDS and not column.name.endswith("?")
            is_text = is_long and column.mean_words > 0
            is_record = is_record or is_text or column.name in column.strings
    if is_record:
        first = texts.excerpt(", ".join(column.name for column in columns))
        raise InputError(
            f"{records.path}: the first line, {first}, does not look like a header with names "
            "of columns: add one, or give --header NAMES, such as user,item,count, or --header "
            "none for a matrix; if it is the header, give --matrix, --text, or --row and --column"
        )


def _count_texts(records: Records, text: str, options: Arguments, screen: Screen) -> NamedCounts:
    if option := first_given(options, "column", "count"):
        raise InputError(f"{records.path}: {option} applies to pairs only, not to --text")
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
    return replace(table, groups=groups, batches=batches, times=times)


def _text_field(records: Records, options: Arguments) -> str | None:
    """The field of texts that is asked for, or evident; None if the records are pairs."""
    if options.text is not None:
        return options.text
    if options.column or options.count:
        return None
    n_words = {column.name: column.first(N_SAMPLE).mean_words for column in records.columns}
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
    """The first field of TITLES whose values differ and are not empty."""
    columns = {c.name.strip().lower(): c for c in records.columns if c.name != text}
    for title in filter(columns.__contains__, TITLES):
        values = [value.strip() for value in columns[title].strings]
        if all(values) and len(set(values)) == len(values):
            return columns[title].name
    return None


def _parse_times(records: Records, name: str) -> Array:
    """Numbers or dates of a field, NaN or NaT for empty values."""
    values = list(map(str.strip, records.column(name).strings))
    filled = list(filter(None, values))
    are_numbers = all(parse_number(value) is not None or value.lower() == "nan" for value in filled)
    are_dates = all(map(DATE.fullmatch, filled)) or not are_numbers
    times = []
    for i, value in enumerate(values):
        try:
            times.append(_parse_time(value, are_dates))
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"{records.place(i)}: {value!r} of {name!r} is not a time: use numbers up to "
                f"{MAX_TIME:.0e}, or dates such as 2024-05-31"
            ) from error
    return np.array(times)


def _parse_time(value: str, is_date: bool) -> float | np.datetime64:
    if is_date:  # local, as in the explorer
        return np.datetime64(parse_date(value).replace(tzinfo=None) if value else "NaT", "s")
    number = float(value or "nan")
    if abs(number) > MAX_TIME:
        raise OverflowError(value)
    return number


def _is_wide(records: Records) -> bool:
    """Whether so many columns hold numbers that the table is a matrix; InputError if unclear."""
    if len(records.columns) < MIN_COLUMNS:
        return False
    n_numbers = sum(column.holds_numbers for column in records.columns)
    if n_numbers < MIN_COLUMNS - 1 or 2 * n_numbers < len(records.columns):
        return False
    longest = max(records.columns, key=lambda column: column.mean_words)
    if longest.mean_words >= MIN_LONG:
        raise InputError(
            f"{records.path}: {n_numbers} columns of numbers, and texts in {longest.name!r}: give "
            f"{argument('text', longest.name)}, or --matrix if the numbers are the counts"
        )
    return True


def _is_contingency_table(records: Records) -> bool:
    """Whether a table of few columns can only be a matrix: distinct names first, then counts."""
    first, *others = records.columns
    counts = [column.name for column in others if column.holds_numbers]
    is_named = first.is_distinct and not first.holds_numbers
    return is_named and len(counts) >= 2 and usual_counts(counts) is None


@dataclass(frozen=True)
class MatrixColumns:
    """What the columns of a matrix are."""

    names: Sequence[Column]  # of rows
    counts: Sequence[Column]
    others: Sequence[Column]


def _count_matrix(records: Records, options: Arguments) -> NamedCounts:
    """A matrix of counts, with names of rows if columns hold some; InputError if unclear."""
    columns = _divide(records, options)
    if not columns.counts:
        raise InputError(
            f"{records.path}: no columns of numbers: a matrix needs counts, such as 1 for a mark"
        )
    X = np.column_stack([column.numbers for column in columns.counts])
    names = [column.name for column in columns.counts]
    rows = [", ".join(values) for values in zip(*(c.strings for c in columns.names), strict=True)]
    if unnamed := [i for i, row in enumerate(rows) if not row.strip(" ,")]:
        raise InputError(
            f"{records.place(unnamed[0])}: no name of the row in {_listed(columns.names)}"
        )
    notes = []
    if rows and (options.column_names if options.transpose else options.row_names) is None:
        note = f"rows are named by {_listed(columns.names)}"
        n_repeated = len(rows) - len(set(rows))
        notes.append(f"{note}, which repeats {n_repeated} names" if n_repeated else note)
    if columns.others:
        notes.append(f"left out: {_listed(columns.others)}")
    if not options.matrix:
        total_row = _find_total(X.T)
        total_column = _find_total(X)
        if total_row is not None:
            name = rows[total_row] if rows else f"{records.unit} {records.numbers[total_row]}"
            _check_total(records.path, X.T, total_row, f"row {name!r}", "remove its line")
            notes.append(f"left out: the row {name!r}, as it has the totals")
            rows = [row for i, row in enumerate(rows) if i != total_row]
        if total_column is not None:
            name = names.pop(total_column)
            _check_total(records.path, X, total_column, f"column {name!r}", argument("drop", name))
            notes.append(f"left out: the column {name!r}, as it has the totals")
        is_count = np.arange(X.shape[1]) != total_column
        _check_counts(records, list(compress(columns.counts, is_count)))
        X = X[np.arange(len(X)) != total_row][:, is_count]
    title = f"{records.path}, a matrix of {X.shape[0]:,} x {X.shape[1]:,}"
    return name_matrix(sp.coo_array(X), rows or None, names, options, title, tuple(notes))


def _divide(records: Records, options: Arguments) -> MatrixColumns:
    """What each column is; InputError if most values of one are numbers, and some are not."""
    columns = records.columns
    named: list[Column] = []
    others: Sequence[Column] = ()
    index = [records.column(name) for name in records.index]
    if options.names is not None:
        named = [records.column(options.names)]
    elif not all(map(_is_index, index)):
        named = index
    header = tuple(column.name.strip().lower() for column in columns)
    for beginning, j in FORMATS.items():
        if header[: len(beginning)] == beginning and not options.matrix:
            named = named or [columns[j]]
            others = columns[: len(beginning)]
    counts = []
    labels = list(others)
    for column in columns:
        if column in named or column in others:
            continue
        is_count = column.is_number or (column.is_empty and column.name)
        if is_count and not _is_label(column, column is columns[0], options):
            counts.append(column)
        elif column is columns[0] or column.wrong_number is None:
            labels.append(column)
        else:
            _refuse_number(records, column, column.wrong_number)
    named = named or _names_of_rows(labels)
    return MatrixColumns(named, counts, [column for column in labels if column not in named])


def _refuse_number(records: Records, column: Column, position: int) -> NoReturn:
    value = column.strings[position]
    advice = "write numbers such as 1234.5, and leave cells without a count empty"
    if position == 0 and not is_nearly_number(value):
        advice = "remove this line if it holds units, or names once more"
    raise InputError(
        f"{records.place(position)}: {value!r} of {column.name!r} is not a number: {advice}, or "
        f"leave the column out by {argument('drop', column.name)}"
    )


def _is_label(column: Column, is_first: bool, options: Arguments) -> bool:
    """Whether numbers are names by the name of their column."""
    if is_first:
        name = column.name.strip()
        return bool(is_name_of_ids(name) or FIRST_IDENTIFIER.fullmatch(name))
    if options.matrix:
        return False
    are_dates = all(DATE.fullmatch(value) for value in column.strings if value)
    is_identifier = is_name_of_ids(column.name) and column.is_distinct
    return is_identifier or (are_dates and not column.is_empty)


def _names_of_rows(labels: Sequence[Column]) -> list[Column]:
    """The first column of distinct values, or two of distinct pairs, or the first of all."""
    labels = [column for column in labels if not column.is_empty]
    labels.sort(key=_is_index)  # names of things before an index of pandas
    distinct = next((column for column in labels if column.is_distinct), None)
    if distinct is not None or len(labels) < 2:
        return labels[:1] if distinct is None else [distinct]
    pairs = list(zip(labels[0].strings, labels[1].strings, strict=True))
    return list(labels[:2] if len(set(pairs)) == len(pairs) else labels[:1])


def _check_counts(records: Records, counts: Sequence[Column]) -> None:
    """Raise InputError if numbers may be identifiers or measurements instead of counts."""
    n_rows = len(records)
    is_measure = {c: _is_measure_or_label(c) for c in counts}
    numbered = [c for c in counts if c.is_whole and c.is_distinct]
    first = records.columns[0]
    identifiers = [
        c
        for c in counts
        if (is_name_of_ids(c.name) and c.name.lower() != "id")
        or (c in numbered and c is first and n_rows >= MIN_ROWS_FIRST)
        or (c in numbered and n_rows >= MIN_ROWS and _is_ordered(c.numbers) and not is_measure[c])
        or (c in numbered and n_rows >= MIN_ROWS_DISTINCT and len(numbered) == 1)
    ]
    if identifiers:
        name = identifiers[0].name
        values = ", ".join(identifiers[0].strings[:3])
        raise InputError(
            f"{records.path}: column {name!r} may hold names instead of counts ({values}, ...): "
            f"give {argument('names', name)} if it names the rows, --matrix if it holds counts, "
            f"{argument('drop', name)} to leave it out, or --row and --column if lines are pairs"
        )
    _check_thousands(records.path, counts)
    fractions = [c for c in counts if not c.is_whole]
    flags = [c for c in counts if c.is_flag]
    measures = {c for c in counts if (c.numbers < 0).any()}
    measures.update(fractions if len(fractions) <= len(counts) / 2 else ())
    measures.update(flags if len(flags) < len(counts) else ())
    for columns in (counts, counts[::-1]):  # words may have such names, too, but amid others
        measures.update(takewhile(is_measure.__getitem__, columns))
    if measures and len(measures) < max(len(counts), MIN_COLUMNS):
        suspects = [c for c in counts if c in measures]
        options = " ".join(argument("drop", c.name) for c in suspects[:N_LISTED])
        raise InputError(
            f"{records.path}: {_listed(suspects)} may hold measurements or labels, not counts: "
            f"leave these out by {options}, or give --matrix if they hold counts"
        )


def _check_thousands(path: Path, columns: Sequence[Column]) -> None:
    """Raise InputError if all points may separate thousands, as in 1.234."""
    decimals = [(value, column.name) for column in columns for value in column.decimals]
    if decimals and all(THOUSANDS.fullmatch(value) for value, _ in decimals):
        value, name = decimals[0]
        raise InputError(
            f"{path}: {value!r} of {name!r} may be a thousand or a fraction: write it as "
            f"{value.replace('.', '')} or {value}0"
        )


def _is_ordered(numbers: Array) -> bool:
    """Whether distinct whole numbers rise, or are consecutive in any order."""
    return bool((np.diff(numbers) > 0).all() or np.ptp(numbers) == len(numbers) - 1)


def _find_total(X: Array) -> int | None:
    """A column that is the sum of at least half of the others, all before or all after it."""
    n, m = X.shape
    if n < MIN_LINES_TOTAL or m < MIN_LINES_TOTAL:
        return None
    positions = np.arange(m)
    for step in (1, -1):
        table = X[:, ::step]
        sums = table.sum(axis=0)
        partial_sums = sums.cumsum()
        summed = np.searchsorted(partial_sums, sums * (1 - 1e-9))  # the last of the others
        is_total = (summed >= 1) & (summed < positions) & (2 * (summed + 1) >= m - 1) & (sums > 0)
        is_total &= np.isclose(partial_sums[np.minimum(summed, m - 1)], sums)
        for j in np.flatnonzero(is_total)[::-1].tolist():
            if np.allclose(table[:, : summed[j] + 1].sum(axis=1), table[:, j]):
                return j if step == 1 else m - 1 - j
    return None


def _check_total(path: Path, X: Array, total: int, name: str, cure: str) -> None:
    """Raise InputError if a column of totals has those of a part of the others only."""
    if not np.allclose(X.sum(axis=1), 2 * X[:, total]):
        raise InputError(
            f"{path}: {name} is the sum of others: leave it out ({cure}), and whatever else is not "
            "counted beside them, or give --matrix if all are counts"
        )


def _listed(columns: Sequence[Column]) -> str:
    names = ", ".join(
        repr(c.name) if c.name else "the column without a name" for c in columns[:N_LISTED]
    )
    more = len(columns) - N_LISTED
    return f"{names} and {more} others" if more > 0 else names


def _count_pairs(records: Records, options: Arguments) -> NamedCounts:
    """Counts of the pairs of two columns; InputError if others may be meant."""
    row, column, count = _columns_of_pairs(records, options)
    _check_names(records, row, column, is_chosen=options.column is not None)
    counts = np.ones(len(records)) if count is None else _parse_counts(records, count)
    row_names, i = _names_and_positions(row)
    column_names, j = _names_and_positions(column)
    shape = len(row_names), len(column_names)
    unused = [c for c in records.columns if c not in (row, column, count) and not _is_index(c)]
    may_be_counts = [c for c in unused if _may_hold_counts(c)] if count is None else []
    _, sizes = np.unique(i * shape[1] + j, return_counts=True)  # of the distinct pairs
    if options.column is None and unused:
        _check_pair(
            records.path,
            row,
            column,
            unused=unused,
            may_be_counts=may_be_counts,
            is_alias=len(sizes) == max(shape),
        )
    if may_be_counts and len(sizes) == math.prod(shape) and not np.ptp(sizes):
        raise InputError(
            f"{records.path}: all values of {row.name!r} occur equally often with all of "
            f"{column.name!r}: if the counts are in another column, name it, as by "
            f"{argument('count', may_be_counts[0].name)}"
        )
    note = f"not used: {_listed(unused)}"
    if len(may_be_counts) == 1:
        name = may_be_counts[0].name
        note += f"; if {name!r} holds counts, give {argument('count', name)}"
    elif may_be_counts:
        note += "; if one of these holds counts, name it with --count"
    title = f"{records.path}, pairs of {row.name!r} and {column.name!r}"
    title += ", each line counted once" if count is None else f", counts of {count.name!r}"
    return NamedCounts(
        sp.coo_array((counts, (i, j)), shape),
        row_names,
        column_names,
        title,
        kinds=(f"values of {texts.excerpt(row.name)}", f"values of {texts.excerpt(column.name)}"),
        notes=(note,) if unused else (),
    )


def _columns_of_pairs(records: Records, options: Arguments) -> tuple[Column, Column, Column | None]:
    """The columns of rows and of columns, and that of counts if there is one."""
    used = options.row, options.column
    columns = [c for c in records.columns if c.name in used or not _is_index(c)]
    name = options.count or usual_counts(
        c.name for c in columns if c.name not in used and not _holds_sizes(c)
    )
    others = [c for c in columns if c.name != name]
    if len(others) < 2:
        raise InputError(
            f"{records.path}: one column, {(others or columns)[0].name!r}, but pairs need two "
            "besides counts; if it holds texts, name it with --text"
        )
    row = others[0] if options.row is None else records.column(options.row)
    column = others[1] if options.column is None else records.column(options.column)
    if row is column:
        raise InputError(f"{records.path}: rows and columns are both {row.name!r}")
    return row, column, None if name is None else records.column(name)


def _holds_sizes(column: Column) -> bool:
    """Whether a column named like counts holds others, such as M and L; few may be misspelt."""
    return len(column.values) >= MIN_ROWS_FIRST and not column.holds_numbers


def _check_names(records: Records, *pair: Column, is_chosen: bool) -> None:
    """Raise InputError if columns have no name for each record, or no name twice."""
    for name in (column.name for column in pair if column.has_lists):
        raise InputError(
            f"{records.path}: lists in {name!r}: write a record for each item, such as by "
            f"df.explode({name!r})"
        )
    for column in pair:
        name = column.name
        if n_empty := column.strings.count(""):
            position = column.strings.index("")
            cure = "remove these"
            if position > 0 and 2 * n_empty > len(records):
                cure += f" or, if cells were merged, fill them by df[{name!r}].ffill()"
            raise InputError(
                f"{records.place(position)}: no value of {name!r}, in {n_empty} of {len(records)} "
                f"records; {cure}"
            )
        if not is_chosen and len(records) > 2 and column.is_distinct:
            raise InputError(
                f"{records.path}: each value of {name!r} occurs only once, but models need "
                f"repeated values: leave it out by {argument('drop', name)}, name a column of "
                "texts with --text, or those of pairs with --row and --column; if each column "
                "holds counts, give --matrix"
            )


def _is_index(column: Column) -> bool:
    """Whether a column is the index of a data frame, which has no name and numbers the lines."""
    return bool(PANDAS_INDEX.fullmatch(column.name)) and column.is_whole and column.is_distinct


def _check_pair(
    path: Path,
    row: Column,
    column: Column,
    *,
    unused: Sequence[Column],
    may_be_counts: Sequence[Column],
    is_alias: bool,
) -> None:
    """Raise InputError if other columns are as likely meant as the first two."""
    columns = [c for c in (row, column, *unused) if not (_holds_measures(c) or c.is_flag)]
    if is_alias and column in columns[:-1]:
        columns.remove(column)
    example = columns[:2] if len(columns) > 1 else (row, column)
    names = argument("row", example[0].name), argument("column", example[1].name)
    advice = f"name the columns of pairs with --row and --column, as in {' '.join(names)}"
    if len(may_be_counts) >= 2 and (_may_hold_counts(row) or _may_hold_counts(column)):
        raise InputError(f"{path}: pairs or a matrix of counts: {advice}, or give --matrix")
    if measures := [c for c in (row, column) if _holds_measures(c)]:
        raise InputError(f"{path}: {_listed(measures)} may hold times or measurements: {advice}")
    values = set(column.strings)
    others = (c for c in unused if not c.is_number)
    if shared := [c for c in others if 2 * len(values.intersection(c.strings)) > len(values)]:
        raise InputError(
            f"{path}: {_listed([column, *shared])} hold the same values: if they are lists, write "
            f"a line for each value, as by df.melt, or {advice}"
        )
    if is_alias:
        raise InputError(
            f"{path}: a value of {row.name!r} or {column.name!r} occurs with one value of the "
            f"other only, as if one named or grouped the other: {advice}"
        )


def _may_hold_counts(column: Column) -> bool:
    is_other = is_name_of_ids(column.name) or _is_measure_or_label(column)
    return column.is_number and not column.is_flag and not is_other


def _is_measure_or_label(column: Column) -> bool:
    """Whether a column is called like one of measurements or labels."""
    name = column.name.strip()
    return bool(MEASURE.fullmatch(name) or LABEL.fullmatch(name))


def _holds_measures(column: Column) -> bool:
    """Whether values are times or measurements, which seldom are rows or columns."""
    sample = column.first(N_SAMPLE)
    if all(map(DATE.fullmatch, sample.strings)):
        return True
    is_named = MEASURE.fullmatch(column.name.strip()) is not None
    return sample.is_number and (is_named or not sample.is_whole)


def _names_and_positions(column: Column) -> tuple[list[str], Array]:
    """Sorted distinct values, and the position of each value, without padded strings."""
    names = sorted(set(column.strings))
    positions = {name: i for i, name in enumerate(names)}
    indices = map(positions.__getitem__, column.strings)
    return names, np.fromiter(indices, np.intp, len(column.strings))


def _parse_counts(records: Records, column: Column) -> Array:
    numbers = {value: parse_number(value) for value in set(column.strings)}
    for position, value in enumerate(column.strings):
        number = numbers[value]
        if number is None or not 0 <= number < math.inf:
            raise InputError(
                f"{records.place(position)}: {value!r} is not a count: use numbers >= 0, such as 3 "
                "or 0.5"
            )
    _check_thousands(records.path, [column])
    return np.array([numbers[value] for value in column.strings])
