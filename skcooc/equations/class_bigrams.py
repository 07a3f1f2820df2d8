"""The class bigram model: one clustering of objects that are rows and columns at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcooc.equations.coclusters import CoClusters, Params, mutual_information
from skcooc.equations.row_clusters import RowClusters
from skcooc.equations.starts import soft_start
from skcooc.protocol import Array, Block, Counts, Equations, Need, Rows


class Statistics(NamedTuple):
    """Of the whole table, which is a single block."""

    profiles: Array  # (N, C): sum_i I_ic n_ij
    memberships: Array  # (N, C): I_ic
    free_energy: float  # -sum n_ij log c_cd, nats


@dataclass(frozen=True)
class ClassBigrams(Equations[Params, Statistics]):
    """Equations of the symmetric clustering model where X = Y and I = J: memo, section 3.3.

    P(y_j given x_i) = P(y_j given c(j)) P(c(j) given c(i)), the class bigram model of Brown et al.
    (1992). Moving an object changes its row and its column, so that the two sides cannot be updated
    in turns: objects are moved one after the other, each to the cluster where the mutual
    information of the clusters of rows and columns becomes largest.
    """

    n_clusters: int

    @property
    def needs(self) -> Mapping[Need, str]:
        """Moves of single objects."""
        return {"exchange": "tied=True moves one object at a time; it needs False"}

    @property
    def untied(self) -> CoClusters:
        """The model with the same predictions whose two clusterings may differ."""
        return CoClusters(self.n_clusters, self.n_clusters, hard=True)

    def folding(self, params: Params) -> tuple[CoClusters, Params]:
        """New rows are no columns."""
        return self.untied, params

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """Clusters of rows."""
        I = soft_start(RowClusters(self.n_clusters), X, rng).rows
        rows = np.eye(self.n_clusters, dtype=X.dtype)[I.argmax(axis=1)]
        params = self._params(X.tdot(rows), rows)
        return params, rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """One exchange move for every object; the rows are as the parameters have them."""
        labels = X.exchange(params.memberships.argmax(axis=1), self.n_clusters)
        moved = np.eye(self.n_clusters, dtype=X.dtype)[labels]
        total = float(np.sum(X.row_sums * X.row_weights))
        energy = -total * mutual_information(params.joint)
        return params.memberships, Statistics(X.tdot(moved), moved, energy)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """The association of the clusters: memo, eqs. (42), (43)."""
        return self._params(stats.profiles, stats.memberships)

    def log_prior(self, params: Params, beta: float) -> float:
        """None: maximum likelihood."""
        return 0.0

    def free_parameters(self, params: Params, n_rows: int) -> int:
        """Those of two clusterings that may differ: clusters are hidden."""
        return self.untied.free_parameters(params, n_rows)

    def restrict(self, params: Params, columns: Array) -> Params:
        """The memberships of these columns alone."""
        return self.untied.restrict(params, columns)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(c given x) and P(y given c)."""
        return self.untied.factors(params, rows)

    def mixing(self, params: Params) -> tuple[Array, Array]:
        """One mixture for each cluster."""
        return self.untied.mixing(params)

    def _params(self, profiles: Array, memberships: Array) -> Params:
        joint, totals = profiles.T @ memberships, profiles.sum(axis=1)
        uniform = np.full(self.n_clusters, 1 / self.n_clusters, dtype=profiles.dtype)
        return Params(memberships, totals / totals.sum(), joint / joint.sum(), uniform, uniform)
