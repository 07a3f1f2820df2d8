"""Passes of cluster models: exchange moves of class bigrams, and mixtures along paths of a tree."""

from __future__ import annotations

import numpy as np

from skcooc.counts.passes import NonZeros
from skcooc.protocol import Array
from skcooc.protocol.decorators import compiled

NEGLIGIBLE = 1e-6  # posterior of a leaf below which it contributes no expected counts


@compiled
def x_log_x(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0 else 0.0


@compiled
def gain(b, to, back, own, n, m, joint, first, second):  # type: ignore[no-untyped-def]
    """Gain of sum n_cd log n_cd - sum n_c log n_c - sum m_d log m_d by an item in cluster b."""
    total = x_log_x(joint[b, b] + to[b] + back[b] + own) - x_log_x(joint[b, b])
    for d in range(len(to)):
        if d != b:
            if to[d] > 0:
                total += x_log_x(joint[b, d] + to[d]) - x_log_x(joint[b, d])
            if back[d] > 0:
                total += x_log_x(joint[d, b] + back[d]) - x_log_x(joint[d, b])
    total -= x_log_x(first[b] + n) - x_log_x(first[b])
    return total - (x_log_x(second[b] + m) - x_log_x(second[b]))


@compiled
def add(b, sign, to, back, own, n, m, joint, first, second):  # type: ignore[no-untyped-def]
    for d in range(len(to)):
        joint[b, d] += sign * to[d]
    for d in range(len(to)):
        joint[d, b] += sign * back[d]
    joint[b, b] += sign * own
    first[b] += sign * n
    second[b] += sign * m


@compiled
def exchange_sweep(  # type: ignore[no-untyped-def]
    indptr, indices, data, column_indptr, column_indices, order, labels, joint, first, second, work
):
    """Move each item to its best cluster; ``work``, (2, n_clusters), is an array to work on."""
    n_clusters, to, back = len(first), work[0], work[1]
    total = 0.0
    for b in range(n_clusters):
        total += first[b]
    least = 1e-12 * total  # gains below are rounding
    for i in range(len(labels)):
        own = n = m = 0.0
        for b in range(n_clusters):
            to[b] = back[b] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] == i:
                own += data[p]
            else:
                to[labels[indices[p]]] += data[p]
        for p in range(column_indptr[i], column_indptr[i + 1]):
            if column_indices[p] != i:
                back[labels[column_indices[p]]] += data[order[p]]
        for b in range(n_clusters):
            n += to[b]
            m += back[b]
        n, m, home = n + own, m + own, labels[i]
        add(home, -1, to, back, own, n, m, joint, first, second)
        best, most = home, gain(home, to, back, own, n, m, joint, first, second)
        for b in range(n_clusters):
            if b != home:
                this = gain(b, to, back, own, n, m, joint, first, second)
                if this > most + least:
                    best, most = b, this
        labels[i] = best
        add(best, 1, to, back, own, n, m, joint, first, second)


class ExchangeMoves(NonZeros):
    """Exchange moves: each item in turn joins the cluster that raises the information most.

    Kneser and Ney, Improved clustering techniques for class-based statistical language modelling,
    Eurospeech 1993; Martin, Liermann and Ney, Algorithms for bigram and trigram word clustering,
    Speech Communication 24, 1998.
    """

    def exchange(self, labels: Array, n_clusters: int) -> Array:
        labels, counts = labels.copy(), self.weighted_counts
        joint = np.zeros((n_clusters, n_clusters))
        np.add.at(joint, (np.repeat(labels, np.diff(self.indptr)), labels[self.indices]), counts)
        structure = self.views.columns.structure
        sums, work = (joint.sum(axis=1), joint.sum(axis=0)), np.empty((2, n_clusters))
        exchange_sweep(self.indptr, self.indices, counts, *structure, labels, joint, *sums, work)
        return labels


@compiled
def path_scores(indptr, indices, data, slots, nodes, tau, q, start, stop, work, scores):  # type: ignore[no-untyped-def]
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


class PathProducts(NonZeros):
    """Mixtures along the paths of a tree, for each row and leaf, without nnz x leaves arrays.

    A slot is a node on the path to a leaf; leaf c has slots ``slots[c]`` to ``slots[c + 1]``. The
    mixture of row i and leaf c at column j is sum_s tau[i, s] q[j, nodes[s]] over these slots.
    """

    def path_scores(self, tau: Array, q: Array, slots: Array, nodes: Array) -> Array:
        scores = np.empty((self.shape[0], len(slots) - 1), dtype=tau.dtype)
        arrays = self.indptr, self.indices, self.data, slots, nodes, tau, q

        def score(start: int, stop: int) -> None:
            path_scores(*arrays, start, stop, np.empty((2, len(slots) - 1)), scores)

        self._run_ranges(self.indptr, len(nodes), score)
        return scores

    def path_mixture(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> tuple[Array, Array]:
        of_rows = np.empty_like(tau)
        arrays = self.indptr, self.indices, self.data, slots, nodes, tau, q, posteriors
        self._run_ranges(self.indptr, len(nodes), lambda i, k: path_rows(*arrays, i, k, of_rows))
        return of_rows, self._path_columns(tau, q, slots, nodes, self._weighted(posteriors))

    def _path_columns(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> Array:
        columns, products = self.views.columns, np.empty_like(q)
        given = *columns.structure, self.data, slots, nodes, tau, q, posteriors
        indptr = columns.indptr
        self._run_ranges(indptr, len(nodes), lambda j, k: path_columns(*given, j, k, products))
        return products
