"""Predictive EM word for word, with the posterior of every cell."""

import numpy as np


def posterior(n, A, C, beta, row_prior, component_prior, tempering="joint", rho=None):
    """r[i, j, k], predicted by all observations but one of the cell, or uniform.

    A are the mixtures of the rows, C the expected counts of the columns. A count that is no integer
    stands for ceil(count) observations of equal weight.
    """
    T, n_rows = C.sum(axis=0), n.sum(axis=1)
    P = T / T.sum()
    N = np.maximum(A * (n_rows[:, None] + row_prior) - row_prior * P, 0)
    B = (C + component_prior) / (T + component_prior * len(C))
    r = np.zeros((*n.shape, len(T)))
    for i, j in zip(*np.nonzero(n), strict=True):
        mine = A[i] * B[j] / (A[i] @ B[j]) * n[i, j] / np.ceil(n[i, j])
        row = N[i] - np.minimum(mine, N[i]) + row_prior * P
        column = C[j] - np.minimum(mine, C[j]) + component_prior
        terms = (row * column / (T - np.minimum(mine, C[j]) + component_prior * len(C))) ** beta
        if tempering != "joint":
            terms = terms * (P if rho is None else rho) ** (1 - beta)
        K = len(terms)
        r[i, j] = terms / terms.sum() if terms.sum() > 1e-12 else np.full(K, 1 / K)
    return r


def step(n, A, C, beta, row_prior, component_prior, tempering="joint", rho=None):
    """The next mixtures of the rows and expected counts of the columns, and the posteriors."""
    r = posterior(n, A, C, beta, row_prior, component_prior, tempering, rho)
    expected = (n[:, :, None] * r).sum(axis=1) + row_prior * C.sum(axis=0) / C.sum()
    return expected / expected.sum(axis=1, keepdims=True), (n[:, :, None] * r).sum(axis=0), r
