"""Exchange moves: objects go, one after the other, to the cluster that raises the information most.

Kneser and Ney, Improved clustering techniques for class-based statistical language modelling,
Eurospeech 1993; Martin, Liermann and Ney, Algorithms for bigram and trigram word clustering, Speech
Communication 24, 1998.
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.kernels import compiled
from skcooc.counts.layout import Stored
from skcooc.protocol import Array


@compiled
def x_log_x(x):  # type: ignore[no-untyped-def]
    """x log x, zero at zero and for what rounding leaves below it."""
    return x * np.log(x) if x > 0 else 0.0


@compiled
def gain(b, to, back, own, n, m, joint, first, second):  # type: ignore[no-untyped-def]
    """What an object adds to sum n_cd log n_cd - sum n_c log n_c - sum m_d log m_d in cluster b."""
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
    """Put an object into cluster b, where sign is 1, or take it out, where it is -1."""
    for d in range(len(to)):
        joint[b, d] += sign * to[d]
    for d in range(len(to)):
        joint[d, b] += sign * back[d]
    joint[b, b] += sign * own
    first[b] += sign * n
    second[b] += sign * m


@compiled
def exchange_sweep(  # type: ignore[no-untyped-def]
    indptr, indices, data, column_indptr, column_indices, order, labels, joint, first, second
):
    """Move every object once; ``labels``, counts of cluster pairs and their sums follow."""
    n_clusters = len(first)
    total = 0.0
    for b in range(n_clusters):
        total += first[b]
    least = 1e-12 * total  # no move for what is rounding
    to, back = np.empty(n_clusters), np.empty(n_clusters)
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


class ExchangeMoves(Stored):
    """The moves that a class bigram model needs."""

    def exchange(self, labels: Array, n_clusters: int) -> Array:
        """Labels (n,) after each object of a square table went, in turn, to the best cluster.

        The mutual information of the clusters of rows and columns never falls.
        """
        labels, counts = labels.copy(), self.observations
        joint = np.zeros((n_clusters, n_clusters))
        np.add.at(joint, (np.repeat(labels, np.diff(self.indptr)), labels[self.indices]), counts)
        structure = self.views.columns.structure
        sums = joint.sum(axis=1), joint.sum(axis=0)
        exchange_sweep(self.indptr, self.indices, counts, *structure, labels, joint, *sums)
        return labels
