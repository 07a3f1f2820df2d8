"""Swaps of clusters: their costs and gains, literally, and what they find."""

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em import EMResult, EMStage, OverRelaxation, State
from skcooc.em.stages import PlainRunner, Record
from skcooc.equations.memberships import usual_cluster_beta, weight_unit
from skcooc.equations.row_clusters import RowClusters
from skcooc.starts.clusters import best_start, hard_row_start, swapped_start
from skcooc.starts.swaps import division, promising_pairs, recent_fall, removal_costs, swapped
from tests.equations.running import run_stages

SHARES = (0.5, 0.25, 0.15, 0.07, 0.03)
every_weighting = pytest.mark.parametrize("object_weights", ["counts", "sqrt", "equal"])


def small_clusters(object_weights="sqrt", seed=0):
    """A fit of five clusters to a small table with weights of rows."""
    rng = np.random.default_rng(seed)
    X = make_cooccurrences(40, 30, n_components=4, kind="clusters", n_tokens=1500, random_state=1).X
    counts = CSRCounts(X.astype(float), rng.integers(1, 4, 40).astype(float))
    model = RowClusters(5, object_weights=object_weights)
    beta = usual_cluster_beta(model, counts)
    start = best_start(model, counts, rng, PlainRunner(max_iter=5))
    return model, counts, beta, State(start.params, start.rows)


def literal_factors(X, object_weights, unit):
    power = {"counts": 1.0, "sqrt": 0.5, "equal": 0.0}[object_weights]
    sizes = X.sum(axis=1)
    return unit * sizes ** (power - 1)


def literal_nats(counts):
    """-sum_j C_j log C_j / C of each line."""
    return -(xlogy(counts, counts) - xlogy(counts, counts.sum(axis=1, keepdims=True))).sum(axis=1)


@every_weighting
def test_removal_costs_are_those_of_a_literal_transcription(object_weights):
    model, counts, _, (params, rows) = small_clusters(object_weights)
    X = counts.table.toarray()
    weighted = X * (literal_factors(X, object_weights, params.unit) * counts.row_weights)[:, None]
    expected = []
    for removed in range(5):
        divided = rows.copy()
        for i in range(len(rows)):
            others = [k for k in range(5) if k != removed]
            rest = sum(rows[i, k] for k in others)
            for k in others:
                divided[i, k] += rows[i, removed] * (rows[i, k] / rest if rest else 1 / 4)
            divided[i, removed] = 0
        expected.append(literal_nats(divided.T @ weighted).sum())
    expected -= literal_nats(rows.T @ weighted).sum()
    costs = removal_costs(model, counts, params, rows)
    np.testing.assert_allclose(costs, expected, rtol=1e-5)
    assert (costs > 0).all()


@every_weighting
def test_the_gain_of_a_division_is_the_fall_of_the_free_energy(object_weights):
    model, counts, beta, state = small_clusters(object_weights)
    X = counts.table.toarray()
    largest = int(np.bincount(state.rows.argmax(axis=1)).argmax())
    members = state.rows.argmax(axis=1) == largest
    rng = np.random.default_rng(0)
    gain, halves = division(largest, model, counts, beta, state, rng, PlainRunner())
    factors = literal_factors(X, object_weights, state.params.unit)[members]
    weights = counts.row_weights[members]
    weighted = X[members] * factors[:, None]
    assert halves.shape == (30, 2)
    np.testing.assert_allclose(halves.sum(axis=0), 1)

    undivided = literal_nats((weights @ weighted)[None]).sum()
    log_halves = np.log(np.maximum(halves, 1e-30))
    evidence = np.logaddexp.reduce(beta * weighted @ log_halves, axis=1)  # of halves of weight one
    np.testing.assert_allclose(gain, undivided + weights @ evidence / beta, rtol=0.02)
    assert gain > 0
    lonely = state._replace(rows=np.eye(5)[np.minimum(np.arange(40), 4)])
    assert division(0, model, counts, beta, lonely, rng, PlainRunner())[0] == -np.inf


def test_promising_pairs_are_different_and_begin_with_the_largest_net_gain():
    gains = np.array([20.0, 1.0, 8.0, -np.inf, 5.0])
    costs = np.array([3.0, 7.0, 2.0, 1.0, 6.0])
    assert list(promising_pairs(gains, costs)) == [(0, 3), (0, 2), (2, 3)]
    assert list(promising_pairs(np.full(3, -np.inf), np.zeros(3))) == []


def unequal_clusters(seed, n_rows=200, n_columns=150, length=40):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(5), np.round(np.multiply(SHARES, n_rows)).astype(int))
    distributions = rng.dirichlet(np.full(n_columns, 0.3), 5)
    return np.stack([rng.multinomial(length, distributions[k]) for k in labels]), labels


def test_estimated_proportions_leave_a_large_cluster_undivided():
    uniform, estimated = [], []
    for seed in range(4):
        X, labels = unequal_clusters(seed, n_rows=400, length=15)
        even = fitted(X, seed, beta=0.3, proportions="uniform")
        uniform.append(adjusted_rand_score(labels, even.labels_))
        estimated.append(adjusted_rand_score(labels, fitted(X, seed, beta=0.3).labels_))
    assert np.max(uniform) < 0.75
    assert np.median(estimated) > 0.97


def test_hard_clusters_begin_with_soft_ones_of_estimated_proportions():
    agreement = []
    for seed in range(3):
        X, labels = unequal_clusters(seed, n_rows=400, length=15)
        model = fitted(X, seed, hard=True)
        agreement.append(adjusted_rand_score(labels, model.labels_))
        np.testing.assert_allclose(model.weights_, 1 / 5, rtol=1e-6)
    assert min(agreement) > 0.95


@every_weighting
def test_a_hard_start_swaps_soft_clusters_and_has_the_unit_of_its_weights(
    object_weights, monkeypatch
):
    _, counts, _, _ = small_clusters()
    calls = []
    monkeypatch.setattr(
        "skcooc.starts.clusters.swapped", lambda *args: calls.append(args[0]) or args[3]
    )
    model = RowClusters(5, hard=True, object_weights=object_weights)
    start = hard_row_start(model, counts, np.random.default_rng(0), PlainRunner(max_iter=100))
    np.testing.assert_allclose(start.params.unit, weight_unit(counts, object_weights))
    assert [(soft.hard, soft.proportions) for soft in calls] == [
        (False, "uniform"),
        (False, "estimated"),
    ]


def test_the_recent_fall_is_that_of_the_last_four_iterations():
    def run(*objectives):
        history = [Record(1.0, objective, np.nan, 0.0) for objective in objectives]
        return EMResult(None, None, 1.0, objectives[-1], history, False, None)

    assert recent_fall(run(90, 50, 40, 30, 25, 22)) == 28
    assert recent_fall(run(50, 40)) == 10
    assert recent_fall(run(50)) == 0


def test_proportions_and_weights_of_soft_clusters_of_rows_are_estimated_and_sqrt():
    def equations(**options):
        return AsymmetricClustering(5, **options).recipe().equations

    assert (equations().proportions, equations().object_weights) == ("estimated", "sqrt")
    assert equations(proportions="uniform").proportions == "uniform"
    for options in ({"hard": True}, {"axis": "columns"}, {"annealing": 2.0}):
        assert equations(**options).proportions == "uniform"
    assert equations(leave_one_out=True).clusters.proportions == "uniform"


def fitted(X, seed, **options):
    return AsymmetricClustering(5, random_state=seed, **options).fit(X)


def test_swaps_leave_the_optimum_where_two_clusters_share_a_true_one():
    planted = make_cooccurrences(160, 120, 5, kind="clusters", n_tokens=8000, random_state=3)
    labels = planted.labels
    counts = CSRCounts(planted.X.astype(float))
    model = RowClusters(5, object_weights="sqrt")
    beta = usual_cluster_beta(model, counts)
    rng = np.random.default_rng(0)
    wrong = np.where(labels == 4, 3, labels)
    wrong[labels == 0] = np.where(rng.random(np.sum(labels == 0)) < 0.5, 0, 4)
    rows = np.eye(5)[wrong]
    counted = counts.tdot(rows)
    params = model.start(counts, rng)[0]._replace(components=counted / counted.sum(axis=0))
    stage = EMStage(model, counts, beta, 60, 1e-7)
    stuck = run_stages([stage], OverRelaxation(1.8), start=State(params, rows))
    assert adjusted_rand_score(labels, stuck.rows.argmax(axis=1)) < 0.9
    state = swapped(model, counts, beta, stuck.state, rng, PlainRunner())
    free = run_stages([stage], OverRelaxation(1.8), start=state)
    assert free.objective < stuck.objective
    assert adjusted_rand_score(labels, free.rows.argmax(axis=1)) > 0.97


@pytest.mark.parametrize(("max_iter", "n_calls"), [(1, 0), (59, 0), (60, 1)])
def test_short_fits_make_no_swaps(max_iter, n_calls, monkeypatch):
    model, counts, _, _ = small_clusters()
    calls = []
    monkeypatch.setattr("skcooc.starts.clusters.swapped", lambda *args: calls.append(1) or args[3])
    swapped_start(model, counts, np.random.default_rng(0), PlainRunner(max_iter=max_iter))
    assert len(calls) == n_calls


def test_a_stopped_fit_makes_no_swaps():
    model, counts, beta, state = small_clusters()
    runs = []

    class Stopping(PlainRunner):
        def run(self, parts, rng, solver, start):
            runs.append(parts[0].model.n_clusters)
            self.stopped = True
            return super().run(parts, rng, solver, start)

    swapped(model, counts, beta, state, np.random.default_rng(0), Stopping())
    assert runs == [5]


def test_results_do_not_depend_on_threads():
    X, _ = unequal_clusters(1)
    one, two = (fitted(X, 0, n_jobs=n_jobs, beta=0.2) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_no_fit_ends_higher_with_swaps_and_some_end_lower(monkeypatch):
    def objectives():
        tables = [unequal_clusters(100 + seed, n_rows=300, length=30)[0] for seed in range(16)]
        return np.array([fitted(X, seed, beta=0.2).objective_ for seed, X in enumerate(tables)])

    swaps = objectives()
    monkeypatch.setattr("skcooc.starts.clusters.swapped", lambda *args: args[3])
    plain = objectives()
    assert (swaps <= plain * (1 + 1e-4)).all()
    assert (swaps < plain * (1 - 1e-4)).any()
