"""The cluster-abstraction model: stages, trees of any shape, recovery."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from skcooc import ClusterAbstraction
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, fit, make_solver
from skcooc.em.stages import ignore
from skcooc.equations.tree_clusters import Abstractions, Params
from skcooc.hierarchy import explicit_tree
from tests.equations.broken import TemperedLevels
from tests.equations.literal_tree_clusters import TREE, LiteralTree, random_state
from tests.equations.running import energies, step
from tests.tables import planted, random_table

LEVELS = ["constant", "cluster", "object"]
every_level = pytest.mark.parametrize("level", LEVELS)


@pytest.mark.parametrize(("tempering", "beta"), [("path", 1.0), ("joint", 0.4)])
def test_leaves_that_are_passed_over_change_little(tempering, beta):
    """Leaves with posteriors below 1e-6 are skipped if rows have their own weights."""
    X, close = random_table(), {"rtol": 1e-4, "atol": 1e-5}
    model, literal = Abstractions(TREE, "object", tempering), LiteralTree("object", tempering)
    state = expected = random_state(X, "object")
    for _ in range(2):
        energy = literal.objective(X.toarray(), *expected, beta)
        expected = literal.step(X.toarray(), *expected, beta)
        state, _, objective = step(model, X, state, beta)
        assert objective == pytest.approx(energy)
        np.testing.assert_allclose(state.params.nodes, expected[0].nodes, **close)
        np.testing.assert_allclose(state.params.abstraction, expected[0].abstraction, **close)
        np.testing.assert_allclose(state.rows.sum(axis=1), 1)


@every_level
def test_two_equal_nodes_are_one(level):
    assert equal_nodes_are_one(level, Abstractions)
    assert not equal_nodes_are_one(level, lambda *of: TemperedLevels(Abstractions(*of)))


def equal_nodes_are_one(level, kind):
    """True if a root above three leaves equals one with a copy of itself below it."""
    X, beta = CSRCounts(random_table()), 0.4
    one, two = explicit_tree([-1, 0, 0, 0]), explicit_tree([-1, 0, 1, 1, 1])
    (q, *_), rows = random_state(X.table, "cluster", one)
    tau = np.full(6, 0.5)
    params = Params(q, tau, rows[0], rows[0])
    split = Params(q[:, [0, 0, 1, 2, 3]], np.tile([0.2, 0.3, 0.5], 3), rows[0], rows[0])
    (I, stats), (its, other) = (
        kind(tree, level, "joint").expect(X, these, rows, beta)
        for tree, these in ((one, params), (two, split))
    )
    if level == "object":
        I, its = (
            np.add.reduceat(R, range(0, R.shape[1], R.shape[1] // 3), axis=1) for R in (I, its)
        )
    nodes = np.delete(other.nodes, 1, axis=1)
    nodes[:, 0] += other.nodes[:, 1]
    same = np.allclose(I, its) and np.allclose(nodes, stats.nodes, rtol=1e-4)
    return same & np.isclose(stats.free_energy, other.free_energy)


def staged(model, n_iter=30, observe=ignore):
    X = CSRCounts(planted().X.astype(float))
    stages = ((stage, min(limit or n_iter, n_iter)) for stage, limit in model.stages)
    legs = [EMStage(stage, X, 0.5, most, -np.inf) for stage, most in stages]
    return fit(legs, np.random.default_rng(0), make_solver(1.0), observe)


def test_stages_are_ever_less_constrained():
    model = Abstractions(TREE, "object", object_iter=4)
    assert [stage.abstraction for stage, _ in model.stages] == LEVELS
    path = energies(staged(model))
    assert len(path) == 20 + 30 + 4
    assert (np.diff(path) <= 1e-9 * np.abs(path[1:])).all()


def test_a_run_that_stops_early_ends_with_the_model_asked_for():
    stopped = staged(Abstractions(TREE, "object"), observe=lambda *_: True)
    assert stopped.rows.shape[1] == len(stopped.params.weights) == len(TREE.slots.nodes)
    assert stopped.stopped
    assert not stopped.converged
    assert stopped.objective == stopped.history[-1].free_energy


def test_the_last_stage_stays_short_on_a_warm_start():
    X = planted().X
    options = {"abstraction": "object", "beta": 0.3, "object_iter": 3, "random_state": 0}
    model = ClusterAbstraction(3, warm_start=True, **options).fit(X)
    with warnings.catch_warnings(action="ignore"):  # it is cut short
        assert model.fit(X).n_iter_ <= 3


@pytest.mark.parametrize("abstraction", ["cluster", "object"])
def test_recovers_planted_hierarchies(abstraction):
    data = planted(4, 30_000, kind="hierarchy", n_rows=120, n_columns=600)
    model = ClusterAbstraction(4, abstraction=abstraction, n_init=2, random_state=0).fit(data.X)
    assert adjusted_rand_score(data.labels, model.labels_) > 0.95


@every_level
def test_trees_of_any_shape(level):
    X = planted(5, 4000, kind="clusters").X
    chain = [-1, 0, 0, 0, 1, 1, 4, 4]  # leaves 2, 3, 5, 6, 7 at depths 1 to 3
    model = ClusterAbstraction(5, tree=chain, abstraction=level, random_state=0).fit(X)
    assert model.tree_.leaves.tolist() == [2, 3, 5, 6, 7]
    assert model.components_.shape == (8, X.shape[1])
    indicator = model.decision_path(X[:7]).toarray()
    np.testing.assert_array_equal(indicator, model.tree_.above[model.predict(X[:7])])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.node_weights_.sum() == pytest.approx(1)
    off_path = ~model.tree_.above[model.labels_] & (model.posteriors_.max(axis=1) > 0.999)[:, None]
    assert model.embedding_[off_path].max(initial=0) < 1e-3


def test_trees_that_do_not_fit_are_refused():
    refused = (3, [-1, 0, 0], "tree has 2 leaves, but n_clusters=3"), (2, [-1, -1, 0], "one root")
    for n_clusters, tree, message in refused:
        with pytest.raises(ValueError, match=message):
            ClusterAbstraction(n_clusters, tree=tree).fit(planted().X)


def test_hard_clusters_do_not_depend_on_beta_and_find_planted_ones():
    data = planted(4, 30_000, kind="hierarchy", n_rows=120, n_columns=600)
    hard, cold = (
        ClusterAbstraction(4, hard=True, beta=beta, random_state=0).fit(data.X)
        for beta in ("auto", 0.3)
    )
    np.testing.assert_array_equal(hard.components_, cold.components_)
    assert set(np.unique(hard.posteriors_)) == {0, 1}
    assert adjusted_rand_score(data.labels, hard.labels_) > 0.9
    with pytest.raises(ValueError, match="it needs proportions='uniform'"):
        ClusterAbstraction(4, hard=True, proportions="estimated").fit(data.X)


def test_leaves_without_rows_are_the_unigram():
    """Three rows for eight leaves; were they left as they began, new rows would go there."""
    X = np.kron(np.eye(3), [[6.0, 3.0]])
    model = ClusterAbstraction(8, hard=True, smoothing=0.0, random_state=0).fit(X)
    leaves = model.components_[model.tree_.leaves]
    vacant = np.setdiff1d(np.arange(8), model.labels_)
    np.testing.assert_allclose(leaves[vacant], np.tile(X.sum(axis=0) / X.sum(), (5, 1)))


@pytest.mark.parametrize("abstraction", ["cluster", "object"])
def test_tied_rows_come_first(abstraction):
    X = planted(4, 6000, kind="hierarchy", n_rows=60, n_columns=80).X
    pairs = np.arange(60) // 2
    options = {"abstraction": abstraction, "beta": 0.3, "random_state": 0}
    plain, tied = (ClusterAbstraction(4, coarsening=c, **options).fit(X) for c in (None, [pairs]))
    assert tied.history_[0].free_energy != plain.history_[0].free_energy
    assert tied.objective_ < 1.02 * plain.objective_
    with pytest.raises(ValueError, match="coarsening has a grouping of 60 rows"):
        tied.fit(X[:50])


def mixtures_of_nodes(n, likelihood, start):
    """EM of s in sum_c n_c log sum_v s_v likelihood_cv, rows of n and s being those of a table."""
    s = start
    for _ in range(3000):
        s = s * ((n / (s @ likelihood.T)) @ likelihood)
        s /= s.sum(axis=1, keepdims=True)
    return s


def test_a_tree_of_columns_says_no_more_of_new_rows_than_its_leaves():
    """The notes on ClusterAbstraction: what explains a new row is not determined, and predicts
    what clusters without a tree do."""
    X, new = (planted(4, 3000, seed=seed, kind="hierarchy").X.toarray() for seed in (0, 1))
    model = ClusterAbstraction(4, beta=0.3, random_state=0).fit(X.T)
    J, P = model.posteriors_, model.row_distribution_
    tau = np.linalg.lstsq(J, model.embedding_)[0]
    shares, joint = P @ J @ tau, P[:, None] * (J @ tau)
    n = new[new.any(axis=1)] @ J
    starts = np.tile(shares, (len(n), 1)), np.random.default_rng(0).dirichlet(shares, len(n)) + 0.01
    usual, other = (mixtures_of_nodes(n, tau / shares, start) for start in starts)
    assert np.abs(usual - other).max() > 0.1
    of_leaves = n / n.sum(axis=1, keepdims=True) @ (P[:, None] * J / (P @ J)).T
    for s in (usual, other):
        np.testing.assert_allclose(s @ (joint / shares).T, of_leaves, atol=1e-6)
    broken = mixtures_of_nodes(n, tau, starts[0])  # nodes by their weights, not over their shares
    assert np.abs(broken @ (joint / shares).T - of_leaves).max() > 1e-3
