"""Rooted trees over clusters: the topology of the cluster-abstraction model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree whose leaves are clusters.

    Parameters
    ----------
    parents : (V,) array of int
        Parent of each node; -1 for the root.
    """

    parents: Array

    @property
    def n_nodes(self) -> int:
        """Number V of nodes, the leaves among them."""
        return len(self.parents)

    @cached_property
    def depths(self) -> Array:
        """Number of nodes above each node, (V,)."""
        depths, above = np.zeros(self.n_nodes, dtype=int), self.parents.copy()
        while (above >= 0).any():
            depths += above >= 0
            above = np.where(above >= 0, self.parents[above], -1)
        return depths

    @cached_property
    def leaves(self) -> Array:
        """The nodes without children, (K,); the cluster k is the leaf ``leaves[k]``."""
        return np.setdiff1d(np.arange(self.n_nodes), self.parents)

    @cached_property
    def above(self) -> Array:
        """Whether a node is on the path from the root to a leaf, both included, (K, V)."""
        paths = np.zeros((len(self.leaves), self.n_nodes), dtype=bool)
        node = self.leaves
        while (node >= 0).any():
            reached = np.flatnonzero(node >= 0)
            paths[reached, node[reached]] = True
            node = np.where(node >= 0, self.parents[node], -1)
        return paths

    def children(self, node: int) -> Array:
        """The children of a node."""
        return np.flatnonzero(self.parents == node)


def binary_tree(n_leaves: int) -> Tree:
    """The binary tree whose leaves are divided as evenly as can be at every node.

    Nodes are numbered level by level.

    Examples
    --------
    >>> binary_tree(3).parents
    array([-1,  0,  0,  1,  1])
    """
    parents, sizes, node = [-1], [n_leaves], 0
    while node < len(sizes):
        if sizes[node] > 1:
            parents += [node, node]
            sizes += [(sizes[node] + 1) // 2, sizes[node] // 2]
        node += 1
    return Tree(np.array(parents))


def explicit_tree(nodes: ArrayLike | Sequence[Any]) -> Tree:
    """A tree from the parent of every node, or from the pairs that are joined.

    Parameters
    ----------
    nodes : (V,) array-like of int, or (K - 1, 2) array-like of int
        Parent of each node, -1 for the root; or, as ``children_`` of scikit-learn's
        AgglomerativeClustering has it, the two nodes that node K + i joins, where 0 to K - 1 are
        the leaves.

    Returns
    -------
    tree : Tree

    Raises
    ------
    ValueError
        Where the array describes no tree with one root.

    Examples
    --------
    >>> explicit_tree([[0, 1], [2, 3]]).parents
    array([ 3,  3,  4,  4, -1])
    """
    array = np.asarray(nodes)
    if array.ndim == 2 and array.shape[1] == 2:
        n_nodes = 2 * len(array) + 1
        parents = np.full(n_nodes, -1)
        parents[array.ravel()] = np.repeat(np.arange(len(array) + 1, n_nodes), 2)
        array = parents
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            "tree should be a parent for each node, or the (K - 1, 2) nodes that are joined; got "
            f"an array of shape {array.shape} and type {array.dtype}."
        )
    if (array == -1).sum() != 1 or array.max(initial=0) >= len(array) or array.min() < -1:
        raise ValueError("tree should have one root, with parent -1, and parents that are nodes.")
    above = array
    for _ in array:  # no path is longer
        above = np.where(above >= 0, array[above], -1)
    if (above >= 0).any():
        raise ValueError("tree should have no cycles.")
    return Tree(array)
