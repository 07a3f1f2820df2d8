"""Predictive EM for the aspect model: the posterior of an observation leaves itself out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.equations.aspects import Aspects, Statistics
from skcooc.equations.aspects import Params as PlainParams
from skcooc.protocol import Array, Block, Counts, Equations, Need, Rows
from skcooc.simplex import normalise, sums


class Params(NamedTuple):
    """Parameters of the aspect model, and how many observations they are made of."""

    components: Array  # (M, K): P(y_j given z_k); columns sum to one
    weights: Array  # (K,): P(z_k)
    mass: Array  # (K,): expected observations of each aspect


@dataclass(frozen=True)
class PredictiveAspects(Equations[Params, Statistics]):
    """Equations of the aspect model where every observation is predicted by all the others.

    The E-step in terms of expected counts, memo eq. (61), without the diagonal: section 5.2 and
    appendix B. With N_ik of the row, M_jk of the column and T_k of all, an observation r of the
    cell (i, j) has

        r_k ~ T_k'^(1 - beta) [(N_ik - r_k) (M_jk - r_k) / T_k']^beta ,  T_k' = T_k - r_k,

    or without the first factor where tempering is joint. The memo takes on the right side the
    posterior of the iteration before; here it is that sought, so that none has to be kept. Both
    have the same fixed points. Where nothing is left the posterior is uniform (footnote 11).

    The objective is the free energy of observations that are left out in turn. No proof says that
    it never rises, as appendix B would have observations follow each other.
    """

    aspects: Aspects

    @property
    def needs(self) -> Mapping[Need, str]:
        """Observations that leave themselves out."""
        reason = "leave_one_out=True needs all observations of a column at once; it needs False"
        return {"left_out": reason}

    @property
    def component_prior(self) -> float:
        """That of the aspects."""
        return self.aspects.component_prior

    def folding(self, params: Params) -> tuple[Aspects, PlainParams]:
        """New rows leave nothing out."""
        return self.aspects, _plain(params)

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """One plain step from random components: before it there is nothing to leave out."""
        plain, rows = self.aspects.start(X, rng)
        rows, stats = X.expect(self.aspects, plain, rows, 1.0)
        return self._counted(self.aspects.maximize(stats, plain, 1.0), stats), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """E-step, and the part of the M-step that concerns the rows."""
        of_mass = 1 - beta if self.aspects.tempering == "likelihood" else 0.0
        A = X.power(rows, beta) * params.weights**of_mass
        B = X.power(params.components, beta)
        observed = X.row_sums[:, None].astype(X.dtype)
        totals = self._totals(params)
        expected = rows * observed, params.components * totals
        left_out = X.left_out((A, B), expected, totals, params.mass, (beta, of_mass))
        mixtures = normalise(left_out.rows, axis=1, otherwise=params.weights)
        return mixtures, Statistics(left_out.columns, -left_out.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """M-step for the components and their weights, memo eqs. (7), (9): of all observations."""
        return self._counted(self.aspects.maximize(stats, _plain(params), beta), stats)

    def log_prior(self, params: Params, beta: float) -> float:
        """That of the aspect model."""
        return self.aspects.log_prior(_plain(params), beta)

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Those of the aspect model."""
        return self.aspects.free_parameters(_plain(params), n_rows)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) and P(y given z): memo eq. (11)."""
        return rows, params.components

    def _totals(self, params: Params) -> Array:
        """What the components are expected counts divided by: (K,)."""
        return params.mass + self.aspects.component_prior * len(params.components)

    def _counted(self, plain: PlainParams, stats: Statistics) -> Params:
        return Params(*plain, sums(stats.components, axis=0))


def _plain(params: Params) -> PlainParams:
    return PlainParams(params.components, params.weights)
