"""Non-zeros a band of rows at a time, and of these column by column: what EM's two passes read.

The factors of a band's rows, and the sums that are made of them, stay in a core's own cache. A
column's factor is fetched once for all the rows of a band that have the column, which is far less
often than once for every non-zero, and in order of the columns.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skcooc.counts.kernels import compiled
from skcooc.counts.layout import balanced_ranges

Array = NDArray[Any]
U = np.uintp

TALLEST = 4096  # rows of a band: with 64 components, their factors and sums fill 2 MiB
LEAST = 1024  # rows of a band, even where there are fewer than N_BANDS then
N_BANDS = 16  # so many at least, that threads share them evenly


class Bands:
    """The non-zeros of a CSR matrix in bands of rows; those of a column in a band are a run.

    Parameters
    ----------
    X : object with ``shape``, ``indptr``, ``indices`` and ``data`` of a CSR matrix
        Indices need not be sorted.

    Attributes
    ----------
    height : int
        Number of rows of a band, but the last. It does not depend on the number of threads.
    rows : (nnz,) array of uint16
        Row of each non-zero, counted from the first one of its band.
    data : (nnz,) array
        The non-zeros.
    runs : (n_runs + 1,) array of int
        Where the runs begin among the non-zeros.
    columns : (n_runs,) array of int
        Their columns, in order in each band.
    bands : (n_bands + 1,) array of int
        Where the bands begin among the runs.
    """

    def __init__(self, X: Any) -> None:
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

    def __len__(self) -> int:
        return len(self.bands) - 1

    def mix(
        self,
        band: int,
        A: Array,
        B: Array,
        ratio: Array,
        products: Array,
        row_weights: Array | None,
    ) -> float:
        """The pass over a band's rows: ratios w_ij = n_ij / (A[i] @ B[j]) and products w @ B.

        Parameters
        ----------
        band : int
        A : (n, k) array
        B : (M, k) array
        ratio : (nnz,) array
            Those of the band are filled.
        products : (n, k) array
            To those of the band, their product is added.
        row_weights : (n,) array or None

        Returns
        -------
        log_likelihood : float
            sum n_ij log(A[i] @ B[j]) over the band, rows by their weights; in nats.
        """
        start, stop = self.bands[band : band + 2]
        entries = slice(self.runs[start], self.runs[stop])
        mine = slice(band * self.height, (band + 1) * self.height)
        observations, logs = self.data[entries], np.empty_like(self.data[entries])
        runs = self.columns, self.runs, start, stop
        mixture_band(self.rows, self.data, *runs, A[mine], B, ratio, logs, products[mine])
        np.log(logs, out=logs)
        if row_weights is not None:
            observations = observations * row_weights[mine][self.rows[entries]]
        return float(inner(observations, logs))

    def add_columns(self, start: int, stop: int, data: Array, D: Array, products: Array) -> None:
        """The pass over columns start..stop: add the product of the transposed data with D.

        Parameters
        ----------
        start, stop : int
        data : (nnz,) array
            In the order of the bands.
        D : (n, k) array
        products : (M, k) array
        """
        limits = [
            first + np.searchsorted(self.columns[first:last], (start, stop))
            for first, last in pairwise(self.bands.tolist())
        ]
        runs = self.columns, self.runs, np.array(limits, dtype=np.int64).reshape(-1, 2)
        band_columns(self.rows, data, *runs, self.height, D, products)

    def column_ranges(self, n_ranges: int) -> list[tuple[int, int]]:
        """Cut the columns into at most so many ranges with about equally many non-zeros."""
        mass = np.bincount(self.columns, np.diff(self.runs), self.n_columns).cumsum()
        return balanced_ranges(np.append(0, mass), n_ranges)


@compiled
def mixture_band(rows, data, columns, runs, start, stop, A, B, ratio, cells, products):  # type: ignore[no-untyped-def]
    """Runs start..stop, all of a band: cells A[i] @ B[j], ratios n_ij / cell, ratios @ B.

    A, cells and products are those of the band. A cell which every component excludes carries no
    information: its ratio is zero, and it is set to one, of which the logarithm is zero.
    """
    n_components, zero, one = A.shape[1], A.dtype.type(0), A.dtype.type(1)
    first = U(runs[start])
    for run in range(start, stop):
        b = B[columns[run]]
        for p in range(U(runs[run]), U(runs[run + 1])):
            a, product = A[rows[p]], products[rows[p]]
            cell = zero
            for k in range(n_components):
                cell += a[k] * b[k]
            w = data[p] / cell if cell > 0 else zero
            cells[p - first] = cell if cell > 0 else one
            ratio[p] = w
            for k in range(n_components):
                product[k] += w * b[k]


@compiled
def band_columns(rows, data, columns, runs, limits, height, D, products):  # type: ignore[no-untyped-def]
    """Add X.T @ D to the products, with the runs limits[b] of each band b.

    Four non-zeros are taken at a time: the product is read and written once for all of them.
    Places are unsigned, so that none needs to be asked whether it counts from the end.
    """
    n_components, one, two, three, four = D.shape[1], U(1), U(2), U(3), U(4)
    for band in range(len(limits)):
        of_rows = D[band * height :]
        start, stop = limits[band, 0], limits[band, 1]
        for run in range(start, stop):
            product = products[columns[run]]
            p, end = U(runs[run]), U(runs[run + 1])
            while p + four <= end:
                d0, d1 = of_rows[rows[p]], of_rows[rows[p + one]]
                d2, d3 = of_rows[rows[p + two]], of_rows[rows[p + three]]
                v0, v1, v2, v3 = data[p], data[p + one], data[p + two], data[p + three]
                for k in range(n_components):
                    product[k] += v0 * d0[k] + v1 * d1[k] + v2 * d2[k] + v3 * d3[k]
                p += four
            while p < end:
                v, d = data[p], of_rows[rows[p]]
                for k in range(n_components):
                    product[k] += v * d[k]
                p += one


@compiled
def inner(x, y):  # type: ignore[no-untyped-def]
    """x @ y, added up in float64."""
    total = 0.0
    for p in range(len(x)):
        total += np.float64(x[p]) * y[p]
    return total
