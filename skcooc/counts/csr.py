"""Counts in memory: compressed sparse rows, and how passes over them are divided."""

from __future__ import annotations

import copy
from builtins import map as serial_map
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.counts.alternation import AlternatingRows
from skcooc.counts.drawing import draw
from skcooc.counts.exchange import ExchangeMoves
from skcooc.counts.kernels import compiled
from skcooc.counts.lanes import lined_up
from skcooc.counts.layout import Views
from skcooc.counts.left_out import LeftOutProducts
from skcooc.counts.left_out_rows import RowsLeftOut
from skcooc.counts.paths import PathProducts
from skcooc.counts.powers import power
from skcooc.counts.products import FactorProducts, nothing_like
from skcooc.counts.settling import RowMixtures
from skcooc.counts.thinning import thin
from skcooc.protocol import CSR, EVERYTHING, Array, Drawn, FoldIn, Map, Need, P, Rows, S, T

WORTH_A_THREAD = 2**18  # numbers to work on, below which a thread costs more than it saves
N_PARTS = 8  # of the rows, whatever the number of threads


@compiled
def column_sums(indptr, indices, data, row_weights, sums):  # type: ignore[no-untyped-def]
    """Add the sums of the columns, rows counted by their weights, to ``sums``."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            sums[indices[p]] += row_weights[i] * data[p]


def mean_weight(total: float, n_observations: float) -> float:
    """Weight of an observation where so many weigh this in all; one where there are none."""
    return total / n_observations if n_observations else 1.0


class CSRCounts(
    FactorProducts,
    AlternatingRows,
    ExchangeMoves,
    LeftOutProducts,
    RowsLeftOut,
    PathProducts,
    RowMixtures,
):
    """A block of rows of a count matrix (n, M), float32 or float64, with weights of its rows, (n,).

    X is never written to, and not copied but for indices of 64 bits where 32 do; they need not be
    sorted, entries may be zero. Sums over rows count each as often as its weight, or once. A pass
    is cut into a range for each of ``n_threads``, and ``map``, such as that of a thread pool, runs
    them side by side. Results are bitwise the same for any number of threads and any map.
    """

    def __init__(
        self,
        X: CSR,
        row_weights: Array | None = None,
        *,
        n_threads: int = 1,
        map: Map = serial_map,
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
        self.views = Views(self)  # shared by all that are spread from these

    offers: frozenset[Need] = EVERYTHING - {"triples"}

    @cached_property
    def row_sums(self) -> Array:
        """Number of observations of each row, (n,), in float64."""
        return self.summed(self.data)

    @cached_property
    def grain(self) -> float:
        """What an observation weighs on average, if n_ij stands for ceil(n_ij); 1 of counts."""
        return mean_weight(float(np.sum(self.row_sums * self.row_weights)), self.n_observations)

    @property
    def n_observations(self) -> float:
        """sum_ij ceil(n_ij), rows by their weights."""
        return float(np.sum(self.summed(np.ceil(self.data)) * self.row_weights))

    def summed(self, cells: Array) -> Array:
        """Sums over each row of what stands at the non-zeros, (n,), in float64."""
        sums = np.zeros(self.shape[0])
        occupied = np.flatnonzero(np.diff(self.indptr))
        if occupied.size:
            sums[occupied] = np.add.reduceat(cells, self.indptr[occupied], dtype=np.float64)
        return sums

    @cached_property
    def mass(self) -> float:
        """Observations of the table that these rows are of, by their weights; unless told, all."""
        return float(np.sum(self.column_sums))

    def n_log_n(self, axis: Literal[0, 1]) -> Array:
        """Sums of n_ij log n_ij over each column (0), rows by their weights, or each row (1)."""
        counts = self.data.astype(np.float64)
        terms = np.log(np.where(counts > 0, counts, 1))
        terms *= self.observations if axis == 0 else counts
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        places = self.indices if axis == 0 else rows
        return np.bincount(places, weights=terms, minlength=self.shape[1 - axis])

    @cached_property
    def column_sums(self) -> Array:
        """Number of observations of each column, rows by their weights, (M,), in float64."""
        sums = np.zeros(self.shape[1])
        column_sums(self.indptr, self.indices, self.data, self.row_weights, sums)
        return sums

    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        """The E-step of a model on these counts: row states and statistics."""
        return model.expect(self, params, rows, beta)

    def array(self, values: Array) -> Array:
        """The same numbers as an array of numpy, which those of these counts are."""
        return np.asarray(values)

    def rowwise(
        self, function: Callable[..., object], *arrays: Array, out: Array | None = None
    ) -> Array:
        """Fill ``out``, (m, k), with function(*arrays, out), ranges of rows side by side.

        Where it is None, it is a new array like the first one.
        """
        # In C order, whatever the arrays have: so that no product has to copy it.
        out = lined_up(arrays[0].shape, arrays[0].dtype) if out is None else out
        n_rows, n_ranges = len(out), self.n_ranges_of(out.size)
        ends = [n_rows * r // n_ranges for r in range(n_ranges + 1)]
        ranges = [tuple(array[i:j] for array in (*arrays, out)) for i, j in pairwise(ends)]
        self._each(function, ranges, out.size)
        return out

    def over_states(
        self, function: Callable[..., Rows], *states: Rows, out: Rows | None = None
    ) -> Rows:
        """function(*states), row by row, side by side where there are threads."""

        def fill(*arrays: Array) -> None:
            *these, out = arrays
            out[:] = function(*these)

        return self.rowwise(fill, *states, out=out)

    def by_row(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        """function(self, *states)."""
        return function(self, *states)

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        """function(self, *states)."""
        return function(self, *states)

    def lasting(self, states: Rows) -> Array:
        """States of rows are arrays: these."""
        return states

    def power(self, P: Array, exponent: float) -> Array:
        """P (m, k), not negative, to the power of the exponent."""
        return self.rowwise(lambda some, out: power(some, exponent, out), P)

    def parts(self, function: Callable[[int, int], T]) -> list[T]:
        """What function(start, stop) returns for parts of the rows, side by side.

        The parts do not depend on the number of threads.
        """
        ends = np.linspace(0, self.shape[0], min(N_PARTS, self.shape[0]) + 1).astype(int)
        return list(self.map_ranges(lambda part: function(*part), pairwise(ends.tolist())))

    def spread(self, n_threads: int, map: Map) -> Self:
        """The same counts, shared, with passes cut into ranges for these threads."""
        new = copy.copy(self)
        new.n_threads, new.map_ranges = n_threads, map
        return new

    def part_of(self, mass: float) -> Self:
        """The same rows, as some of a table with so many observations."""
        new = copy.copy(self)
        new.mass = mass
        return new

    n_blocks = 1

    def watched(self, after_block: Callable[[], None]) -> Self:
        """These."""
        return self

    def replaced(self, counts: Array) -> Self:
        """Other counts at the non-zeros, (nnz,), which share all but these."""
        table = sp.csr_array((counts, self.indices, self.indptr), shape=self.shape)
        return self._like(table, self.weights)

    def draw(self, n_rows: int, seed: int) -> Drawn:
        """Different rows drawn without replacement; all if there are fewer."""
        return draw(self.table, self.row_weights, n_rows, seed)

    def take(self, rows: Array) -> Self:
        """The block of the given rows, in that order."""
        weights = None if self.weights is None else self.weights[rows]
        return self._like(self.table[rows], weights)

    def occupied(self) -> tuple[Self, Array]:
        """The same rows without columns that have no entry; and the columns that are left."""
        n_columns, seen = self.shape[1], np.zeros(self.shape[1], dtype=bool)
        seen[self.indices] = True
        columns = np.flatnonzero(seen)
        places = np.empty(n_columns, dtype=self.indices.dtype)
        places[columns] = np.arange(len(columns), dtype=places.dtype)
        shape = self.shape[0], len(columns)
        table = sp.csr_array((self.data, places[self.indices], self.indptr), shape=shape)
        return self._like(table, self.weights), columns

    def coarsen(self, labels: Array) -> Self:
        """Tie rows: each group becomes its mean row, with the weight of all its members.

        ``labels`` (n,) are the groups of the rows, numbered from zero.
        """
        mass = np.bincount(labels, weights=self.row_weights)
        shares = self.row_weights / np.where(mass > 0, mass, 1)[labels]
        members = (shares.astype(self.dtype), (labels, np.arange(self.shape[0])))
        mean = sp.csr_array(members, shape=(len(mass), self.shape[0])) @ self.table
        return self._like(mean, mass)

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        """Hold out this share of the observations: the rest, and what is held out; see ``thin``."""
        rest, drawn = thin(self, fraction, seed, occupied=occupied)
        return self._like(rest, self.weights), self._like(drawn, self.weights)

    @property
    def table(self) -> CSR:
        """The counts as SciPy has them, which share their memory."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def _like(self, X: CSR, row_weights: Array | None) -> Self:
        return type(self)(X, row_weights, n_threads=self.n_threads, map=self.map_ranges)

    def n_ranges_of(self, work: int) -> int:
        """One for each thread that is worth its while."""
        return max(1, min(self.n_threads, work // WORTH_A_THREAD))

    def astype(self, dtype: DTypeLike) -> Self:
        """The same counts in this type; these, where they have it."""
        if self.dtype == dtype:
            return self
        return self._like(self.table.astype(dtype), self.weights)

    def as_new(self) -> NewRows:
        """The same rows, to be folded into a fitted model."""
        return NewRows(self.table, n_threads=self.n_threads, map=self.map_ranges)


class NewRows(CSRCounts):
    """Rows that are folded into a fitted model: they contribute nothing to its columns."""

    def tdot(self, D: Array) -> Array:
        """Nothing: (n, k) -> (M, k)."""
        return nothing_like(np.empty((self.shape[1], D.shape[1]), self.dtype))

    def _sums_of_columns(self, B: Array) -> None:
        return None

    def _path_columns(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> Array:
        return nothing_like(q)
