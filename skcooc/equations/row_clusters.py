"""The asymmetric clustering model: clusters of rows, plain and leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from skcooc.equations.memberships import (
    PER_CLUSTER,
    ColumnDistributions,
    ObjectWeights,
    critical_beta,
    merged_components,
    perturbed,
    posteriors,
    random_distributions,
    reciprocals,
    relative_scores,
    row_factors,
    scaled_rows,
    seed_clusters,
    size_factors,
    total_weights,
    uniform_mixtures,
    unit_of,
    weight_unit,
    weighted_rows,
    worst_explained,
)
from skcooc.loops.left_out import left_out_rows
from skcooc.protocol import (
    Array,
    Block,
    Capability,
    Clustering,
    Counts,
    FoldIn,
    MergeableClusters,
    OnlineModel,
    Rows,
)
from skcooc.simplex import log, mix_with, normalise, sums

# Of leave-one-out clusters.
COMPONENT_PRIOR = 0.02  # pseudo-counts of a column in a cluster


class Params(NamedTuple):
    components: Array  # (M, K): P(y_j given c); columns sum to one
    weights: Array  # (K,): P(c)
    unit: Array  # (): see `RowClusters`


class Statistics(NamedTuple):
    components: Array  # (M, K): sum_i I_ic n_ij
    sizes: Array  # (K,): sum_i I_ic
    spare: Array  # (M,): counts of the row with the worst likelihood, for an empty cluster
    n_tokens: float  # sum_i n_i
    total: float  # sum_i n_i^power
    free_energy: float  # -(1/beta) sum_i log sum_c P(c) prod_j P(y_j given c)^(beta n_ij), nats


@dataclass(frozen=True)
class RowClusters(
    ColumnDistributions, OnlineModel[Params, Statistics], MergeableClusters[Params, Statistics]
):
    """Equations of the asymmetric clustering model, for rows.

    Hofmann & Puzicha (1998), eqs. (20)-(31). All tokens of a row come from one cluster. At inverse
    temperature beta

        P(c given x_i) = I_ic ~ rho_c exp(beta sum_j n_ij log q_jc),   q_jc ~ sum_i I_ic n_ij,

    and the hard model takes the largest term alone: eqs. (23), (24). If rows weigh n_i^power, n_ij
    is replaced by u n_i^(power - 1) n_ij, where u keeps the total number of tokens. The power is 1
    for "counts", 1/2 for "sqrt" and 0 for "equal": distributional clustering, eq. (25). There u is
    the mean number of tokens of a row, and beta u the exponent of a divergence, without limit.
    """

    n_clusters: int
    hard: bool = False
    object_weights: ObjectWeights = "counts"
    proportions: Literal["uniform", "estimated"] = "uniform"

    column_statistics: ClassVar[tuple[str, ...]] = ("components", "spare")

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        components = random_distributions((X.shape[1], self.n_clusters), X, rng)
        weights, rows = uniform_mixtures(X, self.n_clusters)
        return Params(components, weights, weight_unit(X, self.object_weights)), rows

    def seeded(self, X: Counts, rng: np.random.Generator, n_sampled: int) -> tuple[Params, Rows]:
        params, rows = self.start(X, rng)
        n_rows = max(n_sampled, PER_CLUSTER * self.n_clusters)
        objects, _, numbers = X.draw(n_rows, int(rng.integers(2**63)))
        totals = X.column_sums
        if self.object_weights != "counts":
            sizes = objects.sum(axis=1, dtype=np.float64)
            numbers = numbers * size_factors(sizes, self.object_weights, float(params.unit))
            factors = X.map_blocks(partial(self._factors_and_sums, unit=params.unit))
            totals = X.total(_weighted, factors)[:, 0]
        if not np.isfinite(totals).all():  # float32 overflow: the fit will be refused
            return params, rows
        objects = scaled_rows(objects, numbers)
        seeds = seed_clusters(objects, totals / totals.sum(), self.n_clusters, rng)
        components = seeds.astype(X.dtype)
        return params._replace(components=normalise(components, axis=0, otherwise=0.0)), rows

    def for_table(self, params: Params, X: Counts) -> Params:
        return params._replace(unit=weight_unit(X, self.object_weights))

    def mix_components(self, params: Params, shares: Array) -> Params:
        weights = params.weights @ shares
        if self.proportions == "uniform":
            weights = np.full_like(weights, 1 / len(weights))
        components = merged_components(params.components, params.weights, shares)
        return Params(components, weights, params.unit)

    def merge(self, params: Params, mass: Array, shares: Array) -> tuple[Self, Params]:
        """Equations and parameters of merged clusters: means weighted by their mass, (K,)."""
        components = merged_components(params.components, mass, shares)
        weights = params.weights @ shares
        merged = Params(components, weights / weights.sum(), params.unit)
        return replace(self, n_clusters=shares.shape[1]), merged

    def overlaps(self, X: Counts, params: Params, rows: Rows) -> Array:
        weigh = partial(weighted_rows, object_weights=self.object_weights, unit=params.unit)
        roots = np.sqrt(X.tdot(X.map_blocks(weigh, rows)))
        return roots.T @ roots

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        return params._replace(components=perturbed(params.components, rng, amount))

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        # Eqs. (23), (29)
        scores, shared = relative_scores(X, params.components, params.weights)
        return self.expect_from_scores(X, params, scores, shared, beta)

    def expect_from_scores(
        self, X: Block, params: Params, scores: Array, shared: Array, beta: float
    ) -> tuple[Rows, Statistics]:
        """Make the E-step for relative scores, which are overwritten."""
        beta = 1.0 if self.hard else beta
        weights = X.row_weights
        factors = row_factors(X, self.object_weights, params.unit)
        rows, evidence = posteriors(X, scores, beta * factors, params.weights, self.hard)
        spare = np.zeros(X.shape[1], dtype=X.dtype)
        if self.hard and not (weights * X.row_sums @ rows).all():
            spare = _spare(X, evidence, factors, shared)
        by_counts = self.object_weights == "counts"
        expected = X.tdot(rows if by_counts else rows * factors)
        counted = X.column_sums if by_counts else np.sum(expected, axis=1, dtype=np.float64)
        energy = np.sum(weights * evidence) / beta + np.sum(counted * shared[:, 0])
        sizes = sums(rows * weights[:, None].astype(X.dtype), axis=0)
        n_tokens, total = total_weights(X, self.object_weights).tolist()
        return rows, Statistics(expected, sizes, spare, n_tokens, total, -float(energy))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (24), (31); an empty cluster gets the spare row
        expected = stats.components
        weights = params.weights
        empty = np.flatnonzero(sums(expected, axis=0) <= 0)[:1]
        if empty.size and stats.spare.any():
            expected = expected.copy()
            expected[:, empty[0]] = stats.spare
        components = normalise(expected, axis=0, otherwise=params.components)
        if self.proportions == "estimated":
            weights = stats.sizes / stats.sizes.sum()
        return Params(components, weights, unit_of(stats.n_tokens, stats.total, params.unit.dtype))

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        return params._replace(components=mix_with(params.components, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        M, K = params.components.shape
        return K * (M - 1) + (K - 1 if self.proportions == "estimated" else 0)

    def mixture_prior(self, params: Params) -> tuple[Array, Array]:
        return params.weights, np.eye(len(params.weights), dtype=params.weights.dtype)

    def posteriors(self, params: Params, rows: Rows) -> Array:
        return rows

    @property
    def largest_beta(self) -> float:
        return np.inf if self.object_weights == "equal" else 1.0

    def object_size(self, X: Counts) -> float:
        n_tokens, rows = X.total(_observed).tolist()
        return n_tokens / rows if rows else 1.0

    def critical_beta(self, X: Counts) -> float:
        unit = weight_unit(X, self.object_weights)
        rows = X.map_blocks(partial(self._factors_and_sums, unit=unit))
        totals = X.total(_weighted, rows)[:, 0].astype(np.float64)
        return critical_beta(X, rows, np.sqrt(reciprocals(totals)), totals / totals.sum())

    def _factors_and_sums(self, X: Block, unit: Array) -> Array:
        factors = row_factors(X, self.object_weights, unit)
        return np.column_stack([factors.astype(np.float64), X.row_sums])


def _observed(X: Block) -> Array:
    """Number of tokens, and of non-empty rows, (2,)."""
    weights = X.row_weights
    return np.array([np.sum(weights * X.row_sums), np.sum(weights * (X.row_sums > 0))])


def _weighted(X: Block, factors: Array) -> Array:
    return X.tdot(np.ascontiguousarray(factors[:, :1]))


def _spare(X: Block, scores: Array, factors: Array, shared: Array) -> Array:
    """Counts (M,) of the row with the worst likelihood; zeros if no row would gain."""
    own_scores = X.n_log_n(1) - X.row_sums * log(X.row_sums) - X.dot(shared)[:, 0]
    worst = worst_explained((own_scores * factors[:, 0] - scores) * (X.row_weights > 0))
    if worst is None:
        return np.zeros(X.shape[1], dtype=X.dtype)
    return X.tdot(np.eye(1, len(scores), worst, dtype=X.dtype).T)[:, 0]


class PredictiveParams(NamedTuple):
    components: Array  # (M, K): P(y_j given c), with pseudo-counts
    weights: Array  # (K,): P(c)
    unit: Array  # (): see `RowClusters`
    totals: Array  # (K,): expected counts of each cluster, with pseudo-counts

    @property
    def plain(self) -> Params:
        return Params(*self[:3])


@dataclass(frozen=True)
class PredictiveClusters(ColumnDistributions, Clustering[PredictiveParams, Statistics]):
    """Leave-one-out (predictive) EM for clusters of rows.

    Hofmann & Puzicha (1998), section 5.2, with a row in the place of a token. In EM a row tends to
    keep its cluster, because its own counts are in the distribution to which it is compared. With
    r_ik the posterior of the row, C_jk = sum_i r_ik n_ij, T_k the sum of it, and eta pseudo-counts
    in each of M columns of a cluster, eq. (60) without the row's own counts is

        r_ik ~ rho_k [prod_j ((C_jk - r_ik n_ij + eta) / (T_k - r_ik n_i + M eta))^n_ij]^beta .

    The r_ik on the right, the state of the rows, is that of the previous iteration, from which C
    and T were computed. Scores differ from those of plain EM only in clusters to which the row
    belonged; ``skcooc.loops.left_out`` corrects these. A column that no other row of the cluster
    has keeps only its pseudo-counts, which must therefore be positive.

    The objective, -1/beta times the sum of the log-normalisers of the posteriors, may rise, as
    indirect effects are neglected (appendix B). EM ends when it has not fallen for ten iterations.
    """

    clusters: RowClusters
    component_prior: float = COMPONENT_PRIOR

    needs: ClassVar[Mapping[Capability, str]] = {
        "left_out": "leave_one_out=True subtracts each row's own counts, with all rows in memory; "
        "set leave_one_out=False"
    }

    patience: ClassVar[int] = 10

    @property
    def object_weights(self) -> ObjectWeights:
        return self.clusters.object_weights

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[PredictiveParams, Rows]:
        return self.after_a_step(X, *self.clusters.start(X, rng), 1.0)

    def after_a_step(
        self, X: Counts, params: Params, rows: Rows, beta: float
    ) -> tuple[PredictiveParams, Rows]:
        """Return parameters with the counts of an E-step of plain clusters."""
        rows, stats = X.expect(self.clusters, params, rows, beta)
        return self._with_prior(stats.components, params), rows

    def expect(
        self, X: Block, params: PredictiveParams, rows: Rows, beta: float
    ) -> tuple[Rows, Statistics]:
        B = params.components
        scores, shared = relative_scores(X, B, params.weights)
        scores += left_out_rows(X, rows, B, params.totals, self.component_prior)
        return self.clusters.expect_from_scores(X, params.plain, scores, shared, beta)

    def for_table(self, params: PredictiveParams, X: Counts) -> PredictiveParams:
        return params._replace(unit=weight_unit(X, self.object_weights))

    def maximize(
        self, stats: Statistics, params: PredictiveParams, beta: float
    ) -> PredictiveParams:
        plain = self.clusters.maximize(stats, params.plain, beta)
        return self._with_prior(stats.components, plain)

    @property
    def column_prior(self) -> float:
        return self.component_prior * self.clusters.n_clusters

    def among(
        self, params: PredictiveParams, columns: Array, n_columns: int, share: float = 0.0
    ) -> PredictiveParams:
        wide = super().among(params, columns, n_columns, share)
        return wide._replace(totals=params.totals / (1 - share))

    def free_parameters(self, params: PredictiveParams, n_rows: int) -> int:
        return self.clusters.free_parameters(params.plain, n_rows)

    def fold_in_equations(
        self, params: PredictiveParams
    ) -> tuple[FoldIn[Params, Statistics], Params]:
        return self.clusters, params.plain

    def mixture_prior(self, params: PredictiveParams) -> tuple[Array, Array]:
        return self.clusters.mixture_prior(params.plain)

    def posteriors(self, params: PredictiveParams, rows: Rows) -> Array:
        return rows

    @property
    def largest_beta(self) -> float:
        return self.clusters.largest_beta

    def object_size(self, X: Counts) -> float:
        return self.clusters.object_size(X)

    def critical_beta(self, X: Counts) -> float:
        return self.clusters.critical_beta(X)

    def _with_prior(self, expected: Array, plain: Params) -> PredictiveParams:
        counts = expected + np.asarray(self.component_prior, dtype=expected.dtype)
        totals = sums(counts, axis=0)
        return PredictiveParams(counts / totals, plain.weights, plain.unit, totals)
