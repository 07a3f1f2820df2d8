"""The equations of the aspect model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import xlogy

from skcooc.equations.memberships import critical_beta, reciprocals
from skcooc.equations.row_clusters import RowClusters
from skcooc.equations.starts import short_start
from skcooc.protocol import (
    Alternating,
    Array,
    Block,
    Counts,
    FixedComponents,
    Need,
    OnlineModel,
    Rows,
)
from skcooc.simplex import diluted, normalise, sums

# Noise that tells copies apart, times that of clusters: these differ by the product over all the
# observations of a row, and so need less. With as little, EM would seem to have converged.
MORE_NOISE = 10.0

SHARED = 0.5  # of the distribution of all observations in an aspect that begins with a cluster
NEVER = 1e-3  # of the mean: columns without observations, of which a prior takes logarithms


class Params(NamedTuple):
    """Parameters of the aspect model; P(z given x) is the state of the rows."""

    components: Array  # (M, K): P(y_j given z_k); columns sum to one
    weights: Array  # (K,): P(z_k)


class Statistics(NamedTuple):
    """Sums over the observations of a block."""

    components: Array  # (M, K): sum_i n_ij r_ijk
    free_energy: float  # -(1/beta) sum n_ij log sum_k prior (likelihood)^beta, nats


@dataclass(frozen=True)
class Aspects(OnlineModel[Params, Statistics], Alternating[Params, Statistics]):
    """Equations of the aspect model.

    P(y_j given x_i) = sum_k P(z_k given x_i) P(y_j given z_k); memo eqs. (1)-(11). At inverse
    temperature beta an observation (x_i, y_j) has the posterior

        joint:       r_ijk ~ [P(z_k) P(x_i given z_k) P(y_j given z_k)]^beta
        likelihood:  r_ijk ~ P(z_k) [P(x_i given z_k) P(y_j given z_k)]^beta   (memo, eq. 65)

    Both are written with P(z_k given x_i) ~ P(z_k) P(x_i given z_k): factors that depend on i
    alone cancel, and what is left of the prior is P(z_k)^(1 - beta) in the second form. It is
    Annealable: aspects split as clusters do.
    """

    n_components: int
    tempering: Literal["joint", "likelihood"] = "joint"
    component_prior: float = 0.0

    needs: ClassVar[Mapping[Need, str]] = {}

    @property
    def supports_alternating(self) -> bool:
        return not self.component_prior

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Clusters of rows, diluted; every row an equal mixture of them.

        From random components EM may end where two aspects share what is one, and one has what
        are two.
        """
        clusters = short_start(RowClusters(self.n_components), X, rng).params.components
        expected = X.column_sums + NEVER * X.column_sums.mean()
        unigram = (expected / expected.sum()).astype(X.dtype)
        return self._alike(X, diluted(clusters, unigram, SHARED))

    def random(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Components that are noise."""
        noise = rng.uniform(0.5, 1.5, (X.shape[1], self.n_components)).astype(X.dtype)
        return self._alike(X, normalise(noise, axis=0, otherwise=0.0))

    def _alike(self, X: Counts, components: Array) -> tuple[Params, Rows]:
        """These components, of which every row is an equal mixture."""
        weights = np.full(self.n_components, 1 / self.n_components, dtype=X.dtype)
        return Params(components, weights), np.broadcast_to(weights, (X.shape[0], len(weights)))

    @property
    def n_clusters(self) -> int:
        """Number of aspects, which split as clusters do."""
        return self.n_components

    def mixed(self, params: Params, shares: Array) -> Params:
        """Parameters of aspects that are made of these."""
        weights = params.weights @ shares
        weighted = (params.components * params.weights) @ shares
        unweighted = params.components @ shares / sums(shares, axis=0)
        return Params(normalise(weighted, axis=0, otherwise=unweighted), weights)

    def joined(self, params: Params, mass: Array, shares: Array) -> tuple[Self, Params]:
        """Equations and parameters of aspects that are sums of these, by their mass, (K,)."""
        components = self.mixed(params._replace(weights=mass), shares).components
        weights = params.weights @ shares
        new = replace(self, n_components=shares.shape[1])
        return new, params._replace(components=components, weights=weights / weights.sum())

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        """Parameters with noise, ten times as much as clusters need."""
        amount *= MORE_NOISE
        noise = rng.uniform(1 - amount, 1 + amount, params.components.shape)
        noisy = params.components * noise.astype(params.components.dtype)
        return params._replace(components=normalise(noisy, axis=0, otherwise=0.0))

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """E-step, and the part of the M-step that concerns the rows: memo eqs. (6), (8), (9)."""
        A, B = X.power(rows, beta), X.power(params.components, beta)
        if self.tempering == "likelihood":
            A *= params.weights ** (1 - beta)
        mixture = X.mixture(A, B)
        mixtures = new_mixtures(X, A, mixture.rows, params.weights)
        expected = X.rowwise(np.multiply, B, mixture.columns, out=B)
        return mixtures, Statistics(expected, -mixture.log_likelihood / beta)

    def alternate(self, X: Block, params: Params, rows: Rows) -> tuple[Rows, Statistics]:
        """Newton's steps of the rows, and then of the components, at beta = 1 and without a prior.

        Counts n_ij that are Poisson with means n_i P(y_j given x_i) have the likelihood of the
        model, but for a constant, where mixtures and components sum to one, and a lower one for
        other factors of theirs: to normalise is a step, too.
        """
        n = X.row_sums
        found = X.alternate(rows * n[:, None].astype(X.dtype), params.components)
        mixtures = normalise(found.rows, axis=1, otherwise=params.weights)
        constant = float(np.sum(X.row_weights * xlogy(n, n)))
        return mixtures, Statistics(found.columns, constant - found.log_likelihood)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """M-step for the components and their weights: memo eqs. (7), (9)."""
        mass = sums(stats.components, axis=0)
        expected = stats.components
        if self.component_prior:
            expected = expected + self.component_prior
        components = normalise(expected, axis=0, otherwise=params.components)
        return Params(components, mass / mass.sum())

    def log_prior(self, params: Params, beta: float) -> float:
        """c sum log P(y_j given z_k): a Dirichlet prior with c pseudo-counts, less a constant."""
        if not self.component_prior:
            return 0.0
        with np.errstate(divide="ignore"):  # a warm start may begin with zeros
            logs = np.log(params.components)
        return self.component_prior * float(logs.sum(dtype=np.float64))

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every component is, in this share, the distribution."""
        return params._replace(components=diluted(params.components, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Components, and mixtures of the rows: with P(x), memo, section 2.1."""
        M, K = params.components.shape
        return K * (M - 1) + n_rows * (K - 1)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) and P(y given z): memo eq. (11)."""
        return rows, params.components

    def fixed(self, X: Block, params: Params, beta: float) -> FixedComponents:
        """The powers of the components, with what tempering leaves of the prior."""
        B = X.power(params.components, beta)
        if self.tempering == "likelihood":
            B *= params.weights ** (1 - beta)
        return FixedComponents(B, beta, params.weights)

    def critical_beta(self, X: Counts) -> float:
        """The inverse temperature below which all aspects are the same: 1 / (1 + s).

        s is the first canonical correlation of rows and columns: the largest singular value of
        (n_ij - n_i m_j / L) / sqrt(n_i m_j). Let K aspects differ a little from the unigram,
        P(x_i given z_k) = P(x_i) (1 + a_ik) and P(y_j given z_k) = P(y_j) (1 + b_jk), with a and b
        that sum to zero over k, and over i and j where these count by their probabilities. To first
        order the posterior is r_ijk = (1 + beta (a_ik + b_jk)) / K, and the M-step makes of it

            a'_ik = beta (a_ik + sum_j P(y_j given x_i) b_jk),
            b'_jk = beta (b_jk + sum_i P(x_i given y_j) a_ik).

        The two sums have the singular values s of the table, with one sign or the other, so that a
        difference grows by beta (1 + s) from step to step. The form of tempering does not matter,
        since the posterior of equal weights is the same; a pseudo-count makes the value larger.
        """
        m = X.column_sums.astype(np.float64)
        of_columns = np.sqrt(reciprocals(m))
        squared = 1 / critical_beta(X, X.by_row(_factors_and_sums), of_columns, m / m.sum())
        return float(1 / (1 + np.sqrt(squared)))


def new_mixtures(X: Block, A: Array, products: Array, otherwise: Array) -> Array:
    """A * products (n, k), written over A, rows divided by their sums; otherwise (k,) if void."""

    def mix(A: Array, products: Array, out: Array) -> None:
        np.multiply(A, products, out=out)
        normalise(out, axis=1, otherwise=otherwise, out=out)

    return X.rowwise(mix, A, products, out=A)


def _factors_and_sums(X: Block) -> Array:
    """1 / sqrt(n_i) and n_i, (n, 2)."""
    n = X.row_sums.astype(np.float64)
    return np.column_stack([np.sqrt(reciprocals(n)), n])
