"""New rows in the space of topics: their clusters and projections at fitted centers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from skcooc.clustering import posteriors
from skcooc.protocol import Array, Counts, Rows
from skcooc.simplex import log, normalise, softmax


class Params(NamedTuple):
    """Topics, and what the posterior says of the clusters that are alive."""

    topics: Array  # (M, K): P(y_j given z_k)
    centers: Array  # (C, K): E[theta_c]
    log_centers: Array  # (C, K): E[log theta_c]
    weights: Array  # (C,): E[pi_c]; the distribution of a row without observations
    log_weights: Array  # (C,): E[log pi_c]


class Statistics(NamedTuple):
    """Rows that are folded in contribute nothing to the parameters."""

    free_energy: float


class _AtCenters:
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

    P(c given x_i) ~ pi_c prod_j (sum_k theta_ck B_jk)^(beta n_ij), at the means of pi and theta;
    where ``tempering="joint"``, with (theta_ck B_jk)^beta in the sum and no other power.
    """

    tempering: Literal["clusters", "joint"] = "clusters"

    def expect(self, X: Counts, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Posteriors of the clusters: one step is all, whatever the state of the rows."""
        power = beta if self.tempering == "joint" else 1.0
        P = params.topics**power @ params.centers.T**power
        relative = log(P) - log(P @ params.weights)[:, None]  # small, so that rounding is
        factors = np.full((X.shape[0], 1), beta / power, dtype=X.dtype)
        psi, evidence = posteriors(X, X.dot(relative), factors, params.weights, hard=False)
        psi[X.row_sums == 0] = params.weights
        return psi, Statistics(-float(np.sum(evidence)) / beta)


@dataclass(frozen=True)
class MeanField(_AtCenters):
    """Clusters and topics of rows in turn: PCP, eqs. (6), (8).

    They confirm each other: from the prior these steps end at poor optima. They are meant to start
    from the posterior in which topics are summed out.
    """

    tempering: Literal["clusters", "joint"] = "clusters"

    def expect(self, X: Counts, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Topics of the observations, then posteriors of the clusters."""
        power = beta if self.tempering == "joint" else 1.0
        S, log_likelihood = expected_topics(X, params, rows, power)
        psi, log_sums = beta * S @ params.log_centers.T + params.log_weights, np.empty((len(S), 1))
        softmax(psi, log_sums)
        psi[X.row_sums == 0] = params.weights
        return psi, Statistics(-log_likelihood / power)


def expected_topics(
    X: Counts, params: Params, rows: Rows, power: float = 1.0
) -> tuple[Array, float]:
    """S_ik = sum_j n_ij phi_ijk, eq. (8), and sum n_ij log sum_k (A_ik B_jk)^power."""
    A = np.exp(power * (rows @ params.log_centers))
    mixture = X.mixture(A, params.topics**power)
    return A * mixture.rows, mixture.log_likelihood


def projections(X: Counts, params: Params, rows: Rows) -> Array:
    """S_ik / n_i, (n, K); the mean center where a row has no observations."""
    S, _ = expected_topics(X, params, rows)
    return normalise(S, axis=1, otherwise=params.weights @ params.centers)


def cluster_terms(params: Params, rows: Rows) -> Array:
    """What the cluster of a row adds to its bound, eq. (5), (n,), in nats.

    sum_c psi_ic (E[log pi_c] - log psi_ic), in float64.
    """
    terms: Array = np.sum(rows * (params.log_weights - log(rows)), axis=1, dtype=np.float64)
    return terms
