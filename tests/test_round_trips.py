"""One table in every shape and file that pandas and polars make of it, and read back.

It has the same names and counts, or is refused or warned about with what to do: nothing else.
"""

import itertools
import warnings
from ast import literal_eval

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcooc import AspectModel, Dyads
from skcooc.cli import read_counts
from skcooc.cli.texts import InputError

RNG = np.random.default_rng(0)
N_TOKENS = 900
USERS = {"numbers": np.arange(101, 161), "texts": np.array([f"u{i:02}" for i in range(60)])}
ITEMS = {"numbers": np.arange(7001, 7013), "texts": np.array([f"item {j:02}" for j in range(12)])}
ASPECTS = AspectModel(2, beta=1.0, max_iter=1, random_state=0)


def tokens_of(users, items):
    i = np.concatenate([np.arange(60), RNG.integers(0, 60, N_TOKENS - 60)])
    j = np.concatenate([np.arange(60) % 12, RNG.integers(0, 12, N_TOKENS - 60)])
    return pd.DataFrame({"user": USERS[users][i], "item": ITEMS[items][j]})


def long_frames(tokens):
    """Frames of pairs with counts, and those of single tokens, by how they are made."""
    pair = ["user", "item"]
    table = pd.crosstab(tokens["user"], tokens["item"])
    ones = tokens.assign(plays=1)
    lines = pl.from_pandas(tokens)
    yield "tokens", tokens
    yield "size, reset", tokens.groupby(pair).size().reset_index()
    yield "size, as_index=False", tokens.groupby(pair, as_index=False).size()
    yield "size, series", tokens.groupby(pair).size()
    yield "size, named", tokens.groupby(pair).size().reset_index(name="count")
    yield "sum", ones.groupby(pair, as_index=False)["plays"].sum()
    yield "sum, series", ones.groupby(pair)["plays"].sum()
    yield "sum, index of two levels", ones.groupby(pair).sum()
    yield "aggregated", tokens.groupby(pair).agg(n=("user", "size")).reset_index()
    yield "value_counts", tokens.value_counts()
    yield "value_counts, reset", tokens.value_counts().reset_index()
    yield "crosstab, stacked", table.stack().reset_index()
    yield "crosstab, series", table.stack()
    yield "crosstab, melted", table.reset_index().melt("user", var_name="item")
    yield "polars, len", lines.group_by(pair).len()
    yield "polars, agg", lines.group_by(pair).agg(pl.len().alias("n"))
    yield (
        "polars, unpivot",
        pl.from_pandas(table.rename(columns=str).reset_index()).unpivot(
            index="user", variable_name="item"
        ),
    )
    yield "SQL", tokens.groupby(pair).size().reset_index(name="COUNT(*)")


def wide_frames(tokens):
    """Frames with a row for each user, by how they are made."""
    table = pd.crosstab(tokens["user"], tokens["item"])
    options = {"index": "user", "columns": "item"}
    counted = tokens.groupby(["user", "item"]).size().reset_index(name="n")
    yield "crosstab", table
    yield "unstack", tokens.groupby(["user", "item"]).size().unstack(fill_value=0)
    yield "pivot_table", tokens.assign(n=1).pivot_table("n", **options, aggfunc="sum", fill_value=0)
    yield "pivot", counted.pivot(**options, values="n").fillna(0)
    yield "pivot of two levels", counted.pivot(**options).fillna(0)
    yield "crosstab, reset", table.reset_index()
    yield "crosstab, without names", table.rename_axis(None).rename_axis(None, axis=1)
    yield (
        "polars pivot",
        pl.from_pandas(counted)
        .pivot("item", index="user", values="n", sort_columns=True)
        .fill_null(0)
        .sort("user"),
    )
    yield "pivot without fill_value", counted.pivot(**options, values="n")


KINDS = list(itertools.product(USERS, ITEMS))


def outcome(tokens, read):
    """same, warned or refused: of a call that gives names of rows and columns, and counts."""
    expected = pd.crosstab(tokens["user"], tokens["item"]).rename(index=str, columns=str)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows, columns, counts = read()
        except (ValueError, TypeError, InputError) as refusal:
            error = str(refusal)
        else:
            error = ""
    if error:
        return "refused" if 30 < len(error) < 1000 else f"raw: {error[:1000]}"
    found = pd.DataFrame(counts.toarray(), index=None if rows is None else list(map(str, rows)))
    levels = (literal_eval(str(c)) if str(c)[0] == "(" else c for c in columns)  # in Parquet
    found.columns = [str(name[-1] if isinstance(name, tuple) else name) for name in levels]
    if found.shape == expected.shape and (found.reindex_like(expected) == expected).all(axis=None):
        return "same"
    warned = any(not str(w.message).startswith(("EM did", "Topics", "All 2")) for w in caught)
    return "warned" if warned else "wrong in silence"


def names_and_counts(X):
    return X.row_names, X.column_names, X.to_csr()


def fitted_names_and_counts(table):
    model = ASPECTS.fit(table)
    return getattr(model, "row_names_in_", None), model.column_names_in_, Dyads(table).to_csr()


LONG = [name for name, _ in long_frames(tokens_of("texts", "texts"))]
WIDE = [name for name, _ in wide_frames(tokens_of("texts", "texts"))]
EACH_ONCE = {  # frames of pairs whose column of counts has an unusual name, so that it is not used
    "sum",
    "sum, index of two levels",
    "crosstab, melted",
    "polars, unpivot",
}


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("shape", LONG)
def test_frames_of_pairs(shape, kinds):
    tokens = tokens_of(*kinds)
    frame = dict(long_frames(tokens))[shape]
    result = outcome(tokens, lambda: names_and_counts(Dyads.from_frame(frame, "user", "item")))
    assert result == ("warned" if shape in EACH_ONCE else "same")


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("shape", WIDE)
@pytest.mark.parametrize("read", [lambda t: names_and_counts(Dyads(t)), fitted_names_and_counts])
def test_tables_of_counts(read, shape, kinds):
    tokens = tokens_of(*kinds)
    frame = dict(wide_frames(tokens))[shape]
    result = outcome(tokens, lambda: read(frame))
    if shape in {"crosstab, reset", "polars pivot", "pivot without fill_value"}:
        assert result in {"warned", "refused"}
    else:
        assert result == "same"


def write_csv(frame, path):
    frame.write_csv(path) if isinstance(frame, pl.DataFrame) else frame.to_csv(path)


def write_csv_without_index(frame, path):
    frame.to_csv(path, index=False)


def write_parquet(frame, path):
    frame.write_parquet(path) if isinstance(frame, pl.DataFrame) else frame.to_parquet(path)


def write_parquet_by_polars(frame, path):
    pl.from_pandas(frame, include_index=not isinstance(frame.index, pd.RangeIndex)).write_parquet(
        path
    )


def write_json_lines(frame, path):
    if isinstance(frame, pl.DataFrame):
        frame.write_ndjson(path)
    else:
        frame.to_json(path, orient="records", lines=True)


def write_records(frame, path):
    frame.to_json(path, orient="records")


def write_columns(frame, path):
    frame.to_json(path)


WRITERS = {
    "table.csv": write_csv,
    "without_index.csv": write_csv_without_index,
    "table.parquet": write_parquet,
    "by_polars.parquet": write_parquet_by_polars,
    "table.jsonl": write_json_lines,
    "records.json": write_records,
    "columns.json": write_columns,
}


def read_file(path):
    table = read_counts(path)
    for note in table.notes:
        if note.startswith(("not used", "left out", "rows have no names", "rows and columns have")):
            warnings.warn(note, stacklevel=1)
    return table.row_names, table.column_names, table.X


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("file", WRITERS)
def test_files(file, kinds, tmp_path):
    tokens = tokens_of(*kinds)
    results = {}
    for shape, frame in itertools.chain(long_frames(tokens), wide_frames(tokens)):
        path = tmp_path / file
        try:
            WRITERS[file](frame, path)
        except (AttributeError, ValueError, TypeError, ImportError):
            continue  # pandas or polars cannot write this
        results[shape] = outcome(tokens, lambda path=path: read_file(path))
    assert set(results.values()) <= {"same", "refused", "warned"}
    if file.startswith("columns"):
        assert set(results.values()) == {"refused"}
    else:
        shapes = {"tokens", "size, reset", "size, named", "value_counts, reset", "SQL"}
        assert {results[shape] for shape in shapes} == {"same"}
    if file == "table.parquet":
        assert {results[s] for s in WIDE if s not in {"crosstab, reset", "polars pivot"}} == {
            "same"
        }
    if file == "table.csv" and kinds[0] == "texts":
        assert {results[s] for s in WIDE if s != "pivot of two levels"} == {"same"}
