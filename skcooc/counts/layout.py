"""How the non-zeros of a count matrix lie in memory, and how passes over them are divided."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock

import numpy as np
import scipy.sparse as sp

from skcooc.counts.bands import Bands, Matrix
from skcooc.counts.lanes import lined_up
from skcooc.counts.threads import balanced_ranges, pipelined
from skcooc.protocol import Array, Map, T

APART = 8  # lines of the cache, by which sums are shifted against the factors they are made of


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
        """The three arrays, as compiled loops take them."""
        return self.indptr, self.indices, self.order


class Views:
    """Each is made once, by the first thread that asks for it.

    The attributes of X are kept, not X: what refers to each other is freed late.
    """

    def __init__(self, X: Matrix) -> None:
        self.shape, self.indptr, self.indices, self.data = X.shape, X.indptr, X.indices, X.data
        self._lock = Lock()

    @property
    def bands(self) -> Bands:
        """Bands of rows, and of these column by column."""
        with self._lock:
            return self._bands

    @property
    def columns(self) -> ColumnView:
        """Column by column."""
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


class Stored:
    """Non-zeros in memory, and how work on them is divided; see CSRCounts, which has them."""

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array
    weights: Array | None
    views: Views
    map_ranges: Map
    n_ranges_of: Callable[[int], int]
    rowwise: Callable[..., Array]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Floating point type of the counts, hence of all products."""
        return self.data.dtype

    @property
    def row_weights(self) -> Array:
        """How many rows each row stands for, (n,)."""
        return np.ones(self.shape[0]) if self.weights is None else self.weights

    @property
    def observations(self) -> Array:
        """How many observations each non-zero stands for, row weights included, (nnz,), float64."""
        counts = self.data.astype(np.float64)
        if self.weights is None:
            return counts
        return counts * np.repeat(self.weights, np.diff(self.indptr))

    def _weighted(self, D: Array) -> Array:
        """The rows of D, (n, k), times what each stands for."""
        if self.weights is not None:
            D = D * self.weights[:, None].astype(self.dtype)
        return np.ascontiguousarray(D, dtype=self.dtype)

    def _over(self, indptr: Array, n_components: int, loop: Callable[[int, int], None]) -> None:
        """loop(start, stop) for ranges of rows or columns with about equally many non-zeros."""
        work = len(self.data) * n_components
        self._each(loop, balanced_ranges(indptr, self.n_ranges_of(work)), work)

    def _each(
        self, function: Callable[..., T], arguments: Sequence[tuple[object, ...]], work: int
    ) -> list[T]:
        """function(*these) for these of the arguments, side by side where threads are worth it."""
        if self.n_ranges_of(work) == 1:
            return [function(*these) for these in arguments]
        return list(self.map_ranges(lambda these: function(*these), arguments))

    def _over_bands(self, n_components: int, loop: Callable[[int, Array, Array], None]) -> float:
        """loop(band, tile, cells) for the tiles of each band; sum n log cell, in nats.

        A range of columns follows the other, so that sums over rows, and over columns, do not
        depend on the number of ranges. The loop fills the ``cells`` (nnz,) of its tile; their
        logarithms are summed with rows by their weights.
        """
        bands = self.views.bands
        work, cells = bands.nnz * n_components, np.empty(bands.nnz, self.dtype)
        tiles = bands.tiles(self.n_ranges_of(work))
        n_ranges = tiles.shape[1] - 1

        def tile(band: int, part: int) -> None:
            loop(band, tiles[band, part : part + 2], cells)

        pipelined(self.map_ranges if n_ranges > 1 else serial_map, tile, len(bands), n_ranges)
        log_likelihoods = self._each(
            lambda band: bands.log_likelihood(band, cells, self.weights),
            [(band,) for band in range(len(bands))],
            work,
        )
        return sum(log_likelihoods)


def sums_beside(factors: Array) -> Array:
    """Zeros for the sums that are made while factors of the same shape are read."""
    return lined_up(factors.shape, factors.dtype, APART, np.zeros)
