"""Columns of topics stay, however frequent, and common columns go."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, Dyads, GuidedAspectModel, NamedCounts, RowBlocks, TopicalColumns
from skcooc.columns import topical
from skcooc.inspection import describe
from skcooc.tables import with_names
from tests.tables import refused

N_COMMON, N_TOPICS, N_OWN = 40, 4, 60
TOPIC_OF_ROWS = np.arange(600) % 10  # topic 0 has 70 % of the rows
TOPIC_OF_ROWS[TOPIC_OF_ROWS >= N_TOPICS] = 0
WORDS = np.array(
    [f"common{j:02}" for j in range(N_COMMON)]
    + [f"topic{k}_{j:02}" for k in range(N_TOPICS) for j in range(N_OWN)],
    dtype=object,
)


def table(seed=0):
    """Rows of a topic each; half of their tokens are common, and words of topic 0 are frequent."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, N_OWN + 1)
    distributions = np.zeros((N_TOPICS, len(WORDS)))
    distributions[:, :N_COMMON] = 0.5 * zipf[:N_COMMON] / zipf[:N_COMMON].sum()
    for k, distribution in enumerate(distributions):
        distribution[N_COMMON + k * N_OWN :][:N_OWN] = 0.5 * zipf / zipf.sum()
    mixed = 0.9 * np.eye(N_TOPICS) + 0.1 / N_TOPICS
    rows = [rng.multinomial(40, mixed[k] @ distributions) for k in TOPIC_OF_ROWS]
    return sp.csr_array(np.array(rows))


X = table()
NAMED = with_names(X, WORDS, [f"row{i}" for i in range(len(TOPIC_OF_ROWS))])
FITTED = TopicalColumns(random_state=0).fit(NAMED)
IS_COMMON = np.char.startswith(WORDS.astype(str), "common")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_common_columns_go_and_frequent_columns_of_topics_stay(seed):
    selector = TopicalColumns(random_state=seed).fit(table(seed))
    frequent = selector.row_shares_ > 0.1
    assert (frequent & ~IS_COMMON).sum() >= 8
    assert selector.get_support()[~IS_COMMON].all()
    assert not selector.get_support()[frequent & IS_COMMON].any()
    assert selector.row_shares_[~IS_COMMON].max() > np.median(selector.row_shares_[frequent])


def test_dropped_columns_begin_with_those_that_tell_most():
    information = FITTED.information_[FITTED.dropped_]
    assert len(information) > 20
    assert (np.diff(information) <= 0).all()
    assert information.max() < FITTED.min_information
    n_rows = (X > 0).sum(axis=0)
    np.testing.assert_allclose(FITTED.row_shares_, n_rows / len(TOPIC_OF_ROWS))
    assert sorted(FITTED.dropped_) == np.flatnonzero(~FITTED.get_support()).tolist()
    again = clone(FITTED).fit(X)
    np.testing.assert_array_equal(again.information_, FITTED.information_)
    fewer = clone(FITTED).set_params(min_row_share=0.3).fit(X)
    assert (FITTED.row_shares_[fewer.dropped_] >= 0.3).all()
    assert 0 < len(fewer.dropped_) < len(FITTED.dropped_)
    assert not len(clone(FITTED).set_params(min_information=0).fit(X).dropped_)
    one = clone(FITTED).set_params(n_components=6).fit(X)
    assert len(set(one.dropped_) ^ set(FITTED.dropped_)) <= 3


def test_names_stay():
    words = FITTED.get_feature_names_out()
    assert words.tolist() == WORDS[FITTED.get_support()].tolist()
    frame = pd.DataFrame(X.toarray(), columns=WORDS, index=NAMED.row_names)
    for data in (NAMED, frame, pl.DataFrame(X.toarray(), schema=WORDS.tolist())):
        selected = clone(FITTED).fit(data).transform(data)
        assert selected.column_names.tolist() == words.tolist()
        np.testing.assert_array_equal(selected.toarray(), X.toarray()[:, FITTED.get_support()])
        rows = getattr(selected, "row_names", None)
        assert rows is None if isinstance(data, pl.DataFrame) else rows[7] == "row7"
    refused("X has other column names", FITTED.transform, NAMED[:, ::-1])
    numbers = np.arange(len(WORDS))[::-1]
    numbered = TopicalColumns(n_components=4, random_state=0).fit(with_names(X, numbers))
    assert numbered.column_names_in_.tolist() == numbers.tolist()
    refused("X has other column names", numbered.transform, with_names(X, np.roll(numbers, 1)))
    assert not hasattr(numbered.fit(X.toarray().tolist()), "column_names_in_")
    assert not hasattr(numbered.transform(X), "column_names")


def test_in_pipelines_and_searches():
    texts = [" ".join(np.repeat(WORDS, row)) for row in X.toarray()]
    seeds = {"sport": ["topic0_00"], "art": ["topic1_00"]}
    model = GuidedAspectModel(4, seed_features=seeds, beta=0.9, max_iter=30, random_state=0)
    pipeline = make_pipeline(NamedCounts(CountVectorizer()), TopicalColumns(random_state=0), model)
    pipeline.set_output(transform="pandas")
    grid = {"topicalcolumns__min_information": [0, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(texts)
    words = search.best_estimator_[:-1].get_feature_names_out()
    assert search.best_estimator_[-1].feature_names_in_.tolist() == words.tolist()
    pipeline.fit(texts)
    table = describe(pipeline, n_features=5)
    assert not any(word.startswith("common") for words in table["features"] for word in words)
    assert pipeline.transform(texts[:2]).shape == (2, 4)
    plain = make_pipeline(CountVectorizer(), TopicalColumns(random_state=0), AspectModel(4))
    names = plain[:2].fit(texts).get_feature_names_out()
    assert names.tolist() == pipeline[-1].feature_names_in_.tolist()


def test_nothing_is_fitted_where_there_is_nothing_to_drop(monkeypatch):
    def fit(*_):
        raise AssertionError("a model is fitted")

    monkeypatch.setattr(topical.AspectModel, "fit", fit)
    rare = sp.csr_array(sp.block_diag([np.ones((5, 5))] * 60))
    few_columns = X[:, :8]
    for data in (rare, few_columns, X[:9], X[:20], X.astype(float) * 0, [[3, 1], [0, 2]]):
        selector = TopicalColumns().fit(data)
        assert not len(selector.dropped_)
        assert np.isnan(selector.information_).all()
        assert selector.transform(data).shape == np.shape(data)
    assert not len(TopicalColumns(n_components=1).fit(X).dropped_)


@pytest.mark.parametrize("seed", range(4))
def test_no_column_is_dropped_where_topics_do_not_predict(seed):
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, 501)
    independent = rng.multinomial(60, zipf / zipf.sum(), size=600)
    assert ((independent > 0).mean(axis=0) > 0.1).sum() > 60
    assert not len(TopicalColumns(random_state=seed).fit(independent).dropped_)


def test_some_columns_are_left_and_a_large_loss_is_said():
    rng = np.random.default_rng(0)
    common = np.full((300, 30), 2)
    assert not len(TopicalColumns(random_state=0).fit(common).dropped_)
    topics = np.kron(np.eye(4), np.ones(10))[np.arange(300) % 4]
    topical = rng.random((300, 40)) < 0.3 * topics
    with pytest.warns(UserWarning, match=r"30 columns with 9\d % of the tokens .* min_information"):
        selector = TopicalColumns(random_state=0).fit(np.hstack([common, topical]))
    assert selector.dropped_.max() < 30


def test_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(topical, "MAX_ROWS", 300)
    shapes = []
    fit = AspectModel.fit

    def watched(self, X):
        shapes.append(X.shape)
        return fit(self, X)

    monkeypatch.setattr(topical.AspectModel, "fit", watched)
    selector = clone(FITTED).fit(X)
    assert {rows for rows, _ in shapes} == {300}
    np.testing.assert_array_equal(selector.row_shares_, FITTED.row_shares_)
    assert len(set(selector.dropped_) ^ set(FITTED.dropped_)) <= 6


def test_what_cannot_be_selected_is_refused():
    refused("give the table", TopicalColumns().fit, Dyads(X), error=TypeError)
    refused("table in blocks", TopicalColumns().fit, RowBlocks([X]), error=TypeError)
    refused("Negative values", TopicalColumns().fit, -X)
    for sizes in (0, [4, 0], [], [2.5], "many", [[4, 8]]):
        refused("n_components", TopicalColumns(n_components=sizes).fit, X)
    refused("'min_information' parameter", TopicalColumns(min_information=1.5).fit, X)
    refused("Did you mean", TopicalColumns, seed=0, error=TypeError)
    refused("not fitted", TopicalColumns().transform, X)
