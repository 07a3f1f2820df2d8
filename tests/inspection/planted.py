"""Hierarchies of clusters for inspection and plots: fitted ones, and stand-ins laid out at will."""

from functools import cache
from types import SimpleNamespace

import numpy as np

from skcooc import ClusterAbstraction
from skcooc.datasets import make_cooccurrences
from skcooc.hierarchy import binary_tree

EXPLICIT = (6, 6, 5, 5, 5, 6, -1)  # the root is node 6; its leaves are 0, 1 and, below 5, 2, 3, 4


@cache
def hierarchy_model(n_clusters=4, n_rows=40, n_columns=30, tree="binary", dtype=np.float64):
    X = make_cooccurrences(
        n_rows, n_columns, n_clusters, n_tokens=2000, kind="hierarchy",
        concentration=0.3, random_state=0, dtype=dtype,
    ).X  # fmt: skip
    model = ClusterAbstraction(n_clusters, tree=tree, beta=0.3, tol=1e-3, random_state=0)
    return model.fit(X)


def stand_in(tree=None, n_rows=40, n_columns=30, **attributes):
    """What a fitted hierarchy has, drawn at random, but for the attributes that are given."""
    tree = binary_tree(4) if tree is None else tree
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % len(tree.leaves)
    levels = rng.random((n_rows, tree.n_nodes)) * tree.above[labels]
    embedding = levels / levels.sum(axis=1, keepdims=True)
    row_distribution = rng.dirichlet(np.full(n_rows, 5.0))
    drawn = {
        "tree_": tree,
        "components_": rng.dirichlet(np.full(n_columns, 0.3), size=tree.n_nodes),
        "embedding_": embedding,
        "row_distribution_": row_distribution,
        "node_weights_": row_distribution @ embedding,
        "labels_": labels,
        "posteriors_": np.eye(len(tree.leaves))[labels],
    }
    return SimpleNamespace(**drawn | attributes)
