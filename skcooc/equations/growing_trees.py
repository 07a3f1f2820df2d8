"""Cluster-abstraction trees that grow by splitting clusters while annealing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.equations.memberships import perturbed, posteriors, relative_scores
from skcooc.equations.row_clusters import RowClusters
from skcooc.protocol import Array, Block, Clustering, Counts, Rows, Splittable
from skcooc.simplex import LEAST, normalise, sums


class Params(NamedTuple):
    """Parameters of a tree with K leaves; a node is above clusters with weight for it."""

    nodes: Array  # (M, V): P(y_j given v); columns sum to one
    paths: Array  # (K, V): tau, P(v given c); rows sum to one, zero off the path
    weights: Array  # (K,): P(c)


class Statistics(NamedTuple):
    nodes: Array  # (M, V): expected counts of columns at nodes
    paths: Array  # (K, V): expected tokens of clusters at nodes
    free_energy: float  # -(1/beta) sum_i log sum_c P(c) exp(beta * log-likelihood), nats


@dataclass(frozen=True)
class SplittingTrees(Clustering[Params, Statistics], Splittable[Params, Statistics]):
    """Equations of a growing abstraction tree.

    Hofmann & Puzicha (1998), eqs. (51)-(57), with the E-step of ``Abstractions``. A leaf that
    splits gets two children with half of its weight each; leaves that coincide again are merged,
    and so are all nodes above the same clusters.
    """

    n_clusters: int

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        unigram = (X.column_sums / X.column_sums.sum())[:, None].astype(X.dtype)
        paths = np.ones((1, 1), dtype=X.dtype)
        return Params(unigram, paths, paths[0]), np.ones((X.shape[0], 1), dtype=X.dtype)

    def mix_components(self, params: Params, shares: Array) -> Params:
        paths = (shares.T @ params.paths) / sums(shares, axis=0)[:, None]
        above, group = np.unique(paths > 0, axis=1, return_inverse=True)
        join = (group[:, None] == np.flatnonzero(above.any(axis=0))).astype(paths.dtype)
        mass = sums(paths, axis=0)
        nodes = normalise((params.nodes * mass) @ join, axis=0, otherwise=0.0)
        weights = np.full(len(paths), 1 / len(paths), dtype=paths.dtype)
        return Params(nodes, paths @ join, weights)

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        paths = params.paths.copy()
        leaves = np.arange(len(paths))
        n_below = np.where(paths > 0, (paths > 0).sum(axis=0), len(paths) + 1)
        last = n_below.argmin(axis=1)
        children = np.hstack([params.nodes, perturbed(params.nodes[:, last], rng, amount)])
        paths[leaves, last] /= 2
        return Params(children, np.hstack([paths, np.diag(paths[leaves, last])]), params.weights)

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        # Eqs. (53), (55)
        q = params.nodes
        paths = params.paths
        P = q @ paths.T
        scores, shared = relative_scores(X, P, params.weights)
        factors = np.full((X.shape[0], 1), beta, dtype=X.dtype)
        I, evidence = posteriors(X, scores, factors, params.weights, hard=False)
        energy = np.sum(X.row_weights * evidence) / beta + np.sum(X.column_sums * shared[:, 0])
        ratio = X.tdot(I) / np.maximum(P, LEAST)
        return I, Statistics(q * (ratio @ paths), paths * (ratio.T @ q), -float(energy))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (56), (57)
        nodes = normalise(stats.nodes, axis=0, otherwise=params.nodes)
        paths = normalise(stats.paths, axis=1, otherwise=params.paths)
        return Params(nodes, paths, params.weights)

    def restrict(self, params: Params, columns: Array) -> Params:
        return params._replace(nodes=params.nodes[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        return rows, params.nodes @ params.paths.T

    def object_size(self, X: Counts) -> float:
        return RowClusters(self.n_clusters).object_size(X)

    def critical_beta(self, X: Counts) -> float:
        return RowClusters(self.n_clusters).critical_beta(X)
