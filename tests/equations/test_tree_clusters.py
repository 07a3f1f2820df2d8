"""The cluster-abstraction model against a literal transcription of its equations."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc import ClusterAbstraction
from skcooc.counts import CSRCounts
from skcooc.em import EM, State
from skcooc.em.schedules import constant
from skcooc.em.staged import Staged
from skcooc.em.sweep import sweep
from skcooc.equations.tree_clusters import Abstractions, Params
from skcooc.hierarchy import binary_tree
from tests.broken import half_step
from tests.tables import planted, random_table

LEVELS = ["constant", "cluster", "object"]
every_level = pytest.mark.parametrize("level", LEVELS)
every_tempering = pytest.mark.parametrize("tempering", ["path", "joint"])
TREE = binary_tree(3)  # 0 above 1 and 2; 1 above 3 and 4; the leaves 2, 3, 4 are the clusters


def start(X, tree=TREE, seed=0):
    """Random nodes, vertical weights and row states."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(X.shape[1]), tree.n_nodes).T
    tau = np.concatenate([rng.dirichlet(np.ones(n)) for n in np.diff(tree.slots.indptr)])
    rho = np.full(len(tree.leaves), 1 / len(tree.leaves))
    rows = rng.dirichlet(np.ones(len(tau)), X.shape[0])
    return State(Params(q, tau, rho, rho[tree.slots.leaves] * tau), [rows])


def paths(tree):
    """The slots of each leaf."""
    return [
        range(*pair) for pair in zip(tree.slots.indptr[:-1], tree.slots.indptr[1:], strict=True)
    ]


def literal_step(n, q, tau, R, beta, level, tempering, tree=TREE):
    """One E-step and M-step, observation by observation: memo, eqs. (52)-(58)."""
    N, V, K, nodes = len(n), tree.n_nodes, len(tree.leaves), tree.slots.nodes
    own = np.tile(tau, (N, 1))
    for i in range(N if level == "object" else 0):
        for slots in paths(tree):
            if n[i].any():
                own[i, slots] = R[i, slots] / R[i, slots].sum()
    power = 1.0 if tempering == "path" else beta
    energy, I = 0.0, np.zeros((N, K))
    posterior = np.zeros((N, n.shape[1], len(nodes)))  # of the slots of a leaf, given the leaf
    for i in range(N):
        scores = np.full(K, np.log(1 / K))
        for c, slots in enumerate(paths(tree)):
            for j in range(n.shape[1]):
                terms = np.array([(own[i, s] * q[j, nodes[s]]) ** power for s in slots])
                if n[i, j]:
                    scores[c] += (beta / power) * n[i, j] * np.log(terms.sum())
                    posterior[i, j, slots] = terms / terms.sum()
        energy -= np.logaddexp.reduce(scores) / beta
        I[i] = np.exp(scores - np.logaddexp.reduce(scores))
    counts = n[:, :, None] * posterior * I[:, tree.slots.leaves][:, None, :]
    new_q = np.zeros((n.shape[1], V))
    for s, v in enumerate(nodes):
        new_q[:, v] += counts[:, :, s].sum(axis=0)
    new_tau, mixtures = tau.copy(), own.copy()
    within = (n[:, :, None] * posterior).sum(axis=1)
    for slots in paths(tree):
        if level != "constant":
            new_tau[slots] = counts[:, :, slots].sum(axis=(0, 1)) / counts[:, :, slots].sum()
        occupied = n.any(axis=1)
        of_row = within[:, slots] / within[:, slots].sum(axis=1, keepdims=True).clip(1e-300)
        mixtures[:, slots] = np.where(occupied[:, None], of_row, own[:, slots])
    if level != "object":
        mixtures = own
    return energy, I[:, tree.slots.leaves] * mixtures, new_q / new_q.sum(axis=0), new_tau


@every_level
@every_tempering
@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_equals_the_literal_equations(level, tempering, beta):
    X = random_table()
    model, (params, rows) = Abstractions(TREE, level, tempering), start(X)
    R, q, tau = rows[0], params.nodes, params.abstraction
    for _ in range(3):
        step = sweep(model, [CSRCounts(X)], params, rows, beta, map)
        params, rows = model.maximize(step.stats, params, beta), step.rows
        energy, R, q, tau = literal_step(X.toarray(), q, tau, R, beta, level, tempering)
        assert step.objective == pytest.approx(energy)
        # Posteriors of leaves below 1e-6 are passed over where rows have weights of their own.
        slack = {"rtol": 1e-4, "atol": 1e-5} if level == "object" else {"rtol": 1e-8}
        np.testing.assert_allclose(params.nodes, q, **slack)
        np.testing.assert_allclose(params.abstraction, tau, **slack)
        np.testing.assert_allclose(rows[0].sum(axis=1), 1)
        if level != "object":
            np.testing.assert_allclose(rows[0], model.leaves(R), **slack)


@every_level
@every_tempering
@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_the_free_energy_never_rises(level, tempering, beta):
    X = planted(4, 2000, kind="clusters", n_rows=30, n_columns=25).X.astype(float)
    model = Abstractions(binary_tree(4), level, tempering, "estimated")
    em = EM(constant(beta, 25), -np.inf)
    fit = em.fit(model, [CSRCounts(X)], None, start=start(X, binary_tree(4)))
    energies = np.array([record.free_energy for record in fit.history])
    assert (np.diff(energies) <= 1e-9 * np.abs(energies[1:])).all()
    assert energies[-1] < energies[0]


def slope_at_convergence(model, X, beta):
    """Largest slope of the literal free energy in the nodes along the simplex, at the end."""
    fit = EM(constant(beta, 3000), 1e-14).fit(model, [CSRCounts(X)], None, start=start(X))
    (q, tau, *_), n, slots = fit.params, X.toarray(), TREE.slots

    def energy(q):
        T = np.zeros((len(TREE.leaves), TREE.n_nodes))
        T[slots.leaves, slots.nodes] = tau
        return -np.logaddexp.reduce(beta * n @ np.log(q @ T.T), axis=1).sum() / beta

    slopes, h = [], 1e-6
    for v in range(q.shape[1]):
        j, other = np.argsort(-q[:, v])[:2]
        change = np.zeros_like(q)
        change[j, v], change[other, v] = h, -h
        slopes.append((energy(q + change) - energy(q - change)) / (2 * h))
    return np.abs(slopes).max() / n.sum()


def test_stationary_at_convergence_and_a_broken_twin_is_not():
    X = sp.csr_array(np.random.default_rng(0).poisson(2.0, (20, 8)).astype(float))
    assert slope_at_convergence(Abstractions(TREE), X, 0.5) < 1e-4
    assert slope_at_convergence(half_step(Abstractions, "nodes")(TREE), X, 0.5) > 1e-3


@every_level
def test_statistics_add_up_over_blocks(level):
    X = random_table()
    model, (params, (R,)) = Abstractions(TREE, level), start(X)
    whole = sweep(model, [CSRCounts(X)], params, [R], 0.5, map)
    parts = sweep(model, [CSRCounts(X[:5]), CSRCounts(X[5:])], params, [R[:5], R[5:]], 0.5, map)
    for one, other in zip(whole.stats, parts.stats, strict=True):
        np.testing.assert_allclose(one, other)


def test_stages_are_ever_less_constrained():
    model = Abstractions(TREE, "object", object_iter=4)
    X = CSRCounts(planted().X.astype(float))
    staged = Staged(EM(constant(0.5, 30), -np.inf))
    fit = staged.fit(model, [X], np.random.default_rng(0))
    assert [stage.abstraction for stage, _ in model.stages] == LEVELS
    assert len(fit.history) == 20 + 30 + 4
    energies = [record.free_energy for record in fit.history]
    assert (np.diff(energies) <= 1e-9 * np.abs(energies[1:])).all()


def test_a_run_that_stops_early_ends_with_the_model_asked_for():
    model, X = Abstractions(TREE, "object"), CSRCounts(planted().X.astype(float))
    staged = Staged(EM(constant(0.5, 30), -np.inf))
    fit = staged.fit(model, [X], np.random.default_rng(0), lambda *_: True)
    assert fit.rows[0].shape[1] == len(fit.params.weights) == len(TREE.slots.nodes)
    assert fit.stopped
    assert not fit.converged
    assert fit.objective == fit.history[-1].free_energy


def test_weights_of_rows_are_repetitions_where_rows_have_weights_of_nodes():
    X = planted().X.toarray()[:20]
    weights = np.arange(20) % 3
    options = {"abstraction": "object", "beta": 0.3, "random_state": 0, "relaxation": 1.0}
    weighted = ClusterAbstraction(3, **options).fit(X, sample_weight=weights)
    repeated = ClusterAbstraction(3, **options).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
    slots = (model._state.params.abstraction for model in (weighted, repeated))
    np.testing.assert_allclose(*slots, atol=1e-6)


def test_the_last_stage_stays_short_on_a_warm_start():
    X = planted().X
    options = {"abstraction": "object", "beta": 0.3, "object_iter": 3, "random_state": 0}
    model = ClusterAbstraction(3, warm_start=True, **options).fit(X)
    with warnings.catch_warnings(action="ignore"):  # it is cut short
        assert model.fit(X).n_iter_ <= 3


def test_one_leaf_is_the_unigram():
    X = planted().X
    model = ClusterAbstraction(1, random_state=0).fit(X)
    shares = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    np.testing.assert_allclose(model.components_, shares[None])
    assert model.tree_.n_nodes == 1


@pytest.mark.parametrize("abstraction", ["cluster", "object"])
def test_recovers_planted_hierarchies(abstraction):
    data = planted(4, 30_000, kind="hierarchy", n_rows=120, n_columns=600)
    model = ClusterAbstraction(4, abstraction=abstraction, n_init=5, random_state=0).fit(data.X)
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
    X = planted().X
    with pytest.raises(ValueError, match="tree has 2 leaves, but n_clusters=3"):
        ClusterAbstraction(3, tree=[-1, 0, 0]).fit(X)
    with pytest.raises(ValueError, match="one root"):
        ClusterAbstraction(2, tree=[-1, -1, 0]).fit(X)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    monkeypatch.setattr("skcooc.base.estimator.n_threads", lambda n_jobs: n_jobs)
    X = planted().X
    options = {"abstraction": "object", "beta": 0.2, "random_state": 0}
    one, three = (ClusterAbstraction(4, n_jobs=n, **options).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.embedding_, three.embedding_)
