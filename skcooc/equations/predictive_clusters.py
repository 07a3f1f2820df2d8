"""Predictive EM for clusters of rows: a row is told its cluster by all the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.equations.row_clusters import Params as PlainParams
from skcooc.equations.row_clusters import RowClusters, Statistics
from skcooc.equations.starts import soft_start
from skcooc.protocol import Array, Block, Clustering, Counts, FoldIn, Need, Rows
from skcooc.simplex import sums

COMPONENT_PRIOR = 0.02  # pseudo-counts of a column in a cluster; .01 was as good, .1 a bit worse
PATIENCE = 10  # iterations; with half of it, it ended too early on pairs of words


class Params(NamedTuple):
    """Parameters of clusters of rows that leave themselves out."""

    components: Array  # (M, K): P(y_j given c), with pseudo-counts
    weights: Array  # (K,): P(c)
    unit: Array  # (): observations that a row counts for where all count the same
    totals: Array  # (K,): expected counts of each cluster, with pseudo-counts

    @property
    def plain(self) -> PlainParams:
        """Those of clusters that leave nothing out."""
        return PlainParams(*self[:3])


@dataclass(frozen=True)
class PredictiveClusters(Clustering[Params, Statistics]):
    """Equations of the asymmetric clustering model where every row is predicted by all the others.

    Memo, section 5.2, with a row in place of an observation, as all of it has one cluster. In EM a
    row keeps the cluster that it is in, since its counts are in the distribution that it is
    compared with: the more so, the fewer others there are. With r_ik the posterior of the row, C_jk
    = sum_i r_ik n_ij, T_k the sum of it, and eta pseudo-counts in each of M columns of a cluster,
    memo eq. (60) without what the row has put in is

        r_ik ~ rho_k [prod_j ((C_jk - r_ik n_ij + eta) / (T_k - r_ik n_i + M eta))^n_ij]^beta .

    Here the r_ik on the right is that of the iteration before, of which C and T were made: it is
    the state of the rows, so that nothing else has to be kept. It differs from the plain posterior
    only in clusters that the row was in. For these ``skcooc.counts.left_out_rows`` goes through its
    non-zeros; all else remains a matrix product. A column that no other row of the cluster has is
    left with its pseudo-counts, which therefore cannot be zero. With ever larger clusters of rows
    it is plain EM, with a prior.

    The objective is -1/beta times the sum of the logarithms of what normalises the posteriors. No
    function is known of which these are the stationary equations, as what a row means for others is
    left out (appendix B); all rows move at once, and in the end a few may come and go in turns. So
    EM ends where the objective has not fallen for ten iterations.
    """

    clusters: RowClusters
    component_prior: float = COMPONENT_PRIOR

    @property
    def needs(self) -> Mapping[Need, str]:
        """Rows that leave themselves out."""
        reason = "leave_one_out=True takes out what a row has put in before; it needs False"
        return {"left_out": reason}

    @property
    def patience(self) -> int:
        """Several iterations: the objective may rise."""
        return PATIENCE

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Plain clusters at the temperature that is usually best, and what they expect."""
        found = soft_start(self.clusters, X, rng)
        rows, stats = X.expect(self.clusters, found.params, found.rows, found.beta)
        return self._with_prior(stats.components, found.params), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Posteriors of the rows without themselves."""
        scores = self.clusters.scores(X, params.plain)
        B, totals = params.components, params.totals
        scores += X.left_out_rows(rows, B, totals, self.component_prior)
        return self.clusters.explained(X, params.plain, scores, beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """Centroids and proportions: memo, eqs. (24), (31), of all rows."""
        plain = self.clusters.maximize(stats, params.plain, beta)
        return self._with_prior(stats.components, plain)

    def log_prior(self, params: Params, beta: float) -> float:
        """Zero: what predicts a row that is left out needs no prior to bound it."""
        return 0.0

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Those of the plain clusters."""
        return self.clusters.free_parameters(params.plain, n_rows)

    def folding(self, params: Params) -> tuple[FoldIn[PlainParams, Statistics], PlainParams]:
        """New rows have put in nothing."""
        return self.clusters, params.plain

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(c given x) and P(y given c)."""
        return rows, params.components

    def mixing(self, params: Params) -> tuple[Array, Array]:
        """That of the plain clusters."""
        return self.clusters.mixing(params.plain)

    def posteriors(self, params: Params, rows: Rows) -> Array:
        """P(c given object), of the rows."""
        return rows

    @property
    def largest_beta(self) -> float:
        """That of the plain clusters."""
        return self.clusters.largest_beta

    def object_size(self, X: Counts) -> float:
        """That of the plain clusters."""
        return self.clusters.object_size(X)

    def critical_beta(self, X: Counts) -> float:
        """That of the plain clusters."""
        return self.clusters.critical_beta(X)

    def _with_prior(self, expected: Array, plain: PlainParams) -> Params:
        """Parameters of expected counts (M, K), proportions and unit being given."""
        counts = expected + np.asarray(self.component_prior, dtype=expected.dtype)
        totals = sums(counts, axis=0)
        return Params(counts / totals, plain.weights, plain.unit, totals)
