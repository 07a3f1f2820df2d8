"""Tables larger than memory: blocks of rows that are read anew in every pass, and CSR on disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from skcooc.counts.csr import CSRCounts
from skcooc.protocol import Array

BATCH_SIZE = 1000  # rows
MAX_PASSES = 10


class RowBlocks:
    """A table of counts that is read block by block, in every pass from the beginning.

    ``fit`` of the estimators that have ``partial_fit`` takes it, and needs memory for one block of
    rows, a sample of rows and the parameters, however many rows there are.

    Parameters
    ----------
    blocks : iterable of array-likes, sparse arrays or matrices, each of shape (n, M)
        Blocks of rows; a row is in one of them. It is iterated over several times: a list, or an
        object whose ``__iter__`` reads them again, but not a generator. Blocks of about equally
        many observations, each a fair sample of the rows, are best.
    max_passes : int, default=10
        How often ``fit`` goes through all blocks at most, after it has drawn its sample.

    Raises
    ------
    TypeError
        Where ``blocks`` is not iterable, or can be read only once.

    See Also
    --------
    open_csr : A table on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import AspectModel, RowBlocks
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> blocks = RowBlocks([X[:20], X[20:40], X[40:]])
    >>> model = AspectModel(n_components=3, random_state=0).fit(blocks)
    >>> model.components_.shape
    (3, 40)
    """

    def __init__(self, blocks: Iterable[Any], *, max_passes: int = MAX_PASSES) -> None:
        if isinstance(blocks, Iterator) or not isinstance(blocks, Iterable):
            raise TypeError(
                "blocks should be an iterable that can be read several times, such as a list or an "
                f"object with a method __iter__. Got {type(blocks).__name__}."
            )
        self.blocks, self.max_passes = blocks, max_passes

    def __iter__(self) -> Iterator[Any]:
        return iter(self.blocks)


class CSRFolder:
    """Compressed sparse rows in a folder, as ``save_csr`` writes them; see ``open_csr``."""

    def __init__(self, path: Path, batch_size: int) -> None:
        self.path, self.batch_size = path, batch_size
        self.shape = len(self._opened("indptr")) - 1, int(np.load(path / "n_columns.npy"))

    def __iter__(self) -> Iterator[sp.csr_array]:
        for first in range(0, self.shape[0], self.batch_size):
            ends = self._read("indptr", slice(first, first + self.batch_size + 1))
            own = slice(int(ends[0]), int(ends[-1]))
            arrays = self._read("data", own), self._read("indices", own), ends - ends[0]
            yield sp.csr_array(arrays, shape=(len(ends) - 1, self.shape[1]))

    def _read(self, name: str, part: slice) -> Array:
        """A part of an array. The file is closed again, so that no more of it is in memory."""
        return np.array(self._opened(name)[part])

    def _opened(self, name: str) -> Array:
        array: Array = np.load(self.path / f"{name}.npy", mmap_mode="r")
        return array


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

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tempfile
    >>> from skcooc import open_csr, save_csr
    >>> X = sp.csr_array(np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_csr(folder + "/counts", [X[:2], X[2:]])
    ...     [block.shape for block in open_csr(folder + "/counts", batch_size=2)]
    [(2, 2), (1, 2)]
    """
    return RowBlocks(CSRFolder(Path(path), batch_size), max_passes=max_passes)


def save_csr(path: str | os.PathLike[str], blocks: Iterable[Any]) -> None:
    """Write a table to disk, block by block.

    Parameters
    ----------
    path : path
        A folder that does not exist yet. It appears when all is written.
    blocks : iterable of array-likes, sparse arrays or matrices, each of shape (n, M)
        Read once: a generator will do.

    Raises
    ------
    FileExistsError
        Where something is at ``path`` already.
    ValueError
        Where there are no blocks, or their numbers of columns differ.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists already.")
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a writer that was interrupted
    partial.mkdir(parents=True)
    try:
        _write(partial, (sp.csr_array(block) for block in blocks))
        os.replace(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(folder: Path, blocks: Iterator[sp.csr_array]) -> None:
    first = next(blocks, None)
    if first is None:
        raise ValueError("Found no block: a table needs at least one.")
    n_columns = first.shape[1]
    np.save(folder / "n_columns.npy", n_columns)
    data = GrowingArray(folder / "data.npy", first.dtype)
    indices = GrowingArray(folder / "indices.npy", np.dtype(np.int32))
    indptr = GrowingArray(folder / "indptr.npy", np.dtype(np.int64))
    indptr.append(np.zeros(1))
    for block in chain([first], blocks):
        if block.shape[1] != n_columns:
            raise ValueError(
                "All blocks should have the same number of columns. Got "
                f"{block.shape[1]} after {n_columns}."
            )
        indptr.append(block.indptr[1:].astype(np.int64) + data.length)
        data.append(block.data)
        indices.append(block.indices)


class GrowingArray:
    """A one-dimensional array in an .npy file, of which nobody knows how long it will be.

    numpy leaves room in the header for the length of the first axis to be written again.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path, self.dtype, self.length = path, dtype, 0
        path.touch()

    def append(self, values: Array) -> None:
        """Write values at the end."""
        self.length += len(values)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        with self.path.open("r+b") as file:
            npy.write_array_header_1_0(file, header)
            file.seek(0, os.SEEK_END)
            file.write(np.ascontiguousarray(values, dtype=self.dtype).tobytes())


class Sample(NamedTuple):
    """What one pass over a table leaves in memory."""

    rows: sp.csr_array  # of (n, M), drawn without replacement, in the order of the table
    row_weights: Array | None  # (n,)
    column_sums: Array  # (M,): observations of each column of the whole table


def sampled(
    tables: Iterable[tuple[Any, Array | None]], n_rows: int, rng: np.random.Generator
) -> Sample:
    """Draw rows of a table while it is read; all have the same chance.

    Parameters
    ----------
    tables : iterable of pairs
        CSR array or matrix of shape (n, M), and weights of its rows, (n,), or None.
    n_rows : int
        Number of rows drawn; all where there are fewer.
    rng : numpy Generator

    Returns
    -------
    sample : Sample

    Raises
    ------
    ValueError
        Where there are no tables.
    """
    reservoir = _Reservoir(n_rows)
    column_sums: Any = 0.0
    for table, row_weights in tables:
        counts = CSRCounts(table, row_weights)
        reservoir.add(table, counts.row_weights, rng.random(table.shape[0]))
        column_sums = column_sums + counts.column_sums
    if not reservoir.rows:
        raise ValueError("Found no block: a table needs at least one.")
    reservoir.shrink()
    weights = None if row_weights is None else np.concatenate(reservoir.weights)
    return Sample(sp.vstack(reservoir.rows, format="csr"), weights, column_sums)


class _Reservoir:
    """The rows with the smallest keys of all that were added."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.limit = n_rows, np.inf
        self.rows: list[Any] = []
        self.weights: list[Array] = []
        self.keys: list[Array] = []

    def add(self, table: Any, weights: Array, keys: Array) -> None:
        chosen = keys < self.limit
        self.rows.append(sp.csr_array(table)[chosen])
        self.weights.append(weights[chosen])
        self.keys.append(keys[chosen])
        if sum(map(len, self.keys)) > 2 * self.n_rows:  # copies each row a few times in all
            self.shrink()

    def shrink(self) -> None:
        keys = np.concatenate(self.keys)
        if len(keys) > self.n_rows:
            self.limit = np.partition(keys, self.n_rows)[self.n_rows]
            chosen = keys < self.limit
            self.rows = [sp.vstack(self.rows, format="csr")[chosen]]
            self.weights = [np.concatenate(self.weights)[chosen]]
            self.keys = [keys[chosen]]
