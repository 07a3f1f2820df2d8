"""The product-space mixture model, plain and leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from skcooc.equations.aspects import PSEUDO_COUNTS, Aspects, with_prior
from skcooc.equations.memberships import ColumnDistributions, reciprocals
from skcooc.loops.left_out import left_out_counts
from skcooc.loops.updates import new_mixtures
from skcooc.protocol import (
    Array,
    Block,
    Capability,
    Counts,
    Equations,
    FixedComponents,
    FoldIn,
    OnlineModel,
    Rows,
)
from skcooc.simplex import LEAST, mix_with, normalise, sums

INDEPENDENT = 0.05  # share of the initial P(c, d) in which both topics are independent


class Params(NamedTuple):
    """Parameters of the product-space mixture; the state of the rows is P(c given x)."""

    components: Array  # (M, D): P(y_j given d); columns sum to one
    joint: Array  # (C, D): P(c, d)
    weights: Array  # (C,): P(c)


class Statistics(NamedTuple):
    components: Array  # (M, D): sum_ic n_ij r_ij(cd)
    joint: Array  # (C, D): sum_ij n_ij r_ij(cd)
    free_energy: float  # -(1/beta) sum n_ij log sum_cd prior (likelihood)^beta, nats


@dataclass(frozen=True)
class ProductAspects(ColumnDistributions, OnlineModel[Params, Statistics]):
    """Equations of the product-space mixture model.

    Hofmann & Puzicha (1998), eqs. (15)-(19). P(x, y) = sum_cd P(c, d) P(x given c) P(y given d). At
    inverse temperature beta a token has the posterior

        joint:       r_ij(cd) ~ [P(c, d) P(x_i given c) P(y_j given d)]^beta
        likelihood:  r_ij(cd) ~ P(c, d) [P(x_i given c) P(y_j given d)]^beta   (eq. 65)

    The C x D posteriors of a token are never formed: with T_cd the power of P(d given c) and A that
    of P(c given x), A T and B are the factors of an aspect model with D topics.
    """

    n_row_components: int
    n_column_components: int
    tempering: Literal["joint", "likelihood"] = "likelihood"

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Return random topics, which EM may lead to the unigram."""
        (components, weights, _), rows = Aspects(self.n_topics).start(X, rng)
        return self.from_aspects(components, weights, rows)

    @property
    def n_topics(self) -> int:
        """Number of topics on the side that has more."""
        return max(self.n_row_components, self.n_column_components)

    def from_aspects(self, B: Array, weights: Array, rows: Rows) -> tuple[Params, Rows]:
        """Return parameters from topics (M, K), their weights and the mixtures of rows.

        Topics are merged on the side with fewer.
        """
        into_rows = _merged(B, self.n_row_components)
        into_columns = _merged(B, self.n_column_components)
        joint = (into_rows * weights[:, None]).T @ into_columns
        independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        joint = (1 - INDEPENDENT) * joint + INDEPENDENT * independent
        unigram = (B @ weights)[:, None]
        components = normalise((B * weights) @ into_columns, axis=0, otherwise=unigram)
        return Params(components, joint, sums(joint, axis=1)), rows @ into_rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        # Eqs. (6), (18)
        A = X.power(rows, beta)
        B = X.power(params.components, beta)
        T = self.transitions(params, beta)
        mixture = X.mixture(A @ T, B)
        weights = X.row_weights[:, None].astype(X.dtype)
        joint = T * ((A * weights).T @ mixture.rows)
        mixtures = new_mixtures(X, A, mixture.rows @ T.T, params.weights)
        expected = X.map_row_ranges(np.multiply, B, mixture.columns, out=B)
        return mixtures, Statistics(expected, joint, -mixture.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (7), (19)
        components = normalise(stats.components, axis=0, otherwise=params.components)
        joint = stats.joint / stats.joint.sum()
        return Params(components, joint, sums(joint, axis=1))

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        return params._replace(components=mix_with(params.components, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        # With P(x), eq. (17)
        M = len(params.components)
        C, D = params.joint.shape
        return D * (M - 1) + C * (D - 1) + n_rows * (C - 1)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        return rows, params.components @ _given_rows(params).T

    def fixed(self, X: Block, params: Params, beta: float) -> FixedComponents:
        B = X.power(params.components, beta)
        # With BLAS the last digits of a column would depend on the number of columns.
        of_rows = np.einsum("jd,cd->jc", B, self.transitions(params, beta))
        return FixedComponents(of_rows, beta, params.weights)

    def transitions(self, params: Params, beta: float) -> Array:
        """T_cd, the factor between the powers of P(c given x) and of P(y given d), (C, D)."""
        if self.tempering == "joint":
            return _given_rows(params) ** beta
        weights = params.weights[:, None]
        T = np.zeros_like(params.joint)
        return np.divide(params.joint, weights**beta, out=T, where=weights > 0)


def _given_rows(params: Params) -> Array:
    """P(d given c), (C, D)."""
    return normalise(params.joint, axis=1, otherwise=sums(params.joint, axis=0))


def _merged(B: Array, n_groups: int) -> Array:
    """Indicators (K, n_groups) of similar components: Ward's method on their roots."""
    n_components = B.shape[1]
    if n_groups == n_components:
        return np.eye(n_components, dtype=B.dtype)
    merges = linkage(np.sqrt(B.T), "ward")
    # Not by "maxclust": SciPy before 1.15 finds K - 2 groups where K - 1 are asked for.
    labels = fcluster(merges, merges[-n_groups, 2], "distance") - 1
    return np.eye(n_groups, dtype=B.dtype)[labels]


@dataclass(frozen=True)
class PredictiveProducts(ColumnDistributions, Equations[Params, Statistics]):
    """Leave-one-out (predictive) EM for the product-space mixture model.

    Hofmann & Puzicha (1998), section 5.2. To leave a token out of the expected counts of its row
    exactly would take C times D products per token. Instead, the mixture A_id = sum_c P(c given
    x_i) P(d given c) is treated as in an aspect model with the topics d, expected counts C_jd and
    posteriors own_d,

        r_d ~ [(n_i A_id - own_d + alpha P(d)) (C_jd - own_d + eta) / (T_d - own_d + M eta)]^beta ,

    by the same loop, ``skcooc.loops.left_out``. The posterior of c given d is that of plain EM.
    This is exact if each c has one d; otherwise a little too much is subtracted from the row. The
    token's share of P(c, d) is small and is not subtracted.
    """

    products: ProductAspects
    row_prior: float = PSEUDO_COUNTS["row_prior"]  # alpha: pseudo-counts of a row in all
    component_prior: float = PSEUDO_COUNTS["component_prior"]  # eta: of a column in every topic

    needs: ClassVar[Mapping[Capability, str]] = {
        "left_out": "leave_one_out=True needs all tokens of a column in every EM step; "
        "set leave_one_out=False"
    }

    patience: ClassVar[int] = 10

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        return self.after_a_step(X, *self.products.start(X, rng))

    def after_a_step(self, X: Counts, params: Params, rows: Rows) -> tuple[Params, Rows]:
        """Return parameters and rows after a step of plain EM."""
        rows, stats = X.expect(self.products, params, rows, 1.0)
        return self.maximize(stats, params, 1.0), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        A = X.power(rows, beta)
        B = X.power(params.components, beta)
        T = self.products.transitions(params, beta)
        of_columns = sums(params.joint, axis=0)
        mixtures = A @ T
        totals = X.column_sums.sum() * of_columns.astype(np.float64) + self.component_prior * len(B)
        left_out = left_out_counts(
            X,
            (rows @ self.products.transitions(params, 1.0), params.components),
            (mixtures, B),
            (reciprocals(X.row_sums + self.row_prior), reciprocals(totals)),
            (self.row_prior * of_columns, self.component_prior),
            beta,
        )
        ratios = np.zeros_like(mixtures)
        np.divide(left_out.rows, mixtures, out=ratios, where=mixtures > LEAST)
        joint = T * ((A * X.row_weights[:, None].astype(X.dtype)).T @ ratios)
        expected = X.map_row_ranges(np.multiply, A, ratios @ T.T, out=A)
        mixtures = with_prior(X, expected, self.row_prior, params.weights)
        return mixtures, Statistics(left_out.columns, joint, -left_out.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        plain = self.products.maximize(stats, params, beta)
        expected = stats.components + np.asarray(self.component_prior, stats.components.dtype)
        return plain._replace(components=normalise(expected, axis=0, otherwise=0.0))

    @property
    def column_prior(self) -> float:
        return self.component_prior * self.products.n_column_components

    def free_parameters(self, params: Params, n_rows: int) -> int:
        return self.products.free_parameters(params, n_rows)

    def fold_in_equations(self, params: Params) -> tuple[FoldIn[Params, Statistics], Params]:
        return self.products, params

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        return self.products.factors(params, rows)

    def fixed(self, X: Block, params: Params, beta: float) -> FixedComponents:
        return self.products.fixed(X, params, beta)
