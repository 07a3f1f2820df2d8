"""Recommendations of columns for rows, such as items for users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.base.quantities import positions, row_positions
from skcooc.heldout.scoring import Ranked, ranked
from skcooc.protocol import CSR, Array, TableLike, warn
from skcooc.tables import (
    all_cells,
    as_names,
    name_unknown_rows,
    observed_cells,
    read_new_rows,
)
from skcooc.tables.dyads import Cells

if TYPE_CHECKING:
    from skcooc.base.predictions import Predictions

CHUNK_SIZE = 2**20  # probabilities that are in memory at a time

NEW_ROWS = "For new rows, give their counts as a 2-d table, such as [[0, 2, 1]]."


class Recommendations(NamedTuple):
    """Columns recommended for rows, the most probable first."""

    items: Array
    """Names of columns, (n_rows, n), as objects; positions where there are no names."""

    scores: Array
    """P(y given x), (n_rows, n), float64."""


class Query(NamedTuple):
    """Rows to recommend columns for."""

    mixtures: Array  # (n, K)
    counts: CSR | None  # (n, M): those that predictions need
    seen: Cells | None  # cells of a table, which are not recommended
    rows: Array  # (n,): positions in this table
    training_rows: Array | None = None  # (n,): positions of training rows; None: new ones


def recommend(
    model: Predictions,
    rows: ArrayLike | TableLike,
    n: int,
    *,
    exclude_seen: bool,
    exclude: ArrayLike,
) -> Recommendations:
    check_is_fitted(model)
    shape = np.shape(rows)
    row_index = model._schema.row_index
    if isinstance(rows, list | tuple) and row_index is not None and tuple in row_index.types:
        # Tuples are names, as in a MultiIndex; a list of them is no table.
        shape = () if isinstance(rows, tuple) else (len(rows),)
        rows = as_names([rows] if isinstance(rows, tuple) else rows)
    if len(shape) > 2 or (sp.issparse(rows) and len(shape) == 1):
        raise ValueError(
            f"rows are of shape {shape}: give positions or names in a list, or counts of new rows "
            f"as a table with {model.components_.shape[1]} columns."
        )
    if len(shape) == 1 and _are_counts(model, rows):
        raise IndexError(f"rows looks like the counts of one row, of shape {shape}. {NEW_ROWS}")
    if len(shape) == 2:
        X, empty = read_new_rows(model, rows)
        if len(empty):
            warn(
                f"{name_unknown_rows(empty, X.shape[0])}: the columns that are most probable in "
                "all rows are recommended."
            )
        index = np.arange(X.shape[0])
        query = Query(model.fold_in(X), X.table, observed_cells(X.table), index)
    else:
        query = _query_of_training_rows(model, rows, exclude_seen)
    if not exclude_seen:
        query = query._replace(seen=None)
    excluded = positions(exclude, model._schema.column_index, model.components_.shape[1], "column")
    leading = (len(query.rows),) if shape else ()
    best = Ranked.none(len(query.rows), n)
    for chunk, P in _predict(model, query):
        P[:, excluded.ravel()] = -np.inf
        best.columns[chunk], best.values[chunk] = ranked(P, n)
    items = best.columns
    names = model._schema.column_names
    if names is not None:
        items = names[best.columns].astype(object)
        items[best.columns < 0] = None
    return Recommendations(items.reshape(*leading, n), best.values.reshape(*leading, n))


def _query_of_training_rows(model: Predictions, rows: ArrayLike, exclude_seen: bool) -> Query:
    if not len(model.embedding_):
        raise ValueError(
            "The training rows are not kept where a table is read in blocks. Give counts as a "
            "matrix."
        )
    schema = model._schema
    if exclude_seen and schema.seen is None:
        raise ValueError(
            "The non-zero columns of training rows are not kept for dask arrays and DiskTable. "
            "Give counts as a matrix, or exclude_seen=False."
        )
    index = row_positions(model, rows).ravel()
    counts = model._training_table()
    mixtures = np.asarray(model.embedding_[index])
    return Query(mixtures, None if counts is None else counts[index], schema.seen, index, index)


def _are_counts(model: Predictions, rows: Any) -> bool:
    """Return whether positions are counts: a Series of columns, fractions, or only 0 and 1."""
    names = model._schema.column_names
    values = np.asarray(rows)
    if (
        names is not None
        and hasattr(rows, "iloc")
        and len(rows) == len(names)
        and set(rows.index) == set(names.tolist())
    ):
        return True
    if values.dtype.kind == "f" and model._schema.row_names is None and len(values):
        return True
    is_row = values.dtype.kind in "iu" and len(values) == model.components_.shape[1] > 2
    return bool(is_row and np.isin(values, (0, 1)).all())


def _predict(model: Predictions, query: Query) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows and their P(y given x); -inf in columns that they have seen."""
    n_columns = model.components_.shape[1]
    for first in range(0, len(query.rows), step := max(1, CHUNK_SIZE // n_columns)):
        chunk = slice(first, first + step)
        mixtures = query.mixtures[chunk]
        predictor = model._make_predictor(
            mixtures,
            None if query.counts is None else query.counts[chunk],
            None if query.training_rows is None else query.training_rows[chunk],
        )
        cells = all_cells(len(mixtures), n_columns, mixtures.dtype)
        P = predictor.cells(cells).reshape(cells.shape)
        if query.seen is not None:
            P[query.seen.in_rows(query.rows[chunk])] = -np.inf
        yield chunk, P
