"""What every estimator promises, whatever its model."""

import pickle
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, Dyads, RowMemory
from skcooc.counts import thin
from skcooc.counts.passes import n_threads
from skcooc.heldout.scoring import SPLIT_SEED
from skcooc.model_selection import CountSplit, split_counts
from tests import contract
from tests.cases import CLASSES, ESTIMATORS, META, VARIANTS
from tests.contract import X, every_class, every_class_or_average, fitted, quick, shared, size
from tests.tables import MANY_THREADS, planted, refused

pytestmark = pytest.mark.usefixtures("short_starts")


def attributes_are_distributions(estimator):
    model = shared(estimator)
    n_components = len(model.components_)
    assert model.components_.shape == (n_components, X.shape[1])
    assert model.embedding_.shape == (X.shape[0], n_components)
    for P in (model.components_, model.embedding_, model.transform(X)):
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)
    for p in (model.weights_, model.row_distribution_, model.unigram_):
        assert p.sum() == pytest.approx(1)
    assert 0 < model.beta_ <= 1
    assert 0 <= model.smoothing_ < 1
    assert model.n_iter_ == len(model.history_)
    assert model.objective_ == model.history_[-1].free_energy


def transform_times_components_is_the_prediction(estimator):
    model = shared(estimator)
    Z = model.transform(X)
    np.testing.assert_allclose(model.inverse_transform(Z), Z @ model.components_)
    np.testing.assert_allclose(model.inverse_transform(Z).sum(axis=1), 1)


def results_do_not_depend_on_n_jobs(estimator, monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    monkeypatch.setattr("skcooc.counts.passes.config", MANY_THREADS)
    one, two = shared(estimator), fitted(estimator, n_jobs=5)
    contract.assert_same_fit(one, two)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))


def single_precision_stays_single_and_agrees(estimator):
    single = fitted(estimator, X.astype(np.float32))
    assert single.components_.dtype == single.embedding_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    dyads = Dyads(split_counts(X, random_state=0)[1])
    assert single.score(dyads) == pytest.approx(shared(estimator).score(dyads), abs=1e-2)


def scores_are_log_likelihoods_of_the_smoothed_prediction(estimator):
    test = split_counts(X, random_state=0)[1]
    model, dyads = shared(estimator), Dyads(test)
    s, b = model.smoothing_, model.unigram_
    P = (1 - s) * model.embedding_ @ model.components_ + s * b
    dense = test.toarray()
    expected = (dense * np.log(P)).sum() / dense.sum()
    assert model.score(dyads) == pytest.approx(expected)
    assert model.perplexity(dyads) == pytest.approx(np.exp(-expected))
    samples = np.log(P[dyads.rows, dyads.columns])
    np.testing.assert_allclose(model.score_samples(dyads), samples, rtol=1e-6)


@every_class_or_average
def test_weights_of_observations_are_repetitions(estimator):
    dyads = Dyads(X)
    weights = np.random.default_rng(0).integers(0, 3, len(dyads))
    weighted = quick(estimator).fit(dyads, sample_weight=weights)
    repeated = fitted(estimator, dyads[np.repeat(np.arange(len(dyads)), weights)])
    np.testing.assert_allclose(weighted.components_, repeated.components_)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *VARIANTS, *META], ids=repr)
def test_every_form_keeps_all_promises_above(estimator, monkeypatch):
    transform_times_components_is_the_prediction(estimator)
    if estimator not in VARIANTS:  # whose equations the kit of test_models tries in float32
        single_precision_stays_single_and_agrees(estimator)
    if estimator not in META:
        attributes_are_distributions(estimator)
    if not isinstance(estimator, RowMemory):
        scores_are_log_likelihoods_of_the_smoothed_prediction(estimator)
        results_do_not_depend_on_n_jobs(estimator, monkeypatch)


@every_class
def test_new_rows_are_scored_on_what_was_not_folded_in(estimator):
    """A model that knew the scored half would reach the entropy of the row, or below."""
    model = shared(estimator)
    rng = np.random.default_rng(0)
    noise = sp.csr_array(rng.multinomial(30, np.full(X.shape[1], 1 / X.shape[1]), 50).astype(float))
    assert model.score(noise) < -np.log(X.shape[1])
    scored_counts = thin(X[:10], 0.5, SPLIT_SEED, occupied=True)[1].sum(axis=1)
    assert model.score(X[:10]) == pytest.approx(
        np.average(model.score_samples(X[:10]), weights=scored_counts)
    )
    np.testing.assert_allclose(model.score_samples(X[5:9]), model.score_samples(X)[5:9])


@contract.every_estimator
def test_empty_rows_and_columns_and_odd_tables(estimator):
    holes, new = X.toarray(), np.zeros((1, X.shape[1]))
    holes[[0, 7]], holes[:, 5], new[0, 5] = 0, 0, 4
    model = fitted(estimator, holes, tol=1e-6, max_iter=100)
    np.testing.assert_allclose(model.embedding_[[0, 7]], [model.weights_] * 2, atol=0.02)
    np.testing.assert_allclose(model.transform(holes)[7], model.weights_)
    if not getattr(model, "component_prior_", 0):
        assert (model.components_[:, 5] == 0).all()
    assert model.score_samples(holes)[7] == 0
    np.testing.assert_allclose(model.transform(new).sum(axis=1), 1)
    assert np.isfinite([model.score(holes), model.score(new)]).all()
    column = X[:, [int(X.sum(axis=0).argmax())]]
    with warnings.catch_warnings(action="error"):  # one column: nothing to collapse to
        warnings.filterwarnings("ignore", "n_.* but X has 1 column:")
        warnings.filterwarnings("ignore", ".* rows have no counts: labels")
        single = fitted(estimator, column, max_iter=100)
        assert single.score(column) == pytest.approx(0)
    tables = X[[0]], X * 0.37, X * 1e9  # check_estimator has integers
    models = [(single, column), *((fitted(estimator, table), table) for table in tables)]
    if estimator is ESTIMATORS[0]:
        models.append((fitted(estimator, X.toarray() > 0), X))
    for model, table in models:
        np.testing.assert_allclose(model.transform(table).sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-6)


@every_class_or_average
def test_sample_draws_from_the_model(estimator):
    model = shared(estimator)
    dyads = model.sample(200_000)
    assert dyads.table_shape == X.shape
    table = dyads.to_csr().toarray() / 200_000
    P = model.row_distribution_[:, None] * (model.embedding_ @ model.components_)
    np.testing.assert_allclose(table.sum(axis=1), P.sum(axis=1), atol=4e-3)
    assert np.abs(table - P).sum() < 0.2


@every_class_or_average
def test_names_and_containers(estimator):
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(X.shape[1])])
    prefix = type(estimator).__name__.lower()
    expected = [f"{prefix}{k}" for k in range(len(shared(estimator).components_))]
    for output, container in (("pandas", frame), ("polars", pl.from_pandas(frame))):
        model = quick(estimator).set_output(transform=output)
        tables = model.fit_transform(container), model.transform(container)
        np.testing.assert_array_equal(*tables)
        for table in tables:
            assert type(table) is type(container)
            assert list(table.columns) == expected
        assert_fitted_with_names(model, estimator, frame)
        for name in filter(partial(hasattr, model), ("predict", "predict_proba")):
            assert isinstance(getattr(model, name)(frame), np.ndarray)
    refused("feature names", model.transform, frame.rename(columns={"w0": "other"}))
    other = Dyads(X, column_names=frame.columns[::-1])
    refused("or with other names", model.score, other)
    dyads = Dyads(X, column_names=frame.columns)
    model = fitted(estimator, dyads)
    assert_fitted_with_names(model, estimator, frame)
    with warnings.catch_warnings(action="error"):
        model.transform(dyads)
    refused("feature names should match", model.transform, other)


def assert_fitted_with_names(model, estimator, frame):
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(model.components_, shared(estimator).components_)


@contract.every_estimator
def test_warm_starts_go_on_and_keep_only_what_was_found(estimator):
    warm = {"warm_start": True, "n_init": 1, "early_stopping": False}
    begun = fitted(estimator, max_iter=5, tol=0, **warm)
    energy = begun.objective_
    found = begun.beta_, begun.smoothing_
    begun.fit(X)
    assert (begun.beta_, begun.smoothing_) == found
    if not getattr(begun, "leave_one_out_", False):  # whose objective may rise
        assert begun.objective_ <= energy
        assert contract.is_hard(estimator) or begun.objective_ < energy
    with pytest.raises(ValueError, match="Set warm_start=False"):
        begun.set_params(**{size(begun): getattr(begun, size(begun)) + 1}).fit(X)
    model = fitted(estimator, beta=1.0, **warm)
    assert not model.tuning_
    model.set_params(beta="auto").fit(X)
    searched = model.tuning_
    assert model.beta_ in [trial.beta for trial in searched]
    model.fit(X)
    assert model.tuning_ is searched
    single = model.fit(X.astype(np.float32))
    assert single.components_.dtype == single.embedding_.dtype == np.float32


@every_class
def test_warm_starts_refuse_columns_that_they_exclude(estimator):
    narrow = X.toarray()
    narrow[:, :2] = 0
    options = {"component_prior": 0} if hasattr(estimator, "component_prior") else {}
    model = fitted(estimator, narrow, warm_start=True, **options)
    refused("of its columns, such as 0, have probability zero", model.fit, X)


@every_class
def test_no_smoothing_still_finds_a_temperature(estimator):
    sparse = planted(n_tokens=1500, n_columns=300).X
    model = fitted(estimator, sparse, smoothing=0.0, beta="auto")
    assert model.smoothing_ == 0
    assert all(np.isfinite(trial.validation.perplexity) for trial in model.tuning_)


def test_restarts_keep_the_best():
    estimator = CLASSES[0]
    options = {"n_init": 1, "early_stopping": False, "beta": 0.95}
    one, best = fitted(estimator, **options), fitted(estimator, **{**options, "n_init": 2})
    assert best.objective_ <= one.objective_


@pytest.mark.parametrize("estimator", CLASSES[:2], ids=repr)
def test_searches_over_observations_rows_and_texts(estimator):
    grid = {"beta": [0.8], size(estimator): [2]}
    base = quick(estimator, early_stopping=False, max_iter=5)
    dyads = Dyads(X)
    for data, cv in ((dyads, KFold(2, shuffle=True, random_state=0)), (dyads, CountSplit(2))):
        search = GridSearchCV(base, grid, cv=cv).fit(data)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(GridSearchCV(base, grid, cv=2).fit(X).best_score_)
    name = type(base).__name__.lower()
    texts = make_pipeline(CountVectorizer(), base)
    grid = {f"{name}__{key}": values for key, values in grid.items()}
    assert np.isfinite(GridSearchCV(texts, grid, cv=2).fit(contract.TEXTS).best_score_)


def test_folds_in_processes_give_the_same_and_workers_share_the_cores(monkeypatch):
    monkeypatch.undo()  # processes have no short starts
    options = {"cv": CountSplit(2, random_state=0)}
    scores = [cross_val_score(quick(CLASSES[0]), Dyads(X), **options, n_jobs=n) for n in (1, 2)]
    np.testing.assert_array_equal(*scores)
    in_workers = joblib.Parallel(n_jobs=2)(joblib.delayed(n_threads)(-1) for _ in range(2))
    assert max(in_workers) <= max(1, joblib.cpu_count() // 2)
    assert n_threads(None) == 1


def with_first(value):
    table = X.toarray()
    table[0, 0] = value
    return table


BAD_TABLES = [
    (with_first(-1.0), "Negative values in data"),
    (with_first(np.nan), "contains NaN"),
    (with_first(np.inf), "contains infinity"),
    (np.empty((0, 5)), "0 sample"),
    (np.empty((5, 0)), "0 feature"),
    (np.zeros((5, 4)), "0 token"),
    (np.ones(5), "Expected 2D array"),
    (np.array([["a", "b"], ["c", "d"]]), "holds texts or other strings"),
    (sp.csr_array(([1.0, -2.0], ([0, 1], [0, 1])), shape=(3, 3)), "Negative values in data"),
]
BAD_WEIGHTS = [
    (-np.ones(X.shape[0]), "Negative values"),
    (np.ones(3), "sample_weight.shape"),
    (np.full(X.shape[0], np.nan), "NaN"),
    (np.zeros(X.shape[0]), "at least one non-zero|weights, are zero"),
]
BAD_PARAMETERS = {
    "beta": [0.0, 1.1, "hot"],
    "max_iter": [0],
    "tol": [-1.0],
    "n_init": [0],
    "solver": [2.0],
    "smoothing": [1.0, "none"],
    "validation_fraction": [1.0],
    "early_stopping": ["yes"],
    "random_state": ["seed"],
    "size": [0, 2.5],
}


@every_class_or_average
def test_bad_tables_weights_widths_and_parameters_are_refused(estimator):
    model = clone(estimator)
    for bad, message in BAD_TABLES:
        refused(message, model.fit, bad)
    for weights, message in BAD_WEIGHTS:
        refused(message, model.fit, X, sample_weight=weights)
    assert not hasattr(model, "n_features_in_")
    model = shared(estimator)
    before = dict(vars(model))
    refused("Negative", model.fit, -X)
    assert vars(model) == before
    for method in (model.transform, model.score, model.score_samples, model.perplexity):
        refused(r"X has 59 features, but .* is expecting 60", method, X[:, 1:])
    refused("was fitted on a table of shape", model.score, Dyads(X[:10]))
    refused("no tokens to score", model.score, np.zeros((2, X.shape[1])))
    refused("Invalid parameter 'temperature'", clone(estimator).set_params, temperature=1)
    refused("unexpected keyword", type(estimator), error=TypeError, temperature=1)
    refused(r"^fit\(\) got an unexpected keyword", estimator.fit, X, error=TypeError, weights=1)
    fit = type(estimator).fit
    assert pickle.loads(pickle.dumps(fit)) is fit
    for name, values in BAD_PARAMETERS.items() if estimator in CLASSES else ():
        name = size(estimator) if name == "size" else name
        for value in values:
            with pytest.raises(ValueError, match=f"The '{name}' parameter of .* must be"):
                clone(estimator).set_params(**{name: value}).fit(X)


def test_too_little_to_hold_out_is_said():
    refused(r"1 token\(s\), too few to hold out", AspectModel().fit, [[1.0, 0.0]])
