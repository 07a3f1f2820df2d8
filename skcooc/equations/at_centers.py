"""New rows in the space of topics: their clusters and projections at fitted centers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.equations.memberships import summed_out
from skcooc.protocol import Array, Block, FoldIn, Rows
from skcooc.simplex import log, normalise, softmax, sums


class Params(NamedTuple):
    """Topics, and what the posterior says of the clusters that are alive."""

    topics: Array  # (M, K): P(y_j given z_k)
    weights: Array  # (C,): E[pi_c]; the distribution of a row without observations
    log_weights: Array  # (C,): E[log pi_c]
    centers: Array  # (C, K): E[theta_c]
    log_centers: Array  # (C, K): E[log theta_c]


class Statistics(NamedTuple):
    """Rows that are folded in contribute nothing to the parameters."""

    free_energy: float


class _AtCenters(FoldIn[Params, Statistics]):
    """What both ways to predict share; the state of a row is P(c given x)."""

    def restrict(self, params: Params, columns: Array) -> Params:
        """The topics at these columns alone, not normalised anew."""
        return params._replace(topics=params.topics[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) = sum_c P(c given x) E[theta_c] and P(y given z)."""
        return rows @ params.centers, params.topics


@dataclass(frozen=True)
class Collapsed(_AtCenters):
    """Clusters of rows with the topics of their observations summed out.

    P(c given x_i) ~ pi_c prod_j (sum_k theta_ck B_jk)^(beta n_ij), at the means of pi and theta.
    So both posteriors of the training rows predict: new rows are predicted better if beta is the
    exponent of all their observations together, even if it was that of every single one.
    """

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Posteriors of the clusters: one step is all, whatever the state of the rows."""
        factors = params.topics, params.centers, log(params.weights)
        psi, evidence, _, _ = summed_out(X, *factors, beta)
        psi[X.row_sums == 0] = params.weights
        return psi, Statistics(-float(np.sum(evidence)) / beta)


@dataclass(frozen=True)
class MeanField(_AtCenters):
    """Clusters and topics of rows in turn: PCP, eqs. (6), (8).

    They confirm each other: from the prior these steps end at poor optima. They are meant to start
    from the posterior in which topics are summed out.
    """

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Topics of the observations, then posteriors of the clusters."""
        S = expected_topics(X, params, rows)
        psi, log_sums = beta * S @ params.log_centers.T, np.empty((len(S), 1))
        psi += params.log_weights
        softmax(psi, log_sums)
        psi[X.row_sums == 0] = params.weights
        return psi, Statistics(-float(np.sum(log_sums)) / beta)


def expected_topics(X: Block, params: Params, rows: Rows) -> Array:
    """S_ik = sum_j n_ij phi_ijk with phi_ijk ~ A_ik B_jk, eq. (8), (n, K)."""
    A = np.exp(rows @ params.log_centers)
    S: Array = A * X.mixture(A, params.topics).rows
    return S


def projections(X: Block, params: Params, rows: Rows) -> Array:
    """S_ik / n_i, (n, K); the mean center where a row has no observations."""
    S = expected_topics(X, params, rows)
    return normalise(S, axis=1, otherwise=params.weights @ params.centers)


def collapsed_bounds(X: Block, params: Params) -> Array:
    """log sum_c exp(E[log pi_c]) prod_j (sum_k B_jk exp(E[log theta_ck]))^n_ij, (n,), nats."""
    centers = np.exp(params.log_centers)
    _, evidence, _, shared = summed_out(X, params.topics, centers, params.log_weights, 1.0)
    bounds: Array = evidence + X.dot(shared[:, None])[:, 0]
    return bounds


def cluster_terms(params: Params, rows: Rows) -> Array:
    """sum_c psi_ic (E[log pi_c] - log psi_ic), what clusters add to eq. (5), (n,), nats."""
    return sums(rows * (params.log_weights - log(rows)), axis=1).astype(np.float64)
