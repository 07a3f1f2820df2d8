import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import resample

from skcooc import AspectModel, Dyads, TriadicAspectModel, Triads, metrics
from skcooc.inspection import describe
from skcooc.tables.doubts import transformed
from skcooc.tables.dyads import same_table
from tests.tables import random_table, refused

COUNTS = random_table().toarray()


def test_every_observation_is_listed():
    for container in (np.asarray, sp.csr_matrix, sp.coo_array, pd.DataFrame):
        dyads = Dyads(container(COUNTS.astype(int)))
        assert dyads.shape == (COUNTS.sum(), 2)
        assert len(dyads) == COUNTS.sum()
        np.testing.assert_array_equal(dyads.to_csr().toarray(), COUNTS)
        np.testing.assert_array_equal(np.bincount(dyads.rows, minlength=12), COUNTS.sum(axis=1))
    assert len(Dyads(np.empty((0, 3)))) == 0


def test_indexing_keeps_the_table_and_scikit_learn_splits_observations():
    dyads = Dyads(COUNTS, row_names=np.arange(12))
    for key in (np.array([0, 5, 5]), slice(2, 9), np.arange(len(dyads)) < 7, [1, 2]):
        part = dyads[key]
        assert same_table(part.schema, dyads.schema)
        np.testing.assert_array_equal(part.rows, dyads.rows[key])
        np.testing.assert_array_equal(np.asarray(part), np.asarray(dyads)[key])
    assert dyads[3] == (dyads.rows[3], dyads.columns[3])
    assert len(dyads[[]]) == 0
    with pytest.raises(IndexError, match="see rows and columns"):
        dyads[:, 0]
    named = Dyads(COUNTS, column_names=list("abcdefghi"))  # compared by shape and names
    assert same_table(named.schema, dyads.schema)
    assert not same_table(named.schema, Dyads(COUNTS[:5]).schema)
    assert not same_table(named.schema, Dyads(COUNTS, column_names=list("abcdefghx")).schema)
    dyads = Dyads(COUNTS)
    total = sum(dyads[test].to_csr() for _, test in KFold(3).split(dyads))
    np.testing.assert_array_equal(total.toarray(), COUNTS)
    train, test = train_test_split(dyads, random_state=0)
    np.testing.assert_array_equal((train.to_csr() + test.to_csr()).toarray(), COUNTS)
    assert len(resample(dyads, n_samples=9, random_state=0)) == 9


def test_pairs_frames_weights_and_dtypes():
    pairs = {"adjective": ["old", "new", "old"], "noun": ["man", "car", "man"], "n": [2, 1, 3]}
    expected = Dyads.from_pairs(pairs["adjective"], pairs["noun"], pairs["n"])
    assert list(expected.row_names) == ["new", "old"]
    np.testing.assert_array_equal(expected.to_csr().toarray(), [[1, 0], [0, 5]])
    for frame in (pairs, pd.DataFrame(pairs), pl.DataFrame(pairs)):
        dyads = Dyads.from_frame(frame, "adjective", "noun", count="n")
        assert same_table(dyads.schema, expected.schema)
        np.testing.assert_array_equal(np.asarray(dyads), np.asarray(expected))
    assert len(Dyads.from_frame(pairs, "adjective", "noun", count=None)) == 3
    with pytest.warns(UserWarning, match="Column 'n' is used as counts"):
        assert len(Dyads.from_frame(pairs, "adjective", "noun")) == 6
    dyads = Dyads.from_pairs(["b", "a", "b"], ["x", "y", "w"], [1, 2, 1])
    assert [dyads.row_names[i] for i in dyads.rows] == ["b", "a", "a", "b"]
    assert [dyads.column_names[j] for j in dyads.columns] == ["x", "y", "y", "w"]
    refused("1 of 1 counts are negative", Dyads.from_pairs, ["a"], ["b"], [-1])
    table = np.array([[2.5, 0.0], [0.25, 3.0]])
    dyads = Dyads(table)
    assert len(dyads) == 7
    np.testing.assert_allclose(dyads.to_csr().toarray(), table)
    half = dyads.reweighted(np.full(7, 0.5))
    np.testing.assert_allclose(half.to_csr().toarray(), table / 2)
    assert Dyads(COUNTS.astype(np.float32))[:5].to_csr().dtype == np.float32
    assert Dyads(COUNTS.astype(float))[:5].to_csr().dtype == np.float64
    assert Dyads(COUNTS.astype(np.int64))[:5].to_csr().dtype == np.float32


def test_invalid_input_is_refused():
    for make, message in [
        (lambda: Dyads([[-1, 2]]), "Negative values"),
        (lambda: Dyads([[np.nan, 2]]), "NaN"),
        (lambda: Dyads([[1e12]]), "Use the count matrix itself"),
        (lambda: Dyads([[1, 2]], column_names=["a"]), r"column_names has shape \(1,\)"),
        (lambda: Dyads.from_pairs(["a"], ["b", "c"]), "inconsistent numbers of samples"),
        (lambda: Dyads.from_pairs("a", ["b"]), r"rows has shape \(\): give a list"),
        (lambda: Dyads.from_pairs([["a", 1]], ["b"]), r"rows has shape \(1, 2\)"),
    ]:
        refused(message, make)
    assert repr(Dyads([[2, 1]])) == "<Dyads: 3 tokens of a table of shape (1, 2)>"


def test_new_observations_are_placed_by_names_and_unknown_names_cause_a_warning():
    train = Dyads.from_pairs(iter(["ann", "bob", "bob"]), ["tea", "ale", "jam"])
    later = {"who": ["bob", "ann", "bob"], "what": ["tea", "ale", "tea"], "n": [1, 3, 2]}
    test = Dyads.from_frame(later, "who", "what", "n", like=train)
    assert same_table(test.schema, train.schema)
    with_own_names = Dyads.from_frame(later, "who", "what", "n")
    assert not same_table(test.schema, with_own_names.schema)
    assert test.to_csr().toarray().tolist() == [[3, 0, 0], [0, 0, 3]]
    train = Dyads.from_pairs(["ann", "bob"], ["tea", "ale"])
    who, what = ["ann", "zoe", "bob", "ann", "zoe"], ["tea", "tea", "jam", "ale", "jam"]
    told = r"3 of 5 pairs are dropped: the table has no rows \['zoe'\] and no columns \['jam'\]\."
    told += r" To predict for new rows, make a table of their counts: pandas\.crosstab"
    with pytest.warns(UserWarning, match=told):
        test = Dyads.from_pairs(who, what, [1, 5, 5, 2, 5], like=train)
    told = r"The table has none of the 1 pairs: no rows \['zoe'\]\. To predict"
    refused(told, Dyads.from_pairs, ["zoe"], ["tea"], like=train)
    assert test.to_csr().toarray().tolist() == [[2, 1], [0, 0]]
    unknown = {"r": 9 * ["ann"], "c": [f"c{j}" for j in range(9)]}
    told = r"no columns \['c0', 'c1', 'c2'\] and 6 others\.$"
    refused(told, Dyads.from_frame, unknown, "r", "c", like=train)
    refused("like has no names", Dyads.from_pairs, who, what, like=Dyads(np.eye(2)))
    lines = {"x": ["b", "a", "a"], "y": ["c", "d", "c"], "w": ["f", "e", "e"], "n": [2, 1, 4]}
    triads = Triads.from_frame(lines, "x", "y", "w", "n")
    told = r"1 of 2 triples are dropped: the table has no first \['z'\] and no third \['g'\]\. To "
    with pytest.warns(UserWarning, match=told):
        further = Triads.from_triples(["b", "z"], ["d", "c"], ["e", "g"], [3, 1], like=triads)
    assert same_table(further.schema, triads.schema)
    assert np.asarray(further).tolist() == 3 * [[1, 1, 0]]
    told = "The table has none of the 1 triples"
    refused(told, Triads.from_triples, ["z"], ["d"], ["e"], like=triads)
    alike = Triads.from_frame(lines, "x", "y", "w", "n", like=triads)
    assert (np.asarray(alike) == np.asarray(triads)).all()
    nameless = Triads([0], [0], [0])
    refused("like has no names", Triads.from_triples, ["b"], ["d"], ["e"], like=nameless)
    refused("inconsistent numbers", Triads.from_triples, ["b"], ["d"], ["e"], [1, 2], like=triads)
    with pytest.raises(TypeError, match="like should be the Triads fitted, got Dyads"):
        Triads.from_triples(["b"], ["d"], ["e"], like=train)
    with pytest.raises(TypeError, match=r"1 of 1 counts are not numbers, .* '1', str\."):
        Triads.from_triples(["b"], ["d"], ["e"], ["1"])
    alike = Dyads(np.eye(2), row_names=["ann", "ann"], column_names=["tea", "ale"])
    refused("several rows of the same name", Dyads.from_pairs, ["ann"], ["tea"], like=alike)
    for kind in (dict, pd.DataFrame):
        frame = kind({"user": ["ann"], "item": ["tea"]})
        with pytest.raises(ValueError, match=r"'usr' is not a column .* has 'user', 'item'"):
            Dyads.from_frame(frame, "usr", "item")
        refused("'times' is not a column", Dyads.from_frame, frame, "user", "item", "times")


def test_missing_names_are_counted_and_names_of_all_kinds_are_sorted():
    missing_ones = [("rows", None), ("columns", np.nan), ("rows", pd.NA), ("columns", pd.NaT)]
    for side, missing in missing_ones:
        sides = {"rows": ["a", "b", "c"], "columns": ["x", "y", "z"]}
        sides[side] = np.array(sides[side], dtype=object)
        sides[side][1] = missing
        message = rf"1 of 3 names of {side} are missing, the first at position 1"
        refused(message, Dyads.from_pairs, **sides)
    refused("1 of 2 names of rows are missing", Dyads.from_pairs, [1.0, np.nan], ["x", "y"])
    with pytest.raises(ValueError, match="1 of 2 names of columns are missing"):
        Dyads.from_pairs([1, 2], np.array(["2026-11-23", "NaT"], dtype="datetime64[ns]"))
    names = {"user": ["bob", "ann", "bob"], "item": ["tea", "tea", "ale"]}
    frames = [pd.DataFrame(names).astype(kind) for kind in ("object", "string", "category")]
    frames += [
        pl.DataFrame(names, schema=dict.fromkeys(names, kind))
        for kind in (pl.Categorical, pl.String)
    ]
    for frame in frames:
        train = Dyads.from_frame(frame, "user", "item")
        assert train.row_names.tolist() == ["ann", "bob"]
        assert train.column_names.tolist() == ["ale", "tea"]
        assert train.to_csr().toarray().tolist() == [[0, 1], [1, 1]]
        test = Dyads.from_frame(frame[:2], "user", "item", like=train)
        assert test.to_csr().toarray().tolist() == [[0, 1], [0, 1]]
    with pytest.raises(TypeError, match=r"Names of rows should be all strings .* \['int', 'str'\]"):
        Dyads.from_pairs(np.array(["a", 1], dtype=object), ["x", "y"])


def test_names_that_are_dates_are_the_same_in_all_units():
    days = pd.date_range("2024-01-30", periods=3)
    train = Dyads.from_pairs(days, ["tea", "ale", "tea"])
    for alike in (days.astype("datetime64[s]"), days.astype(object), days.to_numpy("M8[D]")):
        test = Dyads.from_pairs(alike, ["tea", "ale", "tea"], like=train)
        np.testing.assert_array_equal(test.to_csr().toarray(), train.to_csr().toarray())


def test_observations_in_new_cells():
    train = Dyads(np.array([[2, 0, 1], [0, 0, 1], [0, 1, 0]]))
    test = Dyads(np.array([[1, 3, 0], [0, 0, 2], [1, 0, 0]])).reweighted(np.arange(1, 8))
    new = test.new_to(train)
    assert new.to_csr().toarray().tolist() == [[0, 2 + 3 + 4, 0], [0, 0, 0], [7, 0, 0]]
    assert len(train.new_to(train)) == 0
    assert len(test.new_to(train[:0])) == len(test)
    refused(r"of shapes \(2, 2\) and .*like=others", test.new_to, Dyads(np.eye(2)))


FRAME = {
    "who": ["ann", "bob", "ann"],
    "what": ["tea", "tea", "rye"],
    "when": ["am", "pm", "am"],
    "n": [2, 1, 1],
}


def test_frames_and_counts_of_triads():
    triads = Triads.from_frame(FRAME, "who", "what", "when", "n")
    assert triads.table_shape == (2, 2, 2)
    assert [list(names) for names in triads.names] == [["ann", "bob"], ["rye", "tea"], ["am", "pm"]]
    np.testing.assert_array_equal(triads, [[0, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
    assert len(Triads.from_frame(FRAME, "who", "what", "when", None)) == 3
    with pytest.raises(ValueError, match="'where' is not a column of the frame, which has 'who'"):
        Triads.from_frame(FRAME, "who", "what", "where")
    refused(
        "1 of 2 names of third are missing",
        Triads.from_triples,
        ["a", "b"],
        ["c", "d"],
        ["e", None],
    )
    assert same_table(triads.schema, triads[:1].schema)
    assert not same_table(triads.schema, triads.transpose(1, 0, 2).schema)
    triads = Triads([0, 1], [0, 1], [1, 0], [2.5, 1.0], shape=(3, 2, 2))
    np.testing.assert_allclose(triads.weights, [2.5 / 3] * 3 + [1])
    counts = triads.to_counts()
    np.testing.assert_allclose(counts.row_sums, [2.5, 1, 0])
    np.testing.assert_allclose(counts.column_sums, [1, 2.5])
    assert counts.middle.tolist() == [0, 1]


def test_topics_of_triads_have_names_of_the_third_index():
    triads = Triads.from_frame({**FRAME, "when": [7, 8, 8]}, "who", "what", "when", "n")
    model = TriadicAspectModel(1, beta=1).fit(triads)
    assert model.column_names_in_.tolist() == [7, 8]
    assert set(describe(model)["features"][0]) == {"7", "8"}


def test_indexing_triads_gives_observations_of_the_same_table():
    triads = Triads([0, 1, 2], [0, 1, 0], [1, 0, 1], names=(list("abc"), None, None))
    assert triads.shape == (3, 3)
    assert triads[1] == (1, 1, 0)
    for some in (triads[[0, 2]], triads[np.array([True, False, True])], triads[[0, 2], ...]):
        np.testing.assert_array_equal(some, [[0, 0, 1], [2, 0, 1]])
        assert same_table(some.schema, triads.schema)
    assert len(triads[[]]) == 0
    assert "3 tokens of a table of shape (3, 2, 2)" in repr(triads)
    with pytest.raises(IndexError, match="indexed by tokens"):
        triads[[0], 1]


def test_ways_change_places_and_are_forgotten_and_positions_may_be_unsigned():
    triads = Triads.from_frame(FRAME, "who", "what", "when", "n")
    turned = triads.transpose(2, 0, 1)
    np.testing.assert_array_equal(turned, np.asarray(triads)[:, [2, 0, 1]])
    assert list(turned.names[2]) == ["rye", "tea"]
    dyads = triads.dyads(0, 2)
    np.testing.assert_array_equal(dyads.to_csr().toarray(), [[3, 0], [0, 1]])
    assert list(dyads.column_names) == ["am", "pm"]
    positions = np.array([[0, 2], [1, 0], [1, 1]], np.uint8)
    triads = Triads(*positions)
    assert triads.table_shape == (3, 2, 2)
    np.testing.assert_array_equal(triads.to_counts().as_new().row_sums, [1, 0, 1])


def test_triads_as_tables_and_invalid_triads_are_refused():
    triads = Triads([0, 1], [0, 1], [2, 0])
    refused(r"got Triads. Triads.dyads\(i, j\) makes Dyads", Dyads, triads, error=TypeError)
    refused("got Dyads", Dyads, triads.dyads(0, 2), error=TypeError)
    with pytest.raises(TypeError, match="Got Triads, which have three indices"):
        metrics.mutual_information(triads)
    for positions, options, message in [
        (([0], [0], [0, 1]), {}, "inconsistent numbers of samples"),
        (([0.5], [0], [0]), {}, "first should be a 1d array of non-negative int"),
        ((["a"], [0], [0]), {}, "of names make Triads.from_triples"),
        (([0], [-1], [0]), {}, "second should be a 1d array of non-negative int"),
        (([0], [0], [2]), {"shape": (1, 1, 2)}, "should be three sizes"),
        (([0], [0], [0]), {"shape": (1, 1)}, "should be three sizes"),
        (([0], [0], [0]), {"counts": [-1]}, "1 of 1 counts are negative"),
        (([0], [0], [0]), {"names": (["a", "b"], None, None)}, r"names, the first,.* \(1,\)"),
    ]:
        refused(message, Triads, *positions, **options)
    refused("0, 1 and 2 in some order", Triads([0], [0], [0]).transpose, 0, 0, 1)
    refused("0 and 5 should be 0, 1 or 2", Triads([0], [0], [0]).dyads, 0, 5)


def test_transformed_counts_are_noticed():
    counts = np.random.default_rng(0).poisson(2.0, (20, 8)) + 1
    lengths = np.sqrt((counts**2).sum(axis=1, keepdims=True))
    for X, kind in [
        (counts / lengths, "rows of length one"),
        (counts / counts.sum(axis=1, keepdims=True), "shares of rows"),
        (np.log1p(counts), "logarithms of counts"),
        (counts * np.sqrt(np.arange(1, 9)), "weights of columns"),
    ]:
        with pytest.warns(UserWarning, match=kind):
            AspectModel(2, beta=0.9, max_iter=2, random_state=0).fit(X)
    ratings = np.where(counts > 2, 1, 0.1)  # weights of cells; some columns have the large one only
    ratings[:, :3] = counts[:, :3] > 2
    for X in (counts, counts * 0.5, counts * 1.7, ratings):
        assert transformed(sp.csr_array(X)) is None


def test_tokens_of_a_table_without_cells_are_refused():
    without = Dyads([[1.0, 1.0]])[:0]
    without.table_shape = 0, 0
    with pytest.raises(ValueError, match=r"0 token\(s\)"):
        AspectModel(2).fit(without)


def test_tokens_are_in_the_order_of_the_columns_however_they_are_stored():
    X = sp.csr_array((np.array([1, 2, 1]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    tokens = Dyads(X)
    assert tokens.rows.tolist() == [0, 0, 0, 1]
    assert tokens.columns.tolist() == [0, 0, 2, 1]
    assert X.indices.tolist() == [2, 0, 1]
