"""Models with known structure, drawn at random: what synthetic counts are drawn from.

N rows, M columns, K components; Dirichlet distributions are symmetric, with the parameter
`concentration`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcooc.hierarchy import Tree, binary_tree
from skcooc.protocol import Array


class Planted(NamedTuple):
    """Parameters that the counts are drawn from."""

    mixtures: Array  # (N, K) P(z_k | x_i); (N, V) where there is a tree
    components: Array  # (K, M) P(y_j | z_k); (V, M) where there is a tree
    labels: Array  # (N,)
    column_labels: Array | None = None  # (M,)
    blocks: Array | None = None  # (K, D) P(column cluster d | row cluster k)
    tree: Tree | None = None  # V nodes, K leaves


def aspects(rng: np.random.Generator, N: int, M: int, K: int, concentration: float) -> Planted:
    """Every observation has an aspect, every row a mixture of them."""
    mixtures = rng.dirichlet(np.full(K, concentration), size=N)
    components = rng.dirichlet(np.full(M, concentration), size=K)
    return Planted(mixtures, components, mixtures.argmax(axis=1))


def clusters(rng: np.random.Generator, N: int, M: int, K: int, concentration: float) -> Planted:
    """Every row belongs to one cluster."""
    labels = _balanced_labels(rng, N, K, "n_components", "n_rows")
    components = rng.dirichlet(np.full(M, concentration), size=K)
    return Planted(np.eye(K)[labels], components, labels)


def coclusters(
    rng: np.random.Generator, N: int, M: int, K: int, D: int, concentration: float
) -> Planted:
    """Rows belong to K clusters, columns to D; only the clusters decide which co-occur."""
    labels = _balanced_labels(rng, N, K, "n_components", "n_rows")
    column_labels = _balanced_labels(rng, M, D, "n_column_clusters", "n_columns")
    blocks = rng.dirichlet(np.full(D, concentration), size=K)
    k = np.arange(K)
    top = blocks.argmax(axis=1)
    blocks[k, top], blocks[k, k % D] = blocks[k, k % D], blocks[k, top]
    weights = rng.standard_exponential(M)  # normalised: uniform on the simplex of each cluster
    within = weights / np.bincount(column_labels, weights, minlength=D)[column_labels]
    components = blocks[:, column_labels] * within
    return Planted(np.eye(K)[labels], components, labels, column_labels, blocks)


def hierarchy(rng: np.random.Generator, N: int, M: int, K: int, concentration: float) -> Planted:
    """Rows of one leaf each of a binary tree, which use all nodes on its path equally."""
    tree = binary_tree(K)
    labels = _balanced_labels(rng, N, K, "n_components", "n_rows")
    components = rng.dirichlet(np.full(M, concentration), size=tree.n_nodes)
    levels = tree.above / tree.above.sum(axis=1, keepdims=True)
    return Planted(levels[labels], components, labels, tree=tree)


def _balanced_labels(
    rng: np.random.Generator, n: int, k: int, clusters: str, members: str
) -> Array:
    """Labels 0..k-1 in random order, each for n / k members, rounded up or down."""
    if k > n:
        raise ValueError(f"{clusters}={k} should be <= {members}={n}.")
    return rng.permutation(np.arange(n) % k)
