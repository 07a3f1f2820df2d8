"""Clusters of rows in the space of topics: the equations of probabilistic clustering-projection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from skcooc.aspect import Aspects
from skcooc.clustering import soft_start
from skcooc.dirichlet import best_prior, best_total, divergence, expected_log
from skcooc.em import EM
from skcooc.em.schedules import burn_in
from skcooc.protocol import Array, Counts, Rows
from skcooc.row_clusters import RowClusters
from skcooc.simplex import log, normalise, softmax, sums

# The aspect model that is the start, and the rounds in which every row is a cluster of its own.
START_BETA, START_ITERATIONS, START_TOL, START_RELAXATION = 0.85, 60, 1e-5, 1.8
OWN_ROUNDS = 30
LEAST_SIZE = 1e-9  # of a row: a cluster with less has died
CHUNK = 256  # rows whose posteriors are in memory at a time


class Params(NamedTuple):
    """Parameters of the posterior q and of its priors; C counts clusters that have died, too."""

    topics: Array  # (M, K): P(y_j given z_k); columns sum to one
    counts: Array  # (C, K): gamma - lambda, expected observations, times beta
    sizes: Array  # (C,): eta - alpha / C, expected rows; zero where a cluster has died
    alpha: Array  # (): the prior of the weights of clusters is Dir(alpha / C, ...)
    lambda_: Array  # (K,): the prior of every center is Dir(lambda)
    beta: Array  # (): inverse temperature of this posterior
    weights: Array  # (K,): the state of a row without observations, which is zero


class Statistics(NamedTuple):
    """Sums over the rows of a block."""

    topics: Array  # (M, K): sum_i n_ij phi_ijk
    centers: Array  # (C, K): sum_i psi_ic S_ik
    sizes: Array  # (C,): sum_i psi_ic
    free_energy: float  # the part of -bound / beta that concerns the rows, nats


class Clusters(NamedTuple):
    """What the rows see of the clusters that are alive."""

    alive: Array  # (c,): their numbers
    log_weights: Array  # (c,): E[log pi_c]
    log_centers: Array  # (c, K): E[log theta_ck], relative to the largest of each topic
    largest: Array  # (K,): the largest of each topic


@dataclass(frozen=True)
class Projections:
    """Equations of probabilistic clustering-projection (PCP): eqs. (4)-(9) of its authors.

    A row belongs to one of C clusters, a cluster has a center theta_c, which is a distribution over
    K topics, and every observation comes from a topic that is chosen by the center. Centers and
    weights of clusters have Dirichlet priors. The posterior is approximated by a product, q(pi)
    q(theta) prod q(c_i) prod q(z_ij); with S_ik = sum_j n_ij phi_ijk, the projection of a row, at
    inverse temperature beta

        psi_ic ~ exp(E[log pi_c] + beta sum_k S_ik E[log theta_ck])                    (6)
        gamma_ck = lambda_k + beta sum_i psi_ic S_ik,  eta_c = alpha / C + sum_i psi_ic  (7)
        phi_ijk ~ (B_jk exp(sum_c psi_ic E[log theta_ck]))^power                       (8)
        B_jk ~ sum_i n_ij phi_ijk + topic_prior                                        (9)

    where the power is 1, or beta where ``tempering="joint"``. All raise one bound, eq. (5), in
    which the log-likelihood has the factor beta:

        beta E[log P(y, z given c, theta)] + (beta / power) H(z) + H(c) + E[log P(c given pi)]
        - KL(q(pi), q(theta) || priors) + beta topic_prior sum log B.

    The free energy is -bound / beta; with beta = 1 it is the bound of the authors. phi is the same
    for equal columns of a row, so that its sums come from the product which aspects need. The state
    of a row is S. psi is formed for a few rows at a time: nothing has the size N x C. Rows without
    observations belong to no cluster.
    """

    n_topics: int
    n_clusters: int | None = None
    alpha: float = 1.0
    lambda_: float = 0.3
    topic_prior: float = 0.0
    update_priors: bool = False
    tempering: Literal["clusters", "joint"] = "clusters"

    def start(
        self, blocks: Sequence[Counts], rng: np.random.Generator
    ) -> tuple[Params, list[Rows]]:
        """Topics from an aspect model, adapted to rows that are clusters of their own.

        These are the clusters where their number is not given; else an asymmetric clustering is.
        """
        dtype = blocks[0].dtype
        aspects = EM(burn_in(START_BETA, START_ITERATIONS), START_TOL, START_RELAXATION)
        fit = aspects.fit(Aspects(self.n_topics), blocks, rng)
        S = [A * X.row_sums[:, None].astype(dtype) for X, A in zip(blocks, fit.rows, strict=True)]
        topics, S = self._own_centers(blocks, fit.params.components, S)
        weights = [_row_weights(X) for X in blocks]
        if self.n_clusters is None:
            sizes = np.concatenate(weights).astype(dtype)
            counts = np.concatenate(S) * sizes[:, None]
        else:
            psi = soft_start(RowClusters(self.n_clusters), blocks, rng).rows
            psi = [I * w[:, None].astype(dtype) for I, w in zip(psi, weights, strict=True)]
            sizes = np.sum([sums(I, axis=0) for I in psi], axis=0)
            counts = np.sum([I.T @ s for I, s in zip(psi, S, strict=True)], axis=0)
        alpha, beta = (np.array(value, dtype=dtype) for value in (self.alpha, 1.0))
        lambda_ = np.full(self.n_topics, self.lambda_, dtype=dtype)
        return Params(topics, counts, sizes, alpha, lambda_, beta, np.zeros_like(lambda_)), S

    def expect(self, X: Counts, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Memberships and topics of the rows, in the order psi, phi, psi: eqs. (6), (8)."""
        clusters, weights = self.clusters(params), _row_weights(X)
        log_A = self._mixed(X, clusters.log_centers, clusters, rows, beta)
        power = beta if self.tempering == "joint" else 1.0
        A, B = np.exp(power * (log_A + clusters.largest)), params.topics**power
        mixture = X.mixture(A, B)
        S = A * mixture.rows
        centers, sizes, evidence = self._collected(X, weights, clusters, S, beta)
        expected = np.sum(weights[:, None] * S * log_A, dtype=np.float64)
        bound = evidence / beta + mixture.log_likelihood / power - float(expected)
        everywhere = np.zeros_like(params.counts), np.zeros_like(params.sizes)
        for whole, part in zip(everywhere, (centers, sizes), strict=True):
            whole[clusters.alive] = part
        return S, Statistics(B * mixture.columns, *everywhere, -bound)

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

    def restrict(self, params: Params, columns: Array) -> Params:
        """The topics at these columns alone, not normalised anew."""
        return params._replace(topics=params.topics[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) = sum_c psi_ic E[theta_c] and P(y given z)."""
        _, centers = expected_clusters(params)
        mixtures = np.empty_like(rows)
        for chunk, psi in self.memberships(params, rows):
            mixtures[chunk] = psi @ centers
        return mixtures, params.topics

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        """P(c given x) of the clusters that are alive, a few rows at a time."""
        clusters, (weights, _) = self.clusters(params), expected_clusters(params)
        for chunk in _chunks(0, len(rows)):
            psi, _ = posteriors(rows[chunk], clusters, float(params.beta))
            psi[~rows[chunk].any(axis=1)] = weights
            yield chunk, psi

    def clusters(self, params: Params) -> Clusters:
        """What the rows see of the clusters that are alive."""
        alive, alpha = np.flatnonzero(params.sizes), float(params.alpha)
        entries = np.array(alpha / len(params.sizes), dtype=params.sizes.dtype)
        log_weights = expected_log(params.sizes[None, alive], entries, alpha)[0]
        total = float(params.lambda_.sum())
        log_centers = expected_log(params.counts[alive], params.lambda_, total)
        largest = log_centers.max(axis=0)
        return Clusters(alive, log_weights, log_centers - largest, largest)

    def _own_centers(
        self, blocks: Sequence[Counts], topics: Array, S: list[Array]
    ) -> tuple[Array, list[Array]]:
        """Rounds in which every row is a cluster of its own, so that its center follows from S."""
        lambda_ = np.full(self.n_topics, self.lambda_, dtype=topics.dtype)
        for _ in range(OWN_ROUNDS):
            A = [np.exp(expected_log(s, lambda_, float(lambda_.sum()))) for s in S]
            mixtures = [X.mixture(a, topics) for X, a in zip(blocks, A, strict=True)]
            S = [a * mixture.rows for a, mixture in zip(A, mixtures, strict=True)]
            expected = topics * np.sum([mixture.columns for mixture in mixtures], axis=0)
            expected += self.topic_prior * expected.any(axis=1, keepdims=True)
            topics = normalise(expected, axis=0, otherwise=topics)
        return topics, S

    def _mixed(
        self, X: Counts, centers: Array, clusters: Clusters, rows: Rows, beta: float
    ) -> Array:
        """psi @ centers, (n, K)."""
        mixed = np.empty((X.shape[0], centers.shape[1]), dtype=X.dtype)

        def part(start: int, stop: int) -> None:
            for chunk in _chunks(start, stop):
                psi, _ = posteriors(rows[chunk], clusters, beta)
                mixed[chunk] = psi @ centers

        X.parts(part)
        return mixed

    def _collected(
        self, X: Counts, weights: Array, clusters: Clusters, S: Array, beta: float
    ) -> tuple[Array, Array, float]:
        """psi.T @ S, the sums of psi, and the evidence of the rows."""

        def part(start: int, stop: int) -> tuple[Array, Array, float]:
            centers, sizes = (
                np.zeros_like(clusters.log_centers),
                np.zeros_like(clusters.log_weights),
            )
            total = 0.0
            for chunk in _chunks(start, stop):
                psi, evidence = posteriors(S[chunk], clusters, beta)
                total += float(np.sum(weights[chunk] * evidence))
                psi *= weights[chunk, None].astype(psi.dtype)
                centers += psi.T @ S[chunk]
                sizes += sums(psi, axis=0)
            return centers, sizes, total

        parts = X.parts(part)
        return tuple(sum(these[1:], these[0]) for these in zip(*parts, strict=True))


def posteriors(S: Array, clusters: Clusters, beta: float) -> tuple[Array, Array]:
    """psi, eq. (6), and the logarithms of what it is divided by, (n,) in float64.

    The centers are relative to the largest ones, so that differences do not drown in rounding.
    """
    scores = (beta * S) @ clusters.log_centers.T
    scores += clusters.log_weights
    log_sums = np.empty((len(S), 1), dtype=scores.dtype)
    softmax(scores, log_sums)
    return scores, log_sums[:, 0].astype(np.float64)


def expected_clusters(params: Params) -> tuple[Array, Array]:
    """E[pi_c], which sum to one, and E[theta_c] of the clusters that are alive."""
    alive = params.sizes > 0
    weights = params.sizes[alive] + params.alpha / len(alive)
    centers = params.counts[alive] + params.lambda_
    return weights / weights.sum(), normalise(centers, axis=1, otherwise=0.0)


def _row_weights(X: Counts) -> Array:
    """How many rows each row stands for; none where it has no observations."""
    return X.row_weights * (X.row_sums > 0)


def _chunks(start: int, stop: int) -> Iterator[slice]:
    for first in range(start, stop, CHUNK):
        yield slice(first, min(first + CHUNK, stop))
