"""Non-zeros of three indices in bands of rows, and column by column: what EM's two passes read.

The first pass makes the sums of the rows i and of the j between, of which those that share both
share what is added to either. The second makes the sums of the columns l.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skcooc.counts.bands import Bands, Matrix, column_by_column
from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import Lanes, dot, lanes, load, plus, prefetch, store, times
from skcooc.counts.layout import ColumnView, Views
from skcooc.protocol import Array

AHEAD = U(8)  # non-zeros, of which the column's factor is fetched beforehand


class Factors(NamedTuple):
    """Rows in registers, and what the three indices give to a product."""

    lanes: Lanes
    zeros: Array  # (1, k): what a sum begins with
    first: Array  # (N, k)
    middle: Array  # (M, k)
    last: Array  # (L, k)

    @classmethod
    def of(cls, first: Array, middle: Array, last: Array) -> Factors:
        """These factors."""
        zeros = np.zeros((1, last.shape[1]), last.dtype)
        return cls(lanes(last.shape[1], last.dtype), zeros, first, middle, last)


class TripleViews(Views):
    """Those of columns, and the bands of all three indices.

    The j of the non-zeros, of which there are so many, are ``middle`` (nnz,).
    """

    def __init__(self, X: Matrix, middle: Array, n_middle: int) -> None:
        super().__init__(X)
        self.middle, self.n_middle = middle, n_middle

    @property
    def triples(self) -> TripleBands:
        """Bands of rows, and columns."""
        with self._lock:
            return self._triples

    @cached_property
    def _triples(self) -> TripleBands:
        shape = self.shape[0], self.n_middle
        pairs = sp.csr_array((self.data, self.middle, self.indptr), shape=shape)
        return TripleBands(pairs, self.indices, self.shape[1])


class TripleBands:
    """The non-zeros n_ijl of a table (N, M, L), given row by row.

    Parameters
    ----------
    pairs : (N, M) CSR array
        The rows i and the indices j between, several of a kind if they have several l.
    last : (nnz,) array of int
        The column l of each.
    n_columns : int
        L.
    """

    def __init__(self, pairs: sp.csr_array, last: Array, n_columns: int) -> None:
        places = np.arange(len(last), dtype=last.dtype)
        self.bands = Bands.of_matrix(pairs)
        as_given = sp.csr_array((places, pairs.indices, pairs.indptr), shape=pairs.shape)
        views = column_by_column(as_given, self.bands.height)
        order = np.concatenate([view.data for view in views])  # of the non-zeros as they were given
        self.data, self.last = pairs.data[order], last[order]
        places[order] = np.arange(len(order), dtype=order.dtype)
        columns = ColumnView(
            sp.csr_array((places, last, pairs.indptr), shape=(pairs.shape[0], n_columns))
        )
        self.indptr, self.rows = columns.indptr, columns.indices
        self.middle, self.places = pairs.indices[columns.order], places[columns.order]

    def mix(
        self,
        band: int,
        tile: Array,
        factors: Factors,
        cells: Array,
        rows: Array,
        sums: Array | None,
    ) -> None:
        """A pass over a tile of a band, with w = n_ijl / sum_k A[i] B[j] C[l].

        Adds the sums of w B[j] C[l] to the band's rows of ``rows`` (N, k), and of w A[i] C[l] to
        ``sums`` (M, k), if there are any. What w is a quotient of is filled into ``cells`` (nnz,);
        1 where it is zero: every component excludes such a cell.
        """
        bands, mine = self.bands, self.bands.of(band)
        view = bands.rows, self.last, self.data, bands.columns, bands.lengths
        some = factors._replace(first=factors.first[mine])
        runs_of_pairs(*view, tile, *some, cells, rows[mine], sums)

    def add_columns(
        self, start: int, stop: int, factors: Factors, ratios: Array, sums: Array
    ) -> None:
        """Fill the columns l of start..stop with the sums of w A[i] B[j]; ratios w are (nnz,)."""
        view = self.indptr, self.middle, self.rows, self.places
        wide, zeros, first, middle, _ = factors
        sums_of_columns(*view, start, stop, wide, zeros, first, middle, ratios, sums)


@compiled
def runs_of_pairs(  # type: ignore[no-untyped-def]
    rows, last, data, middle, lengths, tile, lanes, zeros, A, B, C, cells, products, sums
):
    """A tile of a band: cells A[i] B[j] C[l], and what their ratios sum to.

    A and products are those of the band. A cell that is zero has a ratio of zero, and is set to
    one, of which the logarithm is zero. What that gives to the columns is multiplied by zeros of C.
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
            product = times(a, b)
            while p < until and rows[p] == i:
                prefetch(lanes, C, U(last[min(p + AHEAD, end - U(1))]))
                c = load(lanes, C, U(last[p]))
                cell = dot(product, c)
                cells[p] = cell if cell > 0 else one
                of_pair = plus(of_pair, data[p] / cell if cell > 0 else zero, c)
                p += U(1)
            store(plus(load(lanes, products, U(i)), one, times(b, of_pair)), products, U(i))
            of_middle = plus(of_middle, one, times(a, of_pair))
        if sums is not None:
            store(plus(load(lanes, sums, j), one, of_middle), sums, j)


@compiled
def sums_of_columns(  # type: ignore[no-untyped-def]
    indptr, middle, rows, places, start, stop, lanes, zeros, A, B, ratios, sums
):
    """Sums of w A[i] B[j] over the non-zeros of the columns start..stop."""
    for column in range(U(start), U(stop)):
        total = load(lanes, zeros, U(0))
        for p in range(U(indptr[column]), U(indptr[column + U(1)])):
            pair = times(load(lanes, A, U(rows[p])), load(lanes, B, U(middle[p])))
            total = plus(total, ratios[places[p]], pair)
        store(total, sums, column)
