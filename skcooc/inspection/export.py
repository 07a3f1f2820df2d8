"""A fitted model for other tools: text, dictionaries, SciPy's dendrograms, and pyLDAvis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from skcooc.inspection.features import ORDER, Order, rank_columns
from skcooc.inspection.models import (
    FACTORS,
    HOW_MANY,
    TreeModel,
    distributions,
    keeps_rows,
    layers,
    read_view,
    unwrap,
)
from skcooc.inspection.names import name_topics, user_names
from skcooc.protocol import Array, Estimator, TableLike
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import StrOptions
from skcooc.starts.coclusters import Merge

SMALLEST = 1e-12  # probability in the arguments of pyLDAvis, which takes logarithms


class Feature(TypedDict):
    name: str
    probability: float


class Node(TypedDict, total=False):
    """A node of a hierarchy with its subtree; only leaves have a cluster and rows."""

    node: int
    name: str
    weight: float
    features: list[Feature]
    children: list[Node]
    cluster: int
    n_rows: int


@validated({"n_features": HOW_MANY, "order": ORDER})
def export_text(
    model: Estimator, feature_names: ArrayLike | None = None, *,
    n_features: int = 5, order: Order = "characteristic",
) -> str:  # fmt: skip
    """Return a tree as text with one line per node, as in scikit-learn.

    Each line shows the columns of a node and its share of all tokens. The line of a leaf also shows
    the number of the cluster and the number of its rows. Names set by :func:`set_names` precede the
    columns.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        The tree. Other models raise a TypeError.
    feature_names : array-like of shape (M,), default=None
        Names of the columns. See :func:`top_features`.
    n_features : int, default=5
        Maximum number of columns on each line.
    order : {"characteristic", "probable"}, default="characteristic"
        Columns to show.

        - ``"characteristic"``: columns that distinguish a node from its parent
          (:func:`characteristic_features`).
        - ``"probable"``: the most probable columns.

    Returns
    -------
    text : str
        The lines, each with a line end.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, inspection
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> print(inspection.export_text(model, words), end="")
    |--- drink (40.0%)
    |   |--- cluster 0: wine (20.0%, 1 row)
    |   |--- cluster 1: tea (40.0%, 2 rows)
    """
    unwrapped = unwrap(model, "tree_", *FACTORS)
    model = unwrapped.model
    tree = model.tree_
    names = unwrapped.column_names(feature_names)
    top = rank_columns(model, n_features, order)
    sizes = cluster_sizes(model)
    text = ""
    for node in tree.preorder:
        parts = [user_names(model).get(node, ""), ", ".join(map(str, names[top[node]]))]
        share = f"{model.node_weights_[node]:.1%}"
        if node in tree.leaves:
            cluster = int(np.searchsorted(tree.leaves, node))
            n_rows = int(sizes[cluster])
            parts.insert(0, f"cluster {cluster}")
            share += f", {n_rows} row{'s' * (n_rows != 1)}"
        label = ": ".join(filter(None, parts))
        text += f"{'|   ' * tree.depths[node]}|--- {label} ({share})\n"
    return text


@validated({"n_features": HOW_MANY, "order": ORDER})
def export_dict(
    model: Estimator, feature_names: ArrayLike | None = None, *,
    n_features: int = 10, order: Order = "characteristic",
) -> Node:  # fmt: skip
    """Return a tree as nested dictionaries, ready for :func:`json.dumps`.

    NetworkX converts the result to a graph: ``networkx.tree_graph(root, ident="node")``.

    Parameters
    ----------
    model, feature_names, order
        See :func:`export_text`.
    n_features : int, default=10
        Maximum length of the lists of "features".

    Returns
    -------
    root : dict
        The root, with these keys:

        - "node": number of the node.
        - "name": name of the node, from :func:`name_topics`.
        - "weight": its share of the tokens.
        - "features": list of columns, each a dictionary of "name" and "probability".
        - "children": list of dictionaries with the same keys, empty for a leaf.
        - "cluster" and "n_rows": for a leaf, its number in ``labels_`` and its number of rows.

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
    unwrapped = unwrap(model, "tree_", *FACTORS)
    model = unwrapped.model
    tree = model.tree_
    columns = unwrapped.column_names(feature_names)
    names = name_topics(model, columns)
    nodes: list[Node] = [
        {
            "node": node,
            "name": names[node],
            "weight": float(model.node_weights_[node]),
            "features": [
                {"name": str(columns[j]), "probability": float(model.components_[node, j])}
                for j in best
            ],
            "children": [],
        }
        for node, best in enumerate(rank_columns(model, n_features, order))
    ]
    sizes = cluster_sizes(model)
    for cluster, leaf in enumerate(tree.leaves):
        nodes[leaf] |= {"cluster": cluster, "n_rows": int(sizes[cluster])}
    for node in tree.preorder[1:]:
        nodes[tree.parents[node]]["children"].append(nodes[node])
    return nodes[tree.preorder[0]]


@validated({"axis": [StrOptions({"rows", "columns"})]})
def to_linkage(model: Estimator, *, axis: Literal["rows", "columns"] = "rows") -> Array:
    """Return a tree as a linkage matrix, for ``scipy.cluster.hierarchy.dendrogram``.

    A node with more than two children is joined step by step at the same height. A node with a
    single child is skipped. The first two columns correspond to ``children_`` of scikit-learn's
    AgglomerativeClustering, and the third to its ``distances_``.

    Parameters
    ----------
    model : fitted ClusterAbstraction or SymmetricClustering
        The model with a tree. Other models raise a TypeError. A model with ``tied=True`` raises an
        AttributeError.
    axis : {"rows", "columns"}, default="rows"
        Side of a SymmetricClustering. A ClusterAbstraction has a tree of rows only.

    Returns
    -------
    linkage : (K - 1, 4) array
        Each row contains the two clusters that are joined, the height, and the number of leaves
        below. Numbers from 0 to K - 1 are leaves, numbered as in ``labels_``. K + i is the cluster
        that row i creates. The height depends on the model.

        - ClusterAbstraction: the mutual information of clusters and columns, in nats per token,
          that is lost by this merge and all earlier ones. Of the nodes whose children are merged,
          the one that loses least is next. Clusters count by their tokens, or equally if the model
          did not keep all rows.
        - SymmetricClustering: the integrated likelihood, in nats, that is lost by this merge and
          all earlier merges of both sides.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import dendrogram
    >>> from skcooc import ClusterAbstraction, inspection
    >>> X = [[8, 4, 0, 0], [8, 4, 0, 1], [0, 0, 3, 9], [1, 0, 9, 3]]
    >>> model = ClusterAbstraction(3, tree="binary", beta=0.8, random_state=0).fit(X)
    >>> inspection.to_linkage(model).round(2)
    array([[1.  , 2.  , 0.08, 2.  ],
           [0.  , 3.  , 0.62, 3.  ]])
    >>> dendrogram(inspection.to_linkage(model), no_plot=True)["ivl"]
    ['0', '1', '2']
    """
    for layer in layers(model):
        if hasattr(layer.model, "column_posteriors_"):
            number = ("rows", "columns").index(axis)
            return _linkage_of_merges(layer.model.merges_, layer.model.joint_.shape[number], number)
    model = unwrap(model, "tree_").model
    if axis == "columns":
        raise ValueError(f"The tree of {type(model).__name__} is of rows: give axis='rows'.")
    tree = model.tree_
    cluster = {leaf: c for c, leaf in enumerate(tree.leaves.tolist())}  # of a node
    sizes = [1] * len(cluster)
    rows = []
    losses = _losses(model)
    height = 0.0
    while len(cluster) < tree.n_nodes:
        ready = [
            node
            for node in range(tree.n_nodes)
            if node not in cluster and cluster.keys() >= {*tree.children(node).tolist()}
        ]
        node = min(ready, key=losses.__getitem__)
        height += losses[node]
        first, *siblings = (cluster[child] for child in tree.children(node).tolist())
        for sibling in siblings:
            size = sizes[first] + sizes[sibling]
            rows.append((*sorted((first, sibling)), height, size))
            first = len(sizes)
            sizes.append(size)
        cluster[node] = first
    return np.array(rows, dtype=float).reshape(-1, 4)


def _losses(model: TreeModel) -> list[float]:
    """Mutual information that is lost where the children of each node merge, in nats per token."""
    tree = model.tree_
    nodes = tree.above
    if keeps_rows(model):
        tokens = model.posteriors_ * np.asarray(model.row_distribution_)[:, None]
        nodes = np.asarray(tokens.T @ model.embedding_) * nodes
    joint = tree.above.T @ (nodes @ model.components_)  # of all rows below a node, (V, M)
    joint /= joint[tree.preorder[0]].sum()
    masses = joint.sum(axis=1)
    entropies = xlogy(masses, masses) - xlogy(joint, joint).sum(axis=1)
    of_children = (entropies[tree.children(node)].sum() for node in range(tree.n_nodes))
    return [
        max(0.0, float(whole - parts)) for whole, parts in zip(entropies, of_children, strict=True)
    ]


def _linkage_of_merges(merges: Sequence[Merge], n_clusters: int, axis: int) -> Array:
    numbers = list(range(n_clusters))
    sizes = [1] * len(numbers)
    height = 0.0
    rows: list[tuple[float, ...]] = []
    for merge in merges:
        height += max(0.0, merge.loss)
        if merge.axis == axis:
            first, second = merge.first, merge.second
            sizes[first] += sizes[second]
            pair = sorted((numbers[first], numbers[second]))
            rows.append((*pair, height, sizes[first]))
            numbers[first] = len(numbers) + len(rows) - 1
    return np.array(rows, dtype=float).reshape(-1, 4)


def to_pyldavis(
    model: Estimator, X: TableLike, feature_names: ArrayLike | None = None
) -> dict[str, Array]:
    """Return the arguments of ``pyLDAvis.prepare`` as plain arrays.

    pyLDAvis need not be installed. Because it takes logarithms, probabilities of zero are replaced
    by 1e-12. pyLDAvis does not show the names of topics, and numbers them by size unless
    ``sort_topics=False``.

    Parameters
    ----------
    model : fitted estimator
        A model with ``transform`` and ``components_`` (K, M). Components of other libraries need
        not be normalised. pyLDAvis needs at least three components.
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the rows to show, usually the training rows, or the input of a pipeline.
    feature_names : array-like of shape (M,), default=None
        Names of the columns. See :func:`top_features`.

    Returns
    -------
    arguments : dict
        Arguments for ``pyLDAvis.prepare(**arguments)``:

        - ``topic_term_dists``: (K, M) array, P(y given z).
        - ``doc_topic_dists``: (n, K) array, P(z given x).
        - ``doc_lengths``: (n,) array, number of tokens of each row.
        - ``term_frequency``: (M,) array, number of tokens of each column.
        - ``vocab``: (M,) array, names of the columns.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [1, 0, 3, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> arguments = inspection.to_pyldavis(model, X, ["tea", "cup", "ball", "goal"])
    >>> arguments["doc_lengths"], arguments["term_frequency"]
    (array([ 6.,  6., 12., 13.]), array([ 9.,  4.,  6., 18.]))
    >>> import pyLDAvis  # doctest: +SKIP
    >>> page = pyLDAvis.prepared_data_to_html(pyLDAvis.prepare(**arguments))  # doctest: +SKIP
    """
    view = read_view(model, X, feature_names)
    return {
        "topic_term_dists": distributions(np.maximum(view.model.components_, SMALLEST)),
        "doc_topic_dists": view.mixtures,
        "doc_lengths": view.row_sums,
        "vocab": view.columns.astype(str),
        "term_frequency": np.asarray(view.counts.sum(axis=0), dtype=np.float64).ravel(),
    }


def cluster_sizes(model: TreeModel) -> Array:
    """Number of the rows with tokens in each cluster of a hierarchy, (K,)."""
    has_tokens = np.asarray(model.row_distribution_) > 0
    return np.bincount(np.asarray(model.labels_)[has_tokens], minlength=len(model.tree_.leaves))
