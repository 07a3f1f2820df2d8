"""Leaves that split: children that come together again are one leaf, those apart have a parent."""

import numpy as np
import pytest

from skcooc.counts import CSRCounts
from skcooc.em import Growing, Leg, State, fit, make_solver
from skcooc.em.splitting import doubled, mixed
from skcooc.equations.growing_trees import KINDS, SplittingTrees, means_below, own_nodes
from skcooc.hierarchy import division
from tests.equations.literal_tree_clusters import TREE
from tests.equations.models import CASES
from tests.tables import planted, random_table

MODEL = SplittingTrees(8)


@pytest.fixture
def state():
    return CASES["tree, splitting"].model.start(CSRCounts(random_table()), None)


def prediction(state):
    A, B = MODEL.factors(*state)
    return A @ B.T


def test_two_copies_predict_the_same_and_become_one_again(state):
    state, rng = State(*state), np.random.default_rng(0)
    pairs = doubled(MODEL, state, rng)
    params = pairs.params
    assert params.paths.shape == (6, TREE.n_nodes + 6)
    np.testing.assert_allclose(params.paths.sum(axis=1), 1)
    np.testing.assert_allclose(prediction(pairs), prediction(state), rtol=0.02)
    again = mixed(MODEL, pairs, [(0, 3), (1, 4), (2, 5)])
    assert again.params.nodes.shape == state.params.nodes.shape
    np.testing.assert_allclose(prediction(again), prediction(state), rtol=0.02)
    above = {tuple(row) for row in (again.params.paths > 0).T}
    assert above == {tuple(row) for row in (state.params.paths > 0).T}


def test_parts_of_a_leaf_keep_it_as_their_parent(state):
    pairs = doubled(MODEL, State(*state), np.random.default_rng(0))
    split = mixed(MODEL, pairs, [(0, 3), (1, 4), (2,), (5,)])
    groups = {tuple(np.flatnonzero(row)) for row in (split.params.paths > 0).T}
    assert len(groups) == TREE.n_nodes + 2
    assert {(2, 3), (2,), (3,)} < groups


def grown(kind):
    """A fit of planted clusters to falling temperatures, and what its nodes are."""
    X = CSRCounts(planted(4, 30_000, kind="hierarchy", n_rows=120, n_columns=600).X.astype(float))
    model = KINDS[kind].model(4)
    low = model.critical_beta(X)
    leg = Leg(model, X, 4 * low, 100, 1e-6)
    found = fit([Growing(leg, [low * 1.2**step for step in range(8)])],
                np.random.default_rng(0), make_solver(1.8))  # fmt: skip
    whole = division(found.splits)
    order = [whole.groups[leaf][0] for leaf in whole.tree.leaves]
    return found, whole, order, X.row_sums @ found.rows


def test_nodes_are_those_above_the_same_clusters():
    found, whole, order, mass = grown("grown")
    nodes = own_nodes(found.params, whole, order, mass)
    np.testing.assert_allclose(nodes.sum(axis=0), 1)
    assert nodes.shape == (600, 7)
    root = found.params.nodes[:, (found.params.paths > 0).all(axis=0)][:, 0]
    np.testing.assert_allclose(nodes[:, 0], root)
    mean = nodes[:, whole.tree.leaves] @ mass[order] / mass.sum()
    assert np.abs(root - mean).sum() > 0.5  # it has the words that all share, and no others


def test_nodes_of_clusters_without_a_tree_are_means():
    found, whole, order, mass = grown("annealed")
    nodes = means_below(found.params, whole, order, mass)
    unigram = found.params.components @ mass / mass.sum()
    np.testing.assert_allclose(nodes[:, 0], unigram)
