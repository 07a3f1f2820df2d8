"""Predictors of language word for word, in loops over dense tables; `broken` ones are wrong."""

import numpy as np


def discounted(n, d, lower, broken=False):
    """Absolute discounting with interpolation; broken: what the zeros save is counted, too."""
    P = np.empty(n.shape)
    for i in range(n.shape[0]):
        for j in range(n.shape[1]):
            if not n[i].sum():
                P[i, j] = lower[j]
                continue
            types = n.shape[1] if broken else np.count_nonzero(n[i])
            P[i, j] = (max(n[i, j] - d, 0) + d * types * lower[j]) / n[i].sum()
    return P


def divergence(p, q):
    """Of Jensen and Shannon: the mean divergence from the mean."""
    total = 0.0
    for pj, qj in zip(p, q, strict=True):
        mean = (pj + qj) / 2
        total += (pj * np.log(pj / mean) if pj else 0) + (qj * np.log(qj / mean) if qj else 0)
    return total / 2


def nearest_rows(n, k):
    """Of rows with a column in common, the k nearest; infinity where there are fewer."""
    nearest, J = np.zeros((len(n), k), dtype=int), np.full((len(n), k), np.inf)
    for i in range(len(n)):
        found = []
        for other in range(len(n)):
            if other != i and (n[i] * n[other]).any():
                p, q = n[i] / n[i].sum(), n[other] / n[other].sum()
                found.append((divergence(p, q), other))
        for place, (value, other) in enumerate(sorted(found)[:k]):
            nearest[i, place], J[i, place] = other, value
    return nearest, J


def similar(n, nearest, J, beta):
    """The mean of the neighbours' frequencies; without neighbours, those of the columns."""
    P = np.zeros(n.shape)
    for i in range(len(n)):
        total = 0.0
        for other, value in zip(nearest[i], J[i], strict=True):
            if np.isfinite(value):
                W = np.exp(-beta * value)
                P[i] += W * n[other] / n[other].sum()
                total += W
        P[i] = P[i] / total if total else n.sum(axis=0) / n.sum()
    return P


def skipping(n, contexts):
    """Shares (m, M) that give all words equal chances, and bigrams that skip words, (m, M, M)."""
    m, n_words = contexts.shape[1], n.shape[1]
    M = np.zeros((m, n_words, n_words))
    for i, context in enumerate(contexts):
        for k in range(m):
            M[k, context[k]] += n[i]
    return np.array([[1 / (m - k)] * n_words for k in range(m)]), normalised(M)


def normalised(M):
    totals = M.sum(axis=-1, keepdims=True)
    return M / np.where(totals > 0, totals, 1)


def terms(context, shares, M):
    """What each lag contributes to the distribution of the next word, (m, M)."""
    found, reached = [], 1.0
    for k, word in enumerate(context):
        found.append(reached * shares[k, word] * M[k, word])
        reached *= 1 - shares[k, word]
    return np.array(found)


def mixed_order(contexts, shares, M):
    return np.array([terms(context, shares, M).sum(axis=0) for context in contexts])


def mixed_order_step(n, contexts, shares, M, broken=False):
    """Saul and Pereira's EM; broken: a share of all observations, not of those that get there."""
    m, n_words = contexts.shape[1], n.shape[1]
    taken, reached = np.zeros((m, n_words)), np.zeros((m, n_words))
    pairs = np.zeros((m, n_words, n_words))
    for i, context in enumerate(contexts):
        joint = terms(context, shares, M)
        for j in range(n_words):
            if not n[i, j]:
                continue
            phi = joint[:, j] / joint[:, j].sum()
            for k, word in enumerate(context):
                taken[k, word] += n[i, j] * phi[k]
                reached[k, word] += n[i, j] * (1 if broken else phi[k:].sum())
                pairs[k, word, j] += n[i, j] * phi[k]
    shares = taken / np.where(reached > 0, reached, 1)
    shares[-1] = 1
    return shares, normalised(pairs)


def weights(n, cells, steps, broken=False):
    """EM for the weights of a mean; broken: every cell counts as one observation."""
    found = [1 / len(cells)] * len(cells)
    for _ in range(steps):
        expected = [0.0] * len(cells)
        for r in range(len(n)):
            total = sum(w * P[r] for w, P in zip(found, cells, strict=True))
            for k in range(len(cells)):
                expected[k] += (1 if broken else n[r]) * found[k] * cells[k][r] / total
        found = [e / sum(expected) for e in expected]
    return np.array(found)
