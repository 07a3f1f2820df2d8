"""Objects with which clusters begin: few of them, far from each other."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from skcooc.equations.memberships import reciprocals
from skcooc.protocol import CSR, Array

SHARE = 0.8  # of the distribution of all objects in a cluster that begins with one
PER_CLUSTER, LEAST = 8, 100  # objects among which those of the clusters are drawn
LITTLE = 1e-9  # so that something is drawn where nothing gains
NOISE = 0.1  # relative, so that clusters are never the same


def n_objects(n_clusters: int) -> int:
    """Among how many objects those of the clusters are drawn."""
    return max(LEAST, PER_CLUSTER * n_clusters)


def seeds(objects: CSR, overall: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Distributions of clusters (M, K), each that of all objects, and in part that of one.

    ``objects`` (n, M) are counts, ``overall`` (M,) the distribution of all. The objects are drawn
    one after the other, each with the probability of the log-likelihood that it would gain in a
    cluster of its own: k-means++ (D. Arthur and S. Vassilvitskii, SODA 2007) with divergences for
    squared distances. Of several drawn, that is taken which makes all gain most.
    """
    sizes = np.asarray(objects.sum(axis=1), dtype=np.float64)
    gains = gains_of(objects, overall, sizes)
    own, reached, n_tried = gains.diagonal(), np.zeros(len(sizes)), 2 + int(np.log(n_clusters))
    chosen, usual = [], sizes.mean() or 1.0
    for _ in range(n_clusters):
        chances = np.maximum(own - reached, 0) / usual + LITTLE * (1 + sizes / usual)
        tried = rng.choice(len(sizes), n_tried, p=chances / chances.sum())
        reachable = np.maximum(reached[:, None], gains[:, tried])
        best = int(reachable.sum(axis=0).argmax())
        reached = reachable[:, best]
        chosen.append(tried[best])
    noise = rng.uniform(1 - NOISE, 1 + NOISE, (len(overall), n_clusters))
    single = objects[chosen].toarray().T * reciprocals(sizes[chosen])
    return SHARE * overall[:, None] * noise + (1 - SHARE) * single


def weighted(objects: CSR, factors: Array) -> CSR:
    """The counts of each object, (n, M), times its factor, (n,)."""
    data = objects.data * np.repeat(factors, np.diff(objects.indptr))
    return sp.csr_array((data, objects.indices, objects.indptr), shape=objects.shape)


def gains_of(objects: CSR, overall: Array, sizes: Array) -> Array:
    """Log-likelihood that each object, (n, n), gains in a cluster that begins with each."""
    ratios = weighted(objects, (1 - SHARE) / SHARE * reciprocals(sizes))
    ratios.data = np.log1p(ratios.data * reciprocals(overall)[ratios.indices])
    gains: Array = (objects.astype(np.float64) @ ratios.T).toarray()
    return gains
