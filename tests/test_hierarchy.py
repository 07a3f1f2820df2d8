from types import SimpleNamespace

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering

from skcooc.hierarchy import Tree, binary_tree, explicit_tree
from tests.tables import refused


def path_to_root(parents, node):
    path = [node]
    while parents[path[-1]] >= 0:
        path.append(parents[path[-1]])
    return path


def random_parents(n_nodes, seed):
    """Parents of a random tree, nodes numbered in random order."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(n_nodes)
    parents = np.full(n_nodes, -1)
    for node in range(1, n_nodes):
        parents[number[node]] = number[rng.integers(node)]
    return parents


TREES = [*map(binary_tree, (1, 2, 5, 8)), *(Tree(random_parents(12, seed)) for seed in range(5))]


def test_trees_agree_with_walking_up_from_each_node():
    for tree in TREES:
        parents = tree.parents.tolist()
        paths = [path_to_root(parents, node) for node in range(tree.n_nodes)]
        assert tree.depths.tolist() == [len(path) - 1 for path in paths]
        assert tree.leaves.tolist() == [v for v in range(tree.n_nodes) if v not in parents]
        assert tree.above.dtype == bool
        assert tree.above.shape == (len(tree.leaves), tree.n_nodes)
        for leaf, above in zip(tree.leaves, tree.above, strict=True):
            assert set(np.flatnonzero(above)) == set(paths[leaf])
        position = {node: at for at, node in enumerate(tree.preorder.tolist())}
        assert sorted(position) == list(range(tree.n_nodes))
        for node, start in position.items():
            below = {v for v in position if node in paths[v]}
            assert set(tree.preorder[start : start + len(below)].tolist()) == below
            children = tree.children(node).tolist()
            assert children == [v for v in range(tree.n_nodes) if parents[v] == node]
            assert sorted(children, key=position.get) == children


def test_binary_trees_are_balanced():
    for n_leaves in range(1, 21):
        tree = binary_tree(n_leaves)
        assert tree.n_nodes == 2 * n_leaves - 1
        depths = tree.depths[tree.leaves]
        assert len(depths) == n_leaves
        assert depths.max() - depths.min() <= 1
        assert set(np.bincount(tree.parents[1:], minlength=tree.n_nodes)) <= {0, 2}
        assert (np.diff(tree.depths) >= 0).all()  # numbered level by level
        assert (np.diff(tree.parents) >= 0).all()
        n_below = tree.above.sum(axis=0)
        for children in map(tree.children, set(range(tree.n_nodes)) - set(tree.leaves)):
            assert n_below[children[0]] - n_below[children[1]] in (0, 1)


def test_single_nodes_very_many_in_a_small_type_and_trees_of_clusterings():
    for parents in ([-1], np.empty((0, 2), int)):
        tree = explicit_tree(parents)
        assert tree.leaves.tolist() == tree.preorder.tolist() == [0]
        assert tree.above.tolist() == [[True]]
    given = np.arange(-1, 120, dtype=np.int8)
    tree = explicit_tree(given)
    given[:] = 0
    assert tree.depths[-1] == 120
    assert tree.parents.dtype == int
    points = np.random.default_rng(0).normal(size=(9, 2))
    clustering = AgglomerativeClustering(compute_full_tree=True).fit(points).children_
    matrix = linkage(points)
    assert explicit_tree(matrix.tolist()).parents.dtype == int
    for nodes in (clustering, matrix[:, :2].astype(int), matrix):
        tree = explicit_tree(nodes)
        joined = nodes[:, :2]
        assert tree.leaves.tolist() == list(range(9))
        assert tree.above[:, -1].all()
        for node, pair in enumerate(joined, start=9):
            assert tree.children(node).tolist() == sorted(pair)


NO_TREES = {
    r"one root.*and parents that are nodes": (
        ([-1, -1, 0], [0, 1, 0], [-1, 3, 0], [-1, -2, 0], [1, 0], np.array([], dtype=int))
    ),
    "no cycles": ([-1, 1], [-1, 0, 3, 2], [-1, 0, 4, 2, 3, 1]),
    "one root|no cycles": ([[0, 3], [1, 2]],),
    "join each of": ([[0, 0]], [[0, -2]], [[0, 7]], [[0, 1], [0, 2]], [[0, 1], [2, 4]]),
    "a parent for each node, the": (
        *([-1.0, 0.0], [[0.0, 1.0]], [["a", "b"]], [True, False], 3, []),
        *(np.zeros((2, 3), int), np.zeros((2, 2, 2), int)),
        *([[0.0, 0.5, 1.0, 2.0]], [[0.0, np.nan, 1.0, 2.0]], [list("0112")]),
    ),
}


def test_arrays_that_are_no_tree_are_refused():
    for message, invalid in NO_TREES.items():
        for nodes in invalid:
            refused(message, explicit_tree, nodes)
    graph = SimpleNamespace(adj={})
    refused("tree is a SimpleNamespace: number its nodes", explicit_tree, graph, error=TypeError)
    refused("n_leaves=0 should be at least 1", binary_tree, 0)
