"""Mixtures of rows in the place of a fitted model."""

import numpy as np
import pandas as pd
import pytest

from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import (
    Mixtures,
    compare_shares,
    describe,
    name_topics,
    representative_rows,
    topic_shares,
)


@pytest.fixture(scope="module")
def X():
    return make_cooccurrences(60, 40, n_components=3, random_state=0).X


@pytest.fixture(scope="module")
def fitted(X):
    return AspectModel(3, beta=0.9, tol=0.01, random_state=0).fit(X)


BY = {"group": ["a", "b", "b"] * 20}


@pytest.mark.parametrize("of", [topic_shares, compare_shares])
def test_shares_of_the_rows_fitted_are_those_of_the_model(fitted, X, of):
    mixtures = Mixtures(fitted.embedding_, X.sum(axis=1), names=name_topics(fitted))
    options = {"n_resamples": 20, "random_state": 0}
    pd.testing.assert_frame_equal(of(mixtures, BY, **options), of(fitted, BY, **options))


def test_rows_count_alike_where_nothing_is_said(fitted):
    table = topic_shares(Mixtures(fitted.embedding_), BY, n_resamples=1)
    of_b = table[table["group"] == "b"]
    expected = fitted.embedding_[np.array(BY["group"]) == "b"].mean(axis=0)
    np.testing.assert_allclose(of_b["share"], expected, rtol=1e-6)
    assert of_b["topic"].tolist() == ["topic 0", "topic 1", "topic 2"]


def test_pictures_and_tables(fitted, X):
    plotting = pytest.importorskip("skcooc.plotting", reason="needs matplotlib")
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib")
    mixtures = Mixtures(pd.DataFrame(fitted.embedding_), X.sum(axis=1), names={1: "one"})
    display = plotting.StructureDisplay.from_estimator(mixtures, BY)
    expected = plotting.StructureDisplay.from_estimator(fitted, BY)
    np.testing.assert_array_equal(display.bars.mixtures, expected.bars.mixtures)
    assert display.names == ["topic 0", "one", "topic 2"]
    shares = plotting.SharesDisplay.from_estimator(mixtures, BY, topics=[1], n_resamples=5)
    assert shares.names == ["one"]
    pyplot.close("all")
    assert describe(mixtures)["name"].tolist() == display.names
    rows = representative_rows(mixtures, n_rows=2)
    assert rows == representative_rows(fitted, n_rows=2)


@pytest.mark.parametrize(
    ("arguments", "names", "message"),
    [
        (([[0.5, 0.6]],), None, "rows that sum to one"),
        (([[1.5, -0.5]],), None, "Negative values"),
        (([[0.5, 0.5]],), ["one"], "names has 1 entries, but there are 2 topics"),
        (([[0.5, 0.5]], [1, 2]), None, r"shape \(2,\), but there are 1 mixtures"),
        (([[0.5, 0.5]], [0]), None, "not all zero"),
        (([[0.5, 0.5]], [np.nan]), None, "should be finite"),
    ],
)
def test_what_are_no_mixtures(arguments, names, message):
    with pytest.raises(ValueError, match=message):
        Mixtures(*arguments, names=names)
