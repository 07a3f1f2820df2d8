"""The passes over counts that mixtures of components, and products with factors, need."""

from __future__ import annotations

from builtins import map as serial_map
from typing import NamedTuple

import numpy as np

from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import dot, lanes, lined_up, load, pieces, plus, store
from skcooc.counts.layout import Stored
from skcooc.counts.threads import pipelined
from skcooc.protocol import Array

APART = 8  # lines of the cache, by which sums are shifted against the factors they are made of


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
        work = self.data.size * D.shape[1]
        bands = self.views.bands
        tiles = bands.tiles(self.n_ranges_of(work))
        self._each(
            lambda runs: bands.add_columns(runs, D, products),
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
        work, bands, weights = self.data.size * A.shape[1], self.views.bands, self.weights
        cells, rows, columns = np.empty_like(self.data), _sums_beside(A), self._sums_of_columns(B)
        if weights is not None:
            weights = weights.astype(self.dtype)
        tiles = bands.tiles(self.n_ranges_of(work))

        def mix(band: int, part: int) -> None:
            bands.mix(band, tiles[band, part : part + 2], A, B, weights, cells, rows, columns)

        n_ranges = tiles.shape[1] - 1
        pipelined(self.map_ranges if n_ranges > 1 else serial_map, mix, len(bands), n_ranges)
        log_likelihoods = self._each(
            lambda band: bands.log_likelihood(band, cells, self.weights),
            [(band,) for band in range(len(bands))],
            work,
        )
        columns = nothing_like(B) if columns is None else columns
        return Mixture(rows, columns, sum(log_likelihoods))

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
        return _sums_beside(B)


def _sums_beside(factors: Array) -> Array:
    """Zeros for the sums that are made while factors of the same shape are read."""
    return lined_up(factors.shape, factors.dtype, APART, np.zeros)


def nothing_like(sums: Array) -> Array:
    """Zeros of this shape and type, which take no memory."""
    return np.broadcast_to(np.zeros((), dtype=sums.dtype), sums.shape)
