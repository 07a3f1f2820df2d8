"""Distributional clustering, transcribed: Hofmann & Puzicha (1998), eq. (25).

H = sum_i sum_c I_ic D(n_j|i || q_j|c) knows of a row no more than n_j|i. With 1/T = beta the
posteriors are those of section 5.1, and the centroids, for which H is stationary, plain means.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from skcooc.equations.row_clusters import Params
from tests.equations.literal_clusters import ln


def conditional(n):
    """n_j|i; zeros where a row has no observations."""
    return np.array([row / row.sum() if row.any() else row for row in n])


def divergence(p, q):
    """D(p || q), nats."""
    return sum(p_j * (ln(p_j) - ln(q_j)) for p_j, q_j in zip(p, q, strict=True) if p_j)


def terms(p, q, rho, beta):
    """rho_c exp(-beta D(p || q_c)), (K,)."""
    return [rho[c] * exp(-beta * divergence(p, q[:, c])) for c in range(len(rho))]


@dataclass(frozen=True)
class LiteralDistributions:
    """Of rows that sum to one, or are empty: beta is per unit of divergence."""

    def step(self, n, params, rows, beta):
        q, rho, unit = params
        P = conditional(n)
        I = np.array([terms(p, q, rho, beta) if p.any() else rho for p in P])
        I /= I.sum(axis=1, keepdims=True)
        means = sum(np.outer(p, I_i) for p, I_i in zip(P, I, strict=True))
        return Params(means / means.sum(axis=0), rho, unit), I

    def objective(self, n, params, rows, beta):
        q, rho, _ = params
        seen = [p for p in conditional(n) if p.any()]
        entropies = -sum(p_j * ln(p_j) for p in seen for p_j in p if p_j)
        return entropies - sum(ln(sum(terms(p, q, rho, beta))) for p in seen) / beta
