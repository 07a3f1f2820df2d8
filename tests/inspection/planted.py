"""A stand-in for a fitted hierarchy of clusters: what inspection and plots ask an estimator for."""

from types import SimpleNamespace

import numpy as np

from skcooc.datasets import make_cooccurrences

EXPLICIT = [6, 6, 5, 5, 5, 6, -1]  # the root is node 6; its leaves are 0, 1 and, below 5, 2, 3, 4


def hierarchy_model(n_clusters=4, n_rows=40, n_columns=30, tree=None, **fitted):
    """A planted hierarchy with the attributes of an estimator that has found it."""
    data = make_cooccurrences(
        n_rows, n_columns, n_clusters, kind="hierarchy", concentration=0.3, random_state=0
    )
    tree = data.tree if tree is None else tree
    rng = np.random.default_rng(0)
    components = rng.dirichlet(np.full(n_columns, 0.3), size=tree.n_nodes)
    levels = rng.random((n_rows, tree.n_nodes)) * tree.above[data.labels]
    embedding = levels / levels.sum(axis=1, keepdims=True)
    row_distribution = rng.dirichlet(np.full(n_rows, 5.0))
    attributes = {
        "tree_": tree,
        "components_": components,
        "embedding_": embedding,
        "row_distribution_": row_distribution,
        "node_weights_": row_distribution @ embedding,
        "labels_": data.labels,
    }
    return SimpleNamespace(**attributes | fitted)
