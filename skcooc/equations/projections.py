"""Probabilistic clustering-projection (PCP): clusters of rows in a topic space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np

from skcooc.equations.aspects import Aspects
from skcooc.equations.dirichlet import best_prior, best_total, divergence, expected_log
from skcooc.equations.memberships import marginal_posteriors
from skcooc.protocol import Array, Block, Capability, Counts, FoldIn, OnlineModel, Rows
from skcooc.simplex import LEAST, log, mix_with, normalise, softmax, sums

OWN_ROUNDS = 30  # in which every row is a cluster of its own
LEAST_SIZE = 1e-9  # rows: a smaller cluster is removed
CHUNK = 256  # rows whose posteriors are in memory at a time


class Params(NamedTuple):
    """Parameters of the posterior and its priors, for all C clusters."""

    topics: Array  # (M, K): P(y_j given z_k); columns sum to one
    counts: Array  # (C, K): gamma - lambda, expected tokens times beta
    sizes: Array  # (C,): eta - alpha / C, expected rows; zero for removed clusters
    alpha: Array  # (): the prior of the weights of clusters is Dir(alpha / C, ...)
    lambda_: Array  # (K,): the prior of every center is Dir(lambda)
    beta: Array  # (): inverse temperature of this posterior
    weights: Array  # the state of an empty row


class Statistics(NamedTuple):
    topics: Array  # (M, K): expected tokens of columns from topics
    centers: Array  # (C, K): expected tokens of topics in clusters
    sizes: Array  # (C,): sum_i psi_ic
    free_energy: float  # contribution of the rows to -bound / beta, nats


class ClusterPosterior(NamedTuple):
    """Posterior of the c clusters that have rows."""

    alive: Array  # (c,): their indices
    weights: Array  # (c,): E[pi_c]; they sum to one
    log_weights: Array  # (c,): E[log pi_c]
    centers: Array  # (c, K): E[theta_c]
    log_centers: Array  # (c, K): E[log theta_c]


@dataclass(frozen=True)
class Projections(OnlineModel[Params, Statistics]):
    """M-step and prior of probabilistic clustering-projection (PCP).

    A cluster has a center theta_c, a distribution over K topics, and every token of its rows comes
    from a topic drawn from the center. Weights and centers of the C clusters have Dirichlet priors
    Dir(alpha / C) and Dir(lambda). With the posterior q(pi) q(theta) q(c, z), at inverse
    temperature beta

        gamma_ck = lambda_k + beta sum_ij n_ij q(c_i = c, z_ij = k)            (7)
        eta_c = alpha / C + sum_i q(c_i = c)                                   (7)
        B_jk ~ sum_i n_ij q(z_ij = k) + topic_prior                            (9)

    These updates, the E-steps, and Newton steps for alpha and lambda all raise the bound, eq. (5),

        E[log likelihood] + H(c, z) + E[log P(c given pi)] - KL(q(pi), q(theta) || priors)
        + beta topic_prior sum log B,

    with a tempered log-likelihood. The free energy is -bound / beta. Empty rows belong to no
    cluster, and a cluster without expected rows is removed.
    """

    n_topics: int
    n_clusters: int | None = None
    alpha: float = 1.0
    lambda_: float = 0.05
    topic_prior: float = 0.0
    update_priors: bool = False

    column_statistics: ClassVar[tuple[str, ...]] = ("topics",)

    @property
    def needs(self) -> Mapping[Capability, str]:
        needs: dict[Capability, str] = {
            "all rows": "clusters of ClusteringProjection begin with all rows, in one table"
        }
        if self.n_clusters is None:
            needs["row states"] = "n_clusters=None makes every row a cluster; set n_clusters"
        return needs

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Return random topics and clusters."""
        (topics, *_), rows = Aspects(self.n_topics).start(X, rng)
        clusters = None
        if self.n_clusters is not None:
            clusters = rng.dirichlet(np.ones(self.n_clusters), X.shape[0]).astype(X.dtype)
        return self.from_topics(X, topics, rows, clusters)

    def from_topics(
        self, X: Counts, topics: Array, mixtures: Rows, clusters: Rows | None
    ) -> tuple[Params, Rows]:
        """Return parameters, and the expected topics S of the rows.

        The topics (M, K) of an aspect model are adapted to rows that are clusters of their own.
        ``clusters`` are P(c given x), (N, C); None: all rows are clusters of their own.
        """
        dtype = X.dtype
        block = cast(Block, X)
        S = mixtures * block.row_sums[:, None].astype(dtype)
        topics, S = self._adapted_topics(block, topics, S)
        sizes = row_weights(block).astype(dtype)
        counts = S * sizes[:, None]
        if clusters is not None:
            psi = clusters * sizes[:, None]
            sizes = sums(psi, axis=0)
            counts = psi.T @ S
        alpha = np.array(self.alpha, dtype=dtype)
        lambda_ = np.full(self.n_topics, self.lambda_, dtype=dtype)
        beta = np.array(1.0, dtype=dtype)
        return Params(topics, counts, sizes, alpha, lambda_, beta, np.zeros_like(lambda_)), S

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (7), (9)
        alive = stats.sizes > LEAST_SIZE
        sizes = np.where(alive, stats.sizes, 0)
        counts = np.where(alive[:, None], beta * stats.centers, 0)
        alpha = params.alpha
        lambda_ = params.lambda_
        if self.update_priors:
            lambda_ = best_prior(counts[alive], lambda_)
            alpha = np.array(best_total(sizes[alive], float(alpha), len(sizes)), dtype=alpha.dtype)
        seen = stats.topics.any(axis=1, keepdims=True)
        expected = stats.topics + self.topic_prior * seen.astype(stats.topics.dtype)
        topics = normalise(expected, axis=0, otherwise=params.topics)
        tempered = np.array(beta, dtype=params.beta.dtype)
        return Params(topics, counts, sizes, alpha, lambda_, tempered, params.weights)

    def log_prior(self, params: Params, beta: float) -> float:
        alive = params.sizes > 0
        alpha = float(params.alpha)
        entries = np.full(np.count_nonzero(alive), alpha / len(alive))
        far = divergence(params.sizes[None, alive], entries, alpha)
        far += divergence(params.counts[alive], params.lambda_, float(params.lambda_.sum()))
        if not self.topic_prior:
            return -far / beta
        seen = params.topics[params.topics.any(axis=1)]
        return self.topic_prior * float(np.sum(log(seen), dtype=np.float64)) - far / beta

    def fold_in_equations(self, params: Params) -> tuple[Collapsed, FoldInParams]:
        return Collapsed(), FoldInParams(params.topics, *clusters_of(params)[1:])

    def mixture_prior(self, params: Params) -> tuple[Array, Array]:
        clusters = clusters_of(params)
        return clusters.weights, clusters.centers

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        return params._replace(topics=mix_with(params.topics, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        M, K = params.topics.shape
        C = int(np.count_nonzero(params.sizes))
        return K * (M - 1) + C * (K - 1) + max(C - 1, 0)

    def restrict(self, params: Params, columns: Array) -> Params:
        return params._replace(topics=params.topics[columns])

    def _adapted_topics(self, X: Block, topics: Array, S: Array) -> tuple[Array, Array]:
        """Topics and S after rounds in which every row is a cluster of its own."""
        lambda_ = np.full(self.n_topics, self.lambda_, dtype=topics.dtype)
        for _ in range(OWN_ROUNDS):
            A = np.exp(expected_log(S, lambda_, float(lambda_.sum())))
            mixture = X.mixture(A, topics)
            S = A * mixture.rows
            expected = topics * mixture.columns
            expected += self.topic_prior * expected.any(axis=1, keepdims=True)
            topics = normalise(expected, axis=0, otherwise=topics)
        return topics, S


def clusters_of(params: Params) -> ClusterPosterior:
    lambda_ = params.lambda_
    alive = np.flatnonzero(params.sizes)
    sizes = params.sizes[alive]
    counts = params.counts[alive]
    entry = params.alpha / np.array(len(params.sizes), dtype=params.alpha.dtype)
    log_weights = expected_log(sizes[None], entry, float(params.alpha))[0]
    log_centers = expected_log(counts, lambda_, float(lambda_.sum()))
    weights = normalise((sizes + entry)[None], axis=1, otherwise=0.0)[0]
    centers = normalise(counts + lambda_, axis=1, otherwise=0.0)
    return ClusterPosterior(alive, weights, log_weights, centers, log_centers)


def row_weights(X: Block) -> Array:
    return X.row_weights * (X.row_sums > 0)


def over_all_clusters(
    params: Params, alive: Array, centers: Array, sizes: Array
) -> tuple[Array, Array]:
    """Sums of the clusters that have rows, with zeros for the others."""
    all_centers = np.zeros_like(params.counts)
    all_centers[alive] = centers
    all_sizes = np.zeros_like(params.sizes)
    all_sizes[alive] = sizes
    return all_centers, all_sizes


@dataclass(frozen=True)
class StructuredProjections(Projections):
    """Equations of PCP with q(c_i) prod_j q(z_ij given c_i).

    The topics of a row depend on its cluster, as in the exact posterior. With beta the exponent of
    the likelihood of a row,

        psi_ic ~ exp(E[log pi_c]) prod_j [sum_k B_jk exp(E[log theta_ck])]^(beta n_ij)
        phi_jck ~ B_jk exp(E[log theta_ck])

    The bound is never below that of independent q(c_i) q(z_ij). phi is equal for all rows, so that
    two sparse products compute all sums. The state of a row is psi.
    """

    def from_topics(
        self, X: Counts, topics: Array, mixtures: Rows, clusters: Rows | None
    ) -> tuple[Params, Rows]:
        params, _ = super().from_topics(X, topics, mixtures, clusters)
        empty = np.zeros_like(params.sizes)
        rows = np.broadcast_to(empty, (X.shape[0], len(empty)))
        return params._replace(weights=empty), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        topics = params.topics
        clusters = clusters_of(params)
        centers = np.exp(clusters.log_centers)
        log_weights = clusters.log_weights
        psi, evidence, P, shared = marginal_posteriors(X, topics, centers, log_weights, beta)
        psi[X.row_sums == 0] = 0
        weights = row_weights(X)
        bound = np.sum(weights * evidence) / beta + np.sum(X.column_sums * shared)
        ratio = X.tdot(psi) / np.maximum(P, LEAST)
        expected = centers * (ratio.T @ topics)
        sizes = np.einsum("ic,i->c", psi, weights.astype(psi.dtype))
        sums_of_clusters = over_all_clusters(params, clusters.alive, expected, sizes)
        state = np.zeros((X.shape[0], len(params.sizes)), dtype=X.dtype)
        state[:, clusters.alive] = psi
        return state, Statistics(topics * (ratio @ centers), *sums_of_clusters, -float(bound))

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        ((_, psi),) = self.memberships(params, rows)
        return psi @ clusters_of(params).centers, params.topics

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        """Ranges of rows, and their P(c given x) over the clusters that have rows."""
        clusters = clusters_of(params)
        psi = rows[:, clusters.alive]
        psi[~psi.any(axis=1)] = clusters.weights
        yield slice(0, len(rows)), psi


@dataclass(frozen=True)
class FactorialProjections(Projections):
    """Equations of PCP with q(c_i) prod_j q(z_ij), as in the paper: eqs. (4)-(9).

    With S_ik = sum_j n_ij phi_ijk, the projection of a row, and beta the exponent of the likelihood
    of every token and its topic,

        psi_ic ~ exp(E[log pi_c] + beta sum_k S_ik E[log theta_ck])            (6)
        phi_ijk ~ [B_jk exp(sum_c psi_ic E[log theta_ck])]^beta                (8)

    The sums of phi are a product as in aspect models. The state of a row is S; its psi is
    recomputed, for a few rows at a time: no array has the size N x C.
    """

    @property
    def needs(self) -> Mapping[Capability, str]:
        reason = "posterior='factorial' keeps row states; set posterior='structured'"
        return {"row states": reason, **super().needs}

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        weights = row_weights(X)
        clusters = clusters_of(params)
        # Relative to the largest, to keep rounding errors small.
        largest = clusters.log_centers.max(axis=0)
        clusters = clusters._replace(log_centers=clusters.log_centers - largest)
        log_A = _mixed_centers(X, clusters, rows, beta)
        A = np.exp(beta * (log_A + largest))
        B = X.power(params.topics, beta)
        mixture = X.mixture(A, B)
        S = A * mixture.rows
        centers, sizes, evidence = _collected(X, weights, clusters, S, beta)
        expected = float(np.sum(weights[:, None] * S * log_A, dtype=np.float64))
        free_energy = expected - (evidence + mixture.log_likelihood) / beta
        sums_of_clusters = over_all_clusters(params, clusters.alive, centers, sizes)
        return S, Statistics(B * mixture.columns, *sums_of_clusters, free_energy)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        mixtures = np.empty_like(rows)
        centers = clusters_of(params).centers
        for chunk, psi in self.memberships(params, rows):
            mixtures[chunk] = psi @ centers
        return mixtures, params.topics

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        clusters = clusters_of(params)
        for chunk in _chunks(0, len(rows)):
            psi, _ = _posteriors(rows[chunk], clusters, float(params.beta))
            psi[~rows[chunk].any(axis=1)] = clusters.weights
            yield chunk, psi


def _posteriors(
    S: Array, clusters: ClusterPosterior | FoldInParams, beta: float
) -> tuple[Array, Array]:
    """psi, eq. (6), and the logarithms of its normalisers, (n, 1)."""
    scores = (beta * S) @ clusters.log_centers.T
    scores += clusters.log_weights
    log_sums = np.empty((len(S), 1), dtype=scores.dtype)
    softmax(scores, log_sums)
    return scores, log_sums


def _mixed_centers(X: Block, clusters: ClusterPosterior, S: Array, beta: float) -> Array:
    """sum_c psi_ic E[log theta_ck], (n, K)."""
    mixed = np.empty_like(S)

    def part(start: int, stop: int) -> None:
        for chunk in _chunks(start, stop):
            psi, _ = _posteriors(S[chunk], clusters, beta)
            mixed[chunk] = psi @ clusters.log_centers

    X.map_slices(part)
    return mixed


def _collected(
    X: Block, weights: Array, clusters: ClusterPosterior, S: Array, beta: float
) -> tuple[Array, Array, float]:
    """psi.T @ S (c, K), the sums of psi (c,), and the sum of the evidence of the rows."""

    def part(start: int, stop: int) -> tuple[Array, Array, float]:
        total = 0.0
        centers = np.zeros_like(clusters.log_centers)
        sizes = np.zeros_like(clusters.log_weights)
        for chunk in _chunks(start, stop):
            psi, log_sums = _posteriors(S[chunk], clusters, beta)
            total += float(np.sum(weights[chunk] * log_sums[:, 0]))
            psi *= weights[chunk, None].astype(psi.dtype)
            centers += psi.T @ S[chunk]
            sizes += sums(psi, axis=0)
        return centers, sizes, total

    centers, sizes, totals = zip(*X.map_slices(part), strict=True)
    return np.sum(centers, axis=0), np.sum(sizes, axis=0), sum(totals)


def _chunks(start: int, stop: int) -> Iterator[slice]:
    for first in range(start, stop, CHUNK):
        yield slice(first, min(first + CHUNK, stop))


class FoldInParams(NamedTuple):
    """Topics, and the posterior of the clusters that have rows; see `ClusterPosterior`."""

    topics: Array
    weights: Array  # also the state of an empty row
    log_weights: Array
    centers: Array
    log_centers: Array


class FoldInStatistics(NamedTuple):
    free_energy: float


class FixedCenters(FoldIn[FoldInParams, FoldInStatistics]):
    """Fold-in of new rows at fixed centers; the state of a row is P(c given x)."""

    def restrict(self, params: FoldInParams, columns: Array) -> FoldInParams:
        return params._replace(topics=params.topics[columns])

    def factors(self, params: FoldInParams, rows: Rows) -> tuple[Array, Array]:
        return rows @ params.centers, params.topics


@dataclass(frozen=True)
class Collapsed(FixedCenters):
    """Clusters of new rows, with topics summed out, for either posterior.

    P(c given x_i) ~ pi_c prod_j (sum_k theta_ck B_jk)^(beta n_ij), at the means of pi and theta.
    """

    def expect(
        self, X: Block, params: FoldInParams, rows: Rows, beta: float
    ) -> tuple[Rows, FoldInStatistics]:
        log_weights = log(params.weights)
        psi, evidence, *_ = marginal_posteriors(X, params.topics, params.centers, log_weights, beta)
        psi[X.row_sums == 0] = params.weights
        return psi, FoldInStatistics(-float(np.sum(evidence)) / beta)


@dataclass(frozen=True)
class MeanField(FixedCenters):
    """Clusters and topics of new rows in turn: eqs. (6), (8).

    Start from the posteriors of `Collapsed`: from the prior EM ends at poor optima.
    """

    def expect(
        self, X: Block, params: FoldInParams, rows: Rows, beta: float
    ) -> tuple[Rows, FoldInStatistics]:
        psi, log_sums = _posteriors(expected_topics(X, params, rows), params, beta)
        psi[X.row_sums == 0] = params.weights
        return psi, FoldInStatistics(-float(np.sum(log_sums.astype(np.float64))) / beta)


def expected_topics(X: Block, params: FoldInParams, rows: Rows) -> Array:
    """S_ik = sum_j n_ij phi_ijk with phi_ijk ~ A_ik B_jk, eq. (8), (n, K)."""
    A: Array = np.exp(rows @ params.log_centers)
    return A * X.mixture(A, params.topics).rows


def projections(X: Block, params: FoldInParams, rows: Rows) -> Array:
    """S_ik / n_i, (n, K); the mean center for empty rows."""
    S = expected_topics(X, params, rows)
    return normalise(S, axis=1, otherwise=params.weights @ params.centers)


def collapsed_bounds(X: Block, params: FoldInParams) -> Array:
    """log sum_c exp(E[log pi_c]) prod_j (sum_k B_jk exp(E[log theta_ck]))^n_ij, (n,), nats."""
    centers = np.exp(params.log_centers)
    _, evidence, _, shared = marginal_posteriors(X, params.topics, centers, params.log_weights, 1.0)
    return evidence + X.dot(shared[:, None])[:, 0]


def cluster_terms(params: FoldInParams, rows: Rows) -> Array:
    """Terms of eq. (5): sum_c psi_ic (E[log pi_c] - log psi_ic), (n,), nats."""
    return sums(rows * (params.log_weights - log(rows)), axis=1).astype(np.float64)
