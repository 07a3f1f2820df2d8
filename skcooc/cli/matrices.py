"""Matrices of counts in files, and the names of their rows and columns."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.fields import is_number
from skcooc.cli.records import table_suffix
from skcooc.cli.terminal import Arguments
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.counts import check_sparse_structure
from skcooc.protocol import Array
from skcooc.tables.disk import UNREADABLE

MAX_NAMES = 10**7  # rows or columns, as each has a name


def read_matrix(path: Path, options: Arguments) -> NamedCounts:
    """A matrix of a .npz, .npy or .mtx; InputError if it is none."""
    reader, kind = READERS[table_suffix(path)]
    try:
        # Opened here: given a path, NumPy leaves a damaged file open, and mmread does not tell a
        # missing file from a damaged one.
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # SciPy 1.18: matrix or array?
            X = reader(path, file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or f'not {kind}'}") from error
    except UNREADABLE as error:
        raise InputError(f"{path}: not {kind}") from error
    if X.ndim != 2:
        raise InputError(f"{path}: an array of {X.ndim} dimensions, not a matrix")
    if max(X.shape) > MAX_NAMES:
        raise InputError(
            f"{path}: a matrix of {X.shape[0]} x {X.shape[1]}, but at most {MAX_NAMES} rows or "
            "columns can be named: remove those without counts"
        )
    return name_matrix(sp.coo_array(X), None, None, options, str(path))


def _read_dense(path: Path, file: io.BufferedReader) -> Array:
    X = np.load(file, allow_pickle=False)
    if not isinstance(X, np.ndarray):  # an archive
        raise ValueError("several arrays")
    if X.dtype.kind not in "biufc":
        raise InputError(f"{path}: an array of type {X.dtype}, not numbers")
    return X


READERS: dict[str, tuple[Callable, str]] = {
    ".npz": (
        lambda path, file: check_sparse_structure(sp.load_npz(file)),
        "a sparse matrix of SciPy",
    ),
    ".npy": (_read_dense, "an array of NumPy"),
    ".mtx": (
        lambda path, file: check_sparse_structure(scipy.io.mmread(path)),
        "in Matrix Market format",
    ),
}


def is_bag_of_words(text: str) -> bool:
    """Whether a file has the format docword.txt of the UCI repository."""
    lines = text.split("\n", 4)[:4]
    widths = [len(line.split()) for line in lines]
    return widths == [1, 1, 1, 3] and all(is_number(n) for line in lines for n in line.split())


def read_bag_of_words(path: Path, text: str, options: Arguments) -> NamedCounts:
    """Documents and words of a docword.txt; words are named by the vocab.txt beside it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # of text that is no number
            numbers = np.fromstring(text, dtype=np.int64, sep=" ")
    except (ValueError, DeprecationWarning) as error:
        raise InputError(
            f"{path}: all values below the three header lines must be whole numbers"
        ) from error
    n, m, size = numbers[:3].tolist()
    triples = numbers[3:]
    if len(triples) != 3 * size:
        raise InputError(
            f"{path}: there are {len(triples) / 3:g} lines of document, word and count, but the "
            f"third line announces {size}"
        )
    i, j, counts = triples.reshape(-1, 3).T
    if size and not (1 <= i.min() <= i.max() <= n and 1 <= j.min() <= j.max() <= m):
        raise InputError(
            f"{path}: documents must be numbered from 1 to {n}, and words from 1 to {m}"
        )
    if max(n, m) > MAX_NAMES:
        raise InputError(f"{path}: {n} x {m}, but at most {MAX_NAMES} rows or columns can be named")
    X = sp.coo_array((counts, (i - 1, j - 1)), shape=(n, m))
    name = path.name.replace("docword", "vocab", 1)
    names = [path.with_name(name), path.with_name(name.removesuffix(".gz"))]
    vocabulary = next((file for file in names if file != path and file.exists()), None)
    words = None
    notes: tuple[str, ...] = ()
    if vocabulary is not None and options.column_names is None:
        words, source = read_names(vocabulary, options.encoding, (n, m), 1)
        notes = (f"columns are named by {source}",)
    return name_matrix(X, None, words, options, f"{path}, a bag of words", notes)


def name_matrix(
    X: sp.coo_array,
    row_names: Sequence[str] | None,
    column_names: Sequence[str] | None,
    options: Arguments,
    title: str,
    notes: tuple[str, ...] = (),
) -> NamedCounts:
    """The matrix, transposed if that is asked for, with names of its rows and columns."""
    names = [row_names, column_names]
    if options.transpose:
        X = X.T
        names.reverse()
        notes = (*notes, "rows and columns are exchanged (--transpose)")
    numbered = []
    for axis, path in enumerate((options.row_names, options.column_names)):
        side = ("row", "column")[axis]
        if path is not None:
            names[axis], source = read_names(path, options.encoding, X.shape, axis)
            notes = (*notes, f"{side}s are named by {source}")
        elif names[axis] is None:
            names[axis] = [f"{side} {i}" for i in range(X.shape[axis])]
            numbered.append(side)
    if numbered:
        notes = (
            *notes,
            f"{' and '.join(f'{side}s' for side in numbered)} have no names: give "
            + " and ".join(f"--{side}-names FILE" for side in numbered),
        )
    return NamedCounts(X, names[0] or (), names[1] or (), title, notes=notes)


def read_names(
    path: Path, encoding: str | None, shape: tuple[int, int], axis: int
) -> tuple[Sequence[str], str]:
    """Names of rows or columns in the lines of a file, and which of its columns has them."""
    lines = texts.split_lines(texts.read_text(path, encoding))
    separator = "," if table_suffix(path) == ".csv" else "\t"
    try:
        fields = list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        fields = [[line] for line in lines]
    source = str(path)
    width = len(fields[0]) if fields else 0
    names = lines
    if width and all(len(line) == width for line in fields):
        columns = list(zip(*fields, strict=True))
        # Genes have an identifier and a symbol, words that pandas wrote a number and a name.
        j = int(width > 1 and len(set(columns[1])) == len(lines))
        names = list(columns[j])
        if width > 1:
            source += f", column {j + 1} of {width}"
    size = shape[axis]
    if len(names) == size:
        return names, source
    side = ("row", "column")[axis]
    advice = ""
    if len(names) == shape[1 - axis]:
        other = ("row", "column")[1 - axis]
        advice = f" and {len(names)} {other}s: give --transpose, or --{other}-names"
    elif len(names) == size + 1:
        advice = f": is its first line, {texts.excerpt(lines[0])!r}, a header? Remove it"
    elif len(names) == size - 1:
        advice = ": is a line missing, perhaps the first?"
    raise InputError(f"{path}: {len(names)} names, but the matrix has {size} {side}s{advice}")
