"""Trees of clusters whose leaves split: the cluster-abstraction model while its tree grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from skcooc.equations.memberships import posteriors, relative
from skcooc.equations.row_clusters import RowClusters
from skcooc.protocol import Annealable, Array, Block, Clustering, Counts, Need, Rows
from skcooc.simplex import LEAST, log, normalise, sums


class Params(NamedTuple):
    """Parameters of a tree with K leaves; a node is above the clusters that give it a weight."""

    nodes: Array  # (M, V): P(y_j given v); columns sum to one
    paths: Array  # (K, V): tau, P(v given c); rows sum to one, zero off the path
    weights: Array  # (K,): P(c)


class Statistics(NamedTuple):
    """Sums over the observations of a block."""

    nodes: Array  # (M, V): expected counts of columns at nodes
    paths: Array  # (K, V): expected observations of clusters at nodes
    free_energy: float  # -(1/beta) sum_i log sum_c P(c) exp(beta * log-likelihood), nats


@dataclass(frozen=True)
class SplittingTrees(Clustering[Params, Statistics], Annealable[Params, Statistics]):
    """Equations of the cluster-abstraction model, memo, eqs. (51)-(57), for a tree that grows.

    At inverse temperature beta P(c given x_i) ~ P(c) [prod_j P_c(y_j)^n_ij]^beta with P_c(y) =
    sum_v tau_cv q_yv, as in ``Abstractions``. A leaf that is to split gets two children, each of
    which takes half of its weight; leaves that come together again are one, and so are all nodes
    that are above the same clusters.
    """

    n_clusters: int

    needs: ClassVar[Mapping[Need, str]] = {}

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """The root alone, which is the unigram."""
        unigram = (X.column_sums / X.column_sums.sum())[:, None].astype(X.dtype)
        one = np.ones((1, 1), dtype=X.dtype)
        return Params(unigram, one, one[0]), np.ones((X.shape[0], 1), dtype=X.dtype)

    def mixed(self, params: Params, shares: Array) -> Params:
        """Parameters of clusters that are made of these, without nodes that have become one."""
        paths = (shares.T @ params.paths) / sums(shares, axis=0)[:, None]
        above, group = np.unique(paths > 0, axis=1, return_inverse=True)
        join = (group[:, None] == np.flatnonzero(above.any(axis=0))).astype(paths.dtype)
        mass = sums(paths, axis=0)
        nodes = normalise((params.nodes * mass) @ join, axis=0, otherwise=0.0)
        weights = np.full(len(paths), 1 / len(paths), dtype=paths.dtype)
        return Params(nodes, paths @ join, weights)

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        """A child for the last node of every cluster, with noise of this relative size."""
        paths, K = params.paths, len(params.paths)
        n_below = np.where(paths > 0, (paths > 0).sum(axis=0), K + 1)
        last = n_below.argmin(axis=1)
        noise = rng.uniform(1 - amount, 1 + amount, (len(params.nodes), K))
        children = params.nodes[:, last] * noise.astype(params.nodes.dtype)
        children = normalise(children, axis=0, otherwise=0.0)
        half = paths.copy()
        half[np.arange(K), last] /= 2
        own = np.diag(half[np.arange(K), last])
        return Params(np.hstack([params.nodes, children]), np.hstack([half, own]), params.weights)

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Posteriors of leaves and nodes: memo, eqs. (53), (55)."""
        q, paths = params.nodes, params.paths
        P = q @ paths.T
        # Relative to a single cluster, so that differences of clusters do not drown in rounding.
        shared = log(P @ params.weights)[:, None]
        scores = X.dot(X.rowwise(relative, P, shared))
        factors = np.full((X.shape[0], 1), beta, dtype=X.dtype)
        I, evidence = posteriors(X, scores, factors, params.weights, hard=False)
        energy = np.sum(X.row_weights * evidence) / beta + np.sum(X.column_sums * shared[:, 0])
        ratio = X.tdot(I) / np.maximum(P, LEAST)
        return I, Statistics(q * (ratio @ paths), paths * (ratio.T @ q), -float(energy))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """Nodes and their weights on the paths: memo, eqs. (56), (57)."""
        nodes = normalise(stats.nodes, axis=0, otherwise=params.nodes)
        paths = normalise(stats.paths, axis=1, otherwise=params.paths)
        return Params(nodes, paths, params.weights)

    def log_prior(self, params: Params, beta: float) -> float:
        """None: maximum likelihood."""
        return 0.0

    def restrict(self, params: Params, columns: Array) -> Params:
        """The nodes at these columns alone, not normalised anew."""
        return params._replace(nodes=params.nodes[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(c given x) and P(y given c)."""
        return rows, params.nodes @ params.paths.T

    def object_size(self, X: Counts) -> float:
        """Mean number of observations of the rows that have any."""
        return RowClusters(self.n_clusters).object_size(X)

    def critical_beta(self, X: Counts) -> float:
        """Where the root splits: with the covariance of rows that clusters without a tree have."""
        return RowClusters(self.n_clusters).critical_beta(X)
