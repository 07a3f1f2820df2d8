"""Mixtures along the paths of a tree, for each row and leaf, without nnz x leaves arrays."""

from __future__ import annotations

import numpy as np

from skcooc.counts.passes import NonZeros, non_zeros, zeros_view
from skcooc.protocol import Array, Block
from skcooc.protocol.decorators import compiled

NEGLIGIBLE = 1e-6  # posterior of a leaf below which it contributes no expected counts


@compiled
def score_rows(indptr, indices, data, slots, nodes, tau, q, start, stop, work, scores):  # type: ignore[no-untyped-def]
    """Rows start..stop; logarithms are taken of products, as long as float64 allows.

    ``work``, (2, n_leaves), is an array to work on.
    """
    n_leaves, product, total = len(slots) - 1, work[0], work[1]
    for i in range(start, stop):
        product[:], total[:] = 1.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            n, column = data[p], q[indices[p]]
            for c in range(n_leaves):
                cell = 0.0
                for s in range(slots[c], slots[c + 1]):
                    cell += tau[i, s] * column[nodes[s]]
                cell = max(cell, 1e-30)
                if n == 1:
                    product[c] *= cell
                    if product[c] < 1e-250:
                        total[c] += np.log(product[c])
                        product[c] = 1.0
                elif n > 0:
                    total[c] += n * np.log(cell)
        for c in range(n_leaves):
            scores[i, c] = total[c] + np.log(product[c])


@compiled
def path_rows(indptr, indices, data, slots, nodes, tau, q, posteriors, start, stop, expected):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        expected[i] = 0
        for c in range(len(slots) - 1):
            if posteriors[i, c] < NEGLIGIBLE:
                continue
            for p in range(indptr[i], indptr[i + 1]):
                column, cell = q[indices[p]], 0.0
                for s in range(slots[c], slots[c + 1]):
                    cell += tau[i, s] * column[nodes[s]]
                if cell > 0:
                    ratio = data[p] / cell
                    for s in range(slots[c], slots[c + 1]):
                        expected[i, s] += ratio * tau[i, s] * column[nodes[s]]


@compiled
def path_columns(  # type: ignore[no-untyped-def]
    indptr, indices, order, data, slots, nodes, tau, q, posteriors, start, stop, expected
):
    for j in range(start, stop):
        expected[j] = 0
        column = q[j]
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            for c in range(len(slots) - 1):
                if posteriors[i, c] < NEGLIGIBLE:
                    continue
                cell = 0.0
                for s in range(slots[c], slots[c + 1]):
                    cell += tau[i, s] * column[nodes[s]]
                if cell > 0:
                    ratio = posteriors[i, c] * data[order[p]] / cell
                    for s in range(slots[c], slots[c + 1]):
                        expected[j, nodes[s]] += ratio * tau[i, s] * column[nodes[s]]


def path_scores(block: Block, tau: Array, q: Array, slots: Array, nodes: Array) -> Array:
    """Return sum_j n_ij log sum_s tau[i, s] q[j, nodes[s]] over the slots s of a leaf, (n, K).

    Slot s stands for node nodes[s] on the path to the leaf c with slots[c] <= s < slots[c + 1].
    """
    X = non_zeros(block)
    scores = np.empty((X.shape[0], len(slots) - 1), dtype=tau.dtype)
    arrays = X.indptr, X.indices, X.data, slots, nodes, tau, q

    def score(start: int, stop: int) -> None:
        score_rows(*arrays, start, stop, np.empty((2, len(slots) - 1)), scores)

    X.run_ranges(X.indptr, len(nodes), score)
    return scores


def path_mixture(
    block: Block, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
) -> tuple[Array, Array]:
    """Return expected counts of slots, given the leaf, (n, S), and at nodes, (M, V)."""
    X = non_zeros(block)
    of_rows = np.empty_like(tau)
    arrays = X.indptr, X.indices, X.data, slots, nodes, tau, q, posteriors
    X.run_ranges(X.indptr, len(nodes), lambda i, k: path_rows(*arrays, i, k, of_rows))
    return of_rows, _path_columns(X, tau, q, slots, nodes, X.weighted(posteriors))


def _path_columns(
    X: NonZeros, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
) -> Array:
    if X.is_new:
        return zeros_view(q)
    columns = X.views.columns
    products = np.empty_like(q)
    arrays = *columns.structure, X.data, slots, nodes, tau, q, posteriors
    X.run_ranges(columns.indptr, len(nodes), lambda j, k: path_columns(*arrays, j, k, products))
    return products
