"""Pairs and triples of names: from which frames they are read, their counts, names and order."""

import itertools
import sqlite3
import warnings
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from skcooc import Dyads, Triads
from skcooc.tables.names import unique_names
from skcooc.tables.pairs import names_of_counts
from tests.tables import refused

TOKENS = pd.DataFrame({"user": list("aabbbccaab"), "item": list("xyxxyzzxxy")})
COUNTED = TOKENS.groupby(["user", "item"]).size().reset_index(name="n")
TABLE = pd.crosstab(TOKENS["user"], TOKENS["item"])


def read(frame, count="auto"):
    """The tokens of a frame, and the messages of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dyads = Dyads.from_frame(frame, "user", "item", count)
    return dyads, [str(warning.message) for warning in caught]


def check_counts(dyads):
    assert dyads.row_names.tolist() == list("abc")
    assert dyads.column_names.tolist() == list("xyz")
    np.testing.assert_array_equal(dyads.to_csr().toarray(), TABLE)


def columns_of_counts():
    """Frames with a column of counts, and its name."""
    pair = ["user", "item"]
    for name in (
        *("count", "counts", "n", "freq", "Frequency", "weight", "weights", "QTY", "quantity"),
        *("size", "len", " Count ", "COUNT(*)", "0"),
    ):
        yield COUNTED.rename(columns={"n": name}), name
    yield TOKENS.groupby(pair).size().reset_index(), 0
    yield TOKENS.groupby(pair, as_index=False).size(), "size"
    yield TABLE.stack().reset_index(), 0
    yield TABLE.stack().rename_axis([None, None]).reset_index().set_axis([*pair, 0], axis=1), 0
    yield pl.from_pandas(TOKENS).group_by(pair).len(), "len"
    yield pa.table(COUNTED), "n"
    yield COUNTED.to_dict("list"), "n"
    yield COUNTED.to_dict("records"), "n"
    yield COUNTED.to_records(index=False), "n"
    yield COUNTED.set_index("user"), "n"
    yield COUNTED.set_index(pair), "n"
    yield COUNTED.astype({"n": "Int64"}), "n"
    yield COUNTED.assign(n=[Decimal(n) for n in COUNTED["n"].tolist()]), "n"
    yield COUNTED.assign(size="M"), "n"  # of clothes
    for name in ("Unnamed: 0", "index", "level_0", "__index_level_0__", ""):
        yield COUNTED.reset_index(names=name), "n"
    with sqlite3.connect(":memory:") as connection:
        TOKENS.to_sql("tokens", connection, index=False)
        query = "SELECT user, item, COUNT(*) FROM tokens GROUP BY user, item"
        yield pd.read_sql(query, connection), "COUNT(*)"


def test_columns_with_a_usual_name_of_counts_are_taken_with_a_warning():
    for frame, name in columns_of_counts():
        dyads, messages = read(frame)
        check_counts(dyads)
        advice = f"give count={name!r}, or count=None if each line is one token."
        assert messages == [f"Column {name!r} is used as counts: {advice}"]
        assert read(frame, name)[1] == []
        assert len(read(frame, None)[0]) in {len(COUNTED), TABLE.size}  # lines


def test_the_only_other_column_of_numbers_is_not_left_out_in_silence():
    for name in ("plays", "value", "num", ("n", "sum"), 7):
        frame = COUNTED.set_axis(pd.Index(["user", "item", name], tupleize_cols=False), axis=1)
        dyads, messages = read(frame)
        assert len(dyads) == len(frame)
        advice = f"give count={name!r} if it holds counts, or count=None if each line is one token."
        assert messages == [f"Column {name!r} is not used: {advice}"]
        check_counts(read(frame, name)[0])
        assert len(read(frame.reset_index())[1]) == 1
    for columns in ({}, {"title": "x"}, {"size": "M"}, {"day": pd.Timestamp(0)}, {"line_id": 3}):
        assert read(TOKENS.assign(**columns))[1] == []
    assert read(TOKENS.assign(rating=3, year=2020))[1] == []
    assert read(TOKENS.reset_index())[1] == []
    assert read(TOKENS.assign(tags=[[1, 2]] * len(TOKENS)))[1] == []
    levels = COUNTED.groupby(["user", "item"]).agg({"n": ["sum"]})
    dyads, messages = read(levels.reset_index())
    assert "Column ('n', 'sum') is not used" in messages[0]


def test_counts_are_asked_for_where_columns_are_several_or_numbered():
    frame = COUNTED.assign(Weight=0.5)
    refused("Columns 'n', 'Weight' may each hold counts: give one, count='n'", read, frame)
    check_counts(read(frame, "n")[0])
    headerless = COUNTED[["n", "user", "item"]].set_axis([0, 1, 2], axis=1)
    for names in ([0, 1, 2], ["0", "1", "2"]):
        frame = headerless.set_axis(names, axis=1)
        with pytest.warns(UserWarning, match=f"Column {names[0]!r} is not used"):
            Dyads.from_frame(frame, names[1], names[2])
    assert names_of_counts(["0", "1", "2"]) == names_of_counts(["0"], used=["1"]) == []
    assert names_of_counts(["item", "N", "count"]) == ["count", "N"]


def test_series_have_pairs_in_their_index_and_their_values_are_counts():
    pair = ["user", "item"]
    for series in (
        TOKENS.groupby(pair).size(),
        TOKENS.value_counts(),
        TABLE.stack(),
        COUNTED.set_index(pair)["n"].rename("plays"),
        COUNTED.assign(hour=3).set_index(["hour", "item", "user"])["n"],
    ):
        dyads, messages = read(series)
        check_counts(dyads)
        assert messages == []
        assert len(read(series, None)[0]) == len(series)
    check_counts(read(COUNTED.set_index(pair)["n"], "n")[0])
    check_counts(read(TOKENS.groupby(pair)["item"].count())[0])  # named as a level
    refused("'plays' is not the name of the Series, 'n'", read, series, "plays")
    refused("Series, whose index has the level.s. None and not 'user', 'item'", read, TOKENS.user)
    triples = TOKENS.assign(hour=1).value_counts()
    assert len(Triads.from_frame(triples, "user", "item", "hour")) == len(TOKENS)


def test_a_column_that_is_named_as_a_level_of_the_index_is_refused_unless_it_is_equal():
    frame = TOKENS.groupby(["user", "item"])[["item"]].count()
    refused("'item' is both a column of the frame and a level of its index", read, frame)
    check_counts(read(TOKENS.set_index("user", drop=False))[0])


def test_no_message_lists_more_than_a_few_columns():
    many = pd.Series(1, index=pd.MultiIndex.from_product([range(500), range(20)]))
    for frame in (many, many.unstack(), dict(enumerate([[1]] * 500)), [(1, 2)] * 999):
        with pytest.raises((TypeError, ValueError)) as caught:
            read(frame)
        assert len(str(caught.value)) < 200


def test_other_things_than_frames_are_refused_with_their_conversion():
    pairs = list(TOKENS.itertuples(index=False, name=None))
    for frame, message in [
        (pairs, r"got list\. Of tuples make Dyads\.from_pairs\(\*zip\(\*frame\)\)"),
        (TOKENS.to_numpy(), r"got ndarray\. Of tuples make Dyads\.from_pairs\(\*zip\(\*frame\)\)"),
        (iter(pairs), "got list_iterator. Of tuples"),
        (set(pairs), "got set. Of tuples"),
        (None, "with the columns 'user', 'item', got NoneType.$"),
        ("pairs.csv", "got str 'pairs.csv'. Read files first"),
        (pl.from_pandas(TOKENS).lazy(), r"not in memory, LazyFrame: give frame\.collect\(\)"),
        (Counter(pairs), r"give Dyads\.from_pairs\(\*zip\(\*frame\), list\(frame\.values\(\)\)\)"),
        (sp.csr_array(TABLE), r"csr_array: give Dyads\(frame\)"),
    ]:
        refused(message, read, frame, error=TypeError)
    refused(r"a column for each 'item': give Dyads\(frame\)\.", read, TABLE)
    refused(r"a column for each 'user': give Dyads\(frame\.T\)\.", read, TABLE.T)
    refused("'user' names 2 columns of the frame", read, pd.concat([TOKENS, TOKENS], axis=1))
    refused("'item', 'item' should be different columns", read, TOKENS, "item")
    refused("Give names of columns, got list", read, TOKENS, [1, 2], error=TypeError)
    check_counts(Dyads.from_pairs(*zip(*pairs, strict=True)))
    counter = Counter(pairs)
    check_counts(Dyads.from_pairs(*zip(*counter, strict=True), list(counter.values())))
    triples = TOKENS.assign(hour=1).value_counts().unstack()
    refused(r"give frame\.stack\(\)", Triads.from_frame, triples, "user", "item", "hour")
    refused(
        r"Triads\.from_triples\(\*zip\(\*frame\)\)",
        *(Triads.from_frame, [("a", "x", 1)], "user", "item", "hour"),
        error=TypeError,
    )


def test_dask_frames_are_computed_first():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(TOKENS, npartitions=2)
    refused(r"not in memory, DataFrame: give frame\.compute\(\)", read, frame, error=TypeError)


def test_counts_that_are_wrong_are_numbered_with_the_first_position():
    for value, message, error in [
        (np.nan, r"1 of 3 counts are missing \(NaN\), the first at position 1", ValueError),
        (None, r"1 of 3 counts are missing \(NaN\), the first at position 1", ValueError),
        (-1, "1 of 3 counts are negative, the first at position 1", ValueError),
        (np.inf, "1 of 3 counts are infinite, the first at position 1", ValueError),
        ("many", "1 of 3 counts are not numbers, the first at position 1: 'many', str", TypeError),
        (pd.Timestamp("2020-01-01"), "1 of 3 counts are not numbers.* Timestamp", TypeError),
    ]:
        refused(message, Dyads.from_pairs, list("abc"), list("xyz"), [1, value, 1], error=error)
        triples = list("abc"), list("xyz"), list("uvw")
        refused(message, Triads.from_triples, *triples, [1, value, 1], error=error)
    for values in (
        pd.to_datetime(["2020-01-01"] * 3),
        pd.to_timedelta([1, 2, 3], unit="D"),
        np.array(["1", "2", "3"]),
        np.array([1j, 2, 3]),
    ):
        message = r"3 of 3 counts are not numbers, .* Names come first, and counts last"
        refused(message, Dyads.from_pairs, list("abc"), [1, 2, 3], values, error=TypeError)
    nullable = pd.array([1, None, 2], dtype="Int64")
    for missing in (nullable, np.ma.array([1, 2, 3], mask=[False, True, False])):
        refused("1 of 3 counts are missing", Dyads.from_pairs, list("abc"), list("xyz"), missing)
    refused(r"counts has shape \(\)", Dyads.from_pairs, ["a"], ["x"], 3)
    refused(r"counts has shape \(1, 2\)", Dyads.from_pairs, ["a"], ["x"], [[1, 2]])
    refused("There are no names", Dyads.from_pairs, [], [])
    refused("There are no names", Triads.from_triples, [], [], [])
    assert len(Dyads.from_pairs(list("abc"), list("xyz"), pd.array([2, 1, 2], dtype="Int64"))) == 5


def test_pairs_in_place_of_rows_are_noticed():
    pairs = np.array([("a", "x"), ("b", "y")])
    refused(r"give .* pairs\[:, 0\] and pairs\[:, 1\]", Dyads.from_pairs, pairs, [1, 2])
    refused("rows is a DataFrame: give it to from_frame", Dyads.from_pairs, TOKENS, "user")
    for rows in (list(map(tuple, pairs)), pd.MultiIndex.from_arrays(pairs.T)):
        message = r"rows holds tuples, and columns numbers\. .*from_pairs\(\*zip\(\*rows\), columns"
        refused(message, Dyads.from_pairs, rows, [1, 2])
        assert Dyads.from_pairs(rows, [1, 2], [1, 1]).table_shape == (2, 2)
        assert Dyads.from_pairs(rows, ["u", "v"]).table_shape == (2, 2)
    masked = np.ma.array([1, 2], mask=[False, True])
    refused(
        "1 of 2 names of rows are missing, the first at position 1",
        Dyads.from_pairs,
        masked,
        ["x", "y"],
    )


def test_lists_of_items_in_a_column_are_to_be_divided():
    frame = TOKENS.groupby("user", as_index=False)["item"].agg(list)
    lines = pl.from_pandas(TOKENS).group_by("user").agg("item")
    for lists in (frame, frame.to_dict("list"), lines, lines.to_arrow()):
        refused(r"3 of 3 columns are lists .*frame\.explode\('items'\)", read, lists)
    equal = {"user": ["a", "b"], "item": [["x", "y"], ["z", "x"]]}
    refused(r"columns has shape \(2, 2\): .*frame\.explode\('items'\)", read, equal)


ANSWERS = ["never", "rarely", "often", "always"]


def test_ordered_categories_keep_their_order():
    answers = ["often", "never", "always", "often"]
    ordered = pd.Categorical(answers, ANSWERS, ordered=True)
    places = pa.array([2, 0, 3, 2])
    columns = {
        "Series": pd.Series(ordered),
        "Categorical": ordered,
        "CategoricalIndex": pd.CategoricalIndex(ordered),
        "polars": pl.Series(answers, dtype=pl.Enum(ANSWERS)),
        "pyarrow": pa.chunked_array(
            [pa.DictionaryArray.from_arrays(places, ANSWERS, ordered=True)]
        ),
    }
    for column in columns.values():
        dyads = Dyads.from_pairs([1, 2, 1, 1], column)
        assert dyads.column_names.tolist() == ["never", "often", "always"]
        assert dyads.columns.tolist() == [1, 0, 2, 1]
        triads = Triads.from_triples([1, 2, 1, 1], column, column)
        assert triads.names[2].tolist() == ["never", "often", "always"]
        later = Dyads.from_pairs([1, 2], ["always", "never"], like=dyads)
        assert later.columns.tolist() == [2, 0]
    for column in (pd.Categorical(answers, ANSWERS), pl.Series(answers, dtype=pl.Categorical)):
        assert Dyads.from_pairs([1, 2, 1, 1], column).column_names.tolist() == sorted(set(answers))
    mixed = pd.Categorical([1, "none"], ["none", 1], ordered=True)
    assert Dyads.from_pairs(["a", "b"], mixed).column_names.tolist() == ["none", 1]
    frame = pd.DataFrame({"user": list("abab"), "item": ordered})
    series = frame.groupby(["user", "item"], observed=True).size()
    dyads, _ = read(series)
    assert dyads.column_names.tolist() == ["never", "often", "always"]


def test_names_that_are_intervals_periods_and_dates_are_in_order():
    days = pd.date_range("2020-01-30", periods=4)
    for names in (
        pd.cut([30, 2, 1, 9], [0, 5, 20, 100]),
        pd.cut([30, 2, 1, 9], [0, 5, 20, 100]).astype("interval"),
        days.to_period("M"),
        days.tz_localize("UTC"),
        days.date,
        days,
    ):
        dyads = Dyads.from_pairs(list("abab"), names)
        found = dyads.column_names.tolist()
        assert all(first < second for first, second in itertools.pairwise(found))
        again = Dyads.from_pairs(list("abab"), names, like=dyads)
        np.testing.assert_array_equal(again, dyads)


def test_names_of_another_type_than_those_of_the_table():
    texts = Dyads.from_pairs(["1", "2"], ["x", "y"])
    numbers = Dyads.from_pairs([1, 2], ["x", "y"])
    dates = Dyads.from_pairs(pd.to_datetime(["2020-01-01", "2020-02-01"]), ["x", "y"])
    for like, rows, message in [
        (numbers, ["1", "2"], r"int in the table and str here: .* \.astype\(int\)\.$"),
        (texts, [1, 2], r"str in the table and int here: .* \.astype\(str\)\.$"),
        (texts, [1.0, 2.0], r"str in the table and float here: .* \.astype\(int\)\.astype\(str\)"),
        (texts, [b"1", b"2"], r"str in the table and bytes here: .* \.str\.decode\('utf-8'\)"),
        (dates, ["2020-01-01"] * 2, r"datetime in the table and str here: .* pandas\.to_datetime"),
        (texts, pd.to_datetime(["2020", "2021"]), "str in the table and datetime here"),
    ]:
        message = f"The table has none of the 2 pairs: .* Names of rows are of type {message}"
        refused(message, Dyads.from_pairs, rows, ["x", "y"], like=like)
    assert len(Dyads.from_pairs([1.0, 2.0], ["x", "y"], like=numbers)) == 2
    both = "Names of rows are .* Names of columns are of type str in the table and int here"
    refused(both, Dyads.from_pairs, [1], [2], like=texts)
    triads = Triads.from_triples([1], ["x"], ["u"])
    told = "none of the 1 triples: .* Names of first are of type int in the table and str here"
    refused(told, Triads.from_triples, ["1"], ["x"], ["u"], like=triads)


def test_names_that_differ_in_blanks_alone_are_doubted():
    names = ["tea", "ale", "Tea", "rum"]
    for other in ("tea ", " tea", "tea\t"):
        with pytest.warns(UserWarning, match=r"columns has both 'tea' and .*tea.*\.str\.strip"):
            Dyads.from_pairs(range(5), [*names, other])
    categories = pd.Categorical(["b ", "b", "a"], ["b", "b ", "a"], ordered=True)
    with pytest.warns(UserWarning, match="second has both 'b' and 'b '"):
        Triads.from_triples([1, 2, 3], categories, names[:3])
    with warnings.catch_warnings(action="error"):
        Dyads.from_pairs(names, ["1.0", "1.5", "2.0", "ice tea"])
        Dyads.from_pairs([1, 1.0, 2, 3], names)


def test_times_are_no_counts():
    times = np.arange(964982703, 964982708)
    refused("if these are times or identifiers", Dyads.from_pairs, range(5), range(5), times)


@pytest.mark.parametrize("missing", ["nan", "NaN", "None", "<NA>", "NaT"])
def test_missing_values_that_became_strings_are_doubted(missing):
    with pytest.warns(UserWarning, match=f"rows has the name '{missing}', as if missing"):
        Dyads.from_pairs(["ann", missing], ["tea", "ale"])
    with warnings.catch_warnings(action="error"):
        Dyads.from_pairs(range(2000), [missing] + 1999 * ["tea"])


def test_lists_written_as_one_name_are_doubted():
    for several in ("tea, ale", "ale|tea", "ale;rum;tea"):
        with pytest.warns(UserWarning, match="columns has .* and its parts are names as well"):
            Dyads.from_pairs(range(4), ["tea", "ale", "rum", several])
    with warnings.catch_warnings(action="error"):
        Dyads.from_pairs(range(4), ["tea", "Paris, Texas", "Texas", "tea, rum"])
        Dyads.from_pairs([0] * 42, ["tea", "ale", "tea,ale", *map(str, range(39))])


def test_names_of_two_types_are_refused_with_the_conversion():
    told = r"Got \['int', 'str'\]: convert them"
    refused(told, Dyads.from_pairs, ["a", "b"], [7, "x"], error=TypeError)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_numbers_as_names_are_sorted_whatever_their_type(dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    ends = (info.min, info.min + 90), (info.max - 90, info.max), (0, 1), (info.min, info.max)
    for low, high in ends:
        names = rng.integers(low, high, 200, dtype=dtype, endpoint=True)
        distinct, index = unique_names(names, "rows")
        expected, inverse = np.unique(names, return_inverse=True)
        np.testing.assert_array_equal(distinct, expected, strict=True)
        np.testing.assert_array_equal(index, inverse, strict=True)
