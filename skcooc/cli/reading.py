"""Read the user's data: which reader takes a path; and matrices."""

from __future__ import annotations

import pickle
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import scipy.io
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.arguments import Options, given
from skcooc.cli.fields import table_of
from skcooc.cli.progress import SILENT, Screen
from skcooc.cli.records import reader_of
from skcooc.cli.table import InputError, Table, checked
from skcooc.counts import sound

# What the readers of NumPy and SciPy raise where a file is not what its name says.
MISREAD = (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, OverflowError)
LARGEST = 10**7  # rows or columns, each of which has a name
FIELDS = "row", "column", "count", "text", "group", "time"  # options: names of columns
NAMES = "row_names", "column_names"  # those of matrices
LIMITS = "min_df", "max_df"  # those of texts
DAMAGED = (*MISREAD, EOFError, pickle.UnpicklingError, zipfile.BadZipFile, zlib.error)


def _npz(path: Path) -> sp.sparray:
    with path.open("rb") as file:  # of a path, NumPy leaves a damaged file open
        return sp.load_npz(file)


class Format(NamedTuple):
    """A format of matrices."""

    ends: tuple[str, ...]  # of names
    load: Callable[[Path], Any]
    what: str


MATRICES = (
    Format((".npz",), _npz, "a sparse matrix of SciPy"),
    Format((".mtx", ".mtx.gz"), scipy.io.mmread, "in Matrix Market format"),
)


def read(options: Options, screen: Screen = SILENT) -> Table:
    """The data that the user asked for; InputError where they cannot be read or used."""
    if options.data is not None:
        return checked(_table(options.data, options, screen))
    if option := given(options, *FIELDS, *NAMES):
        raise InputError(f"{option} needs DATA, a file")
    return checked(texts.docstrings(options, screen))


def _table(path: Path, options: Options, screen: Screen) -> Table:
    try:
        path.stat()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    is_folder, name = path.is_dir(), path.name.lower()
    records = None if is_folder else reader_of(path)
    format = next((f for f in MATRICES if not is_folder and name.endswith(f.ends)), None)
    _check_options(path, options, named=records is not None, matrix=format is not None)
    if records is not None:
        with screen.step(f"reading {path}"):
            found = records(path)
        return table_of(found, options, screen)
    if format is not None:
        with screen.step(f"reading {path}"):
            return _matrix(path, format, options)
    return (texts.folder if is_folder else texts.lines)(path, options, screen)


def _check_options(path: Path, options: Options, named: bool, matrix: bool) -> None:
    """InputError where an option is of other data: with named columns, or a matrix, or neither."""
    if not matrix and (option := given(options, *NAMES)):
        raise InputError(f"{path}: {option} is of matrices, .npz or .mtx")
    if not named and (option := given(options, *FIELDS)):
        raise InputError(
            f"{path}: {option} is the name of a column of a .csv, .tsv, .jsonl, .json or .parquet "
            "file"
        )
    if matrix and (option := given(options, *LIMITS)):
        raise InputError(f"{path}: {option} is of texts")


def _matrix(path: Path, format: Format, options: Options) -> Table:
    try:
        path.open("rb").close()  # mmread does not tell a missing file from a damaged one
        X = sound(format.load(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or f'not {format.what}'}") from error
    except DAMAGED as error:
        raise InputError(f"{path}: not {format.what}") from error
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
