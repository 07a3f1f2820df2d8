"""The aspect model, plain and leave-one-out, and its usual hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, cast

import numpy as np

from skcooc.equations.memberships import (
    ColumnDistributions,
    critical_beta,
    merged_components,
    perturbed,
    random_distributions,
    reciprocals,
    uniform_mixtures,
)
from skcooc.loops.left_out import left_out_counts
from skcooc.loops.updates import excess_counts, new_mixtures
from skcooc.protocol import Array, Block, Counts, FixedComponents, FoldIn, OnlineModel, Rows
from skcooc.simplex import mix_with, normalise, sums

# Perturbation of split aspects, relative to that of clusters. Clusters differ by a product over all
# tokens of a row and need less noise; with as little, EM on aspects would seem to have converged.
MORE_NOISE = 10.0

# Distinctive prior: least excess, as a share of the tokens; less is rounding. And the excess of
# random assignments in units of sqrt(m_j P(z_k)), a third of what it is in the mean.
LEAST_EXCESS, RANDOM_EXCESS = 1e-5, 0.15
NEVER = 1e-3  # relative to the mean: count of an empty column, as a prior takes logarithms


Tempering: TypeAlias = Literal["distinctive", "joint", "likelihood"]


class Params(NamedTuple):
    """Parameters of the aspect model; the state of the rows is P(z given x)."""

    components: Array  # (M, K): P(y_j given z_k); columns sum to one
    weights: Array  # (K,): P(z_k)
    prior: Array  # (K,): rho_k; posteriors have a factor rho_k^(1 - beta)


class Statistics(NamedTuple):
    components: Array  # (M, K): sum_i n_ij r_ijk
    free_energy: float  # -(1/beta) sum n_ij log sum_k prior (likelihood)^beta, nats


@dataclass(frozen=True)
class Aspects(ColumnDistributions, OnlineModel[Params, Statistics]):
    """Equations of the aspect model: Hofmann & Puzicha (1998), eqs. (1)-(11).

    P(y_j given x_i) = sum_k P(z_k given x_i) P(y_j given z_k). At inverse temperature beta a token
    (x_i, y_j) has the posterior

        joint:        r_ijk ~ [P(z_k) P(x_i given z_k) P(y_j given z_k)]^beta
        likelihood:   r_ijk ~ P(z_k) [P(x_i given z_k) P(y_j given z_k)]^beta   (eq. 65)
        distinctive:  r_ijk ~ rho_k^(1 - beta) [P(z_k) P(x_i given z_k) P(y_j given z_k)]^beta

    All are computed from P(z_k given x_i) ~ P(z_k) P(x_i given z_k): factors that depend on i alone
    cancel, and the second form is the third with rho_k = P(z_k). See `distinctive_shares` for the
    rho_k of the third. Aspects can be split, as clusters are.
    """

    n_components: int
    tempering: Tempering = "joint"
    component_prior: float = 0.0
    row_prior: float = 0.0  # of new rows; see AspectsForFoldIn

    @property
    def patience(self) -> int:
        return 2 if self.tempering == "distinctive" else 1  # its objective may rise

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        components = random_distributions((X.shape[1], self.n_components), X, rng)
        return self.from_components(X, components)

    @property
    def plain(self) -> Self:
        """The equations without leave-one-out."""
        return self

    @property
    def begins_near_unigram(self) -> bool:
        """True if ``initial_components`` needs no usual ones."""
        return False

    def balanced(self, X: Counts) -> Counts:
        """Return the counts to which the usual components are fitted."""
        return X

    def initial_components(self, X: Counts, rng: np.random.Generator, usual: Array | None) -> Array:
        """Return components to begin with, (M, K), given the usual ones."""
        return cast(Array, usual)

    def from_components(self, X: Counts, components: Array) -> tuple[Any, Rows]:
        """Return parameters with these components, (M, K), and equal weights."""
        weights, rows = uniform_mixtures(X, self.n_components)
        return Params(components, weights, weights), rows

    @property
    def n_clusters(self) -> int:
        return self.n_components

    def mix_components(self, params: Params, shares: Array) -> Params:
        components = merged_components(params.components, params.weights, shares)
        return Params(components, params.weights @ shares, params.prior @ shares)

    def merge(self, params: Params, mass: Array, shares: Array) -> tuple[Self, Params]:
        """Equations and parameters of merged aspects: means weighted by their mass, (K,)."""
        weights = params.weights @ shares
        merged = Params(
            merged_components(params.components, mass, shares),
            weights / weights.sum(),
            params.prior @ shares,
        )
        return replace(self, n_components=shares.shape[1]), merged

    def perturb(self, params: Params, rng: np.random.Generator, amount: float) -> Params:
        components = perturbed(params.components, rng, MORE_NOISE * amount)
        return params._replace(components=components)

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        # Eqs. (6), (8), (9)
        A = X.power(rows, beta)
        B = self.column_powers(X, params, beta)
        mixture = X.mixture(A, B)
        mixtures = new_mixtures(X, A, mixture.rows, params.weights)
        expected = X.map_row_ranges(np.multiply, B, mixture.columns, out=B)
        return mixtures, Statistics(expected, -mixture.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        # Eqs. (7), (9)
        mass = sums(stats.components, axis=0)
        expected = self.with_pseudo_counts(stats.components, params)
        components = normalise(expected, axis=0, otherwise=params.components)
        weights = prior = mass / mass.sum()
        if self.tempering == "distinctive":
            prior = distinctive_shares(stats.components, weights)
        return Params(components, weights, prior)

    def column_powers(self, X: Block, params: Params, beta: float) -> Array:
        """Factors of the columns in posteriors, (M, K), with what tempering leaves of a prior."""
        B = X.power(params.components, beta)
        if self.tempering != "joint":
            B *= params.prior ** (1 - beta)
        return B

    def with_pseudo_counts(self, expected: Array, params: Params) -> Array:
        """Expected counts of columns in aspects, (M, K), and pseudo-counts."""
        return expected + self.component_prior if self.component_prior else expected

    def prior_mass(self, params: Params) -> float | Array:
        """Pseudo-counts of each aspect in all."""
        return self.component_prior * len(params.components)

    @property
    def column_prior(self) -> float:
        return self.component_prior * self.n_components

    def log_prior(self, params: Params, beta: float) -> float:
        if not self.component_prior:
            return 0.0
        with np.errstate(divide="ignore"):  # a warm start may have zeros, for which it is -inf
            logs = np.log(params.components)
        return float(self.component_prior * logs.sum(dtype=np.float64))

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        return params._replace(components=mix_with(params.components, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        M, K = params.components.shape
        return K * (M - 1) + n_rows * (K - 1)

    def fold_in_equations(self, params: Params) -> tuple[FoldIn[Params, Statistics], Params]:
        if not self.row_prior:
            return self, params
        return AspectsForFoldIn(self, self.row_prior, divides_prior=True), params

    def fixed(self, X: Block, params: Params, beta: float) -> FixedComponents:
        return FixedComponents(self.column_powers(X, params, beta), beta, params.weights)

    def critical_beta(self, X: Counts) -> float:
        """The inverse temperature below which all aspects are equal: 1 / (1 + s).

        s is the first canonical correlation of rows and columns: the largest singular value of
        (n_ij - n_i m_j / L) / sqrt(n_i m_j). For aspects near the unigram, P(x_i given z_k) =
        P(x_i) (1 + a_ik) and P(y_j given z_k) = P(y_j) (1 + b_jk), an EM step yields to first order

            a'_ik = beta (a_ik + sum_j P(y_j given x_i) b_jk),
            b'_jk = beta (b_jk + sum_i P(x_i given y_j) a_ik).

        So differences grow by at most beta (1 + s). Pseudo-counts raise the critical value.
        """
        m = X.column_sums.astype(np.float64)
        of_columns = np.sqrt(reciprocals(m))
        squared = 1 / critical_beta(X, X.map_blocks(_factors_and_sums), of_columns, m / m.sum())
        return float(1 / (1 + np.sqrt(squared)))


def distinctive_shares(expected: Array, weights: Array) -> Array:
    """rho (K,), the share of each aspect in the tokens that tell aspects apart.

        rho_k ~ sum_j [m_jk - m_j P(z_k)]+ / (1 - P(z_k)) + e / K

    from expected counts m_jk (M, K), m_j the sum over k, and P(z) (K,). Columns that all aspects
    share in proportion to P(z) have no vote, since tempering makes their shares equal. If no column
    occurs in two aspects, the first term is the size of the aspect. The excess e of random
    assignments, or a part of it, is distributed equally: with few data no aspect takes all.
    Returns P(z) if all aspects are equal.
    """
    P = weights.astype(np.float64)
    m, excess = excess_counts(expected, weights)
    excess /= np.maximum(1 - P, np.finfo(float).eps)
    if excess.sum() <= LEAST_EXCESS * m.sum(dtype=np.float64):
        return weights
    random = RANDOM_EXCESS * np.sqrt(m).sum(dtype=np.float64) * np.sqrt(P).sum()
    shares = excess + random / len(P)
    return (shares / shares.sum()).astype(weights.dtype)


def unigram_of(X: Counts) -> Array:
    """P(y_j), (M,); empty columns are not zero."""
    expected = X.column_sums + NEVER * X.column_sums.mean()
    return (expected / expected.sum()).astype(X.dtype)


def _factors_and_sums(X: Block) -> Array:
    n = X.row_sums.astype(np.float64)
    return np.column_stack([np.sqrt(reciprocals(n)), n])


@dataclass(frozen=True)
class AspectsForFoldIn(ColumnDistributions, FoldIn[Params, Statistics]):
    """Tempered EM of new rows with pseudo-counts of P(z).

    EM decides for one aspect in a row of a few tokens: with one token the limit is P(z given x) ~
    P(y given z)^(beta / (1 - beta)). In long rows tempering itself, whose effect grows with n_i, is
    enough, and a prior as heavy there would do harm. So its pseudo-counts fall with n_i, except
    after leave-one-out EM, in which rows of any length have the same.
    """

    aspects: Aspects
    row_prior: float  # pseudo-counts
    divides_prior: bool  # by the tokens of the row

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        mixtures, stats = self.aspects.expect(X, params, rows, beta)
        shares = self._prior_shares(X)[:, None].astype(X.dtype)
        return mixtures + shares * (params.weights - mixtures), stats

    def fixed(self, X: Block, params: Params, beta: float) -> FixedComponents:
        fixed = self.aspects.fixed(X, params, beta)
        return fixed._replace(prior_shares=self._prior_shares(X))

    def _prior_shares(self, X: Block) -> Array:
        n = X.row_sums.astype(np.float64)
        return self.row_prior * reciprocals(self.row_prior + (n**2 if self.divides_prior else n))


@dataclass(frozen=True)
class PredictiveAspects(ColumnDistributions, OnlineModel[Params, Statistics]):
    """Leave-one-out (predictive) EM for the aspect model: Hofmann & Puzicha (1998), section 5.2.

    In EM a posterior is computed from expected counts that contain it, which matters in short rows.
    With N_ik the expected counts of the row, C_jk of the column and T_k of all, eq. (61) without
    the diagonal is

        r_k ~ [(N_ik - r_k + alpha P(z_k)) (C_jk - r_k + eta) / (T_k - r_k + M eta)]^beta

    with alpha P(z_k) pseudo-counts in every row and eta in every column of an aspect.

    This is zero-order collapsed variational Bayes (A. Asuncion, M. Welling, P. Smyth and Y. W. Teh,
    On smoothing and inference for topic models, UAI 2009), but the r_k on the right is not stored
    from the previous iteration: it is computed as own_k = A_ik B_jk / sum_l A_il B_jl with

        A_ik = (N_ik + alpha P(z_k)) / (n_i + alpha),  B_jk = (C_jk + eta) / (T_k + M eta),

    at most N_ik and C_jk. Both approach plain EM as counts grow. If a row loses its only token,
    P(z_k) remains, and without priors the posterior is uniform (footnote 11).

    The power of the remaining counts is approximated by a rational function:
    ``skcooc.loops.left_out``. The objective is -1/beta sum n_ij log(normaliser of the posterior);
    there is no proof that it falls, as indirect effects are neglected (appendix B). With
    ``tempering="likelihood"`` the posterior has a factor P(z_k)^(1 - beta). T_k is P(z_k) times the
    tokens of the whole table; in a stream C_jk are counts of earlier rows, so that r_k is
    subtracted from the counts of the row alone.

    Leaving out finds better components, but a mixture of all tokens of a row predicts further ones
    better than these N_ik: a fit ends by folding its rows in.
    """

    aspects: Aspects
    row_prior: float = 1.0  # alpha: pseudo-counts of a row in all

    folds_in_own_rows: ClassVar[bool] = True
    patience: ClassVar[int] = 20  # predictions still improve when the objective rises again

    @property
    def plain(self) -> Aspects:
        return self.aspects

    @property
    def component_prior(self) -> float:
        return self.aspects.component_prior

    @property
    def column_prior(self) -> float:
        return self.aspects.column_prior

    def fold_in_equations(self, params: Params) -> tuple[AspectsForFoldIn, Params]:
        return self.batch_equations(), params

    def batch_equations(self) -> AspectsForFoldIn:
        return AspectsForFoldIn(self.aspects, self.row_prior, divides_prior=False)

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        return self.after_a_step(X, *self.aspects.start(X, rng))

    def from_components(self, X: Counts, components: Array) -> tuple[Any, Rows]:
        return self.after_a_step(X, *self.aspects.from_components(X, components))

    def after_a_step(self, X: Counts, params: Params, rows: Rows) -> tuple[Params, Rows]:
        """Return parameters and rows after a step of plain EM."""
        rows, stats = X.expect(self.aspects, params, rows, 1.0)
        return self.aspects.maximize(stats, params, 1.0), rows

    def per_totals(self, X: Block, params: Params) -> Array:
        """1 / (T_k + M eta), (K,); zero in a stream, whose tokens have no end."""
        prior = self.aspects.prior_mass(params) / X.mass
        return reciprocals(params.weights.astype(np.float64) + prior) / X.mass

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        powers = X.power(rows, beta), self.aspects.column_powers(X, params, beta)
        left_out = left_out_counts(
            X,
            (rows, params.components),
            powers,
            (reciprocals(X.row_sums + self.row_prior), self.per_totals(X, params)),
            (self.row_prior * params.weights, self.component_prior),
            beta,
        )
        mixtures = with_prior(X, left_out.rows, self.row_prior, params.weights)
        return mixtures, Statistics(left_out.columns, -left_out.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        return self.aspects.maximize(stats, params, beta)

    def merge(self, params: Params, mass: Array, shares: Array) -> tuple[Self, Params]:
        """Equations and parameters of merged aspects: means weighted by their mass, (K,)."""
        aspects, params = self.aspects.merge(params, mass, shares)
        return replace(self, aspects=aspects), params

    def mix_with(self, params: Params, distribution: Array, share: float) -> Params:
        return self.aspects.mix_with(params, distribution, share)

    def free_parameters(self, params: Params, n_rows: int) -> int:
        return self.aspects.free_parameters(params, n_rows)


def with_prior(X: Block, expected: Array, row_prior: float, weights: Array) -> Array:
    """Mixtures (n, K), in place of the expected counts; ``weights`` (K,) are P(z)."""
    prior = row_prior * weights

    def mix(expected: Array, out: Array) -> None:
        np.add(expected, prior, out=out)
        normalise(out, axis=1, otherwise=weights, out=out)

    return X.map_row_ranges(mix, expected, out=expected)


LEAST_ASPECTS = 32  # of a pilot search for the temperature

USUAL_LENGTH, USUAL_COMPONENTS = 39.5, 32  # of rows; and number: `usual_beta` is 0.75

# Leave-one-out: pseudo-counts of a column in every component and of a row, and factors of both that
# are tried in turn.
PSEUDO_COUNTS = {"component_prior": 0.02, "row_prior": 1.0}
PSEUDO_COUNT_FACTORS = [{"row_prior": 0.3}, {"component_prior": 0.25}]

ROW_PRIOR = 2.0  # of new rows without leave-one-out

TOKENS_PER_ASPECT = 2  # tokens of a row per aspect, below which leave-one-out is tried


def has_short_rows(X: Block, n_components: int) -> bool:
    return mean_length(X) < TOKENS_PER_ASPECT * n_components


def usual_beta(X: Block, n_components: int) -> float:
    """The usual best inverse temperature: from 0.5 for short rows to 1 for long ones."""
    odds = (mean_length(X) / USUAL_LENGTH) ** (2 / 3)
    return beta_of_others(USUAL_COMPONENTS, n_components, (0.5 + odds) / (1 + odds))


def beta_of_others(n_components: int, n_new: int, beta: float) -> float:
    """Best inverse temperature for n_new components, given that for n_components.

    The odds of 1 against 0.5 fall with the fifth root of the number of components.
    """
    far = beta - 0.5
    near = (1 - beta) * (n_new / n_components) ** 0.2
    return (0.5 * near + far) / (near + far)


def usual_predictive_beta(X: Block, n_components: int) -> float:
    return 0.645 + 0.25 * usual_beta(X, n_components)


def mean_length(X: Block) -> float:
    """Mean number of tokens of the non-empty rows, counted by their weights."""
    n_rows = np.sum(X.row_weights * (X.row_sums > 0))
    return float(np.sum(X.row_sums * X.row_weights) / X.mean_count_weight / n_rows)
