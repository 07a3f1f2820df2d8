"""Aspects of rows and of columns in all pairs: the equations of the product-space mixture model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from skcooc.em import Leg, OverRelaxation, fit, rising
from skcooc.em.legs import Part
from skcooc.equations.aspects import Aspects, new_mixtures
from skcooc.protocol import Array, Block, Counts, FixedComponents, Need, OnlineModel, Rows
from skcooc.simplex import diluted, normalise, sums

# The aspect model that is the start: at a temperature that suits most data, not to the end.
START_BETA, START_ITERATIONS, START_TOL, START_RELAXATION = 0.85, 60, 1e-5, 1.8
INDEPENDENT = 0.05  # share of the start in which row and column aspects are independent


class Params(NamedTuple):
    """Parameters of the product-space mixture model; P(c given x) is the state of the rows."""

    components: Array  # (M, D): P(y_j given d); columns sum to one
    joint: Array  # (C, D): P(c, d)
    weights: Array  # (C,): P(c)


class Statistics(NamedTuple):
    """Sums over the observations of a block."""

    components: Array  # (M, D): sum_ic n_ij r_ij(cd)
    joint: Array  # (C, D): sum_ij n_ij r_ij(cd)
    free_energy: float  # -(1/beta) sum n_ij log sum_cd prior (likelihood)^beta, nats


@dataclass(frozen=True)
class ProductAspects(OnlineModel[Params, Statistics]):
    """Equations of the product-space mixture model (PMM): memo, eqs. (15)-(19).

    P(x, y) = sum_cd P(c, d) P(x given c) P(y given d). At inverse temperature beta an observation
    has the posterior

        joint:       r_ij(cd) ~ [P(c, d) P(x_i given c) P(y_j given d)]^beta
        likelihood:  r_ij(cd) ~ P(c, d) [P(x_i given c) P(y_j given d)]^beta   (memo, eq. 65)

    The C x D posteriors of an observation are never formed. With T_cd the power of P(d given c) and
    A' = A T, where A is the power of P(c given x), the sums over d come from the product that the
    aspect model needs for D aspects, and those over c from two small matrix products.
    """

    n_row_components: int
    n_column_components: int
    tempering: Literal["joint", "likelihood"] = "likelihood"
    annealing: float | None = None

    needs: ClassVar[Mapping[Need, str]] = {}

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """An aspect model, its aspects merged on the side that has fewer; annealed with annealing.

        At random, components would end at the unigram for all but large beta. Where all are nearly
        the same, a difference of theirs grows by beta (1 + r s) from step to step, s being the
        first canonical correlation of rows and columns, as in ``Aspects.critical_beta``, and r that
        of the aspects c and d under P(c, d). A random P(c, d) has a small one, and the critical
        beta is nearly 1; it is that of the aspect model where each c has a d of its own. With joint
        tempering even such a P(c, d) is levelled out, since it is taken to the power of beta.
        """
        aspects = Aspects(max(self.n_row_components, self.n_column_components))
        leg = Leg(aspects, X, START_BETA, START_ITERATIONS, START_TOL)
        legs: Sequence[Part] = leg.burned_in()
        if self.annealing is not None:
            legs = rising(self.annealing, aspects.critical_beta)(leg)
        found = fit(legs, rng, OverRelaxation(START_RELAXATION))
        B, weights = found.params
        into_rows = _merged(B, self.n_row_components)
        into_columns = _merged(B, self.n_column_components)
        joint = (into_rows * weights[:, None]).T @ into_columns
        independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        joint = (1 - INDEPENDENT) * joint + INDEPENDENT * independent
        components = normalise(
            (B * weights) @ into_columns, axis=0, otherwise=(B @ weights)[:, None]
        )
        return Params(components, joint, sums(joint, axis=1)), found.rows @ into_rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """E-step, and the part of the M-step that concerns the rows: memo, eqs. (6), (18)."""
        A, B = X.power(rows, beta), X.power(params.components, beta)
        T = self.transitions(params, beta)
        mixture = X.mixture(A @ T, B)
        weights = X.row_weights[:, None].astype(X.dtype)
        joint = T * ((A * weights).T @ mixture.rows)
        mixtures = new_mixtures(X, A, mixture.rows @ T.T, params.weights)
        expected = X.rowwise(np.multiply, B, mixture.columns, out=B)
        return mixtures, Statistics(expected, joint, -mixture.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """M-step for columns and pairs: memo, eqs. (7), (19)."""
        components = normalise(stats.components, axis=0, otherwise=params.components)
        joint = stats.joint / stats.joint.sum()
        return Params(components, joint, sums(joint, axis=1))

    def log_prior(self, params: Params, beta: float) -> float:
        """None: maximum likelihood."""
        return 0.0

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every component is, in this share, the distribution."""
        return params._replace(components=diluted(params.components, distribution, share))

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Components, P(d given c), and mixtures of the rows: with P(x), memo, eq. (17)."""
        (M, D), C = params.components.shape, len(params.joint)
        return D * (M - 1) + C * (D - 1) + n_rows * (C - 1)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(c given x) and P(y given c)."""
        return rows, params.components @ _given_rows(params).T

    def fixed(self, X: Block, params: Params, beta: float) -> FixedComponents:
        """What the powers of the components of columns are for aspects of rows."""
        B = X.power(params.components, beta)
        # BLAS would have digits of a column depend on how many other columns there are.
        of_rows = np.einsum("jd,cd->jc", B, self.transitions(params, beta))
        return FixedComponents(of_rows, beta, params.weights)

    def transitions(self, params: Params, beta: float) -> Array:
        """What stands between the powers of P(c given x) and of P(y given d), (C, D)."""
        if self.tempering == "joint":
            return _given_rows(params) ** beta
        weights = params.weights[:, None]
        return np.divide(
            params.joint, weights**beta, out=np.zeros_like(params.joint), where=weights > 0
        )


def _given_rows(params: Params) -> Array:
    """P(d given c), (C, D)."""
    return normalise(params.joint, axis=1, otherwise=sums(params.joint, axis=0))


def _merged(B: Array, n_groups: int) -> Array:
    """Indicators (K, n_groups) of groups of similar components: Ward's method on their roots."""
    n_components = B.shape[1]
    if n_groups == n_components:
        return np.eye(n_components, dtype=B.dtype)
    labels = fcluster(linkage(np.sqrt(B.T), "ward"), n_groups, "maxclust") - 1
    return np.eye(n_groups, dtype=B.dtype)[labels]
