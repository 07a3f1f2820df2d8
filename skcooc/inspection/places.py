"""Where topics are on a map."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array

NOTHING = 1e-9  # roots of probabilities that are taken as zero


def places(components: Array) -> Array:
    """Where topics are on the map, (K, 2): multidimensional scaling of Hellinger distances."""
    if len(components) < 3:
        return np.column_stack([np.arange(len(components)), np.zeros(len(components))])
    from sklearn.manifold import MDS  # only the map needs it

    distances = hellinger(components)
    scaling = MDS(
        metric="precomputed", init="classical_mds", n_init=1, normalized_stress=False,
    )  # fmt: skip
    found = scaling.fit_transform(distances)
    # The axes mean nothing: the longest is across.
    _, _, axes = np.linalg.svd(found - found.mean(axis=0), full_matrices=False)
    return (found - found.mean(axis=0)) @ axes.T


def hellinger(components: Array) -> Array:
    """Distances sqrt(1 - sum_j sqrt(p_j q_j)) of all pairs of distributions, (K, K)."""
    roots = np.sqrt(components)
    roots[roots < NOTHING] = 0  # the smallest numbers are slow to multiply
    distances = np.sqrt(np.maximum(1 - roots @ roots.T, 0))
    np.fill_diagonal(distances, 0)
    return (distances + distances.T) / 2
