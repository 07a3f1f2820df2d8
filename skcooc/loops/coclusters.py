"""Exchange moves and merges of co-clusters, by an exact integrated likelihood."""

from __future__ import annotations

from math import lgamma

import numpy as np

from skcooc.protocol.decorators import compiled

HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)
STIRLING = 30.0  # from where on the series is exact to 1e-10
LEAST_GAIN = 1e-9  # nats: less is rounding


@compiled
def log_gamma(n, a, table):  # type: ignore[no-untyped-def]
    """log Gamma(n + a), looked up in the table of whole n, or by Stirling's series."""
    if n < len(table):
        return table[int(n)]
    x = n + a
    if x < STIRLING:
        return lgamma(x)
    return (x - 0.5) * np.log(x) - x + HALF_LOG_2_PI + (1 - 1 / (30 * x * x)) / (12 * x)


@compiled
def count_blocks(indptr, indices, data, labels, others, J):  # type: ignore[no-untyped-def]
    """Add the counts of rows and columns with these labels to J (C, D)."""
    for i in range(len(labels)):
        for p in range(indptr[i], indptr[i + 1]):
            J[labels[i], others[indices[p]]] += data[p]


@compiled
def exchange_items(  # type: ignore[no-untyped-def]
    indptr, indices, data, items, weights, labels, others, J, totals, sizes, members,
    a, g, gammas, gammas_of_totals, keep, cells, cluster_terms, profile, places,
):  # fmt: skip
    """Move each of these rows, in turn, to its best cluster; return how many have moved.

    ``J`` (C, D), ``totals`` (C,) and ``sizes`` (C,), the tokens and weighted rows of clusters, and
    ``members`` (C,) follow. ``cells`` (C, D) are log Gamma(J + a). ``gammas`` and
    ``gammas_of_totals`` are tables of log Gamma(n + a) and log Gamma(n + g). With ``keep`` no
    cluster loses its last row. A row costs its non-zeros, and C times the clusters of columns in
    which it has tokens. The last three arrays, (C,), (D,) and (D,), are to work on.
    """
    n_clusters = len(totals)
    n_moved = 0
    for c in range(n_clusters):
        cluster_terms[c] = log_gamma(totals[c], g, gammas_of_totals) - log_gamma(
            sizes[c], a, gammas
        )
    for i in items:
        home = labels[i]
        if keep and members[home] == 1:
            continue
        weight = weights[i]
        n = 0.0
        n_places = 0
        for p in range(indptr[i], indptr[i + 1]):
            if data[p] == 0:  # in rows of no weight
                continue
            d = others[indices[p]]
            if profile[d] == 0:
                places[n_places] = d
                n_places += 1
            profile[d] += data[p]
            n += data[p]
        for q in range(n_places):
            d = places[q]
            J[home, d] -= profile[d]
            cells[home, d] = log_gamma(J[home, d], a, gammas)
        totals[home] -= n
        sizes[home] -= weight
        members[home] -= 1
        if members[home] == 0:  # of weights that are not whole something may be left
            totals[home] = 0
            sizes[home] = 0
        cluster_terms[home] = log_gamma(totals[home], g, gammas_of_totals) - log_gamma(
            sizes[home], a, gammas
        )
        best = home
        highest = 0.0
        for step in range(n_clusters + 1):  # its own cluster first
            c = home if step == 0 else step - 1
            if step > 0 and (c == home or members[c] == 0):
                continue
            value = cluster_terms[c] + log_gamma(sizes[c] + weight, a, gammas)
            value -= log_gamma(totals[c] + n, g, gammas_of_totals)
            for q in range(n_places):
                d = places[q]
                value += log_gamma(J[c, d] + profile[d], a, gammas) - cells[c, d]
            if step == 0:
                highest = value + LEAST_GAIN
            elif value > highest:
                best = c
                highest = value
        for q in range(n_places):
            d = places[q]
            J[best, d] += profile[d]
            cells[best, d] = log_gamma(J[best, d], a, gammas)
            profile[d] = 0
        totals[best] += n
        sizes[best] += weight
        members[best] += 1
        cluster_terms[best] = log_gamma(totals[best], g, gammas_of_totals) - log_gamma(
            sizes[best], a, gammas
        )
        if best != home:
            labels[i] = best
            n_moved += 1
    return n_moved


@compiled
def merge_gains(J, totals, sizes, a, g, gammas, gammas_of_totals, cells, gains):  # type: ignore[no-untyped-def]
    """Fill gains (C, C), c < e, by what merging two rows of J (C, D) adds to the evidence.

    But for the terms in which the number of clusters stands.
    """
    n_clusters, n_others = J.shape
    nothing = log_gamma(0.0, a, gammas)
    for c in range(n_clusters):
        for e in range(c + 1, n_clusters):
            value = log_gamma(totals[c], g, gammas_of_totals)
            value += log_gamma(totals[e], g, gammas_of_totals)
            value -= log_gamma(totals[c] + totals[e], g, gammas_of_totals)
            value -= log_gamma(0.0, g, gammas_of_totals)
            value += log_gamma(sizes[c] + sizes[e], a, gammas) + nothing
            value -= log_gamma(sizes[c], a, gammas) + log_gamma(sizes[e], a, gammas)
            for d in range(n_others):
                value += log_gamma(J[c, d] + J[e, d], a, gammas) + nothing
                value -= cells[c, d] + cells[e, d]
            gains[c, e] = value
