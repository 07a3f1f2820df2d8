"""Annealing on a toy model whose phase transitions are known, and on clusters of rows."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import EMStage, GrowClusters, OverRelaxation, Split, SplitClusters, State, fit
from skcooc.em.annealing import DISTINCT, PERTURBATION, path, separated
from skcooc.equations.row_clusters import RowClusters
from skcooc.heldout import Validation
from tests.em.here import HERE
from tests.tables import planted


class Positions(NamedTuple):
    position: np.ndarray  # (K,): of each cluster on a line
    weights: np.ndarray


class Moved(NamedTuple):
    position: np.ndarray
    free_energy: float


@dataclass(frozen=True)
class Forks:
    """Clusters at 0 divide into -.2 and .2 at beta = .3, and these by .1 to both sides at .6."""

    n_clusters: int = 4
    amounts: list = field(default_factory=list)  # of noise, in the order in which it was asked for

    patience = 1

    def start(self, X, rng):
        K = self.n_clusters
        return Positions(np.linspace(-0.1, 0.1, K), np.ones(K) / K), np.ones((1, K)) / K

    def random(self, X, rng):
        return self.start(X, rng)

    def mixed(self, params, shares):
        position = params.position @ (shares / shares.sum(axis=0))
        return Positions(position, np.full(len(position), 1 / len(position)))

    def perturb(self, params, rng, amount):
        self.amounts.append(amount)
        noise = amount * np.repeat([-1, 1], len(params.position) // 2)
        return params._replace(position=params.position + noise)

    def expect(self, X, params, rows, beta):
        p = params.position
        first = np.sign(p) * np.minimum(np.abs(p) * beta / 0.3, 0.2)
        d = p - 0.2 * np.sign(p)
        second = 0.2 * np.sign(p) + np.sign(d) * np.minimum(np.abs(d) * beta / 0.6, 0.1)
        moved = np.where((np.abs(p) < 0.05) | (beta < 0.3), first, second)
        return np.ones((1, len(p))) / len(p), Moved(moved, 1.0)

    def maximize(self, stats, params, beta):
        return params._replace(position=stats.position)

    def log_prior(self, params, beta):
        return 0.0

    def factors(self, params, rows):
        return rows, np.array([0.5 + params.position, 0.5 - params.position])


BETAS = [0.2, 0.25, 0.35, 0.4, 0.55, 0.7, 1.0]


def ends(model, X, betas, n_iter=40, tol=-np.inf, **options):
    """A fit that ends with all clusters, at the last temperature."""
    stage = EMStage(model, X, betas[-1], n_iter, tol)
    return [SplitClusters(stage, betas), replace(stage, **options)]


def annealed(betas=BETAS, n_iter=40, n_clusters=4, observe=None, **options):
    model, observers = Forks(n_clusters), {} if observe is None else {"observe": observe}
    parts = ends(model, HERE, betas, n_iter, **options)
    return model, fit(parts, np.random.default_rng(0), OverRelaxation(1.0), **observers)


def test_splits_are_recorded_where_they_happen_and_are_as_many_as_asked_for():
    _, fit = annealed()
    np.testing.assert_allclose(np.sort(fit.params.position), [-0.3, -0.1, 0.1, 0.3], atol=1e-2)
    assert [(split.beta, *split.parts) for split in fit.splits] == [
        (0.35, (0, 2), (1, 3)), (0.7, (0,), (2,)), (0.7, (1,), (3,))
    ]  # fmt: skip
    assert annealed(BETAS[:2])[1].splits == []
    three = annealed(n_clusters=3)[1]
    assert three.splits == [Split(0.35, ((0, 2), (1,))), Split(0.7, ((0,), (2,)))]
    assert annealed(n_clusters=1)[1].splits == []


def test_clusters_that_have_not_come_apart_are_there_repeatedly():
    _, fit = annealed(BETAS[:6], n_clusters=5)
    parts = [((0, 2, 4), (1, 3)), ((0, 4), (2,)), ((1,), (3,))]
    assert [split.parts for split in fit.splits] == parts
    assert fit.params.position[4] == fit.params.position[0]
    assert fit.rows.shape == (1, 5)
    assert annealed(BETAS[:2])[1].params.position == pytest.approx(np.zeros(4), abs=1e-2)


def test_temperatures_are_perturbed_until_all_clusters_are_apart():
    model, fit = annealed(n_iter=20)
    assert model.amounts == [PERTURBATION] * 6
    assert [record.beta for record in fit.history] == np.repeat([*BETAS, 1.0], 20).tolist()


def test_observers_see_all_temperatures_and_can_stop():
    seen = []

    def observe(record, state, run):
        seen.append(record.beta)
        return len(seen) == 110

    _, fit = annealed(observe=observe)
    assert seen == [record.beta for record in fit.history] == np.repeat(BETAS, 40)[:110].tolist()
    assert [split.beta for split in fit.splits] == [0.35]
    assert len(fit.params.position) == 4
    assert fit.rows.shape == (1, 4)
    assert fit.stopped
    assert not fit.converged


def test_only_the_end_is_validated():
    asked = []

    def heldout(model, params, rows):
        asked.append(params.position.tolist())
        return Validation(float(len(asked)), 0.0)

    _, fit = annealed(heldout=heldout, patience=3)
    perplexities = np.array([record.validation_perplexity for record in fit.history])
    assert np.isnan(perplexities[: 40 * 7]).all()
    assert perplexities[40 * 7 :].tolist() == [1, 2, 3, 4]
    assert fit.validation.perplexity == 1
    assert fit.params.position.tolist() == asked[0]


def test_start_replaces_the_models_own():
    start = State(Positions(np.array([-0.2, 0.2]), np.ones(2) / 2), np.ones((1, 2)) / 2)
    found = fit(ends(Forks(), HERE, [1.0]), None, OverRelaxation(1.0), start=start)
    assert [split.parts for split in found.splits] == [((0,), (2,)), ((1,), (3,))]


@pytest.mark.parametrize("tol", [-np.inf, 3e-6])
@pytest.mark.parametrize("object_weights", ["counts", "equal"])
def test_clusters_begin_to_split_at_the_critical_temperature(object_weights, tol):
    X = planted(4, 3000, kind="clusters", n_rows=40, n_columns=30).X
    X = sp.csr_array((X.toarray() * (1 + np.arange(40) % 4)[:, None]).astype(float))
    model = RowClusters(4, object_weights=object_weights)
    critical = model.critical_beta(CSRCounts(X))
    betas = path(critical / 2, 5 * critical, 1.1)
    parts = ends(model, CSRCounts(X), betas, 100, tol)
    found = fit(parts, np.random.default_rng(0), OverRelaxation(1.0))
    latest = 1.15 if tol < 0 else 2.5  # with patience, and without
    assert critical < found.splits[0].beta < latest * critical
    groups = {(0, 1, 2, 3)}
    for split in found.splits:
        groups = groups - {tuple(sorted(sum(split.parts, ())))} | set(split.parts)
    assert groups == {(0,), (1,), (2,), (3,)}


def test_at_the_last_temperature_everything_comes_apart():
    X = CSRCounts(planted(4, 3000, kind="clusters", n_rows=40, n_columns=30).X.astype(float))
    model = RowClusters(4)
    seen = []
    parts = ends(model, X, [5 * model.critical_beta(X)], 60)[:1]
    fit(
        parts,
        np.random.default_rng(0),
        OverRelaxation(1.0),
        lambda record, state, run: seen.append(state.rows.shape[1]),
    )
    assert seen == [2] * 60 + [4] * 120


def test_growth_ends_with_what_predicts_best():
    """Judged best with two clusters, it goes back there after some more temperatures."""
    judged = []

    def judge(model, params, rows):
        judged.append(len(params.position))
        return Validation(abs(len(params.position) - 2) + 1e-3 * len(judged), 0.0)

    stage, betas = EMStage(Forks(4), HERE, 1.0, 40, -np.inf), path(0.2, 1.0, 1.05)
    found = fit([GrowClusters(stage, betas, judge)], np.random.default_rng(0), OverRelaxation(1.0))
    assert found.rows.shape == (1, 2)
    assert [split.parts for split in found.splits] == [((0,), (1,))]
    assert set(judged) >= {1, 2}
    freely = fit([GrowClusters(stage, betas)], np.random.default_rng(0), OverRelaxation(1.0))
    assert freely.rows.shape == (1, 4)
    assert freely.history[-1].beta < 1.0  # where all are there


def test_clusters_have_drifted_where_they_differ_enough_most_first():
    ones = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])
    change = np.array([1.1, 0.9, 2.0]) * DISTINCT
    assert separated(ones, ones + np.array([change, -change])) == [2, 0]
