"""Predictive EM word for word, with the posterior of every cell."""

import numpy as np


def posterior(n, r, beta, tempering="joint", prior=0.0):
    """The next r[i, j, k], predicted by all observations but one of the cell, or uniform.

    Memo, eq. (61) without the diagonal, tempered.
    """
    nr = n[:, :, None] * r
    N, M, T = nr.sum(axis=1), nr.sum(axis=0), nr.sum(axis=(0, 1))
    new = np.zeros_like(r)
    for i, j in zip(*np.nonzero(n), strict=True):
        own = r[i, j]
        p_x = np.clip(N[i] - own, 0, None)  # P(z) P(x given z), but for a factor of the cell
        p_y = np.clip(M[j] + prior - own, 0, None) / (T + prior * n.shape[1] - own)
        terms = (p_x * p_y) ** beta
        if tempering == "likelihood":
            terms = terms * (T - own) ** (1 - beta)
        K = len(terms)
        new[i, j] = terms / terms.sum() if terms.sum() > 1e-12 else np.full(K, 1 / K)
    return new


def free_energy(n, r, beta):
    """That of all observations, each of them left out in turn."""
    N, M, T = ((n[:, :, None] * r).sum(axis=axes) for axes in (1, 0, (0, 1)))
    total = 0.0
    for i, j in zip(*np.nonzero(n), strict=True):
        own = r[i, j]
        terms = (N[i] - own) / N[i].sum() * (M[j] - own) / (T - own)
        if terms.max() > 1e-9:  # else nothing is left, which says nothing
            total -= n[i, j] * np.log((terms**beta).sum()) / beta
    return total
