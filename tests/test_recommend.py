"""What is recommended to rows: against a ranking of all columns, one row and column at a time."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import AspectModel, Dyads, RowBlocks, TriadicAspectModel, open_table, save_table
from skcooc.base import recommendations
from skcooc.heldout.scoring import ranked
from skcooc.tables import NameIndex
from tests.cases import CLASSES, META
from tests.contract import fitted
from tests.tables import planted, refused

RNG = np.random.default_rng(0)
X = sp.csr_array(RNG.poisson(0.7 + 2 * (np.arange(14)[:, None] % 3 == np.arange(6) % 3)) * 1.0)
USERS, ITEMS = np.array([f"user {i}" for i in range(14)]), np.array(list("fedcba"))
DYADS = Dyads(X, row_names=USERS, column_names=ITEMS)
ASPECTS = AspectModel(2, beta=0.9, max_iter=5, random_state=0)


def literal(P, n, left_out):
    """(column, P) of the n best of one row, columns that are left out apart."""
    best = [(-p, j) for j, p in enumerate(P) if not left_out[j]]
    best = [(j, -p) for p, j in sorted(best)[:n]]
    return best + [(-1, np.nan)] * (n - len(best))


def smoothed(model, mixtures, counts):
    P = mixtures @ model.components_
    P = (1 - model.smoothing_) * P + model.smoothing_ * model.unigram_
    if hasattr(model, "concentration_"):
        a, d = model.concentration_, model.discount_
        saved = np.minimum(counts, d).sum(axis=1) + a
        kept = np.maximum(counts - d, 0)
        P = (kept + saved[:, None] * P) / (counts.sum(axis=1) + a)[:, None]
    return P


def assert_is_literal(found, P, n, left_out):
    for items, scores, p, out in zip(*found, P, left_out, strict=True):
        columns, values = zip(*literal(p, n, out), strict=True)
        np.testing.assert_allclose(scores, values, rtol=1e-6)
        assert items.tolist() == list(columns)


def test_columns_that_are_never_recommended():
    model = clone(ASPECTS).fit(DYADS)
    P = smoothed(model, model.embedding_, X.toarray())
    left_out = np.zeros(X.shape, dtype=bool)
    left_out[:, [0, 4]] = True
    found = model.recommend(np.arange(14), 5, exclude_seen=False, exclude=["f", "b"])
    columns = np.array([[ITEMS.tolist().index(i) if i else -1 for i in row] for row in found.items])
    assert_is_literal((columns, found.scores), P, 5, left_out)
    one = model.recommend(X[:3], 2, exclude="e")
    assert "e" not in one.items
    refused("1 of the columns are not in the table fitted", model.recommend, 0, exclude=["g"])
    refused("out of bounds", model.recommend, 0, exclude=[6], error=IndexError)


def test_names_that_are_strings_of_numpy_are_like_others():
    frame = {"user": [*USERS, *USERS], "item": [*ITEMS[RNG.integers(6, size=14)], *["bag"] * 14]}
    assert {type(item) for item in frame["item"]} == {str, np.str_}
    dyads = Dyads.from_frame(frame, "user", "item")
    model = clone(ASPECTS).fit(dyads)
    assert {type(name) for name in dyads.column_names.tolist()} == {str}
    new = pd.DataFrame([[1] * len(dyads.column_names)], columns=dyads.column_names)
    assert model.recommend(new, 1, exclude_seen=False).items.shape == (1, 1)


def test_a_new_row_without_counts_gets_what_is_most_frequent():
    model = clone(ASPECTS).fit(X)
    with pytest.warns(UserWarning, match="that are most probable in all rows are recommended"):
        items = model.recommend(np.zeros((1, 6)), 6).items
    expected = model.weights_ @ model.components_ + 1e-9 * model.unigram_
    assert items[0].tolist() == np.argsort(-expected, kind="stable").tolist()


def test_positions_of_rows_mean_nothing_after_several_batches():
    X = planted(n_tokens=3000).X
    model = AspectModel(3, beta=0.9, max_iter=4, random_state=0).fit(X[:40])
    assert len(model.recommend([0, 1], 2).items) == 2
    model.partial_fit(X[40:])
    for call in (model.recommend, model.joint_distribution):
        refused("Positions of training rows would be those of the last batch", call, [0], 2)
    assert len(model.recommend(X[:3], 2).items) == 3


@pytest.mark.parametrize("estimator", [*CLASSES, *META], ids=repr)
def test_recommendations_are_a_ranking_of_all_columns(estimator, monkeypatch):
    monkeypatch.setattr(recommendations, "CHUNK_SIZE", 20)  # three rows at a time
    model, n, fresh = fitted(estimator, X), 4, X.toarray()[::-1][:7]
    rows, counts = np.array([3, 0, 13, 3, -1]), X.toarray()[[3, 0, 13, 3, 13]]
    known = smoothed(model, model.embedding_[rows], counts)
    new = smoothed(model, model.transform(fresh), fresh)
    for exclude_seen in (True, False):
        found = model.recommend(rows, n, exclude_seen=exclude_seen)
        assert_is_literal(found, known, n, (counts > 0) & exclude_seen)
        found = model.recommend(fresh, n, exclude_seen=exclude_seen)
        assert_is_literal(found, new, n, (fresh > 0) & exclude_seen)


def test_names_in_names_out():
    model = fitted(ASPECTS, DYADS)
    by_position, by_name = model.recommend([5, 2], 3), model.recommend(USERS[[5, 2]], 3)
    assert by_name.items.dtype == object
    assert by_name.items.tolist() == by_position.items.tolist()
    expected = fitted(ASPECTS, X).recommend([5, 2], 3)
    names = [[ITEMS[j] if j >= 0 else None for j in row] for row in expected.items]
    assert by_name.items.tolist() == names
    np.testing.assert_array_equal(by_name.scores, expected.scores)
    one = model.recommend("user 5", 3)
    assert one.items.shape == one.scores.shape == (3,)
    assert one.items.tolist() == names[0]
    assert model.recommend([], 3).items.shape == (0, 3)

    of_dyads, of_rows = model.recommend(DYADS[:20], 3), model.recommend(DYADS[:20].to_csr(), 3)
    assert of_dyads.items.shape == (14, 3)
    np.testing.assert_array_equal(of_dyads.items, of_rows.items)
    positions = fitted(ASPECTS, X).recommend([0, 13], 2, exclude_seen=False).items
    for dtype in (int, object):
        numbers = np.arange(14)[::-1].astype(dtype)
        numbered = Dyads(X, row_names=numbers, column_names=10 * np.arange(6))
        found = fitted(ASPECTS, numbered).recommend([13, 0], 2, exclude_seen=False).items
        assert found.tolist() == (10 * positions).tolist()
    framed = fitted(ASPECTS, pd.DataFrame(X.toarray(), columns=ITEMS))
    assert set(framed.recommend([0], 6, exclude_seen=False).items[0]) == set(ITEMS)
    for nameless in (fitted(ASPECTS, X), framed):
        refused(
            "rows of the table fitted have no names: give positions", nameless.recommend, "user 5"
        )
    twice = fitted(ASPECTS, pd.DataFrame(X.toarray(), index=["a", "b", *USERS[2:-1], "b"]))
    refused("2 rows are called 'b': give positions", twice.recommend, ["a", "b"])
    assert twice.recommend(["a"], 3).items.shape == (1, 3)


def test_names_are_looked_up_in_an_index_that_is_made_once_and_not_saved(monkeypatch):
    indices = []
    monkeypatch.setattr(
        NameIndex,
        "__init__",
        lambda self, names: indices.append(names) or vars(self).update(names=names),
    )
    model = clone(ASPECTS).fit(DYADS)
    saved = pickle.dumps(model)
    for _ in range(2):
        model.recommend("user 1", 2)
        model.joint_distribution(["user 3"], ["a"])
    assert len(indices) == 2
    assert pickle.dumps(model) == saved
    model.fit(Dyads(X, row_names=USERS[::-1], column_names=ITEMS))
    np.testing.assert_array_equal(
        model.recommend("user 1", 2, exclude_seen=False).scores,
        model.recommend(12, 2, exclude_seen=False).scores,
    )


def test_further_rows_without_names_leave_the_names_of_the_columns():
    frame = pd.DataFrame(X.toarray(), columns=ITEMS)
    for further in (frame, X.toarray()):
        model = clone(ASPECTS).partial_fit(frame)
        with warnings.catch_warnings(action="ignore"):  # scikit-learn says that X has no names
            model.partial_fit(further)
        assert set(model.recommend(X[:1].toarray(), 6, exclude_seen=False).items[0]) == {*ITEMS}


def test_equal_scores_come_in_the_order_of_the_columns_and_a_stored_zero_is_not_seen():
    values = np.array([[0.0, 2.0, 1.0, 2.0, 1.0, -np.inf, 1.0], 7 * [-np.inf]])
    best = ranked(values, 4)
    assert best.columns.tolist() == [[1, 3, 2, 4], 4 * [-1]]
    np.testing.assert_array_equal(best.values, [[2, 2, 1, 1], 4 * [np.nan]])
    unigram = AspectModel(1, beta=1.0).fit(3 * [[2, 1] + 40 * [0]])
    assert unigram.recommend([1], 5).items.tolist() == [[2, 3, 4, 5, 6]]
    values = RNG.integers(0, 9, (50, 60)).astype(float)
    values[values == 8] = -np.inf
    found = ranked(values, 30)
    order = np.argsort(-values, axis=1, kind="stable")[:, :30]
    expected = np.take_along_axis(values, order, axis=1)
    np.testing.assert_array_equal(found.columns, np.where(expected > -np.inf, order, -1))
    unstable = np.argpartition(-values, 29, axis=1)[:, :30]
    assert (unstable != order).any()  # the twin that takes any of those that are equal
    stored = X.copy()
    at = stored.indptr[2]
    stored.data[at] = 0
    without = stored.copy()
    without.eliminate_zeros()
    two = (fitted(ASPECTS, table).recommend([2], 6).items for table in (stored, without))
    np.testing.assert_array_equal(*two)
    assert stored.indices[at] in fitted(ASPECTS, stored).recommend([2], 6).items


def test_a_large_sparse_table_is_never_dense(monkeypatch):
    n_rows, n_columns = 1000, 2000
    table = sp.random_array((n_rows, n_columns), density=2e-3, format="csr", random_state=0)
    model = AspectModel(2, beta=1.0, max_iter=1, random_state=0).fit(table)

    def peak(cells):
        monkeypatch.setattr(recommendations, "CHUNK_SIZE", cells)
        tracemalloc.start()
        model.recommend(np.arange(n_rows), 5)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found / (8 * n_rows * n_columns)

    peak(2**15)  # compiled
    assert peak(2**15) < 0.2
    assert peak(n_rows * n_columns) > 1  # the twin that takes all rows at once


def test_what_was_not_fitted_in_memory(tmp_path):
    save_table(tmp_path / "table", [X])
    model = fitted(ASPECTS, open_table(tmp_path / "table"))
    refused("non-zero columns of training rows are not kept", model.recommend, [0])
    found = model.recommend([0, 9], 3, exclude_seen=False)
    P = smoothed(model, np.asarray(model.embedding_)[[0, 9]], None)
    assert_is_literal(found, P, 3, np.zeros((2, 6), bool))
    blocks = AspectModel(2, beta=0.9, random_state=0).fit(RowBlocks([X]))
    refused("training rows are not kept .* Give counts", blocks.recommend, [0])
    assert blocks.recommend(X[:2], 3).items.shape == (2, 3)


REFUSED = [
    ([14], {}, IndexError, "row index 14 is out of bounds for a table of 14 rows"),
    ([0.5], {}, IndexError, "must be of integer type. Got float64"),
    (14 * [True], {}, IndexError, "must be of integer type"),
    (np.zeros((1, 2, 6)), {}, ValueError, r"rows are of shape \(1, 2, 6\)"),
    (sp.coo_array(X.toarray()[0]), {}, ValueError, r"rows are of shape \(6,\)"),
    (["user 3", "zoe"], {}, ValueError, r"1 of the rows .*: \['zoe'\]. Its rows are called"),
    ([0], {"n": 0}, ValueError, "'n' parameter of .*recommend"),
    ([0], {"exclude_seen": "yes"}, ValueError, "'exclude_seen' parameter of .*recommend"),
    ([[1, 2]], {}, ValueError, "X has 2 features"),
    (sp.csr_array(-X[:2]), {}, ValueError, "Negative values"),
]


def test_invalid_rows_and_options_are_refused():
    model = fitted(ASPECTS, DYADS)
    for rows, options, error, match in REFUSED:
        refused(match, model.recommend, rows, error=error, **options)
    one = pd.Series(X.toarray()[0].astype(int), index=ITEMS)
    for counts in (one, one[::-1], np.minimum(one.to_numpy(), 1)):
        refused("looks like the counts of one row", model.recommend, counts, error=IndexError)
    assert model.recommend(pd.Series([0, 1, 1, 0, 2, 0]), 1).items.shape == (6, 1)
    assert fitted(ASPECTS, X[:, :2]).recommend([0, 1], 1).items.shape == (2, 1)


def test_columns_with_numbers_for_names_are_compared():
    numbers = np.array([205, 101, 309, 102, 77, 8])
    train = Dyads(X, row_names=USERS, column_names=numbers)
    frame = pd.DataFrame(X.toarray(), columns=numbers)
    expected = numbers[fitted(ASPECTS, X).recommend(X.toarray()[:3], 1).items]
    for model in (fitted(ASPECTS, train), fitted(ASPECTS, frame)):
        np.testing.assert_array_equal(model.column_names_in_, numbers)
        assert not hasattr(model, "feature_names_in_")  # scikit-learn keeps strings alone
        for same in (frame[:3], frame[:3].to_numpy(), pd.DataFrame(frame[:3].to_numpy())):
            np.testing.assert_array_equal(model.recommend(same, 1).items, expected)
        for other in (frame[numbers[::-1]], frame.rename(columns={8: 9})):
            for method in (model.recommend, model.transform, model.score):
                refused("X has other column names", method, other)
    in_blocks = fitted(ASPECTS, RowBlocks([frame[:9], frame[9:]]))
    np.testing.assert_array_equal(in_blocks.column_names_in_, numbers)
    assert set(in_blocks.recommend(frame, 2).items.ravel()) <= {*numbers.tolist(), None}
    refused("X has other column names", in_blocks.transform, frame[numbers[::-1]])
    mixed = RowBlocks([frame[:9], frame[9:][numbers[::-1]]])
    refused("one has other names, or has them in another order", ASPECTS.fit, mixed)
    default = fitted(ASPECTS, pd.DataFrame(X.toarray()))
    assert not hasattr(default, "column_names_in_")
    default.recommend(pd.DataFrame(X.toarray()), 2)
    with pytest.raises(AttributeError, match="no recommend"):
        TriadicAspectModel(2).recommend  # noqa: B018


@pytest.mark.parametrize(
    "names",
    [pd.date_range("2024-01-26", periods=6), pd.period_range("2024-01", periods=6, freq="M")],
)
def test_columns_called_by_dates_are_recommended_by_them_and_compared(names):
    frame = pd.DataFrame(X.toarray(), columns=names)
    model = clone(ASPECTS).fit(frame)
    found = model.recommend([0], 2, exclude_seen=False).items[0].tolist()
    by_position = clone(ASPECTS).fit(X).recommend([0], 2, exclude_seen=False).items[0]
    assert found == list(names[by_position])
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame.iloc[:, ::-1])
    of_rows = Dyads(X, row_names=pd.date_range("2024-01-26", periods=14))
    model = clone(ASPECTS).fit(of_rows)
    day = pd.Timestamp("2024-01-28")
    assert model.recommend([day], 1).items.tolist() == model.recommend([2], 1).items.tolist()
