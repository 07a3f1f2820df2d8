"""A fitted hierarchy as SciPy's dendrograms want it."""

from __future__ import annotations

import numpy as np

from skcooc.hierarchy import Tree, division
from skcooc.inspection.names import TreeModel
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array


def to_linkage(model: TreeModel) -> Array:
    """The tree as a linkage matrix, for ``scipy.cluster.hierarchy.dendrogram`` and what reads it.

    A node with more than two children is joined step by step, at one height; a node with a single
    child is passed over. The first two columns are what scikit-learn's AgglomerativeClustering has
    as ``children_``, the third its ``distances_``.

    Parameters
    ----------
    model : fitted estimator
        With ``tree_``; :class:`~skcooc.ClusterAbstraction`.

    Returns
    -------
    linkage : (K - 1, 4) array
        In each row the two clusters that are joined, of which 0 to K - 1 are the leaves, numbered
        as ``labels_``, and K + i the i-th that was joined; its height; and how many leaves it has.
        Heights are the temperatures 1 / beta at which nodes divided where the tree was annealed,
        else the number of levels below a node.

    Raises
    ------
    NotFittedError, TypeError
        Where the model is not fitted, or has no tree.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import dendrogram
    >>> from skcooc import ClusterAbstraction
    >>> from skcooc.inspection import to_linkage
    >>> X = [[8, 4, 0, 0], [8, 4, 0, 1], [0, 0, 3, 9], [1, 0, 9, 3]]
    >>> model = ClusterAbstraction(3, beta=0.8, random_state=0).fit(X)
    >>> to_linkage(model)
    array([[1., 2., 1., 2.],
           [0., 3., 2., 3.]])
    >>> dendrogram(to_linkage(model), no_plot=True)["ivl"]
    ['0', '1', '2']
    """
    model = unwrap(model, "tree_").model
    splits = getattr(model, "splits_", None)
    tree = model.tree_
    return _joined(tree, 1 / division(splits).betas if splits else _levels(tree))


def _levels(tree: Tree) -> Array:
    """The most nodes on a path from a node down to a leaf, itself not counted, (V,)."""
    levels = np.zeros(tree.n_nodes)
    for node in tree.preorder[::-1]:
        if tree.parents[node] >= 0:
            above = tree.parents[node]
            levels[above] = max(levels[above], levels[node] + 1)
    return levels


def _joined(tree: Tree, heights: Array) -> Array:
    """The rows of a linkage matrix, from the least height to the largest."""
    K, rows = len(tree.leaves), []
    cluster = dict(zip(tree.leaves.tolist(), range(K), strict=True))  # of a node
    sizes = [1] * K
    inner = [node for node in tree.preorder[::-1].tolist() if node not in cluster]
    for node in sorted(inner, key=lambda node: float(heights[node])):
        first, *others = (cluster[child] for child in tree.children(node).tolist())
        for other in others:
            rows.append((*sorted((first, other)), heights[node], sizes[first] + sizes[other]))
            first = len(sizes)
            sizes.append(int(rows[-1][3]))
        cluster[node] = first
    return np.array(rows, dtype=float).reshape(-1, 4)
