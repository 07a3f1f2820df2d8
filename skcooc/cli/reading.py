"""Read the user's data: which reader takes a path, pairs of names, and matrices."""

from __future__ import annotations

import csv
import io
import math
import pickle
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.arguments import Options
from skcooc.cli.table import InputError, Table, checked
from skcooc.counts import sound

# What the readers of NumPy and SciPy raise where a file is not what its name says.
MISREAD = (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, OverflowError)
LARGEST = 10**7  # rows or columns, each of which has a name
DAMAGED = (*MISREAD, EOFError, pickle.UnpicklingError, zipfile.BadZipFile, zlib.error)


def read(options: Options) -> Table:
    """The data that the user asked for; InputError where they cannot be read or used."""
    path = options.data
    if path is None:
        return checked(texts.docstrings(options))
    if path.is_dir():
        return checked(texts.folder(path, options))
    name = path.name.lower()
    if name.endswith((".csv", ".tsv")):
        return checked(_pairs(path, "," if name.endswith(".csv") else "\t", options))
    if name.endswith(".npz"):
        return checked(_matrix(path, sp.load_npz, "a sparse matrix of SciPy", options))
    if name.endswith((".mtx", ".mtx.gz")):
        return checked(_matrix(path, scipy.io.mmread, "in Matrix Market format", options))
    return checked(texts.lines(path, options))


def _matrix(path: Path, load: Callable[[Path], sp.sparray], what: str, options: Options) -> Table:
    try:
        path.open("rb").close()  # mmread does not tell a missing file from a damaged one
        X = sound(load(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or f'not {what}'}") from error
    except DAMAGED as error:
        raise InputError(f"{path}: not {what}") from error
    if X.ndim != 2:
        raise InputError(f"{path}: an array of {X.ndim} dimensions, not a matrix")
    if max(X.shape) > LARGEST:
        raise InputError(
            f"{path}: a matrix of {X.shape[0]} x {X.shape[1]}, but {LARGEST} rows or columns are "
            "the most that can be named: leave out those without counts"
        )
    row_names = _names(options.row_names, X.shape[0], "row")
    X = sp.coo_array(X)
    return Table(X, row_names, _names(options.column_names, X.shape[1], "column"), str(path))


def _names(path: Path | None, size: int, what: str) -> Sequence[str]:
    if path is None:
        return [f"{what} {i}" for i in range(size)]
    names = texts.lines_of(path)
    if len(names) != size:
        raise InputError(f"{path}: {len(names)} names, but the matrix has {size} {what}s")
    return names


def _pairs(path: Path, separator: str, options: Options) -> Table:
    """The counts of pairs; lines with the same pair are added up."""
    lines = csv.reader(io.StringIO(texts.decode(path)), delimiter=separator, strict=True)
    try:
        header = next(lines, [])
        row, column, count = _positions(path, header, options)
        cells = [
            _cell(f"{path}, line {lines.line_num}", fields, len(header), (row, column), count)
            for fields in lines
            if fields
        ]
    except csv.Error as error:
        raise InputError(f"{path}, line {lines.line_num}: {error}") from error
    if not cells:
        raise InputError(f"{path}: no pairs")
    rows, columns, counts = zip(*cells, strict=True)
    row_names, i = np.unique(rows, return_inverse=True)
    column_names, j = np.unique(columns, return_inverse=True)
    X = sp.coo_array((counts, (i, j)), shape=(len(row_names), len(column_names)))
    kinds = f"distinct {header[row]}", f"distinct {header[column]}"
    return Table(X, row_names.tolist(), column_names.tolist(), str(path), kinds)


def _positions(path: Path, header: list[str], options: Options) -> tuple[int, int, int | None]:
    """Where in a line the row, the column and the count are."""
    if len(header) < 2:
        raise InputError(f"{path}: a header line with two names or more is needed")

    def find(name: str) -> int:
        if name not in header:
            raise InputError(f"{path}: no column {name!r}; the header is {', '.join(header)}")
        return header.index(name)

    row = 0 if options.row is None else find(options.row)
    column = 1 if options.column is None else find(options.column)
    if row == column:
        raise InputError(f"{path}: rows and columns are both {header[row]!r}")
    if options.count is not None:
        return row, column, find(options.count)
    return row, column, find("count") if "count" in header else None


def _cell(
    where: str, fields: list[str], n_fields: int, names: tuple[int, int], count: int | None
) -> tuple[str, str, float]:
    """The names and the count of a line."""
    if len(fields) != n_fields:
        raise InputError(f"{where}: number of fields is {len(fields)}, in the header {n_fields}")
    row, column = (fields[position] for position in names)
    if count is None:
        return row, column, 1.0
    try:
        value = float(fields[count])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"{where}: {fields[count]!r} is not a count")
    return row, column, value
