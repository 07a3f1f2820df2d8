"""Clusters of rows: the equations of the asymmetric clustering model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from skcooc.equations.memberships import (
    critical_beta,
    posteriors,
    reciprocals,
    relative,
    worst_explained,
)
from skcooc.equations.seeds import n_objects, seeds, weighted
from skcooc.equations.starts import best_start, soft_start
from skcooc.protocol import Array, Block, Counts, Joinable, Need, OnlineModel, Rows
from skcooc.simplex import diluted, log, normalise, sums


class Params(NamedTuple):
    """Parameters of clusters of rows."""

    components: Array  # (M, K): P(y_j given c); columns sum to one
    weights: Array  # (K,): P(c)
    unit: Array  # (): observations that a row counts for where all count the same


class Statistics(NamedTuple):
    """Sums over the rows of a block."""

    components: Array  # (M, K): sum_i I_ic n_ij
    sizes: Array  # (K,): sum_i I_ic
    spare: Array  # (M,): counts of a badly explained row, for a cluster that is empty
    observations: float  # sum_ij n_ij
    rows: float  # how many of them have observations
    free_energy: float  # -(1/beta) sum_i log sum_c P(c) prod_j P(y_j given c)^(beta n_ij), nats


@dataclass(frozen=True)
class RowClusters(OnlineModel[Params, Statistics], Joinable[Params, Statistics]):
    """Equations of the asymmetric clustering model (ACM): memo, eqs. (20)-(31).

    All observations of a row come from one cluster. At inverse temperature beta

        P(c given x_i) = I_ic ~ rho_c exp(beta sum_j n_ij log q_jc),   q_jc ~ sum_i I_ic n_ij,

    and the hard model takes the largest term alone: eqs. (23), (24). Where objects have equal
    weights, n_ij is replaced by n_ij / n_i times the mean number of observations of a row:
    distributional clustering, eq. (25). beta times this mean is then the exponent of a divergence,
    which may be as large as it likes; of rows that sum to one it is beta.
    """

    n_clusters: int
    hard: bool = False
    object_weights: Literal["counts", "equal"] = "counts"
    proportions: Literal["uniform", "estimated"] = "uniform"

    needs: ClassVar[Mapping[Need, str]] = {}

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """The best of short runs; a hard model begins with a few steps of the soft one."""
        if self.hard:
            soft = soft_start(replace(self, hard=False), X, rng)
            return soft.params, soft.rows
        return best_start(self, X, rng)

    def random(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Components that are noise."""
        n_columns, dtype = X.shape[1], X.dtype
        noise = rng.uniform(0.5, 1.5, (n_columns, self.n_clusters)).astype(dtype)
        weights = np.full(self.n_clusters, 1 / self.n_clusters, dtype=dtype)
        rows = np.broadcast_to(weights, (X.shape[0], len(weights)))
        unit = np.array(self.object_size(X), dtype=dtype)
        return Params(normalise(noise, axis=0, otherwise=0.0), weights, unit), rows

    def seeded(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Components that begin with rows."""
        params, rows = self.random(X, rng)
        objects, _, numbers = X.draw(n_objects(self.n_clusters), int(rng.integers(2**63)))
        totals = X.column_sums
        if self.object_weights == "equal":
            sizes = objects.sum(axis=1, dtype=np.float64)
            numbers = numbers * float(params.unit) * reciprocals(sizes)
            factors = X.by_row(partial(self._factors_and_sums, unit=params.unit))
            totals = X.total(_weighted, factors)[:, 0]
        if not np.isfinite(totals).all():  # of float32; a fit that ends like this is refused
            return params, rows
        objects, overall = weighted(objects, numbers), totals / totals.sum()
        components = seeds(objects, overall, self.n_clusters, rng).astype(X.dtype)
        return params._replace(components=normalise(components, axis=0, otherwise=0.0)), rows

    def mixed(self, params: Params, shares: Array) -> Params:
        """Parameters of clusters that are made of these."""
        weights = params.weights @ shares
        if self.proportions == "uniform":
            weights = np.full_like(weights, 1 / len(weights))
        weighted = (params.components * params.weights) @ shares
        unweighted = params.components @ shares / sums(shares, axis=0)
        return Params(normalise(weighted, axis=0, otherwise=unweighted), weights, params.unit)

    def joined(self, params: Params, mass: Array, shares: Array) -> tuple[Self, Params]:
        """Equations and parameters of clusters that are sums of these, by their mass, (K,)."""
        components = self.mixed(params._replace(weights=mass), shares).components
        weights = params.weights @ shares
        new = replace(self, n_clusters=shares.shape[1])
        return new, params._replace(components=components, weights=weights / weights.sum())

    def overlaps(self, X: Counts, params: Params, rows: Rows) -> Array:
        """By the counts of their columns."""
        counted = X.by_row(partial(self._counting, unit=params.unit), rows)
        roots = np.sqrt(X.tdot(counted))
        return roots.T @ roots

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        """Parameters with noise of this relative size."""
        noise = rng.uniform(1 - amount, 1 + amount, params.components.shape)
        noisy = params.components * noise.astype(params.components.dtype)
        return params._replace(components=normalise(noisy, axis=0, otherwise=0.0))

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Posteriors of the rows: memo, eqs. (23), (29)."""
        return self.explained(X, params, self.scores(X, params), beta)

    def scores(self, X: Block, params: Params) -> Array:
        """Log-likelihood of each row in each cluster, (n, K), less that in a single one.

        So that differences of clusters do not drown in rounding.
        """
        return X.dot(X.rowwise(relative, params.components, _shared(params)))

    def explained(
        self, X: Block, params: Params, scores: Array, beta: float
    ) -> tuple[Rows, Statistics]:
        """The E-step that these scores lead to, which are overwritten."""
        beta = 1.0 if self.hard else beta
        factors, weights, shared = self._factors(X, params.unit), X.row_weights, _shared(params)
        rows, evidence = posteriors(X, scores, beta * factors, params.weights, self.hard)
        spare = np.zeros(X.shape[1], dtype=X.dtype)
        if self.hard:
            rows[X.row_sums == 0] = params.weights
            evidence[X.row_sums == 0] = 0
            if not (weights * X.row_sums @ rows).all():
                spare = _spare(X, evidence, factors, shared)
        counted = X.column_sums if self.object_weights == "counts" else X.tdot(factors)[:, 0]
        energy = np.sum(weights * evidence) / beta + np.sum(counted * shared[:, 0])
        sizes = sums(rows * weights[:, None].astype(X.dtype), axis=0)
        expected = X.tdot(rows if self.object_weights == "counts" else rows * factors)
        observations, observed = _observed(X).tolist()
        return rows, Statistics(expected, sizes, spare, observations, observed, -float(energy))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """Centroids and proportions: memo, eqs. (24), (31). An empty cluster gets the spare row."""
        expected, weights = stats.components, params.weights
        empty = np.flatnonzero(sums(expected, axis=0) <= 0)[:1]
        if empty.size and stats.spare.any():
            expected = expected.copy()
            expected[:, empty[0]] = stats.spare
        components = normalise(expected, axis=0, otherwise=params.components)
        if self.proportions == "estimated":
            weights = stats.sizes / stats.sizes.sum()
        unit = np.array(stats.observations / stats.rows, dtype=params.unit.dtype)
        return Params(components, weights, unit)

    def log_prior(self, params: Params, beta: float) -> float:
        """None: maximum likelihood."""
        return 0.0

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every component is, in this share, the distribution."""
        return params._replace(components=diluted(params.components, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Centroids, and proportions that are estimated; the clusters of rows are hidden."""
        M, K = params.components.shape
        return K * (M - 1) + (K - 1 if self.proportions == "estimated" else 0)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(c given x) and P(y given c)."""
        return rows, params.components

    def mixing(self, params: Params) -> tuple[Array, Array]:
        """One mixture for each cluster, which is sure of it."""
        return params.weights, np.eye(len(params.weights), dtype=params.weights.dtype)

    def posteriors(self, params: Params, rows: Rows) -> Array:
        """P(c given object), of the rows."""
        return rows

    @property
    def largest_beta(self) -> float:
        """None of the exponent of a divergence, eq. (25), which does not grow with the object."""
        return 1.0 if self.object_weights == "counts" else np.inf

    def object_size(self, X: Counts) -> float:
        """Mean number of observations of the rows that have any."""
        observations, rows = X.total(_observed).tolist()
        return observations / rows if rows else 1.0

    def critical_beta(self, X: Counts) -> float:
        """The inverse temperature below which all clusters are the same."""
        unit = np.array(self.object_size(X), dtype=X.dtype)
        rows = X.by_row(partial(self._factors_and_sums, unit=unit))
        totals = X.total(_weighted, rows)[:, 0].astype(np.float64)
        return critical_beta(X, rows, np.sqrt(reciprocals(totals)), totals / totals.sum())

    def _factors_and_sums(self, X: Block, unit: Array) -> Array:
        """What the counts of each row are multiplied by, and their sum, (n, 2)."""
        return np.column_stack([self._factors(X, unit).astype(np.float64), X.row_sums])

    def _counting(self, X: Block, rows: Rows, unit: Array) -> Rows:
        return rows * self._factors(X, unit)

    def _factors(self, X: Block, unit: Array) -> Array:
        """What the counts of each row are multiplied by, (n, 1)."""
        if self.object_weights == "counts":
            return np.ones((X.shape[0], 1), dtype=X.dtype)
        return (unit * reciprocals(X.row_sums))[:, None].astype(X.dtype)


def _shared(params: Params) -> Array:
    """Logarithms of the probabilities of a single cluster, (M, 1)."""
    return log(params.components @ params.weights)[:, None]


def _observed(X: Block) -> Array:
    """How many observations there are, and how many rows have any."""
    weights = X.row_weights
    return np.array([np.sum(weights * X.row_sums), np.sum(weights * (X.row_sums > 0))])


def _weighted(X: Block, factors: Array) -> Array:
    """Sums of the columns, (M, 1), with rows multiplied by the first of their factors."""
    return X.tdot(np.ascontiguousarray(factors[:, :1]))


def _spare(X: Block, scores: Array, factors: Array, shared: Array) -> Array:
    """Counts of the row that is explained worst; zeros where none could be explained better."""
    own = X.n_log_n(1) - X.row_sums * log(X.row_sums) - X.dot(shared)[:, 0]
    worst = worst_explained((own * factors[:, 0] - scores) * (X.row_weights > 0))
    if worst is None:
        return np.zeros(X.shape[1], dtype=X.dtype)
    return X.tdot(np.eye(1, len(own), worst, dtype=X.dtype).T)[:, 0]
