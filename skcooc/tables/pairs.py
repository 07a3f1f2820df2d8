"""Pairs and triples of names in data frames, with their counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_consistent_length

from skcooc.protocol import Array, warn
from skcooc.protocol.scikit_learn import is_missing, without_overflow
from skcooc.tables.doubts import doubts_about_names
from skcooc.tables.names import as_names, columns_of, find_names, is_name_of_ids, unique_names

MAX_TOKENS = 2**31 - 1
NAMES_OF_COUNTS = (
    *("count", "counts", "n", "freq", "frequency", "weight", "weights", "qty", "quantity"),
    *("size", "len", "count(*)", "count_star()", "0"),  # as pandas, polars and SQL name them
)
TO_MEMORY = "to_dataframe", "toPandas", "collect", "compute", "df"  # methods of lazy frames
MAX_LISTED = 5  # columns in a message
NEW_NAMES = (
    " To predict for new names, fit tokens that were made with like=full, where full has all names."
)
NEW_ROWS = (
    " To predict for new rows, make a table of their counts: pandas.crosstab(rows, columns)"
    ".reindex(columns=column_names, fill_value=0)."
)
CONVERSIONS = {  # of names of pairs, to the type of those of a table
    ("int", "str"): ".astype(str)",
    ("float", "str"): ".astype(int).astype(str)",
    ("bytes", "str"): ".str.decode('utf-8')",
    ("datetime", "str"): ".astype(str)",
    ("Timestamp", "str"): ".astype(str)",
    ("str", "int"): ".astype(int)",
    ("str", "float"): ".astype(float)",
    ("str", "bytes"): ".str.encode('utf-8')",
    ("str", "datetime"): "pandas.to_datetime",
}


def read_columns(frame: Any, names: Sequence[Any], count: Any) -> list[Any]:
    """The named columns of a frame, and last its column of counts, or None; "auto" finds it."""
    for name in (*names, count):
        if isinstance(name, list) or bool(getattr(name, "ndim", False)):
            raise TypeError(
                f"Give names of columns, got {type(name).__name__}. To give the columns "
                f"themselves, use {_constructor(names)}."
            )
    chosen = names if count is None or count == "auto" else (*names, count)
    if len(set(chosen)) < len(chosen):
        raise ValueError(
            f"{_few(chosen)} should be different columns, but one of them is named twice."
        )
    if hasattr(frame, "iloc") and getattr(frame, "ndim", 2) == 1:
        return _read_series(frame, names, count)
    frame = _as_frame(frame, names)
    columns = [_named_column(frame, name) for name in names]
    if count == "auto":
        count = _find_counts(frame, names)
    return [*columns, None if count is None else _named_column(frame, count)]


def _constructor(names: Sequence[Any]) -> str:
    return "Dyads.from_pairs" if len(names) == 2 else "Triads.from_triples"


def _read_series(series: Any, names: Sequence[Any], count: Any) -> list[Any]:
    """The named levels of the index of a Series, and its values, or None."""
    levels = list(series.index.names)
    if unknown := [name for name in names if name not in levels]:
        raise ValueError(
            f"frame is a Series, whose index has the level(s) {_few(levels)} and not "
            f"{_few(unknown)}: give a data frame, such as frame.reset_index()."
        )
    if count is not None and count not in ("auto", series.name):
        raise ValueError(
            f"{count!r} is not the name of the Series, {series.name!r}: leave count out."
        )
    columns = [series.index.get_level_values(name) for name in names]
    return [*columns, None if count is None else series]


def _as_frame(frame: Any, names: Sequence[Any]) -> Any:
    """A data frame or a mapping of columns; an error that names the conversion for others."""
    kind = type(frame).__name__
    if isinstance(frame, str | bytes | PathLike):
        raise TypeError(
            f"frame should be a data frame, got {kind} {str(frame)[:60]!r}. Read files first, such "
            "as with pandas.read_csv; the names of columns come after the frame."
        )
    if sp.issparse(frame):
        raise TypeError(f"frame is a table of counts, {kind}: give Dyads(frame).")
    for method in TO_MEMORY:
        if hasattr(type(frame), method):
            raise TypeError(f"frame is not in memory, {kind}: give frame.{method}().")
    if hasattr(frame, "iloc"):
        return _with_levels(frame, names)
    if isinstance(frame, Mapping):
        if names[0] not in frame and isinstance(next(iter(frame), None), tuple):
            raise TypeError(
                f"frame should map names to columns, got {kind} of tuples. If it has their counts, "
                f"give {_constructor(names)}(*zip(*frame), list(frame.values()))."
            )
        return frame
    if columns_of(frame) is not None:
        return frame
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        return {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, list) and frame and all(isinstance(line, Mapping) for line in frame):
        keys = dict.fromkeys(chain.from_iterable(frame))
        return {key: [line.get(key) for line in frame] for key in keys}
    advice = f" Of tuples make {_constructor(names)}(*zip(*frame))."
    raise TypeError(
        f"frame should be a data frame or a mapping with the columns {_few(names)}, got {kind}."
        f"{advice if isinstance(frame, Iterable) else ''}"
    )


def _with_levels(frame: Any, names: Sequence[Any]) -> Any:
    """A frame of pandas where names may be levels of the index; ValueError for tables of counts."""
    absent = [name for name in names if name not in frame.columns]
    if frame.columns.name in absent:
        table = "frame.T" if frame.columns.name == names[0] else "frame"
        raise ValueError(
            f"frame is a table of counts, with a column for each {frame.columns.name!r}: give "
            f"{f'Dyads({table})' if len(names) == 2 else 'frame.stack()'}."
        )
    for name in names:  # as by frame.groupby(["user", "item"])[["item"]].count()
        if (
            name in frame.columns
            and name in frame.index.names
            and not np.array_equal(frame.index.get_level_values(name), frame[name])
        ):
            raise ValueError(
                f"{name!r} is both a column of the frame and a level of its index: rename the "
                "column."
            )
    levels = [name for name in absent if name in frame.index.names]
    return frame.reset_index(levels) if levels else frame


def _columns(frame: Any) -> list[Any]:
    """Names of columns; that of a column without further levels is its first level."""
    columns = list(columns_of(frame, frame))
    return [name[0] if isinstance(name, tuple) and not any(name[1:]) else name for name in columns]


def _few(names: Sequence[Any]) -> str:
    rest = f" and {len(names) - MAX_LISTED} others" if len(names) > MAX_LISTED else ""
    return f"{', '.join(map(repr, names[:MAX_LISTED]))}{rest}"


def _named_column(frame: Any, name: Any) -> Any:
    if name not in (columns := _columns(frame)):
        raise ValueError(f"{name!r} is not a column of the frame, which has {_few(columns)}.")
    column = frame[name]
    if hasattr(type(column), "columns"):
        raise ValueError(f"{name!r} names {column.shape[1]} columns of the frame: rename them.")
    return column


def names_of_counts(columns: Sequence[Any], used: Sequence[Any] = ()) -> list[Any]:
    """Columns with a name of counts, if need be in another case, the likeliest first.

    The counts of pandas are named 0, unless others of the columns, or of those used, are numbered.
    """
    is_numbered = sum(str(name).isdigit() for name in (*columns, *used)) > 1
    usual = NAMES_OF_COUNTS[:-1] if is_numbered else NAMES_OF_COUNTS
    words = {name: str(name).strip().lower() for name in columns}
    names = [name for name, word in words.items() if word in usual]
    return sorted(names, key=lambda name: (usual.index(words[name]), name not in usual))


def _find_counts(frame: Any, used: Sequence[Any]) -> Any:
    """The column of numbers whose name means counts, or None; warns of what is taken, or not."""
    candidates = [
        name
        for name in _columns(frame)
        if name not in (*used, "") and not is_name_of_ids(name)  # "" is an index in a file
    ]
    names = [name for name in names_of_counts(candidates, used) if _holds_numbers(frame[name])]
    if len(names) > 1:
        raise ValueError(
            f"Columns {_few(names)} may each hold counts: give one, count={names[0]!r}, or "
            "count=None if each line is one token."
        )
    if names:
        warn(
            f"Column {names[0]!r} is used as counts: give count={names[0]!r}, or count=None if "
            "each line is one token."
        )
        return names[0]
    if len(candidates) == 1 and _holds_numbers(frame[candidates[0]]):
        warn(
            f"Column {candidates[0]!r} is not used: give count={candidates[0]!r} if it holds "
            "counts, or count=None if each line is one token."
        )
    return None


def _holds_numbers(column: Any) -> bool:
    """Whether a column holds numbers, as objects and strings do whose first value is one."""
    try:
        values = np.asarray(column)
        if values.dtype.kind not in "OSU":
            return values.dtype.kind in "biuf"
        sample = values.ravel()[:100]
        sample[~is_missing(sample)][:1].astype(float)
    except (TypeError, ValueError):
        return False
    return True


def check_complete(names: Any, side: str) -> Array:
    """Return names as an array; ValueError if some are missing, such as empty fields in pandas."""
    if hasattr(type(names), "columns") or isinstance(names, Mapping):
        raise ValueError(f"{side} is a {type(names).__name__}: give it to from_frame.")
    values: Any = names
    try:
        values = array = as_names(names)
        missing = is_missing(array) if array.ndim == 1 else np.False_
    except (TypeError, ValueError):
        n_lists = sum(not isinstance(name, Hashable) for name in values)
        if not n_lists:
            raise
        raise ValueError(
            f"{n_lists} of {len(values)} {side} are lists of names: give a line for each name, "
            "such as with frame.explode('items')."
        ) from None
    if array.ndim != 1:
        raise ValueError(
            f"{side} has shape {array.shape}: give a list of names, one of each pair. For an array "
            "of pairs, give pairs[:, 0] and pairs[:, 1]. For lists of names, make a line for each "
            "name with frame.explode('items')."
        )
    if np.ma.is_masked(names):
        missing = missing | np.ma.getmaskarray(names)
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of {len(array)} names of {side} are missing, the first at position "
            f"{missing.argmax()}: leave these pairs out, or read names as strings, such as with "
            "pandas.read_csv(..., keep_default_na=False)."
        )
    return array


def distinct_names(column: Any, names: Array, side: str) -> tuple[Array, Array]:
    """Distinct names of a column, and the index of each of its names.

    They are in the order of ordered categories, of which those that do not occur are left out; of
    other columns they are sorted.
    """
    categories = _ordered_categories(column)
    if categories is None:
        distinct, index = unique_names(names, side)
    else:
        used, index = np.unique(find_names(categories, names), return_inverse=True)
        distinct = categories[used]
    for message in doubts_about_names(distinct, np.bincount(index), side):
        warn(message)
    return distinct, index


def _ordered_categories(column: Any) -> Array | None:
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "ordered", False):  # of pandas, whose Categorical narwhals does not know
        return as_names(column.dtype.categories)
    if isinstance(dtype, np.dtype):
        return None
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    series = narwhals.from_native(column, allow_series=True, pass_through=True)
    if isinstance(series, narwhals.Series) and narwhals.is_ordered_categorical(series):
        return as_names(series.cat.get_categories().to_numpy())
    return None


def checked_counts(counts: Any, *indices: Array, min_samples: int = 1) -> Array:
    """Counts of ``min_samples`` pairs or triples or more, (n,); ones if ``counts`` is None."""
    n = np.ones(len(indices[0]), dtype=np.intp) if counts is None else np.asarray(counts)
    if n.dtype.kind in "US":
        n = np.asarray(counts, dtype=object)  # NumPy makes strings of all, if one is
    if n.shape[1:] == (1,):
        n = n.ravel()
    if n.ndim != 1:
        raise ValueError(f"counts has shape {n.shape}: give a list of numbers, one for each pair.")
    check_consistent_length(*indices, n)
    if len(n) < min_samples:
        raise ValueError("There are no names: the lists or the frame are empty.")
    n = _as_numbers(n)
    if np.ma.is_masked(counts):
        n = np.where(np.ma.getmaskarray(counts).ravel(), np.nan, n)
    if n.min(initial=0) < 0 or not n.max(initial=0) < np.inf:
        _refuse_values(n)
    return n


def _as_numbers(counts: Array) -> Array:
    """Counts as numbers, NaN where they are missing; TypeError if some are no numbers."""
    kind = counts.dtype.kind
    if kind in "biuf":
        return counts
    is_other = np.full(len(counts), kind != "O")
    if kind == "O":
        items = counts.tolist()
        missing = np.array([item is None or (item != item) is not False for item in items])
        is_other = ~missing & [not isinstance(item, Real | Decimal) for item in items]
    if is_other.any():
        first = counts[is_other.argmax()]
        raise TypeError(
            f"{is_other.sum()} of {len(counts)} counts are not numbers, the first at position "
            f"{is_other.argmax()}: {str(first)[:60]!r}, {type(first).__name__}. Give numbers, such "
            "as from pandas.to_numeric. Names come first, and counts last."
        )
    with without_overflow("counts"):
        return np.where(missing, np.nan, counts).astype(np.float64)


def _refuse_values(counts: Array) -> None:
    for problem, invalid, remedy in (
        ("missing (NaN)", np.isnan(counts), "Leave these out, or fill in a number."),
        (
            "negative",
            counts < 0,
            "Counts and weights should be 0 or more: leave these out. If they are returns or "
            "corrections, add them up with their pairs first, as with groupby(...).sum().",
        ),
        ("infinite", np.isinf(counts), "Leave these out, or give a finite number."),
    ):
        if invalid.any():
            raise ValueError(
                f"{invalid.sum()} of {len(counts)} counts are {problem}, the first at position "
                f"{invalid.argmax()}. {remedy}"
            )


def list_tokens(counts: Any, *indices: Any) -> tuple[Any, ...]:
    """Repeat indices for each token, and give weights, or None if all are one."""
    repeats = np.ceil(counts)
    n_tokens = float(repeats.sum(dtype=np.float64))
    if n_tokens > MAX_TOKENS:
        raise ValueError(
            f"The counts add up to {n_tokens:.3g} tokens, more than Dyads can list one by "
            f"one ({MAX_TOKENS}). Use the count matrix itself; if these are times or identifiers, "
            "leave them out."
        )
    repeats = repeats.astype(np.int64)
    unit = counts / np.maximum(repeats, 1).astype(np.result_type(counts, np.float32))
    weights = None if counts.dtype.kind in "iub" else np.repeat(unit, repeats)
    return *(np.repeat(index, repeats) for index in indices), weights


def place_names(
    names: Sequence[Array | None], ways: Mapping[str, Array], kind: str
) -> tuple[Array, list[Array]]:
    """Mask of the pairs or triples that a table has, (n,), and their positions; warns of others."""
    positions = []
    for way, labels in zip(ways, names, strict=True):
        if labels is None:
            raise ValueError(
                f"like has no names of {' and '.join(ways)}, so {kind} of names cannot be placed "
                f"in it: give tokens made by from_{kind} or from_frame."
            )
        if len(set(labels.tolist())) < len(labels):
            raise ValueError(
                f"like has several {way} of the same name: give positions, or names that differ, "
                f"to place {kind}."
            )
        positions.append(find_names(labels, ways[way]))
    mask = np.min(positions, axis=0) >= 0
    if mask.all():
        return mask, positions
    unknown = []
    types = []
    table_names = [labels for labels in names if labels is not None]
    for (way, values), labels, i in zip(ways.items(), table_names, positions, strict=True):
        if distinct := sorted(set(values[i < 0].tolist()), key=str):
            more = f" and {len(distinct) - 3} others" if len(distinct) > 3 else ""
            unknown.append(f"no {way} {distinct[:3]}{more}")
        if (i < 0).all() and (difference := _difference_of_types(labels, distinct)):
            types.append(f" Names of {way} {difference}.")
    advice = "".join(types) or (NEW_ROWS if (positions[0] < 0).any() and "rows" in ways else "")
    if not advice and kind == "triples":
        advice = NEW_NAMES
    reason = f"{' and '.join(unknown)}.{advice}"
    if not mask.any():
        raise ValueError(f"The table has none of the {len(mask)} {kind}: {reason}")
    warn(f"{(~mask).sum()} of {len(mask)} {kind} are dropped: the table has {reason}")
    return mask, [i[mask] for i in positions]


def _difference_of_types(labels: Array, unknown: list[Any]) -> str:
    """How the names of a table and unknown ones differ in type, with the conversion, or ""."""
    if not len(labels):
        return ""
    expected = type(labels.tolist()[0]).__name__
    actual = type(unknown[0]).__name__
    if expected == actual:
        return ""
    conversion = CONVERSIONS.get((actual, expected))
    advice = f", such as with {conversion}" if conversion else ""
    return f"are of type {expected} in the table and {actual} here: convert them{advice}"
