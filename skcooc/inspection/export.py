"""A hierarchy of clusters as text, and as nested dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.features import OF_ROWS
from skcooc.inspection.labels import name_topics, names_set
from skcooc.inspection.names import HOW_MANY, TreeModel
from skcooc.inspection.ranking import ORDER, Order, ranked
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol.decorators import validated


class Feature(TypedDict):
    """A column of a node."""

    name: str
    probability: float


class Node(TypedDict, total=False):
    """A node of a hierarchy, with all below it; leaves alone have a cluster and rows."""

    node: int
    name: str
    weight: float
    features: list[Feature]
    children: list[Node]
    cluster: int
    n_rows: int


@validated({"n_features": HOW_MANY, "order": ORDER})
def export_text(
    model: TreeModel, feature_names: ArrayLike | None = None, *,
    n_features: int = 5, order: Order = "characteristic",
) -> str:  # fmt: skip
    """The hierarchy as text, a line for each node, as scikit-learn prints decision trees.

    Each line has the columns of a node and the share of all observations that it generates; those
    of leaves begin with the number of the cluster and end with the number of its rows. Names that
    were set by :func:`set_names` are before the columns.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        With ``tree_``, ``components_`` (V, M), ``node_weights_`` (V,) and ``labels_`` (N,).
    feature_names : array-like of shape (M,), default=None
        What to print for the columns; see :func:`top_features`.
    n_features : int, default=5
        How many of them on a line at most.
    order : {"characteristic", "probable"}, default="characteristic"
        Which columns: those that distinguish a node from its parent, as
        :func:`characteristic_features` has them, or the most probable ones.

    Returns
    -------
    text : str
        With a line end after every line.

    Raises
    ------
    ValueError, TypeError
        Where there are not as many names as columns, or the model has no tree.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, inspection
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> print(inspection.export_text(model, words), end="")
    |--- drink (40.0%)
    |   |--- cluster 0: tea (40.0%, 2 rows)
    |   |--- cluster 1: wine (20.0%, 1 row)
    """
    found = unwrap(model, "tree_", *OF_ROWS)
    model, names = found.model, found.column_names(feature_names)
    top, tree = ranked(model, n_features, order), model.tree_
    lines = [
        f"{'|   ' * tree.depths[node]}|--- {_described(model, node, names[top[node]])}\n"
        for node in tree.preorder
    ]
    return "".join(lines)


@validated({"n_features": HOW_MANY, "order": ORDER})
def export_dict(
    model: TreeModel, feature_names: ArrayLike | None = None, *,
    n_features: int = 10, order: Order = "characteristic",
) -> Node:  # fmt: skip
    """The hierarchy as nested dictionaries, ready for :func:`json.dumps`.

    NetworkX makes a graph of them: ``networkx.tree_graph(root, ident="node")``.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        As for :func:`export_text`.
    feature_names : array-like of shape (M,), default=None
        The "name" of the columns; see :func:`top_features`.
    n_features : int, default=10
        Length of the lists of "features" at most.
    order : {"characteristic", "probable"}, default="characteristic"
        As for :func:`export_text`.

    Returns
    -------
    root : dict
        With the keys "node", its number; "name", as :func:`name_topics` has it; "weight", its share
        of the observations; "features", its columns, each a dictionary of "name" and "probability";
        and "children", a list of such dictionaries. Leaves, whose list is empty, also have
        "cluster", the number in ``labels_``, and "n_rows".

    Raises
    ------
    ValueError, TypeError
        Where names are too few or too many, or there is no tree.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, inspection
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> root = inspection.export_dict(model, words, n_features=1)
    >>> root["features"][0]["name"]
    'drink'
    >>> sorted((round(leaf["weight"], 2), leaf["n_rows"]) for leaf in root["children"])
    [(0.2, 1), (0.4, 2)]
    """
    found = unwrap(model, "tree_", *OF_ROWS)
    model, columns = found.model, found.column_names(feature_names)
    q, tree, top = model.components_, model.tree_, ranked(model, n_features, order)
    names, nodes = name_topics(model, columns), list[Node]()
    for node, weight in enumerate(model.node_weights_.tolist()):
        features: list[Feature] = [
            {"name": str(columns[j]), "probability": float(q[node, j])} for j in top[node]
        ]
        nodes.append(
            {
                "node": node,
                "name": names[node],
                "weight": weight,
                "features": features,
                "children": [],
            }
        )
    sizes = np.bincount(model.labels_, minlength=len(tree.leaves))
    for cluster, leaf in enumerate(tree.leaves):
        nodes[leaf] |= {"cluster": cluster, "n_rows": int(sizes[cluster])}
    for node in tree.preorder[1:]:
        nodes[tree.parents[node]]["children"].append(nodes[node])
    return nodes[tree.preorder[0]]


def _described(model: TreeModel, node: int, features: Sequence[object]) -> str:
    """The words of a node and its share; for a leaf, its cluster as well."""
    parts = [names_set(model).get(node, ""), ", ".join(map(str, features))]
    share = f"{model.node_weights_[node]:.1%}"
    if node in model.tree_.leaves:
        cluster = int(np.searchsorted(model.tree_.leaves, node))
        n_rows = int((model.labels_ == cluster).sum())
        parts.insert(0, f"cluster {cluster}")
        share += f", {n_rows} row{'s' * (n_rows != 1)}"
    return f"{': '.join(filter(None, parts))} ({share})"
