"""Pairs and triples of names in data frames, with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skcooc.protocol import Array, warn
from skcooc.protocol.scikit_learn import is_missing, without_overflow
from skcooc.tables.names import as_names, columns_of, find_names

MAX_TOKENS = 2**31 - 1
USUAL_COUNTS = "count", "n", "freq", "weight"  # names of columns
NEW_ROWS = (
    " To predict for new rows, make a table of their counts: pandas.crosstab(rows, columns)"
    ".reindex(columns=column_names, fill_value=0)."
)


def named_column(frame: Any, name: str) -> Any:
    if name not in (columns := columns_of(frame, frame)):
        names = ", ".join(map(repr, columns))
        raise ValueError(f"{name!r} is not a column of the frame, which has {names}.")
    return frame[name]


def usual_counts(columns: Iterable[Any]) -> Any:
    """The column with a usual name of counts, if need be in another case, or None."""
    ordered = sorted(columns, key=lambda name: name in USUAL_COUNTS)  # exact names last
    columns = {str(name).strip().lower(): name for name in ordered}
    return next((columns[name] for name in USUAL_COUNTS if name in columns), None)


def column_of_counts(frame: Any, count: str | None, used: set[str]) -> Any:
    """Return the column of counts, or None; with "auto" that of a usual name, with a warning."""
    if count == "auto":
        count = usual_counts(name for name in columns_of(frame, frame) if name not in used)
        if count is not None:
            warn(
                f"Column {count!r} is taken as counts: give count={count!r}, or count=None if "
                "each line is one token."
            )
    return None if count is None else named_column(frame, count)


def check_complete(names: ArrayLike, side: str) -> Array:
    """Return names as an array; ValueError if some are missing, such as empty fields in pandas."""
    names = as_names(names)
    if names.ndim != 1:
        raise ValueError(f"{side} has shape {names.shape}: give a list of names, one of each pair.")
    missing = is_missing(names)
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of {len(names)} {side} have no name, the first at position "
            f"{missing.argmax()}: leave these out, or read names as strings, such as by "
            "pandas.read_csv(..., keep_default_na=False)."
        )
    return names


def checked_counts(counts: ArrayLike | None, *indices: Array, min_samples: int = 1) -> Array:
    """Counts of ``min_samples`` pairs or triples or more, (n,); ones if ``counts`` is None."""
    n = np.ones(len(indices[0]), dtype=np.intp) if counts is None else np.asarray(counts)
    check_consistent_length(*indices, n)
    if n.dtype.kind in "USO" and any(isinstance(count, str) for count in n.tolist()):
        raise TypeError("counts holds strings: give numbers, such as by pandas.to_numeric.")
    with without_overflow("counts"):
        n = check_array(
            n,
            input_name="counts",
            ensure_2d=False,
            ensure_non_negative=n.size > 0,
            ensure_min_samples=min_samples,
        )
        return column_or_1d(n)


def list_tokens(counts: Any, *indices: Any) -> tuple[Any, ...]:
    """Repeat indices for each token, and give weights, or None if all are one."""
    repeats = np.ceil(counts)
    n_tokens = float(repeats.sum(dtype=np.float64))
    if n_tokens > MAX_TOKENS:
        raise ValueError(
            f"The counts add up to {n_tokens:.3g} tokens, more than Dyads can list one by "
            f"one ({MAX_TOKENS}). Use the count matrix itself."
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
            continue
        if len(set(labels.tolist())) < len(labels):
            raise ValueError(
                f"like has several {way} of the same name: give positions, or names that differ, "
                f"to place {kind}."
            )
        positions.append(find_names(labels, ways[way]))
    if len(positions) < len(ways):
        raise ValueError(
            f"like has no names of {' and '.join(ways)}, so {kind} of names cannot be placed in "
            f"it: give tokens made by from_{kind} or from_frame."
        )
    mask = np.min(positions, axis=0) >= 0
    if not mask.all():
        unknown = []
        advice = ""
        for way, i in zip(ways, positions, strict=True):
            if distinct := sorted(set(ways[way][i < 0].tolist()), key=str):
                more = f" and {len(distinct) - 3} others" if len(distinct) > 3 else ""
                unknown.append(f"no {way} {distinct[:3]}{more}")
                if way == "rows":
                    advice = NEW_ROWS
        warn(
            f"{(~mask).sum()} of {len(mask)} {kind} are dropped: the table has "
            f"{' and '.join(unknown)}.{advice}"
        )
    return mask, [i[mask] for i in positions]
