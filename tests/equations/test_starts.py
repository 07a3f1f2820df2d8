"""Initialisation of clusters: merging, successive halving, seeding, recovery."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering, ClusterAbstraction, SymmetricClustering
from skcooc.counts.csr import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em import EMResult, EMStage, OverRelaxation, State, fit
from skcooc.equations import memberships as starts
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import (
    SHARE,
    best_first,
    best_start,
    seeds,
    usual_beta,
    ward_groups,
)
from skcooc.equations.row_clusters import RowClusters

K = 8
PLANTED = make_cooccurrences(160, 120, K, kind="clusters", n_observations=8000, random_state=3)
SEEDS = range(8)


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


def groups(parts):
    return {tuple(sorted(part)) for part in parts}


def test_clusters_are_merged_by_ward_s_method():
    for n_clusters in (1, 3, 5, 9):
        rng = np.random.default_rng(n_clusters)
        counts = rng.gamma(0.4, size=(30, 9)) * rng.uniform(0.1, 5, 9)
        found = groups(ward_groups(overlaps_of(counts), n_clusters))
        assert found == literally_joined(counts, n_clusters)
    rng = np.random.default_rng(0)  # without masses another pair would be merged
    counts = rng.gamma(0.4, size=(30, 9)) * np.geomspace(0.01, 100, 9)
    twin = overlaps_of(counts / counts.sum(axis=0))
    assert groups(ward_groups(overlaps_of(counts), 4)) == literally_joined(counts, 4)
    assert groups(ward_groups(twin, 4)) != literally_joined(counts, 4)


def test_empty_clusters_are_joined_first():
    counts = np.random.default_rng(0).gamma(0.4, size=(30, 6))
    counts[:, 2] = 0
    alone = [part for part in ward_groups(overlaps_of(counts), 5) if len(part) == 1]
    assert (2,) not in alone
    assert len(alone) == 4


@pytest.mark.parametrize("object_weights", ["counts", "equal"])
def test_overlaps_are_those_of_the_expected_counts(object_weights):
    X = PLANTED.X.astype(float)
    counts, rng = CSRCounts(X), np.random.default_rng(0)
    rows = RowClusters(3, object_weights=object_weights)
    params, _ = rows.random(counts, rng)
    I = rng.dirichlet(np.ones(3), X.shape[0])
    n_i = X.sum(axis=1)
    factors = np.ones(len(n_i)) if object_weights == "counts" else n_i.mean() / n_i
    expected = (X.toarray() * factors[:, None]).T @ I
    np.testing.assert_allclose(rows.overlaps(counts, params, I), overlaps_of(expected))
    columns = ColumnClusters(3, object_weights=object_weights)
    params, I = columns.random(counts, rng)
    m_j, size = X.sum(axis=0), X.sum() / np.count_nonzero(X.sum(axis=0))
    factors = np.ones(len(m_j)) if object_weights == "counts" else size / np.maximum(m_j, 1)
    expected = (X.toarray() * factors) @ params.memberships
    np.testing.assert_allclose(columns.overlaps(counts, params, I), overlaps_of(expected))


def test_of_equal_runs_the_first_is_best():
    runs = [
        EMResult(n, None, 1.0, F, [], True, None) for n, F in enumerate((5.0, 3.0 + 1e-7, 3.0, 4.0))
    ]
    assert [state.params for state in best_first(runs)] == [1, 2, 3, 0]


@pytest.mark.parametrize("kind", [RowClusters, ColumnClusters])
def test_the_best_of_the_runs_goes_on(kind, monkeypatch):
    X = PLANTED.X if kind is RowClusters else PLANTED.X.T.tocsr()
    counts, seen = CSRCounts(X.astype(float)), []

    def watched(runs):
        seen.append([run.objective for run in runs])
        return best_first(runs)

    monkeypatch.setattr(starts, "best_first", watched)
    model = kind(K)
    state = best_start(model, counts, np.random.default_rng(0))
    assert [len(runs) for runs in seen] == [8, 4, 2]
    for before, after in pairwise(seen):
        assert max(after) <= sorted(before)[len(after) - 1] * (1 + 1e-5)
    stage = EMStage(model, counts, usual_beta(model, counts), 1, 0.0)
    once = fit([stage], np.random.default_rng(0), OverRelaxation(1.0), start=State(*state))
    assert once.objective <= min(seen[-1]) * (1 + 1e-9)


def test_more_clusters_have_fewer_runs(monkeypatch):
    begun, seeded = [], RowClusters.seeded

    def counted(model, X, rng):
        begun.append(model.n_clusters)
        return seeded(model, X, rng)

    monkeypatch.setattr(RowClusters, "seeded", counted)
    monkeypatch.setattr(
        starts, "_run", lambda stage, rng, start: EMResult(*start, 1.0, 0.0, [], True, None)
    )
    counts = CSRCounts(PLANTED.X.astype(float))
    for n_clusters, n_runs in ((2, 8), (10, 6), (20, 4)):
        best_start(RowClusters(n_clusters), counts, np.random.default_rng(0))
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
    for kind in (RowClusters, ColumnClusters):  # the broken twin
        monkeypatch.setattr(kind, "start", kind.random)
    assert exact() < len(SEEDS) - 2


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_trees_begin_with_the_clusters():
    for seed in SEEDS[:3]:
        model = ClusterAbstraction(K, beta=0.2, max_iter=20, random_state=seed).fit(PLANTED.X)
        assert adjusted_rand_score(PLANTED.labels, model.labels_) == 1


def test_a_checkerboard_is_found_at_the_temperature_that_is_chosen():
    """With seed 9, a search from random clusters chose a temperature where both sides failed."""
    for seed in (0, 9):
        rng = np.random.default_rng(seed)
        rows, columns = (rng.permutation(np.arange(100) % 4) % 2 for _ in range(2))
        density = np.where(rows[:, None] == columns, 0.9, 0.3)
        model = SymmetricClustering(2, 2, random_state=seed).fit(rng.poisson(density))
        assert adjusted_rand_score(rows, model.row_labels_) > 0.95
        assert adjusted_rand_score(columns, model.column_labels_) > 0.95


N_SEEDS = 6
FEW = make_cooccurrences(
    60, 50, N_SEEDS, kind="clusters", n_observations=4000, concentration=0.05, random_state=0
)
TABLE = sp.csr_array(FEW.X.astype(float))
OVERALL = TABLE.sum(axis=0) / TABLE.sum()


def literal_gains(n, overall):
    """Log-likelihood of each object in a cluster that begins with each, less that overall.

    Up to what all objects lose that share no column with it, which is the same for all clusters.
    """
    gains = np.zeros((len(n), len(n)))
    for i, row in enumerate(n):
        for c, center in enumerate(n):
            q = SHARE * overall + (1 - SHARE) * center / center.sum()
            gains[i, c] = sum(x * np.log(a / b) for x, a, b in zip(row, q, overall, strict=True))
        gains[i] -= row.sum() * np.log(SHARE)
    return gains


def labels_of_seeds(components):
    """The class of the rows that the components are made of."""
    shapes = components - SHARE * OVERALL[:, None]
    profiles = TABLE.toarray() / TABLE.sum(axis=1)[:, None]
    distances = np.abs(profiles[:, :, None] - shapes / shapes.sum(axis=0)).sum(axis=1)
    return FEW.labels[distances.argmin(axis=0)]


def test_gains_are_those_of_single_clusters():
    sizes, occupied = TABLE.sum(axis=1), TABLE[:, OVERALL > 0]
    expected = literal_gains(occupied.toarray(), OVERALL[OVERALL > 0])
    np.testing.assert_allclose(starts.seed_gains(TABLE, OVERALL, sizes), expected, atol=1e-9)


def test_seeds_are_of_all_planted_clusters_but_not_where_nothing_is_gained(monkeypatch):
    def n_found():
        found = (seeds(TABLE, OVERALL, N_SEEDS, np.random.default_rng(s)) for s in range(10))
        return sum(len(set(labels_of_seeds(components))) == N_SEEDS for components in found)

    assert n_found() >= 8
    monkeypatch.setattr(starts, "seed_gains", lambda objects, *_: np.zeros(2 * (objects.shape[0],)))
    assert n_found() <= 2  # the broken twin: any objects


def test_fewer_objects_than_clusters_are_seeds_that_differ():
    for n_rows in (1, 4):
        components = seeds(TABLE[:n_rows], OVERALL, N_SEEDS, np.random.default_rng(0))
        assert len(np.unique(components.round(12), axis=1).T) == N_SEEDS
        np.testing.assert_allclose(components.sum(axis=0), 1, atol=0.1)


def test_objects_without_observations_are_no_seeds():
    empty = sp.csr_array(sp.vstack([TABLE[:N_SEEDS], sp.csr_array((30, TABLE.shape[1]))]))
    components = seeds(empty, OVERALL, N_SEEDS, np.random.default_rng(0))
    assert (np.abs(components - SHARE * OVERALL[:, None]).sum(axis=0) > 0.15).all()
    nothing = seeds(empty[N_SEEDS:], OVERALL, N_SEEDS, np.random.default_rng(0))
    assert np.isfinite(nothing).all()


def test_seeded_clusters_are_distributions():
    X = CSRCounts(TABLE.astype(np.float32))
    for object_weights in ("counts", "equal"):
        model = RowClusters(N_SEEDS, object_weights=object_weights)
        params, rows = model.seeded(X, np.random.default_rng(0))
        assert params.components.dtype == np.float32
        assert rows.shape == (60, N_SEEDS)
        np.testing.assert_allclose(params.components.sum(axis=0), 1, rtol=1e-5)
