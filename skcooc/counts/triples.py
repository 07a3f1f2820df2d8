"""Counts of three indices: a table of rows and columns whose non-zeros have one index more."""

from __future__ import annotations

from builtins import map as serial_map
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.counts.csr import CSRCounts
from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import dot, lanes, lined_up, load, times
from skcooc.counts.layout import APART
from skcooc.counts.products import Mixture, nothing_like
from skcooc.counts.thinning import thin
from skcooc.counts.threads import pipelined
from skcooc.counts.triple_bands import Factors, TripleViews
from skcooc.protocol import CSR, Array, Map, Need


@compiled
def conditional_cells(lanes, indptr, middle, last, A, B, C, start, stop, cells):  # type: ignore[no-untyped-def]
    """A[i] * B[j], made a distribution, times C[l] at the non-zeros of rows start..stop."""
    for i in range(U(start), U(stop)):
        a = load(lanes, A, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            b, c = load(lanes, B, U(middle[p])), load(lanes, C, U(last[p]))
            mass = dot(a, b)
            cells[p] = dot(times(a, b), c) / mass if mass > 0 else dot(a, c)


class TripleCounts(CSRCounts):
    """Counts n_ijl, float32 or float64: a table of N rows i by L columns l that knows each j.

    It is given as a matrix (N, M L) whose column j L + l is the pair (j, l); ``sizes`` are (M, L).
    Where counts of two indices take a factor A of rows, these take one of (N + M) rows: first those
    of the i, then those of the j. So EM, held-out observations and predictions need not know that
    there is a third index.
    """

    offers: frozenset[Need] = frozenset(
        ("divide", "triples", "all rows", "each step", "row states")
    )

    def __init__(
        self, pairs: CSR, sizes: tuple[int, int], *, n_threads: int = 1, map: Map = serial_map
    ) -> None:
        self.sizes = sizes
        middle, last = np.divmod(pairs.indices, max(1, sizes[1]))
        shape = pairs.shape[0], sizes[1]
        table = sp.csr_array((pairs.data, last, pairs.indptr), shape=shape)
        super().__init__(table, n_threads=n_threads, map=map)
        self.middle = middle.astype(self.indices.dtype)
        self.views: TripleViews = TripleViews(self, self.middle, sizes[0])

    @property
    def pairs(self) -> CSR:
        """The matrix (N, M L) of which these counts were made."""
        columns = self.middle.astype(np.int64) * self.sizes[1] + self.indices
        arrays = self.data, columns, self.indptr.astype(np.int64)
        return sp.csr_array(arrays, shape=(self.shape[0], self.sizes[0] * self.sizes[1]))

    @property
    def middle_sums(self) -> Array:
        """Number of observations of each j, (M,), in float64."""
        return np.bincount(self.middle, weights=self.data, minlength=self.sizes[0])

    def mixture(self, A: Array, B: Array) -> Mixture:
        """Products of w_ijl = n_ijl / sum_k A[i] A[N + j] B[l]; A is (N + M, k), B (L, k).

        ``rows`` (N + M, k) are sum_jl w A[N + j] B[l] and sum_il w A[i] B[l]; ``columns`` (L, k)
        are sum_ij w A[i] A[N + j].
        """
        factors, bands = Factors.of(*self._factors(A, B)), self.views.triples
        N, M, work = self.shape[0], self.sizes[0], self.data.size * B.shape[1]
        cells = np.empty_like(self.data)
        rows = lined_up((N + M, B.shape[1]), self.dtype, APART, np.zeros)
        between = self._sums_of_middle(rows[N:])
        tiles = bands.bands.tiles(self.n_ranges_of(work))

        def mix(band: int, part: int) -> None:
            bands.mix(band, tiles[band, part : part + 2], factors, cells, rows[:N], between)

        n_ranges = tiles.shape[1] - 1
        map = self.map_ranges if n_ranges > 1 else serial_map
        pipelined(map, mix, len(bands.bands), n_ranges)
        each = [(band,) for band in range(len(bands.bands))]
        logs = self._each(lambda band: bands.bands.log_likelihood(band, cells, None), each, work)
        return Mixture(rows, self._sums_of_last(factors, cells), sum(logs))

    def cells(self, A: Array, B: Array) -> Array:
        """sum_k A[i] A[N + j] B[l] / sum_k A[i] A[N + j] at the non-zeros, (nnz,).

        With distributions: P(l given i, j). Where no k is possible for both i and j, such as where
        j is new, it is sum_k A[i] B[l], the prediction without j.
        """
        factors, cells = self._factors(A, B), np.empty_like(self.data)
        wide, table = lanes(B.shape[1], self.dtype), (self.indptr, self.middle, self.indices)
        self._over(
            self.indptr,
            B.shape[1],
            lambda start, stop: conditional_cells(wide, *table, *factors, start, stop, cells),
        )
        return cells

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        """Hold out this share of the observations: the rest, and what is held out; see ``thin``."""
        rest, drawn = thin(self.pairs, fraction, seed, occupied=occupied)
        return self._of(rest), self._of(drawn)

    def take(self, rows: Array) -> Self:
        """The block of the given rows, in that order."""
        return self._of(self.pairs[rows])

    def occupied(self) -> tuple[Self, Array]:
        """These; and all columns."""
        return self, np.arange(self.shape[1])

    def astype(self, dtype: DTypeLike) -> Self:
        """The same counts in this type."""
        return self._of(self.pairs.astype(dtype))

    def as_new(self) -> NewTriples:  # type: ignore[override]
        """The same rows, to be folded into a fitted model."""
        return NewTriples(self.pairs, self.sizes, n_threads=self.n_threads, map=self.map_ranges)

    def _of(self, pairs: CSR) -> Self:
        return type(self)(pairs, self.sizes, n_threads=self.n_threads, map=self.map_ranges)

    def _factors(self, A: Array, B: Array) -> tuple[Array, Array, Array]:
        """Those of the i, the j and the l; ValueError where they are not of this table."""
        expected = self.shape[0] + self.sizes[0], self.shape[1]
        if (len(A), len(B)) != expected:
            raise ValueError(f"The factors have {(len(A), len(B))} rows; expected {expected}")
        A, B = (np.ascontiguousarray(F, dtype=self.dtype) for F in (A, B))
        return A[: self.shape[0]], A[self.shape[0] :], B

    def _sums_of_middle(self, sums: Array) -> Array | None:
        """Where those of the j are added up; None where none are wanted."""
        return sums

    def _sums_of_last(self, factors: Factors, cells: Array) -> Array:
        """Those of the l, (L, k), of what the first pass left."""
        bands, sums = self.views.triples, lined_up(factors.last.shape, self.dtype)
        ratios = np.divide(bands.data, cells, out=cells)
        self._over(
            bands.indptr,
            sums.shape[1],
            lambda start, stop: bands.add_columns(start, stop, factors, ratios, sums),
        )
        return sums


class NewTriples(TripleCounts):
    """Rows that are folded into a fitted model: they contribute nothing to the other factors."""

    def _sums_of_middle(self, sums: Array) -> None:
        return None

    def _sums_of_last(self, factors: Factors, cells: Array) -> Array:
        return nothing_like(factors.last)
