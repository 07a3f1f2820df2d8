"""Recommendations of columns for rows, such as items for users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.base.quantities import NoRowsError, positions
from skcooc.heldout.scoring import Ranked, ranked
from skcooc.protocol import CSR, Array, TableLike
from skcooc.tables import all_cells, find_names, observed_cells
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


class Asked(NamedTuple):
    """Rows to recommend columns for."""

    mixtures: Array  # (n, K)
    known: CSR | None  # (n, M): what predictions need to know of them
    seen: Cells | None  # what is left out: cells of a table
    rows: Array  # (n,): which rows of it these are
    own: Array | None = None  # (n,): which training rows these are; None: new ones


def recommend(
    model: Predictions, rows: ArrayLike | TableLike, n: int, *, exclude_seen: bool
) -> Recommendations:
    check_is_fitted(model)
    shape = np.shape(rows)
    if len(shape) > 2 or (sp.issparse(rows) and len(shape) == 1):
        raise ValueError(
            f"rows are of shape {shape}: give positions or names in a list, or counts of new rows "
            f"as a table with {model.components_.shape[1]} columns."
        )
    if len(shape) == 1 and _are_counts(model, rows):
        raise IndexError(f"rows looks like the counts of one row, of shape {shape}. {NEW_ROWS}")
    if len(shape) == 2:
        X = model._read_rows(rows)
        index = np.arange(X.shape[0])
        asked = Asked(model.fold_in(X), X.table, observed_cells(X.table), index)
    else:
        asked = _fitted(model, rows, exclude_seen)
    leading = (len(asked.rows),) if shape else ()
    best = Ranked.none(len(asked.rows), n)
    for some, P in _predicted(model, asked if exclude_seen else asked._replace(seen=None)):
        best.columns[some], best.values[some] = ranked(P, n)
    items, names = best.columns, model._schema.column_names
    if names is not None:
        items = np.append(names.astype(object), [None])[items]  # None for -1
    return Recommendations(items.reshape(*leading, n), best.values.reshape(*leading, n))


def _fitted(model: Predictions, rows: ArrayLike, exclude_seen: bool) -> Asked:
    if not len(model.embedding_):
        raise NoRowsError
    schema = model._schema
    if exclude_seen and schema.seen is None:
        what = "The non-zero columns of training rows are not kept for dask arrays and DiskTable"
        raise ValueError(f"{what}. Give counts as a matrix, or exclude_seen=False.")
    chosen = _chosen(schema.row_names, np.asarray(rows).ravel(), len(model.embedding_))
    known = model._training_table()
    mixtures = np.asarray(model.embedding_[chosen])
    return Asked(mixtures, None if known is None else known[chosen], schema.seen, chosen, chosen)


def _are_counts(model: Predictions, rows: Any) -> bool:
    """Return whether positions are counts by mistake: a Series of columns, or only 0 and 1."""
    names, values = model._schema.column_names, np.asarray(rows)
    if names is not None and hasattr(rows, "iloc") and set(rows.index) == set(names.tolist()):
        return True
    whole = values.dtype.kind in "iu" and len(values) == model.components_.shape[1] > 2
    return bool(whole and np.isin(values, (0, 1)).all())


def _chosen(names: Array | None, rows: Array, n_rows: int) -> Array:
    """Return the positions of training rows, given by position or by name."""
    if names is None and rows.dtype.kind in "UO":
        what = "The training rows have no names: give positions, or fit Dyads with row_names"
        raise ValueError(f"{what}, or a data frame whose index holds strings.")
    numbers = rows.dtype.kind in "iufb"
    if names is None or (numbers and not np.issubdtype(names.dtype, np.number)):
        if rows.size and not np.issubdtype(rows.dtype, np.integer):
            raise IndexError(
                f"Positions of rows must be of integer type. Got {rows.dtype}. {NEW_ROWS}"
            )
        return positions(rows, n_rows, "row")
    found = find_names(names, rows)
    if (found < 0).any():
        unknown = rows[found < 0].tolist()
        raise ValueError(
            f"{len(unknown)} of the rows are not in the training table: {unknown[:3]}. Its rows "
            f"are called {names[:2].tolist()} and so on; give counts of new rows as a matrix."
        )
    numbers_of = Counter(names.tolist())
    if repeated := [name for name in rows.tolist() if numbers_of[name] > 1]:
        raise ValueError(
            f"{numbers_of[repeated[0]]} rows are called {repeated[0]!r}: give positions."
        )
    return found


def _predicted(model: Predictions, asked: Asked) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows and their P(y given x); -inf in excluded columns."""
    n_columns = model.components_.shape[1]
    for first in range(0, len(asked.rows), step := max(1, CHUNK_SIZE // n_columns)):
        some = slice(first, first + step)
        mixtures, known, rows = asked.mixtures[some], asked.known, asked.rows[some]
        predictor = model._make_predictor(
            mixtures,
            None if known is None else known[some],
            None if asked.own is None else asked.own[some],
        )
        everything = all_cells(len(rows), n_columns, mixtures.dtype)
        P = predictor.cells(everything).reshape(everything.shape)
        if asked.seen is not None:
            P[asked.seen.in_rows(rows)] = -np.inf
        yield some, P
