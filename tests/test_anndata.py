"""Cells and genes: what an AnnData gets, and what is refused."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import AspectModel, AsymmetricClustering, AveragedModels, RowMemory, metrics
from skcooc import inspection as look
from skcooc.anndata import add_topics, fit_topics
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import name_topics
from skcooc.model_selection import TemperatureSearchCV

anndata = pytest.importorskip("anndata", reason="needs anndata")


@pytest.fixture(scope="module")
def X():
    return sp.csr_matrix(make_cooccurrences(60, 40, n_components=3, random_state=0).X)


@pytest.fixture
def adata(X):
    found = anndata.AnnData(X.copy())
    found.layers["counts"] = X.copy()
    found.var["highly_variable"] = np.arange(40) % 4 > 0
    return found


def model(**options):
    return AspectModel(3, beta=0.9, tol=0.01, random_state=0, **options)


def test_what_is_added_is_what_the_model_found(adata, X):
    found, expected = fit_topics(adata, model()), model().fit(X)
    assert isinstance(found, AspectModel)
    np.testing.assert_array_equal(adata.obsm["X_topics"], expected.embedding_)
    np.testing.assert_array_equal(adata.varm["topics"], expected.components_.T)
    np.testing.assert_allclose(adata.varm["topics"].sum(axis=0), 1)
    of = adata.uns["topics"]
    shares = expected.row_distribution_ @ expected.embedding_
    np.testing.assert_allclose(of["shares"], shares, rtol=1e-6)
    assert of["names"].tolist() == name_topics(found) == name_topics(expected, adata.var_names)
    assert found.feature_names_in_.tolist() == adata.var_names.tolist()
    assert of["params"] == {"model": "AspectModel"}


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
    np.testing.assert_allclose(adata.uns["programs"]["shares"].sum(), 1)
    further = anndata.AnnData(X[:7])
    add_topics(further, found)
    np.testing.assert_array_equal(further.obsm["X_topics"], found.transform(X[:7, genes]))


def test_names_are_those_shown_where_topics_differ_in_size(adata, X):
    weights = 1 + 5 * (model().fit(X).embedding_.argmax(axis=1) == 1)
    found = fit_topics(adata, model(), sample_weight=weights)
    assert adata.uns["topics"]["names"].tolist() == name_topics(found)


@pytest.mark.parametrize("estimator", [AsymmetricClustering(3, beta=1.0), RowMemory(model())])
def test_other_estimators(adata, estimator):
    fit_topics(adata, estimator)
    assert adata.obsm["X_topics"].shape == (60, 3)


@pytest.mark.parametrize(
    "around",
    [
        TemperatureSearchCV(model(), [0.9], cv=2),
        GridSearchCV(model(), {"n_components": [3]}, cv=2),
        make_pipeline(model()),
    ],
)
def test_what_is_around_a_model_adds_what_the_model_does(adata, X, around):
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


def test_steps_that_do_not_are_told_of(adata):
    pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), model())
    with pytest.warns(UserWarning, match="do not say by get_feature_names_out which genes"):
        fit_topics(adata, pipeline)
    assert adata.obsm["X_topics"].shape == (60, 3)
    assert "topics" not in adata.varm


def test_averages_and_other_libraries(adata):
    fit_topics(adata, AveragedModels(model(), 2), key_added="mean")
    fit_topics(adata, LatentDirichletAllocation(3, max_iter=2, random_state=0), key_added="lda")
    for key, n_topics in (("mean", 6), ("lda", 3)):
        assert adata.obsm[key].shape == (60, n_topics)
        np.testing.assert_allclose(adata.obsm[key].sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_allclose(adata.varm[key].sum(axis=0), 1, rtol=1e-5)
        assert len(set(adata.uns[key]["names"])) == n_topics


@pytest.mark.parametrize(
    "estimator",
    [
        GridSearchCV(model(), {"beta": [0.8, 0.9]}, refit=False),
        GridSearchCV(make_pipeline(model(), LogisticRegression()), {}),
    ],
)
def test_what_has_no_mixtures_is_refused_before_it_is_fitted(adata, estimator):
    with pytest.raises(TypeError, match="GridSearchCV has no transform"):
        fit_topics(adata, estimator)
    assert not hasattr(estimator, "cv_results_")


def test_genes_are_found_by_their_names(adata, X):
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


def test_genes_of_a_file_are_found_by_their_names(adata, X, tmp_path):
    found = fit_topics(adata, model())
    adata[:, ::-1].copy().write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    add_topics(backed, found)
    np.testing.assert_array_equal(backed.obsm["X_topics"], model().fit(X).transform(X))
    backed.file.close()


def test_genes_that_are_lacking_are_named(adata):
    found = fit_topics(adata, model())
    some = adata[:5, 2:].copy()
    with pytest.raises(ValueError, match=r"lacks 2 of the 40 genes .* first of them '0', '1'"):
        add_topics(some, found)
    with_zeros = anndata.concat([some, adata[:0]], join="outer", fill_value=0)  # as it says
    add_topics(with_zeros, found)
    assert with_zeros.obsm["X_topics"].shape == (5, 3)
    some.var_names = [f"ENSG{j}" for j in range(38)]
    with pytest.raises(ValueError, match=r"lacks 40 of the 40 .* Are names of one kind in both"):
        add_topics(some, found)


@pytest.mark.filterwarnings("ignore:Variable names are not unique", "ignore:Observation names")
def test_names_that_genes_share(adata):
    adata.obs_names, adata.var_names = ["cell"] * 60, ["0"] * 2 + adata.var_names[2:].tolist()
    found = fit_topics(adata, model())
    add_topics(adata, found, key_added="again")  # in the same order
    with pytest.raises(ValueError, match=r"adata\.var_names_make_unique\(\) of all cells"):
        add_topics(adata[:, ::-1].copy(), found)


def test_a_model_that_knows_no_names_takes_all_genes(adata, X):
    add_topics(adata, model().fit(X))
    np.testing.assert_array_equal(adata.obsm["X_topics"], model().fit(X).transform(X))
    with pytest.raises(ValueError, match="adata has 40 genes, but AspectModel was fitted to 30"):
        add_topics(adata, model().fit(X[:, :30]))


def test_it_can_be_written_and_read(adata, tmp_path):
    fit_topics(adata, model(), layer="counts")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = anndata.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(found.obsm["X_topics"], adata.obsm["X_topics"])
    assert found.uns["topics"]["params"] == adata.uns["topics"]["params"]


@pytest.mark.parametrize("mask_var", [None, "highly_variable"])
def test_a_file_is_read_in_blocks(adata, tmp_path, mask_var, monkeypatch):
    monkeypatch.setattr("skcooc.anndata.counts.CELLS", 25)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    found = fit_topics(backed, AspectModel(3, beta=0.9, random_state=0), mask_var=mask_var)
    genes = slice(None) if mask_var is None else np.flatnonzero(adata.var[mask_var])
    expected = found.transform(adata.X[:, genes])
    np.testing.assert_allclose(backed.obsm["X_topics"], expected)
    n_observations = np.asarray(adata.X[:, genes].sum(axis=1)).ravel()
    np.testing.assert_allclose(
        backed.uns["topics"]["shares"], n_observations @ expected / n_observations.sum()
    )
    backed.file.close()


def test_logarithms_are_warned_of(adata):
    adata.X = adata.X.multiply(1e3 / adata.X.sum(axis=1)).log1p().tocsr()
    with pytest.warns(UserWarning, match="Give the layer with raw counts, as in layer='counts'"):
        fit_topics(adata, model())


def test_logarithms_in_files_and_of_some_genes_are_warned_of_too(adata, tmp_path):
    some = np.arange(40) < 20
    logs, counts = adata.X.multiply(1e3 / adata.X.sum(axis=1)).log1p(), adata.X
    adata.X = sp.hstack([logs.tocsr()[:, :20], counts[:, 20:] * 100]).tocsr()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for cells in (adata, backed):
        with pytest.warns(UserWarning, match="as if they were normalised"):
            fit_topics(cells, AspectModel(3, beta=0.9), mask_var=some)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            fit_topics(cells, AspectModel(3, beta=0.9), mask_var=~some)
    backed.file.close()


def test_a_layer_of_a_file_is_in_memory(adata, X, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    fit_topics(backed, model(), layer="counts")
    np.testing.assert_array_equal(backed.obsm["X_topics"], model().fit(X).embedding_)
    backed.file.close()


def test_dask_arrays_stay_lazy(adata, X):
    dask_array = pytest.importorskip("dask.array", reason="needs dask")
    distributed = pytest.importorskip("distributed", reason="needs distributed")
    adata.X = dask_array.from_array(X.toarray(), chunks=(30, 40))
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(processes=False, **options):
        found = fit_topics(adata, model(), mask_var="highly_variable")
        add_topics(adata, found, key_added="again")
    expected = model().fit(X[:, np.asarray(adata.var["highly_variable"])]).embedding_
    np.testing.assert_allclose(adata.obsm["X_topics"], expected, atol=1e-3)
    np.testing.assert_allclose(adata.obsm["again"], adata.obsm["X_topics"], atol=0.05)


@pytest.mark.parametrize("container", [sp.csr_matrix, np.asarray])
def test_cells_scaled_to_one_total_are_warned_of(adata, container):
    totals = adata.X.sum(axis=1).A1
    scaled = sp.diags_array(1e4 / totals) @ adata.X.astype(np.float32)
    adata.X = container(scaled.toarray())
    for options in ({}, {"mask_var": "highly_variable"}):
        with pytest.warns(UserWarning, match="all cells have the same total"):
            fit_topics(adata, model(), **options)
    some = adata[:, 7:].copy()
    with pytest.warns(UserWarning, match="whole multiples of a number of its own"):
        fit_topics(some, model())
    some.X = scaled.toarray()[:, 7:] * np.random.default_rng(0).uniform(0.7, 1, some.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fit_topics(some, model())


def soft(X, rng):
    return X * 40 * rng.uniform(0.7, 1, X.shape)


def nearly_whole(X, rng):
    return X + (rng.random(X.shape) < 0.2) * rng.random(X.shape)


def downsampled(X, rng):
    return np.array([rng.multinomial(50, row / row.sum()) for row in X])


@pytest.mark.parametrize("fractions", [soft, nearly_whole, downsampled, lambda X, _: X * 1000.5])
def test_other_fractions_and_equal_totals_are_counts(adata, fractions):
    adata.X = fractions(adata.X.toarray(), np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fit_topics(adata, model())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layer": "raw"}, KeyError, r"no layer 'raw' in adata\.layers\. There: 'counts'"),
        ({"mask_var": "hv"}, KeyError, r"no column 'hv' in adata\.var\. There: 'highly_variable'"),
        ({"mask_var": np.zeros(40, dtype=bool)}, ValueError, "mask_var chooses no gene"),
        ({"mask_var": [True]}, ValueError, "mask_var should be a column of adata.var"),
        ({"mask_var": np.arange(40)}, ValueError, "and bool"),
    ],
)
def test_what_is_not_there(adata, options, error, message):
    with pytest.raises(error, match=message):
        fit_topics(adata, model(), **options)
    assert "X_topics" not in adata.obsm


def test_scaled_and_missing_counts_are_refused(adata):
    adata.X = adata.X.toarray() - 1.0
    with pytest.raises(ValueError, match="Counts are negative, such as -1: they were scaled"):
        fit_topics(adata, model())
    without = anndata.AnnData(layers={"counts": adata.layers["counts"]})
    with pytest.raises(ValueError, match=r"adata\.X is None\. Give the layer"):
        fit_topics(without, model())


@pytest.mark.parametrize("method", ["fit", "fit_transform", "partial_fit"])
def test_fit_says_at_once_where_to_go(adata, method):
    with pytest.raises(TypeError, match=r"skcooc\.anndata\.fit_topics\(adata, model"):
        getattr(model(), method)(adata)


def test_so_do_fitted_models_and_others(adata, X):
    fitted = model().fit(X)
    for method in (fitted.transform, fitted.score, AsymmetricClustering(2).fit, RowMemory().fit):
        with pytest.raises(TypeError, match="holds more than counts"):
            method(adata)
    with pytest.raises(TypeError, match="holds more than counts"):
        metrics.npmi_coherence(fitted.components_, adata)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_views_are_fitted_as_what_they_show(X, container):
    adata = anndata.AnnData(container(X.toarray()), layers={"counts": container(X.toarray())})
    view = adata[:40, ::2]
    assert view.is_view
    expected = model().fit(X[:40, ::2])
    np.testing.assert_array_equal(model().fit(view.X).components_, expected.components_)
    found = fit_topics(view, model(), layer="counts")
    np.testing.assert_array_equal(view.obsm["X_topics"], expected.embedding_)
    add_topics(adata[40:, ::2].copy(), found)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda fitted, adata: look.distinguishing_features(fitted, adata), r"give adata\.X, or"),
        (lambda fitted, adata: look.explore(fitted, adata), r"give adata\.X, or"),
        (lambda fitted, adata: look.to_pyldavis(make_pipeline(fitted), adata), r"give adata\.X"),
        (lambda fitted, adata: look.top_features(fitted, adata), r"give adata\.var_names"),
        (lambda fitted, adata: look.representative_rows(fitted, adata), r"give adata\.obs_names"),
        (lambda fitted, adata: look.topic_shares(fitted, adata), r"adata\.obs\['type'\]"),
        (lambda fitted, adata: look.nearest_rows(adata, [0]), r"adata\.obsm\['X_topics'\]"),
        (lambda fitted, adata: look.Mixtures(adata), r"adata\.obsm\['X_topics'\]"),
    ],
)
def test_what_shows_a_model_says_what_to_give_of_an_anndata(adata, X, function, says):
    with pytest.raises(TypeError, match=f"is an AnnData, which holds more than .*{says}"):
        function(model().fit(X), adata)


def test_what_shows_a_model_knows_its_genes(adata, X):
    found = fit_topics(adata, model(), mask_var="highly_variable")
    genes = found.feature_names_in_
    assert look.distinguishing_features(found, adata[:, genes].X)["feature"].isin(genes).all()
    with pytest.raises(ValueError, match="X has 40 features, but the model has 30, named by its"):
        look.distinguishing_features(found, X)
    with pytest.raises(ValueError, match="has 30 columns, whose names it knows"):
        look.top_features(found, adata.var_names)


def test_a_file_needs_a_model_that_reads_blocks(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(TypeError, match=r"AveragedModels has no partial_fit.* adata\.to_memory"):
        fit_topics(backed, AveragedModels(model()))
    fit_topics(backed, RowMemory(AspectModel(3, beta=0.9), concentration=1, discount=0.5))
    assert len(backed.uns["topics"]["names"]) == 3
    backed.file.close()


@pytest.mark.parametrize("container", [np.asarray, sp.csc_matrix, sp.csr_array])
def test_containers_are_alike(adata, X, container):
    adata.X, expected = container(X.toarray()), model().fit(X)
    found = fit_topics(adata, model())
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(adata.obsm["X_topics"], expected.embedding_)


def test_empty_cells_and_genes(adata, X):
    counts = X.toarray()
    counts[:2], counts[:, :3] = 0, 0
    adata.X = counts
    found = fit_topics(adata, model())
    np.testing.assert_allclose(adata.obsm["X_topics"][:2], [found.weights_] * 2)
    assert not adata.varm["topics"][:3].any()
