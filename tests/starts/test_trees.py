import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from skcooc import ClusterAbstraction
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em import EMStage, GrowClusters, OverRelaxation, make_solver
from skcooc.em.annealing import one_cluster_start
from skcooc.em.stages import PlainRunner
from skcooc.heldout import HeldOut, Validation
from skcooc.hierarchy import division
from skcooc.starts.trees import KINDS, grow, own_nodes
from tests.equations.running import run_stages
from tests.equations.test_tree_clusters import groups, hierarchy


def test_trees_begin_with_the_clusters():
    data = make_cooccurrences(160, 120, 8, kind="clusters", n_tokens=8000, random_state=3)
    for seed in range(3):
        model = ClusterAbstraction(8, beta=0.2, max_iter=20, random_state=seed).fit(data.X)
        assert adjusted_rand_score(data.labels, model.labels_) == 1


@pytest.mark.parametrize("pairs", [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]])
def test_similar_clusters_are_below_the_same_node_whatever_the_numbers_of_leaves(pairs):
    rng = np.random.default_rng(0)
    topics = np.full((4, 60), 0.2)
    topics[:2, :10] = 2
    topics[2:, 10:20] = 2
    for k in range(4):
        topics[k, 20 + 10 * k : 30 + 10 * k] = 3
    topics /= topics.sum(axis=1, keepdims=True)
    planted = np.repeat(range(4), 50)
    X = np.array([rng.multinomial(80, topics[k]) for k in planted])
    for seed in range(2):
        model = ClusterAbstraction(4, tree=[*pairs, [4, 5]], random_state=seed).fit(X)
        assert adjusted_rand_score(planted, model.labels_) == 1
        groups = {frozenset(planted[np.isin(model.labels_, pair)]) for pair in pairs}
        assert groups == {frozenset({0, 1}), frozenset({2, 3})}


def grown(X, heldout=None):
    """A tree of at most four clusters."""
    rng = np.random.default_rng(0)
    runner = PlainRunner(max_iter=100, tol=3e-6)
    return grow(X, KINDS["annealed"], 4, OverRelaxation(1.8), rng, heldout, runner)


def test_splits_are_those_of_the_tree_and_nodes_are_means_of_what_is_below():
    X = CSRCounts(hierarchy().X.astype(float))
    tree, nodes, splits, _ = grown(X)
    parts = {frozenset(part) for split in splits for part in split.parts}
    assert parts == groups(tree) - {frozenset(range(4))}
    above = [np.flatnonzero(of_node).tolist() for of_node in tree.above.T]
    assert [sorted(group) for group in division(splits).groups] == above
    betas = [split.beta for split in splits]
    assert betas == sorted(betas)
    assert nodes.shape == (200, tree.n_nodes)
    np.testing.assert_allclose(nodes[:, 0], X.column_sums / X.column_sums.sum(), atol=1e-5)
    np.testing.assert_allclose(nodes.sum(axis=0), 1)
    for v in np.setdiff1d(np.arange(tree.n_nodes), tree.leaves):
        below = nodes[:, tree.children(v)]
        weights = np.linalg.lstsq(below, nodes[:, v])[0]
        np.testing.assert_allclose(below @ weights, nodes[:, v], atol=1e-6)
        assert weights.sum() == pytest.approx(1, abs=1e-4)


class GivenPerplexities(HeldOut):
    """Perplexities that are given, one for each call."""

    def __init__(self, perplexities):
        object.__setattr__(self, "left", list(perplexities))

    def __call__(self, model, params, rows):
        return Validation(self.left.pop(0) if self.left else 9e9, 0.1)


@pytest.mark.filterwarnings("ignore:The tree has not grown")
def test_growth_ends_where_held_out_observations_are_not_predicted_better():
    """Perplexity falls so many times and then rises."""
    X = CSRCounts(hierarchy().X.astype(float))
    trees = [grown(X, GivenPerplexities(-np.arange(float(n)))).tree for n in (0, 6, 12, 24)]
    found = [len(tree.leaves) for tree in trees]
    assert found == sorted(found)
    assert {2, 4} <= set(found) <= {1, 2, 3, 4}


def test_held_out_observations_do_not_shape_the_tree(monkeypatch):
    data, tables = hierarchy(), []

    def spied(X, *arguments):
        tables.append(X.column_sums.sum())
        return grow(X, *arguments)

    monkeypatch.setattr("skcooc.estimators.cluster_abstraction.grow", spied)
    ClusterAbstraction(4, tree="annealed", random_state=0).fit(data.X)
    assert tables[0] / data.X.sum() == pytest.approx(0.9, abs=0.02)


def test_nodes_are_those_above_the_same_clusters():
    X = CSRCounts(hierarchy().X.astype(float))
    model = KINDS["grown"].model(4)
    low = model.critical_beta(X)
    stage = EMStage(model, X, 4 * low, 100, 1e-6, start=one_cluster_start)
    schedule = GrowClusters(stage, [low * 1.2**step for step in range(8)])
    found = run_stages([schedule], make_solver(1.8))
    whole, mass = division(found.splits), X.row_sums @ found.rows
    order = [whole.groups[leaf][0] for leaf in whole.tree.leaves]
    nodes = own_nodes(found.params, whole, order, mass)
    np.testing.assert_allclose(nodes.sum(axis=0), 1)
    assert nodes.shape == (200, 7)
    root = found.params.nodes[:, (found.params.paths > 0).all(axis=0)][:, 0]
    np.testing.assert_allclose(nodes[:, 0], root)
    mean = nodes[:, whole.tree.leaves] @ mass[order] / mass.sum()
    assert np.abs(root - mean).sum() > 0.5  # it has the words that all share, and no others
