import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skcooc import AspectModel, AsymmetricClustering, Dyads
from skcooc.inspection import (
    characteristic_features,
    describe,
    name_topics,
    representative_rows,
    top_features,
)
from tests.inspection.planted import hierarchy_model

COLUMNS = ["component", "name", "weight", "n_rows", "features", "probabilities", "rows"]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).poisson(2.0, (20, 7))


@pytest.fixture(scope="module")
def model(X):
    return AspectModel(3, beta=0.9, random_state=0, tol=1e-4).fit(X)


def test_lines_against_the_definitions(model, X):
    table = describe(model, n_features=4, n_rows=2, order="probable")
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == COLUMNS
    assert table["component"].tolist() == [0, 1, 2]
    for k, line in table.iterrows():
        shares = [X[i].sum() / X.sum() * model.embedding_[i, k] for i in range(20)]
        assert line["weight"] == pytest.approx(sum(shares))
        assert line["n_rows"] == sum(p.argmax() == k for p in model.embedding_)
        assert line["features"] == top_features(model, n_features=4)[k]
        by_name = dict(
            zip(top_features(model, n_features=7)[k], sorted(-model.components_[k]), strict=True)
        )
        assert line["probabilities"] == [-by_name[name] for name in line["features"]]
        assert line["rows"] == representative_rows(model, n_rows=2)[k]
    assert table["weight"].sum() == pytest.approx(1)


def test_the_weight_is_not_the_prior(X):
    model = AsymmetricClustering(3, beta=1.0, random_state=0).fit(X)
    np.testing.assert_allclose(model.weights_, 1 / 3)
    weights = describe(model)["weight"]
    np.testing.assert_allclose(weights, X.sum(axis=1) @ model.embedding_ / X.sum())
    assert not np.allclose(weights, model.weights_)
    model = hierarchy_model(4)
    table = describe(model)
    assert len(table) == model.tree_.n_nodes
    np.testing.assert_allclose(table["weight"], model.node_weights_)


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_the_library_of_the_table(model, backend, kind):
    table = describe(model, backend=backend)
    assert isinstance(table, kind)
    lines = table.to_dict("records") if backend == "pandas" else None
    lines = lines or (table.to_dicts() if backend == "polars" else table.to_pylist())
    assert lines == describe(model).to_dict("records")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_line_for_each_feature(model, backend):
    table = describe(model, n_features=5, order="probable", backend=backend)
    long = table.explode(["features", "probabilities"])
    assert len(long) == 15
    assert list(long["features"]) == [
        name for names in top_features(model, n_features=5) for name in names
    ]
    expected = -np.sort(-model.components_, axis=1)[:, :5].ravel()
    np.testing.assert_allclose(np.array(long["probabilities"], dtype=float), expected)


def test_names_given_or_seen_in_fit(model, X):
    features, rows = list("abcdefg"), [f"title {i}" for i in range(20)]
    table = describe(model, features, rows, order="probable")
    assert {len(names) for names in table["features"]} == {7}
    assert set(table["features"][0]) == set(features)
    assert set(table.explode("rows")["rows"]) <= set(rows)
    model = AspectModel(2, beta=1, tol=1e-2, random_state=0)
    table = describe(model.fit(Dyads(X, column_names=list("abcdefg"))), order="probable")
    assert set(table["features"][0]) == set("abcdefg")


def test_float32_is_read_as_it_is(X):
    model = AspectModel(2, beta=1, tol=1e-2, random_state=0).fit(X.astype(np.float32))
    assert describe(model, n_features=1, order="probable")["probabilities"][0] == [
        float(model.components_[0].max())
    ]


def test_columns_are_characteristic_unless_probable_ones_are_asked_for(model):
    for order, features in (
        ("characteristic", characteristic_features(model, n_features=4)),
        ("probable", top_features(model, n_features=4)),
    ):
        table = describe(model, n_features=4, order=order)
        assert table["features"].tolist() == features
        assert [len(p) for p in table["probabilities"]] == [len(names) for names in features]
    assert describe(model, n_features=4)["features"].tolist() == characteristic_features(
        model, n_features=4
    )
    with pytest.raises(ValueError, match="'order' parameter of describe"):
        describe(model, order="best")


def test_a_single_component_has_its_probable_columns(X):
    model = AspectModel(1, beta=1).fit(X)
    assert describe(model, n_features=3)["features"].tolist() == top_features(model, n_features=3)


def test_where_no_rows_are_kept_weights_say_how_large_components_are(model):
    alone = copy.copy(model)
    alone.embedding_, alone.row_distribution_ = np.empty((0, 3)), np.empty(0)
    q, reference = model.components_, model.weights_ @ model.components_
    parts = q * np.log(q / ((q + reference) / 2))
    expected = [[f"x{j}" for j in np.argsort(-row) if row[j] > 0] for row in parts]
    assert characteristic_features(alone) == expected
    np.testing.assert_allclose(describe(alone)["weight"], model.weights_)
    assert name_topics(alone, n_features=2) == [" · ".join(names[:2]) for names in expected]
