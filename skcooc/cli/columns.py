"""Counts of records: of the words of a column, of a matrix, or of the pairs of two columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from operator import itemgetter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.matrices import name_matrix
from skcooc.cli.records import MIN_WORDS, Column, Records, is_number, parse_number
from skcooc.cli.terminal import FIELDS, LIMITS, NAMES, Arguments, Screen, first_given
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection.groups import parse_date
from skcooc.protocol import Array
from skcooc.tables.names import is_name_of_ids
from skcooc.tables.pairs import usual_counts

N_SAMPLE = 1000  # records in which texts are looked for
MIN_LENGTH_RATIO = 4  # of texts to the words of other fields, such as titles
TITLES = "title", "subject", "name", "headline", "id"  # fields whose values name texts
MAX_TIME = 2.0**53  # larger numbers are not one apart
DATE = re.compile(r"(1[5-9]|2[01])\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")  # such as 20240531

MIN_COLUMNS = 10  # of numbers in a table that is taken for a matrix
MIN_LONG = 20  # words in the mean of texts that can be meant beside so many numbers
MIN_ROWS_FIRST = 3  # where the first column may number them
MIN_ROWS = 10  # where a column that numbers the lines is seen by its order
MIN_ROWS_DISTINCT = 30  # where it is seen by its values, as no other ones are distinct
MIN_ROWS_TOTAL = 3  # where a last line or column of sums is seen
N_LISTED = 8  # names in a message or note
PANDAS_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__|level_\d+")
FIRST_IDENTIFIER = re.compile(r"|#.*|index|row\.?names?|" + "|".join(TITLES), re.IGNORECASE)
MEASURE = re.compile(  # and labels
    "age|altitude|batch|block|class|cluster|date|day|depth|duration|elevation|fold|fpkm|group|"
    "(eff(ective|_))?length|start|end|label|lat|latitude|lon|long|longitude|month|ph|plot|price|"
    "quadrat|ratings?|replicate|rpkm|score|stars|sum|target|temp|temperature|time|timestamp|"
    "totals?|tpm|transect|year",
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
    if not dropped:
        return records
    names = {name: j for name, j in records.names.items() if name not in dropped}
    values = [[record[j] for j in names.values()] for record in records.values]
    positions = {name: j for j, name in enumerate(names)}
    index = tuple(name for name in records.index if name in names)
    if not names:
        raise InputError(f"{records.path}: --drop leaves no column")
    return replace(records, names=positions, values=values, index=index)


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
        first = texts.excerpt(", ".join(records.names))
        raise InputError(
            f"{records.path}: the first line, {first}, does not look like a header with names "
            "of columns: add one, or give --header NAMES, such as user,item,count, or --header "
            "none for a matrix; if it is the header, give --matrix, --text, or --row and --column"
        )


def _count_texts(records: Records, text: str, options: Arguments, screen: Screen) -> NamedCounts:
    if option := first_given(options, "column", "count"):
        raise InputError(f"{records.path}: {option} applies to pairs only, not to --text")
    values = records.field(text)
    if row := options.row or _title_field(records, text):
        names = records.field(row)
    else:
        numbers = (place.rpartition(" ")[2] for place in records.places)
        names = [f"{n}: {texts.excerpt(value)}" for n, value in zip(numbers, values, strict=True)]
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
    sample = replace(records, values=records.values[:N_SAMPLE])
    n_words = {column.name: column.mean_words for column in sample.columns}
    longest, *shorter = sorted(records.names, key=lambda name: -n_words[name])
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
    fields = {name.strip().lower(): name for name in records.names if name != text}
    for title in filter(fields.__contains__, TITLES):
        values = [value.strip() for value in records.field(fields[title])]
        if all(values) and len(set(values)) == len(values):
            return fields[title]
    return None


def _parse_times(records: Records, name: str) -> Array:
    """Numbers or dates of a field, NaN or NaT for empty values."""
    filled = list(filter(None, map(str.strip, records.field(name))))
    are_numbers = all(parse_number(value) is not None or value.lower() == "nan" for value in filled)
    are_dates = all(map(DATE.fullmatch, filled)) or not are_numbers
    times = []
    for value, place in zip(records.field(name), records.places, strict=True):
        try:
            times.append(_parse_time(value.strip(), are_dates))
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"{records.path}, {place}: {value!r} of {name!r} is not a time: use numbers up to "
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
    if len(records.names) < MIN_COLUMNS:
        return False
    numbers = [c for c in records.columns if c.is_number or c.wrong_number is not None]
    if len(numbers) < MIN_COLUMNS - 1 or 2 * len(numbers) < len(records.names):
        return False
    longest = max(records.columns, key=lambda column: column.mean_words)
    if longest.mean_words >= MIN_LONG:
        raise InputError(
            f"{records.path}: {len(numbers)} columns of numbers, and texts in {longest.name!r}: "
            f"give --text {longest.name}, or --matrix if the numbers are the counts"
        )
    return True


def _is_contingency_table(records: Records) -> bool:
    """Whether a table of few columns can only be a matrix: distinct names first, then counts."""
    columns = records.columns
    names = [c for c in columns if not c.is_number]
    counts = [c for c in columns if c.is_number]
    return (
        len(counts) >= 2
        and columns[0] in names
        and columns[0].is_distinct
        and usual_counts(c.name for c in counts) is None
        and all(c.wrong_number is None for c in names)
    )


@dataclass(frozen=True)
class MatrixColumns:
    """What the columns of a matrix are."""

    names: Sequence[Column]  # of rows
    counts: Sequence[Column]
    others: Sequence[Column]


def _count_matrix(records: Records, options: Arguments) -> NamedCounts:
    """A matrix of counts, with names of rows if columns hold some; InputError if unclear."""
    path = records.path
    columns = _divide(records, options)
    if not columns.counts:
        raise InputError(f"{path}: no columns of numbers: a matrix needs counts")
    X = np.column_stack([column.numbers for column in columns.counts])
    rows = [", ".join(values) for values in zip(*(c.strings for c in columns.names), strict=True)]
    names = [column.name for column in columns.counts]
    if any(not row.strip(" ,") for row in rows):
        i = next(i for i, row in enumerate(rows) if not row.strip(" ,"))
        raise InputError(
            f"{path}, {records.places[i]}: no name of the row in {_listed(columns.names)}"
        )
    notes = []
    if rows and (options.column_names if options.transpose else options.row_names) is None:
        note = f"rows are named by {_listed(columns.names)}"
        n_repeated = len(rows) - len(set(rows))
        notes.append(f"{note}, which repeats {n_repeated} names" if n_repeated else note)
    if columns.others:
        notes.append(f"left out: {_listed(columns.others)}")
    if not options.matrix:
        n_rows, n_columns = _without_totals(X)
        _check_counts(records, columns.counts[:n_columns])
        if n_columns < X.shape[1]:
            notes.append(f"left out: the last column, {names[-1]!r}, as it has the totals")
        if n_rows < len(X):
            last = rows[-1] if rows else records.places[-1]
            notes.append(f"left out: the last row, {last!r}, as it has the totals")
        X = X[:n_rows, :n_columns]
        rows = rows[:n_rows]
        names = names[:n_columns]
    title = f"{path}, a matrix of {X.shape[0]:,} x {X.shape[1]:,}"
    return name_matrix(sp.coo_array(X), rows or None, names, options, title, tuple(notes))


def _divide(records: Records, options: Arguments) -> MatrixColumns:
    columns = records.columns
    named: list[Column] = []
    others: list[Column] = []
    header = [column.name.strip().lower() for column in columns]
    for beginning, j in FORMATS.items():
        if tuple(header[: len(beginning)]) == beginning and not options.matrix:
            named = [columns[j]]
            others = [c for c in columns[: len(beginning)] if c is not columns[j]]
    if options.names is not None:
        named = [records.column(options.names)]
    elif not all(_numbers_lines(records.column(name)) for name in records.index):
        named = [records.column(name) for name in records.index]
    used = {column.name for column in (*named, *others)}
    rest = [column for column in columns if column.name not in used]
    labels = []
    for column in rest:
        is_count = column.is_number or (column.is_empty and column.name)
        if is_count and not _is_label(column, column is columns[0], options):
            continue
        if column is not columns[0] and (i := column.wrong_number) is not None:
            raise InputError(
                f"{records.path}, {records.places[i]}: {column.strings[i]!r} of {column.name!r} is "
                "not a number: write numbers such as 1234.5, and leave cells without a count "
                f"empty, or leave the column out by --drop {column.name}"
            )
        labels.append(column)
    named = named or _names_of_rows(labels)
    used = {column.name for column in (*named, *labels)} | used
    names = {column.name for column in named}
    others = [column for column in (*others, *labels) if column.name not in names]
    return MatrixColumns(named, [c for c in rest if c.name not in used], others)


def _is_label(column: Column, is_first: bool, options: Arguments) -> bool:
    """Whether numbers are names by the name of their column."""
    if is_first:
        name = column.name.strip()
        return bool(is_name_of_ids(name) or FIRST_IDENTIFIER.fullmatch(name))
    if options.matrix:
        return False
    filled = list(filter(None, column.strings))
    are_dates = bool(filled) and all(map(DATE.fullmatch, filled))
    return are_dates or bool(is_name_of_ids(column.name.strip()) and column.is_distinct)


def _names_of_rows(labels: Sequence[Column]) -> list[Column]:
    """The first column of distinct values, or two of distinct pairs, or the first of all."""
    labels = [column for column in labels if not column.is_empty]
    labels.sort(key=_numbers_lines)  # names of things before an index of pandas
    distinct = next((column for column in labels if column.is_distinct), None)
    if distinct is not None or len(labels) < 2:
        return labels[:1] if distinct is None else [distinct]
    pairs = list(zip(labels[0].strings, labels[1].strings, strict=True))
    return list(labels[:2] if len(set(pairs)) == len(pairs) else labels[:1])


def _check_counts(records: Records, counts: Sequence[Column]) -> None:
    """Raise InputError if numbers may be identifiers or measurements instead of counts."""
    n_rows = len(records.values)
    numbered = [c for c in counts if c.is_whole and c.is_distinct]
    identifiers = [
        c
        for c in counts
        if (is_name_of_ids(c.name.strip()) and c.name.lower() != "id")
        or (c in numbered and c is records.columns[0] and n_rows >= MIN_ROWS_FIRST)
        or (c in numbered and n_rows >= MIN_ROWS and _is_ordered(c.numbers))
        or (c in numbered and n_rows >= MIN_ROWS_DISTINCT and len(numbered) == 1)
    ]
    if identifiers:
        name = identifiers[0].name or "''"
        values = ", ".join(identifiers[0].strings[:3])
        raise InputError(
            f"{records.path}: column {name!r} may hold names instead of counts ({values}, ...): "
            f"give --names {name} if it names the rows, --matrix if it holds counts, --drop {name} "
            "to leave it out, or --row and --column if the lines are pairs"
        )
    fractions = [c for c in counts if not c.is_whole]
    flags = [c for c in counts if c.is_flag]
    measures = [c for c in counts if (c.numbers < 0).any()]
    measures += fractions if len(fractions) < len(counts) / 2 else []
    measures += flags if len(flags) < len(counts) else []
    for columns in (counts, counts[::-1]):  # words may have such names, too, but amid others
        is_measure = (c in measures or MEASURE.fullmatch(c.name.strip()) for c in columns)
        measures += [c for c, _ in takewhile(itemgetter(1), zip(columns, is_measure, strict=True))]
    measures = [c for c in counts if c in measures]
    if measures and len(measures) < max(len(counts), MIN_COLUMNS):
        options = " ".join(f"--drop {c.name}" for c in measures[:N_LISTED])
        raise InputError(
            f"{records.path}: {_listed(measures)} may hold measurements or labels, not counts: "
            f"leave these out by {options}, or give --matrix if they hold counts"
        )


def _is_ordered(numbers: Array) -> bool:
    """Whether distinct whole numbers rise, or are consecutive in any order."""
    return bool((np.diff(numbers) > 0).all() or np.ptp(numbers) == len(numbers) - 1)


def _without_totals(X: Array) -> tuple[int, int]:
    """The numbers of rows and columns without a last row and a last column of sums."""
    n, m = X.shape
    if m >= MIN_ROWS_TOTAL and n > 1 and X.any() and np.allclose(X[:, :-1].sum(1), X[:, -1]):
        m -= 1
    if n > MIN_ROWS_TOTAL and m > 1 and X.any() and np.allclose(X[:-1].sum(0), X[-1]):
        n -= 1
    return n, m


def _listed(columns: Sequence[Column]) -> str:
    names = ", ".join(
        repr(c.name) if c.name else "the column without a name" for c in columns[:N_LISTED]
    )
    more = len(columns) - N_LISTED
    return f"{names} and {more} others" if more > 0 else names


def _count_pairs(records: Records, options: Arguments) -> NamedCounts:
    path = records.path
    used = options.row, options.column
    names = [c.name for c in records.columns if c.name in used or not _numbers_lines(c)]
    sizes = [  # such as M and L; of few records, values may be misspelt numbers
        c.name
        for c in records.columns
        if len(c.strings) >= MIN_ROWS_FIRST and not c.is_number and c.wrong_number is None
    ]
    count = options.count or usual_counts(name for name in names if name not in (*used, *sizes))
    pair = [name for name in names if name != count]
    if len(pair) < 2:
        raise InputError(
            f"{path}: one column, {(pair or names)[0]!r}, but pairs need two besides counts; "
            "if it holds texts, name it with --text"
        )
    row = options.row or pair[0]
    column = options.column or pair[1]
    if row == column:
        raise InputError(f"{path}: rows and columns are both {row!r}")
    pair_columns = records.column(row), records.column(column)
    for name, values in ((c.name, c.strings) for c in pair_columns):
        if "" in values:
            raise InputError(
                f"{path}, {records.places[values.index('')]}: no value of {name!r}, in "
                f"{values.count('')} of {len(values)} records; remove these"
            )
        if any(isinstance(value, list) for value in records.column(name).values):
            raise InputError(
                f"{path}: lists in {name!r}: write a record for each item, such as by "
                f"df.explode({name!r})"
            )
        if options.column is None and 2 < len(values) == len(set(values)):  # not the user's choice
            raise InputError(
                f"{path}: each value of {name!r} occurs only once, but models need repeated "
                f"values: leave it out by --drop {name}, name a column of texts with --text, or "
                "those of pairs with --row and --column; if each column holds counts, give --matrix"
            )
    counts = [1.0] * len(records.values) if count is None else _parse_counts(records, count)
    unused = [c for c in records.columns if c.name in {*names} - {row, column, count}]
    if options.column is None and count is None:
        _check_pair(path, pair_columns, unused)
    rows, columns = (c.strings for c in pair_columns)
    row_names, i = _names_and_positions(rows)
    column_names, j = _names_and_positions(columns)
    X = sp.coo_array((counts, (i, j)), shape=(len(row_names), len(column_names)))
    kinds = f"values of {texts.excerpt(row)}", f"values of {texts.excerpt(column)}"
    title = f"{path}, pairs of {row!r} and {column!r}"
    title += ", each line counted once" if count is None else f", counts of {count!r}"
    return NamedCounts(X, row_names, column_names, title, kinds, notes=_unused(unused, count))


def _numbers_lines(column: Column) -> bool:
    """Whether a column is the index of a data frame, which has no name and numbers the lines."""
    return bool(PANDAS_INDEX.fullmatch(column.name)) and column.is_whole and column.is_distinct


def _check_pair(path: Path, pair: Sequence[Column], unused: Sequence[Column]) -> None:
    """Raise InputError if a pair that nobody asked for is as likely two columns of a matrix."""
    if any(map(_may_hold_counts, pair)) and sum(map(_may_hold_counts, unused)) >= 2:
        raise InputError(
            f"{path}: pairs, or a matrix of counts? Name the columns of pairs with --row and "
            f"--column, as in --row {pair[0].name} --column {pair[1].name}, or give --matrix"
        )


def _may_hold_counts(column: Column) -> bool:
    name = column.name.strip()
    return column.is_number and not (is_name_of_ids(name) or MEASURE.fullmatch(name))


def _unused(columns: Sequence[Column], count: str | None) -> tuple[str, ...]:
    if not columns:
        return ()
    note = f"not used: {_listed(columns)}"
    numbers = [c for c in columns if c.is_number]
    if count is None and len(numbers) == 1:
        note += f"; if {numbers[0].name!r} holds counts, give --count {numbers[0].name}"
    return (note,)


def _names_and_positions(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """Sorted distinct values, and the position of each value, without padded strings."""
    names = sorted(set(values))
    positions = {name: i for i, name in enumerate(names)}
    return names, [positions[value] for value in values]


def _parse_counts(records: Records, name: str) -> list[float]:
    counts = []
    for place, value in zip(records.places, records.field(name), strict=True):
        try:
            count = float(value)
        except ValueError:
            count = math.nan
        if not 0 <= count < math.inf:
            raise InputError(
                f"{records.path}, {place}: {value!r} is not a count: use numbers >= 0, such as 3 "
                "or 0.5"
            )
        counts.append(count)
    return counts
