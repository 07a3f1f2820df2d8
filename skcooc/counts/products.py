"""Non-zeros in memory, how passes over them are divided, and products with factors."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skcooc.counts.bands import Bands, Matrix
from skcooc.counts.lanes import (
    U,
    add_scaled,
    aligned_array,
    column_chunks,
    compiled,
    dot,
    lanes,
    load,
    store,
)
from skcooc.counts.threads import balanced_ranges, pipelined
from skcooc.protocol import Array, Map, T

SHIFT = 8  # cache lines by which sums are shifted against the factors they are made of


class ColumnView:
    """The CSC structure of a CSR matrix; ``order`` finds its entries in the CSR data."""

    def __init__(self, X: Matrix) -> None:
        # The order of 2^31 entries and more needs 64-bit numbers whatever type the indices have.
        index = np.int32 if X.data.size < 2**31 else np.int64
        order = np.arange(X.data.size, dtype=index)
        view = sp.csr_array((order, X.indices, X.indptr), shape=X.shape).tocsc()
        self.indptr, self.indices, self.order = view.indptr, view.indices, view.data

    @property
    def structure(self) -> tuple[Array, Array, Array]:
        """Arguments of compiled loops."""
        return self.indptr, self.indices, self.order


class Views:
    """Bands and columns of a matrix, each made once, by the first thread that asks for it.

    The arrays of X are kept, not X: reference cycles would be freed late.
    """

    def __init__(self, X: Matrix) -> None:
        self.shape, self.indptr, self.indices, self.data = X.shape, X.indptr, X.indices, X.data
        self._lock = Lock()

    @property
    def bands(self) -> Bands:
        """Non-zeros in bands of rows, column by column in each band."""
        with self._lock:
            return self._bands

    @property
    def columns(self) -> ColumnView:
        """Non-zeros column by column."""
        with self._lock:
            return self._columns

    @cached_property
    def _bands(self) -> Bands:
        return Bands.of_matrix(self)

    @cached_property
    def _columns(self) -> ColumnView:
        return ColumnView(self)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=Lock())


class NonZeros:
    """Non-zeros in memory and how passes over them are divided: the base of all mix-ins."""

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
    def row_weights(self) -> Array:
        return np.ones(self.shape[0]) if self.weights is None else self.weights

    @property
    def observations(self) -> Array:
        counts = self.data.astype(np.float64)
        if self.weights is None:
            return counts
        return counts * np.repeat(self.weights, np.diff(self.indptr))

    def _weighted(self, D: Array) -> Array:
        """The rows of D, (n, k), times their weights."""
        if self.weights is not None:
            D = D * self.weights[:, None].astype(self.dtype)
        return np.ascontiguousarray(D, dtype=self.dtype)

    def _run_ranges(
        self, indptr: Array, n_components: int, loop: Callable[[int, int], None]
    ) -> None:
        """Call loop(start, stop) for ranges of rows or columns with about equal non-zeros."""
        work = len(self.data) * n_components
        self._run_each(loop, balanced_ranges(indptr, self.n_ranges_for(work)), work)

    def _run_each(
        self, function: Callable[..., T], arguments: Sequence[tuple[object, ...]], work: int
    ) -> list[T]:
        """Call function(*args) for all ``arguments``, in threads if there is enough work."""
        if self.n_ranges_for(work) == 1:
            return [function(*these) for these in arguments]
        return list(self.map_ranges(lambda these: function(*these), arguments))

    def _run_bands(self, n_components: int, loop: Callable[[int, Array, Array], None]) -> float:
        """Call loop(band, tile, cells) for the tiles of each band; sum n log cell, in nats.

        Ranges of columns follow one another, so that sums over rows and over columns do not
        depend on the number of ranges. The loop fills the ``cells`` (nnz,) of its tile; their
        logarithms are summed, with weights of the rows.
        """
        bands = self.views.bands
        work, cells = bands.nnz * n_components, np.empty(bands.nnz, self.dtype)
        tiles = bands.tiles(self.n_ranges_for(work))
        n_ranges = tiles.shape[1] - 1

        pipelined(
            self.map_ranges if n_ranges > 1 else serial_map,
            lambda band, part: loop(band, tiles[band, part : part + 2], cells),
            len(bands),
            n_ranges,
        )
        log_likelihoods = self._run_each(
            lambda band: bands.log_likelihood(band, cells, self.weights),
            [(band,) for band in range(len(bands))],
            work,
        )
        return sum(log_likelihoods)


def shifted_zeros(factors: Array) -> Array:
    """Zeros of the same shape, for sums that are made while these factors are read."""
    return aligned_array(factors.shape, factors.dtype, SHIFT, np.zeros)


@compiled
def row_products(lanes, indptr, indices, data, D, start, stop, products):  # type: ignore[no-untyped-def]
    """Add X @ D to rows start..stop of the products."""
    for i in range(U(start), U(stop)):
        product = load(lanes, products, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            product = add_scaled(product, data[p], load(lanes, D, U(indices[p])))
        store(product, products, i)


@compiled
def cell_products(lanes, indptr, indices, A, B, start, stop, cells):  # type: ignore[no-untyped-def]
    """A[i] @ B[j] at the non-zeros of rows start..stop."""
    for i in range(U(start), U(stop)):
        a = load(lanes, A, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            cells[p] = dot(a, load(lanes, B, U(indices[p])))


class Mixture(NamedTuple):
    """Sums of one pass over the non-zeros, with w_ij = n_ij / (A[i] @ B[j])."""

    rows: Array  # (n, k): w @ B
    columns: Array  # (M, k): w.T @ A
    log_likelihood: float  # sum n_ij log(A[i] @ B[j]), nats


class FactorProducts(NonZeros):
    """Products with factors of rows and of columns."""

    def dot(self, D: Array) -> Array:
        D = np.ascontiguousarray(D, dtype=self.dtype)
        products = aligned_array((self.shape[0], D.shape[1]), self.dtype, make=np.zeros)

        def multiply(start: int, stop: int) -> None:
            for some in column_chunks(D.shape[1]):
                row_products(
                    lanes(some.stop - some.start, self.dtype),
                    self.indptr,
                    self.indices,
                    self.data,
                    D[:, some],
                    start,
                    stop,
                    products[:, some],
                )

        self._run_ranges(self.indptr, D.shape[1], multiply)
        return products

    def tdot(self, D: Array) -> Array:
        D = self._weighted(D)
        products = aligned_array((self.shape[1], D.shape[1]), self.dtype, make=np.zeros)
        bands = self.views.bands
        work = bands.nnz * D.shape[1]
        tiles = bands.tiles(self.n_ranges_for(work))
        self._run_each(
            lambda tile: bands.add_columns(tile, D, products),
            [(tiles[:, part : part + 2],) for part in range(tiles.shape[1] - 1)],
            work,
        )
        return products

    def mixture(self, A: Array, B: Array) -> Mixture:
        """Products of the ratios w_ij = n_ij / (A[i] @ B[j]) with A (n, k) and B (M, k).

        The caller multiplies ``rows`` by A and ``columns`` by B to get expected counts. ``columns``
        and the log-likelihood count rows by their weights.
        """
        A, B = (np.ascontiguousarray(F, dtype=self.dtype) for F in (A, B))
        bands, weights = self.views.bands, self.weights
        rows, columns = shifted_zeros(A), self._sums_of_columns(B)
        if weights is not None:
            weights = weights.astype(self.dtype)

        def mix(band: int, tile: Array, cells: Array) -> None:
            bands.mix(band, tile, A, B, weights, cells, rows, columns)

        log_likelihood = self._run_bands(A.shape[1], mix)
        return Mixture(rows, zeros_view(B) if columns is None else columns, log_likelihood)

    def cells(self, A: Array, B: Array) -> Array:
        A, B = (np.ascontiguousarray(F, dtype=self.dtype) for F in (A, B))
        cells, wide = np.empty_like(self.data), lanes(A.shape[1], self.dtype)
        self._run_ranges(
            self.indptr,
            A.shape[1],
            lambda start, stop: cell_products(
                wide, self.indptr, self.indices, A, B, start, stop, cells
            ),
        )
        return cells

    def _sums_of_columns(self, B: Array) -> Array | None:
        """An array to add up the sums over rows, or None if they are not needed."""
        return shifted_zeros(B)


def zeros_view(sums: Array) -> Array:
    """Zeros of this shape and type, which take no memory."""
    return np.broadcast_to(np.zeros((), dtype=sums.dtype), sums.shape)
