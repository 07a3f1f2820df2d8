"""Asymmetric clustering, transcribed: Hofmann & Puzicha (1998), 3.1, 3.2 and 5.1.

For clusters of rows; for clusters of columns transpose the table.
"""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from skcooc.em import State
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.column_clusters import Params as ColumnParams
from skcooc.equations.row_clusters import Params as RowParams
from skcooc.equations.row_clusters import RowClusters

KINDS = {"rows": RowClusters, "columns": ColumnClusters}
LEAST = 1e-30  # zeros are taken for this in logarithms, in the library too


def ln(p):
    return log(max(p, LEAST))


def factors(n, object_weights):
    """Factors of the objects, from eq. (26) to eq. (25); the number of observations stays."""
    unit = unit_of(n, object_weights)
    return np.array([unit * weight(sum(row), object_weights) / max(sum(row), 1e-300) for row in n])


def weight(size, object_weights):
    return {"counts": size, "sqrt": size**0.5, "equal": float(size > 0)}[object_weights]


def unit_of(n, object_weights):
    return n.sum() / sum(weight(sum(row), object_weights) for row in n)


def divergence(row, q):
    """n_i D[n_j|i || q_j|c] of one object and one cluster."""
    counts, q = row[row > 0], np.maximum(q[row > 0], LEAST)
    return counts @ np.log(counts / row.sum() / q)


def entropy(row):
    """n_i H[n_j|i], the part of -log-likelihood that no cluster can change."""
    return -sum(count * ln(count / row.sum()) for count in row if count)


def exponents(n, q, rho, beta, weights):
    """log rho_c - beta n_i D[n_j|i || q_j|c] of eqs. (30) and (60); (N, K)."""
    scores = np.empty((len(n), len(rho)))
    for i, c in np.ndindex(scores.shape):
        scores[i, c] = ln(rho[c]) - beta * weights[i] * divergence(n[i], q[:, c])
    return scores


def posteriors(n, q, rho, beta, weights, hard):
    """Eq. (23) where hard, else eqs. (30) and (60)."""
    scores, posteriors = exponents(n, q, rho, beta, weights), np.zeros((len(n), len(rho)))
    for i, row in enumerate(scores):
        if not n[i].any():
            posteriors[i] = rho
        elif hard:
            posteriors[i, row.argmax()] = 1
        else:
            terms = [exp(score - max(row)) for score in row]
            posteriors[i] = [term / sum(terms) for term in terms]
    return posteriors


def centroids(n, posteriors, weights):
    """Eq. (24)."""
    q = np.einsum("ic,i,ij->jc", posteriors, weights, n)
    return q / q.sum(axis=0)


def proportions(posteriors):
    """Eq. (31)."""
    return posteriors.mean(axis=0)


def row_energy(n, q, rho, beta, weights, hard):
    """-(1/beta) sum_i log sum_c rho_c exp(beta log-likelihood), or the largest terms alone.

    An object without observations, whose posterior is rho, contributes nothing in either case.
    """
    total = 0.0
    for i, row in enumerate(exponents(n, q, rho, beta, weights)):
        evidence = max(row) + (0 if hard else log(sum(exp(s - max(row)) for s in row)))
        evidence *= n[i].any()
        total += weights[i] * entropy(n[i]) - evidence / beta
    return total


def column_energy(n, posteriors, rho, beta, weights):
    """Its variational form at given posteriors: expected costs and relative entropy."""
    q, total = centroids(n, posteriors, weights), 0.0
    for i, c in np.ndindex(posteriors.shape):
        if p := posteriors[i, c]:
            total += p * weights[i] * (entropy(n[i]) + divergence(n[i], q[:, c]))
            total += p * (ln(p) - ln(rho[c])) / beta
    return total


def random_posteriors(n_objects, k, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(k), n_objects)


def start_of(axis, n, posteriors, rho, object_weights="counts"):
    """The state of the model in which objects have these posteriors; n is the table as it is."""
    k = posteriors.shape[1]
    if axis == "columns":
        totals = n.sum(axis=0)
        shares = totals @ posteriors / totals.sum()
        return State(ColumnParams(posteriors, totals, shares, rho), np.full((len(n), k), 1 / k))
    q = centroids(n, posteriors, np.ones(len(n)))
    return State(RowParams(q, rho, np.array(unit_of(n, object_weights))), posteriors)


@dataclass(frozen=True)
class LiteralRows:
    """Clusters of rows. Where they are hard there is no temperature, and no prior."""

    hard: bool = False
    object_weights: str = "counts"
    proportions: str = "uniform"

    def _given(self, n, params, beta):
        q, rho, _ = params
        rho, beta = (np.ones_like(rho), 1.0) if self.hard else (rho, beta)
        return n, q, rho, beta, factors(n, self.object_weights), self.hard

    def step(self, n, params, rows, beta):
        I = posteriors(*self._given(n, params, beta))
        q = centroids(n, I, factors(n, self.object_weights))
        rho = proportions(I) if self.proportions == "estimated" else params.weights
        return RowParams(q, rho, np.array(unit_of(n, self.object_weights))), I

    def objective(self, n, params, rows, beta):
        return row_energy(*self._given(n, params, beta))


@dataclass(frozen=True)
class LiteralColumns:
    """Clusters of columns; P(c|x) are the row states."""

    hard: bool = False
    object_weights: str = "counts"
    proportions: str = "uniform"

    def step(self, n, params, rows, beta):
        J, _, _, rho = params
        weights, totals = factors(n.T, self.object_weights), n.sum(axis=0)
        mixtures = n @ J / n.sum(axis=1, keepdims=True).clip(1e-300)
        J = posteriors(n.T, centroids(n.T, J, weights), rho, beta, weights, self.hard)
        rho = proportions(J) if self.proportions == "estimated" else rho
        return ColumnParams(J, totals, totals @ J / totals.sum(), rho), mixtures

    def objective(self, n, params, rows, beta):
        weights = factors(n.T, self.object_weights)
        J, beta = params.memberships, np.inf if self.hard else beta
        return column_energy(n.T, J, params.proportions, beta, weights)
