"""A hierarchy of clusters as text, and as nested dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.features import node_top_features
from skcooc.inspection.names import column_names, fitted


def export_text(model: Any, feature_names: ArrayLike | None = None, n_features: int = 5) -> str:
    """The hierarchy as text, a line for each node, as scikit-learn prints decision trees.

    Each line has the most probable columns of a node and the share of all observations that it
    generates; those of leaves begin with the number of the cluster and end with the number of its
    rows.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        With ``tree_``, ``components_`` (V, M), ``node_weights_`` (V,) and ``labels_`` (N,).
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.
    n_features : int, default=5
        How many columns of each node.

    Returns
    -------
    text : str
        With a line end after every line.

    Raises
    ------
    ValueError
        Where there are not as many names as columns.
    TypeError
        Where the model has no tree.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction
    >>> from skcooc.inspection import export_text
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> print(export_text(model, words, n_features=1), end="")
    |--- drink (40.0%)
    |   |--- cluster 0: tea (40.0%, 2 rows)
    |   |--- cluster 1: wine (20.0%, 1 row)
    """
    tree = fitted(model, "tree_")
    features = node_top_features(model, n_features, feature_names)
    lines = [
        f"{'|   ' * tree.depths[node]}|--- {_describe(model, tree, node, features[node])}\n"
        for node in tree.preorder
    ]
    return "".join(lines)


def export_dict(
    model: Any, feature_names: ArrayLike | None = None, n_features: int = 10
) -> dict[str, Any]:
    """The hierarchy as nested dictionaries, ready for :func:`json.dumps`.

    NetworkX makes a graph of them: ``networkx.tree_graph(root, ident="node")``.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        With ``tree_``, ``components_`` (V, M), ``node_weights_`` (V,) and ``labels_`` (N,).
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.
    n_features : int, default=10
        How many columns of each node.

    Returns
    -------
    root : dict
        With the keys "node", its number; "weight", its share of the observations; "features", the
        most probable columns, each a dictionary of "name" and "probability"; and "children", a
        list of such dictionaries. Leaves, whose list is empty, also have "cluster", the number in
        ``labels_``, and "n_rows".

    Raises
    ------
    ValueError
        Where there are not as many names as columns.
    TypeError
        Where the model has no tree.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction
    >>> from skcooc.inspection import export_dict
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> root = export_dict(model, words, n_features=1)
    >>> root["features"][0]["name"]
    'drink'
    >>> [(leaf["cluster"], round(leaf["weight"], 2), leaf["n_rows"]) for leaf in root["children"]]
    [(0, 0.4, 2), (1, 0.2, 1)]
    """
    tree = fitted(model, "tree_")
    q = model.components_
    names = column_names(model, q.shape[1], feature_names)
    order = np.argsort(-q, axis=1, kind="stable")[:, :n_features]
    nodes: list[dict[str, Any]] = [
        {
            "node": node,
            "weight": float(model.node_weights_[node]),
            "features": [
                {"name": str(names[j]), "probability": float(q[node, j])} for j in order[node]
            ],
            "children": [],
        }
        for node in range(tree.n_nodes)
    ]
    sizes = np.bincount(model.labels_, minlength=len(tree.leaves))
    for cluster, leaf in enumerate(tree.leaves):
        nodes[leaf] |= {"cluster": cluster, "n_rows": int(sizes[cluster])}
    for node in tree.preorder[1:]:
        nodes[tree.parents[node]]["children"].append(nodes[node])
    return nodes[tree.preorder[0]]


def _describe(model: Any, tree: Any, node: int, features: list[str]) -> str:
    """The words of a node and its share; for a leaf, its cluster as well."""
    words, share = ", ".join(features), f"{model.node_weights_[node]:.1%}"
    if node not in tree.leaves:
        return f"{words} ({share})"
    cluster = int(np.searchsorted(tree.leaves, node))
    n_rows = int((model.labels_ == cluster).sum())
    return f"cluster {cluster}: {words} ({share}, {n_rows} row{'s' * (n_rows != 1)})"
