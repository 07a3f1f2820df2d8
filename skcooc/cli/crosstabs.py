"""Matrices of counts in records: which columns hold counts, and which names of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from operator import attrgetter
from pathlib import Path
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from skcooc.cli.fields import N_LISTED, Column, is_nearly_number, listed
from skcooc.cli.matrices import name_matrix
from skcooc.cli.records import Records, check_thousands
from skcooc.cli.terminal import Arguments, argument
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.protocol import Array
from skcooc.tables.pairs import names_of_counts

MIN_COLUMNS = 10  # of numbers in a table that is taken for a matrix
MIN_LONG = 20  # words in the mean of texts that can be meant beside so many numbers
MIN_ROWS = 10  # where columns that number the rows are seen by their order
MIN_ROWS_DISTINCT = 30  # where a column of names is seen, as it alone has distinct numbers
FIRST_IDENTIFIER = re.compile(r"|#|year|row\.?names?", re.IGNORECASE)  # of the first column


def is_wide(records: Records) -> bool:
    """Whether so many columns hold numbers that the table is a matrix; InputError if unclear."""
    if len(records.columns) < MIN_COLUMNS:
        return False
    n_numbers = sum(column.holds_numbers for column in records.columns)
    if n_numbers < MIN_COLUMNS - 1 or 2 * n_numbers < len(records.columns):
        return False
    longest = max(records.columns, key=lambda column: column.mean_words)
    if longest.mean_words >= MIN_LONG:
        raise InputError(
            f"{records.path}: there are {n_numbers} columns of numbers, but also texts in "
            f"{longest.name!r}: give {argument('text', longest.name)} for topics of the texts, or "
            "--matrix if the numbers are counts"
        )
    return True


def is_contingency_table(records: Records) -> bool:
    """Whether a table of few columns can only be a matrix: distinct names first, then counts."""
    first = records.columns[0]
    numbers = [column.name for column in records.columns[1:] if column.holds_numbers]
    is_named = first.is_distinct and not first.holds_numbers
    return is_named and len(numbers) >= 2 and not names_of_counts(numbers)


@dataclass(frozen=True)
class MatrixColumns:
    """What the columns of a matrix are."""

    names: Sequence[Column]  # of rows
    counts: Sequence[Column]
    left_out: Sequence[Column]


def count_matrix(records: Records, options: Arguments) -> NamedCounts:
    """A matrix of counts, with names of rows if columns hold some; InputError if unclear."""
    columns = _divide(records, options)
    if not columns.counts:
        raise InputError(
            f"{records.path}: there are no columns of numbers: a matrix needs counts, such as 1 "
            "instead of a mark"
        )
    X = np.column_stack([column.numbers for column in columns.counts])
    names = [column.name for column in columns.counts]
    rows = [", ".join(values) for values in zip(*(c.strings for c in columns.names), strict=True)]
    if unnamed := [i for i, row in enumerate(rows) if not row.strip(" ,")]:
        raise InputError(
            f"{records.place(unnamed[0])}: this row has no name in "
            f"{listed(columns.names)}; fill it in"
        )
    notes = []
    if rows and (options.column_names if options.transpose else options.row_names) is None:
        note = f"rows are named by {listed(columns.names)}"
        n_repeated = len(rows) - len(set(rows))
        notes.append(f"{note}, where {n_repeated} names are repeated" if n_repeated else note)
    if columns.left_out:
        notes.append(f"left out: {listed(columns.left_out)}")
    if not options.matrix:
        lines = rows or [f"{records.unit} {number}" for number in records.numbers]
        X, (lines, names), totals = _without_totals(records.path, X, lines, names)
        notes += totals
        rows = lines if rows else []
        counted = set(names)
        counts = [c for c in columns.counts if c.name in counted]
        _check_identifiers(records, counts)
        check_thousands(records.path, counts)
        _check_measures(records, counts)
    title = f"{records.path}, a matrix of {X.shape[0]:,} x {X.shape[1]:,}"
    return name_matrix(sp.coo_array(X), rows or None, names, options, title, tuple(notes))


def _divide(records: Records, options: Arguments) -> MatrixColumns:
    """What each column is; InputError if most values of one are numbers, and some are not."""
    columns = records.columns
    names: list[Column] = []
    index = [records.column(name) for name in records.index]
    if options.names is not None:
        names = [records.column(options.names)]
    elif not all(column.is_index for column in index):
        names = index
    counts = []
    labels = []
    for column in columns:
        if column in names:
            continue
        is_count = column.is_number or (column.is_empty and column.name)
        if is_count and not _holds_names(column, is_first=column is columns[0]):
            counts.append(column)
        elif column is columns[0] or column.wrong_number is None:
            labels.append(column)
        else:
            _refuse_number(records, column, column.wrong_number)
    names = names or _names_of_rows(labels)
    return MatrixColumns(names, counts, [column for column in labels if column not in names])


def _refuse_number(records: Records, column: Column, position: int) -> NoReturn:
    value = column.strings[position]
    advice = "write numbers such as 1234.5, and leave cells without a count empty"
    if position == 0 and not is_nearly_number(value):
        advice = "remove this line if it holds units or repeats the names"
    raise InputError(
        f"{records.place(position)}: {value!r} in column {column.name!r} is not a number: "
        f"{advice}, or leave the column out with {argument('drop', column.name)}"
    )


def _holds_names(column: Column, *, is_first: bool) -> bool:
    """Whether numbers are names, by the name of their column."""
    if is_first and FIRST_IDENTIFIER.fullmatch(column.name):
        return True
    return column.has_name_of_ids and (is_first or column.is_distinct)


def _names_of_rows(labels: Sequence[Column]) -> list[Column]:
    """The first column of distinct values, or two of distinct pairs, or the first of all."""
    labels = [column for column in labels if not column.is_empty]
    labels.sort(key=attrgetter("is_index"))  # names of things before an index of pandas
    distinct = next((column for column in labels if column.is_distinct), None)
    if distinct is not None or len(labels) < 2:
        return labels[:1] if distinct is None else [distinct]
    pairs = list(zip(labels[0].strings, labels[1].strings, strict=True))
    return list(labels[:2] if len(set(pairs)) == len(pairs) else labels[:1])


def _check_identifiers(records: Records, counts: Sequence[Column]) -> None:
    """Raise InputError if numbers may be names of rows instead of counts."""
    n_rows = len(records)
    first = records.columns[0]
    numbered = {c for c in counts if c.is_whole and c.is_distinct}
    for column in counts:
        numbers_rows = column in numbered and (
            column is first
            or (n_rows >= MIN_ROWS and np.ptp(column.numbers) == n_rows - 1)
            or (n_rows >= MIN_ROWS_DISTINCT and len(numbered) == 1)
        )
        if numbers_rows or (column.has_name_of_ids and column.name.lower() != "id"):  # a word, too
            name = column.name
            raise InputError(
                f"{records.path}: column {name!r} may hold names instead of counts "
                f"({', '.join(column.strings[:3])}, ...): give {argument('names', name)} if it "
                f"names the rows, --matrix if it holds counts, {argument('drop', name)} to leave "
                "it out, or --row and --column if lines are pairs"
            )
    levels = list(zip(*(c.numbers.tolist() for c in counts[:2]), strict=True))
    if counts[0] is first and n_rows >= MIN_ROWS and all(a < b for a, b in pairwise(levels)):
        options = " ".join(argument("drop", c.name) for c in counts[:2])
        raise InputError(
            f"{records.path}: {listed(counts[:2])} may name the rows together, as two levels of an "
            f"index: join them in one column of texts, leave them out with {options}, or give "
            "--matrix if they hold counts"
        )


def _check_measures(records: Records, counts: Sequence[Column]) -> None:
    """Raise InputError if numbers may be measurements or labels instead of counts."""
    fractions = [c for c in counts if not c.is_whole]
    flags = [c for c in counts if c.is_flag]
    measures = {c for c in counts if (c.numbers < 0).any()}
    measures.update(fractions if len(fractions) <= len(counts) / 2 else ())
    measures.update(flags if len(flags) < len(counts) else ())
    for columns in (counts, counts[::-1]):  # words may have such names, too, but amid others
        measures.update(takewhile(attrgetter("has_name_of_measures"), columns))
    if measures:
        suspects = [c for c in counts if c in measures]
        options = " ".join(argument("drop", c.name) for c in suspects[:N_LISTED])
        raise InputError(
            f"{records.path}: {listed(suspects)} may hold measurements or labels, not counts: "
            f"leave them out with {options}, or give --matrix if they hold counts"
        )


def _without_totals(
    path: Path, X: Array, *names: list[str]
) -> tuple[Array, list[list[str]], list[str]]:
    """A matrix without a row and a column of totals, its names, and notes on them.

    InputError if totals are those of a part of the others, beside which more may be no counts.
    """
    remaining = []
    notes = []
    for axis, (side, labels) in enumerate(zip(("row", "column"), names, strict=True)):
        table = X if axis else X.T
        total = _find_total(table)
        if total is None:
            remaining.append(labels)
            continue
        name = labels[total]
        if not np.allclose(table.sum(axis=1), 2 * table[:, total]):
            way = argument("drop", name) if axis else "remove its line"
            raise InputError(
                f"{path}: {side} {name!r} is the sum of some other {side}s: leave it out ({way}), "
                f"and all {side}s that do not hold counts, or give --matrix if all hold counts"
            )
        notes.append(f"left out: the {side} {name!r}, because it holds totals")
        remaining.append([label for i, label in enumerate(labels) if i != total])
        X = np.delete(X, total, axis)
    return X, remaining, notes


def _find_total(X: Array) -> int | None:
    """A column that is the sum of at least half of the others, all before or all after it."""
    m = X.shape[1]
    for step in (1, -1):
        table = X[:, ::step]
        sums = table.sum(axis=0)
        partial_sums = sums.cumsum()
        last = np.searchsorted(partial_sums, sums * (1 - 1e-9))  # of the columns that are summed
        is_total = (sums > 0) & (last >= max(1, (m - 3) / 2)) & (last < np.arange(m))
        is_total &= np.isclose(partial_sums[np.minimum(last, m - 1)], sums)
        for j in np.flatnonzero(is_total)[::-1].tolist():
            if np.allclose(table[:, : last[j] + 1].sum(axis=1), table[:, j]):
                return j if step == 1 else m - 1 - j
    return None
