"""Loops over non-zeros: threads, storage in bands of rows and by columns, and products.

The factors of a band's rows, and the sums that are made of them, stay in a core's own cache. A
column's factor is fetched once for all the rows of a band that have the column, which is far less
often than once for every non-zero, and in order of the columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ctypes import CDLL
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from threading import Lock, RLock, Semaphore
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numba import config
from threadpoolctl import ThreadpoolController

from skcooc.counts.lanes import (
    HALF,
    LINE,
    PAIR,
    REGISTERS,
    U,
    add_scaled,
    aligned_array,
    column_chunks,
    compiled,
    dot,
    lanes,
    load,
    padded,
    part_of_row,
    prefetch,
    replace_by_log,
    row_size,
    store,
    without_padding,
)
from skcooc.protocol import CSR, Array, Block, Map, Pass, T
from skcooc.protocol.locks import free_in_forks
from skcooc.protocol.subnormals import flushed_subnormals

MAX_BAND_HEIGHT = 4096  # rows: with 64 components, their factors and sums fill 2 MiB
MIN_BAND_HEIGHT = 1024  # rows, even if there are fewer than N_BANDS bands then
N_BANDS = 16  # at least, so that threads follow one another closely
MAX_RUN = 2**16 - 1  # non-zeros of a run
MAX_CODE = 255  # the largest count that is stored as a code
PREFETCH = U(2)  # runs before its own, at which a column's factor is fetched
AHEAD = U(4)  # non-zeros before its own, at which the factors and sums of a row are fetched
LARGEST_BLOCK = 2**25  # bytes: glibc maps larger blocks in any case
M_TRIM_THRESHOLD = -1  # of malloc.h
M_MMAP_THRESHOLD = -3
SHIFT = 8  # cache lines by which sums are shifted against the factors they are made of


@contextmanager
def threads(n_threads: int) -> Iterator[Map]:
    """A map that runs in threads; the built-in one for one thread. BLAS keeps to one thread.

    BLAS threads would contend for the cores, and their number changes the last digits.
    """
    keep_freed_memory()
    with _ONE_BLAS_THREAD:
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


@cache
def keep_freed_memory() -> None:
    """Make glibc keep the memory that a step of EM frees, for the arrays of the next step.

    With its usual thresholds, and with those of Dask's workers, arrays of half a megabyte and more
    go back to the system, and each step faults their pages in again, for a quarter of its time.
    """
    if sys.platform == "linux" and (mallopt := getattr(CDLL(None), "mallopt", None)):
        mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_BLOCK)


class _OneBlasThread:
    """Limit BLAS to one thread, in the process, from the first of concurrent fits to the last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        free_in_forks(self._lock)

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _thread_pools().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()


def n_threads(n_jobs: int | None) -> int:
    """Number of threads in joblib's conventions, at most numba's limit.

    joblib lowers that in worker processes, so that their threads do not oversubscribe the cores.
    """
    return max(1, min(effective_n_jobs(n_jobs), config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


def pipelined(map: Map, tile: Callable[[int, int], None], n_bands: int, n_ranges: int) -> None:
    """Call tile(band, range) for all bands of rows and ranges of columns, each range in a thread.

    A thread goes through its range of columns, band by band, and enters a band when the range
    before has left it. So sums over the columns of a band, and over the bands of a column, are made
    in order, however many ranges there are. ``map`` has to start the ranges in order.
    """
    if n_ranges == 1:  # nothing to wait for
        for band in range(n_bands):
            tile(band, 0)
        return
    left = [Semaphore(0) for _ in range(n_ranges)]

    def down(columns: int) -> None:
        try:
            for band in range(n_bands):
                if columns:
                    left[columns - 1].acquire()
                tile(band, columns)
                left[columns].release()
        finally:  # so that no thread waits for one that has failed
            left[columns].release(n_bands)

    list(map(down, range(n_ranges)))


def balanced_ranges(indptr: Array, n_ranges: int) -> list[tuple[int, int]]:
    """Cut rows into at most ``n_ranges`` non-empty ranges with about equally many non-zeros."""
    n_rows = len(indptr) - 1
    goals = [float(indptr[-1]) / n_ranges * r for r in range(1, n_ranges)]
    limits = [0, *(np.searchsorted(indptr, goals).tolist() if goals else ()), n_rows]
    return [(start, stop) for start, stop in pairwise(limits) if start < stop]


class Matrix(Protocol):
    """Attributes of a CSR matrix that views read."""

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array


@dataclass(frozen=True, eq=False)
class Bands:
    """The non-zeros of a matrix in bands of rows; those of a column in a band are a run.

    A count from 1 to 255 is a code of one byte. Where the code is zero, the count stands among the
    ``others``, in the order of the codes. That is about four bytes for a non-zero of a text: two of
    the row, one of the count, and six for each run.
    """

    shape: tuple[int, int]
    height: int  # rows of a band, but the last; whatever the number of threads
    rows: Array  # (nnz,) of uint16: row of each non-zero, counted from the first one of its band
    codes: Array  # (nnz,) of uint8: counts
    others: Array  # (n_others,): those that are no codes
    lengths: Array  # (n_runs,) of uint16: non-zeros of the runs
    columns: Array  # (n_runs,) of int32: their columns, in order in each band
    limits: Array  # (n_bands + 1, 3): starts of the bands among the runs, non-zeros, others
    # Cache by the number of ranges:
    _tiles: dict[int, Array] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_matrix(cls, X: Matrix, height: int | None = None) -> Self:
        if height is None:
            height = min(max(MIN_BAND_HEIGHT, -(-X.shape[0] // N_BANDS)), MAX_BAND_HEIGHT)
        rows = np.empty(X.data.size, dtype=np.uint16)
        codes = np.empty(X.data.size, dtype=np.uint8)
        runs = []
        others = []
        limits = [(0, 0, 0)]
        for view in column_by_column(X, height):
            n_runs, start, n_others = limits[-1]
            band = slice(start, start + view.nnz)
            small = np.where(view.data <= MAX_CODE, view.data, 0).astype(np.uint8)
            rows[band] = view.indices
            codes[band] = small * (small == view.data)
            runs.append(runs_of(view.indptr))
            others.append(view.data[codes[band] == 0])
            limits.append((n_runs + len(runs[-1][0]), band.stop, n_others + len(others[-1])))
        columns, lengths = map(np.concatenate, zip(*runs, strict=True))
        arrays = rows, codes, np.concatenate(others), lengths, columns
        return cls(X.shape, height, *arrays, np.array(limits))

    def __len__(self) -> int:
        return len(self.limits) - 1

    @property
    def nnz(self) -> int:
        return len(self.rows)

    def part(self, first: int, last: int) -> Self:
        """The bands from ``first`` to ``last``; memory is shared."""
        ends = self.limits[[first, last]]
        runs, places, others = (slice(*pair) for pair in ends.T.tolist())
        n_rows = min(self.shape[0], last * self.height) - first * self.height
        return type(self)(
            (n_rows, self.shape[1]),
            self.height,
            self.rows[places],
            self.codes[places],
            self.others[others],
            self.lengths[runs],
            self.columns[runs],
            self.limits[first : last + 1] - ends[0],
        )

    def to_csr(self) -> CSR:
        """The matrix, whose indices are sorted."""
        counts = self.codes.astype(self.others.dtype)
        counts[self.codes == 0] = self.others
        bands = np.repeat(np.arange(len(self)), np.diff(self.limits[:, 1]))
        rows = bands * self.height + self.rows
        return sp.csr_array((counts, (rows, np.repeat(self.columns, self.lengths))), self.shape)

    def rows_of(self, band: int) -> slice:
        return slice(band * self.height, (band + 1) * self.height)

    @property
    def non_zeros(self) -> tuple[Array, Array, Array, Array, Array]:
        """Arguments of compiled loops: rows, counts, columns and lengths of the runs."""
        return self.rows, self.codes, self.others, self.columns, self.lengths

    def tiles(self, n_ranges: int) -> Array:
        """Starts of at most so many ranges of columns with about equally many non-zeros.

        In each band among the runs, the non-zeros and the others: (n_bands, n_ranges + 1, 3).
        """
        if n_ranges not in self._tiles:
            mass = np.bincount(self.columns, self.lengths, self.shape[1]).cumsum()
            ranges = balanced_ranges(np.append(0, mass), n_ranges)
            cuts = np.array([start for start, _ in ranges] + [self.shape[1]])
            self._tiles[n_ranges] = np.array([self._cut(band, cuts) for band in range(len(self))])
        return self._tiles[n_ranges]

    def _cut(self, band: int, columns: Array) -> Array:
        (run, start, other), (end, stop, _) = self.limits[band : band + 2]
        runs = np.searchsorted(self.columns[run:end], columns)
        places = np.append(0, np.cumsum(self.lengths[run:end], dtype=np.int64))[runs]
        others = np.searchsorted(np.flatnonzero(self.codes[start:stop] == 0), places)
        return np.stack([run + runs, start + places, other + others], axis=1)

    def log_likelihood(self, band: int, cells: Array, weights: Array | None) -> float:
        """sum n_ij log cell_ij over a band, rows by their weights, in nats."""
        (_, start, other), (_, stop, end) = self.limits[band : band + 2]
        logs = cells[start:stop].copy()
        replace_by_log(logs)
        if weights is not None:
            logs *= weights[self.rows_of(band)][self.rows[start:stop]]
        return float(log_sum(self.codes[start:stop], self.others[other:end], logs))

    def add_columns(self, tiles: Array, D: Array, products: Array) -> None:
        """Add the product of the transposed data with D (n, k), over tiles (n_bands, 2, 3)."""
        view = *self.non_zeros, np.ascontiguousarray(tiles), self.height
        for chunk in column_chunks(D):
            column_runs(*chunk, *view, D.reshape(-1), products.reshape(-1))


def column_by_column(X: Matrix, height: int) -> Iterator[sp.csc_array]:
    """Bands of so many rows of a CSR matrix."""
    for top in range(0, X.shape[0], height):
        indptr = X.indptr[top : top + height + 1]
        band = slice(int(indptr[0]), int(indptr[-1]))
        parts = X.data[band], X.indices[band], indptr - indptr[0]
        yield sp.csr_array(parts, shape=(len(indptr) - 1, X.shape[1])).tocsc()


def runs_of(indptr: Array) -> tuple[Array, Array]:
    """Columns and lengths of the runs of a CSC matrix; a long one is cut into several."""
    lengths = np.diff(indptr)
    columns = np.flatnonzero(lengths).astype(np.int32)
    n_runs = -(-lengths[columns] // MAX_RUN)
    pieces = np.full(n_runs.sum(), MAX_RUN, dtype=np.uint16)
    pieces[np.cumsum(n_runs) - 1] = lengths[columns] - (n_runs - 1) * MAX_RUN
    return np.repeat(columns, n_runs), pieces


@compiled
def mixture_runs(  # type: ignore[no-untyped-def]
    lanes, rows, codes, others, columns, lengths, tile, A, B, weights, cells, products, sums
):
    """A tile of a band: cells A[i] @ B[j], ratios n_ij / cell @ B for rows, @ A for columns.

    A tile is where a part of a band begins and ends among the runs, the non-zeros and the others,
    (2, 3). A, weights and products are those of the band. Where every component excludes a cell,
    its ratio is zero and the cell one, so that its logarithm is zero. No weights are ones, and no
    sums are not made: a loop is compiled for both.
    """
    number, weighted, summed = A.dtype.type, len(weights) > 0, len(sums) > 0
    zero, one, stop = number(0), number(1), U(tile[1, 0])
    p, other, last = U(tile[0, 1]), U(tile[0, 2]), U(tile[1, 1]) - U(1)
    for run in range(U(tile[0, 0]), stop):
        target = run + PREFETCH if run + PREFETCH < stop else stop - U(1)
        j, target = U(columns[run]), U(columns[target])
        prefetch(lanes, B, target)
        b = load(lanes, B, j)
        of_column = b
        if summed:
            prefetch(lanes, sums, target)
            of_column = load(lanes, sums, j)
        for _ in range(lengths[run]):
            i, n = U(rows[p]), number(codes[p])
            if row_size(lanes) * A.itemsize > LINE:  # shorter rows are near
                ahead = U(rows[p + AHEAD if p + AHEAD < last else last])
                prefetch(lanes, A, ahead)
                prefetch(lanes, products, ahead)
            if n == zero:
                n = others[other]
                other += U(1)
            cell = dot(load(lanes, A, i), b)
            w = n / cell if cell > 0 else zero
            cells[p] = cell if cell > 0 else one
            store(add_scaled(load(lanes, products, i), w, b), products, i)
            if weighted:
                w *= weights[i]
            # Loaded again: there are too few registers for a third row.
            of_column = add_scaled(of_column, w, load(lanes, A, i))
            p += U(1)
        if summed:
            store(of_column, sums, j)


@compiled
def wide_mixture_runs(  # type: ignore[no-untyped-def]
    lanes,
    part,
    rows,
    codes,
    others,
    columns,
    lengths,
    tile,
    A,
    B,
    weights,
    cells,
    products,
    sums,
    ratios,
):
    """The same for rows that are too wide for the registers, with flat arrays.

    First come the ratios of a run, which ``ratios`` (MAX_RUN,) holds, then sums in parts of rows.
    """
    number, weighted, summed = A.dtype.type, len(weights) > 0, len(sums) > 0
    zero, one, stop = number(0), number(1), U(tile[1, 0])
    start, other, last = U(tile[0, 1]), U(tile[0, 2]), U(tile[1, 1]) - U(1)
    stride, width = row_size(lanes), row_size(part)
    for run in range(U(tile[0, 0]), stop):
        target = run + PREFETCH if run + PREFETCH < stop else stop - U(1)
        j, target = U(columns[run]) * stride, U(columns[target]) * stride
        prefetch(lanes, B, target)
        if summed:
            prefetch(lanes, sums, target)
        b = load(lanes, B, j)
        end = start + U(lengths[run])
        for p in range(start, end):
            i, n = U(rows[p]) * stride, number(codes[p])
            prefetch(lanes, A, U(rows[p + AHEAD if p + AHEAD < last else last]) * stride)
            prefetch(lanes, products, i)
            if n == zero:
                n = others[other]
                other += U(1)
            cell = dot(load(lanes, A, i), b)
            ratios[p - start] = n / cell if cell > 0 else zero
            cells[p] = cell if cell > 0 else one
        for first in range(U(0), stride, width):
            b_part = load(part, B, j + first)
            of_column = b_part
            if summed:
                of_column = load(part, sums, j + first)
            for p in range(start, end):
                i, w = U(rows[p]), ratios[p - start]
                place = i * stride + first
                store(add_scaled(load(part, products, place), w, b_part), products, place)
                if weighted:
                    w *= weights[i]
                of_column = add_scaled(of_column, w, load(part, A, place))
            if summed:
                store(of_column, sums, j + first)
        start = end


@compiled
def column_runs(  # type: ignore[no-untyped-def]
    lanes, first, stride, rows, codes, others, columns, lengths, tiles, height, D, products
):
    """Add some columns of X.T @ D to the products, with the tiles of each band."""
    number = D.dtype.type
    for band in range(len(tiles)):
        top, p, other = U(band * height), U(tiles[band, 0, 1]), U(tiles[band, 0, 2])
        for run in range(U(tiles[band, 0, 0]), U(tiles[band, 1, 0])):
            place = U(columns[run]) * stride + first
            product = load(lanes, products, place)
            for _ in range(lengths[run]):
                n = number(codes[p])
                if n == 0:
                    n = others[other]
                    other += U(1)
                of_row = load(lanes, D, (top + U(rows[p])) * stride + first)
                product = add_scaled(product, n, of_row)
                p += U(1)
            store(product, products, place)


@compiled
def log_sum(codes, others, logs):  # type: ignore[no-untyped-def]
    """Counts @ logs in float64; others are added up separately, so that vectors can be used."""
    total, other = 0.0, U(0)
    for p in range(len(codes)):
        total += np.float64(codes[p]) * logs[p]
    if len(others) == len(codes):
        for p in range(len(others)):
            total += np.float64(others[p]) * logs[p]
    elif len(others):
        for p in range(len(codes)):
            if codes[p] == 0:
                total += np.float64(others[other]) * logs[p]
                other += U(1)
    return total


class ColumnView:
    """The CSC structure of a CSR matrix; ``order`` finds its entries in the CSR data."""

    def __init__(self, X: Matrix) -> None:
        # The order of 2^31 entries and more needs 64-bit numbers whatever type the indices have.
        index = np.int32 if X.data.size < 2**31 else np.int64
        order = np.arange(X.data.size, dtype=index)
        view = sp.csr_array((order, X.indices, X.indptr), shape=X.shape).tocsc()
        self.indptr = view.indptr
        self.indices = view.indices
        self.order = view.data

    @property
    def structure(self) -> tuple[Array, Array, Array]:
        return self.indptr, self.indices, self.order


class shared_property(cached_property[T]):
    """A property that the first thread that asks for it computes, with the lock of its object."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> T:  # type: ignore[override]
        with instance.lock:
            return super().__get__(instance, owner)


class Views:
    """A matrix as SciPy has it, in bands, and by columns.

    The arrays of X are kept, not X: reference cycles would be freed late.
    """

    def __init__(self, X: Matrix) -> None:
        self.shape = X.shape
        self.indptr = X.indptr
        self.indices = X.indices
        self.data = X.data
        self.lock = RLock()

    @shared_property
    def table(self) -> CSR:
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    @shared_property
    def bands(self) -> Bands:
        return Bands.of_matrix(self)

    @shared_property
    def columns(self) -> ColumnView:
        return ColumnView(self.table)

    def __getstate__(self) -> dict[str, object]:
        return {n: value for n, value in vars(self).items() if n not in ("lock", "table")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, lock=RLock())


class NonZeros:
    """Non-zeros in memory, and how passes over them are divided."""

    is_new = False  # whether these are rows to fold in, which contribute nothing to columns
    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array
    weights: Array | None
    views: Views
    map_ranges: Map
    n_ranges_for: Callable[[int], int]
    map_row_ranges: Callable[..., Array]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.data.dtype

    @property
    def table(self) -> CSR:
        return self.views.table

    @property
    def row_weights(self) -> Array:
        return np.ones(self.shape[0]) if self.weights is None else self.weights

    @property
    def weighted_counts(self) -> Array:
        counts = self.data.astype(np.float64)
        if self.weights is None:
            return counts
        return counts * np.repeat(self.weights, np.diff(self.indptr))

    def weighted(self, D: Array) -> Array:
        if self.weights is not None:
            D = D * self.weights[:, None].astype(self.dtype)
        return np.ascontiguousarray(D, dtype=self.dtype)

    def run_ranges(
        self, indptr: Array, n_components: int, loop: Callable[[int, int], None]
    ) -> None:
        """Call loop(start, stop) for ranges of rows or columns with about equal non-zeros."""
        work = len(self.data) * n_components
        self.run_each(loop, balanced_ranges(indptr, self.n_ranges_for(work)), work)

    def run_each(
        self, function: Callable[..., T], arguments: Sequence[tuple[object, ...]], work: int
    ) -> list[T]:
        """Call function(*args) for all ``arguments``, in threads if there is enough work."""
        if self.n_ranges_for(work) == 1:
            with flushed_subnormals():
                return [function(*args) for args in arguments]
        flushed = flushed_subnormals()(function)
        return list(self.map_ranges(lambda args: flushed(*args), arguments))

    def run_bands(
        self, bands: Bands, cells: Array, n_components: int, loop: Callable[[int, Array], None]
    ) -> float:
        """Call loop(band, tile), which fills cells, for all tiles; sum n log cell, in nats.

        Ranges of columns follow one another, so that sums over rows and over columns do not
        depend on the number of ranges. Logarithms are summed with weights of the rows.
        """
        work = bands.nnz * n_components
        tiles = bands.tiles(self.n_ranges_for(work))
        n_ranges = tiles.shape[1] - 1

        @flushed_subnormals()
        def run(band: int, part: int) -> None:
            loop(band, tiles[band, part : part + 2])

        def log_likelihood(band: int) -> float:
            return bands.log_likelihood(band, cells, self.weights)

        pipelined(self.map_ranges, run, len(bands), n_ranges)
        return sum(self.run_each(log_likelihood, [(band,) for band in range(len(bands))], work))


def non_zeros(X: Block) -> NonZeros:
    """Return a block whose non-zeros compiled loops can read; TypeError if it has none."""
    if not isinstance(X, NonZeros):
        raise TypeError(f"The loop reads counts in memory, got {type(X).__name__}.")
    return X


def shifted_zeros(factors: Array) -> Array:
    """Zeros of the same shape, for sums that are made while these factors are read."""
    return aligned_array(factors.shape, factors.dtype, SHIFT, np.zeros)


@compiled
def row_products(  # type: ignore[no-untyped-def]
    lanes, first, stride, indptr, indices, data, D, products, start, stop
):
    """Add some columns of X @ D to rows start..stop of the products."""
    for i in range(U(start), U(stop)):
        product = load(lanes, products, i * stride + first)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            of_column = load(lanes, D, U(indices[p]) * stride + first)
            product = add_scaled(product, data[p], of_column)
        store(product, products, i * stride + first)


@compiled
def add_cells(lanes, first, stride, indptr, indices, A, B, cells, start, stop):  # type: ignore[no-untyped-def]
    """Add products of some columns, A[i] @ B[j], at the non-zeros of rows start..stop."""
    for i in range(U(start), U(stop)):
        a = load(lanes, A, i * stride + first)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            cells[p] += dot(a, load(lanes, B, U(indices[p]) * stride + first))


class FactorProducts(NonZeros):
    """Products with factors of rows and of columns."""

    def dot(self, D: Array) -> Array:
        if D.shape[1] == 1:  # where vectors gain nothing
            return np.asarray(self.table @ D.astype(self.dtype, copy=False))
        n_columns = D.shape[1]
        D = padded(D, self.dtype)
        products = aligned_array((self.shape[0], D.shape[1]), self.dtype, make=np.zeros)
        arrays = self.indptr, self.indices, self.data, D.reshape(-1), products.reshape(-1)

        def multiply(start: int, stop: int) -> None:
            for chunk in column_chunks(D):
                row_products(*chunk, *arrays, start, stop)

        self.run_ranges(self.indptr, n_columns, multiply)
        return without_padding(products, n_columns)

    def tdot(self, D: Array) -> Array:
        D = self.weighted(D)
        if D.shape[1] == 1:
            return np.asarray(self.table.T @ D)
        n_columns = D.shape[1]
        D = padded(D, self.dtype)
        products = aligned_array((self.shape[1], D.shape[1]), self.dtype, make=np.zeros)
        bands = self.views.bands
        work = bands.nnz * n_columns
        tiles = bands.tiles(self.n_ranges_for(work))
        parts = [(tiles[:, part : part + 2], D, products) for part in range(tiles.shape[1] - 1)]
        self.run_each(bands.add_columns, parts, work)
        return without_padding(products, n_columns)

    def mixture(self, A: Array, B: Array) -> Pass:
        """Products of the ratios w_ij = n_ij / (A[i] @ B[j]) with A (n, k) and B (M, k).

        Times A and B they are expected counts; all but ``rows`` count rows by their weights.
        """
        n_components = A.shape[1]
        A, B = (padded(F, self.dtype, HALF) for F in (A, B))
        bands = self.views.bands
        vectors = lanes(A)
        rows = shifted_zeros(A)
        columns = B[:0] if self.is_new else shifted_zeros(B)
        weights = np.array([] if self.weights is None else self.weights, dtype=self.dtype)
        cells = np.empty(bands.nnz, self.dtype)

        def mix(band: int, tile: Array) -> None:
            part = bands.rows_of(band)
            inputs = *bands.non_zeros, tile, A[part], B, weights[part]
            mixture_runs(vectors, *inputs, cells, rows[part], columns)

        def mix_wide(band: int, tile: Array) -> None:
            part = bands.rows_of(band)
            inputs = *bands.non_zeros, tile, A[part].reshape(-1), B.reshape(-1), weights[part]
            outputs = cells, rows[part].reshape(-1), columns.reshape(-1)
            ratios = np.empty(MAX_RUN, self.dtype)
            wide_mixture_runs(vectors, part_of_row(A), *inputs, *outputs, ratios)

        loop = mix_wide if 2 * A.shape[1] * A.itemsize > REGISTERS else mix
        log_likelihood = self.run_bands(bands, cells, A.shape[1], loop)
        columns = columns if columns.size else zeros_view(B)
        return Pass(rows[:, :n_components], columns[:, :n_components], log_likelihood)

    def cells(self, A: Array, B: Array) -> Array:
        A, B = (padded(F, self.dtype, PAIR) for F in (A, B))  # another loop takes .1 s
        cells = np.zeros_like(self.data)
        arrays = self.indptr, self.indices, A.reshape(-1), B.reshape(-1), cells

        def add(start: int, stop: int) -> None:
            for chunk in column_chunks(A):
                add_cells(*chunk, *arrays, start, stop)

        self.run_ranges(self.indptr, A.shape[1], add)
        return cells


def zeros_view(sums: Array) -> Array:
    """Zeros of this shape and type, which take no memory."""
    return np.broadcast_to(np.zeros((), dtype=sums.dtype), sums.shape)
