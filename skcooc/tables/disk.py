"""Tables on disk: counts in bands of rows, with checksums, written and read block by block."""

from __future__ import annotations

import io
import json
import os
import pickle
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from skcooc.counts import (
    MAX_BAND_HEIGHT,
    Bands,
    CSRCounts,
    DiskCounts,
    check_block,
    float_table,
    without_zeros,
)
from skcooc.protocol import CSR, Array, TableLike, TableWarning, warn
from skcooc.protocol.decorators import validated
from skcooc.protocol.locks import exclusive
from skcooc.tables.blocks import POSITIVE, as_blocks, check_columns
from skcooc.tables.doubts import doubts
from skcooc.tables.dyads import as_table
from skcooc.tables.named import with_names
from skcooc.tables.names import checked_names, column_names_of

MAGIC = b"skcooc table, format 3"  # first in the file of facts; the number is raised at changes
FACTS = "facts.bin"  # a line with format and checksum, and an .npz
HEADER = 128  # bytes of an .npy file before its numbers
FILES = "rows", "codes", "others", "lengths", "columns"  # arrays of Bands, in their order
LIMITS = 1, 1, 2, 0, 0  # columns of Bands.limits that say where bands begin in these
BATCH_SIZE = 1000  # rows
WIDEST = 2**31 - 1  # columns: their indices take four bytes
CHUNK = 2**20  # numbers of a file that are converted at a time
KINDS = "u2", "u1", "f4 f8", "u2", "i4"  # types of the FILES
# Kind of the numbers of each fact, and its number of dimensions.
FACT_KINDS = {
    "shape": ("iu", 1),
    "height": ("iu", 0),
    "limits": ("i", 2),
    "headers": ("iu", 1),
    "checksums": ("iu", 2),
    "row_sums": ("f", 1),
    "column_sums": ("f", 1),
    "n_tokens": ("f", 0),
    "column_names": ("u", 1),  # JSON
}
# Errors of the readers of NumPy and SciPy for a file that is not what its name says.
UNREADABLE = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    NotImplementedError,
    OverflowError,
    EOFError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    SyntaxError,
)


class DiskTable:
    """A table of counts in a folder, written by ``save_table`` and opened by ``open_table``.

    ``fit`` sees all rows in every iteration, as if they were in memory: the system caches the files
    as long as it has room. Mixtures of the rows are in memory, too: with momentum about four times
    N K numbers of four bytes, if counts are float32. If that is too much, fit ``RowBlocks(table)``,
    block by block, which keeps no mixtures of rows.

    Iteration yields CSR arrays of ``batch_size`` rows, which ``transform`` takes. ValueError is
    raised when files are read whose checksums differ from those of writing: by every iteration, and
    when a fit of all rows begins.

    Read more in the :doc:`how-to guide </howto/large_data>`.

    Attributes
    ----------
    shape : tuple of int
        Number of rows N and of columns M.
    nnz : int
        Number of counts that are not zero.
    dtype : dtype
        Floating point type of the counts.
    batch_size : int
        Number of rows of a block.
    column_names : (M,) array, or None
        Names of the columns, if the tables that were written have names.

    See Also
    --------
    save_table : Writes the folder.
    RowBlocks : Tables whose rows, and states of them, do not fit into memory.
    """

    @validated({"path": [str, os.PathLike], "batch_size": POSITIVE})
    def __init__(self, path: str | os.PathLike[str], batch_size: int = BATCH_SIZE) -> None:
        self.path = Path(path)
        self.batch_size = batch_size
        facts = self._read_facts()
        n_rows, n_columns = facts["shape"].tolist()
        self.shape: tuple[int, int] = n_rows, n_columns
        self._height = int(facts["height"])
        self._limits = facts["limits"]
        self._headers = facts["headers"].tolist()
        self._checksums = facts["checksums"]
        self._sums = facts["row_sums"], facts["column_sums"], float(facts["n_tokens"])
        names = json.loads(facts["column_names"].tobytes())
        self.column_names = checked_names(names, n_columns, "column_names")
        self.nnz = int(self._limits[-1, 1])
        self.dtype: np.dtype[np.floating] = self._open_files("r")[2].dtype

    @property
    def counts(self) -> DiskCounts:
        """Counts for a fit of all rows; reads all files once to compare checksums."""
        # Nothing is written, but compiled loops know arrays that cannot be written as another type.
        rows, codes, others, lengths, columns = map(np.asarray, self._open_files("c"))
        bands = Bands(self.shape, self._height, rows, codes, others, lengths, columns, self._limits)
        for band in range(len(bands)):
            self._verify(bands.part(band, band + 1), band)
        return DiskCounts(bands, *self._sums)

    def __len__(self) -> int:
        return -(-self.shape[0] // self.batch_size)

    def __iter__(self) -> Iterator[CSR]:
        bands = map(self._read_band, range(len(self._limits) - 1))
        for block in regroup_rows((band.to_csr() for band in bands), self.batch_size):
            yield with_names(block, self.column_names)

    def __repr__(self) -> str:
        return f"<DiskTable: {self.nnz} counts of a table of shape {self.shape}>"

    def _read_facts(self) -> dict[str, Array]:
        if not (self.path / FACTS).is_file():
            raise FileNotFoundError(
                f"There is no table in {self.path}: give a folder that save_table wrote."
            )
        line, _, content = (self.path / FACTS).read_bytes().partition(b"\n")
        magic, _, checksum = line.rpartition(b" ")
        if checksum != _checksum(magic + content):
            raise self._damaged(FACTS, "was truncated or changed")
        if magic != MAGIC:
            raise ValueError(
                f"{self.path} is a {magic.decode(errors='replace')}; this version of skcooc reads "
                f"{MAGIC.decode()}. Write it again by save_table."
            )
        try:
            with np.load(io.BytesIO(content)) as archive:
                facts = dict(archive)
        except UNREADABLE as error:
            raise self._damaged(FACTS, f"cannot be read ({error})") from error
        if not describe_table(facts):
            raise self._damaged(FACTS, "does not describe a table")
        return facts

    def _open_files(self, mode: Literal["r", "c"]) -> list[Array]:
        arrays: list[Array] = []
        lengths = self._limits[-1, np.asarray(LIMITS)].tolist()
        columns = zip(FILES, self._headers, KINDS, lengths, strict=True)
        for name, header, kinds, length in columns:
            path = self.path / f"{name}.npy"
            if _header(path) != header:
                raise self._damaged(path.name, "was truncated or changed")
            try:
                array = np.load(path, mmap_mode=mode)
            except UNREADABLE as error:
                raise self._damaged(path.name, f"was truncated ({error})") from error
            if array.dtype.str[1:] not in kinds.split() or array.shape != (length,):
                raise self._damaged(path.name, f"does not hold {length} numbers of the type known")
            arrays.append(array)
        return arrays

    def _read_band(self, band: int) -> Bands:
        # A copy: the files are closed again, so that no more is in memory.
        ends = self._limits[band : band + 2]
        rows, codes, others, lengths, columns = (
            np.array(file[slice(*ends[:, limit])])
            for file, limit in zip(self._open_files("r"), LIMITS, strict=True)
        )
        shape = min(self._height, self.shape[0] - band * self._height), self.shape[1]
        limits = ends - ends[0]
        part = Bands(shape, self._height, rows, codes, others, lengths, columns, limits)
        self._verify(part, band)
        return part

    def _verify(self, part: Bands, band: int) -> None:
        changed = np.flatnonzero(checksums(part) != self._checksums[band])
        if changed.size:
            first = band * self._height
            raise self._damaged(
                f"{FILES[changed[0]]}.npy",
                f"was changed in rows {first} to {first + part.shape[0]}",
            )
        if not is_consistent(part):
            raise self._damaged("the content", f"does not fit together in band {band}")

    def _damaged(self, name: str, how: str) -> ValueError:
        return ValueError(f"{self.path} is a damaged table: {name} {how}. Write it again.")


@validated({"path": [str, os.PathLike], "batch_size": POSITIVE})
def open_table(path: str | os.PathLike[str], *, batch_size: int = BATCH_SIZE) -> DiskTable:
    """Open a table on disk; counts are read when they are needed.

    Parameters
    ----------
    path : path
        A folder that ``save_table`` wrote.
    batch_size : int, default=1000
        Number of rows of a block, if the table is read block by block.

    Returns
    -------
    table : DiskTable of shape (N, M)
        For ``fit`` of most estimators, as it is or as ``RowBlocks(table)``.

    Raises
    ------
    FileNotFoundError
        If there is no such table, or a file is missing.
    ValueError
        If files are damaged or of another format.

    Examples
    --------
    >>> import tempfile
    >>> from skcooc import AspectModel, RowBlocks, datasets, open_table, save_table
    >>> X = datasets.make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> folder = tempfile.mkdtemp() + "/counts"
    >>> save_table(folder, [X[:20], X[20:]])
    >>> table = open_table(folder, batch_size=25)
    >>> table
    <DiskTable: 849 counts of a table of shape (60, 40)>
    >>> [block.shape for block in table]
    [(25, 40), (25, 40), (10, 40)]
    >>> model = AspectModel(n_components=3, beta=0.9, random_state=0)
    >>> model.fit(table).embedding_.shape  # all rows in every iteration
    (60, 3)
    >>> model.fit(RowBlocks(table)).embedding_.shape  # block by block
    (0, 3)
    """
    return DiskTable(path, batch_size)


@validated({"path": [str, os.PathLike]})
def save_table(path: str | os.PathLike[str], blocks: Iterable[TableLike]) -> None:
    """Write a table of counts to disk, block by block, in the form that EM reads.

    An integer up to 255 takes one byte and its row two; six more are shared by all rows, of 4096,
    that have the same column. Other counts take one byte more than their type. Zeros are not
    stored, and repeated cells are added up. Names of columns are those of the first block: of a
    data frame, or of counts of :class:`~skcooc.NamedCounts`. Names of rows are not stored.

    Parameters
    ----------
    path : path
        A folder that does not exist yet. It appears when all is written. A process that is killed
        leaves hidden files next to it, which the next call with this path removes.
    blocks : iterable of array-likes, sparse arrays or matrices, or Dyads, each of shape (n, M)
        Read once: a generator will do; or one table. All get the type of the widest, as in a fit.

    Raises
    ------
    FileExistsError
        If ``path`` exists already.
    BlockingIOError
        If another process is writing to it.
    ValueError
        If ``path`` is empty, there are no blocks, their columns differ in number or names, or are
        more than 2^31 - 1, or counts are negative, not finite or all zero. If names of columns are
        neither strings nor numbers.

    Warns
    -----
    TableWarning
        If the first rows seem to hold something else than counts, such as a column of identifiers.

    See Also
    --------
    open_table : Opens the folder.
    """
    if not os.fspath(path):
        raise ValueError("path is empty: give the name of a folder that does not exist yet.")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path) as partial:
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists already: give another path, or delete it first.")
        partial.mkdir()
        named = iter(check_columns(as_blocks(blocks)))
        if (first := next(named, None)) is None:
            raise ValueError("Found no block: a table needs at least one.")
        checked = check_widths(map(_canonical, chain([first], named)))
        _write(partial, regroup_rows(checked, MAX_BAND_HEIGHT), column_names_of(first))
        os.replace(partial, path)


def describe_table(facts: dict[str, Array]) -> bool:
    """Whether facts are complete and agree with each other."""
    if set(facts) != set(FACT_KINDS):
        return False
    for name, (kind, n_dimensions) in FACT_KINDS.items():
        if facts[name].dtype.kind not in kind or facts[name].ndim != n_dimensions:
            return False
    limits = facts["limits"]
    if facts["shape"].shape != (2,) or limits.shape[1] != 3 or len(limits) < 2:
        return False
    n_rows, n_columns = facts["shape"].tolist()
    height = int(facts["height"])
    n_bands = len(limits) - 1
    row_sums = facts["row_sums"]
    column_sums = facts["column_sums"]
    totals = row_sums.sum(), column_sums.sum()
    return (
        min(n_rows, n_columns, height) > 0
        and max(n_columns, height) <= WIDEST
        and -(-n_rows // height) == n_bands
        and (row_sums.shape, column_sums.shape) == ((n_rows,), (n_columns,))
        and (facts["headers"].shape, facts["checksums"].shape) == ((5,), (n_bands, 5))
        and not limits[0].any()
        and not (limits[1:] < limits[:-1]).any()
        and bool(np.min(row_sums) >= 0 and np.min(column_sums) >= 0)  # nor NaN
        and bool(np.isclose(*totals, rtol=1e-6, atol=0) and totals[0] > 0)
        and bool(totals[0] * (1 - 1e-6) <= facts["n_tokens"])
        and bool(facts["n_tokens"] <= (totals[0] + limits[-1, 1]) * (1 + 1e-6))
    )


def is_consistent(part: Bands) -> bool:
    """Whether compiled loops can read a band: they trust all places in it."""
    return bool(
        (part.rows < part.shape[0]).all()
        and ((part.columns >= 0) & (part.columns < part.shape[1])).all()
        and (part.columns[1:] > part.columns[:-1]).all()
        and part.lengths.sum(dtype=np.int64) == len(part.rows)
        and np.count_nonzero(part.codes == 0) == len(part.others)
    )


def _canonical(block: TableLike) -> CSR:
    return without_zeros(float_table(check_block(as_table(block))))


def check_widths(blocks: Iterable[CSR]) -> Iterator[CSR]:
    n_columns = None
    for block in blocks:
        if block.shape[1] > WIDEST:
            raise ValueError(f"X has {block.shape[1]} columns, a table at most {WIDEST}.")
        n_columns = block.shape[1] if n_columns is None else n_columns
        if block.shape[1] != n_columns:
            raise ValueError(
                "All blocks should have the same number of columns. "
                f"Got {block.shape[1]} after {n_columns}."
            )
        yield block


def regroup_rows(blocks: Iterable[CSR], n_rows: int) -> Iterator[CSR]:
    """Regroup rows into blocks of ``n_rows`` rows; the last may have fewer."""
    parts: list[CSR] = []  # of the next block
    missing = n_rows  # rows that it still lacks
    for block in blocks:
        first = 0
        while block.shape[0] - first >= missing:
            yield sp.vstack([*parts, block[first : first + missing]], format="csr")
            first += missing
            parts = []
            missing = n_rows
        parts.append(block[first:])
        missing -= block.shape[0] - first
    if missing < n_rows:
        yield sp.vstack(parts, format="csr")


def _write(folder: Path, blocks: Iterator[CSR], column_names: Array | None) -> None:
    if (first := next(blocks, None)) is None:
        raise ValueError("No block has a row: a table needs at least one token.")
    listed = None if column_names is None else column_names.tolist()
    try:
        names = json.dumps(listed)
    except TypeError as error:
        raise ValueError(
            f"Only strings and numbers can be stored as names of columns ({error}). Rename the "
            "columns, such as by frame.columns.astype(str)."
        ) from error
    for message in doubts(first, None, column_names):
        warn(message, TableWarning)
    kinds = np.uint16, np.uint8, first.dtype, np.uint16, np.int32
    files = [
        GrowingArray(folder / f"{name}.npy", np.dtype(kind))
        for name, kind in zip(FILES, kinds, strict=True)
    ]
    row_sums = []
    sums = []
    limits = [np.zeros(3, dtype=np.int64)]
    column_sums = np.zeros(first.shape[1])
    n_tokens = 0.0
    for block in chain([first], blocks):
        counts = CSRCounts(block)
        band = Bands.of_matrix(block, MAX_BAND_HEIGHT)
        for name, file in zip(FILES, files, strict=True):
            file.append(getattr(band, name))
        limits.append(limits[-1] + band.limits[-1])
        sums.append(checksums(band))
        row_sums.append(counts.row_sums)
        column_sums += counts.column_sums
        n_tokens += counts.n_tokens
    if not n_tokens:
        raise ValueError("All counts are zero: a table needs at least one token.")
    n_rows = sum(map(len, row_sums))
    content = io.BytesIO()
    np.savez(
        content,
        shape=(n_rows, len(column_sums)),
        height=MAX_BAND_HEIGHT,
        limits=np.array(limits),
        headers=[_header(folder / f"{name}.npy") for name in FILES],
        checksums=np.array(sums),
        row_sums=np.concatenate(row_sums),
        column_sums=column_sums,
        n_tokens=n_tokens,
        column_names=np.frombuffer(names.encode(), dtype=np.uint8),
    )
    facts = content.getvalue()
    (folder / FACTS).write_bytes(MAGIC + b" " + _checksum(MAGIC + facts) + b"\n" + facts)


def _checksum(content: bytes) -> bytes:
    return b"%08x" % zlib.crc32(content)


def _header(path: Path) -> int:
    """CRC-32 of the header of an .npy file, which says what its numbers are."""
    with path.open("rb") as file:
        return zlib.crc32(file.read(HEADER))


def checksums(bands: Bands) -> Array:
    """CRC-32 of each of the FILES, (5,). Counts are float64, as files may get a wider type."""
    arrays = bands.rows, bands.codes, bands.others.astype(float), bands.lengths, bands.columns
    return np.array([zlib.crc32(np.ascontiguousarray(array).data) for array in arrays])


class GrowingArray:
    """An array in an .npy file, in whose header numpy leaves room to write its length again."""

    def __init__(self, path: Path, dtype: np.dtype) -> None:
        self.path = path
        self.dtype = dtype
        self.length = 0
        path.touch()

    def append(self, values: Array) -> None:
        """Write values at the end, in a type that holds them and those before."""
        common = np.result_type(self.dtype, values.dtype)
        if common != self.dtype:
            wider = GrowingArray(self.path.with_suffix(".wider"), common)
            for first in range(0, self.length, CHUNK):
                wider.append(np.load(self.path, mmap_mode="r")[first : first + CHUNK])
            os.replace(wider.path, self.path)
            self.dtype = common
        self.length += len(values)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        with self.path.open("r+b") as file:
            npy.write_array_header_1_0(file, header)
            file.seek(0, os.SEEK_END)
            file.write(np.ascontiguousarray(values, dtype=self.dtype).tobytes())
