"""Compact tables on disk: four bytes for a count of a text, for fits that see all rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skcooc.counts import TALLEST, Bands, CompactCounts, CSRCounts, Margins
from skcooc.protocol import CSR, Need, TableLike
from skcooc.tables.dask import check_needs
from skcooc.tables.disk import GrowingArray, appearing, checked, of_one_width

FILES = "rows", "codes", "others", "lengths", "columns"  # arrays of Bands, in their order


class CompactTable:
    """A table of counts in a folder, as ``save_compact`` writes it.

    ``fit`` takes it and sees all rows in every iteration, as if they were in memory: what is read
    of the files stays there as long as the system has room. States of the rows are in memory, too:
    with momentum some four times N K numbers of four bytes, if counts are float32. Where that is
    too much, ``RowBlocks`` keeps no states of rows. Iterated over, it is CSR arrays, blocks of
    rows, such as ``transform`` takes. Let ``open_compact`` make it.

    Attributes
    ----------
    shape : tuple of int
        Number of rows N and of columns M.
    nnz : int
        Number of counts that are not zero.
    dtype : dtype
        Floating point type of the counts.

    See Also
    --------
    save_compact : Writes the folder.
    RowBlocks : Tables whose rows, and states of them, are more than there is room for.
    """

    def __init__(self, path: Path, counts: CompactCounts) -> None:
        self.path, self._counts = path, counts
        self.shape, self.dtype, self.nnz = counts.shape, counts.dtype, counts.bands.nnz

    @cached_property
    def counts(self) -> CompactCounts:
        """What is in the files; ValueError where they were damaged, for which all are read once."""
        self._counts.bands.check(str(self.path))
        return self._counts

    def __len__(self) -> int:
        """Number of blocks."""
        return self._counts.n_blocks

    def __iter__(self) -> Iterator[CSR]:
        for _, block in self.counts.blocks():
            yield block.table

    def __repr__(self) -> str:
        return f"<CompactTable: {self.nnz} counts of a table of shape {self.shape}>"


def open_compact(path: str | os.PathLike[str]) -> CompactTable:
    """Open a compact table; counts are read when they are needed.

    Parameters
    ----------
    path : path
        A folder that ``save_compact`` wrote.

    Returns
    -------
    table : CompactTable of shape (N, M)
        ``fit`` of most estimators takes it.

    Raises
    ------
    FileNotFoundError
        Where there is no such table.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from skcooc import AspectModel, open_compact, save_compact
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> folder = tempfile.mkdtemp() + "/counts"
    >>> save_compact(folder, [X[:20], X[20:]])
    >>> table = open_compact(folder)
    >>> table
    <CompactTable: 849 counts of a table of shape (60, 40)>
    >>> AspectModel(n_components=3, beta=0.9, random_state=0).fit(table).embedding_.shape
    (60, 3)
    """
    path = Path(path)
    with np.load(path / "facts.npz") as facts:
        shape, height = tuple(facts["shape"].tolist()), int(facts["height"])
        limits, n_observations = facts["limits"], float(facts["n_observations"])
        margins = Margins(facts["row_sums"], facts["column_sums"], n_observations)
    # Nothing is written, but compiled loops know arrays that cannot be written as another type.
    rows, codes, others, lengths, columns = (
        np.asarray(np.load(path / f"{name}.npy", mmap_mode="c")) for name in FILES
    )
    bands = Bands(shape, height, rows, codes, others, lengths, columns, limits)
    return CompactTable(path, CompactCounts(bands, margins))


def save_compact(path: str | os.PathLike[str], blocks: Iterable[TableLike]) -> None:
    """Write a table to disk in the form that EM reads, block by block.

    A whole number up to 255 takes a byte, its row two, and six are for all the rows among 4096 that
    have the same column. Other counts take a byte more than their type.

    Parameters
    ----------
    path : path
        A folder that does not exist yet. It appears when all is written.
    blocks : iterable of array-likes, sparse arrays or matrices, or Dyads, each of shape (n, M)
        Read once: a generator will do. All are float32 where all of them were, else float64.

    Raises
    ------
    FileExistsError
        Where something is at ``path`` already.
    ValueError
        Where there are no blocks, their numbers of columns differ or are above 2^31 - 1, or counts
        are negative, not finite or all zero.

    See Also
    --------
    save_csr : Compressed sparse rows, for fits that keep no states of rows.
    """
    with appearing(path) as folder:
        blocks = of_one_width(_canonical(block) for block in blocks)
        _write(folder, regrouped(blocks, TALLEST))


def counts_of_compact(
    estimator: BaseEstimator,
    X: CompactTable,
    needs: Mapping[Need, str],
    sample_weight: ArrayLike | None,
) -> CompactCounts:
    """The counts of a table that is to be fitted; the estimator gets its number of columns.

    ValueError where parameters need rows as matrices.
    """
    if sample_weight is not None:
        needs = {**needs, "weights": "sample_weight is not supported; it needs None"}
    check_needs(needs, CompactCounts.offers, "X cannot be fitted as a CompactTable")
    estimator.n_features_in_ = X.shape[1]
    vars(estimator).pop("feature_names_in_", None)
    return X.counts


def _canonical(block: TableLike) -> CSR:
    """A block of rows without entries that are zero, or in several parts."""
    table = checked(block, [np.float64, np.float32])
    if not table.has_canonical_format or not table.data.all():
        table = table.copy()
        table.sum_duplicates()
        table.eliminate_zeros()
    return table


def regrouped(blocks: Iterable[CSR], multiple: int) -> Iterator[CSR]:
    """The same rows in other blocks: of a multiple of so many rows each, but the last.

    >>> blocks = [sp.csr_array(np.ones((n, 2))) for n in (3, 1, 5, 2)]
    >>> [block.shape[0] for block in regrouped(blocks, 4)]
    [4, 4, 3]
    """
    kept: list[CSR] = []
    for block in blocks:
        kept.append(block)
        n_rows = sum(rows.shape[0] for rows in kept)
        if n_rows >= multiple:
            whole = sp.vstack(kept, format="csr")
            last = n_rows - n_rows % multiple
            yield whole[:last]
            kept = [whole[last:]]
    if sum(rows.shape[0] for rows in kept):
        yield sp.vstack(kept, format="csr")


def _write(folder: Path, blocks: Iterator[CSR]) -> None:
    """Bands of all blocks, which but for the last have whole ones, as if of one matrix."""
    if (first := next(blocks, None)) is None:
        raise ValueError("No block has a row: a table needs at least one observation.")
    kinds = np.uint16, np.uint8, first.dtype, np.uint16, np.int32
    files = [
        GrowingArray(folder / f"{name}.npy", np.dtype(kind))
        for name, kind in zip(FILES, kinds, strict=True)
    ]
    row_sums, limits = [], [np.zeros((1, 3), dtype=np.int64)]
    column_sums, n_observations = np.zeros(first.shape[1]), 0.0
    for block in chain([first], blocks):
        counts, bands = CSRCounts(block), Bands.of_matrix(block, TALLEST)
        arrays = bands.rows, bands.codes, bands.others, bands.lengths, bands.columns
        for file, array in zip(files, arrays, strict=True):
            file.append(array)
        limits.append(bands.limits[1:] + limits[-1][-1])
        row_sums.append(counts.row_sums)
        column_sums += counts.column_sums
        n_observations += counts.n_observations
    if not n_observations:
        raise ValueError("All counts are zero: a table needs at least one observation.")
    sums, ends = np.concatenate(row_sums), np.concatenate(limits)
    np.savez(
        folder / "facts.npz",
        shape=(len(sums), len(column_sums)),
        height=TALLEST,
        limits=ends,
        row_sums=sums,
        column_sums=column_sums,
        n_observations=n_observations,
    )
