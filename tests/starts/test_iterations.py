"""Iterations of starts: they keep to the limits of the fit, and its history begins with them."""

from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    ClusteringProjection,
    GuidedAspectModel,
    ProductSpaceMixture,
    SymmetricClustering,
)
from skcooc.counts import CSRCounts
from skcooc.em.solvers import OverRelaxation
from skcooc.em.stages import PlainRunner, equations_start
from skcooc.equations.row_clusters import RowClusters
from skcooc.estimators.asymmetric import STARTS
from skcooc.starts.clusters import FIRST_ITERATIONS, ROUNDS, best_start
from skcooc.starts.coclusters import Search
from tests.tables import planted

X = planted(8, 8000, kind="coclusters", n_rows=80, n_columns=80).X.astype(float)
ESTIMATORS = {
    "co-clusters": SymmetricClustering(8, 8, beta=0.05),
    "co-clusters, annealed": SymmetricClustering(8, 8, beta=0.05, annealing=1.3),
    "co-clusters, hard": SymmetricClustering(8, 8, hard=True),
    "classes": SymmetricClustering(8, 8, hard=True, tied=True),
    "clusters": AsymmetricClustering(8, beta=0.2),
    "clusters, leave one out": AsymmetricClustering(8, beta=0.2, leave_one_out=True),
    "clusters, hard": AsymmetricClustering(8, hard=True),
    "clusters of columns": AsymmetricClustering(8, beta=0.2, axis="columns"),
    "topics": AspectModel(8, beta=0.9),
    "guided": GuidedAspectModel(8, beta=0.9),
    "product space": ProductSpaceMixture(8, 8, beta=0.9),
    "product space, leave one out": ProductSpaceMixture(8, 8, beta=0.9, leave_one_out=True),
    "projections": ClusteringProjection(8, 4, beta=0.9),
    "tree": ClusterAbstraction(8, beta=0.2, tree="binary"),
    "tree, hard": ClusterAbstraction(8, hard=True, beta=0.2, tree="binary"),
    "tree, grown": ClusterAbstraction(8, beta=0.2),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
# The numbers of iterations where each run has a single one: at each temperature of annealing.
N_RUNS = {"co-clusters, annealed": 21, "tree, grown": 35}


@pytest.fixture
def n_steps(monkeypatch):
    """E-steps, how many of them were made again, and iterations of searches, which have none.

    They are made again where the step before was too long.
    """
    n_steps = Counter()
    expect, rollback, search = CSRCounts.expect, OverRelaxation.rollback, Search.step

    def counted(self, *state):
        n_steps["E-steps"] += 1
        return expect(self, *state)

    def counted_rollback(self, step):
        plain = rollback(self, step)
        n_steps["again"] += plain is not None
        return plain

    def counted_search(self, *state):
        n_steps["searching"] += 1
        return search(self, *state)

    monkeypatch.setattr(Search, "step", counted_search)
    monkeypatch.setattr(CSRCounts, "expect", counted)
    monkeypatch.setattr(OverRelaxation, "rollback", counted_rollback)
    return n_steps


def fitted(name, **options):
    return clone(ESTIMATORS[name]).set_params(random_state=0, **options).fit(X)


def stages(model):
    return Counter(record.stage for record in model.history_)


def test_a_fit_of_one_iteration_makes_few_e_steps(n_steps):
    noise = np.random.default_rng(0).poisson(0.5, (100, 80))  # where starts converge slowly
    model = SymmetricClustering(8, 8, beta=0.05, max_iter=1, random_state=0).fit(noise)
    assert n_steps["E-steps"] <= 25
    assert stages(model)["fit"] == 1


@every_estimator
def test_no_run_of_a_start_is_longer_than_the_fit_may_be(name, n_steps):
    model = fitted(name, max_iter=1)
    assert n_steps["E-steps"] <= 10 or name in N_RUNS
    assert len(model.history_) <= N_RUNS.get(name, 6) + 1


def test_the_rounds_of_a_start_make_no_more_iterations_than_the_fit_may_make():
    class Watched(PlainRunner):
        def run(self, parts, rng, solver, start):
            limits.append((parts[0].stage.max_iter, parts[0].stage.tol))
            return super().run(parts, rng, solver, start)

    for max_iter, rounds in (
        (1, [1]),
        (FIRST_ITERATIONS, [FIRST_ITERATIONS]),
        (FIRST_ITERATIONS + 2, [FIRST_ITERATIONS, 2]),
        (FIRST_ITERATIONS + 4, [FIRST_ITERATIONS, 3, 1]),
        (100, [FIRST_ITERATIONS, *ROUNDS]),
    ):
        limits = []
        runner = Watched(max_iter=max_iter, tol=1e-3)
        best_start(RowClusters(8), CSRCounts(X), np.random.default_rng(0), runner)
        n_runs = [8, 8, 4, 2][: len(rounds)] if max_iter > FIRST_ITERATIONS else [1]
        assert [n_iter for n_iter, _ in limits] == np.repeat(rounds, n_runs).tolist()
        np.testing.assert_allclose([tol for _, tol in limits], 1e-4)  # a tenth of that of the fit


@every_estimator
def test_a_loose_tolerance_ends_starts_earlier(name):
    strict, loose = (stages(fitted(name, tol=tol, max_iter=40))["start"] for tol in (1e-7, 0.5))
    if name == "co-clusters, annealed":  # splits grow from small differences
        assert loose == strict
    elif name in ("co-clusters", "co-clusters, hard"):  # or one that raises the ICL is the last
        assert 0 < loose <= strict
    else:
        assert 0 < loose < strict


def test_annealed_starts_split_however_loose_the_tolerance_is():
    options = {"annealing": 1.2, "beta": 0.8, "random_state": 0}
    loose, usual = (SymmetricClustering(3, 3, tol=tol, **options).fit(X) for tol in (1e-2, 1e-5))
    assert loose.mutual_information_ > 0.9 * usual.mutual_information_ > 0


@every_estimator
def test_the_history_counts_the_e_steps_of_all_runs(name, n_steps):
    """All but those that are no iterations.

    These are the statistics at the parameters found, the step that makes the expected counts of a
    leave-one-out model, and steps that are made again.
    """
    model = fitted(name, max_iter=30, solver="em")
    makes_counts = getattr(model, "leave_one_out", False) is True
    others = 1 + makes_counts + n_steps["again"]
    n_iter = n_steps["E-steps"] + n_steps["searching"] - others
    assert len(model.history_) == model.n_iter_ == n_iter


@every_estimator
def test_records_of_starts_come_first(name):
    model = fitted(name, max_iter=3)
    n_iter = stages(model)
    assert n_iter["start"] > 0 < n_iter["fit"]
    found = [record.stage for record in model.history_]
    assert found == n_iter["start"] * ["start"] + n_iter["fit"] * ["fit"]
    assert model.objective_ == model.history_[-1].free_energy


def test_a_start_without_em_has_no_records(monkeypatch):
    monkeypatch.setitem(STARTS, ("rows", False), equations_start)
    assert stages(fitted("clusters", max_iter=3)) == {"fit": 3}


def test_a_warm_start_has_no_records_of_a_start():
    model = fitted("clusters", max_iter=3, warm_start=True)
    assert stages(model.set_params(max_iter=2, tol=0.0).fit(X)) == {"fit": 2}
