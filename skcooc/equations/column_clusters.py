"""The asymmetric clustering model for columns: rows and columns interchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from skcooc.equations.memberships import (
    ObjectWeights,
    column_posteriors,
    column_prior,
    critical_beta,
    fill_empty_cluster,
    perturbed,
    reciprocals,
    size_factors,
    uniform_mixtures,
)
from skcooc.protocol import Array, Block, Capability, Counts, MergeableClusters, Rows
from skcooc.simplex import log, normalise, sums


class Params(NamedTuple):
    """Parameters of clusters of columns; all belong to the columns."""

    memberships: Array  # (M, K): P(c given y_j)
    totals: Array  # (M,): tokens of each column
    weights: Array  # (K,): share of the tokens in each cluster
    proportions: Array  # (K,): P(c)


class Statistics(NamedTuple):
    scores: Array  # (M, K): sum_i n_ij log P(x_i given c) / P(x_i)
    totals: Array  # (M,): sum_i n_ij
    own_scores: Array  # (M,): sum_i n_ij log n_ij / P(x_i); of the hard model only
    free_energy: float  # -sum_ij n_ij sum_c P(c given y_j) log P(x_i given c), nats


@dataclass(frozen=True)
class ColumnClusters(MergeableClusters[Params, Statistics]):
    """Equations of the asymmetric clustering model, for columns.

    Hofmann & Puzicha (1998), section 3.1. All tokens of a column come from one cluster. At inverse
    temperature beta

        P(c given y_j) = J_jc ~ rho_c exp(beta sum_i n_ij log p_ic),   p_ic ~ sum_j J_jc n_ij.

    J is a parameter, and p is computed from it row by row. A row is then a mixture of clusters of
    columns, P(c given x_i) = sum_j J_jc n_ij / n_i, and P(y_j given c) ~ J_jc m_j.
    """

    n_clusters: int
    hard: bool = False
    object_weights: ObjectWeights = "counts"
    proportions: Literal["uniform", "estimated"] = "uniform"

    needs: ClassVar[Mapping[Capability, str]] = {
        "each step": "clusters of columns need all rows in every EM step; set axis='rows'"
    }

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        J = rng.dirichlet(np.ones(self.n_clusters), X.shape[1]).astype(X.dtype)
        totals = X.column_sums.astype(X.dtype)
        uniform, rows = uniform_mixtures(X, self.n_clusters)
        return Params(J, totals, _shares(J, totals), uniform), rows

    def seeded(self, X: Counts, rng: np.random.Generator, n_sampled: int) -> tuple[Params, Rows]:
        # Most columns are rare: seeds from single columns are no better than random ones.
        return self.start(X, rng)

    def for_table(self, params: Params, X: Counts) -> Params:
        totals = X.column_sums.astype(params.totals.dtype)
        return params._replace(totals=totals, weights=_shares(params.memberships, totals))

    def mix_components(self, params: Params, shares: Array) -> Params:
        proportions = params.proportions @ shares
        if self.proportions == "uniform":
            proportions = np.full_like(proportions, 1 / len(proportions))
        J = params.memberships @ shares
        return Params(J, params.totals, params.weights @ shares, proportions)

    def overlaps(self, X: Counts, params: Params, rows: Rows) -> Array:
        J = params.memberships * self._factors(params.totals)
        return X.total(partial(_overlaps, memberships=J))

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        return params._replace(memberships=perturbed(params.memberships, rng, amount, axis=1))

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        J = params.memberships
        factors = self._factors(params.totals)
        counted = X.dot(J)
        objects = counted if self.object_weights == "counts" else X.dot(J * factors)
        mass = sums(J * factors * params.totals[:, None], axis=0)
        log_p = X.map_row_ranges(log, objects * reciprocals(mass))
        likelihood = np.sum(X.row_weights * sums(objects * log_p, axis=1), dtype=np.float64)
        rows = normalise(counted, axis=1, otherwise=params.weights)
        own_scores = np.zeros(X.shape[1])
        # Relative to a single cluster, to keep rounding errors small.
        shared = log(sums(objects, axis=1) * reciprocals(mass.sum()[None]))[:, None]
        if self.hard:
            own_scores = X.n_log_n(0) - X.tdot(shared)[:, 0]
        log_p -= shared
        return rows, Statistics(X.tdot(log_p), X.column_sums, own_scores, -float(likelihood))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (29), (31)
        totals = stats.totals.astype(params.totals.dtype)
        scores = stats.scores * self._factors(totals)
        J = column_posteriors((1.0 if self.hard else beta) * scores, params.proportions, self.hard)
        if self.hard:
            J[totals == 0] = 0
            own_scores = stats.own_scores - stats.totals * log(stats.totals)
            fill_empty_cluster(J, own_scores * self._factors(stats.totals)[:, 0], scores)
            J[totals == 0] = params.proportions
        proportions = params.proportions
        if self.proportions == "estimated":
            proportions = sums(J, axis=0) / len(J)
        return Params(J, totals, _shares(J, totals), proportions)

    def log_prior(self, params: Params, beta: float) -> float:
        return 0.0 if self.hard else column_prior(params.memberships, params.proportions, beta)

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        J = (1 - share) * params.memberships + share * params.weights
        return params._replace(memberships=J.astype(params.memberships.dtype))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        # P(y), mixtures of the rows, and proportions; the clusters of columns are hidden. With P(x)
        # they are P(y), P(x given c), and proportions.
        M, K = params.memberships.shape
        free = M - 1 + (K - 1) * (n_rows - 1)
        return free + (K - 1 if self.proportions == "estimated" else 0)

    def restrict(self, params: Params, columns: Array) -> Params:
        J = params.memberships[columns]
        return params._replace(memberships=J, totals=params.totals[columns])

    def among(self, params: Params, columns: Array, n_columns: int, share: float = 0.0) -> Params:
        J = np.tile(params.proportions, (n_columns, 1))  # what empty columns have in a fit
        J[columns] = params.memberships
        totals = np.zeros(n_columns, params.totals.dtype)
        totals[columns] = params.totals
        return params._replace(memberships=J, totals=totals)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        unigram = (params.totals / params.totals.sum())[:, None]
        joint = params.memberships * params.totals[:, None]
        return rows, normalise(joint, axis=0, otherwise=unigram)

    def posteriors(self, params: Params, rows: Rows) -> Array:
        return params.memberships

    @property
    def largest_beta(self) -> float:
        return np.inf if self.object_weights == "equal" else 1.0

    def object_size(self, X: Counts) -> float:
        return float(X.column_sums.sum() / max(1, int(np.count_nonzero(X.column_sums))))

    def critical_beta(self, X: Counts) -> float:
        totals = X.column_sums
        factors = self._factors(totals)
        mass = float(X.total(partial(_mass, factors=factors)))
        rows = X.map_blocks(partial(_factors_and_shares, factors=factors, mass=mass))
        return critical_beta(X, rows, factors[:, 0], totals)

    def _factors(self, totals: Array) -> Array:
        if self.object_weights == "counts":
            return np.ones((len(totals), 1), dtype=totals.dtype)
        factors = size_factors(totals, self.object_weights)
        unit = totals.sum() * reciprocals((factors @ totals)[None])
        return (unit * factors)[:, None]


def _counted(X: Block, factors: Array) -> Array:
    return X.dot(factors)[:, 0].astype(np.float64)


def _overlaps(X: Block, memberships: Array) -> Array:
    roots = np.sqrt(X.dot(memberships))
    return (roots * X.row_weights[:, None].astype(X.dtype)).T @ roots


def _mass(X: Block, factors: Array) -> Array:
    return np.asarray(np.sum(_counted(X, factors) * X.row_weights))


def _factors_and_shares(X: Block, factors: Array, mass: float) -> Array:
    counted = _counted(X, factors)
    return np.column_stack([np.sqrt(reciprocals(counted)), counted / mass])


def _shares(J: Array, totals: Array) -> Array:
    mass = sums(J * totals[:, None], axis=0)
    return mass / mass.sum()
