"""Exchange moves and merges of co-clusters, by an exact integrated likelihood."""

from __future__ import annotations

import numpy as np

from skcooc.protocol.decorators import compiled

HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)
STIRLING = 8.0  # from where on the series is exact to 1e-11
LEAST_GAIN = 1e-9  # nats: less is rounding


@compiled
def log_gamma(n, a, table):  # type: ignore[no-untyped-def]
    """log Gamma(n + a), looked up in the table of whole n, or by Stirling's series."""
    if n < len(table):
        return table[int(n)]
    return log_gamma_at(n + a)


@compiled
def log_gamma_at(x):  # type: ignore[no-untyped-def]
    """log Gamma(x) by Stirling's series, from log Gamma(x + n) where x is small."""
    factor = 1.0
    while x < STIRLING:
        factor *= x
        x += 1
    y = 1 / (x * x)
    value = (x - 0.5) * np.log(x) - x + HALF_LOG_2_PI
    value += (1 - y * (1 / 30 - y * (1 / 105 - y / 140))) / (12 * x)
    return value if factor == 1 else value - np.log(factor)


@compiled
def cluster_term(s, t, a, g, b, gammas, gammas_of_totals):  # type: ignore[no-untyped-def]
    """What s items with t tokens in all add to the evidence, but for their pairs of clusters."""
    value = log_gamma(s, a, gammas)
    if b == 0 or s == 0:
        return value - log_gamma(t, g, gammas_of_totals)
    return value + log_gamma_at(b * s) - log_gamma_at(b * s + t)


@compiled
def count_blocks(indptr, indices, data, labels, others, J):  # type: ignore[no-untyped-def]
    """Add the counts of rows and columns with these labels to J (C, D)."""
    for i in range(len(labels)):
        for p in range(indptr[i], indptr[i + 1]):
            J[labels[i], others[indices[p]]] += data[p]


@compiled
def exchange_items(  # type: ignore[no-untyped-def]
    indptr, indices, data, items, weights, labels, others, J, totals, sizes, members,
    a, g, b, gammas, gammas_of_totals, keep, cells, cluster_terms, profile, places,
):  # fmt: skip
    """Move each of these rows, in turn, to its best cluster; return how many have moved.

    ``J`` (C, D), ``totals`` (C,) and ``sizes`` (C,), the tokens and weighted rows of clusters, and
    ``members`` (C,) follow. ``cells`` (C, D) are log Gamma(J + a). ``gammas`` and
    ``gammas_of_totals`` are tables of log Gamma(n + a) and log Gamma(n + g). ``b`` is zero, or the
    concentration of the frequencies of the rows of a cluster; then g is 1. With ``keep`` no
    cluster loses its last row. A row costs its non-zeros, and C times the clusters of columns in
    which it has tokens. The last three arrays, (C,), (D,) and (D,), are to work on.
    """
    n_clusters = len(totals)
    n_moved = 0
    for c in range(n_clusters):
        cluster_terms[c] = cluster_term(sizes[c], totals[c], a, g, b, gammas, gammas_of_totals)
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
        cluster_terms[home] = cluster_term(
            sizes[home], totals[home], a, g, b, gammas, gammas_of_totals
        )
        best = home
        highest = 0.0
        for step in range(n_clusters + 1):  # its own cluster first
            c = home if step == 0 else step - 1
            if step > 0 and (c == home or members[c] == 0):
                continue
            value = cluster_term(
                sizes[c] + weight, totals[c] + n, a, g, b, gammas, gammas_of_totals
            )
            value -= cluster_terms[c]
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
        cluster_terms[best] = cluster_term(
            sizes[best], totals[best], a, g, b, gammas, gammas_of_totals
        )
        if best != home:
            labels[i] = best
            n_moved += 1
    return n_moved


@compiled
def merge_gains(  # type: ignore[no-untyped-def]
    J, totals, sizes, a, g, b, gammas, gammas_of_totals, cells, gains
):  # fmt: skip
    """Fill gains (C, C), c < e, by what merging two rows of J (C, D) adds to the evidence.

    But for the terms in which the number of clusters stands.
    """
    n_clusters, n_others = J.shape
    nothing = log_gamma(0.0, a, gammas)
    empty = cluster_term(0.0, 0.0, a, g, b, gammas, gammas_of_totals)
    for c in range(n_clusters):
        first = cluster_term(sizes[c], totals[c], a, g, b, gammas, gammas_of_totals)
        for e in range(c + 1, n_clusters):
            value = empty - first
            value -= cluster_term(sizes[e], totals[e], a, g, b, gammas, gammas_of_totals)
            value += cluster_term(
                sizes[c] + sizes[e], totals[c] + totals[e], a, g, b, gammas, gammas_of_totals
            )
            for d in range(n_others):
                value += log_gamma(J[c, d] + J[e, d], a, gammas) + nothing
                value -= cells[c, d] + cells[e, d]
            gains[c, e] = value
