"""Language models transcribed from their papers, in loops over dense tables."""

import numpy as np


def divergence(p, q):
    """Jensen-Shannon divergence: the mean divergence from the mean."""
    total = 0.0
    for pj, qj in zip(p, q, strict=True):
        mean = (pj + qj) / 2
        total += (pj * np.log(pj / mean) if pj else 0) + (qj * np.log(qj / mean) if qj else 0)
    return total / 2


def nearest_rows(n, k):
    """The k nearest rows with a common column; infinity if there are fewer."""
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
    """Mean of the neighbours' frequencies; the unigram without neighbours."""
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
    """Shares (m, M) for equal weights of all lags, and skip bigrams, (m, M, M)."""
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
    """Contribution of each lag to the distribution of the next word, (m, M)."""
    found, reached = [], 1.0
    for k, word in enumerate(context):
        found.append(reached * shares[k, word] * M[k, word])
        reached *= 1 - shares[k, word]
    return np.array(found)


def mixed_order(contexts, shares, M):
    return np.array([terms(context, shares, M).sum(axis=0) for context in contexts])


def mixed_order_step(n, contexts, shares, M, broken=False):
    """EM step of Saul and Pereira; broken: shares of all tokens, not of those left for a lag."""
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
