"""What a table holds at the non-zeros of another."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import CSR, Array


def rows_of(table: CSR) -> Array:
    """The row of each non-zero, (nnz,)."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def values_at(table: CSR, rows: Array, columns: Array) -> Array:
    """table[i, j] for each pair, (n,), in float64; zero where nothing is stored."""
    width = table.shape[1]
    keys = rows_of(table) * width + table.indices
    order = np.argsort(keys, kind="stable")  # at once where indices are sorted
    keys, sought = keys[order], rows.astype(np.int64) * width + columns
    if not keys.size:
        return np.zeros(len(rows))
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[places] == sought, table.data[order[places]], 0).astype(np.float64)
