"""Clusters of rows in the space of topics: PCP, and its posterior with topics summed out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from skcooc.em import Leg, OverRelaxation, State, fit
from skcooc.equations import at_centers
from skcooc.equations.aspects import Aspects
from skcooc.equations.at_centers import Collapsed
from skcooc.equations.dirichlet import best_prior, best_total, divergence, expected_log
from skcooc.equations.memberships import summed_out
from skcooc.equations.row_clusters import RowClusters
from skcooc.equations.starts import soft_start
from skcooc.protocol import Array, Block, Counts, Need, OnlineModel, Rows
from skcooc.simplex import LEAST, diluted, log, normalise, sums

# The aspect model that is the start, and the rounds in which every row is a cluster of its own.
START_BETA, START_ITERATIONS, START_TOL, START_RELAXATION = 0.85, 60, 1e-5, 1.8
OWN_ROUNDS = 30
LEAST_SIZE = 1e-9  # of a row: a cluster with less has died


class Params(NamedTuple):
    """Parameters of the posterior and of its priors; C counts clusters that have died, too."""

    topics: Array  # (M, K): P(y_j given z_k); columns sum to one
    counts: Array  # (C, K): gamma - lambda, expected observations, times beta
    sizes: Array  # (C,): eta - alpha / C, expected rows; zero where a cluster has died
    alpha: Array  # (): the prior of the weights of clusters is Dir(alpha / C, ...)
    lambda_: Array  # (K,): the prior of every center is Dir(lambda)
    beta: Array  # (): inverse temperature of this posterior
    weights: Array  # the state of a row without observations


class Statistics(NamedTuple):
    """Sums over the rows of a block."""

    topics: Array  # (M, K): expected observations of columns from topics
    centers: Array  # (C, K): expected observations of topics in clusters
    sizes: Array  # (C,): sum_i psi_ic
    free_energy: float  # the part of -bound / beta that concerns the rows, nats


class Clusters(NamedTuple):
    """What the posterior says of the clusters that are alive."""

    alive: Array  # (c,): their numbers
    weights: Array  # (c,): E[pi_c]; they sum to one
    log_weights: Array  # (c,): E[log pi_c]
    centers: Array  # (c, K): E[theta_c]
    log_centers: Array  # (c, K): E[log theta_c]


@dataclass(frozen=True)
class Projections(OnlineModel[Params, Statistics]):
    """Start, M-step and prior of probabilistic clustering-projection (PCP).

    A row belongs to one of C clusters, a cluster has a center theta_c, which is a distribution over
    K topics, and every observation comes from a topic that is chosen by the center. Weights and
    centers of clusters have Dirichlet priors Dir(alpha / C) and Dir(lambda). With the posterior
    q(pi) q(theta) q(c, z), at inverse temperature beta

        gamma_ck = lambda_k + beta sum_ij n_ij q(c_i = c, z_ij = k)            (7)
        eta_c = alpha / C + sum_i q(c_i = c)                                   (7)
        B_jk ~ sum_i n_ij q(z_ij = k) + topic_prior                            (9)

    all of which raise the bound, eq. (5), as do E-steps and Newton steps for alpha and lambda:

        E[log likelihood] + H(c, z) + E[log P(c given pi)] - KL(q(pi), q(theta) || priors)
        + beta topic_prior sum log B,

    in which the log-likelihood is tempered. The free energy is -bound / beta. Rows without
    observations belong to no cluster. A cluster whose expected rows are none dies and is passed
    over; since its gamma and eta are those of the prior it adds nothing to the bound.
    """

    n_topics: int
    n_clusters: int | None = None
    alpha: float = 1.0
    lambda_: float = 0.05
    topic_prior: float = 0.0
    update_priors: bool = False

    @property
    def needs(self) -> Mapping[Need, str]:
        """All rows to begin with, and what they were where each is a cluster of its own."""
        all_rows = "the clusters of ClusteringProjection begin with all rows"
        if self.n_clusters is not None:
            return {"all rows": all_rows}
        own = "every row is a cluster of its own; it needs n_clusters"
        return {"all rows": all_rows, "row states": own}

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Parameters, and the expected topics S of the rows.

        Topics come from an aspect model and are then adapted to rows that are clusters of their
        own. These are the clusters where no number is given; else an asymmetric clustering is.
        The aspects begin at random: from clusters each row may have one alone, and rows so far
        from each other never share a cluster.
        """
        aspects = Aspects(self.n_topics)
        leg = Leg(aspects, X, START_BETA, START_ITERATIONS, START_TOL)
        start = State(*aspects.random(X, rng))
        found = fit(leg.burned_in(), rng, OverRelaxation(START_RELAXATION), start=start)
        topics, dtype = found.params.components, X.dtype
        block = cast(Block, X)
        S = found.rows * block.row_sums[:, None].astype(dtype)
        topics, S = self._own_centers(block, topics, S)
        sizes = row_weights(block).astype(dtype)
        counts = S * sizes[:, None]
        if self.n_clusters is not None:
            psi = self._clustering(X, rng) * sizes[:, None]
            sizes, counts = sums(psi, axis=0), psi.T @ S
        alpha, beta = (np.array(value, dtype=dtype) for value in (self.alpha, 1.0))
        lambda_ = np.full(self.n_topics, self.lambda_, dtype=dtype)
        empty = np.zeros_like(lambda_)
        return Params(topics, counts, sizes, alpha, lambda_, beta, empty), S

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """Clusters, topics and priors: eqs. (7), (9)."""
        alive = stats.sizes > LEAST_SIZE
        sizes = np.where(alive, stats.sizes, 0)
        counts = np.where(alive[:, None], beta * stats.centers, 0)
        alpha, lambda_ = params.alpha, params.lambda_
        if self.update_priors:
            lambda_ = best_prior(counts[alive], lambda_)
            alpha = np.array(best_total(sizes[alive], float(alpha), len(sizes)), dtype=alpha.dtype)
        seen = stats.topics.any(axis=1, keepdims=True)
        expected = stats.topics + self.topic_prior * seen.astype(stats.topics.dtype)
        topics = normalise(expected, axis=0, otherwise=params.topics)
        tempered = np.array(beta, dtype=params.beta.dtype)
        return Params(topics, counts, sizes, alpha, lambda_, tempered, params.weights)

    def log_prior(self, params: Params, beta: float) -> float:
        """-KL(q(pi), q(theta) || priors) / beta + topic_prior sum log B, over columns seen."""
        alive, alpha = params.sizes > 0, float(params.alpha)
        entries = np.full(np.count_nonzero(alive), alpha / len(alive))
        far = divergence(params.sizes[None, alive], entries, alpha)
        far += divergence(params.counts[alive], params.lambda_, float(params.lambda_.sum()))
        if not self.topic_prior:
            return -far / beta
        seen = params.topics[params.topics.any(axis=1)]
        return self.topic_prior * float(np.sum(log(seen), dtype=np.float64)) - far / beta

    def folding(self, params: Params) -> tuple[Collapsed, at_centers.Params]:
        """At the means of the clusters that are alive, with topics summed out."""
        return Collapsed(), at_centers.Params(params.topics, *clusters_of(params)[1:])

    def mixing(self, params: Params) -> tuple[Array, Array]:
        """The centers of the clusters that are alive, and their weights, at their means."""
        clusters = clusters_of(params)
        return clusters.weights, clusters.centers

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        """P(c given x) over the clusters that are alive, some rows at a time."""
        raise NotImplementedError

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every topic is, in this share, the distribution."""
        return params._replace(topics=diluted(params.topics, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Topics, and means of the centers and weights of clusters that are alive."""
        (M, K), C = params.topics.shape, int(np.count_nonzero(params.sizes))
        return K * (M - 1) + C * (K - 1) + max(C - 1, 0)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The topics at these columns alone, not normalised anew."""
        return params._replace(topics=params.topics[columns])

    def _clustering(self, X: Counts, rng: np.random.Generator) -> Array:
        """Memberships of the rows in an asymmetric clustering."""
        return soft_start(RowClusters(cast(int, self.n_clusters)), X, rng).rows

    def _own_centers(self, X: Block, topics: Array, S: Array) -> tuple[Array, Array]:
        """Rounds in which every row is a cluster of its own, so that its center follows from S."""
        lambda_ = np.full(self.n_topics, self.lambda_, dtype=topics.dtype)
        for _ in range(OWN_ROUNDS):
            A = np.exp(expected_log(S, lambda_, float(lambda_.sum())))
            mixture = X.mixture(A, topics)
            S, expected = A * mixture.rows, topics * mixture.columns
            expected += self.topic_prior * expected.any(axis=1, keepdims=True)
            topics = normalise(expected, axis=0, otherwise=topics)
        return topics, S


def clusters_of(params: Params) -> Clusters:
    """What the posterior says of the clusters that are alive."""
    alive, alpha, lambda_ = np.flatnonzero(params.sizes), params.alpha, params.lambda_
    sizes, counts = params.sizes[alive], params.counts[alive]
    entry = alpha / np.array(len(params.sizes), dtype=alpha.dtype)
    log_weights = expected_log(sizes[None], entry, float(alpha))[0]
    log_centers = expected_log(counts, lambda_, float(lambda_.sum()))
    weights = normalise((sizes + entry)[None], axis=1, otherwise=0.0)[0]
    centers = normalise(counts + lambda_, axis=1, otherwise=0.0)
    return Clusters(alive, weights, log_weights, centers, log_centers)


def row_weights(X: Block) -> Array:
    """How many rows each row stands for; none where it has no observations."""
    return X.row_weights * (X.row_sums > 0)


def in_all_places(
    params: Params, alive: Array, centers: Array, sizes: Array
) -> tuple[Array, Array]:
    """Sums of the clusters that are alive, in the places of all."""
    everywhere = np.zeros_like(params.counts), np.zeros_like(params.sizes)
    for whole, part in zip(everywhere, (centers, sizes), strict=True):
        whole[alive] = part
    return everywhere


@dataclass(frozen=True)
class StructuredProjections(Projections):
    """Equations of PCP with q(c_i) prod_j q(z_ij given c_i).

    The topics of a row depend on its cluster, as they do in the exact posterior. With beta the
    exponent of the likelihood of a row,

        psi_ic ~ exp(E[log pi_c]) prod_j [sum_k B_jk exp(E[log theta_ck])]^(beta n_ij)
        phi_jck ~ B_jk exp(E[log theta_ck])

    The bound is never below that of independent q(c_i) q(z_ij), and does not depend on how a row
    is started. phi is the same for all rows, so that all sums need two sparse products and M x C
    numbers. The state of a row is psi.
    """

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """As that of the other posterior; the state of the rows does not matter."""
        params, _ = super().start(X, rng)
        empty = np.zeros_like(params.sizes)
        rows = np.broadcast_to(empty, (X.shape[0], len(empty)))
        return params._replace(weights=empty), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Memberships of the rows, and topics of the columns in every cluster."""
        clusters, topics, weights = clusters_of(params), params.topics, row_weights(X)
        centers = np.exp(clusters.log_centers)
        psi, evidence, P, shared = summed_out(X, topics, centers, clusters.log_weights, beta)
        psi[weights == 0] = 0
        bound = np.sum(weights * evidence) / beta + np.sum(X.column_sums * shared)
        ratio = X.tdot(psi) / np.maximum(P, LEAST)
        expected = centers * (ratio.T @ topics)
        sizes = np.einsum("ic,i->c", psi, weights.astype(psi.dtype))
        sums_of_clusters = in_all_places(params, clusters.alive, expected, sizes)
        state = np.zeros((X.shape[0], len(params.sizes)), dtype=X.dtype)
        state[:, clusters.alive] = psi
        return state, Statistics(topics * (ratio @ centers), *sums_of_clusters, -float(bound))

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) = sum_c psi_ic E[theta_c] and P(y given z)."""
        ((_, psi),) = self.memberships(params, rows)
        return psi @ clusters_of(params).centers, params.topics

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        """P(c given x) over the clusters that are alive, of all rows at once."""
        clusters = clusters_of(params)
        psi = rows[:, clusters.alive]
        psi[~psi.any(axis=1)] = clusters.weights
        yield slice(0, len(rows)), psi
