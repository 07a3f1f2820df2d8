import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skcooc
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    SymmetricClustering,
)
from skcooc.datasets import make_cooccurrences
from skcooc.model_selection import ComponentSearchCV
from tests.tables import planted, refused

X = planted(3, 6000).X.astype(float)
FEW = planted(3, 4000, n_columns=60).X[:, np.arange(60) % 20 == 0]  # three columns are the limit
MODEL = AspectModel("auto", tol=1e-4, random_state=0)
SMALL = np.array([[30, 2, 1], [2, 28, 3], [1, 2, 30.0]])
KINDS = [
    AsymmetricClustering("auto", hard=True, random_state=0),
    SymmetricClustering("auto", "auto", hard=True, max_iter=3, random_state=0),
    skcooc.ProductSpaceMixture("auto", "auto", beta=1.0, max_iter=3, random_state=0),
    ClusterAbstraction("auto", beta=0.5, max_iter=3, random_state=0),
    skcooc.ClusteringProjection("auto", beta=1.0, max_iter=2, random_state=0),
]


@pytest.fixture(scope="module")
def model():
    return clone(MODEL).fit(X)


@pytest.fixture
def no_search(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr(ComponentSearchCV, "fit", refuse)


def test_the_number_is_that_of_the_search_also_once_pickled(model):
    assert model.n_components_ == 3
    assert model.get_params()["n_components"] == "auto"
    search = model.component_search_
    assert search.best_n_components_ == 3
    assert not hasattr(search, "best_estimator_")
    assert "n_components_" not in vars(clone(model))
    given = clone(MODEL).set_params(n_components=3).fit(X)
    np.testing.assert_array_equal(model.components_, given.components_)
    assert given.n_components_ == 3
    assert not hasattr(given, "component_search_")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.score(X) == model.score(X)
    assert again.transform(X).shape == (len(X.toarray()), 3)
    assert len(again.get_feature_names_out()) == 3
    assert again.n_parameters_ > 0
    assert len(pickle.dumps(model.component_search_)) < 20_000  # without data


def test_a_warm_start_keeps_the_number(model, no_search):
    model = pickle.loads(pickle.dumps(model)).set_params(warm_start=True, tol=1e-6)
    model.fit(X)
    assert (model.n_components_, model.n_components) == (3, "auto")
    assert model.component_search_.best_n_components_ == 3
    given = AspectModel(2, beta=0.9, max_iter=2, warm_start=True).fit(X)
    with pytest.raises(ValueError, match="given number of components, got n_components='auto'"):
        given.set_params(n_components="auto").fit(X)


def test_a_failed_fit_keeps_the_estimator(model, monkeypatch):
    model = pickle.loads(pickle.dumps(model))
    before = dict(vars(model))
    monkeypatch.setattr("skcooc.base.estimator.fit_table", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(X)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.filterwarnings("ignore")
def test_weights_and_dyads_go_through(model, monkeypatch):
    given, fit = [], ComponentSearchCV.fit

    def record(self, *data, **params):
        given.append(params)
        return fit(self, *data, **params)

    monkeypatch.setattr(ComponentSearchCV, "fit", record)
    of_dyads = clone(MODEL).fit(skcooc.Dyads(X))
    assert of_dyads.component_search_.best_score_ == model.component_search_.best_score_
    assert given == [{}]
    weights = np.r_[np.zeros(40), np.ones(40)]
    weighted = AspectModel("auto", beta=1.0, max_iter=5, random_state=0)
    weighted.fit(FEW, sample_weight=weights.astype(int))
    np.testing.assert_array_equal(given[1]["sample_weight"], weights)
    plain = clone(weighted).fit(FEW).component_search_
    assert weighted.component_search_.best_score_ != plain.best_score_


@pytest.mark.usefixtures("few_starts")
@pytest.mark.filterwarnings("ignore")
def test_every_model_has_such_numbers():
    for model in KINDS:
        params = clone(model).get_params()
        names = [name for name in params if name.startswith("n_") and params[name] == "auto"]
        model = clone(model).fit(SMALL)
        if isinstance(model, SymmetricClustering):  # its numbers are found by one search
            found = dict(zip(model.size_parameters, model.joint_.shape, strict=True))
        elif isinstance(model, AsymmetricClustering | ClusterAbstraction):
            found = {"n_clusters": model.n_clusters_}
        else:
            found = model.component_search_.best_params_
        rows_first = sorted(names, key="n_row_clusters n_row_components".find, reverse=True)
        assert list(found) == rows_first
        for name in names:
            assert getattr(model, name) == "auto"
            assert getattr(model, f"{name}_") == found[name]


def few_kinds_of_columns(n_clusters, seed, bursty):
    """Rows in clusters that differ only in the shares of five kinds of columns, (400, 1000)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=400)
    kinds = rng.integers(5, size=1000)
    frequencies = rng.permutation(1 / np.arange(1, 1001))
    P = frequencies * (rng.gamma(0.5, size=(n_clusters, 5)) + 0.05)[labels][:, kinds]
    P /= P.sum(axis=1, keepdims=True)
    if bursty:
        P = rng.gamma(100 * P + 1e-12)
        P /= P.sum(axis=1, keepdims=True)
    return rng.multinomial(rng.poisson(80, size=400), P).astype(float)


@pytest.mark.parametrize("bursty", [True, False])
@pytest.mark.parametrize("n_clusters", [4, 8])
def test_the_number_of_row_clusters_is_that_of_the_best_coclusters(n_clusters, bursty):
    counts = few_kinds_of_columns(n_clusters, n_clusters, bursty)
    model = AsymmetricClustering("auto", random_state=0).fit(counts)
    assert abs(model.n_clusters_ - n_clusters) <= 1
    assert not hasattr(model, "component_search_")
    both = SymmetricClustering("auto", "auto", hard=True, random_state=0).fit(counts)
    assert both.n_row_clusters_ == model.n_clusters_


def test_leaves_of_bursty_rows_are_counted_as_row_clusters():
    options = {"n_tokens": 40_000, "kind": "hierarchy", "burstiness": 60, "random_state": 0}
    counts = make_cooccurrences(200, 300, 8, **options).X
    model = ClusterAbstraction("auto", random_state=0).fit(counts)
    assert model.n_clusters_ == 8  # fits compared on held-out tokens give 7


def test_rows_without_structure_are_one_cluster():
    counts = np.random.default_rng(0).poisson(np.outer(np.arange(1, 61), np.arange(1, 41)) / 400)
    with pytest.warns(UserWarning, match="n_clusters='auto' finds no structure: one cluster"):
        model = AsymmetricClustering("auto", random_state=0).fit(counts)
    assert model.n_clusters_ == 1


@pytest.mark.parametrize("seed", range(3))
def test_soft_clusters_that_stay_empty_are_not_counted(seed):
    rng = np.random.default_rng(3)
    regimes = rng.gamma(2, size=30) * np.exp(0.6 * rng.normal(size=(3, 30)))
    regimes /= regimes.sum(axis=1, keepdims=True)
    days = np.repeat([0, 1, 2, 0, 1], [80, 70, 90, 65, 60])
    counts = np.array([rng.multinomial(rng.poisson(150), regimes[k]) for k in days])
    counts[200] = rng.multinomial(160, rng.dirichlet(np.full(30, 0.2)))  # hard, a cluster itself
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AsymmetricClustering("auto", random_state=seed).fit(counts)
    assert sorted(np.bincount(model.labels_)) == [90, 130, 145]
    with pytest.warns(ConvergenceWarning, match=r"Clusters are nearly equal.*choose fewer cluster"):
        AsymmetricClustering(4, random_state=seed).fit(counts)


def test_a_diagonal_that_hides_other_clusters_is_doubted():
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1, 2, 3], [9, 8, 7, 6])
    flows = np.array([[6, 3, 0.5, 0.5], [0.5, 5, 2, 0.5], [0.5, 0.5, 5, 0.5], [3, 0.5, 0.5, 4]])
    sizes = rng.gamma(3, 1, 30)
    moves = rng.poisson(3 * flows[group][:, group] * np.outer(sizes, sizes)).astype(float)
    auto = SymmetricClustering("auto", "auto", hard=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(auto).fit(moves).n_row_clusters_ == 4
    outside = moves * (1 - np.eye(30))
    for table, share in ((outside, "0%"), (outside + np.diag(400 * sizes.round()), "4.%")):
        with pytest.warns(UserWarning, match=f"The diagonal of X holds {share}") as caught:
            clone(auto).fit(table)
        assert not any("finds no structure" in str(w.message) for w in caught)
        fixed = SymmetricClustering(4, 4, hard=True, n_init=5, random_state=0).fit(table)
        assert adjusted_rand_score(group, fixed.row_labels_) == 1


@pytest.mark.filterwarnings("ignore")
def test_inside_of_searches_and_pipelines():
    tiny = AspectModel("auto", beta=1.0, max_iter=3, random_state=0)
    pipeline = make_pipeline(FunctionTransformer(), tiny).fit(FEW)
    assert pipeline[-1].n_components_ == pipeline.transform(FEW).shape[1]
    grid = GridSearchCV(tiny, {"n_components": [1, "auto"]}, cv=2).fit(FEW)
    assert grid.best_params_ == {"n_components": "auto"}
    assert grid.best_estimator_.n_components_ >= 2
    search = ComponentSearchCV(grid.best_estimator_, [2, 3], cv=2).fit(FEW)  # fitted, and "auto"
    assert search.best_estimator_.n_components_ in (2, 3)


def test_a_curve_that_still_falls_warns(monkeypatch):
    limits = "skcooc.model_selection.component_search.limits_of"
    monkeypatch.setattr(limits, lambda *arguments: (3,))
    with pytest.warns(UserWarning, match="still falling at 3 components"):
        model = AspectModel("auto", tol=1e-3, random_state=0).fit(planted(6, 6000).X)
    assert model.n_components_ == 3
    assert model.component_search_.still_falling_


class Delayed:
    """Looks like a dask collection."""

    def __dask_graph__(self):
        raise AssertionError


TREE, HOT_TREE = ClusterAbstraction("auto"), ClusterAbstraction("auto", beta=0.5)
NO_NUMBER = "number of components must be given here: set {} to a number, got '{}'"


def test_bad_input(no_search):
    with pytest.raises(AttributeError, match="it needs numbers of components, got 'auto'"):
        clone(MODEL).partial_fit(X)
    for model, table, message in (
        (clone(MODEL), Delayed(), "n_components='auto' divides the tokens of a t"),
        (clone(MODEL), skcooc.RowBlocks([X]), "n_components='auto' divides the tokens of a t"),
        (AveragedModels(MODEL), X, NO_NUMBER.format("n_components", "auto")),
        (AveragedModels(TREE), X, NO_NUMBER.format("n_clusters", "auto")),
        (AveragedModels(HOT_TREE), X, NO_NUMBER.format("n_clusters", "auto")),
        (SymmetricClustering("auto", 2), X, "are both 'auto'"),
        (clone(MODEL), -X, "Negative values"),
        (AspectModel("many"), X, "'n_components' parameter"),
        (AspectModel("auto", beta=2.0), X, "'beta' parameter"),
    ):
        refused(message, model.fit, table)
