"""Non-zeros a band of rows at a time, and of these column by column: what EM's two passes read.

The factors of a band's rows, and the sums that are made of them, stay in a core's own cache. A
column's factor is fetched once for all the rows of a band that have the column, which is far less
often than once for every non-zero, and in order of the columns.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import dot, lanes, load, pieces, plus, prefetch, store
from skcooc.counts.threads import balanced_ranges
from skcooc.protocol import Array

TALLEST = 4096  # rows of a band: with 64 components, their factors and sums fill 2 MiB
LEAST = 1024  # rows of a band, even where there are fewer than N_BANDS then
N_BANDS = 16  # so many at least, that threads follow one another closely
AHEAD = U(2)  # runs, of which the column's factor is fetched beforehand


class Matrix(Protocol):
    """What views read of a CSR matrix."""

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array


class Bands:
    """The non-zeros of a CSR matrix in bands of rows; those of a column in a band are a run.

    The indices of the matrix need not be sorted.
    """

    height: int  # rows of a band, but the last; whatever the number of threads
    rows: Array  # (nnz,) of uint16: row of each non-zero, counted from the first one of its band
    data: Array  # (nnz,)
    runs: Array  # (n_runs + 1,): where the runs begin among the non-zeros
    columns: Array  # (n_runs,): their columns, in order in each band
    bands: Array  # (n_bands + 1,): where the bands begin among the runs

    def __init__(self, X: Matrix) -> None:
        n_rows, self.n_columns = X.shape
        self.height = min(max(LEAST, -(-n_rows // N_BANDS)), TALLEST)
        self.rows = np.empty(X.data.size, dtype=np.uint16)
        self.data = np.empty_like(X.data)
        runs, columns, n_runs = [], [], [0]
        for top in range(0, n_rows, self.height):
            indptr = X.indptr[top : top + self.height + 1]
            band = slice(int(indptr[0]), int(indptr[-1]))
            shape = len(indptr) - 1, self.n_columns
            parts = X.data[band], X.indices[band], indptr - indptr[0]
            view = sp.csr_array(parts, shape=shape).tocsc()
            self.rows[band], self.data[band] = view.indices, view.data
            occupied = np.flatnonzero(np.diff(view.indptr))
            runs.append(view.indptr[occupied].astype(X.indptr.dtype) + indptr[0])
            columns.append(occupied.astype(np.int32))
            n_runs.append(n_runs[-1] + len(occupied))
        self.runs = np.append(np.concatenate(runs), X.indptr[-1])
        self.columns, self.bands = np.concatenate(columns), np.array(n_runs)
        self._tiles: dict[int, Array] = {}  # by the number of ranges

    def __len__(self) -> int:
        return len(self.bands) - 1

    def of(self, band: int) -> slice:
        """The rows of a band."""
        return slice(band * self.height, (band + 1) * self.height)

    @property
    def non_zeros(self) -> tuple[Array, Array, Array, Array]:
        """Rows, data, columns and runs, as compiled loops take them."""
        return self.rows, self.data, self.columns, self.runs

    def tiles(self, n_ranges: int) -> Array:
        """The runs of each band in each of at most so many ranges of columns.

        Where they begin, (n_bands, n_ranges + 1); the ranges have about equally many non-zeros.
        """
        if n_ranges not in self._tiles:
            mass = np.bincount(self.columns, np.diff(self.runs), self.n_columns).cumsum()
            ranges = balanced_ranges(np.append(0, mass), n_ranges)
            cuts = [start for start, _ in ranges] + [self.n_columns]
            self._tiles[n_ranges] = np.array(
                [
                    first + np.searchsorted(self.columns[first:last], cuts)
                    for first, last in pairwise(self.bands.tolist())
                ]
            )
        return self._tiles[n_ranges]

    def mix(
        self,
        band: int,
        runs: Array,
        A: Array,
        B: Array,
        weights: Array | None,
        cells: Array,
        rows: Array,
        columns: Array | None,
    ) -> None:
        """A pass over runs[0] to runs[1] of a band, with w_ij = n_ij / (A[i] @ B[j]).

        w @ B is added to the band's rows of ``rows`` (n, k), and w.T @ A, with weights (n,) of the
        rows, to ``columns`` (M, k), where there are any. A[i] @ B[j] is filled into ``cells``
        (nnz,); 1 where that is zero: every component excludes such a cell.
        """
        mine = self.of(band)
        mixture_runs(
            lanes(A.shape[1], A.dtype),
            *self.non_zeros,
            *runs,
            A[mine],
            B,
            None if weights is None else weights[mine],
            cells,
            rows[mine],
            columns,
        )

    def log_likelihood(self, band: int, cells: Array, weights: Array | None) -> float:
        """sum n_ij log cell_ij over a band, rows by their weights, in nats."""
        start, stop = self.runs[self.bands[band : band + 2]]
        observations, logs = self.data[start:stop], np.log(cells[start:stop])
        if weights is not None:
            observations = observations * weights[band * self.height :][self.rows[start:stop]]
        return float(inner(observations, logs))

    def add_columns(self, runs: Array, D: Array, products: Array) -> None:
        """Add the product of the transposed data with D (n, k), over runs (n_bands, 2)."""
        runs = np.ascontiguousarray(runs)
        view = *self.non_zeros, runs, self.height
        for some in pieces(D.shape[1]):
            wide = lanes(some.stop - some.start, D.dtype)
            column_runs(wide, *view, D[:, some], products[:, some])


@compiled
def mixture_runs(  # type: ignore[no-untyped-def]
    lanes, rows, data, columns, runs, start, stop, A, B, weights, cells, products, sums
):
    """Runs start..stop of a band: cells A[i] @ B[j], ratios @ B for rows, @ A for columns.

    A, weights and products are those of the band. A cell which every component excludes carries no
    information: its ratio is zero, and it is set to one, of which the logarithm is zero.
    """
    zero, one = A.dtype.type(0), A.dtype.type(1)
    for run in range(U(start), U(stop)):
        j, ahead = U(columns[run]), U(columns[min(run + AHEAD, U(stop) - U(1))])
        prefetch(lanes, B, ahead)
        b = load(lanes, B, j)
        if sums is not None:
            prefetch(lanes, sums, ahead)
            of_column = load(lanes, sums, j)
        for p in range(U(runs[run]), U(runs[run + U(1)])):
            i = U(rows[p])
            a = load(lanes, A, i)
            cell = dot(a, b)
            w = data[p] / cell if cell > 0 else zero
            cells[p] = cell if cell > 0 else one
            store(plus(load(lanes, products, i), w, b), products, i)
            if sums is not None:
                if weights is not None:
                    w *= weights[i]
                of_column = plus(of_column, w, a)
        if sums is not None:
            store(of_column, sums, j)


@compiled
def column_runs(lanes, rows, data, columns, runs, limits, height, D, products):  # type: ignore[no-untyped-def]
    """Add X.T @ D to the products, with the runs limits[b] of each band b."""
    for band in range(len(limits)):
        of_rows = D[band * height :]
        for run in range(U(limits[band, 0]), U(limits[band, 1])):
            j = U(columns[run])
            product = load(lanes, products, j)
            for p in range(U(runs[run]), U(runs[run + U(1)])):
                product = plus(product, data[p], load(lanes, of_rows, U(rows[p])))
            store(product, products, j)


@compiled
def inner(x, y):  # type: ignore[no-untyped-def]
    """x @ y, added up in float64."""
    total = 0.0
    for p in range(len(x)):
        total += np.float64(x[p]) * y[p]
    return total
