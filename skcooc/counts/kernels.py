"""Compiled loops over the non-zeros of a count matrix.

Every loop works on a range of rows (or of columns, through the CSC view) and writes only to the
outputs of that range, so that ranges may run in threads and any number of threads gives bitwise
the same result. No loop allocates anything of the size of the non-zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numba import njit

from skcooc.counts.lanes import dot, load, plus, store

Result = TypeVar("Result")
U = np.uintp  # places that are unsigned: none needs to be asked whether it counts from the end


def compiled(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compile a loop without the GIL; cache it on disk where some folder can be written.

    numba raises RuntimeError at once where neither the package folder nor the user's cache folder
    is writable; the loop is then compiled anew in each process.
    """
    try:
        return njit(nogil=True, fastmath=True, cache=True)(function)
    except RuntimeError:
        return njit(nogil=True, fastmath=True)(function)


@compiled
def row_products(lanes, indptr, indices, data, D, start, stop, products):  # type: ignore[no-untyped-def]
    """Add X @ D to rows start..stop of the products."""
    for i in range(U(start), U(stop)):
        product = load(lanes, products, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            product = plus(product, data[p], load(lanes, D, U(indices[p])))
        store(product, products, i)


@compiled
def column_sums(indptr, indices, data, row_weights, sums):  # type: ignore[no-untyped-def]
    """Add the sums of the columns, rows counted by their weights, to ``sums``."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            sums[indices[p]] += row_weights[i] * data[p]


@compiled
def cell_products(lanes, indptr, indices, A, B, start, stop, cells):  # type: ignore[no-untyped-def]
    """A[i] @ B[j] at the non-zeros of rows start..stop."""
    for i in range(U(start), U(stop)):
        a = load(lanes, A, i)
        for p in range(U(indptr[i]), U(indptr[i + U(1)])):
            cells[p] = dot(a, load(lanes, B, U(indices[p])))


@compiled
def scramble(key):  # type: ignore[no-untyped-def]
    """Map a 64-bit key to a well mixed one (the finaliser of SplitMix64, Steele et al. 2014)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@compiled
def content_uniforms(indptr, indices, data, seed, uniforms):  # type: ignore[no-untyped-def]
    """One number in [0, 1) for each non-zero, a function of the seed and of its row's content."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    for i in range(indptr.shape[0] - 1):
        row_key = np.uint64(seed)
        for p in range(indptr[i], indptr[i + 1]):
            if data[p] > 0:
                count = np.uint64(min(data[p], 2.0**40) * 2.0**20)
                row_key += scramble(np.uint64(indices[p]) * golden + scramble(count))
        for p in range(indptr[i], indptr[i + 1]):
            key = scramble(scramble(row_key) + np.uint64(indices[p]) * golden)
            uniforms[p] = np.float64(key >> np.uint64(40)) * 2.0**-24
