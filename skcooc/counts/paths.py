"""Mixtures along the paths of a tree, one for each row and leaf, without arrays of nnz x leaves.

A slot is a node on the path to a leaf; the slots of leaf c are ``slots[c]`` to ``slots[c + 1]``.
The mixture of row i and leaf c at column j is sum_s tau[i, s] q[j, nodes[s]] over these slots.
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.kernels import compiled
from skcooc.counts.layout import Stored
from skcooc.protocol import Array

NEGLIGIBLE = 1e-6  # posterior of a leaf below which its mixture is left as it is


@compiled
def path_scores(indptr, indices, data, slots, nodes, tau, q, start, stop, scores):  # type: ignore[no-untyped-def]
    """Rows start..stop: sum_j n_ij log of the mixture of every leaf.

    Single observations are multiplied before the logarithm is taken, as long as float64 allows.
    """
    n_leaves = len(slots) - 1
    product, total = np.empty(n_leaves), np.empty(n_leaves)
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
    """Rows start..stop: expected counts of each slot, given the leaf; zero where negligible."""
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
    """Columns start..stop: expected counts of each node; rows come with their posteriors."""
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


class PathProducts(Stored):
    """The passes over counts that a mixture along paths needs."""

    def path_scores(self, tau: Array, q: Array, slots: Array, nodes: Array) -> Array:
        """Log-likelihood of rows under leaves, (n, K), from tau (n, S) and q (M, V), in nats."""
        scores = np.empty((self.shape[0], len(slots) - 1), dtype=tau.dtype)
        arrays = self.indptr, self.indices, self.data, slots, nodes, tau, q
        self._over(self.indptr, len(nodes), lambda i, k: path_scores(*arrays, i, k, scores))
        return scores

    def path_mixture(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> tuple[Array, Array]:
        """Expected observations at slots of rows, given the leaf, (n, S), and at nodes, (M, V).

        Leaves with posteriors, (n, K), below 1e-6 are passed over; rows are counted by their
        weights.
        """
        of_rows = np.empty_like(tau)
        arrays = self.indptr, self.indices, self.data, slots, nodes, tau, q, posteriors
        self._over(self.indptr, len(nodes), lambda i, k: path_rows(*arrays, i, k, of_rows))
        return of_rows, self._path_columns(tau, q, slots, nodes, self._weighted(posteriors))

    def _path_columns(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> Array:
        columns, products = self.views.columns, np.empty_like(q)
        arrays = *columns.structure, self.data, slots, nodes, tau, q, posteriors
        self._over(columns.indptr, len(nodes), lambda j, k: path_columns(*arrays, j, k, products))
        return products
