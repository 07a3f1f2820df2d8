"""Predictive EM for the aspect model: the posterior of an observation leaves itself out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from skcooc.equations.aspects import Aspects, Params, Statistics
from skcooc.equations.memberships import reciprocals
from skcooc.protocol import Array, Block, Counts, FoldIn, Need, OnlineModel, Rows
from skcooc.simplex import normalise


@dataclass(frozen=True)
class PredictiveAspects(OnlineModel[Params, Statistics]):
    """Equations of the aspect model where every observation is predicted by all the others.

    In EM a posterior is made of expected counts that contain it (memo, section 5.2), so that every
    observation votes for its own aspect: the more, the shorter its row. With N_ik the expected
    counts of the row, C_jk of the column and T_k of all, memo eq. (61) without the diagonal, with
    alpha P(z_k) pseudo-observations in every row and eta in every column of an aspect, is

        r_k ~ [(N_ik - r_k + alpha P(z_k)) (C_jk - r_k + eta) / (T_k - r_k + M eta)]^beta .

    Integrating mixtures and components out of a model with these Dirichlet priors leaves, for one
    observation given the aspects of all others, this very form with counts in place of expected
    ones; to put expected counts in is collapsed variational Bayes of order zero (A. Asuncion, M.
    Welling, P. Smyth and Y. W. Teh, On smoothing and inference for topic models, UAI 2009). There
    and in appendix B the r_k on the right is that of the iteration before, which would have to be
    kept. Here it is own_k = A_ik B_jk / sum_l A_il B_jl, what the parameters of now say:

        A_ik = (N_ik + alpha P(z_k)) / (n_i + alpha),  B_jk = (C_jk + eta) / (T_k + M eta),

    at most N_ik and C_jk. A fixed point has r_k by the first equation, with own_k for r_k on its
    right, and N_ik = sum_j n_ij r_ijk and C_jk = sum_i n_ij r_ijk. It is near one of collapsed
    variational Bayes where counts are large: r_k is own_k but for a factor 1 + O(1 / N_ik + 1 /
    C_jk), so that what is left differs by the square of these; with ever larger counts both are
    those of plain EM. Where a row loses its only observation, P(z_k) remains, and where there are
    no priors the posterior is uniform (footnote 11).

    The power of what is left is a rational function of it: ``skcooc.counts.left_out``. The
    objective is -1/beta sum n_ij log of what normalises the posteriors. There is no proof that it
    falls: the equations are the stationary ones of no function known, as indirect effects are left
    out (appendix B). In the second form of tempering the posterior is times P(z_k)^(1 - beta).

    Rows may be some of a table: all that they need of the others is in the parameters, and T_k is
    P(z_k) times the observations of the whole. In a stream the C_jk are those of rows that came
    before, and the r_k is left out of the row alone, as if there were no end of observations. To
    leave it out of columns, too, as rows of a table in blocks come again in every pass, predicted
    worse: there the mean of all batches holds only a part of it.
    """

    aspects: Aspects
    row_prior: float = 1.0  # alpha: pseudo-counts of a row in all

    needs: ClassVar[Mapping[Need, str]] = {}

    @property
    def patience(self) -> int:
        """Two iterations: the objective may go up and down by turns on its way."""
        return 2

    @property
    def component_prior(self) -> float:
        """That of the aspects."""
        return self.aspects.component_prior

    def folding(self, params: Params) -> tuple[AspectsWithPrior, Params]:
        """New rows leave nothing out."""
        return self.joining(), params

    def joining(self) -> AspectsWithPrior:
        """Rows of a batch leave nothing out but in the E-step that the M-step is made of."""
        return AspectsWithPrior(self.aspects, self.row_prior)

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """One plain step from clusters: before it there is nothing to leave out."""
        params, rows = self.aspects.start(X, rng)
        rows, stats = X.expect(self.aspects, params, rows, 1.0)
        return self.aspects.maximize(stats, params, 1.0), rows

    def per_totals(self, X: Block, params: Params) -> Array:
        """One by the expected counts, and pseudo-counts, of each aspect, (K,); 0 without end."""
        prior = self.component_prior * len(params.components) / X.mass
        return reciprocals(params.weights.astype(np.float64) + prior) / X.mass

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """E-step, and the part of the M-step that concerns the rows."""
        powers = X.power(rows, beta), X.power(params.components, beta)
        if self.aspects.tempering == "likelihood":
            powers[0][:] *= params.weights ** (1 - beta)
        left_out = X.left_out(
            (rows, params.components),
            powers,
            (reciprocals(X.row_sums + self.row_prior), self.per_totals(X, params)),
            (self.row_prior * params.weights, self.component_prior),
            beta,
        )
        mixtures = with_prior(X, left_out.rows, self.row_prior, params.weights)
        return mixtures, Statistics(left_out.columns, -left_out.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """M-step for the components and their weights, memo eqs. (7), (9): of all observations."""
        return self.aspects.maximize(stats, params, beta)

    def joined(self, params: Params, mass: Array, shares: Array) -> tuple[Self, Params]:
        """Equations and parameters of aspects that are sums of these, by their mass, (K,)."""
        aspects, params = self.aspects.joined(params, mass, shares)
        return replace(self, aspects=aspects), params

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every component is, in this share, the distribution."""
        return self.aspects.diluted(params, distribution, share)

    def log_prior(self, params: Params, beta: float) -> float:
        """Zero: what predicts an observation that is left out needs no prior to bound it."""
        return 0.0

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Those of the aspect model."""
        return self.aspects.free_parameters(params, n_rows)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) and P(y given z): memo eq. (11)."""
        return rows, params.components


@dataclass(frozen=True)
class AspectsWithPrior(FoldIn[Params, Statistics]):
    """How new rows are folded in: plainly, but with the prior of rows.

    Their components have no observations of theirs to leave out. To leave them out of the rows
    alone predicts worse: with 80 per cent of the observations of new rows folded in, the perplexity
    of the others was 931 plainly and 967 so, and 970 with columns, too, on abstracts of NeurIPS;
    411, 454 and 457 on verses; both at K=128, and at a beta that is larger by .06 alike.
    """

    aspects: Aspects
    row_prior: float

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """That of the aspects; then mixtures with the pseudo-counts."""
        mixtures, stats = self.aspects.expect(X, params, rows, beta)
        mixtures *= X.row_sums[:, None].astype(X.dtype)
        return with_prior(X, mixtures, self.row_prior, params.weights), stats

    def restrict(self, params: Params, columns: Array) -> Params:
        """That of the aspects."""
        return self.aspects.restrict(params, columns)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """That of the aspects."""
        return self.aspects.factors(params, rows)


def with_prior(X: Block, expected: Array, row_prior: float, weights: Array) -> Array:
    """Mixtures of rows, (n, K), written over their expected counts; P(z) has the weights (K,)."""
    prior = row_prior * weights

    def mix(expected: Array, out: Array) -> None:
        np.add(expected, prior, out=out)
        normalise(out, axis=1, otherwise=weights, out=out)

    return X.rowwise(mix, expected, out=expected)
