"""The cluster-abstraction model: a tree of clusters, with topics at all nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from skcooc.equations.memberships import posteriors, relative_scores, uniform_mixtures
from skcooc.equations.row_clusters import RowClusters
from skcooc.hierarchy import Tree
from skcooc.loops.paths import path_mixture, path_scores
from skcooc.protocol import Array, Block, Capability, Clustering, Counts, OnlineModel, Rows
from skcooc.simplex import LEAST, mix_with, normalise, sums

Abstraction = Literal["constant", "cluster", "row"]

UNIGRAM_SHARE = 1e-2  # share of the unigram in initial nodes
FIRST_ITERATIONS = 20  # of the stage with equal weights of all abstraction levels


class Params(NamedTuple):
    """Parameters of a tree; a slot is a node on the path to a leaf."""

    nodes: Array  # (M, V): P(y_j given v); columns sum to one
    abstraction: Array  # (S,): tau, P(v given c); the slots of a leaf sum to one
    proportions: Array  # (K,): P(c)
    weights: Array  # (K,): P(c); or (S,): P(c, v), if rows have their own weights


class Statistics(NamedTuple):
    nodes: Array  # (M, V): expected counts of columns at nodes
    abstraction: Array  # (S,): expected tokens at slots
    sizes: Array  # (K,): sum_i I_ic
    free_energy: float  # -(1/beta) sum_i log sum_c P(c) exp(power * log-likelihood), nats


@dataclass(frozen=True, eq=False)
class Abstractions(OnlineModel[Params, Statistics], Clustering[Params, Statistics]):
    """Equations of the cluster-abstraction model.

    Hofmann & Puzicha (1998), eqs. (51)-(58). A row belongs to the cluster at one leaf, and each of
    its tokens comes from a node on the path from the root to that leaf. With P_ic(y) = sum_v tau_v
    q_yv over the path, at inverse temperature beta

        path:   P(c given x_i) ~ rho_c [prod_j P_ic(y_j)^n_ij]^beta,   P(v given y, c) ~ tau_v q_yv
        joint:  P(c given x_i) ~ rho_c prod_j [sum_v tau_v q_jv^beta]^n_ij,
                P(v given y, c) ~ tau_v q_yv^beta                      (eq. 65)

    Vertical weights tau are equal for all nodes ("constant"), those of a leaf ("cluster"), or those
    of a leaf and a row ("row", eq. (58)). The state of a row is P(c given x_i), or, with
    "row", P(c, v given x_i) over the slots. The hard model takes the leaf with the largest
    likelihood, as in eq. (23); the nodes of tokens are soft in both.
    """

    tree: Tree
    abstraction: Abstraction = "cluster"
    tempering: Literal["path", "joint"] = "path"
    proportions: Literal["uniform", "estimated"] = "uniform"
    row_iter: int = 10
    hard: bool = False

    column_statistics: ClassVar[tuple[str, ...]] = ("nodes",)

    @property
    def needs(self) -> Mapping[Capability, str]:
        if self.abstraction != "row":
            return {}
        reason = "abstraction='row' keeps weights of every row; set abstraction='cluster'"
        return {"paths": reason, "row states": reason}

    @property
    def stages(self) -> list[tuple[Abstractions, int | None]]:
        if self.abstraction == "constant":
            return [(self, None)]
        first = replace(self, abstraction="constant"), FIRST_ITERATIONS
        second = replace(self, abstraction="cluster"), None
        third = replace(self, abstraction="row"), self.row_iter
        return [first, second] if self.abstraction == "cluster" else [first, second, third]

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Return nodes near the unigram."""
        unigram = (X.column_sums / X.column_sums.sum())[:, None]
        nodes = np.repeat(unigram, self.tree.n_nodes, axis=1)
        return self.from_nodes(X, nodes, self.noise(X, rng))

    def noise(self, X: Counts, rng: np.random.Generator) -> Array:
        """Return factors of nodes, (M, V), which tell them apart."""
        return rng.uniform(0.5, 1.5, (X.shape[1], self.tree.n_nodes)).astype(X.dtype)

    def from_nodes(self, X: Counts, nodes: Array, noise: Array) -> tuple[Params, Rows]:
        """Return parameters with these nodes (M, V) and noise."""
        # With a little of the unigram, so that no column is impossible.
        unigram = (X.column_sums / X.column_sums.sum())[:, None]
        distributions = normalise(nodes, axis=0, otherwise=unigram)
        mixed = ((1 - UNIGRAM_SHARE) * distributions + UNIGRAM_SHARE * unigram).astype(X.dtype)
        indptr, leaves, _ = self.tree.slots
        tau = (1 / np.diff(indptr))[leaves].astype(X.dtype)
        rho, rows = uniform_mixtures(X, len(indptr) - 1)
        return Params(normalise(noise * mixed, axis=0, otherwise=0.0), tau, rho, rho), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        # Eqs. (53), (55)
        beta = 1.0 if self.hard else beta
        if self.abstraction == "row":
            return self._expect_objects(X, params, rows, beta)
        leaves = self.tree.slots.leaves
        q = self._tempered(X, params.nodes, beta)
        paths = self._paths(params.abstraction)
        P = (paths @ q.T).T
        scores, shared = relative_scores(X, P, params.proportions)
        I, energy = self._leaves(X, scores, params, beta)
        energy -= self._power(beta) / beta * float(np.sum(X.column_sums * shared[:, 0]))
        ratio = X.tdot(I) / np.maximum(P, LEAST)
        expected = q * (ratio @ paths)
        on_paths = (paths.toarray() * (ratio.T @ q))[leaves, self.tree.slots.nodes]
        sizes = sums(I * X.row_weights[:, None].astype(X.dtype), axis=0)
        return I, Statistics(expected, on_paths, sizes, energy)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (56)-(58). A node without tokens becomes the unigram: noise would attract rows.
        total = stats.nodes.sum(axis=1, keepdims=True)
        unigram = normalise(total, axis=0, otherwise=0.0)
        nodes = normalise(stats.nodes, axis=0, otherwise=unigram)
        tau = params.abstraction
        rho = params.proportions
        if self.abstraction != "constant":
            tau = self._within(stats.abstraction[None], tau)[0]
        if self.proportions == "estimated":
            rho = stats.sizes / stats.sizes.sum()
        weights = rho[self.tree.slots.leaves] * tau if self.abstraction == "row" else rho
        return Params(nodes, tau, rho, weights)

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        return params._replace(nodes=mix_with(params.nodes, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        M, V = params.nodes.shape
        K = len(params.proportions)
        n_weights = {"constant": 0, "cluster": 1, "row": n_rows}[self.abstraction]
        free = V * (M - 1) + n_weights * (len(params.abstraction) - K)
        return free + (K - 1 if self.proportions == "estimated" else 0)

    def restrict(self, params: Params, columns: Array) -> Params:
        return params._replace(nodes=params.nodes[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        if not self._has_slots(rows):
            return rows @ self._paths(params.abstraction), params.nodes
        return _gathered(rows, self.tree.slots.nodes, self.tree.n_nodes), params.nodes

    def mixture_prior(self, params: Params) -> tuple[Array, Array]:
        return params.proportions, self._paths(params.abstraction).toarray()

    def leaves(self, rows: Rows) -> Array:
        """P(c given x), (n, K)."""
        if not self._has_slots(rows):
            return rows
        return _gathered(rows, self.tree.slots.leaves, len(self.tree.leaves))

    def object_size(self, X: Counts) -> float:
        return RowClusters(len(self.tree.leaves)).object_size(X)

    def critical_beta(self, X: Counts) -> float:
        return RowClusters(len(self.tree.leaves)).critical_beta(X)

    def _expect_objects(
        self, X: Block, params: Params, rows: Rows, beta: float
    ) -> tuple[Rows, Statistics]:
        indptr, leaves, nodes = self.tree.slots
        tau = np.tile(params.abstraction, (X.shape[0], 1))
        if self._has_slots(rows):
            tau = np.where(X.row_sums[:, None] > 0, self._within(rows, tau), tau)
        q = self._tempered(X, params.nodes, beta)
        I, energy = self._leaves(X, path_scores(X, tau, q, indptr, nodes), params, beta)
        of_slots, of_nodes = path_mixture(X, tau, q, indptr, nodes, I)
        weights = X.row_weights[:, None].astype(X.dtype)
        on_paths = sums(of_slots * (I * weights)[:, leaves], axis=0)
        rows = I[:, leaves] * self._within(of_slots, tau)
        return rows, Statistics(of_nodes, on_paths, sums(I * weights, axis=0), energy)

    def _leaves(self, X: Block, scores: Array, params: Params, beta: float) -> tuple[Array, float]:
        """Posteriors of the leaves, and the block's part of the free energy."""
        factors = np.full((X.shape[0], 1), self._power(beta), dtype=X.dtype)
        I, evidence = posteriors(X, scores, factors, params.proportions, self.hard)
        return I, -float(np.sum(X.row_weights * evidence)) / beta

    def _power(self, beta: float) -> float:
        return beta if self.tempering == "path" else 1.0  # exponent of the likelihood of a leaf

    def _within(self, slots: Array, otherwise: Array) -> Array:
        """Slots divided by the sums of their leaves; ``otherwise`` if these are zero."""
        indptr, leaves, _ = self.tree.slots
        mass = np.add.reduceat(slots, indptr[:-1], axis=1)[:, leaves]
        return np.where(mass > LEAST, slots / np.maximum(mass, LEAST), otherwise)

    def _tempered(self, X: Block, nodes: Array, beta: float) -> Array:
        return nodes if self.tempering == "path" else X.power(nodes, beta)

    def _paths(self, slots: Array) -> Any:
        """Slots as a sparse matrix of leaves and nodes, (K, V)."""
        indptr, _, nodes = self.tree.slots
        return sp.csr_array((slots, nodes, indptr), shape=(len(indptr) - 1, self.tree.n_nodes))

    def _has_slots(self, rows: Rows) -> bool:
        """True if row states are over slots, False if over leaves."""
        return rows.shape[1] == len(self.tree.slots.nodes)


def _gathered(rows: Rows, places: Array, size: int) -> Array:
    """Sums of the slots, (n, S), that have the same place (S,) among so many, (n, size)."""
    S = rows.shape[1]
    return rows @ sp.csr_array((np.ones(S, rows.dtype), (np.arange(S), places)), shape=(S, size))
