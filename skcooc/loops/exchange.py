"""Exchange moves of class bigrams."""

from __future__ import annotations

import numpy as np

from skcooc.counts.passes import non_zeros
from skcooc.protocol import Array, Block
from skcooc.protocol.decorators import compiled


@compiled
def x_log_x(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0 else 0.0


@compiled
def gain(b, to, back, diagonal, n, m, joint, first, second):  # type: ignore[no-untyped-def]
    """Gain of sum n_cd log n_cd - sum n_c log n_c - sum m_d log m_d by an item in cluster b."""
    total = x_log_x(joint[b, b] + to[b] + back[b] + diagonal) - x_log_x(joint[b, b])
    for d in range(len(to)):
        if d != b:
            if to[d] > 0:
                total += x_log_x(joint[b, d] + to[d]) - x_log_x(joint[b, d])
            if back[d] > 0:
                total += x_log_x(joint[d, b] + back[d]) - x_log_x(joint[d, b])
    total -= x_log_x(first[b] + n) - x_log_x(first[b])
    return total - (x_log_x(second[b] + m) - x_log_x(second[b]))


@compiled
def add(b, sign, to, back, diagonal, n, m, joint, first, second):  # type: ignore[no-untyped-def]
    for d in range(len(to)):
        joint[b, d] += sign * to[d]
    for d in range(len(to)):
        joint[d, b] += sign * back[d]
    joint[b, b] += sign * diagonal
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
    tolerance = 1e-12 * total  # gains below are rounding
    for i in range(len(labels)):
        diagonal = n = m = 0.0
        for b in range(n_clusters):
            to[b] = back[b] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] == i:
                diagonal += data[p]
            else:
                to[labels[indices[p]]] += data[p]
        for p in range(column_indptr[i], column_indptr[i + 1]):
            if column_indices[p] != i:
                back[labels[column_indices[p]]] += data[order[p]]
        for b in range(n_clusters):
            n += to[b]
            m += back[b]
        n, m, home = n + diagonal, m + diagonal, labels[i]
        add(home, -1, to, back, diagonal, n, m, joint, first, second)
        best, highest = home, gain(home, to, back, diagonal, n, m, joint, first, second)
        for b in range(n_clusters):
            if b != home:
                value = gain(b, to, back, diagonal, n, m, joint, first, second)
                if value > highest + tolerance:
                    best, highest = b, value
        labels[i] = best
        add(best, 1, to, back, diagonal, n, m, joint, first, second)


def exchange(block: Block, labels: Array, n_clusters: int) -> Array:
    """Move every item, in turn, where it raises mutual information most; return the labels.

    For a square table whose rows and columns are the same items. Kneser and Ney, Improved
    clustering techniques for class-based statistical language modelling, Eurospeech 1993; Martin,
    Liermann and Ney, Algorithms for bigram and trigram word clustering, Speech Communication 24,
    1998.
    """
    X = non_zeros(block)
    labels = labels.copy()
    counts = X.weighted_counts
    joint = np.zeros((n_clusters, n_clusters))
    np.add.at(joint, (np.repeat(labels, np.diff(X.indptr)), labels[X.indices]), counts)
    structure = X.views.columns.structure
    sums = joint.sum(axis=1), joint.sum(axis=0)
    work = np.empty((2, n_clusters))
    exchange_sweep(X.indptr, X.indices, counts, *structure, labels, joint, *sums, work)
    return labels
