"""The type in which counts are fitted: single for integers that it holds, else double."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AveragedModels,
    Dyads,
    InterpolatedModels,
    ProductSpaceMixture,
    RowBlocks,
    RowMemory,
    Triads,
    open_table,
    save_table,
)
from skcooc.model_selection import split_counts
from tests.tables import planted

X = planted(n_tokens=4000).X
MODEL = AspectModel(3, beta=0.9, max_iter=20, random_state=0)
OF_INTEGERS = {
    "sparse": X,
    "bytes": sp.csc_array(X.astype(np.uint8)),
    "bool": X.toarray() > 0,
    "frame": pd.DataFrame(X.toarray()),
    "nullable": pd.DataFrame(X.toarray()).convert_dtypes(),
    "polars": pl.DataFrame(X.toarray()),
    "list": X.toarray().tolist(),
    "largest": X.sign() * 2**24,
    "tokens": Dyads(X),
    "blocks": RowBlocks([X[:40], X[40:]]),
}
OF_OTHERS = {
    "double": X.astype(float),
    "list": X.toarray().astype(float).tolist(),
    "too large": X.sign() * (2**24 + 1),
    "repeated": sp.csr_array(([2**24, 1], [0, 0], [0, 2]), shape=(1, 2)),
    "tokens": Dyads(X.astype(float)),
    "blocks": RowBlocks([X[:40], X[40:] * 2**24]),
}


@pytest.mark.parametrize("dtype", [np.uint8, bool])
def test_repeated_cells_of_small_integers_are_added_without_overflow(dtype):
    rows, columns = np.repeat([0, 1], 300), np.zeros(600, dtype=int)
    tokens = sp.coo_array((np.ones(600, dtype=dtype), (rows, columns)), shape=(2, 2))
    for X in (tokens, sp.csr_array((tokens.data, columns, [0, 300, 600]), shape=(2, 2))):
        assert Dyads(X).to_csr().toarray().tolist() == [[300, 0], [300, 0]]
        assert sum(part.sum() for part in split_counts(X, random_state=0)) == 600


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("X", "dtype"),
    [(X, np.float32) for X in OF_INTEGERS.values()] + [(X, np.float64) for X in OF_OTHERS.values()],
    ids=[*OF_INTEGERS, *(f"other {form}" for form in OF_OTHERS)],
)
def test_integers_that_float32_holds_are_fitted_in_it(X, dtype):
    model = clone(MODEL).fit(X)
    assert model.components_.dtype == model.embedding_.dtype == dtype


def test_integers_are_fitted_as_float32_and_predict_as_float64():
    whole, single, double = (clone(MODEL).fit(X.astype(t)) for t in (int, "f4", float))
    np.testing.assert_array_equal(whole.components_, single.components_)
    assert whole.score(Dyads(X)) == pytest.approx(double.score(Dyads(X)), rel=1e-5)
    Z = whole.transform(X)
    np.testing.assert_allclose((Z @ whole.components_).sum(axis=1), 1, rtol=1e-6)


def test_halves_of_integers_are_integers():
    assert {half.dtype for half in split_counts(X, random_state=0)} == {np.dtype(np.int64)}
    assert {half.dtype for half in split_counts(X * 0.5, random_state=0)} == {np.dtype(float)}


def test_weighted_tokens_of_integers_lose_none():
    """Float32 would sum 2^24 and 1 to 2^24, and round 2^24 + 1 to it."""
    at = np.zeros(2, dtype=int)
    for tokens, counts in (
        (Dyads.from_pairs(["a", "a"], ["b", "b"]), Dyads.to_csr),
        (Triads(at, at, at), lambda triads: triads.to_counts().table),
    ):
        for factors, dtype in (
            ([2.0**24, 1.0], np.float64),
            ([2**24 + 1, 0], np.float64),
            ([2.0**24 - 1, 1.0], np.float32),
            ([0.5, 0.25], np.float32),
        ):
            table = counts(tokens.reweighted(factors))
            assert table.dtype == dtype
            assert table.sum(dtype=np.float64) == sum(factors)


def test_integers_on_disk_and_of_three_indices(tmp_path):
    save_table(tmp_path / "t", [X[:40], X[40:]])
    assert open_table(tmp_path / "t").dtype == np.float32
    cells = X.tocoo()
    triads = Triads(*cells.coords, cells.coords[0] % 3, cells.data)
    assert triads.to_counts().dtype == np.float32


@pytest.mark.filterwarnings("ignore")
def test_product_spaces_are_fitted_in_double_precision():
    model = ProductSpaceMixture(2, 2, beta=0.9, max_iter=5, random_state=0)
    types = [clone(model).fit(table).components_.dtype for table in (X, Dyads(X), X.astype("f4"))]
    assert types == [np.float64, np.float64, np.float32]
    averages = AveragedModels(model, 2, random_state=0)
    for meta in (averages, RowMemory(model), InterpolatedModels([("a", model), ("b", MODEL)])):
        assert meta.fit(X).components_.dtype == meta.transform(X).dtype == np.float64
