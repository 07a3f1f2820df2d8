"""Counts in memory: a block of rows with all its passes."""

from __future__ import annotations

import copy
from builtins import map as serial_map
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.counts.lanes import aligned_array, power
from skcooc.counts.passes import FactorProducts, Views, zeros_view
from skcooc.counts.sampling import draw, thin
from skcooc.protocol import (
    CSR,
    Array,
    Capability,
    FoldIn,
    Map,
    P,
    Rows,
    RowSample,
    S,
    Statistics,
    T,
)
from skcooc.protocol.subnormals import flushed_subnormals

WORTH_A_THREAD = 2**18  # numbers to work on, below which a thread costs more than it saves
N_PARTS = 8  # of the rows, whatever the number of threads
N_SORTED = 32  # columns for each non-zero, from which on sorting finds those occupied faster
MIN_PART = 64  # rows of a part, at least: smaller ones cost more than they save
# Capabilities of whole tables that are not in memory.
OUT_OF_CORE: frozenset[Capability] = frozenset(("paths", "each step", "row states"))


def tree_sum(add: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Sum in a binary tree that depends on the number of parts: ((a + b) + (c + d)) + e."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        rest = parts[len(parts) - len(parts) % 2 :]
        parts = [*(add(*pair) for pair in pairs), *rest]
    return parts[0]


def add_statistics(first: Statistics, second: Statistics) -> Statistics:
    return type(first)(*(a + b for a, b in zip(first, second, strict=True)))


def mean_weight(total: float, n_tokens: float) -> float:
    return total / n_tokens if n_tokens else 1.0


class CSRCounts(FactorProducts):
    """A block of rows of a count matrix (n, M), float32 or float64, with weights of its rows, (n,).

    Rows may be in groups: ``row_groups`` (n,) are their numbers from 0, or -1 for none.
    X is never written to, nor copied, except for 64-bit indices where 32 bits suffice. Indices need
    not be sorted, entries may be zero. A pass is cut into a range for each of ``n_threads``, which
    ``map``, such as that of a thread pool, runs in parallel; results are bitwise the same for all.
    """

    row_groups: Array | None = None  # (n,); None: they are in none
    _by_group: Array | None = None

    def __init__(
        self, X: CSR, row_weights: Array | None = None, *, n_threads: int = 1, map: Map = serial_map
    ) -> None:
        self.shape: tuple[int, int] = X.shape
        # Loops are compiled for each type: one of them, unless there are 2^31 non-zeros.
        index = np.int32 if max(X.data.size, *X.shape) < 2**31 else np.int64
        self.indptr = X.indptr.astype(index, copy=False)
        self.indices = X.indices.astype(index, copy=False)
        self.data = X.data
        self.weights = row_weights
        self.n_threads = n_threads
        self.map_ranges = map
        self.views = Views(self)  # shared by copies

    @cached_property
    def row_sums(self) -> Array:
        return self.sum_rows(self.data)

    @cached_property
    def mean_count_weight(self) -> float:
        return mean_weight(float(np.sum(self.row_sums * self.row_weights)), self.n_tokens)

    @property
    def n_tokens(self) -> float:
        """sum_ij ceil(n_ij), rows by their weights."""
        return float(np.sum(self.sum_rows(np.ceil(self.data)) * self.row_weights))

    def sum_rows(self, cells: Array) -> Array:
        sums = np.zeros(self.shape[0])
        occupied = np.flatnonzero(np.diff(self.indptr))
        if occupied.size:
            sums[occupied] = np.add.reduceat(cells, self.indptr[occupied], dtype=np.float64)
        return sums

    @cached_property
    def mass(self) -> float:
        return float(np.sum(self.column_sums))

    def n_log_n(self, axis: Literal[0, 1]) -> Array:
        counts = self.data.astype(np.float64)
        terms = np.log(np.where(counts > 0, counts, 1))
        terms *= self.weighted_counts if axis == 0 else counts
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        places = self.indices if axis == 0 else rows
        return np.bincount(places, weights=terms, minlength=self.shape[1 - axis])

    @cached_property
    def column_sums(self) -> Array:
        return np.asarray(self.table.T @ self.row_weights)

    @flushed_subnormals()
    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        return model.expect(self, params, rows, beta)

    def array(self, values: Array) -> Array:
        return np.asarray(values)

    def map_row_ranges(
        self, function: Callable[..., object], *arrays: Array, out: Array | None = None
    ) -> Array:
        # In C order, whatever the arrays have: so that no product has to copy it.
        out = aligned_array(arrays[0].shape, arrays[0].dtype) if out is None else out
        n_rows = len(out)
        n_ranges = self.n_ranges_for(out.size)
        ends = [n_rows * r // n_ranges for r in range(n_ranges + 1)]
        ranges = [tuple(array[i:j] for array in (*arrays, out)) for i, j in pairwise(ends)]
        self.run_each(function, ranges, out.size)
        return out

    def map_blocks(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        return function(self, *states)

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        return function(self, *states)

    def collect_rows(self, states: Rows) -> Array:
        return states

    def power(self, P: Array, exponent: float) -> Array:
        return self.map_row_ranges(lambda part, out: power(part, exponent, out), P)

    def map_slices(self, function: Callable[[int, int], T]) -> list[T]:
        n_rows = self.shape[0]
        height = max(MIN_PART, -(-n_rows // N_PARTS))
        parts = [(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]
        return list(self.map_ranges(lambda part: flushed_subnormals()(function)(*part), parts))

    def with_threads(self, n_threads: int, map: Map) -> Self:
        new = copy.copy(self)
        new.n_threads = n_threads
        new.map_ranges = map
        return new

    def part_of(self, mass: float) -> Self:
        new = copy.copy(self)
        new.mass = mass
        return new

    n_blocks = 1

    def with_progress(self, after_block: Callable[[], None]) -> Self:
        return self

    def replaced(self, counts: Array) -> Self:
        return self._same_rows(sp.csr_array((counts, self.indices, self.indptr), shape=self.shape))

    def draw(self, n_rows: int, seed: int) -> RowSample:
        return draw(self.table, self.row_weights, n_rows, seed)

    def take(self, rows: Array) -> Self:
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.row_groups is None else self.row_groups[rows]
        return self._like(self.table[rows], weights).in_groups(groups)

    def occupied(self) -> tuple[Self, Array]:
        n_columns = self.shape[1]
        indices = self.indices[self.weighted_counts > 0]
        if indices.size < n_columns // N_SORTED:
            columns = np.unique(indices).astype(np.intp)
        else:
            seen = np.zeros(n_columns, dtype=bool)
            seen[indices] = True
            columns = np.flatnonzero(seen)
        return (self if len(columns) == n_columns else self.within(columns)), columns

    def within(self, columns: Array) -> Self:
        places = np.full(self.shape[1], -1, dtype=self.indices.dtype)
        places[columns] = np.arange(len(columns))
        indices = places[self.indices]
        if (indices < 0).any():
            return self._same_rows(self.table[:, columns])
        shape = self.shape[0], len(columns)
        return self._same_rows(sp.csr_array((self.data, indices, self.indptr), shape=shape))

    def among(self, columns: Array, n_columns: int) -> Self:
        shape = self.shape[0], n_columns
        return self._same_rows(
            sp.csr_array((self.data, columns[self.indices], self.indptr), shape=shape)
        )

    def coarsen(self, labels: Array) -> Self:
        mass = np.bincount(labels, weights=self.row_weights)
        shares = self.row_weights / np.where(mass > 0, mass, 1)[labels]
        members = (shares.astype(self.dtype), (labels, np.arange(self.shape[0])))
        mean = sp.csr_array(members, shape=(len(mass), self.shape[0])) @ self.table
        return self._like(mean, mass)

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        rest, part = thin(self, fraction, seed, occupied=occupied)
        return self._same_rows(rest), self._same_rows(part)

    def column_sums_by_group(self, n_groups: int) -> Array:
        if self._by_group is None:
            groups = np.full(self.shape[0], -1) if self.row_groups is None else self.row_groups
            places = np.where(groups < n_groups, groups, -1) % (n_groups + 1)
            members = self.row_weights, (places, np.arange(self.shape[0]))
            sums = sp.csr_array(members, shape=(n_groups + 1, self.shape[0])) @ self.table
            self._by_group = sums.toarray()
        return self._by_group

    def _like(self, X: CSR, row_weights: Array | None) -> Self:
        return type(self)(X, row_weights, n_threads=self.n_threads, map=self.map_ranges)

    def _same_rows(self, X: CSR) -> Self:
        return self._like(X, self.weights).in_groups(self.row_groups)

    def in_groups(self, row_groups: Array | None) -> Self:
        new = copy.copy(self)
        new.row_groups = row_groups
        new._by_group = None
        return new

    def n_ranges_for(self, work: int) -> int:
        return max(1, min(self.n_threads, work // WORTH_A_THREAD))

    def astype(self, dtype: DTypeLike) -> Self:
        return self if self.dtype == dtype else self._same_rows(self.table.astype(dtype))

    def as_new(self) -> NewRows:
        new = NewRows(self.table, n_threads=self.n_threads, map=self.map_ranges)
        return new.in_groups(self.row_groups)


class NewRows(CSRCounts):
    """Rows to fold in, which contribute nothing to columns."""

    is_new = True

    def tdot(self, D: Array) -> Array:
        return zeros_view(np.empty((self.shape[1], D.shape[1]), self.dtype))
