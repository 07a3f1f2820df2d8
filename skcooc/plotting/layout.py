"""Where the nodes of a tree are drawn, and how wide the lines to them are."""

from __future__ import annotations

import numpy as np

from skcooc.hierarchy import Tree
from skcooc.protocol import Array


def positions(tree: Tree, max_depth: int | None = None) -> Array:
    """Places of the nodes across the paths from the root to the leaves, (V,).

    They are 0, 1, ... for the nodes at which a path ends, in such an order that no paths cross; the
    middle of the first and the last child for the others; NaN below max_depth.

    >>> from skcooc.hierarchy import binary_tree
    >>> positions(binary_tree(3))
    array([1.25, 0.5 , 2.  , 0.  , 1.  ])
    """
    places = np.full(tree.n_nodes, np.nan)
    drawn = [v for v in tree.preorder if max_depth is None or tree.depths[v] <= max_depth]
    n_ends = 0
    for node in drawn:
        if is_end(tree, node, max_depth):
            places[node] = n_ends
            n_ends += 1
    for node in reversed(drawn):
        if not is_end(tree, node, max_depth):
            places[node] = places[tree.children(node)[[0, -1]]].mean()
    return places


def line_widths(tree: Tree, masses: Array, widest: float, least: float) -> Array:
    """Widths of the lines to the nodes, (V,), in proportion to what is at and below them.

    >>> from skcooc.hierarchy import binary_tree
    >>> line_widths(binary_tree(2), np.array([0.4, 0.5, 0.1]), widest=10.0, least=2.0)
    array([10.,  5.,  2.])
    """
    below = np.array(masses, dtype=np.float64)
    for node in tree.preorder[:0:-1]:
        below[tree.parents[node]] += below[node]
    return np.maximum(widest * below, least)


def is_end(tree: Tree, node: int, max_depth: int | None) -> bool:
    """Whether nothing is drawn below a node."""
    return tree.depths[node] == max_depth or not len(tree.children(node))
