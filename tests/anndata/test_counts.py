"""Counts of an AnnData in memory, files and dask arrays, and warnings about others."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, AveragedModels, RowMemory
from skcooc.anndata import add_topics, fit_topics
from tests.anndata.models import model

anndata = pytest.importorskip("anndata", reason="needs anndata")


@contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


@pytest.mark.parametrize("mask_var", [None, "highly_variable"])
def test_a_file_is_read_in_blocks(adata, backed, mask_var, monkeypatch):
    monkeypatch.setattr("skcooc.anndata.counts.CELLS", 25)
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
        with pytest.warns(UserWarning, match=r"normalised and logarithms.* layer='counts'"):
            fit_topics(cells, AspectModel(3, beta=0.9), mask_var=some)
        with quiet():
            fit_topics(cells, AspectModel(3, beta=0.9), mask_var=~some)


def test_a_layer_of_a_file_is_in_memory_and_other_models_need_memory(adata, X, backed):
    cells = backed()
    fit_topics(cells, model(), layer="counts")
    np.testing.assert_array_equal(cells.obsm["X_topics"], model().fit(X).embedding_)
    with pytest.raises(TypeError, match=r"AveragedModels has no partial_fit.* adata\.to_memory"):
        fit_topics(cells, AveragedModels(model()))
    fit_topics(cells, RowMemory(AspectModel(3, beta=0.9), concentration=1, discount=0.5))
    assert len(cells.uns["topics"]["names"]) == 3


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
def test_cells_scaled_to_one_total_cause_warnings(adata, container):
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
    with pytest.raises(ValueError, match="Counts are negative, such as -1: they were scaled"):
        fit_topics(adata, model())
    without = anndata.AnnData(layers={"counts": adata.layers["counts"]})
    with pytest.raises(ValueError, match=r"adata\.X is None\. Give the layer"):
        fit_topics(without, model())
    counts = X.toarray()
    counts[:2], counts[:, :3] = 0, 0
    adata.X = counts
    found = fit_topics(adata, model())
    np.testing.assert_allclose(adata.obsm["X_topics"][:2], [found.weights_] * 2)
    assert not adata.varm["topics"][:3].any()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_containers_and_views_are_alike(X, container):
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
