"""Coarse tables first: what is tied, that the objective is the same, and what observers see."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, OverRelaxation, fit
from skcooc.em.stages import scales
from skcooc.equations.row_clusters import RowClusters
from skcooc.heldout.validation import hold_out
from skcooc.image import grid_coarsening
from tests.watching import Watcher

SIDE, K, BETA = 16, 3, 0.2
COARSENING = grid_coarsening((SIDE, SIDE), 2)


def image(seed=0):
    """Histograms of 30 values on average at the sites of three segments, with ragged borders."""
    rng = np.random.default_rng(seed)
    y, x = np.indices((SIDE, SIDE))
    segments = np.where(y + rng.integers(-1, 2, y.shape) < 7, 0, np.where(x < 9, 1, 2)).ravel()
    histograms = rng.dirichlet(np.full(12, 0.3), K)
    X = np.array([rng.multinomial(rng.poisson(30), histograms[segment]) for segment in segments])
    return sp.csr_array(X.astype(float)), segments


def fitted(X, coarsening, model=None, seed=0, heldout=None):
    *coarse, finest = (
        EMStage(model or RowClusters(K), table, BETA, 300, 1e-9, members=members, groups=groups)
        for table, members, groups in scales(X, coarsening)
    )
    stages = [*coarse, replace(finest, heldout=heldout)]
    return fit(stages, np.random.default_rng(seed), OverRelaxation(1.0))


def test_levels_of_nested_labels_and_of_none():
    X = sp.csr_array(np.arange(12.0).reshape(6, 2))
    fine, coarse = [7, -2, 7, 100, -2, 5], [0, 3, 0, 3, 3, 0]
    *levels, finest = scales(CSRCounts(X), [np.array(fine), np.array(coarse)])
    for level, labels in zip(levels, (coarse, fine), strict=True):
        groups = sorted(set(labels))
        means = [X.toarray()[np.array(labels) == group].mean(axis=0) for group in groups]
        np.testing.assert_allclose(level.X.dot(np.eye(2)), means)
        assert level.X.row_weights.tolist() == [labels.count(group) for group in groups]
        assert [groups[g] for g in level.groups] == labels
    np.testing.assert_array_equal(finest.members, levels[1].groups)
    np.testing.assert_array_equal(levels[1].members[levels[1].groups], levels[0].groups)
    assert levels[0].members is None
    assert finest.groups is None
    assert scales(finest.X, []) == [(finest.X, None, None)]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("proportions", ["uniform", "estimated"])
def test_free_energy_never_rises_from_level_to_level(hard, proportions):
    counts = CSRCounts(image()[0])
    model = RowClusters(K, hard, "counts", proportions)
    for seed in range(4):
        fit = fitted(counts, COARSENING, model, seed)
        energies = np.array([record.free_energy for record in fit.history])
        assert (np.diff(energies) <= 1e-12 * energies[0]).all()


@pytest.mark.parametrize("hard", [False, True])
def test_ends_where_a_single_level_does(hard):
    X, segments = image()
    counts, model = CSRCounts(X), RowClusters(K, hard)
    single, multiscale = (
        min((fitted(counts, tied, model, seed) for seed in range(4)), key=lambda fit: fit.objective)
        for tied in ([], COARSENING)
    )
    assert multiscale.objective == pytest.approx(single.objective, rel=1e-3)
    assert multiscale.rows.shape == (256, K)
    assert adjusted_rand_score(segments, multiscale.rows.argmax(axis=1)) > 0.95


def test_levels_are_visited_from_coarse_to_fine():
    sizes = []

    class Counted(RowClusters):
        start = RowClusters.random

        def expect(self, X, params, rows, beta):
            sizes.append(X.shape[0])
            return super().expect(X, params, rows, beta)

    counts = CSRCounts(image()[0])
    multiscale = fitted(counts, COARSENING, Counted(K))
    assert len(multiscale.history) == len(sizes)
    assert sizes == sorted(sizes)
    assert set(sizes) == {16, 64, 256}
    n_finest = sizes.count(256)
    sizes.clear()
    fitted(counts, [], Counted(K))
    assert n_finest < len(sizes)


@pytest.mark.parametrize("object_weights", ["counts", "equal"])
@pytest.mark.parametrize("hard", [False, True])
def test_tying_rows_that_are_the_same_changes_nothing(object_weights, hard):
    X = image()[0][:40]
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 1 + np.arange(40) % 3))
    repeated = CSRCounts(X[labels])
    tied = repeated.coarsen(labels)
    model = RowClusters(K, hard, object_weights, "estimated")
    one, two = fitted(repeated, [], model), fitted(tied, [], model)
    assert [record.free_energy for record in one.history] == pytest.approx(
        [record.free_energy for record in two.history]
    )
    np.testing.assert_allclose(one.params.components, two.params.components, atol=1e-9)
    np.testing.assert_allclose(one.rows, two.rows[labels], atol=1e-9)


def test_only_the_finest_level_is_validated():
    counts, heldout = hold_out(CSRCounts(image()[0]), 0.2, 0, "auto")
    fit = fitted(counts, COARSENING, heldout=heldout)
    validated = np.isfinite([record.validation_perplexity for record in fit.history])
    first = int(np.flatnonzero(validated)[0])
    assert validated[first:].all()
    coarse = [record.free_energy for record in fitted(counts, COARSENING).history[:first]]
    assert [record.free_energy for record in fit.history[:first]] == coarse
    assert first > 10
    assert heldout(RowClusters(K), fit.params, fit.rows) == fit.validation


class Watch(Watcher):
    """Keeps the posteriors at every iteration, and stops after some."""

    def __init__(self, after):
        self.after, self.posteriors = after, []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None:
            self.posteriors.append(fitted_estimator.posteriors_)
        return len(self.posteriors) >= self.after


def test_callbacks_see_all_rows_and_can_stop_on_a_coarse_level():
    X, _ = image()
    ends = []
    for after in (2, 10_000):
        watch = Watch(after)
        model = AsymmetricClustering(K, beta=BETA, coarsening=COARSENING, random_state=0)
        model.set_callbacks(watch).fit(X)
        assert {posteriors.shape for posteriors in watch.posteriors} == {(256, K)}
        ends.append((model, watch))
    (stopped, early), (finished, late) = ends
    assert stopped.n_iter_ == len(early.posteriors) == 2
    assert not stopped.converged_
    assert finished.n_iter_ == len(late.posteriors) > 2
    np.testing.assert_array_equal(late.posteriors[1], early.posteriors[1])
    blocks = late.posteriors[1].reshape(4, 4, 4, 4, K)
    np.testing.assert_array_equal(blocks, np.broadcast_to(blocks[:, :1, :, :1], blocks.shape))


def test_estimators_find_the_segments_of_an_image():
    X, segments = image()
    model = AsymmetricClustering(K, n_init=3, coarsening=COARSENING, random_state=0).fit(X)
    assert adjusted_rand_score(segments, model.labels_) > 0.95
    renamed = [[f"block {block}" for block in labels] for labels in COARSENING]
    again = model.set_params(coarsening=renamed).fit(X)
    assert adjusted_rand_score(segments, again.labels_) > 0.95


def test_annealing_concerns_the_coarsest_groups():
    X, segments = image()
    options = {"beta": BETA, "coarsening": COARSENING, "solver": 1.0, "random_state": 0}
    model = AsymmetricClustering(K, annealing=1.5, **options).fit(X)
    critical = RowClusters(K).critical_beta(scales(CSRCounts(X), COARSENING)[0].X)
    betas = np.array([record.beta for record in model.history_])
    energies = np.array([record.free_energy for record in model.history_])
    assert betas[0] == pytest.approx(critical)
    assert (np.diff(betas) >= 0).all()
    at_last = energies[betas == BETA]
    assert at_last[-1] < at_last[0]
    best = AsymmetricClustering(K, n_init=4, **options).fit(X)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-3)
    assert model.splits_
    assert adjusted_rand_score(segments, model.labels_) > 0.95
