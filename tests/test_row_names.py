"""Names of rows: any index of a frame but one that numbers all rows, and how rows are asked for."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skcooc import AspectModel, AveragedModels, Dyads, RowMemory, SymmetricClustering, inspection
from skcooc.model_selection import ComponentSearchCV, split_counts
from tests.tables import refused

RNG = np.random.default_rng(0)
N_ROWS = 24
COUNTS = RNG.poisson(0.5 + 3 * (np.arange(N_ROWS)[:, None] % 3 == np.arange(12) % 3))
ITEMS = np.arange(100, 112)
ALL = {"n": 2, "exclude_seen": False}
ASPECTS = AspectModel(3, beta=0.9, random_state=0)
INDICES = {
    "identifiers": np.arange(1, N_ROWS + 1),
    "shuffled positions": RNG.permutation(N_ROWS),
    "part of a range": pd.RangeIndex(5, N_ROWS + 5),
    "every other": pd.RangeIndex(0, 2 * N_ROWS, 2),
    "floats": np.arange(N_ROWS) + 0.5,
    "dates": pd.date_range("2024-01-01", periods=N_ROWS),
    "dates of a time zone": pd.date_range("2024-01-01", periods=N_ROWS, tz="UTC"),
    "differences of times": pd.timedelta_range(0, periods=N_ROWS, freq="D"),
    "months": pd.period_range("2024-01", periods=N_ROWS, freq="M"),
    "intervals": pd.interval_range(0, N_ROWS),
    "several levels": pd.MultiIndex.from_product([["a", "b"], range(N_ROWS // 2)]),
    "texts and numbers": pd.Index([*range(12), *"abcdefghijkl"], dtype=object),
    "texts": [f"user {i}" for i in range(N_ROWS)],
    "texts of numbers": list(map(str, range(1, N_ROWS + 1))),
    "categories": pd.CategoricalIndex([f"user {i}" for i in range(N_ROWS)]),
}


def frame_of(index):
    return pd.DataFrame(COUNTS, columns=ITEMS, index=index)


@pytest.mark.parametrize("kind", INDICES)
def test_rows_are_asked_for_by_the_index(kind):
    frame = frame_of(INDICES[kind])
    nameless = ASPECTS.fit(COUNTS)
    expected = ITEMS[nameless.recommend(np.arange(N_ROWS), **ALL).items]
    joint = nameless.joint_distribution([7, 3], [0, 5])
    rows = inspection.representative_rows(nameless, n_rows=2)
    for table in (frame, Dyads(frame)):
        model = ASPECTS.fit(table)
        assert len(model.row_names_in_) == N_ROWS
        assert (model.recommend(frame.index, **ALL).items == expected).all()
        assert (model.recommend(model.row_names_in_, **ALL).items == expected).all()
        assert (model.recommend(list(frame.index[[7, 3]]), **ALL).items == expected[[7, 3]]).all()
        assert (model.recommend(frame.index[7], **ALL).items == expected[7]).all()
        by_name = model.joint_distribution(frame.index[[7, 3]], ITEMS[[0, 5]])
        np.testing.assert_array_equal(by_name, joint)
        named = [[model.row_names_in_.tolist()[i] for i in best] for best in rows]
        assert inspection.representative_rows(model, n_rows=2) == named
        assert inspection.describe(model, n_rows=2)["rows"].tolist() == named


def test_an_index_that_numbers_all_rows_is_no_name():
    for frame in (frame_of(None), frame_of(pd.RangeIndex(N_ROWS)), frame_of(None)[:10]):
        model = ASPECTS.fit(frame)
        assert not hasattr(model, "row_names_in_")
        assert Dyads(frame).row_names is None
        assert model.recommend([-1], **ALL).items.shape == (1, 2)


def test_a_position_is_never_taken_for_a_name():
    numbered = ASPECTS.fit(frame_of(INDICES["identifiers"]))
    for row in (0, -1, N_ROWS + 1):
        refused("1 of the rows are not in the table", numbered.recommend, [row])
        refused("1 of the rows are not in the table", numbered.joint_distribution, row, 100)
    refused(r"called \[1, 2\] and so on, which are of type int", numbered.recommend, ["7"])
    refused("1 of the columns are not in the table", numbered.joint_distribution, 1, 0)
    mask = np.ones(N_ROWS, dtype=bool)
    refused("Got a mask of rows", numbered.recommend, mask, error=IndexError)
    texts = ASPECTS.fit(frame_of(INDICES["texts of numbers"]))
    refused("7 could be a position or a name", texts.recommend, [7])
    refused("7 could be a position or a name", texts.joint_distribution, 7, 100)
    mixed = ASPECTS.fit(frame_of(INDICES["texts and numbers"]))
    refused("1 of the rows are not in the table", mixed.recommend, [12])
    repeated = ASPECTS.fit(frame_of([1, *range(1, N_ROWS)]))
    refused("2 rows are called 1: fit with distinct names", repeated.recommend, [1])
    # No name is a number, so that a number is a position.
    for kind in ("texts", "dates", "months", "several levels"):
        model = ASPECTS.fit(frame_of(INDICES[kind]))
        by_name = model.recommend([model.row_names_in_[7]], **ALL)
        np.testing.assert_array_equal(model.recommend([7], **ALL).items, by_name.items)


@pytest.mark.parametrize(
    "estimator",
    [
        AveragedModels(ASPECTS, n_estimators=2, random_state=0),
        RowMemory(ASPECTS),
        SymmetricClustering(2, 2, random_state=0),
    ],
    ids=repr,
)
def test_other_estimators_have_the_names(estimator):
    frame = frame_of(INDICES["identifiers"])
    expected = estimator.fit(COUNTS).recommend([0], **ALL).items
    model = estimator.fit(frame)
    np.testing.assert_array_equal(model.row_names_in_, frame.index)
    np.testing.assert_array_equal(model.recommend([1], **ALL).items, ITEMS[expected])
    assert set(inspection.describe(model)["rows"].explode()) <= set(frame.index)


def test_tokens_of_a_frame_are_placed_by_its_names():
    ratings = pd.DataFrame({"user": RNG.integers(1, 20, 300), "item": RNG.integers(50, 60, 300)})
    table = pd.crosstab(ratings["user"], ratings["item"])
    train = Dyads(table)
    later = Dyads.from_pairs([3, 7], [55, 51], like=train)
    assert later.to_csr().toarray()[[table.index.get_loc(3), table.index.get_loc(7)]].sum() == 2
    pairs = Dyads.from_frame(ratings, "user", "item")
    for attribute in ("row_names", "column_names"):
        np.testing.assert_array_equal(getattr(pairs, attribute), getattr(train, attribute))
    assert (pairs.to_csr() != train.to_csr()).nnz == 0
    model = ASPECTS.fit(table)
    assert model.score(pairs) == pytest.approx(model.score(train))
    shuffled = Dyads(table[::-1])
    refused("tokens of a table of shape .* or with other names", model.score, shuffled)


@pytest.mark.parametrize("kind", ["identifiers", "texts", "months", "several levels"])
def test_parts_of_a_frame_keep_its_names(kind):
    frame = frame_of(INDICES[kind])
    train, test = split_counts(frame, random_state=0)
    expected, _ = split_counts(COUNTS, random_state=0)
    assert (train != expected).nnz == 0
    model = clone(ASPECTS).fit(train)
    for part in (train, test, Dyads(train), Dyads(test), model):
        names = getattr(part, "row_names_in_" if part is model else "row_names")
        assert names.tolist() == ASPECTS.fit(frame).row_names_in_.tolist()
    nameless = clone(ASPECTS).fit(expected)
    items = model.recommend([frame.index[5]], **ALL).items
    np.testing.assert_array_equal(items, ITEMS[nameless.recommend([5], **ALL).items])
    assert model.perplexity(Dyads(test)) == pytest.approx(
        nameless.perplexity(Dyads(test.toarray()))
    )
    refused("with other names", model.score, Dyads(frame[::-1]))
    assert train[[3, 1]].row_names.tolist() == train.row_names[[3, 1]].tolist()
    assert train[2:, ::2].column_names.tolist() == ITEMS[::2].tolist()
    search = ComponentSearchCV(ASPECTS, [2, 3], cv=2).fit(frame)
    assert search.best_estimator_.row_names_in_.tolist() == train.row_names.tolist()


@pytest.mark.parametrize("kind", ["identifiers", "texts", "several levels"])
def test_frames_of_mixtures_have_the_names_of_rows(kind):
    frame = frame_of(INDICES[kind])
    train, _ = split_counts(frame, random_state=0)
    model = clone(ASPECTS).set_output(transform="pandas")
    for X in (frame, train, Dyads(frame), Dyads(frame)[::2]):
        mixtures = model.fit_transform(X)
        assert mixtures.index.tolist() == frame.index.tolist()
        assert model.transform(X).index.tolist() == frame.index.tolist()
    assert model.transform(COUNTS).index.tolist() == list(range(N_ROWS))
