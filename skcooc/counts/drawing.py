"""Draw different rows of a table, wherever its blocks lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from skcooc.counts.kernels import compiled
from skcooc.counts.thinning import row_key, scramble
from skcooc.protocol import CSR, Array, Drawn


@compiled
def row_keys(indptr, indices, data, keys):  # type: ignore[no-untyped-def]
    """A key of the content of each row."""
    for i in range(indptr.shape[0] - 1):
        keys[i] = row_key(indices, data, indptr[i], indptr[i + 1])


@compiled
def ranks_of(keys, seed, ranks):  # type: ignore[no-untyped-def]
    """A number for each key, as if at random, by which those drawn are chosen."""
    for i in range(keys.shape[0]):
        ranks[i] = scramble(scramble(seed + keys[i]))


def draw(X: CSR, weights: Array, n_rows: int, seed: int) -> Drawn:
    """Different rows, all with the same chance, without replacement.

    Rows with the same content are one, with the weight of all; those of no weight are none. As for
    ``thin``, neither the order of rows nor whether a row is weighted or repeated matters. Those
    drawn come in an order that is theirs.
    """
    keys = np.empty(X.shape[0], dtype=np.uint64)
    row_keys(X.indptr, X.indices, X.data, keys)
    return _first(X, keys, weights, n_rows, seed)


def drawn_of(parts: Sequence[Drawn], n_rows: int, seed: int) -> Drawn:
    """The same of a table of which blocks have been drawn from, with the same seed.

    A row that is among the first of all is among the first of each block that has it.
    """
    rows, keys, weights = zip(*parts, strict=True)
    table = sp.vstack(rows, format="csr")
    return _first(table, np.concatenate(keys), np.concatenate(weights), n_rows, seed)


def _first(X: CSR, keys: Array, weights: Array, n_rows: int, seed: int) -> Drawn:
    different, at, group = np.unique(keys, return_index=True, return_inverse=True)
    totals, ranks = np.bincount(group, weights), np.empty_like(different)
    ranks_of(different, np.uint64(seed), ranks)
    order = np.argsort(ranks, kind="stable")
    order = order[totals[order] > 0][:n_rows]
    return Drawn(X[at[order]], different[order], totals[order])
