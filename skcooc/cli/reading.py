"""Read the user's data: which reader takes a path; and matrices."""

from __future__ import annotations

import pickle
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import scipy.io
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.arguments import Options
from skcooc.cli.fields import table_of
from skcooc.cli.records import reader_of
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
    records = None if path.is_dir() else reader_of(path)
    if records is not None:
        return checked(table_of(records(path), options))
    _check_unnamed(path, options)
    if path.is_dir():
        return checked(texts.folder(path, options))
    name = path.name.lower()
    if name.endswith(".npz"):
        return checked(_matrix(path, sp.load_npz, "a sparse matrix of SciPy", options))
    if name.endswith((".mtx", ".mtx.gz")):
        return checked(_matrix(path, scipy.io.mmread, "in Matrix Market format", options))
    return checked(texts.lines(path, options))


def _check_unnamed(path: Path, options: Options) -> None:
    """InputError where a field is asked for, but none has a name."""
    for name in ("row", "column", "count", "text", "group", "time"):
        if getattr(options, name) is not None:
            raise InputError(
                f"{path}: --{name} is the name of a column of a .csv, .tsv, .jsonl, .json or "
                ".parquet file"
            )


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
