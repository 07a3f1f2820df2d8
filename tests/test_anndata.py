"""Cells and genes: what an AnnData gets, and what is refused."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, AsymmetricClustering, RowMemory, metrics
from skcooc.anndata import add_topics, fit_topics
from skcooc.datasets import make_cooccurrences

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
    assert of["names"].tolist() == expected.get_feature_names_out().tolist()
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


@pytest.mark.parametrize("estimator", [AsymmetricClustering(3, beta=1.0), RowMemory(model())])
def test_other_estimators(adata, estimator):
    fit_topics(adata, estimator)
    assert adata.obsm["X_topics"].shape == (60, 3)


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


def test_shares_of_large_counts_are_no_logarithms(adata, recwarn):
    adata.X = adata.X * 1000.5
    fit_topics(adata, model())
    assert not [w for w in recwarn if w.category is UserWarning]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layer": "raw"}, KeyError, "raw"),
        ({"mask_var": "variable"}, KeyError, "variable"),
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
