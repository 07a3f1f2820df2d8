"""The symmetric clustering model: clusters of rows and columns, and class bigrams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import (
    ObjectWeights,
    column_posteriors,
    column_prior,
    fill_empty_cluster,
    posteriors,
    reciprocals,
    row_factors,
    total_weights,
    unit_of,
    weight_unit,
    weighted_rows,
    worst_explained,
)
from skcooc.equations.row_clusters import RowClusters
from skcooc.loops.exchange import exchange
from skcooc.protocol import Array, Block, Capability, Clustering, Counts, Equations, Rows
from skcooc.simplex import LEAST, log, normalise, sums


class Params(NamedTuple):
    """Parameters of symmetric clustering; the state of the rows is P(c given x_i)."""

    memberships: Array  # (M, D): J_jd, P(d given y_j)
    shares: Array  # (M,): share of the tokens in each column
    joint: Array  # (C, D): pi_cd, share of the tokens in each pair of clusters
    weights: Array  # (C,): prior probability of each cluster of rows
    column_weights: Array  # (D,): prior probability of each cluster of columns
    unit: Array  # (): see `RowClusters`


class Statistics(NamedTuple):
    profiles: Array  # (M, C): sum_i I_ic n_ij
    sizes: Array  # (C,): sum_i I_ic
    spare: Array  # (D,): profile of the row with the worst likelihood, for an empty cluster
    n_tokens: float  # sum_i n_i
    total: float  # sum_i n_i^power
    free_energy: float  # -(1/beta) sum_i log sum_c rho_c exp(beta sum_jd n_ij J_jd log c_cd), nats


class BlockPredictions:
    """Predictions of rows with clusters of rows and columns, for both models."""

    def restrict(self, params: Params, columns: Array) -> Params:
        J = params.memberships[columns]
        return params._replace(memberships=J, shares=params.shares[columns])

    def among(self, params: Params, columns: Array, n_columns: int, share: float = 0.0) -> Params:
        J = np.tile(params.column_weights, (n_columns, 1))  # what empty columns have in a fit
        J[columns] = params.memberships
        shares = np.zeros(n_columns, params.shares.dtype)
        shares[columns] = params.shares
        return params._replace(memberships=J, shares=shares)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        # Eq. (47)
        of_columns = sums(params.joint, axis=0)
        columns = params.memberships * params.shares[:, None] * reciprocals(of_columns)
        blocks = normalise(params.joint, axis=1, otherwise=of_columns)
        return rows, normalise(columns @ blocks.T, axis=0, otherwise=params.shares[:, None])

    def mixture_prior(self, params: Params) -> tuple[Array, Array]:
        return params.weights, np.eye(len(params.weights), dtype=params.weights.dtype)


@dataclass(frozen=True)
class CoClusters(BlockPredictions, Clustering[Params, Statistics]):
    """Equations of the symmetric clustering model.

    Hofmann & Puzicha (1998), eqs. (34)-(49). P(x_i, y_j) = P(x_i) P(y_j) sum_cd I_ic J_jd c_cd with
    associations c_cd = pi_cd / (pi_c pi_d). In the mean-field approximation at inverse temperature
    beta

        I_ic ~ rho_c exp(beta sum_j n_ij sum_d J_jd log c_cd),   J_jd likewise,

    in the order I, c, J, c: the rows in ``expect``, the rest in ``maximize``. The sign of the
    exponent, damaged in eq. (49), is plus. The hard model takes the largest term: alternating
    maximisation of the mutual information, or with estimated proportions of the likelihood of
    tokens and labels. It may keep labels that a search has found. Rows may weigh n_i^power, as in
    `RowClusters`.
    """

    n_row_clusters: int
    n_column_clusters: int
    hard: bool = False
    proportions: Literal["uniform", "estimated"] = "uniform"
    object_weights: ObjectWeights = "counts"
    keeps_labels: bool = False  # of a fit, hard

    needs: ClassVar[Mapping[Capability, str]] = {
        "each step": "clusters of columns need all rows in every EM step; "
        "fit the whole table at once"
    }

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Return random clusters, from which EM hardly moves: the unigram is stable."""
        rows = rng.dirichlet(np.ones(self.n_row_clusters), X.shape[0]).astype(X.dtype)
        J = rng.dirichlet(np.ones(self.n_column_clusters), X.shape[1]).astype(X.dtype)
        return self.from_clusters(X, X.array(rows), J)

    def from_clusters(self, X: Counts, rows: Rows, J: Array) -> tuple[Params, Rows]:
        """Return parameters from posteriors of rows, (N, C), and of columns, (M, D)."""
        unit = weight_unit(X, self.object_weights)
        weigh = partial(weighted_rows, object_weights=self.object_weights, unit=unit)
        profiles = X.tdot(X.map_blocks(weigh, rows))
        C = np.full(self.n_row_clusters, 1 / self.n_row_clusters, dtype=J.dtype)
        D = np.full(self.n_column_clusters, 1 / self.n_column_clusters, dtype=J.dtype)
        return Params(J, _shares(profiles), _joint(profiles, J), C, D, unit), rows

    def for_table(self, params: Params, X: Counts) -> Params:
        return params._replace(unit=weight_unit(X, self.object_weights))

    def fold_in_equations(self, params: Params) -> tuple[CoClusters, Params]:
        return replace(self, keeps_labels=False), params

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        # Eqs. (44), (49)
        profiles = X.dot(params.memberships)
        scores = profiles @ log_association(params.joint).T
        beta = 1.0 if self.hard else beta
        factors = row_factors(X, self.object_weights, params.unit)
        scores *= beta * factors
        if self.hard and self.proportions == "estimated":
            scores += log(params.weights)
        if self.keeps_labels:
            counted = X.row_weights * X.row_sums > 0
            scores[counted] = np.where(rows[counted] > 0, scores[counted], -np.inf)
        rows, evidence = posteriors(X, scores, np.ones_like(factors), params.weights, self.hard)
        spare = np.zeros(profiles.shape[1], dtype=X.dtype)
        if self.hard and not (X.row_weights * X.row_sums @ rows).all():
            gains = factors[:, 0] * _own_scores(profiles, params.joint.sum(axis=0)) - evidence
            worst = worst_explained(gains * (X.row_weights > 0))
            spare = spare if worst is None else profiles[worst]
        energy = -float(np.sum(X.row_weights * evidence)) / beta
        sizes = sums(rows * X.row_weights[:, None].astype(X.dtype), axis=0)
        counted = rows if self.object_weights == "counts" else rows * factors
        n_tokens, total = total_weights(X, self.object_weights).tolist()
        return rows, Statistics(X.tdot(counted), sizes, spare, n_tokens, total, energy)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (42), (43), (49)
        profiles = stats.profiles
        shares = _shares(profiles)
        joint = _joint(profiles, params.memberships)
        scores = profiles @ log_association(joint)
        beta = 1.0 if self.hard else beta
        if self.hard and self.proportions == "estimated":
            scores += log(params.column_weights)
        if self.keeps_labels:
            scores = np.where(params.memberships > 0, scores, -np.inf)
        J = column_posteriors(beta * scores, params.column_weights, self.hard)
        if self.hard:
            J[shares == 0] = 0
            if not self.keeps_labels:
                fill_empty_cluster(J, _own_scores(profiles, joint.sum(axis=1)), scores)
            J[shares == 0] = params.column_weights
        joint = _joint(profiles, J)
        empty = np.flatnonzero(sums(joint, axis=1) <= 0)[:1]
        if empty.size and stats.spare.any():
            joint[empty[0]] = stats.spare * (1e-12 / stats.spare.sum())  # negligible mass
        weights = params.weights
        column_weights = params.column_weights
        if self.proportions == "estimated":
            weights = stats.sizes / stats.sizes.sum()
            column_weights = sums(J, axis=0) / len(J)
        unit = unit_of(stats.n_tokens, stats.total, params.unit.dtype)
        return Params(J, shares, joint, weights, column_weights, unit)

    def log_prior(self, params: Params, beta: float) -> float:
        return 0.0 if self.hard else column_prior(params.memberships, params.column_weights, beta)

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        of_columns = sums(params.joint, axis=0)
        J = (1 - share) * params.memberships + share * of_columns
        independent = sums(params.joint, axis=1)[:, None] * of_columns
        joint = (1 - share) * params.joint + share * independent
        dtype = params.joint.dtype
        return params._replace(memberships=J.astype(dtype), joint=joint.astype(dtype))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        # P(y), associations, and estimated proportions; the clusters are hidden. Of the C D
        # associations C + D - 1 are fixed by the margins (section 3.3).
        M = len(params.memberships)
        C, D = params.joint.shape
        free = M - 1 + (C - 1) * (D - 1)
        return free + (C + D - 2 if self.proportions == "estimated" else 0)

    def merge(self, params: Params, R: Array, S: Array) -> tuple[Self, Params]:
        """Equations and parameters of merged clusters, from their indicators (C, A) and (D, B)."""
        merged = params._replace(
            memberships=params.memberships @ S,
            joint=R.T @ params.joint @ S,
            weights=params.weights @ R,
            column_weights=params.column_weights @ S,
        )
        shape = R.shape[1], S.shape[1]
        return replace(self, n_row_clusters=shape[0], n_column_clusters=shape[1]), merged

    def object_size(self, X: Counts) -> float:
        columns = ColumnClusters(self.n_column_clusters)
        return min(self.row_clusters.object_size(X), columns.object_size(X))

    def critical_beta(self, X: Counts) -> float:
        columns = ColumnClusters(self.n_column_clusters)
        return min(self.row_clusters.critical_beta(X), columns.critical_beta(X))

    @property
    def row_clusters(self) -> RowClusters:
        return RowClusters(self.n_row_clusters, object_weights=self.object_weights)


def log_association(joint: Array) -> Array:
    """log c_cd = log pi_cd / (pi_c pi_d), (C, D); zero for empty clusters."""
    independent = sums(joint, axis=1)[:, None] * sums(joint, axis=0)
    return log(np.divide(joint, independent, out=np.ones_like(joint), where=independent > LEAST))


def mutual_information(joint: Array) -> float:
    return float(np.sum(joint * log_association(joint), dtype=np.float64))


def _joint(profiles: Array, J: Array) -> Array:
    joint = profiles.T @ J
    return joint / joint.sum()


def _shares(profiles: Array) -> Array:
    totals = sums(profiles, axis=1)
    return totals / totals.sum()


def _own_scores(profiles: Array, shares: Array) -> Array:
    """Log-likelihoods of rows or columns in clusters of their own, (n,)."""
    totals = sums(profiles, axis=1)[:, None]
    return sums(profiles * (log(profiles) - log(totals * shares)), axis=1)


class BigramStatistics(NamedTuple):
    profiles: Array  # (N, C): sum_i I_ic n_ij
    memberships: Array  # (N, C): I_ic
    free_energy: float  # -sum n_ij log c_cd, nats


@dataclass(frozen=True)
class ClassBigrams(BlockPredictions, Equations[Params, BigramStatistics]):
    """Equations of symmetric clustering with X = Y and I = J.

    Hofmann & Puzicha (1998), section 3.3. P(y_j given x_i) = P(y_j given c(j)) P(c(j) given c(i)),
    the class bigram model of Brown et al. (1992). An item is a row and a column: items are
    moved one by one (exchange algorithm), each to the cluster with the largest mutual information.
    """

    n_clusters: int

    needs: ClassVar[Mapping[Capability, str]] = {
        "exchange": "tied=True moves one item at a time, with all counts in memory; set tied=False"
    }

    @property
    def untied(self) -> CoClusters:
        return CoClusters(self.n_clusters, self.n_clusters, hard=True)

    def fold_in_equations(self, params: Params) -> tuple[CoClusters, Params]:
        return self.untied, params

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        return self.from_labels(X, rng.integers(self.n_clusters, size=X.shape[0]))

    def from_labels(self, X: Counts, labels: Array) -> tuple[Params, Rows]:
        """Return parameters of clusters with these items, (N,)."""
        rows = np.eye(self.n_clusters, dtype=X.dtype)[labels]
        return self._params(X.tdot(rows), rows), rows

    def for_table(self, params: Params, X: Counts) -> Params:
        rows = np.eye(self.n_clusters, dtype=X.dtype)[params.memberships.argmax(axis=1)]
        return self._params(X.tdot(rows), rows)

    def expect(
        self, X: Block, params: Params, rows: Rows, beta: float
    ) -> tuple[Rows, BigramStatistics]:
        labels = exchange(X, params.memberships.argmax(axis=1), self.n_clusters)
        moved = np.eye(self.n_clusters, dtype=X.dtype)[labels]
        total = float(np.sum(X.row_sums * X.row_weights))
        energy = -total * mutual_information(params.joint)
        return params.memberships, BigramStatistics(X.tdot(moved), moved, energy)

    def maximize(self, stats: BigramStatistics, params: Params, beta: float) -> Params:
        # Eqs. (42), (43)
        return self._params(stats.profiles, stats.memberships)

    def free_parameters(self, params: Params, n_rows: int) -> int:
        return self.untied.free_parameters(params, n_rows)

    def _params(self, profiles: Array, memberships: Array) -> Params:
        totals = profiles.sum(axis=1)
        uniform = np.full(self.n_clusters, 1 / self.n_clusters, dtype=profiles.dtype)
        joint = _joint(profiles, memberships)
        unit = np.array(1.0, dtype=profiles.dtype)
        return Params(memberships, totals / totals.sum(), joint, uniform, uniform, unit)
