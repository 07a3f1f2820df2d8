"""The passes over counts that mixtures of components, and products with factors, need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import dot, lanes, lined_up, load, pieces, plus, store
from skcooc.counts.layout import Stored, sums_beside
from skcooc.protocol import Array


@compiled
def row_products(lanes, indptr, indices, data, D, start, stop, products):  # type: ignore[no-untyped-def]
    """Add X @ D to rows start..stop of the products."""
    for i in range(U(start), U(stop)):
        product = load(lanes, products, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            product = plus(product, data[p], load(lanes, D, U(indices[p])))
        store(product, products, i)


@compiled
def cell_products(lanes, indptr, indices, A, B, start, stop, cells):  # type: ignore[no-untyped-def]
    """A[i] @ B[j] at the non-zeros of rows start..stop."""
    for i in range(U(start), U(stop)):
        a = load(lanes, A, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            cells[p] = dot(a, load(lanes, B, U(indices[p])))


class Mixture(NamedTuple):
    """What one pass over the non-zeros yields; w_ij = n_ij / (A[i] @ B[j])."""

    rows: Array  # (n, k): w @ B
    columns: Array  # (M, k): w.T @ A
    log_likelihood: float  # sum n_ij log(A[i] @ B[j]), nats


class FactorProducts(Stored):
    """Products with factors of rows and of columns."""

    def dot(self, D: Array) -> Array:
        """X @ D: (M, k) -> (n, k)."""
        D = np.ascontiguousarray(D, dtype=self.dtype)
        products = lined_up((self.shape[0], D.shape[1]), self.dtype, make=np.zeros)

        def multiply(start: int, stop: int) -> None:
            for some in pieces(D.shape[1]):
                row_products(
                    lanes(some.stop - some.start, self.dtype),
                    self.indptr,
                    self.indices,
                    self.data,
                    D[:, some],
                    start,
                    stop,
                    products[:, some],
                )

        self._over(self.indptr, D.shape[1], multiply)
        return products

    def tdot(self, D: Array) -> Array:
        """X.T @ D, rows counted by their weights: (n, k) -> (M, k)."""
        D = self._weighted(D)
        products = lined_up((self.shape[1], D.shape[1]), self.dtype, make=np.zeros)
        bands = self.views.bands
        work = bands.nnz * D.shape[1]
        tiles = bands.tiles(self.n_ranges_of(work))
        self._each(
            lambda tile: bands.add_columns(tile, D, products),
            [(tiles[:, part : part + 2],) for part in range(tiles.shape[1] - 1)],
            work,
        )
        return products

    def mixture(self, A: Array, B: Array) -> Mixture:
        """Products of the ratios w_ij = n_ij / (A[i] @ B[j]) with A (n, k) and B (M, k).

        The caller multiplies ``rows`` by A and ``columns`` by B to get expected counts. ``columns``
        and the log-likelihood count rows by their weights.
        """
        A, B = (np.ascontiguousarray(F, dtype=self.dtype) for F in (A, B))
        bands, weights = self.views.bands, self.weights
        rows, columns = sums_beside(A), self._sums_of_columns(B)
        if weights is not None:
            weights = weights.astype(self.dtype)

        def mix(band: int, tile: Array, cells: Array) -> None:
            bands.mix(band, tile, A, B, weights, cells, rows, columns)

        log_likelihood = self._over_bands(A.shape[1], mix)
        return Mixture(rows, nothing_like(B) if columns is None else columns, log_likelihood)

    def cells(self, A: Array, B: Array) -> Array:
        """A[i] @ B[j] at the non-zeros, (nnz,)."""
        A, B = (np.ascontiguousarray(F, dtype=self.dtype) for F in (A, B))
        cells, wide = np.empty_like(self.data), lanes(A.shape[1], self.dtype)
        self._over(
            self.indptr,
            A.shape[1],
            lambda start, stop: cell_products(
                wide, self.indptr, self.indices, A, B, start, stop, cells
            ),
        )
        return cells

    def _sums_of_columns(self, B: Array) -> Array | None:
        """Where the sums over rows are added up; None where none are wanted."""
        return sums_beside(B)


def nothing_like(sums: Array) -> Array:
    """Zeros of this shape and type, which take no memory."""
    return np.broadcast_to(np.zeros((), dtype=sums.dtype), sums.shape)
