"""Clustering-projection by mean field: the cluster and the topics of a row are independent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from skcooc.equations.projections import (
    Clusters,
    Params,
    Projections,
    Statistics,
    clusters_of,
    in_all_places,
    row_weights,
)
from skcooc.protocol import Array, Block, Need, Rows
from skcooc.simplex import softmax, sums

CHUNK = 256  # rows whose posteriors are in memory at a time


@dataclass(frozen=True)
class FactorialProjections(Projections):
    """Equations of PCP with q(c_i) prod_j q(z_ij), as its authors have them: eqs. (4)-(9).

    With S_ik = sum_j n_ij phi_ijk, the projection of a row, and beta the exponent of the
    likelihood of every observation and its topic,

        psi_ic ~ exp(E[log pi_c] + beta sum_k S_ik E[log theta_ck])            (6)
        phi_ijk ~ [B_jk exp(sum_c psi_ic E[log theta_ck])]^beta                (8)

    which raise sum n_ij phi_ijk beta E[log P(y_j, z_ij given c_i)] + H(psi) + H(phi) + E[log pi].
    phi is the same for equal columns of a row, so that its sums come from the product which aspects
    need. The state of a row is S. Its psi is formed anew, for a few rows at a time: nothing has the
    size N x C.
    """

    @property
    def needs(self) -> Mapping[Need, str]:
        """Also the projections of the rows, which would start anew."""
        end_badly = "rows would start anew, and end badly; it needs posterior='structured'"
        return {"row states": end_badly, **super().needs}

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """Memberships and topics of the rows, in the order psi, phi, psi."""
        clusters, weights = clusters_of(params), row_weights(X)
        # Relative to the largest, so that differences of clusters do not drown in rounding.
        largest = clusters.log_centers.max(axis=0)
        clusters = clusters._replace(log_centers=clusters.log_centers - largest)
        log_A = _mixed_centers(X, clusters, rows, beta)
        A, B = np.exp(beta * (log_A + largest)), X.power(params.topics, beta)
        mixture = X.mixture(A, B)
        S = A * mixture.rows
        centers, sizes, evidence = _collected(X, weights, clusters, S, beta)
        expected = float(np.sum(weights[:, None] * S * log_A, dtype=np.float64))
        free_energy = expected - (evidence + mixture.log_likelihood) / beta
        sums_of_clusters = in_all_places(params, clusters.alive, centers, sizes)
        return S, Statistics(B * mixture.columns, *sums_of_clusters, free_energy)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) = sum_c psi_ic E[theta_c] and P(y given z)."""
        mixtures, centers = np.empty_like(rows), clusters_of(params).centers
        for chunk, psi in self.memberships(params, rows):
            mixtures[chunk] = psi @ centers
        return mixtures, params.topics

    def memberships(self, params: Params, rows: Rows) -> Iterator[tuple[slice, Array]]:
        """P(c given x) over the clusters that are alive, a few rows at a time."""
        clusters = clusters_of(params)
        for chunk in _chunks(0, len(rows)):
            psi, _ = _posteriors(rows[chunk], clusters, float(params.beta))
            psi[~rows[chunk].any(axis=1)] = clusters.weights
            yield chunk, psi


def _posteriors(S: Array, clusters: Clusters, beta: float) -> tuple[Array, Array]:
    """psi, eq. (6), and the logarithms of what it is divided by, (n, 1)."""
    scores = (beta * S) @ clusters.log_centers.T
    scores += clusters.log_weights
    log_sums = np.empty((len(S), 1), dtype=scores.dtype)
    softmax(scores, log_sums)
    return scores, log_sums


def _mixed_centers(X: Block, clusters: Clusters, S: Array, beta: float) -> Array:
    """sum_c psi_ic E[log theta_ck], (n, K)."""
    mixed = np.empty_like(S)

    def part(start: int, stop: int) -> None:
        for chunk in _chunks(start, stop):
            psi, _ = _posteriors(S[chunk], clusters, beta)
            mixed[chunk] = psi @ clusters.log_centers

    X.parts(part)
    return mixed


def _collected(
    X: Block, weights: Array, clusters: Clusters, S: Array, beta: float
) -> tuple[Array, Array, float]:
    """psi.T @ S (c, K), the sums of psi (c,), and the sum of the evidence of the rows."""

    def part(start: int, stop: int) -> tuple[Array, Array, float]:
        centers, total = np.zeros_like(clusters.log_centers), 0.0
        sizes = np.zeros_like(clusters.log_weights)
        for chunk in _chunks(start, stop):
            psi, log_sums = _posteriors(S[chunk], clusters, beta)
            total += float(np.sum(weights[chunk] * log_sums[:, 0]))
            psi *= weights[chunk, None].astype(psi.dtype)
            centers += psi.T @ S[chunk]
            sizes += sums(psi, axis=0)
        return centers, sizes, total

    centers, sizes, totals = zip(*X.parts(part), strict=True)
    return np.sum(centers, axis=0), np.sum(sizes, axis=0), sum(totals)


def _chunks(start: int, stop: int) -> Iterator[slice]:
    for first in range(start, stop, CHUNK):
        yield slice(first, min(first + CHUNK, stop))
