"""Counts of three indices: a table of rows and columns whose non-zeros have one index more."""

from __future__ import annotations

from builtins import map as serial_map
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.counts.csr import CSRCounts
from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import Lanes, dot, lanes, lined_up, load, plus, store, times
from skcooc.counts.layout import ColumnView, Views
from skcooc.counts.products import Mixture, nothing_like
from skcooc.counts.thinning import thin
from skcooc.protocol import CSR, Array, Map, Need


@compiled
def sums_of_rows(lanes, none, indptr, middle, last, data, A, B, C, start, stop, cells, sums):  # type: ignore[no-untyped-def]
    """sum_k A[i] B[j] C[l] at the non-zeros of rows start..stop, and what their ratios sum to.

    It is one where a non-zero is zero. Neighbours that share j share two of the factors; ``none``
    (1, k) are zeros.
    """
    for i in range(U(start), U(stop)):
        a, total = load(lanes, A, i), load(lanes, none, U(0))
        p, end = U(indptr[i]), U(indptr[i + U(1)])
        while p < end:
            j = middle[p]
            b, inner = load(lanes, B, U(j)), load(lanes, none, U(0))
            product = times(a, b)
            while p < end and middle[p] == j:
                cells[p] = 1  # what is held out leaves zeros, perhaps where nothing is possible
                if data[p] > 0:
                    c = load(lanes, C, U(last[p]))
                    cells[p] = dot(product, c)
                    inner = plus(inner, data[p] / cells[p], c)
                p += U(1)
            total = plus(total, 1, times(b, inner))
        store(total, sums, i)


@compiled
def sums_of_others(lanes, none, indptr, rows, order, others, ratios, A, B, start, stop, sums):  # type: ignore[no-untyped-def]
    """Sums of w A[i] B[j] over the non-zeros that share an index of start..stop."""
    for c in range(U(start), U(stop)):
        total = load(lanes, none, U(0))
        p, end = U(indptr[c]), U(indptr[c + U(1)])
        while p < end:
            i, inner = rows[p], load(lanes, none, U(0))
            while p < end and rows[p] == i:
                cell = U(order[p])
                inner = plus(inner, ratios[cell], load(lanes, B, U(others[cell])))
                p += U(1)
            total = plus(total, 1, times(load(lanes, A, U(i)), inner))
        store(total, sums, c)


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
        between = sp.csr_array((self.data, self.middle, self.indptr), shape=(shape[0], sizes[0]))
        self.middle_views = Views(between)  # as ``views`` of the columns

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
        first, middle, last = self._factors(A, B)
        N, (wide, none) = self.shape[0], _registers(last)
        cells = np.empty_like(self.data)
        rows = lined_up((N + self.sizes[0], B.shape[1]), self.dtype)

        def mix(start: int, stop: int) -> None:
            table = self.indptr, self.middle, self.indices, self.data
            sums_of_rows(wide, none, *table, first, middle, last, start, stop, cells, rows[:N])

        self._over(self.indptr, B.shape[1], mix)
        ratios = self.data / cells
        log_likelihood = float((self.data * np.log(cells, out=cells)).sum(dtype=np.float64))
        columns = self._other_sums(ratios, first, middle, last, rows[N:])
        return Mixture(rows, columns, log_likelihood)

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

    def _other_sums(
        self, ratios: Array, first: Array, middle: Array, last: Array, out: Array
    ) -> Array:
        """Fill ``out``, (M, k), with the sums of the j; return those of the l, (L, k)."""
        sums = lined_up(last.shape, self.dtype)
        self._sum(self.middle_views.columns, self.indices, ratios, first, last, out)
        self._sum(self.views.columns, self.middle, ratios, first, middle, sums)
        return sums

    def _sum(
        self, view: ColumnView, others: Array, ratios: Array, A: Array, B: Array, sums: Array
    ) -> None:
        both = _registers(A)
        self._over(
            view.indptr,
            A.shape[1],
            lambda start, stop: sums_of_others(
                *both, *view.structure, others, ratios, A, B, start, stop, sums
            ),
        )


class NewTriples(TripleCounts):
    """Rows that are folded into a fitted model: they contribute nothing to the other factors."""

    def _other_sums(
        self, ratios: Array, first: Array, middle: Array, last: Array, out: Array
    ) -> Array:
        out[:] = 0
        return nothing_like(last)


def _registers(factor: Array) -> tuple[Lanes, Array]:
    """What loops need to know of a factor (m, k) to keep its rows in registers; zeros, (1, k)."""
    n_components = factor.shape[1]
    return lanes(n_components, factor.dtype), np.zeros((1, n_components), factor.dtype)
