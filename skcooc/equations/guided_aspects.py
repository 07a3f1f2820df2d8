"""Aspect models where something is known: seed columns, whole components, or earlier counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from scipy.special import xlogy

from skcooc.em.stages import unknown_rows
from skcooc.equations.aspects import Aspects, Statistics, unigram_of
from skcooc.protocol import Array, Counts, Rows
from skcooc.simplex import hellinger, normalise

# Shares of seeds and of earlier counts in initial aspects. Where there are seeds, which decide what
# becomes of all, others begin near the unigram: the shape of the gamma distribution of their noise.
SEED_SHARE, COUNTS_SHARE, NOISE_SHAPE = 0.05, 0.9, 20.0
ALIKE = 1e-2  # Hellinger distance of equal distributions of earlier counts, which rounding leaves


class GuidedParams(NamedTuple):
    """Parameters of an aspect model, and the number of tokens to which they were fitted."""

    components: Array  # (M, K)
    weights: Array  # (K,)
    prior: Array  # (K,)
    n_tokens: Array  # (): the unit of seeds


@dataclass(frozen=True, eq=False)
class Guide:
    """What is known of K aspects; zero where nothing is. Equal to itself alone."""

    seeds: Array  # (M, K): distributions over seed columns
    kept: Array  # (M, K): components that are kept
    counts: Array  # (M, K): pseudo-counts
    allowed: Array | None = None  # (G + 1, K) of bool, by group of rows; None: all

    @cached_property
    def is_kept(self) -> Array:
        """Whether each component is kept, (K,)."""
        return np.any(self.kept, axis=0)

    @cached_property
    def cells(self) -> tuple[Array, ...]:
        """Columns and aspects with seeds or pseudo-counts, of components that are not kept."""
        return np.nonzero((self.seeds + self.counts) * ~self.is_kept)


@dataclass(frozen=True)
class GuidedAspects(Aspects):
    """Equations of the aspect model with known pseudo-counts b_jk and known components.

    The M-step is P(y_j given z_k) ~ m_jk + eta + b_jk with expected counts m_jk. The E-step is that
    of `Aspects`; the objective has the further terms -b_jk log P(y_j given z_k), which are not
    tempered. Seeds s_jk, which sum to one over the columns, have b_jk = w s_jk L / K in a table of
    L tokens: in an aspect of mean size a share w / (1 + w) is theirs, however many documents there
    are. A component that is kept has no M-step.
    """

    guide: Guide | None = None
    seed_strength: float = 0.0  # w

    @property
    def supports_alternating(self) -> bool:
        return False

    def pseudo_counts(self, params: Any) -> Array:
        """Known pseudo-counts at the cells of `Guide.cells`, (n,)."""
        guide, per_aspect = self.known, float(params.n_tokens) / self.n_components
        known = self.seed_strength * per_aspect * guide.seeds[guide.cells]
        return known + guide.counts[guide.cells]

    def with_pseudo_counts(self, expected: Array, params: Any) -> Array:
        cells = self.known.cells
        if not len(cells[0]):
            return super().with_pseudo_counts(expected, params)
        expected = expected + expected.dtype.type(self.component_prior)
        expected[cells] += self.pseudo_counts(params).astype(expected.dtype)
        return expected

    def prior_mass(self, params: Any) -> Array:
        # No token is left out of a component that is kept, as if there were no end of others.
        of_aspect, K = self.known.cells[1], self.n_components
        known = np.bincount(of_aspect, weights=self.pseudo_counts(params), minlength=K)
        mass = known + self.component_prior * len(params.components)
        return np.where(self.known.is_kept, np.inf, mass)

    def log_prior(self, params: Any, beta: float) -> float:
        guide, free = self.known, params
        if self.component_prior and guide.is_kept.any():
            free = params._replace(components=params.components[:, ~guide.is_kept])
        known = xlogy(self.pseudo_counts(params), params.components[guide.cells])
        return super().log_prior(free, beta) + float(np.sum(known, dtype=np.float64))

    @property
    def known(self) -> Guide:
        return cast(Guide, self.guide)

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Any, Rows]:
        components = self.initial_components(X, rng)
        weights = np.full(self.n_components, 1 / self.n_components, dtype=X.dtype)
        n_tokens = np.array(X.column_sums.sum(), dtype=X.dtype)
        params = GuidedParams(self.with_kept(components), weights, weights, n_tokens)
        return params, unknown_rows(params, X)

    quick_start = random = start

    def initial_components(self, X: Counts, rng: np.random.Generator) -> Array:
        """The usual ones, (M, K); where there are seeds, all near the unigram."""
        guide, unigram = self.known, unigram_of(X)[:, None]
        if guide.seeds.any() or guide.allowed is not None:
            noise = rng.gamma(NOISE_SHAPE, size=guide.seeds.shape)
            start = normalise(unigram * noise, axis=0, otherwise=unigram)
        else:
            start = self.usual_start(X, rng)
        counts = normalise(guide.counts, axis=0, otherwise=0.0)
        alike = (hellinger(counts.T) < ALIKE).sum(axis=0) > 1  # they tell no aspects apart
        for known, share in ((guide.seeds, SEED_SHARE), (counts * ~alike, COUNTS_SHARE)):
            start = np.where(known.any(axis=0), unigram + share * (known - unigram), start)
        return start.astype(X.dtype)

    def usual_start(self, X: Counts, rng: np.random.Generator) -> Array:
        return super().start(X, rng)[0].components

    def with_kept(self, components: Array) -> Array:
        guide = self.known
        if not guide.is_kept.any():
            return components
        kept = np.zeros_like(components)
        kept[: len(guide.kept)] = guide.kept  # a stream may have further columns
        return np.where(guide.is_kept, kept, components)

    def merge(self, params: Any, mass: Array, shares: Array) -> tuple[Self, Any]:
        """Equations and parameters of merged aspects; nothing is known of them."""
        equations, merged = super().merge(params, mass, shares)
        nothing = np.zeros_like(merged.components)
        guide = Guide(nothing, nothing, nothing)
        return replace(equations, guide=guide), GuidedParams(*merged, params.n_tokens)

    def maximize(self, stats: Statistics, params: Any, beta: float) -> Any:
        n_tokens = np.sum(stats.components, dtype=np.float64).astype(stats.components.dtype)
        params = params._replace(n_tokens=n_tokens)
        components, weights, prior = super().maximize(stats, params, beta)
        return GuidedParams(self.with_kept(components), weights, prior, n_tokens)
