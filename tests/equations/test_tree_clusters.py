"""The cluster-abstraction model: stages, trees of any shape, recovery."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from skcooc import ClusterAbstraction
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, fit, make_solver
from skcooc.em.stages import ignore
from skcooc.equations.tree_clusters import Abstractions
from tests.equations.literal_tree_clusters import TREE, LiteralTree, random_state
from tests.equations.running import energies, step
from tests.tables import planted, random_table

LEVELS = ["constant", "cluster", "object"]


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


def staged(model, observe=ignore):
    X = CSRCounts(planted().X.astype(float))
    stages = [
        EMStage(stage, X, 0.5, min(limit or 30, 30), -np.inf) for stage, limit in model.stages
    ]
    return fit(stages, np.random.default_rng(0), make_solver(1.0), observe)


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


def test_recovers_planted_hierarchies():
    data = planted(4, 30_000, kind="hierarchy", n_rows=120, n_columns=600)
    for level in ("cluster", "object"):
        model = ClusterAbstraction(4, abstraction=level, n_init=2, random_state=0).fit(data.X)
        assert adjusted_rand_score(data.labels, model.labels_) > 0.95
    hard, cold = (
        ClusterAbstraction(4, hard=True, beta=beta, random_state=0).fit(data.X)
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


def test_bad_trees_and_parameters_are_refused():
    for n_clusters, options, message in (
        (3, {"tree": [-1, 0, 0]}, "tree has 2 leaves, but n_clusters=3"),
        (2, {"tree": [-1, -1, 0]}, "one root"),
        (4, {"hard": True, "proportions": "estimated"}, "it needs proportions='uniform'"),
        (4, {"coarsening": [np.arange(60) // 2]}, "coarsening has a grouping of 60 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            ClusterAbstraction(n_clusters, **options).fit(planted().X)


def test_tied_rows_come_first():
    X = planted(4, 6000, kind="hierarchy", n_rows=60, n_columns=80).X
    for level in ("cluster", "object"):
        model = ClusterAbstraction(4, abstraction=level, beta=0.3, random_state=0)
        plain = clone(model).fit(X)
        tied = model.set_params(coarsening=[np.arange(60) // 2]).fit(X)
        assert tied.history_[0].free_energy != plain.history_[0].free_energy
        assert tied.objective_ < 1.02 * plain.objective_


def test_leaves_without_rows_are_the_unigram():
    """Three rows for eight leaves; were they left as they began, new rows would go there."""
    X = np.kron(np.eye(3), [[6.0, 3.0]])
    model = ClusterAbstraction(8, hard=True, smoothing=0.0, random_state=0).fit(X)
    leaves = model.components_[model.tree_.leaves]
    vacant = np.setdiff1d(np.arange(8), model.labels_)
    np.testing.assert_allclose(leaves[vacant], np.tile(X.sum(axis=0) / X.sum(), (5, 1)))
