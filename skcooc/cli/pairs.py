"""Counts of the pairs of two fields of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.fields import Column, listed, parse_number
from skcooc.cli.records import Records, check_thousands
from skcooc.cli.terminal import Arguments, argument
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.protocol import Array
from skcooc.tables.pairs import names_of_counts


def count_pairs(records: Records, options: Arguments) -> NamedCounts:
    """Counts of the pairs of two columns; InputError if others may be meant."""
    row, column, count = _columns_of_pairs(records, options)
    _check_names(records, row, column, is_chosen=options.column is not None)
    counts = np.ones(len(records)) if count is None else _parse_counts(records, count)
    row_names, i = _names_and_positions(row)
    column_names, j = _names_and_positions(column)
    shape = len(row_names), len(column_names)
    unused = [c for c in records.columns if c not in (row, column, count) and not c.is_index]
    may_be_counts = [c for c in unused if c.may_hold_counts] if count is None else []
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
            f"{records.path}: each value of {row.name!r} occurs equally often with each value of "
            f"{column.name!r}: if another column holds the counts, name it, as in "
            f"{argument('count', may_be_counts[0].name)}"
        )
    note = f"not used: {listed(unused)}"
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
    columns = [c for c in records.columns if c.name in used or not c.is_index]
    numbers = [c.name for c in columns if c.name not in used and c.holds_numbers]
    name = options.count or next(iter(names_of_counts(numbers, used)), None)
    sides = [c for c in columns if c.name != name]
    if len(sides) < 2:
        raise InputError(
            f"{records.path}: there is only one column, {(sides or columns)[0].name!r}, but pairs "
            "need two besides counts; if it holds texts, name it with --text"
        )
    row = sides[0] if options.row is None else records.column(options.row)
    column = sides[1] if options.column is None else records.column(options.column)
    if row is column:
        raise InputError(
            f"{records.path}: --row and --column are both {row.name!r}: name two different columns"
        )
    return row, column, None if name is None else records.column(name)


def _check_names(records: Records, *pair: Column, is_chosen: bool) -> None:
    """Raise InputError if columns have no name for each record, or no name twice."""
    for name in (column.name for column in pair if column.has_lists):
        raise InputError(
            f"{records.path}: {name!r} holds lists: write a record for each item, such as with "
            f"df.explode({name!r})"
        )
    for column in pair:
        name = column.name
        if n_empty := column.strings.count(""):
            position = column.strings.index("")
            advice = "remove these records"
            if position > 0 and 2 * n_empty > len(records):
                advice += f" or, if cells were merged, fill them with df[{name!r}].ffill()"
            raise InputError(
                f"{records.place(position)}: no value of {name!r}, in {n_empty} of {len(records)} "
                f"records: {advice}"
            )
        if not is_chosen and len(records) > 2 and column.is_distinct:
            raise InputError(
                f"{records.path}: each value of {name!r} occurs only once, but models need "
                f"repeated values: leave it out with {argument('drop', name)}, name a column of "
                "texts with --text, or those of pairs with --row and --column; if each column "
                "holds counts, give --matrix"
            )


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
    columns = [c for c in (row, column, *unused) if not c.holds_measures]
    if is_alias and column in columns[:-1]:
        columns.remove(column)
    example = columns[:2] if len(columns) > 1 else (row, column)
    advice = (
        "name the columns of pairs with --row and --column, as in "
        f"{argument('row', example[0].name)} {argument('column', example[1].name)}"
    )
    if len(may_be_counts) >= 2 and (row.may_hold_counts or column.may_hold_counts):
        raise InputError(
            f"{path}: this may hold pairs or a matrix of counts: {advice}, or give --matrix"
        )
    if measures := [c for c in (row, column) if c.holds_measures]:
        raise InputError(f"{path}: {listed(measures)} may hold times or measurements: {advice}")
    values = set(column.strings)
    names = (c for c in unused if not c.is_number)
    if shared := [c for c in names if 2 * len(values.intersection(c.strings)) > len(values)]:
        raise InputError(
            f"{path}: {listed([column, *shared])} hold the same values: if they are lists, write "
            f"a line for each value, as with df.melt, or {advice}"
        )
    if is_alias:
        raise InputError(
            f"{path}: each value of {row.name!r} or of {column.name!r} occurs with a single value "
            f"of the other column, as if one column named or grouped the other: {advice}"
        )


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
    check_thousands(records.path, [column])
    return np.array([numbers[value] for value in column.strings])
