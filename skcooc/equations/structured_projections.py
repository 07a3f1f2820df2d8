"""Clustering-projection with topics that depend on the cluster: they are summed out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skcooc.equations.memberships import summed_out
from skcooc.equations.projections import (
    Params,
    Projections,
    Statistics,
    clusters_of,
    in_all_places,
    row_weights,
)
from skcooc.protocol import Array, Block, Counts, Rows
from skcooc.simplex import LEAST


@dataclass(frozen=True)
class StructuredProjections(Projections):
    """Equations of PCP with q(c_i) prod_j q(z_ij given c_i).

    The topics of a row depend on its cluster, as they do in the exact posterior. With beta the
    exponent of the likelihood of a row,

        psi_ic ~ exp(E[log pi_c]) prod_j [sum_k B_jk exp(E[log theta_ck])]^(beta n_ij)
        phi_jck ~ B_jk exp(E[log theta_ck])

    The bound is never below that of independent q(c_i) q(z_ij), and does not depend on how a row
    is started. phi is the same for all rows, so that all sums need two sparse products and M x C
    numbers. The state of a row is psi.
    """

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        """As that of the other posterior; the state of the rows does not matter."""
        params, _ = super().start(X, rng)
        empty = np.zeros_like(params.sizes)
        rows = np.broadcast_to(empty, (X.shape[0], len(empty)))
        return params._replace(weights=empty), rows

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Memberships of the rows, and topics of the columns in every cluster."""
        clusters, topics, weights = clusters_of(params), params.topics, row_weights(X)
        centers = np.exp(clusters.log_centers)
        psi, evidence, P, shared = summed_out(X, topics, centers, clusters.log_weights, beta)
        psi[weights == 0] = 0
        bound = np.sum(weights * evidence) / beta + np.sum(X.column_sums * shared)
        ratio = X.tdot(psi) / np.maximum(P, LEAST)
        expected = centers * (ratio.T @ topics)
        sizes = np.einsum("ic,i->c", psi, weights.astype(psi.dtype))
        sums_of_clusters = in_all_places(params, clusters.alive, expected, sizes)
        state = np.zeros((X.shape[0], len(params.sizes)), dtype=X.dtype)
        state[:, clusters.alive] = psi
        return state, Statistics(topics * (ratio @ centers), *sums_of_clusters, -float(bound))

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) = sum_c psi_ic E[theta_c] and P(y given z)."""
        ((_, psi),) = self.memberships(params, rows)
        return psi @ clusters_of(params).centers, params.topics

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        """P(c given x) over the clusters that are alive, of all rows at once."""
        clusters = clusters_of(params)
        psi = rows[:, clusters.alive]
        psi[~psi.any(axis=1)] = clusters.weights
        yield slice(0, len(rows)), psi
