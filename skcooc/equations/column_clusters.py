"""Clusters of columns: the asymmetric clustering model with rows and columns interchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from skcooc.equations.memberships import (
    column_posteriors,
    column_prior,
    critical_beta,
    fill_empty_cluster,
    reciprocals,
)
from skcooc.equations.starts import best_start, soft_start
from skcooc.protocol import Array, Block, Counts, Joinable, Need, Rows
from skcooc.simplex import log, normalise, sums


class Params(NamedTuple):
    """Parameters of clusters of columns, all of them on the side of the columns."""

    memberships: Array  # (M, K): P(c given y_j)
    totals: Array  # (M,): observations of each column
    weights: Array  # (K,): share of the observations in each cluster
    proportions: Array  # (K,): P(c)


class Statistics(NamedTuple):
    """Sums over the rows of a block."""

    scores: Array  # (M, K): sum_i n_ij log P(x_i given c) / P(x_i)
    totals: Array  # (M,): sum_i n_ij
    own: Array  # (M,): sum_i n_ij log n_ij / P(x_i); only the hard model needs it
    free_energy: float  # -sum_ij n_ij sum_c P(c given y_j) log P(x_i given c), nats


@dataclass(frozen=True)
class ColumnClusters(Joinable[Params, Statistics]):
    """Equations of the asymmetric clustering model for the second set: memo, section 3.1.

    All observations of a column come from one cluster. At inverse temperature beta

        P(c given y_j) = J_jc ~ rho_c exp(beta sum_i n_ij log p_ic),   p_ic ~ sum_j J_jc n_ij.

    J is kept in the parameters and p is made of it row by row, so that blocks of rows add up: the
    M-step for p comes first, and the posteriors J follow from the sums. A row is then a mixture of
    clusters of columns, P(c given x_i) = sum_j J_jc n_ij / n_i, and P(y_j given c) ~ J_jc m_j.
    """

    n_clusters: int
    hard: bool = False
    object_weights: Literal["counts", "equal"] = "counts"
    proportions: Literal["uniform", "estimated"] = "uniform"

    @property
    def needs(self) -> Mapping[Need, str]:
        """All rows of a column at once."""
        reason = "columns are clustered by all of their rows; it needs axis='rows'"
        return {"each step": reason}

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """The best of short runs; a hard model begins with a few steps of the soft one."""
        if self.hard:
            soft = soft_start(replace(self, hard=False), X, rng)
            return soft.params, soft.rows
        return best_start(self, X, rng)

    def random(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Posteriors that are noise."""
        n_columns, dtype = X.shape[1], X.dtype
        J = rng.dirichlet(np.ones(self.n_clusters), n_columns).astype(dtype)
        totals = X.column_sums.astype(dtype)
        uniform = np.full(self.n_clusters, 1 / self.n_clusters, dtype=dtype)
        rows = np.broadcast_to(uniform, (X.shape[0], len(uniform)))
        return Params(J, totals, _shares(J, totals), uniform), rows

    def seeded(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Random ones: with columns to begin with, most of them rare, it ended no better."""
        return self.random(X, rng)

    def mixed(self, params: Params, shares: Array) -> Params:
        """Parameters of clusters that are made of these."""
        J, proportions = params.memberships @ shares, params.proportions @ shares
        if self.proportions == "uniform":
            proportions = np.full_like(proportions, 1 / len(proportions))
        return Params(J, params.totals, params.weights @ shares, proportions)

    def overlaps(self, X: Counts, params: Params, rows: Rows) -> Array:
        """By the counts of their rows."""
        J = params.memberships * self._factors(params.totals)
        return X.total(partial(_overlaps, memberships=J))

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        """Parameters with noise of this relative size."""
        noise = rng.uniform(1 - amount, 1 + amount, params.memberships.shape)
        noisy = params.memberships * noise.astype(params.memberships.dtype)
        return params._replace(memberships=normalise(noisy, axis=1, otherwise=0.0))

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Distributions of the clusters over rows, and what they say of the columns."""
        J, factors = params.memberships, self._factors(params.totals)
        counted = X.dot(J)
        objects = counted if self.object_weights == "counts" else X.dot(J * factors)
        mass = sums(J * factors * params.totals[:, None], axis=0)
        log_p = X.rowwise(log, objects * reciprocals(mass))
        likelihood = np.sum(X.row_weights * sums(objects * log_p, axis=1), dtype=np.float64)
        rows = normalise(counted, axis=1, otherwise=params.weights)
        own = np.zeros(X.shape[1])
        # Relative to a single cluster, so that differences of clusters do not drown in rounding.
        shared = log(sums(objects, axis=1) * reciprocals(mass.sum()[None]))[:, None]
        if self.hard:
            own = X.n_log_n(0) - X.tdot(shared)[:, 0]
        log_p -= shared
        return rows, Statistics(X.tdot(log_p), X.column_sums, own, -float(likelihood))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """Posteriors of the columns and proportions: memo, eqs. (29), (31)."""
        totals = stats.totals.astype(params.totals.dtype)
        scores = stats.scores * self._factors(totals)
        J = column_posteriors((1.0 if self.hard else beta) * scores, params.proportions, self.hard)
        if self.hard:
            J[totals == 0] = 0
            own = stats.own - stats.totals * log(stats.totals)
            fill_empty_cluster(J, own * self._factors(stats.totals)[:, 0], scores)
            J[totals == 0] = params.proportions
        estimated = self.proportions == "estimated"
        proportions = sums(J, axis=0) / len(J) if estimated else params.proportions
        return Params(J, totals, _shares(J, totals), proportions)

    def log_prior(self, params: Params, beta: float) -> float:
        """That of the posteriors: the part of the free energy without observations."""
        J, weights = params.memberships, params.proportions
        return 0.0 if self.hard else column_prior(J, weights, beta)

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every cluster is, in this share, that of all columns."""
        J = (1 - share) * params.memberships + share * params.weights
        return params._replace(memberships=J.astype(params.memberships.dtype))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """P(y), mixtures of the rows, and proportions; the clusters of columns are hidden.

        With P(x) they are P(y), P(x given c), and proportions.
        """
        M, K = params.memberships.shape
        free = M - 1 + (K - 1) * (n_rows - 1)
        return free + (K - 1 if self.proportions == "estimated" else 0)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The posteriors of these columns alone."""
        return params._replace(
            memberships=params.memberships[columns], totals=params.totals[columns]
        )

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(c given x) and P(y given c)."""
        joint = params.memberships * params.totals[:, None]
        return rows, normalise(joint, axis=0, otherwise=_unigram(params.totals)[:, None])

    def posteriors(self, params: Params, rows: Rows) -> Array:
        """P(c given object), of the columns."""
        return params.memberships

    @property
    def largest_beta(self) -> float:
        """None of the exponent of a divergence, eq. (25), which does not grow with the object."""
        return 1.0 if self.object_weights == "counts" else np.inf

    def object_size(self, X: Counts) -> float:
        """Mean number of observations of the columns that have any."""
        return float(_mean_positive(X.column_sums))

    def critical_beta(self, X: Counts) -> float:
        """The inverse temperature below which all clusters are the same."""
        totals = X.column_sums
        factors = self._factors(totals)
        mass = float(X.total(partial(_mass, factors=factors)))
        rows = X.by_row(partial(_factors_and_shares, factors=factors, mass=mass))
        return critical_beta(X, rows, factors[:, 0], totals)

    def _factors(self, totals: Array) -> Array:
        """What the counts of each column are multiplied by, (M, 1)."""
        if self.object_weights == "counts":
            return np.ones((len(totals), 1), dtype=totals.dtype)
        return (_mean_positive(totals) * reciprocals(totals))[:, None]


def _counted(X: Block, factors: Array) -> Array:
    """Observations of each row, (n,), in columns multiplied by these factors, (M, 1)."""
    return X.dot(factors)[:, 0].astype(np.float64)


def _overlaps(X: Block, memberships: Array) -> Array:
    """Of clusters that have these shares, (M, K), of the columns."""
    roots = np.sqrt(X.dot(memberships))
    return (roots * X.row_weights[:, None].astype(X.dtype)).T @ roots


def _mass(X: Block, factors: Array) -> Array:
    return np.asarray(np.sum(_counted(X, factors) * X.row_weights))


def _factors_and_shares(X: Block, factors: Array, mass: float) -> Array:
    counted = _counted(X, factors)
    return np.column_stack([np.sqrt(reciprocals(counted)), counted / mass])


def _shares(J: Array, totals: Array) -> Array:
    """Share of the observations in each cluster, (K,)."""
    mass = sums(J * totals[:, None], axis=0)
    return mass / mass.sum()


def _mean_positive(totals: Array) -> Array:
    return totals.sum() / max(1, int(np.count_nonzero(totals)))


def _unigram(totals: Array) -> Array:
    return totals / totals.sum()
