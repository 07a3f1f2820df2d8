"""Asymmetric clustering: limits, recovery of planted clusters, annealing, bad parameters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering
from skcooc.counts import CSRCounts
from tests.equations.literal_clusters import KINDS
from tests.tables import planted

every_axis = pytest.mark.parametrize("axis", ["rows", "columns"])
every_kind = pytest.mark.parametrize(("axis", "hard"), [("rows", False), ("columns", True)])
every_weighting = pytest.mark.parametrize(
    ("axis", "object_weights"), [("rows", "counts"), ("columns", "equal")]
)


def oriented(X, axis):
    """A table with its rows along the axis."""
    return sp.csr_array(X if axis == "rows" else X.T)


def clusters(n_clusters=4, n_observations=6000, seed=1, **sizes):
    sizes = {"n_rows": 60, "n_columns": 40} | sizes
    return planted(n_clusters, n_observations, seed, kind="clusters", **sizes)


def found(truth, X, axis, **options):
    """Adjusted Rand index of the clusters found and those planted in the rows."""
    options = {"n_init": 3, "random_state": 0} | options
    model = AsymmetricClustering(4, axis=axis, **options).fit(oriented(X, axis))
    return adjusted_rand_score(truth.labels, model.labels_)


@every_axis
@pytest.mark.parametrize(  # hard clusterings have no prior to estimate
    ("hard", "proportions", "object_weights"),
    [
        (False, "estimated", "counts"),
        (False, "uniform", "equal"),
        (True, "uniform", "counts"),
        (True, "uniform", "equal"),
    ],
)
def test_recovers_planted_clusters(axis, hard, object_weights, proportions):
    options = {"hard": hard, "object_weights": object_weights, "proportions": proportions}
    truth = clusters()
    assert found(truth, truth.X, axis, **options) == 1


@every_kind
def test_recovers_clusters_from_weights_that_are_not_counts(axis, hard):
    truth = clusters()
    for X in (truth.X * 0.37, TfidfTransformer().fit_transform(truth.X) * 10):
        assert found(truth, X, axis, hard=hard) > 0.95


@every_axis
@pytest.mark.parametrize(
    ("hard", "dtype", "factor"), [(False, np.float32, 1e7), (True, np.float64, 1e4)]
)
def test_huge_counts(axis, hard, dtype, factor):
    """Rows of 1e6 to 1e9 tokens."""
    truth = clusters()
    X = (truth.X * factor).astype(dtype)
    model = AsymmetricClustering(4, axis=axis, hard=hard, n_init=3, random_state=0)
    model.fit(oriented(X, axis))
    assert adjusted_rand_score(truth.labels, model.labels_) == 1
    for array in (model.components_, model.embedding_, model.posteriors_, model.weights_):
        assert array.dtype == dtype
        assert np.isfinite(array).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score(oriented(X, axis)))


def test_predictions_agree():
    truth = clusters()
    model = AsymmetricClustering(4, n_init=3, random_state=0)
    labels = model.fit_predict(truth.X)
    for same in (model.labels_, model.posteriors_.argmax(axis=1), model.predict(truth.X)):
        np.testing.assert_array_equal(labels, same)
    np.testing.assert_array_equal(model.predict_proba(truth.X), model.transform(truth.X))
    np.testing.assert_array_equal(model.posteriors_, model.embedding_)
    np.testing.assert_allclose(model.predict_proba(truth.X), model.posteriors_, atol=1e-3)


def test_clusters_of_columns_do_not_predict_rows():
    truth = clusters()
    X = oriented(truth.X, "columns")
    model = AsymmetricClustering(4, axis="columns", n_init=3, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(X), model.labels_)
    np.testing.assert_array_equal(model.posteriors_.argmax(axis=1), model.labels_)
    assert model.posteriors_.shape == (60, 4)
    assert model.transform(X).shape == (40, 4)
    for name in ("predict", "predict_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=name) as error:
            getattr(model, name)
        assert "axis='columns'" in str(error.value.__cause__)


@every_axis
def test_the_search_range_of_the_temperature(axis):
    truth = clusters()
    models = []
    for factor in (1, 10):
        model = AsymmetricClustering(4, axis=axis, random_state=0)
        models.append(model.fit(oriented(truth.X * factor, axis)))
        size = factor * truth.X.sum() / 60
        betas = np.array([probe.beta for probe in model.tuning_])
        assert (betas > 2 / size).all()
        assert (betas < 20 / size).all()
        assert betas[0] * betas[1] == pytest.approx(2 * 20 / size**2)  # symmetric in the logarithm
        assert model.beta_ in betas
        assert np.ptp(model.components_, axis=0).max() > 0.05  # not collapsed
    assert 4 < models[0].beta_ / models[1].beta_ < 25


@every_weighting
def test_annealing_splits_clusters_until_all_are_separate(axis, object_weights):
    X = oriented(clusters().X, axis)
    options = {"axis": axis, "object_weights": object_weights, "beta": 0.2, "random_state": 0}
    annealed = AsymmetricClustering(4, annealing=1.2, **options).fit(X)
    model = KINDS[axis](4, object_weights=object_weights)
    critical = model.critical_beta(CSRCounts(X.astype(float)))
    parts = {(0, 1, 2, 3)}
    for split in annealed.splits_:
        parts.remove(tuple(sorted(sum(split.parts, ()))))
        parts.update(split.parts)
    assert parts == {(0,), (1,), (2,), (3,)}
    splits = [split.beta for split in annealed.splits_]
    assert splits == sorted(splits)
    assert critical <= splits[0]
    betas = np.unique([record.beta for record in annealed.history_])
    assert (betas[0], betas[-1]) == (pytest.approx(critical), 0.2)
    assert (betas[1:] / betas[:-1]).max() < 1.2 + 1e-9


@every_axis
def test_annealing_ends_as_low_as_the_best_of_random_starts(axis):
    X, options = oriented(clusters().X, axis), {"axis": axis, "beta": 0.2, "random_state": 0}
    annealed = AsymmetricClustering(4, annealing=1.5, **options).fit(X)
    random = AsymmetricClustering(4, n_init=5, **options).fit(X)
    assert annealed.objective_ == pytest.approx(random.objective_, rel=1e-3)
    assert annealed.beta_ == random.beta_
    assert annealed.splits_
    assert not hasattr(random, "splits_")


NESTED = [np.arange(60) // 2, np.arange(60) // 4]


REFUSED = [
    ({"coarsening": [np.arange(59)]}, "grouping of 59 rows, but X has 60"),
    ({"coarsening": NESTED[::-1]}, "nested, finest grouping first"),
    ({"coarsening": [NESTED[0], np.arange(60) // 3]}, "nested, finest grouping first"),
    ({"coarsening": [np.zeros((60, 2))]}, "1d arrays of int"),
    ({"coarsening": NESTED, "axis": "columns"}, "needs axis='rows'"),
    ({"coarsening": "pixels"}, "'coarsening' parameter"),
    ({"coarsening": NESTED, "object_weights": "equal"}, "needs object_weights='counts'"),
    ({"hard": True, "annealing": 1.5}, "needs annealing=None"),
    ({"hard": True, "proportions": "estimated"}, "needs proportions='uniform'"),
    ({"annealing": 1}, "'annealing' parameter"),
    ({"axis": 0}, "'axis' parameter"),
    ({"axis": "both"}, "'axis' parameter"),
    ({"object_weights": "sizes"}, "'object_weights' parameter"),
    ({"proportions": "equal"}, "'proportions' parameter"),
    ({"n_clusters": 0}, "'n_clusters' parameter"),
]


def test_bad_parameters_are_refused_before_any_work(monkeypatch):
    def fail(*arguments):
        raise AssertionError

    for model in KINDS.values():
        monkeypatch.setattr(model, "start", fail)
        monkeypatch.setattr(model, "expect", fail)
    for options, message in REFUSED:
        model = AsymmetricClustering(**{"n_clusters": 4, "beta": 0.1} | options)
        with pytest.raises(ValueError, match=message):
            model.fit(clusters().X)
        assert not hasattr(model, "components_")
