import os
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    GuidedAspectModel,
    RowMemory,
    metrics,
)
from skcooc import inspection as look
from skcooc.anndata import add_topics, fit_topics
from skcooc.inspection import name_topics
from skcooc.model_selection import ComponentSearchCV
from tests.anndata.conftest import model
from tests.faults.killing import child
from tests.tables import refused

anndata = pytest.importorskip("anndata", reason="needs anndata")


def test_what_is_added_is_what_the_model_found(adata, X, backed):
    found, expected = fit_topics(adata, model()), model().fit(X)
    assert isinstance(found, AspectModel)
    np.testing.assert_array_equal(adata.obsm["X_topics"], expected.embedding_)
    np.testing.assert_array_equal(adata.varm["topics"], expected.components_.T)
    np.testing.assert_allclose(adata.varm["topics"].sum(axis=0), 1, rtol=1e-6)
    of = adata.uns["topics"]
    shares = expected.row_distribution_ @ expected.embedding_
    np.testing.assert_allclose(of["shares"], shares, rtol=1e-6)
    assert of["names"].tolist() == name_topics(found) == name_topics(expected, adata.var_names)
    assert found.feature_names_in_.tolist() == adata.var_names.tolist()
    assert of["params"] == {"model": "AspectModel"}
    weights = 1 + 5 * (model().fit(X).embedding_.argmax(axis=1) == 1)
    found = fit_topics(adata, model(), sample_weight=weights)
    assert adata.uns["topics"]["names"].tolist() == name_topics(found)
    fit_topics(adata, model(), layer="counts")
    found = backed().to_memory()
    np.testing.assert_array_equal(found.obsm["X_topics"], adata.obsm["X_topics"])
    assert found.uns["topics"]["params"] == adata.uns["topics"]["params"]


def test_a_layer_some_genes_and_weights(adata, X):
    adata.X, weights = adata.X * 0.5, np.arange(60) % 3
    options = {"layer": "counts", "mask_var": "highly_variable"}
    found = fit_topics(adata, model(), **options, key_added="programs", sample_weight=weights)
    genes = np.asarray(adata.var["highly_variable"])
    expected = model().fit(X[:, genes], sample_weight=weights)
    np.testing.assert_array_equal(adata.obsm["programs"], expected.embedding_)
    np.testing.assert_array_equal(adata.varm["programs"][genes], expected.components_.T)
    assert not adata.varm["programs"][~genes].any()
    assert adata.uns["programs"]["params"] == {"model": "AspectModel"} | options
    further = anndata.AnnData(X[:7])
    add_topics(further, found)
    np.testing.assert_array_equal(further.obsm["X_topics"], found.transform(X[:7, genes]))


def test_what_is_around_a_model_adds_what_the_model_does(adata, X):
    for around in (
        ComponentSearchCV(model(), [3], cv=2),
        GridSearchCV(model(), {"n_components": [3]}, cv=2),
        make_pipeline(model()),
    ):
        fit_topics(adata, around)
        expected = model().fit(X)
        np.testing.assert_array_equal(adata.obsm["X_topics"], expected.embedding_)
        np.testing.assert_array_equal(adata.varm["topics"], expected.components_.T)
        assert adata.uns["topics"]["names"].tolist() == name_topics(around)
        assert adata.uns["topics"]["params"]["model"] == "AspectModel"
        assert around.feature_names_in_.tolist() == adata.var_names.tolist()
        add_topics(adata, around, key_added="again")
        np.testing.assert_array_equal(adata.obsm["again"], expected.transform(X))


def test_steps_of_a_pipeline_say_which_genes_they_keep(adata, X):
    select = VarianceThreshold(1.0).fit(X)
    fitted = fit_topics(adata, make_pipeline(select, model()))
    kept, inner = select.get_support(), fitted[-1]
    assert 5 < kept.sum() < 35
    np.testing.assert_array_equal(adata.varm["topics"][kept], inner.components_.T)
    assert not adata.varm["topics"][~kept].any()
    reversed_ = adata[:7, ::-1].copy()
    add_topics(reversed_, fitted)
    np.testing.assert_array_equal(reversed_.obsm["X_topics"], inner.transform(X[:7][:, kept]))
    np.testing.assert_array_equal(reversed_.varm["topics"][::-1], adata.varm["topics"])
    pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), model())
    del adata.varm["topics"]
    with pytest.warns(UserWarning, match="lack get_feature_names_out, so that the genes"):
        fit_topics(adata, pipeline)
    assert adata.obsm["X_topics"].shape == (60, 3)
    assert "topics" not in adata.varm


def test_averages_and_other_libraries(adata):
    for fitted, n_topics in (
        (AveragedModels(model(), 2), 6),
        (LatentDirichletAllocation(3, max_iter=2, random_state=0), 3),
        (AsymmetricClustering(3, beta=1.0), 3),
        (RowMemory(model()), 3),
    ):
        fit_topics(adata, fitted)
        assert adata.obsm["X_topics"].shape == (60, n_topics)
        np.testing.assert_allclose(adata.obsm["X_topics"].sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_allclose(adata.varm["topics"].sum(axis=0), 1, rtol=1e-5)
        assert len(set(adata.uns["topics"]["names"])) == n_topics


def test_the_cells_fitted_get_the_mixtures_of_a_consensus(adata, X):
    average = fit_topics(adata, AveragedModels(model(), 2), mask_var="highly_variable")
    agreed, reversed_ = average.consensus_, adata[:, ::-1].copy()
    add_topics(reversed_, agreed, layer="counts")
    np.testing.assert_array_equal(reversed_.obsm["X_topics"], agreed.embedding_)
    genes = np.asarray(reversed_.var["highly_variable"])
    np.testing.assert_allclose(reversed_.varm["topics"][genes][::-1], agreed.components_.T)
    assert reversed_.uns["topics"]["names"].tolist() == name_topics(agreed)
    adata.layers["doubled"] = sp.diags_array(1.0 + np.arange(60) % 2) @ adata.X
    for cells, options in ((adata[:9].copy(), {}), (adata, {"layer": "doubled"})):
        hint = "Consensus has no transform: give the cells and the layer fitted"
        refused(hint, add_topics, cells, agreed, **options)
    add_topics(adata, AveragedModels(model(), 2).fit(X).consensus_)
    assert adata.obsm["X_topics"].shape == (60, 3)


def test_bad_options_and_models_without_mixtures_are_refused_before_the_fit(adata):
    for estimator in (
        GridSearchCV(model(), {"beta": [0.8, 0.9]}, refit=False),
        GridSearchCV(make_pipeline(model(), LogisticRegression()), {}),
    ):
        refused("GridSearchCV has no transform", fit_topics, adata, estimator, error=TypeError)
        assert not hasattr(estimator, "cv_results_")
    message = r"model is a class: give an instance, AspectModel\(\.\.\.\)"
    refused(message, fit_topics, adata, AspectModel, error=TypeError)
    for add in (fit_topics, add_topics):
        message = r"adata should be an AnnData, got csr_matrix: .*skcooc\[anndata\]"
        refused(message, add, sp.csr_matrix(adata.X), model(), error=TypeError)
    for options, error, message in (
        ({"layer": "raw"}, KeyError, r"no layer 'raw' in adata\.layers, which has: 'counts'"),
        (
            {"mask_var": "hv"},
            KeyError,
            r"no column 'hv' in adata\.var, which has: 'highly_variable'",
        ),
        ({"mask_var": np.zeros(40, dtype=bool)}, ValueError, "mask_var selects no gene"),
        ({"mask_var": [True]}, ValueError, r"shape \(40,\), or a column of adata.var, got bool of"),
        ({"mask_var": np.arange(40)}, ValueError, "mask_var should be bool"),
    ):
        refused(message, fit_topics, adata, model(), error=error, **options)
        assert "X_topics" not in adata.obsm


def test_genes_are_found_by_their_names_and_named_if_they_are_lacking(adata, X, backed):
    found = fit_topics(adata, model(), mask_var="highly_variable")
    genes = np.flatnonzero(adata.var["highly_variable"])
    order = np.random.default_rng(0).permutation(40)
    further = adata[:9, order].copy()
    add_topics(further, found, layer="counts")
    with pytest.warns(UserWarning, match="valid feature names"):  # scikit-learn's own
        expected = found.transform(X[:9, genes])
    np.testing.assert_array_equal(further.obsm["X_topics"], expected)
    np.testing.assert_array_equal(further.varm["topics"], adata.varm["topics"][order])
    counts = X[:9, genes].sum(axis=1).A1
    of = further.uns["topics"]
    np.testing.assert_allclose(of["shares"], counts / counts.sum() @ expected, rtol=1e-6)
    assert of["names"].tolist() == adata.uns["topics"]["names"].tolist()
    assert of["params"] == {"model": "AspectModel", "layer": "counts"}
    found = fit_topics(adata, model())
    cells = backed(adata[:, ::-1].copy())
    add_topics(cells, found)
    np.testing.assert_array_equal(cells.obsm["X_topics"], model().fit(X).transform(X))
    some = adata[:5, 2:].copy()
    refused(r"lacks 2 of the 40 genes .* first of them '0', '1'", add_topics, some, found)
    add_topics(anndata.concat([some, adata[:0]], join="outer", fill_value=0), found)  # as it says
    some.var_names = [f"ENSG{j}" for j in range(38)]
    refused(r"lacks 40 of the 40 .* Are names of one kind in both", add_topics, some, found)


@pytest.mark.filterwarnings("ignore:Variable names are not unique", "ignore:Observation names")
def test_names_that_genes_share(adata):
    adata.obs_names, adata.var_names = ["cell"] * 60, ["0"] * 2 + adata.var_names[2:].tolist()
    found = fit_topics(adata, model())
    add_topics(adata, found, key_added="again")  # in the same order
    with pytest.raises(ValueError, match=r"adata\.var_names_make_unique\(\) on all cells"):
        add_topics(adata[:, ::-1].copy(), found)


def test_genes_have_to_be_known(adata, X):
    add_topics(adata, model().fit(X))
    np.testing.assert_array_equal(adata.obsm["X_topics"], model().fit(X).transform(X))
    with pytest.raises(ValueError, match="adata has 40 genes, but AspectModel was fitted to 30"):
        add_topics(adata, model().fit(X[:, :30]))
    found = fit_topics(adata, model(), mask_var="highly_variable")
    genes = found.feature_names_in_
    assert look.distinguishing_features(found, adata[:, genes].X)["feature"].isin(genes).all()
    with pytest.raises(ValueError, match="X has 40 features, but the model has 30, named by its"):
        look.distinguishing_features(found, X)
    refused("has 30 columns, whose names it knows", look.top_features, found, adata.var_names)


def test_rows_have_the_names_of_the_cells(adata, backed):
    adata.obs_names = [f"cell{i}" for i in range(60)]
    names = adata.obs_names.tolist()
    pipeline = make_pipeline(model())
    search = ComponentSearchCV(model(), [3], cv=2)
    memory = RowMemory(model())
    average = AveragedModels(model(), 2)
    for around in (pipeline, search, memory, average):
        fit_topics(adata, around)
    for inside in (
        pipeline[-1], search.best_estimator_, memory, memory.estimator_, average, average.consensus_
    ):  # fmt: skip
        assert inside.row_names_in_.tolist() == names
    found = fit_topics(adata[::2].copy(), model(), layer="counts")
    assert found.row_names_in_.tolist() == names[::2]
    assert set(np.ravel(look.representative_rows(found))) < set(names)
    assert set(look.describe(found)["rows"].explode()) < set(names)
    adata.obs_names.to_numpy()[:] = "cell"
    assert found.row_names_in_.tolist() == names[::2]
    in_file = backed(adata[:30].copy())
    in_blocks = fit_topics(in_file, AspectModel(3, beta=0.9, random_state=0))
    assert not hasattr(in_blocks, "row_names_in_")  # as its mixtures are not kept
    found = fit_topics(in_file, model(), layer="counts")
    assert found.row_names_in_.tolist() == in_file.obs_names.tolist()


def test_what_has_an_anndata_inside_is_refused_before_the_fit(adata):
    adata.raw = adata
    mudata = type("MuData", (), {"n_vars": 40, "obsm": {}, "X": None})()
    estimator = model()
    for add in (fit_topics, add_topics):
        refused(
            r"got Raw: give adata\.raw\.to_adata\(\)", add, adata.raw, estimator, error=TypeError
        )
        refused(r"one modality, adata\.mod\[name\]", add, mudata, estimator, error=TypeError)
    assert not hasattr(estimator, "components_")
    fit_topics(adata.raw.to_adata(), estimator)


def test_other_methods_and_functions_tell_what_to_give(adata, X):
    for method in ("fit", "fit_transform", "partial_fit"):
        with pytest.raises(TypeError, match=r"skcooc\.anndata\.fit_topics\(adata, model"):
            getattr(model(), method)(adata)
    fitted = model().fit(X)
    for method in (fitted.transform, fitted.score, AsymmetricClustering(2).fit, RowMemory().fit):
        refused("holds more than counts", method, adata, error=TypeError)
    with pytest.raises(TypeError, match="holds more than counts"):
        metrics.npmi_coherence(fitted.components_, adata)
    for function, hint in (
        (lambda: look.distinguishing_features(fitted, adata), r"give adata\.X, or"),
        (lambda: look.explore(fitted, adata), r"give adata\.X, or"),
        (lambda: look.to_pyldavis(make_pipeline(fitted), adata), r"give adata\.X"),
        (lambda: look.top_features(fitted, adata), r"give adata\.var_names"),
        (lambda: look.representative_rows(fitted, adata), r"give adata\.obs_names"),
        (lambda: look.topic_shares(fitted, adata), r"adata\.obs\['type'\]"),
        (lambda: look.nearest_rows(adata, [0]), r"adata\.obsm\['X_topics'\]"),
        (lambda: look.Mixtures(adata), r"adata\.obsm\['X_topics'\]"),
    ):
        refused(f"is an AnnData, which holds more than .*{hint}", function, error=TypeError)


@contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


@pytest.mark.parametrize("mask_var", [None, "highly_variable"])
def test_a_file_is_read_in_blocks(adata, backed, mask_var, monkeypatch):
    monkeypatch.setattr("skcooc.anndata.CELLS", 25)
    cells = backed()
    found = fit_topics(cells, AspectModel(3, beta=0.9, random_state=0), mask_var=mask_var)
    genes = slice(None) if mask_var is None else np.flatnonzero(adata.var[mask_var])
    expected = found.transform(adata.X[:, genes])
    np.testing.assert_allclose(cells.obsm["X_topics"], expected)
    n = np.asarray(adata.X[:, genes].sum(axis=1)).ravel()
    np.testing.assert_allclose(cells.uns["topics"]["shares"], n @ expected / n.sum())


def test_logarithms_cause_warnings_also_in_files_and_of_some_genes(adata, backed):
    some = np.arange(40) < 20
    logs, counts = adata.X.multiply(1e3 / adata.X.sum(axis=1)).log1p(), adata.X
    adata.X = sp.hstack([logs.tocsr()[:, :20], counts[:, 20:] * 100]).tocsr()
    for cells in (adata, backed()):
        with pytest.warns(UserWarning, match=r"looks log-normalised .* layer='counts'") as told:
            fit_topics(cells, AspectModel(3, beta=0.9), mask_var=some)
        assert not [one for one in told if "X holds" in str(one.message)]  # once is enough
        with quiet():
            fit_topics(cells, AspectModel(3, beta=0.9), mask_var=~some)


def test_a_layer_of_a_file_is_in_memory_and_other_models_need_memory(adata, X, backed):
    cells = backed()
    for add in (fit_topics, add_topics):
        with pytest.raises(ValueError, match="a part of a file, to which nothing can be added"):
            add(cells[:5], model())
    fit_topics(cells, model(), layer="counts")
    np.testing.assert_array_equal(cells.obsm["X_topics"], model().fit(X).embedding_)
    with pytest.raises(TypeError, match=r"AveragedModels has no partial_fit.* adata\.to_memory"):
        fit_topics(cells, AveragedModels(model()))
    fit_topics(cells, RowMemory(AspectModel(3, beta=0.9), concentration=1, discount=0.5))
    assert len(cells.uns["topics"]["names"]) == 3


def test_dask_arrays_stay_lazy(adata, X):
    dask_array = pytest.importorskip("dask.array", reason="needs dask")
    distributed = pytest.importorskip("distributed", reason="needs distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    expected = model().fit(X[:, np.asarray(adata.var["highly_variable"])]).embedding_
    with distributed.Client(processes=False, **options):
        for container in (np.asarray, sp.csr_matrix, sp.csr_array):
            adata.X = dask_array.from_array(X.toarray(), chunks=(30, 40)).map_blocks(container)
            found = fit_topics(adata, model(), mask_var="highly_variable")
            np.testing.assert_allclose(adata.obsm["X_topics"], expected, atol=1e-3)
        add_topics(adata, found, key_added="again")
    np.testing.assert_allclose(adata.obsm["again"], adata.obsm["X_topics"], atol=0.05)
    counts = X.toarray()[:, np.asarray(adata.var["highly_variable"])].sum(axis=1)
    shares = counts / counts.sum() @ adata.obsm["again"]
    np.testing.assert_allclose(adata.uns["again"]["shares"], shares, rtol=1e-5)


@pytest.mark.parametrize("container", [sp.csr_matrix, np.asarray])
def test_only_cells_scaled_to_one_total_cause_warnings(adata, container):
    totals = adata.X.sum(axis=1).A1
    scaled = sp.diags_array(1e4 / totals) @ adata.X.astype(np.float32)
    adata.X = container(scaled.toarray())
    for options in ({}, {"mask_var": "highly_variable"}):
        with pytest.warns(UserWarning, match="all cells have the same total"):
            fit_topics(adata, model(), **options)
    some = adata[:, 7:].copy()
    with pytest.warns(UserWarning, match="multiples of a number of its own"):
        fit_topics(some, model())
    some.X = scaled.toarray()[:, 7:] * np.random.default_rng(0).uniform(0.7, 1, some.shape)
    with quiet():
        fit_topics(some, model())


FRACTIONS = (
    lambda X, rng: X * 40 * rng.uniform(0.7, 1, X.shape),
    lambda X, rng: X + (rng.random(X.shape) < 0.2) * rng.random(X.shape),  # nearly whole
    lambda X, rng: np.array([rng.multinomial(50, row / row.sum()) for row in X]),
    lambda X, _: X * 1000.5,
)


def test_other_fractions_and_equal_totals_are_counts(adata):
    X = adata.X.toarray()
    for fractions in FRACTIONS:
        adata.X = fractions(X, np.random.default_rng(0))
        with quiet():
            fit_topics(adata, model())


def test_scaled_and_missing_counts_are_refused_and_empty_cells_are_not(adata, X):
    adata.X = adata.X.toarray() - 1.0
    refused("Counts are negative, such as -1: they were scaled", fit_topics, adata, model())
    without = adata.copy()
    del without.X
    refused(r"adata\.X is None\. Give the layer", fit_topics, without, model())
    counts = X.toarray()
    counts[:2], counts[:, :3] = 0, 0
    adata.X = counts
    found = fit_topics(adata, model())
    np.testing.assert_allclose(adata.obsm["X_topics"][:2], [found.weights_] * 2)
    assert not adata.varm["topics"][:3].any()


def test_containers_and_views_are_alike(X):
    for container in (np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array):
        adata = anndata.AnnData(container(X.toarray()), layers={"counts": container(X.toarray())})
        found, expected = fit_topics(adata, model()), model().fit(X)
        np.testing.assert_array_equal(found.components_, expected.components_)
        np.testing.assert_array_equal(adata.obsm["X_topics"], expected.embedding_)
        view = adata[:40, ::2]
        assert view.is_view
        expected = model().fit(X[:40, ::2])
        np.testing.assert_array_equal(model().fit(view.X).components_, expected.components_)
        found = fit_topics(view, model(), layer="counts")
        np.testing.assert_array_equal(view.obsm["X_topics"], expected.embedding_)
        add_topics(adata[40:, ::2].copy(), found)


def test_seeds_are_genes_of_the_anndata_fitted_last(adata):
    seeded = GuidedAspectModel(3, seed_features={"own": ["1"]}, beta=0.9, random_state=0)
    for cells in (adata, adata[:, ::-1].copy(), adata[:, :20].copy()):
        fit_topics(cells, seeded)
        assert seeded.feature_names is None
        named = clone(seeded).set_params(feature_names=np.asarray(cells.var_names))
        np.testing.assert_array_equal(seeded.components_, named.fit(cells.X).components_)


def test_batches_of_cells_fitted_and_of_further_ones(adata, backed, monkeypatch):
    batches = np.array(["a", "b", None] * 20, dtype=object)
    adata.obs["batch"] = batches
    grouped = GuidedAspectModel(3, group_effects="columns", beta=0.9, max_iter=20, random_state=0)
    found = fit_topics(adata, grouped, batch_key="batch")
    expected = clone(grouped).fit(adata.X, groups=batches)
    np.testing.assert_array_equal(adata.obsm["X_topics"], expected.embedding_)
    assert adata.uns["topics"]["params"]["batch_key"] == "batch"
    corrected = found.transform(adata.X, groups=batches)
    for cells in (adata, backed()):
        with monkeypatch.context() as patched:
            patched.setattr("skcooc.anndata.CELLS", 7)
            add_topics(cells, found, batch_key="batch")
        np.testing.assert_allclose(cells.obsm["X_topics"], corrected, rtol=1e-6)
    with pytest.warns(UserWarning, match="groups are not given"):
        add_topics(adata, found)
    assert np.abs(adata.obsm["X_topics"] - corrected).max() > 1e-3
    with pytest.raises(KeyError, match="is not a column of adata"):
        add_topics(adata, found, batch_key="run")
    search = fit_topics(adata, ComponentSearchCV(grouped, [2, 3]), batch_key="batch")
    assert search.best_estimator_.groups_.tolist() == ["a", "b"]
    with pytest.raises(TypeError, match="needs the batches of the cells"):
        fit_topics(adata, search)
    with pytest.raises(TypeError, match="needs a model of groups"):
        add_topics(adata, fit_topics(adata, model()), batch_key="batch")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a crash would end all tests")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_damaged_counts_are_refused(adata, X, format):
    fitted = fit_topics(adata, model())

    def refuse_all():
        wild = X.asformat(format).copy()
        wild.indptr[[5, -1]] = 10**9, 0
        adata.X, adata.layers["wild"] = wild, wild
        for layer in (None, "wild"):
            for genes in (None, "highly_variable"):
                options = {"layer": layer, "mask_var": genes}
                refused("damaged sparse array", fit_topics, adata, model(), **options)
        for layer in (None, "wild"):
            refused("damaged sparse array", add_topics, adata, fitted, layer=layer)
        return "all are refused"

    assert child(refuse_all) == "all are refused"


def test_a_fitted_model_does_not_change_with_what_is_in_adata(adata, X):
    found = fit_topics(adata, model())
    embedding, names = found.embedding_.copy(), found.feature_names_in_.tolist()
    adata.obsm["X_topics"][:] = 0
    adata.varm["topics"][:] = 0
    adata.X.data[:] = 1
    adata.var_names.to_numpy()[:] = "gene"
    np.testing.assert_array_equal(found.embedding_, embedding)
    assert found.feature_names_in_.tolist() == names
    assert found.transform(X[:5]).shape == (5, 3)
