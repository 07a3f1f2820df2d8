"""Counts of three indices i, j, l: their bands, and the passes of EM over them.

The first pass makes the sums of the rows i and of the middle indices j; products are shared by
non-zeros with the same i and j. The second pass makes the sums of the columns l.
"""

from __future__ import annotations

from builtins import map as serial_map
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.counts.csr import CSRCounts
from skcooc.counts.lanes import (
    HALF,
    U,
    add_scaled,
    aligned_array,
    compiled,
    dot,
    lanes,
    load,
    multiply,
    padded,
    prefetch,
    store,
)
from skcooc.counts.passes import (
    SHIFT,
    Bands,
    ColumnView,
    Matrix,
    Views,
    column_by_column,
    shared_property,
    zeros_view,
)
from skcooc.counts.sampling import thin
from skcooc.protocol import CSR, Array, Map, Pass

PREFETCH = U(8)  # non-zeros before its own, at which a column's factor is fetched


class TripleViews(Views):
    """Columns, and bands of all three indices; ``middle`` (nnz,) are the j of the non-zeros."""

    def __init__(self, X: Matrix, middle: Array, n_middle: int) -> None:
        super().__init__(X)
        self.middle = middle
        self.n_middle = n_middle

    @shared_property
    def triples(self) -> TripleBands:
        shape = self.shape[0], self.n_middle
        pairs = sp.csr_array((self.data, self.middle, self.indptr), shape=shape)
        return TripleBands(pairs, self.indices, self.shape[1])


class TripleBands:
    """The non-zeros n_ijl of a table (N, M, L), in bands of pairs (i, j), and by columns l.

    They are given as a CSR array (N, M), which has a pair for each l, and these l, (nnz,).
    """

    def __init__(self, pairs: sp.csr_array, last: Array, n_columns: int) -> None:
        places = np.arange(len(last), dtype=last.dtype)
        self.bands = Bands.of_matrix(pairs)
        as_given = sp.csr_array((places, pairs.indices, pairs.indptr), shape=pairs.shape)
        views = column_by_column(as_given, self.bands.height)
        order = np.concatenate([view.data for view in views])  # of the non-zeros as they were given
        self.data = pairs.data[order]
        self.last = last[order]
        places[order] = np.arange(len(order), dtype=order.dtype)
        columns = ColumnView(
            sp.csr_array((places, last, pairs.indptr), shape=(pairs.shape[0], n_columns))
        )
        middle = pairs.indices[columns.order]
        self.by_column = columns.indptr, middle, columns.indices, places[columns.order]


@compiled
def runs_of_pairs(  # type: ignore[no-untyped-def]
    rows, last, data, middle, lengths, tile, lanes, zeros, A, B, C, cells, products, sums
):
    """Cells A[i] B[j] C[l] of a tile of a band, and sums of their ratios.

    A and products are those of the band. A cell of zero gets a ratio of zero, and is set to one, so
    that its logarithm is zero; its contribution to columns is multiplied by zeros of C.
    """
    zero, one, end = A.dtype.type(0), A.dtype.type(1), U(len(last))
    p = U(tile[0, 1])
    for run in range(U(tile[0, 0]), U(tile[1, 0])):
        j = U(middle[run])
        b, of_middle = load(lanes, B, j), load(lanes, zeros, U(0))
        until = p + U(lengths[run])
        while p < until:
            i = rows[p]
            a, of_pair = load(lanes, A, U(i)), load(lanes, zeros, U(0))
            product = multiply(a, b)
            while p < until and rows[p] == i:
                prefetch(lanes, C, U(last[min(p + PREFETCH, end - U(1))]))
                c = load(lanes, C, U(last[p]))
                cell = dot(product, c)
                cells[p] = cell if cell > 0 else one
                of_pair = add_scaled(of_pair, data[p] / cell if cell > 0 else zero, c)
                p += U(1)
            store(
                add_scaled(load(lanes, products, U(i)), one, multiply(b, of_pair)), products, U(i)
            )
            of_middle = add_scaled(of_middle, one, multiply(a, of_pair))
        if sums is not None:
            store(add_scaled(load(lanes, sums, j), one, of_middle), sums, j)


@compiled
def sums_of_columns(  # type: ignore[no-untyped-def]
    indptr, middle, rows, places, start, stop, lanes, zeros, A, B, ratios, sums
):
    """Sums of w A[i] B[j] over the non-zeros of the columns start..stop."""
    for column in range(U(start), U(stop)):
        total = load(lanes, zeros, U(0))
        for p in range(U(indptr[column]), U(indptr[column + U(1)])):
            pair = multiply(load(lanes, A, U(rows[p])), load(lanes, B, U(middle[p])))
            total = add_scaled(total, ratios[places[p]], pair)
        store(total, sums, column)


@compiled
def conditional_cells(lanes, indptr, middle, last, A, B, C, start, stop, cells):  # type: ignore[no-untyped-def]
    """sum_k A[i] B[j] C[l] / sum_k A[i] B[j] at the non-zeros of rows start..stop."""
    for i in range(U(start), U(stop)):
        a = load(lanes, A, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            b, c = load(lanes, B, U(middle[p])), load(lanes, C, U(last[p]))
            mass = dot(a, b)
            cells[p] = dot(multiply(a, b), c) / mass if mass > 0 else dot(a, c)


class TripleCounts(CSRCounts):
    """Counts n_ijl, float32 or float64: a table of N rows i by L columns l with middle indices j.

    It is given as a matrix (N, M L) whose column j L + l is the pair (j, l); ``sizes`` are (M, L).
    Factors of rows have (N + M) rows: first those of the i, then those of the j. So EM, held-out
    tokens and predictions need not know of the third index.
    """

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
        columns = self.middle.astype(np.int64) * self.sizes[1] + self.indices
        arrays = self.data, columns, self.indptr.astype(np.int64)
        return sp.csr_array(arrays, shape=(self.shape[0], self.sizes[0] * self.sizes[1]))

    @property
    def middle_sums(self) -> Array:
        return np.bincount(self.middle, weights=self.data, minlength=self.sizes[0])

    def mixture(self, A: Array, B: Array) -> Pass:
        """Products of w_ijl = n_ijl / sum_k A[i] A[N + j] B[l]; A is (N + M, k), B (L, k).

        ``rows`` (N + M, k) are sum_jl w A[N + j] B[l] and sum_il w A[i] B[l]; ``columns`` (L, k)
        are sum_ij w A[i] A[N + j].
        """
        n_components = B.shape[1]
        first, middle, last = factors = self._factors(A, B)
        triples = self.views.triples
        bands = triples.bands
        N = self.shape[0]
        vectors = lanes(first)
        zeros = np.zeros((1, first.shape[1]), self.dtype)
        rows = aligned_array((N + self.sizes[0], first.shape[1]), self.dtype, SHIFT, np.zeros)
        cells = np.empty_like(self.data)
        middle_sums = self._sums_of_middle(rows[N:])

        def mix(band: int, tile: Array) -> None:
            part = bands.rows_of(band)
            view = bands.rows, triples.last, triples.data, bands.columns, bands.lengths
            arrays = first[part], middle, last, cells, rows[:N][part], middle_sums
            runs_of_pairs(*view, tile, vectors, zeros, *arrays)

        log_likelihood = self.run_bands(bands, cells, n_components, mix)
        sums = self._sums_of_last(factors, cells)
        return Pass(rows[:, :n_components], sums[:, :n_components], log_likelihood)

    def cells(self, A: Array, B: Array) -> Array:
        """sum_k A[i] A[N + j] B[l] / sum_k A[i] A[N + j] at the non-zeros, (nnz,).

        With distributions: P(l given i, j). Where no k is possible for both i and j, such as where
        j is new, it is sum_k A[i] B[l], the prediction without j.
        """
        factors = self._factors(A, B)
        cells = np.empty_like(self.data)
        arrays = lanes(factors[0]), self.indptr, self.middle, self.indices, *factors

        def fill(start: int, stop: int) -> None:
            conditional_cells(*arrays, start, stop, cells)

        self.run_ranges(self.indptr, B.shape[1], fill)
        return cells

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        rest, part = thin(self.pairs, fraction, seed, occupied=occupied)
        return self._of(rest), self._of(part)

    def take(self, rows: Array) -> Self:
        return self._of(self.pairs[rows])

    def occupied(self) -> tuple[Self, Array]:
        return self, np.arange(self.shape[1])

    def astype(self, dtype: DTypeLike) -> Self:
        return self._of(self.pairs.astype(dtype))

    def as_new(self) -> NewTriples:  # type: ignore[override]
        return NewTriples(self.pairs, self.sizes, n_threads=self.n_threads, map=self.map_ranges)

    def _of(self, pairs: CSR) -> Self:
        return type(self)(pairs, self.sizes, n_threads=self.n_threads, map=self.map_ranges)

    def _factors(self, A: Array, B: Array) -> tuple[Array, Array, Array]:
        """Factor rows of each index; ValueError if sizes do not fit the table."""
        expected = self.shape[0] + self.sizes[0], self.shape[1]
        if (len(A), len(B)) != expected:
            raise ValueError(f"The factors have {(len(A), len(B))} rows; expected {expected}")
        A, B = (padded(F, self.dtype, HALF) for F in (A, B))
        return A[: self.shape[0]], A[self.shape[0] :], B

    def _sums_of_middle(self, sums: Array) -> Array | None:
        """Array for the sums of the j, or None if they are not needed."""
        return sums

    def _sums_of_last(self, factors: tuple[Array, Array, Array], cells: Array) -> Array:
        """Second pass: expected counts of the l, (L, k), from the cells of the first pass."""
        first, middle, last = factors
        n_components = last.shape[1]
        triples = self.views.triples
        view = triples.by_column
        sums = aligned_array(last.shape, self.dtype)
        ratios = np.divide(triples.data, cells, out=cells)
        zeros = np.zeros((1, n_components), self.dtype)

        def add(start: int, stop: int) -> None:
            arrays = first, middle, ratios, sums
            sums_of_columns(*view, start, stop, lanes(last), zeros, *arrays)

        self.run_ranges(view[0], n_components, add)
        return sums


class NewTriples(TripleCounts):
    """Rows to fold in, which contribute nothing to the other factors."""

    def _sums_of_middle(self, sums: Array) -> None:
        return None

    def _sums_of_last(self, factors: tuple[Array, Array, Array], cells: Array) -> Array:
        return zeros_view(factors[2])
