"""Linkage matrices: SciPy takes them, and they describe the tree."""

from functools import partial

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, is_monotonic, is_valid_linkage, leaders
from sklearn.exceptions import NotFittedError

from skcooc import AspectModel, ClusterAbstraction
from skcooc.hierarchy import Tree, binary_tree, division, explicit_tree
from skcooc.inspection import linkage, to_linkage
from tests.inspection.planted import stand_in
from tests.plotting.test_splits import SPLITS

CHAIN = Tree(np.array([-1, 0, 0, 0, 1, 1, 4, 4]))  # three children, and leaves at three depths
SINGLE = Tree(np.array([-1, 0, 1, 1, 2]))  # nodes with a single child


def groups_of(Z, K):
    """The leaves below each cluster that is joined."""
    groups = [{k} for k in range(K)]
    for first, second, _, size in Z:
        groups.append(groups[int(first)] | groups[int(second)])
        assert len(groups[-1]) == size
    return groups[K:]


@pytest.mark.parametrize("tree", [binary_tree(2), binary_tree(7), CHAIN, SINGLE], ids=repr)
def test_scipy_takes_it_and_every_node_is_a_cluster_of_it(tree):
    Z, K = to_linkage(stand_in(tree)), len(tree.leaves)
    assert is_valid_linkage(Z)
    assert is_monotonic(Z)
    assert len(dendrogram(Z, no_plot=True)["leaves"]) == K
    assert leaders(Z, np.ones(K, dtype=np.int32))[0].tolist() == [2 * K - 2]
    joined = groups_of(Z, K)
    below = [set(np.flatnonzero(path)) for path in tree.above.T if path.sum() > 1]
    assert all(group in joined for group in below)
    assert joined[-1] == set(range(K))


def test_heights_are_levels_or_the_temperatures_of_splits():
    assert to_linkage(stand_in(CHAIN))[:, 2].tolist() == [1, 2, 3, 3]
    tree, _, betas = division(SPLITS)
    Z = to_linkage(stand_in(tree, splits_=SPLITS))
    np.testing.assert_allclose(np.unique(Z[:, 2]), np.unique(1 / betas[np.isfinite(betas)]))
    assert is_monotonic(Z)


def test_binary_trees_come_back():
    Z = to_linkage(stand_in(binary_tree(6)))
    again = to_linkage(stand_in(explicit_tree(Z[:, :2].astype(int))))
    one, two = (set(map(frozenset, groups_of(rows, 6))) for rows in (Z, again))
    assert one == two


def test_a_parent_joined_before_its_children_is_found_out(monkeypatch):
    """A broken twin: heights the wrong way round."""
    monkeypatch.setattr(linkage, "_levels", lambda tree: -1.0 * tree.depths[::-1])
    with pytest.raises(KeyError):
        to_linkage(stand_in(CHAIN))


def test_what_has_no_tree_is_refused():
    assert to_linkage(stand_in(binary_tree(1))).shape == (0, 4)
    with pytest.raises(NotFittedError):
        to_linkage(ClusterAbstraction())
    aspects = partial(AspectModel(2, beta=1, random_state=0).fit, [[1, 2], [2, 1]])
    with pytest.raises(TypeError, match="has no tree_"):
        to_linkage(aspects())
