"""The aspect model of three indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, cast

import numpy as np

from skcooc.equations.aspects import distinctive_shares
from skcooc.equations.memberships import ColumnDistributions, random_distributions, uniform_mixtures
from skcooc.loops.updates import new_mixtures
from skcooc.protocol import Array, Block, Capability, Counts, Equations, Rows, Triples
from skcooc.simplex import normalise, sums


class Params(NamedTuple):
    """Parameters of the triadic aspect model; the state of the rows is P(z given x)."""

    components: Array  # (L, K): P(w_l given z_k); columns sum to one
    middle: Array  # (M, K): P(y_j given z_k); columns sum to one
    weights: Array  # (K,): P(z_k)
    prior: Array  # (K,): rho_k; posteriors have a factor rho_k^(1 - beta)


class Statistics(NamedTuple):
    components: Array  # (L, K): sum_ij n_ijl r_ijlk
    middle: Array  # (M, K): sum_il n_ijl r_ijlk
    free_energy: float  # -(1/beta) sum n_ijl log sum_k (joint probability)^beta, nats


@dataclass(frozen=True)
class TriadicAspects(ColumnDistributions, Equations[Params, Statistics]):
    """Equations of the aspect model of triples (x_i, y_j, w_l).

    P(x_i, y_j, w_l) = sum_k P(z_k) P(x_i given z_k) P(y_j given z_k) P(w_l given z_k): Hofmann &
    Puzicha (1998), eqs. (1)-(11), with one more factor. At inverse temperature beta a token has the
    posterior

        r_ijlk ~ rho_k^(1 - beta)
                 [P(z_k) P(x_i given z_k)^a P(y_j given z_k)^b P(w_l given z_k)]^beta

    where rho are the `distinctive_shares` of w, or equal (joint tempering), and a and b are the
    ``exponents`` of the two given indices; with a = 0 or b = 0 it is that of the model of two
    indices. The free energy is computed without P(x), which cancels. Predictions are of the last
    index given the two others, from the product in brackets without it, at beta = 1.
    """

    n_components: int
    component_prior: float = 0.0
    exponents: tuple[float, float] = (1.0, 1.0)
    tempering: Literal["distinctive", "joint"] = "distinctive"

    needs: ClassVar[Mapping[Capability, str]] = {
        "triples": "the model takes tokens of three indices: give skcooc.Triads",
        "each step": "every step sees all rows",
    }

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        shapes = ((size, self.n_components) for size in cast(Triples, X).sizes)
        middle, components = (random_distributions(shape, X, rng) for shape in shapes)
        weights, rows = uniform_mixtures(X, self.n_components)
        return Params(components, middle, weights, weights), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        n_rows = len(rows)
        # [P(x given z) / P(x)]^(a beta) above P(y given z)^(b beta), (N + M, K)
        pairs = zip((self._relative(params, rows), params.middle), self.exponents, strict=True)
        A = np.concatenate([X.power(P, exponent * beta) for P, exponent in pairs])
        B = X.power(params.components * params.weights, beta)
        if self.tempering == "distinctive":
            B *= params.prior ** (1 - beta)
        mixture = X.mixture(A, B)
        middle = X.map_row_ranges(np.multiply, A[n_rows:], mixture.rows[n_rows:])
        mixtures = new_mixtures(X, A[:n_rows], mixture.rows[:n_rows], params.weights)
        components = X.map_row_ranges(np.multiply, B, mixture.columns, out=B)
        return mixtures, Statistics(components, middle, -mixture.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        mass = sums(stats.components, axis=0)
        components = stats.components
        middle = stats.middle
        if self.component_prior:
            c, c_middle = self._pseudo_counts(params)
            components = components + c
            middle = middle + c_middle
        components = normalise(components, axis=0, otherwise=params.components)
        middle = normalise(middle, axis=0, otherwise=params.middle)
        weights = prior = mass / mass.sum()
        if self.tempering == "distinctive":
            prior = distinctive_shares(stats.components, weights)
        return Params(components, middle, weights, prior)

    def log_prior(self, params: Params, beta: float) -> float:
        if not self.component_prior:
            return 0.0
        c, c_middle = self._pseudo_counts(params)
        pairs = (c, params.components), (self.exponents[1] * c_middle, params.middle)
        with np.errstate(divide="ignore"):  # a warm start may have zeros
            return sum(c * float(np.log(P).sum(dtype=np.float64)) for c, P in pairs)

    def free_parameters(self, params: Params, n_rows: int) -> int:
        K = self.n_components
        return n_rows * (K - 1) + sum(K * (len(P) - 1) for P in (params.components, params.middle))

    def prediction_factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        # Of x and y, (N + M, K), and of w, (L, K): see `TripleCounts`.
        mixtures = self._relative(params, rows) ** self.exponents[0] * params.weights
        mixtures = normalise(mixtures, axis=1, otherwise=params.weights)
        middle = params.middle ** self.exponents[1]
        return np.concatenate([mixtures, middle]), params.components

    def predict(self, params: Params, rows: Rows, X: Block) -> Array:
        return X.cells(*self.prediction_factors(params, rows)).astype(np.float64)

    def _relative(self, params: Params, rows: Rows) -> Array:
        """P(x given z) / P(x) = P(z given x) / P(z), (N, K)."""
        return np.divide(rows, params.weights, out=np.zeros_like(rows), where=params.weights > 0)

    def _pseudo_counts(self, params: Params) -> tuple[float, float]:
        c = self.component_prior
        return c, c * len(params.components) / len(params.middle)
