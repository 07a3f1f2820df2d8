import re
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from skcooc import ClusterAbstraction
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, State, make_solver
from skcooc.em.annealing import duplicate_components, mix_components
from skcooc.em.stages import ignore
from skcooc.equations.growing_trees import SplittingTrees
from skcooc.equations.tree_clusters import Abstractions
from skcooc.hierarchy import Tree
from skcooc.starts.trees import tree_start
from tests.data import requires_callbacks
from tests.equations.literal_tree_clusters import TREE, LiteralTree, random_state
from tests.equations.models import CASES
from tests.equations.running import energies, run_stages, step
from tests.tables import planted, random_table, refused
from tests.watching import Stop

LEVELS = ["constant", "cluster", "row"]


@pytest.mark.parametrize(("tempering", "beta"), [("path", 1.0), ("joint", 0.4)])
def test_leaves_that_are_passed_over_change_little(tempering, beta):
    """Leaves with posteriors below 1e-6 are skipped if rows have their own weights."""
    X, close = random_table(), {"rtol": 1e-4, "atol": 1e-5}
    model, literal = Abstractions(TREE, "row", tempering), LiteralTree("row", tempering)
    state = expected = random_state(X, "row")
    for _ in range(2):
        energy = literal.objective(X.toarray(), *expected, beta)
        expected = literal.step(X.toarray(), *expected, beta)
        state, _, objective = step(model, X, state, beta)
        assert objective == pytest.approx(energy)
        np.testing.assert_allclose(state.params.nodes, expected[0].nodes, **close)
        np.testing.assert_allclose(state.params.abstraction, expected[0].abstraction, **close)
        np.testing.assert_allclose(state.rows.sum(axis=1), 1)


def staged(model, observe=ignore):
    X = CSRCounts(planted().X.astype(float))
    stages = [
        EMStage(stage, X, 0.5, min(limit or 30, 30), -np.inf, start=tree_start)
        for stage, limit in model.stages
    ]
    return run_stages(stages, make_solver(1.0), observe)


def test_stages_are_ever_less_constrained():
    model = Abstractions(TREE, "row", row_iter=4)
    assert [stage.abstraction for stage, _ in model.stages] == LEVELS
    path = energies(staged(model))
    assert len(path) == 20 + 30 + 4
    assert (np.diff(path) <= 1e-9 * np.abs(path[1:])).all()


def test_a_run_that_stops_early_ends_with_the_model_asked_for():
    stopped = staged(Abstractions(TREE, "row"), observe=lambda *_: True)
    assert stopped.rows.shape[1] == len(stopped.params.weights) == len(TREE.slots.nodes)
    assert stopped.stopped
    assert not stopped.converged
    assert stopped.objective == stopped.history[-1].free_energy


def test_the_last_stage_stays_short_on_a_warm_start():
    X = planted().X
    options = {"abstraction": "row", "beta": 0.3, "row_iter": 3, "random_state": 0}
    model = ClusterAbstraction(3, warm_start=True, **options).fit(X)
    with warnings.catch_warnings(action="ignore"):  # it is cut short
        assert model.fit(X).n_iter_ <= 3


def test_recovers_planted_hierarchies():
    data = planted(4, 15_000, kind="hierarchy", n_rows=80, n_columns=300)
    for level in ("cluster", "row"):
        model = ClusterAbstraction(4, tree="binary", abstraction=level, random_state=0).fit(data.X)
        assert adjusted_rand_score(data.labels, model.labels_) > 0.95
    hard, cold = (
        ClusterAbstraction(4, tree="binary", hard=True, beta=beta, random_state=0).fit(data.X)
        for beta in ("auto", 0.3)
    )
    np.testing.assert_array_equal(hard.components_, cold.components_)
    assert set(np.unique(hard.posteriors_)) == {0, 1}
    assert adjusted_rand_score(data.labels, hard.labels_) > 0.9


@pytest.mark.parametrize("level", LEVELS)
def test_trees_of_any_shape(level):
    X = planted(5, 4000, kind="clusters").X
    chain = [-1, 0, 0, 0, 1, 1, 4, 4]  # leaves 2, 3, 5, 6, 7 at depths 1 to 3
    model = ClusterAbstraction(5, tree=chain, abstraction=level, random_state=0).fit(X)
    assert model.tree_.leaves.tolist() == [2, 3, 5, 6, 7]
    assert model.components_.shape == (8, X.shape[1])
    indicator = model.decision_path(X[:7]).toarray()
    np.testing.assert_array_equal(indicator, model.tree_.above[model.predict(X[:7])])
    assert model.node_weights_.sum() == pytest.approx(1)
    off_path = ~model.tree_.above[model.labels_] & (model.posteriors_.max(axis=1) > 0.999)[:, None]
    assert model.embedding_[off_path].max(initial=0) < 1e-3


def test_the_default_tree_has_the_planted_groups_where_they_are_no_balanced_tree():
    """Leaves at depths 2 and 3, whose tokens are of all nodes above them."""
    rng = np.random.default_rng(0)
    planted_tree = Tree(np.array([-1, 0, 0, 1, 1, 2, 2, 3, 3]))
    levels = planted_tree.above / planted_tree.above.sum(axis=1, keepdims=True)
    labels = np.arange(400) % 5
    P = (levels @ rng.dirichlet(np.full(400, 0.05), 9))[labels]
    model = ClusterAbstraction(5, random_state=0).fit(sp.csr_array(rng.multinomial(40, P)))
    names = names_of(model.labels_, labels, 5)
    assert groups(model.tree_, names) == groups(planted_tree)


def test_bad_trees_and_parameters_are_refused():
    for n_clusters, options, message in (
        (3, {"tree": [-1, 0, 0]}, "2 leaves, but n_clusters=3: set n_clusters=2"),
        (2, {"tree": [-1, -1, 0]}, "one root"),
        (4, {"hard": True, "proportions": "estimated"}, "set proportions='uniform'"),
        (4, {"coarsening": [np.arange(60) // 2]}, "coarsening has a grouping of 60 rows"),
    ):
        refused(message, ClusterAbstraction(n_clusters, **options).fit, planted().X)


def test_linkages_have_a_leaf_for_each_cluster_or_are_cut():
    X = planted(4, 4000, n_rows=30).X.toarray()
    of_rows = linkage(X / X.sum(axis=1, keepdims=True), "average")
    model = ClusterAbstraction(4, tree=of_rows, random_state=0)
    with pytest.raises(ValueError, match="30 leaves, but n_clusters=4: set n_clusters=30, or") as e:
        model.fit(X)
    code = re.search(r"np\.unique.*reshape\(-1, 2\)", str(e.value))[0]
    cut = eval(code, {"np": np, "tree": of_rows})
    expected = ClusterAbstraction(4, tree=cut, random_state=0).fit(X)
    assert len(expected.tree_.leaves) == 4
    clusters = fcluster(of_rows, 4, "maxclust")
    sizes = np.bincount(clusters)[1:]
    nodes = np.unique(of_rows[-3:, :2])[:4].astype(int)  # that become the leaves
    counts = np.concatenate([np.ones(30), of_rows[:, 3]])
    assert sorted(counts[nodes]) == sorted(sizes)
    matrix = np.column_stack([cut, [1.0, 2.0, 3.0], [2, 3, 4]])
    fitted = ClusterAbstraction(4, tree=matrix, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted.tree_.parents, expected.tree_.parents)
    np.testing.assert_array_equal(fitted.labels_, expected.labels_)
    small = linkage(X[:5])
    model = ClusterAbstraction(1, tree=small)
    refused(r"5 leaves, but n_clusters=1: set n_clusters=5\.$", model.fit, X)


def test_tied_rows_come_first():
    X = planted(4, 6000, kind="hierarchy", n_rows=60, n_columns=80).X
    for level in ("cluster", "row"):
        model = ClusterAbstraction(4, tree="binary", abstraction=level, beta=0.3, random_state=0)
        plain = clone(model).fit(X)
        tied = model.set_params(coarsening=[np.arange(60) // 2]).fit(X)
        assert tied.history_[0].free_energy != plain.history_[0].free_energy
        assert tied.objective_ < 1.02 * plain.objective_


def test_leaves_without_rows_are_the_unigram():
    """Three rows for eight leaves; were they left as they began, new rows would go there."""
    X = np.kron(np.eye(3), [[6.0, 3.0]])
    model = ClusterAbstraction(8, tree="binary", hard=True, smoothing=0.0, random_state=0).fit(X)
    leaves = model.components_[model.tree_.leaves]
    vacant = np.setdiff1d(np.arange(8), model.labels_)
    np.testing.assert_allclose(leaves[vacant], np.tile(X.sum(axis=0) / X.sum(), (5, 1)))


@cache
def hierarchy(K=4):
    return planted(K, 30_000, kind="hierarchy", n_rows=120, n_columns=200)


def groups(tree, names=None):
    """The clusters below each node, by name."""
    names = np.arange(len(tree.leaves)) if names is None else names
    return {frozenset(names[tree.above[:, v]].tolist()) for v in range(tree.n_nodes)}


def names_of(labels, truth, n_clusters):
    """The planted cluster of most rows of each cluster found."""
    return np.array([np.bincount(truth[labels == k]).argmax() for k in range(n_clusters)])


@pytest.mark.parametrize(("K", "tree"), [(4, "annealed"), (6, "grown")])
def test_planted_topologies_are_found(K, tree):
    data = hierarchy(K)
    model = ClusterAbstraction(K, tree=tree, random_state=0).fit(data.X)
    assert adjusted_rand_score(data.labels, model.labels_) > 0.95
    names = names_of(model.labels_, data.labels, K)
    assert groups(model.tree_, names) == groups(data.tree)
    shuffled = np.roll(names, 1)  # the test would see another topology
    assert groups(model.tree_, shuffled) != groups(data.tree)


def test_clusters_that_are_not_there_are_not_found():
    data = planted(4, 20_000, kind="clusters")
    model = ClusterAbstraction(20, tree="annealed", random_state=0).fit(data.X)
    assert 4 <= model.n_clusters_ <= 6
    assert model.components_.shape == (2 * model.n_clusters_ - 1, data.X.shape[1])
    assert adjusted_rand_score(data.labels, model.labels_) > 0.9


def test_independent_rows_and_columns_are_one_cluster():
    X = np.outer(np.arange(1, 13), np.arange(1, 9))
    with pytest.warns(match="The tree has not grown"):
        model = ClusterAbstraction(3, tree="annealed", random_state=0).fit(X)
    assert model.splits_ == []
    assert model.tree_.parents.tolist() == [-1]


@requires_callbacks
def test_with_a_temperature_that_is_given():
    data = hierarchy()
    model = ClusterAbstraction(4, tree="annealed", beta=0.1, random_state=0)
    for early_stopping in (True, False):
        model.set_params(early_stopping=early_stopping).fit(data.X)
        assert model.tuning_ == []
        assert adjusted_rand_score(data.labels, model.labels_) > 0.95

    with warnings.catch_warnings():  # it did not grow, and for a reason
        warnings.filterwarnings("error", message="The tree has not grown")
        assert model.set_callbacks(Stop(0)).fit(data.X).n_clusters_ >= 1


def test_a_warm_start_keeps_the_tree():
    data = hierarchy()
    given = ClusterAbstraction(4, tree="binary", beta=0.1, random_state=0, warm_start=True).fit(
        data.X
    )
    refused("but tree has changed", given.set_params(tree="annealed").fit, data.X)
    model = ClusterAbstraction(4, tree="annealed", max_iter=40, random_state=0, warm_start=True)
    with pytest.warns(match="converge"):
        model.set_params(tol=0.0).fit(data.X)
    tree, splits, objective = model.tree_, model.splits_, model.objective_
    model.set_params(max_iter=100, tol=1e-6).fit(data.X)
    assert model.tree_ is tree
    assert model.splits_ == splits
    assert model.objective_ <= objective
    refused("but tree has changed", model.set_params(tree=[-1, 0, 0, 0, 0]).fit, data.X)


MODEL = SplittingTrees(8)


@pytest.fixture
def split_state():
    """Random clusters of a tree, and two copies of each."""
    state = State(*CASES["tree, splitting"].model.start(CSRCounts(random_table()), None))
    return state, duplicate_components(MODEL, state, np.random.default_rng(0))


def supports(state):
    """The clusters below each node."""
    return {tuple(np.flatnonzero(row)) for row in (state.params.paths > 0).T}


def test_two_copies_predict_the_same_and_become_one_again(split_state):
    state, pairs = split_state
    assert pairs.params.paths.shape == (6, TREE.n_nodes + 6)
    np.testing.assert_allclose(pairs.params.paths.sum(axis=1), 1)
    again = mix_components(MODEL, pairs, [(0, 3), (1, 4), (2, 5)])
    assert again.params.nodes.shape == state.params.nodes.shape
    for other in (pairs, again):
        np.testing.assert_allclose(prediction(other), prediction(state), rtol=0.02)
    assert supports(again) == supports(state)


def test_parts_of_a_leaf_keep_it_as_their_parent(split_state):
    split = mix_components(MODEL, split_state[1], [(0, 3), (1, 4), (2,), (5,)])
    assert len(supports(split)) == TREE.n_nodes + 2
    assert {(2, 3), (2,), (3,)} < supports(split)


def prediction(state):
    A, B = MODEL.factors(*state)
    return A @ B.T
