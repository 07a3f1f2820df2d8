"""Aspect models where something is known: seed columns, components, earlier counts, groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from skcooc.equations.aspects import Aspects, Statistics, unigram_of
from skcooc.equations.memberships import random_distributions, uniform_mixtures
from skcooc.protocol import Array, Block, Capability, Counts, FoldIn, Rows
from skcooc.simplex import hellinger, normalise, sums

# Shares of seeds and of earlier counts in initial aspects. Where there are seeds, which decide what
# becomes of all, others begin near the unigram: the shape of the gamma distribution of their noise.
SEED_SHARE, COUNTS_SHARE, NOISE_SHAPE = 0.05, 0.9, 20.0
ALIKE = 1e-2  # Hellinger distance of equal distributions of earlier counts, which rounding leaves
GROUP_TOKENS = 100.0  # pseudo-counts of P(z) in the shares of a group
FACTOR_TOKENS = 20.0  # pseudo-counts of 1 in a factor
LABELLED_SHARE = 0.5  # of the labelled rows in an initial aspect of a class


class GuidedParams(NamedTuple):
    """Parameters of an aspect model, and the number of tokens to which they were fitted."""

    components: Array  # (M, K)
    weights: Array  # (K,)
    prior: Array  # (K,)
    n_tokens: Array  # (): the unit of seeds


@dataclass(frozen=True, eq=False)
class Guide:
    """Known facts about K aspects: zeros where nothing is known. Compared by identity."""

    seeds: Array  # (M, K): distributions over seed columns
    fixed_components: Array  # (M, K): components that have no M-step
    counts: Array  # (M, K): pseudo-counts
    allowed: Array | None = None  # (G + 1, K) of bool, by group of rows; None: all

    @cached_property
    def is_fixed(self) -> Array:
        return np.any(self.fixed_components, axis=0)

    @cached_property
    def cells(self) -> tuple[Array, ...]:
        """Columns and aspects with seeds or pseudo-counts, of components that are not fixed."""
        return np.nonzero((self.seeds + self.counts) * ~self.is_fixed)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: sparse arrays in place of those that are mostly zero."""
        names = "seeds", "fixed_components", "counts"
        arrays = {name: vars(self)[name] for name in names}
        mostly_zero = {k: v for k, v in arrays.items() if 2 * np.count_nonzero(v) < v.size}
        return vars(self) | {name: sp.csr_array(v) for name, v in mostly_zero.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        dense = {name: v.toarray() if sp.issparse(v) else v for name, v in state.items()}
        vars(self).update(dense)

    @classmethod
    def empty(cls, shape: tuple[int, int] = (0, 0)) -> Self:
        """Return a guide that knows nothing about aspects of this shape, (M, K)."""
        zeros = np.zeros(shape)
        return cls(zeros, zeros, zeros)


NO_GUIDE = Guide.empty()  # until a table is read


@dataclass(frozen=True)
class GuidedAspects(Aspects):
    """Equations of the aspect model with known pseudo-counts b_jk and known components.

    The M-step is P(y_j given z_k) ~ m_jk + eta + b_jk with expected counts m_jk. The E-step is that
    of `Aspects`; the objective has the further terms -b_jk log P(y_j given z_k), which are not
    tempered. Seeds s_jk, which sum to one over the columns, have b_jk = w s_jk L / K in a table of
    L tokens: in an aspect of mean size a share w / (1 + w) is theirs, however many documents there
    are. A fixed component has no M-step.
    """

    guide: Guide = NO_GUIDE
    seed_strength: float = 0.0  # w

    def pseudo_counts(self, params: Any) -> Array:
        """Known pseudo-counts at the cells of `Guide.cells`, (n,)."""
        cells = self.guide.cells
        per_aspect = float(params.n_tokens) / self.n_components
        return self.seed_strength * per_aspect * self.guide.seeds[cells] + self.guide.counts[cells]

    def with_pseudo_counts(self, expected: Array, params: Any) -> Array:
        cells = self.guide.cells
        if not len(cells[0]):
            return super().with_pseudo_counts(expected, params)
        expected = expected + expected.dtype.type(self.component_prior)
        expected[cells] += self.pseudo_counts(params).astype(expected.dtype)
        return expected

    def prior_mass(self, params: Any) -> Array:
        # No token is left out of a fixed component, as if there were no end of others.
        counts = self.pseudo_counts(params)
        sizes = np.bincount(self.guide.cells[1], weights=counts, minlength=self.n_components)
        mass = sizes + self.component_prior * len(params.components)
        return np.where(self.guide.is_fixed, np.inf, mass)

    def log_prior(self, params: Any, beta: float) -> float:
        free = params
        if self.component_prior and self.guide.is_fixed.any():
            free = params._replace(components=params.components[:, ~self.guide.is_fixed])
        logs = xlogy(self.pseudo_counts(params), params.components[self.guide.cells])
        return super().log_prior(free, beta) + float(np.sum(logs, dtype=np.float64))

    def free_parameters(self, params: Any, n_rows: int) -> int:
        n_fixed = int(np.count_nonzero(self.guide.is_fixed))
        return super().free_parameters(params, n_rows) - n_fixed * (len(params.components) - 1)

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Any, Rows]:
        usual = random_distributions((X.shape[1], self.n_components), X, rng)
        return self.from_components(X, self.initial_components(X, rng, usual))

    @property
    def begins_near_unigram(self) -> bool:
        return bool(self.guide.seeds.any()) or self.guide.allowed is not None

    def from_components(self, X: Counts, components: Array) -> tuple[Any, Rows]:
        weights, rows = uniform_mixtures(X, self.n_components)
        n_tokens = np.array(X.column_sums.sum(), dtype=X.dtype)
        return GuidedParams(self.with_fixed(components), weights, weights, n_tokens), rows

    def for_table(self, params: Any, X: Counts) -> Any:
        components, weights, prior = params[:3]
        n_tokens = np.array(X.column_sums.sum(), dtype=X.dtype)
        return GuidedParams(self.with_fixed(components), weights, prior, n_tokens)

    def initial_components(self, X: Counts, rng: np.random.Generator, usual: Array | None) -> Array:
        """Return the usual components, (M, K); where there are seeds, all near the unigram."""
        unigram = unigram_of(X)[:, None]
        if self.begins_near_unigram:
            noise = rng.gamma(NOISE_SHAPE, size=self.guide.seeds.shape)
            start = normalise(unigram * noise, axis=0, otherwise=unigram)
        else:
            start = cast(Array, usual)
        counts = normalise(self.guide.counts, axis=0, otherwise=0.0)
        alike = (hellinger(counts.T) < ALIKE).sum(axis=0) > 1  # they tell no aspects apart
        for P, share in ((self.guide.seeds, SEED_SHARE), (counts * ~alike, COUNTS_SHARE)):
            start = np.where(P.any(axis=0), unigram + share * (P - unigram), start)
        return start.astype(X.dtype)

    def with_fixed(self, components: Array) -> Array:
        """Return the components, with the fixed ones of the guide in their places."""
        is_fixed = self.guide.is_fixed
        if not is_fixed.any():
            return components
        fixed = np.zeros_like(components)
        # A stream may have further columns.
        fixed[: len(self.guide.fixed_components)] = self.guide.fixed_components
        return np.where(is_fixed, fixed, components)

    def merge(self, params: Any, mass: Array, shares: Array) -> tuple[Self, Any]:
        """Equations and parameters of merged aspects; nothing is known of them."""
        equations, merged = super().merge(params, mass, shares)
        guide = Guide.empty(merged.components.shape)
        return replace(equations, guide=guide), GuidedParams(*merged, params.n_tokens)

    def maximize(self, stats: Statistics, params: Any, beta: float) -> Any:
        n_tokens = np.sum(stats.components, dtype=np.float64).astype(stats.components.dtype)
        params = params._replace(n_tokens=n_tokens)
        components, weights, prior = super().maximize(stats, params, beta)
        return GuidedParams(self.with_fixed(components), weights, prior, n_tokens)


class GroupedParams(NamedTuple):
    """Parameters for G groups; the last of G + 1 rows is of rows in no group.

    The state of a row is its mixture freed from the factors of its group; see `GroupedAspects`.
    """

    components: Array  # (M, K)
    weights: Array  # (K,)
    prior: Array  # (K,)
    n_tokens: Array  # ()
    group_mixtures: Array  # (G + 1, K): P(z given g), and P(z)
    column_factors: Array  # (G + 1, M): s_gj, and ones
    exposures: Array  # (G + 1, K): sum_j s_gj P(y_j given z), and ones


class GroupedStatistics(NamedTuple):
    """Statistics with sums over the rows of each group."""

    components: Array  # (M, K)
    group_components: Array  # (G + 1, K): expected counts of aspects
    group_columns: Array  # (G + 1, M): counts of columns
    free_energy: float


@dataclass(frozen=True)
class GroupedAspects(GuidedAspects):
    """Equations of the aspect model where rows i are in groups g(i).

        P(y_j given x_i) = s_gj sum_k theta_ik phi_jk / sum_k theta_ik S_gk

    with components phi_jk = P(y_j given z_k), factors s_gj of columns, such as effects of a batch,
    and S_gk = sum_j s_gj phi_jk. Factors cancel in the posteriors of a token: the E-step is that of
    `Aspects`. A row has the expected counts N_ik = n_i pi_ik of aspects, and theta_ik ~ pi_ik /
    S_gk. The M-steps are those of a Poisson model with means s_gj sum_k theta_ik phi_jk, in turn:

        Theta_gk = sum_i N_ik / S_gk,  phi_jk ~ (m_jk + b_jk) / sum_g s_gj Theta_gk,
        s_gj = (N_gj + a) / (sum_k Theta_gk phi_jk + a)

    and, where no component is fixed, the geometric mean of the factors of a column becomes one, in
    the groups that have the column. Without factors s_gj = 1.

    A row may have r pseudo-counts of P(z given g), the shares of the aspects in its group:
    pi_ik ~ N_ik + r P(z_k given g(i)). And only some aspects may be allowed in the rows of a group.
    """

    n_groups: int = 1
    has_factors: bool = False  # whether columns have factors
    has_shares: bool = False  # whether rows have the shares of their group as a prior
    is_new: bool = False  # whether rows are new

    needs: ClassVar[Mapping[Capability, str]] = {
        "groups": "groups of rows need counts in memory; set group_effects=None"
    }

    def from_components(self, X: Counts, components: Array) -> tuple[Any, Rows]:
        guided, rows = super().from_components(X, components)
        ones = np.ones((self.n_groups + 1, len(guided.components)), X.dtype)
        mixtures = np.tile(guided.weights, (self.n_groups + 1, 1))
        return GroupedParams(
            **guided._asdict(),
            group_mixtures=mixtures,
            column_factors=ones,
            exposures=np.ones_like(mixtures),
        ), rows

    def for_table(self, params: Any, X: Counts) -> Any:
        guided = super().for_table(params, X)
        exposures = params.column_factors @ guided.components
        return params._replace(**guided._asdict(), exposures=exposures)

    def initial_components(self, X: Counts, rng: np.random.Generator, usual: Array | None) -> Array:
        start = super().initial_components(X, rng, usual)
        if self.guide.allowed is None:
            return start
        # Aspects of a class are half those of its rows; where it has several, they need noise.
        allowed = self.guide.allowed[:-1]
        class_aspects = allowed & ~allowed.all(axis=0)
        of_class = cast(Block, X).column_sums_by_group(self.n_groups)[:-1].T @ class_aspects
        if (class_aspects.sum(axis=1) > 1).any():
            of_class *= rng.gamma(NOISE_SHAPE, size=of_class.shape)
        of_class = normalise(of_class, axis=0, otherwise=0.0)
        unigram = unigram_of(X)[:, None]
        mixed = unigram + LABELLED_SHARE * (of_class - unigram)
        return np.where(of_class.any(axis=0), mixed, start).astype(X.dtype)

    def balanced(self, X: Counts) -> Counts:
        """Return counts whose columns are as frequent in all groups: else clusters are groups."""
        if not self.has_factors:
            return X
        rows = cast(Block, X)
        sums = rows.column_sums_by_group(self.n_groups)
        expected = sums.sum(axis=1, keepdims=True) * (X.column_sums / X.column_sums.sum())
        ratios = (expected + FACTOR_TOKENS) / (sums + FACTOR_TOKENS)
        groups = np.repeat(self.groups(rows), np.diff(rows.table.indptr))
        equal = rows.table.data * ratios[groups, rows.indices].astype(X.dtype)
        return rows.replaced(equal)

    def expect(self, X: Block, params: Any, rows: Rows, beta: float) -> tuple[Rows, Any]:
        groups = self.groups(X)
        if self.guide.allowed is not None:
            rows = normalise(rows * self.guide.allowed[groups], axis=1, otherwise=0.0)
        mixtures, plain = super().expect(X, params, rows, beta)
        sizes = X.row_sums[:, None].astype(X.dtype)
        free_energy = plain.free_energy
        if self.has_shares or self.is_new:
            prior = params.group_mixtures[groups] if self.has_shares else params.weights
            prior = np.broadcast_to(prior, (len(groups), self.n_components))
            per_row = np.ones_like(sizes) if self.has_shares else np.maximum(sizes, 1)
            pseudo_counts = self.row_prior / per_row
            mixtures = normalise(sizes * mixtures + pseudo_counts * prior, axis=1, otherwise=prior)
            of_rows = np.sum(xlogy(prior, rows), axis=1, dtype=np.float64)
            free_energy -= float(np.sum(X.row_weights * pseudo_counts[:, 0] * of_rows))
        mass = sizes * X.row_weights[:, None].astype(X.dtype)
        by_group = _sums_by_group(groups, self.n_groups, mass * mixtures)
        columns = X.column_sums_by_group(self.n_groups).astype(X.dtype)
        if self.has_factors:
            free_energy += self.of_factors(X, params, rows, groups, columns)
            mixtures /= params.exposures[groups]
            normalise(mixtures, axis=1, otherwise=params.weights, out=mixtures)
        return mixtures, GroupedStatistics(plain.components, by_group, columns, free_energy)

    def of_factors(self, X: Block, params: Any, rows: Rows, groups: Array, columns: Array) -> float:
        """Return the term that the factors add to the free energy, nats."""
        scales = np.log(sums(rows * params.exposures[groups], axis=1), dtype=np.float64)
        total = np.sum(X.row_weights * X.row_sums * scales)
        return float(total - np.sum(xlogy(columns, params.column_factors), dtype=np.float64))

    def groups(self, X: Block) -> Array:
        """Group of each row, (n,); -1 where it is unknown."""
        if X.row_groups is None:
            return np.full(X.shape[0], -1)
        return np.where(X.row_groups < self.n_groups, X.row_groups, -1)

    def maximize(self, stats: Any, params: Any, beta: float) -> Any:
        plain = super().maximize(Statistics(stats.components, 0.0), params, beta)
        of_group = stats.group_components + GROUP_TOKENS * plain.weights
        of_group[-1] = plain.weights
        mixtures = normalise(of_group, axis=1, otherwise=plain.weights)
        components = plain.components
        factors = params.column_factors
        if self.has_factors:
            components, factors = self.fit_factors(stats, params, components)
        plain = plain._replace(components=components)
        return GroupedParams(
            **plain._asdict(),
            group_mixtures=mixtures,
            column_factors=factors,
            exposures=factors @ components,
        )

    def fit_factors(self, stats: Any, params: Any, components: Array) -> tuple[Array, Array]:
        """New components (M, K) and factors (G + 1, M), given components without factors."""
        use = stats.group_components / params.exposures  # Theta
        exposed = params.column_factors.T @ use
        components = self.with_fixed(normalise(components / exposed, axis=0, otherwise=components))
        use *= sums(stats.components, axis=0) / sums(components * exposed, axis=0)
        expected = use @ components.T
        factors = (stats.group_columns + FACTOR_TOKENS) / (expected + FACTOR_TOKENS)
        factors[-1] = 1
        if not self.guide.is_fixed.any():
            seen = stats.group_columns[:-1] > 0
            logs = np.sum(np.log(factors[:-1]) * seen, axis=0)
            mean = np.exp(logs / np.maximum(seen.sum(axis=0), 1)).astype(factors.dtype)
            factors[:-1] /= mean
            components = normalise(components * mean[:, None], axis=0, otherwise=components)
        return components, factors

    def merge(self, params: Any, mass: Array, shares: Array) -> tuple[Self, Any]:
        equations, merged = super().merge(params, mass, shares)
        return equations, GroupedParams(
            **merged._asdict(),
            group_mixtures=normalise(
                params.group_mixtures @ shares, axis=1, otherwise=merged.weights
            ),
            column_factors=params.column_factors,
            exposures=params.column_factors @ merged.components,
        )

    def log_prior(self, params: Any, beta: float) -> float:
        factors = params.column_factors
        of_factors = FACTOR_TOKENS * np.sum(np.log(factors) - factors + 1, dtype=np.float64)
        return super().log_prior(params, beta) + float(of_factors)

    def free_parameters(self, params: Any, n_rows: int) -> int:
        # The scale of the factors of a group cancels, and where no component is fixed also that of
        # the factors of a column.
        n_free = self.n_groups - (not self.guide.is_fixed.any())
        of_factors = n_free * (len(params.components) - 1) if self.has_factors else 0
        return super().free_parameters(params, n_rows) + of_factors

    def restrict(self, params: Any, columns: Array) -> Any:
        factors = params.column_factors[:, columns]
        return params._replace(components=params.components[columns], column_factors=factors)

    def among(self, params: Any, columns: Array, n_columns: int, share: float = 0.0) -> Any:
        guided: Any = GuidedParams(*params[: len(GuidedParams._fields)])
        wide = GuidedAspects(self.n_components).among(guided, columns, n_columns, share)
        factors = np.ones((len(params.column_factors), n_columns), params.column_factors.dtype)
        factors[:, columns] = params.column_factors
        return params._replace(
            **wide._asdict(), column_factors=factors, exposures=factors @ wide.components
        )

    def predict(self, params: Any, rows: Rows, X: Block) -> Array:
        return self.ratios(params, rows, X) * super().predict(params, rows, X)

    def ratios(self, params: Any, rows: Rows, X: Block) -> Array:
        """P(y_j given x_i) over the sum_k theta_ik phi_jk, at the non-zeros, (nnz,)."""
        groups = self.groups(X)
        scales = sums(rows * params.exposures[groups], axis=1)
        of_row = np.repeat(np.arange(X.shape[0]), np.diff(X.table.indptr))
        return params.column_factors[groups[of_row], X.indices] / scales[of_row]

    def fold_in_equations(self, params: Any) -> tuple[FoldIn[Any, Any], Any]:
        return replace(self, is_new=True), params

    def fixed(self, X: Block, params: Any, beta: float) -> None:  # type: ignore[override]
        return None  # rows of different groups have different priors


def _sums_by_group(groups: Array, n_groups: int, values: Array) -> Array:
    """Sums of values (n, K) over the rows of each group, and over all others, (G + 1, K)."""
    n = len(groups)
    places = np.ones(n, values.dtype), groups % (n_groups + 1), np.arange(n + 1)
    return np.asarray(sp.csc_array(places, shape=(n_groups + 1, n)) @ values)
