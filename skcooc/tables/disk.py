"""Tables on disk: compressed sparse rows in a folder, written and read block by block."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import DTypeLike
from sklearn.utils import check_array

from skcooc.counts import sound
from skcooc.protocol import CSR, Array, TableLike
from skcooc.protocol.decorators import validated
from skcooc.tables.blocks import MAX_PASSES, POSITIVE, RowBlocks
from skcooc.tables.dyads import as_table

BATCH_SIZE = 1000  # rows
WIDEST = 2**31 - 1  # columns: their indices take four bytes
CELLS = "data", "indices"  # arrays of the non-zeros
CHUNK = 2**20  # numbers of a file that are converted at a time


class CSRFolder:
    """Compressed sparse rows in a folder, as ``save_csr`` writes them; see ``open_csr``."""

    def __init__(self, path: Path, batch_size: int) -> None:
        self.path, self.batch_size = path, batch_size
        indptr, sizes = self._opened("indptr"), {len(self._opened(name)) for name in CELLS}
        self.shape = len(indptr) - 1, int(np.load(path / "n_columns.npy"))
        if indptr[[0, -1]].tolist() != [0, *sizes]:
            raise ValueError(f"{path} is a damaged table, whose files do not fit together.")

    def __iter__(self) -> Iterator[CSR]:
        for first in range(0, self.shape[0], self.batch_size):
            ends = self._read("indptr", slice(first, first + self.batch_size + 1))
            own = slice(int(ends[0]), int(ends[-1]))
            yield self._block(self._read("data", own), self._read("indices", own), ends - ends[0])

    def __len__(self) -> int:
        return -(-self.shape[0] // self.batch_size)

    def _block(self, data: Array, indices: Array, indptr: Array) -> CSR:
        """Rows as they were written; ValueError where the files were changed since."""
        try:
            rows = sp.csr_array((data, indices, indptr), (len(indptr) - 1, self.shape[1]))
        except ValueError as error:
            raise ValueError(f"{self.path} is a damaged table: {error}.") from error
        return sound(rows, str(self.path))

    def _read(self, name: str, part: slice) -> Array:
        """A part of an array. The file is closed again, so that no more of it is in memory."""
        return np.array(self._opened(name)[part])

    def _opened(self, name: str) -> Array:
        array: Array = np.load(self.path / f"{name}.npy", mmap_mode="r")
        return array


@validated({"batch_size": POSITIVE, "max_passes": POSITIVE})
def open_csr(
    path: str | os.PathLike[str], *, batch_size: int = BATCH_SIZE, max_passes: int = MAX_PASSES
) -> RowBlocks:
    """Open a table on disk; rows are read when they are needed.

    Parameters
    ----------
    path : path
        A folder that ``save_csr`` wrote.
    batch_size : int, default=1000
        Number of rows of a block.
    max_passes : int, default=10
        As in RowBlocks.

    Returns
    -------
    blocks : RowBlocks

    Raises
    ------
    FileNotFoundError
        Where there is no such table.
    ValueError
        Where the files do not fit together, now or when a block is read that was changed; where
        ``batch_size`` or ``max_passes`` is no positive int.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tempfile
    >>> from skcooc import open_csr, save_csr
    >>> X = sp.csr_array(np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_csr(folder + "/counts", [X[:2], X[2:]])
    ...     table = open_csr(folder + "/counts", batch_size=2)
    ...     [block.shape for block in table]
    [(2, 2), (1, 2)]
    >>> table
    <RowBlocks: 2 blocks of a table of shape (3, 2)>
    """
    return RowBlocks(CSRFolder(Path(path), batch_size), max_passes=max_passes)


def save_csr(path: str | os.PathLike[str], blocks: Iterable[TableLike]) -> None:
    """Write a table to disk, block by block.

    Parameters
    ----------
    path : path
        A folder that does not exist yet. It appears when all is written. A process that is killed
        leaves a hidden folder beside it, whose name ends with ``.skcooc-partial``.
    blocks : iterable of array-likes, sparse arrays or matrices, or Dyads, each of shape (n, M)
        Read once: a generator will do. Counts keep their type; where blocks have different
        ones, all get one that holds them.

    Raises
    ------
    FileExistsError
        Where something is at ``path`` already.
    ValueError
        Where there are no blocks, their numbers of columns differ or are above 2^31 - 1, or counts
        are negative or not finite.
    """
    with appearing(path) as folder:
        _write(folder, of_one_width(checked(block, "numeric") for block in blocks))


def checked(block: TableLike, dtype: DTypeLike | list[type]) -> CSR:
    """A block of rows that is to be written; ValueError where it holds no counts."""
    table = check_array(
        sound(as_table(block)),
        accept_sparse="csr",
        dtype=dtype,
        ensure_non_negative=np.shape(block)[:1] != (0,),
        ensure_min_samples=0,
        input_name="X",
    )
    return sp.csr_array(table)


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write to, which appears at ``path`` when all is written, and else not at all.

    Until then it is hidden beside it, by a name that is only this writer's.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists already.")
    partial = path.with_name(f".{path.name}.{uuid4().hex}.skcooc-partial")
    partial.mkdir(parents=True)
    try:
        yield partial
        if path.exists():
            raise FileExistsError(f"{path} was written by somebody else in the meantime.")
        os.replace(partial, path)  # fails where somebody was faster still
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def of_one_width(blocks: Iterable[CSR]) -> Iterator[CSR]:
    """The blocks; ValueError where there are none, their columns differ or are too many."""
    n_columns = None
    for block in blocks:
        if block.shape[1] > WIDEST:
            raise ValueError(f"X has {block.shape[1]} columns, a table at most {WIDEST}.")
        n_columns = block.shape[1] if n_columns is None else n_columns
        if block.shape[1] != n_columns:
            raise ValueError(
                "All blocks should have the same number of columns. Got "
                f"{block.shape[1]} after {n_columns}."
            )
        yield block
    if n_columns is None:
        raise ValueError("Found no block: a table needs at least one.")


def _write(folder: Path, blocks: Iterator[CSR]) -> None:
    first = next(blocks)
    np.save(folder / "n_columns.npy", first.shape[1])
    data = GrowingArray(folder / "data.npy", first.dtype)
    indices = GrowingArray(folder / "indices.npy", np.dtype(np.int32))
    indptr = GrowingArray(folder / "indptr.npy", np.dtype(np.int64))
    indptr.append(np.zeros(1, dtype=np.int64))
    for block in chain([first], blocks):
        indptr.append(block.indptr[1:].astype(np.int64) + data.length)
        data.append(block.data)
        indices.append(block.indices.astype(np.int32))


class GrowingArray:
    """A one-dimensional array in an .npy file, of which nobody knows how long it will be.

    numpy leaves room in the header for the length of the first axis to be written again.
    """

    def __init__(self, path: Path, dtype: np.dtype) -> None:
        self.path, self.dtype, self.length = path, dtype, 0
        path.touch()

    def append(self, values: Array) -> None:
        """Write values at the end, all in a type that holds them and those before."""
        common = np.result_type(self.dtype, values.dtype)
        if common != self.dtype:
            self._convert(common)
        self._write(values)

    def _convert(self, dtype: np.dtype) -> None:
        """Write all that is there once more, in another type."""
        wider = GrowingArray(self.path.with_suffix(".wider"), dtype)
        for first in range(0, self.length, CHUNK):
            wider.append(np.load(self.path, mmap_mode="r")[first : first + CHUNK])
        os.replace(wider.path, self.path)
        self.dtype = dtype

    def _write(self, values: Array) -> None:
        self.length += len(values)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        with self.path.open("r+b") as file:
            npy.write_array_header_1_0(file, header)
            file.seek(0, os.SEEK_END)
            file.write(np.ascontiguousarray(values, dtype=self.dtype).tobytes())
