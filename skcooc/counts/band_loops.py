"""Loops over the non-zeros in bands of rows; see ``bands``, which says how they lie in memory.

A tile is a part of a band: where it begins, and where it ends, among the runs, the non-zeros and
the others, (2, 3).
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.kernels import U, compiled, guarded
from skcooc.counts.lanes import dot, load, plus, prefetch, store

AHEAD = U(2)  # runs, of which the column's factor is fetched beforehand


@guarded
def mixture_runs(  # type: ignore[no-untyped-def]
    lanes, rows, codes, others, columns, lengths, tile, A, B, weights, cells, products, sums
):
    """A tile of a band: cells A[i] @ B[j], ratios @ B for rows, @ A for columns.

    A, weights and products are those of the band. A cell which every component excludes carries no
    information: its ratio is zero, and it is set to one, of which the logarithm is zero.
    """
    number = A.dtype.type
    zero, one, stop = number(0), number(1), U(tile[1, 0])
    p, other = U(tile[0, 1]), U(tile[0, 2])
    for run in range(U(tile[0, 0]), stop):
        j, ahead = U(columns[run]), U(columns[min(run + AHEAD, stop - U(1))])
        prefetch(lanes, B, ahead)
        b = load(lanes, B, j)
        if sums is not None:
            prefetch(lanes, sums, ahead)
            of_column = load(lanes, sums, j)
        for _ in range(lengths[run]):
            i, n = U(rows[p]), number(codes[p])
            if n == zero:
                n = others[other]
                other += U(1)
            a = load(lanes, A, i)
            cell = dot(a, b)
            w = n / cell if cell > 0 else zero
            cells[p] = cell if cell > 0 else one
            store(plus(load(lanes, products, i), w, b), products, i)
            if sums is not None:
                if weights is not None:
                    w *= weights[i]
                of_column = plus(of_column, w, a)
            p += U(1)
        if sums is not None:
            store(of_column, sums, j)


@compiled
def column_runs(  # type: ignore[no-untyped-def]
    lanes, rows, codes, others, columns, lengths, tiles, height, D, products
):
    """Add X.T @ D to the products, with the tiles of each band."""
    number = D.dtype.type
    for band in range(len(tiles)):
        of_rows = D[band * height :]
        p, other = U(tiles[band, 0, 1]), U(tiles[band, 0, 2])
        for run in range(U(tiles[band, 0, 0]), U(tiles[band, 1, 0])):
            j = U(columns[run])
            product = load(lanes, products, j)
            for _ in range(lengths[run]):
                n = number(codes[p])
                if n == 0:
                    n = others[other]
                    other += U(1)
                product = plus(product, n, load(lanes, of_rows, U(rows[p])))
                p += U(1)
            store(product, products, j)


@compiled
def inner(codes, others, logs):  # type: ignore[no-untyped-def]
    """Counts @ logs, added up in float64; the others by themselves, so that vectors can be used."""
    total, other = 0.0, U(0)
    for p in range(len(codes)):
        total += np.float64(codes[p]) * logs[p]
    if len(others) == len(codes):
        for p in range(len(others)):
            total += np.float64(others[p]) * logs[p]
    elif len(others):
        for p in range(len(codes)):
            if codes[p] == 0:
                total += np.float64(others[other]) * logs[p]
                other += U(1)
    return total
