"""Counts of a table on disk: bands of rows, four bytes for a non-zero, block by block."""

from __future__ import annotations

import copy
from builtins import map as serial_map
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from threading import RLock
from typing import Self, cast

import numpy as np
import scipy.sparse as sp

from skcooc.counts.csr import OUT_OF_CORE, CSRCounts, add_statistics, mean_weight
from skcooc.counts.lanes import aligned_array
from skcooc.counts.passes import Bands, Views, shared_property
from skcooc.counts.sampling import merge_draws
from skcooc.protocol import CSR, Array, FoldIn, Map, P, Rows, RowSample, S, T

BLOCK = 2 * 10**7  # non-zeros that are worked on at a time


class BandViews(Views):
    """Views of non-zeros that are given in bands; the matrix is made on demand."""

    def __init__(self, bands: Bands) -> None:
        self.bands = bands
        self.lock = RLock()

    @shared_property
    def table(self) -> CSR:
        return self.bands.to_csr()


class BandCounts(CSRCounts):
    """A block of rows in bands; methods that need a matrix make one."""

    def __init__(
        self, bands: Bands, row_sums: Array, *, n_threads: int = 1, map: Map = serial_map
    ) -> None:
        self.shape = bands.shape
        self.weights = None
        self.row_sums = row_sums
        self.n_threads = n_threads
        self.map_ranges = map
        self.views: BandViews = BandViews(bands)

    @property
    def indptr(self) -> Array:  # type: ignore[override]  # made when asked for
        return self.views.table.indptr

    @property
    def indices(self) -> Array:  # type: ignore[override]
        return self.views.table.indices

    @property
    def data(self) -> Array:  # type: ignore[override]
        return self.views.table.data

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.views.bands.others.dtype

    def _like(self, X: CSR, row_weights: Array | None) -> CSRCounts:  # type: ignore[override]
        return CSRCounts(X, row_weights, n_threads=self.n_threads, map=self.map_ranges)


class DiskCounts:
    """A table (N, M) in bands, which may be memory maps; an E-step goes through blocks of them.

    The states of all rows are in memory. Besides them an E-step needs room for one block. Results
    do not depend on the number of threads.
    """

    capabilities = OUT_OF_CORE

    def __init__(
        self,
        bands: Bands,
        row_sums: Array,
        column_sums: Array,
        n_tokens: float,
        *,
        n_threads: int = 1,
        map: Map = serial_map,
    ) -> None:
        self.bands = bands
        self.shape = bands.shape
        self.row_sums = row_sums
        self.column_sums = column_sums
        self.mean_count_weight = mean_weight(float(row_sums.sum()), n_tokens)
        self.n_threads = n_threads
        self.map_ranges = map
        self._after_block: Callable[[], None] | None = None
        self._places: Array | None = None  # (M,): of the columns among those left; None: all are
        starts = bands.limits[:-1, 1] // BLOCK
        self._ends = [*np.flatnonzero(np.diff(starts, prepend=-1)).tolist(), len(bands)]

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.bands.others.dtype

    @property
    def n_blocks(self) -> int:
        return len(self._ends) - 1

    def blocks(self) -> Iterator[tuple[slice, BandCounts]]:
        """Slices of the rows, and the block of each."""
        mass = float(self.column_sums.sum())
        for ends in pairwise(self._ends):
            part = slice(*(min(end * self.bands.height, self.shape[0]) for end in ends))
            bands = self.bands.part(*ends)
            if self._places is not None:
                shape = bands.shape[0], self.shape[1]
                bands = replace(bands, shape=shape, columns=self._places[bands.columns])
            block = BandCounts(
                bands,
                self.row_sums[part],
                n_threads=self.n_threads,
                map=self.map_ranges,
            )
            yield part, block.part_of(mass)

    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        out = total = None
        for part, block in self.blocks():
            states, stats = block.expect(model, params, rows[part], beta)
            if out is None:
                out = aligned_array((self.shape[0], states.shape[1]), states.dtype)
                total = stats
            else:
                total = add_statistics(total, stats)
            out[part] = states
            if self._after_block:
                self._after_block()
        return cast(Rows, out), cast(S, total)

    def map_row_ranges(self, function: Callable[..., object], *states: Rows) -> Rows:
        out = aligned_array(states[0].shape, states[0].dtype)
        for part, block in self.blocks():
            block.map_row_ranges(function, *(array[part] for array in states), out=out[part])
        return out

    def map_blocks(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        return np.concatenate(list(self._of_blocks(function, *states)))

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        return sum(self._of_blocks(function, *states), start=np.zeros(()))

    def _of_blocks(self, function: Callable[..., T], *states: Rows) -> Iterator[T]:
        for part, block in self.blocks():
            yield function(block, *(array[part] for array in states))

    def collect_rows(self, states: Rows) -> Array:
        return states

    def tdot(self, D: Array) -> Array:
        total = np.zeros((self.shape[1], D.shape[1]), self.dtype)
        for part, block in self.blocks():
            total += block.tdot(D[part])
        return total

    def sample(self, n_rows: int, rng: np.random.Generator) -> CSR:
        rows = np.sort(rng.choice(self.shape[0], min(n_rows, self.shape[0]), replace=False))
        bands, starts = np.unique(rows // self.bands.height, return_index=True)
        parts = [
            self.bands.part(band, band + 1).to_csr()[positions - band * self.bands.height]
            for band, positions in zip(bands.tolist(), np.split(rows, starts[1:]), strict=True)
        ]
        return sp.vstack(parts, format="csr")

    def draw(self, n_rows: int, seed: int) -> RowSample:
        return merge_draws([block.draw(n_rows, seed) for _, block in self.blocks()], n_rows, seed)

    def with_threads(self, n_threads: int, map: Map) -> Self:
        new = copy.copy(self)
        new.n_threads = n_threads
        new.map_ranges = map
        return new

    def with_progress(self, after_block: Callable[[], None]) -> Self:
        new = copy.copy(self)
        new._after_block = after_block
        return new

    def array(self, values: Array) -> Array:
        return values

    def within(self, columns: Array) -> Self:
        # Columns that are left out have zeros at most, for which any place in order will do.
        new = copy.copy(self)
        new.shape = self.shape[0], len(columns)
        new.column_sums = self.column_sums[columns]
        new._places = np.maximum(np.searchsorted(columns, np.arange(self.shape[1]), "right") - 1, 0)
        return new
