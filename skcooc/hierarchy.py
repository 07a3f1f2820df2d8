"""Rooted trees over clusters: the topology of the cluster-abstraction model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.protocol import Array


class Slots(NamedTuple):
    """The S pairs of a leaf and a node on its path."""

    indptr: Array  # (K + 1,): start of the slots of each leaf, and end of the last
    leaves: Array  # (S,): cluster of each slot
    nodes: Array  # (S,): node of each slot


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree whose leaves are clusters."""

    parents: Array  # (V,) of int: parent of each node; -1 for the root

    @property
    def n_nodes(self) -> int:
        return len(self.parents)

    @cached_property
    def depths(self) -> Array:
        """Number of nodes above each node, (V,)."""
        depths = np.zeros(self.n_nodes, dtype=int)
        above = self.parents.copy()
        while (above >= 0).any():
            depths += above >= 0
            above = np.where(above >= 0, self.parents[above], -1)
        return depths

    @cached_property
    def leaves(self) -> Array:
        """Nodes without children, (K,); cluster k is the leaf ``leaves[k]``."""
        return np.setdiff1d(np.arange(self.n_nodes), self.parents)

    @cached_property
    def above(self) -> Array:
        """Indicators of the nodes on the path from the root to each leaf, (K, V)."""
        paths = np.zeros((len(self.leaves), self.n_nodes), dtype=bool)
        node = self.leaves
        while (node >= 0).any():
            reached = np.flatnonzero(node >= 0)
            paths[reached, node[reached]] = True
            node = np.where(node >= 0, self.parents[node], -1)
        return paths

    @cached_property
    def slots(self) -> Slots:
        """Pairs of a leaf and a node on its path, leaf by leaf."""
        leaves, nodes = map(np.ascontiguousarray, np.nonzero(self.above))
        return Slots(np.searchsorted(leaves, np.arange(len(self.leaves) + 1)), leaves, nodes)

    @cached_property
    def preorder(self) -> Array:
        """All nodes, each followed by its subtree, children by their numbers, (V,)."""
        order: list[int] = []
        waiting = [int(np.flatnonzero(self.parents < 0)[0])]
        while waiting:
            order.append(waiting.pop())
            waiting += self.children(order[-1])[::-1].tolist()
        return np.array(order)

    def children(self, node: int) -> Array:
        return np.flatnonzero(self.parents == node)


class SplitTree(NamedTuple):
    """Splits of clusters as a tree of groups of clusters."""

    tree: Tree
    groups: list[tuple[int, ...]]  # the clusters of each node
    betas: Array  # (V,) inverse temperature at which each node splits; NaN for leaves


def binary_tree(n_leaves: int) -> Tree:
    """A binary tree with K >= 1 leaves, as balanced as possible at every node.

    The 2 K - 1 nodes are numbered level by level; the depths of two leaves differ by at most one.

    >>> binary_tree(3).parents
    array([-1,  0,  0,  1,  1])
    """
    if n_leaves < 1:
        raise ValueError(f"n_leaves={n_leaves} should be at least 1.")
    parents = [-1]
    sizes = [n_leaves]
    node = 0
    while node < len(sizes):
        if sizes[node] > 1:
            parents += [node, node]
            sizes += [(sizes[node] + 1) // 2, sizes[node] // 2]
        node += 1
    return Tree(np.array(parents))


def explicit_tree(nodes: ArrayLike | Sequence[Any]) -> Tree:
    """A tree from the parents of nodes, (V,) with -1 for the root, joined pairs, or a linkage.

    Row i of the pairs, (K - 1, 2), holds the nodes that node K + i joins; leaves are 0 to K - 1, as
    in ``children_`` of scikit-learn's AgglomerativeClustering. The first two columns of a linkage
    matrix of SciPy, (K - 1, 4), are such pairs; its heights have no effect.

    >>> explicit_tree([[0, 1], [2, 3]]).parents
    array([ 3,  3,  4,  4, -1])
    """
    if hasattr(nodes, "adj"):  # NumPy would read the names of its nodes
        raise TypeError(
            f"tree is a {type(nodes).__name__}: number its nodes by "
            "networkx.convert_node_labels_to_integers, and give the parent of each, "
            "[next(graph.predecessors(v), -1) for v in range(len(graph))]."
        )
    array = np.asarray(nodes)
    if array.ndim == 2 and array.shape[1] == 4 and array.dtype.kind in "iuf":
        array = array[:, :2]
        if (array % 1 == 0).all():
            array = array.astype(int)
    shaped = array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 2)
    if not shaped or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            "tree should be a parent for each node, the (K - 1, 2) nodes that are joined, or a "
            f"linkage; got an array of shape {np.shape(nodes)} and type {array.dtype}."
        )
    parents = array.astype(int)
    if array.ndim == 2:
        n_nodes = 2 * len(array) + 1
        if not np.array_equal(np.sort(array, axis=None), np.arange(n_nodes - 1)):
            raise ValueError(
                f"tree has {len(array)} pairs: they should join each of 0 to {n_nodes - 2} once."
            )
        parents = np.full(n_nodes, -1)
        parents[array.ravel()] = np.repeat(np.arange(len(array) + 1, n_nodes), 2)
    if (parents == -1).sum() != 1 or parents.max() >= len(parents) or parents.min() < -1:
        raise ValueError("tree should have one root, with parent -1, and parents that are nodes.")
    ancestors = parents
    for _ in parents:  # no path is longer
        ancestors = np.where(ancestors >= 0, parents[ancestors], -1)
    if (ancestors >= 0).any():
        raise ValueError("tree should have no cycles.")
    return Tree(parents)


def division(splits: Sequence[Any]) -> SplitTree:
    """The tree of groups of clusters that splits in the order of the fit describe.

    A group is divided by the first split that separates any of its clusters; clusters that coincide
    again at a higher inverse temperature stay separate. Nodes are numbered level by level; the root
    has all clusters that are in any split.

    >>> from skcooc.em import Split
    >>> division([Split(0.02, ((0, 2), (1,))), Split(0.05, ((0,), (2,)))]).tree.parents
    array([-1,  0,  0,  1,  1])
    """
    clusters = {k for split in splits for part in split.parts for k in part}
    groups = [tuple(sorted(clusters))]
    parents = [-1]
    betas = [np.nan]
    for node, group in enumerate(groups):  # it grows in the loop
        for split in splits:
            rest = set(group).difference(*split.parts)
            pieces = [set(part) & set(group) for part in split.parts]
            children = [tuple(sorted(piece)) for piece in [*pieces, rest] if piece]
            if len(children) > 1:
                betas[node] = split.beta
                groups += children
                parents += [node] * len(children)
                betas += [np.nan] * len(children)
                break
    return SplitTree(Tree(np.array(parents)), groups, np.array(betas))
