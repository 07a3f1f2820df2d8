from itertools import combinations, pairwise

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering, SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em import EMResult, EMStage, OverRelaxation
from skcooc.em.stages import PlainRunner, equations_start
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import usual_cluster_beta
from skcooc.equations.row_clusters import RowClusters
from skcooc.estimators.asymmetric import STARTS
from skcooc.starts.clusters import best_start, sort_by_objective, ward_groups
from tests.equations.running import run_stages

K = 8
PLANTED = make_cooccurrences(160, 120, K, kind="clusters", n_tokens=8000, random_state=3)
SEEDS = range(6)


def literally_joined(counts, n_clusters):
    """Ward's method on the roots of distributions, from the centers and not by an update."""
    parts = [(c,) for c in range(counts.shape[1])]
    masses = counts.sum(axis=0)
    points = np.sqrt(counts / masses).T

    def spread(part):
        center = np.average(points[list(part)], axis=0, weights=masses[list(part)])
        return np.sum(masses[list(part)] * np.sum((points[list(part)] - center) ** 2, axis=1))

    while len(parts) > n_clusters:
        a, b = min(
            combinations(parts, 2),
            key=lambda pair: spread(pair[0] + pair[1]) - spread(pair[0]) - spread(pair[1]),
        )
        parts = [part for part in parts if part not in (a, b)] + [a + b]
    return {tuple(sorted(part)) for part in parts}


def overlaps_of(counts):
    return np.sqrt(counts).T @ np.sqrt(counts)


def merged(overlaps, n_clusters):
    return {tuple(sorted(part)) for part in ward_groups(overlaps, n_clusters)}


def test_clusters_are_merged_by_ward_s_method_empty_ones_first():
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.4, size=(30, 9)) * np.geomspace(0.01, 100, 9)
    for n_clusters in (1, 3, 4, 9):
        expected = literally_joined(counts, n_clusters)
        assert merged(overlaps_of(counts), n_clusters) == expected
    twin = overlaps_of(counts / counts.sum(axis=0))  # without masses
    assert merged(twin, 4) != literally_joined(counts, 4)
    counts[:, 2] = 0
    parts = merged(overlaps_of(counts), 8)
    assert len(parts) == 8
    assert (2,) not in parts


@pytest.mark.parametrize("kind", [RowClusters, ColumnClusters])
def test_the_best_of_the_runs_goes_on(kind, monkeypatch):
    X = PLANTED.X if kind is RowClusters else PLANTED.X.T.tocsr()
    counts, seen = CSRCounts(X.astype(float)), []

    def watched(runs):
        seen.append([run.objective for run in runs])
        return sort_by_objective(runs)

    monkeypatch.setattr("skcooc.starts.clusters.sort_by_objective", watched)
    model = kind(K)
    state = best_start(model, counts, np.random.default_rng(0), PlainRunner())
    assert [len(runs) for runs in seen] == [8, 4, 2]
    equal = [
        EMResult(n, None, 1.0, F, [], True, None) for n, F in enumerate((5.0, 3.0 + 1e-7, 3.0, 4.0))
    ]
    assert [state.params for state in sort_by_objective(equal)] == [1, 2, 3, 0]
    for before, after in pairwise(seen[1:]):  # the first round is at another temperature
        assert max(after) <= sorted(before)[len(after) - 1] * (1 + 1e-5)
    stage = EMStage(model, counts, usual_cluster_beta(model, counts), 1, 0.0)
    once = run_stages([stage], OverRelaxation(1.0), start=state)
    assert once.objective <= min(seen[-1]) * (1 + 1e-3)  # for the noise


class Idle(PlainRunner):
    """Runs nothing."""

    def run(self, parts, rng, solver, start):
        return EMResult(*start, 1.0, 0.0, [], True, None)


def test_more_clusters_have_fewer_runs(monkeypatch):
    begun, seeded = [], RowClusters.seeded

    def counted(model, X, rng, n_sampled):
        begun.append(model.n_clusters)
        return seeded(model, X, rng, n_sampled)

    monkeypatch.setattr(RowClusters, "seeded", counted)
    counts = CSRCounts(PLANTED.X.astype(float))
    for n_clusters, n_runs in ((2, 8), (10, 6), (20, 4)):
        best_start(RowClusters(n_clusters), counts, np.random.default_rng(0), Idle())
        assert begun == n_runs * [n_clusters + n_clusters // 3]
        begun.clear()


@pytest.mark.parametrize("axis", ["rows", "columns"])
def test_planted_clusters_are_found_with_any_seed(axis, monkeypatch):
    X = PLANTED.X if axis == "rows" else PLANTED.X.T.tocsr()

    def exact():
        model = AsymmetricClustering(K, axis=axis, beta=0.2, max_iter=40)
        fits = (model.set_params(random_state=seed).fit(X).labels_ for seed in SEEDS)
        return sum(adjusted_rand_score(PLANTED.labels, labels) == 1 for labels in fits)

    assert exact() == len(SEEDS)
    monkeypatch.setitem(STARTS, (axis, False), equations_start)  # random
    assert exact() < len(SEEDS) - 1


def test_a_checkerboard_is_found_at_the_temperature_that_is_chosen():
    """A search from random clusters chose a temperature where both sides failed."""
    rng = np.random.default_rng(9)
    rows, columns = (rng.permutation(np.arange(100) % 4) % 2 for _ in range(2))
    density = np.where(rows[:, None] == columns, 0.9, 0.3)
    model = SymmetricClustering(2, 2, random_state=9).fit(rng.poisson(density))
    assert adjusted_rand_score(rows, model.row_labels_) > 0.95
    assert adjusted_rand_score(columns, model.column_labels_) > 0.95
