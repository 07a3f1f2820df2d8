"""Quantities of a fitted model; documented as methods of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.heldout.scoring import score_rows
from skcooc.protocol import Array, TableLike
from skcooc.simplex import log
from skcooc.tables import Dyads, NameIndex, as_names

if TYPE_CHECKING:
    from skcooc.base.predictions import Predictions

CHUNK_SIZE = 2**20  # numbers of a factor that are gathered at a time


class NoRowsError(ValueError, AttributeError):
    """Raised where training rows are needed, but the table was read in blocks."""

    def __init__(self) -> None:
        super().__init__("The training rows are not kept where a table is read in blocks.")


def joint_distribution(model: Predictions, rows: ArrayLike, columns: ArrayLike) -> Array:
    mass = masses(model)
    A = model.embedding_
    B = model.components_.T
    i = row_positions(model, rows)
    j = positions(columns, model._schema.column_index, len(B), "column")
    try:
        i, j = np.broadcast_arrays(i, j)
    except ValueError as error:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{i.shape} {j.shape}"
        ) from error
    shape = i.shape
    i = i.ravel()
    j = j.ravel()
    P = np.empty(i.size, dtype=A.dtype)
    for first in range(0, i.size, step := max(1, CHUNK_SIZE // A.shape[1])):
        chunk = slice(first, first + step)
        P[chunk] = mass[i[chunk]] * np.einsum("lk,lk->l", A[i[chunk]], B[j[chunk]])
    return P.reshape(shape)


def masses(model: Predictions) -> Array:
    """Return P(x_i), (N,); NoRowsError where rows are not kept."""
    check_is_fitted(model)
    if not len(model.embedding_):
        raise NoRowsError
    return model.row_distribution_


def marginal(model: Predictions) -> Array:
    return np.asarray(masses(model) @ model.embedding_)


def row_positions(model: Predictions, rows: ArrayLike) -> Array:
    """Return positions of training rows; ValueError for numbers where only a last batch is kept."""
    index = model._schema.row_index
    if index is None and not model._has_all_rows:
        raise ValueError(
            "Positions of training rows would be those of the last batch, as only its rows are "
            "kept. Give counts as a matrix."
        )
    return positions(rows, index, len(model.embedding_), "row")


def positions(wanted: ArrayLike, names: NameIndex | None, size: int, side: str) -> Array:
    """Return the positions of rows or columns that are wanted by name or by position.

    Where a name is a number, numbers are names; where names are texts of numbers, such as "5", the
    number 5 could be a name or a position and is refused. ValueError where a name is unknown or
    several have it, IndexError for other positions.
    """
    labels = as_names(wanted)
    are_numbers = labels.dtype.kind in "iufb" or labels.size == 0
    if names is None:
        if labels.dtype.kind in "UO":
            raise ValueError(
                f"The {side}s of the table fitted have no names: give positions, or fit Dyads with "
                f"{side}_names, or a data frame with these names."
            )
        return _within(labels, size, side)
    if are_numbers and not names.has_numbers:
        if labels.size and names.has_texts_of_numbers:
            raise ValueError(
                f"{labels.flat[0]} could be a position or a name, as the {side}s have names such "
                f"as {names.names.tolist()[0]!r}: give names, or of positions "
                f"model.{side}_names_in_[...]."
            )
        return _within(labels, size, side)
    if labels.dtype.kind == "b":
        raise IndexError(
            f"Got a mask of {side}s that have numbers as names: give model.{side}_names_in_[mask]."
        )
    index = names.find(labels)
    if (index < 0).any():
        unknown = labels.ravel()[index < 0]
        types = {kind.__name__ for kind in names.types}
        is_other_type = types.isdisjoint(type(name).__name__ for name in unknown.tolist())
        advice = f", which are of type {'/'.join(sorted(types))}" if is_other_type else ""
        raise ValueError(
            f"{len(unknown)} of the {side}s are not in the table fitted: {unknown[:3].tolist()}. "
            f"Its {side}s are called {names.names[:2].tolist()} and so on{advice}. A {side} at a "
            f"position is called model.{side}_names_in_[position]"
            f"{'; counts of new rows are given as a table' if side == 'row' else ''}."
        )
    if repeated := [name for name in labels.ravel().tolist() if name in names.repeated]:
        remedy = "fit with distinct names" if names.has_numbers else "give positions"
        raise ValueError(
            f"{names.repeated[repeated[0]]} {side}s are called {repeated[0]!r}: {remedy}."
        )
    return index.reshape(labels.shape)


def _within(index: Array, size: int, side: str) -> Array:
    """Return non-negative positions; IndexError as from NumPy."""
    if not (index.size == 0 or np.issubdtype(index.dtype, np.integer)):
        raise IndexError(f"{side} indices must be of integer type. Got {index.dtype}.")
    out = index[(index < -size) | (index >= size)]
    if out.size:
        raise IndexError(
            f"{side} index {out.flat[0]} is out of bounds for a table of {size} {side}s."
        )
    index = index.astype(np.intp)
    return np.where(index < 0, index + size, index)


def evidence(model: Predictions, X: TableLike) -> tuple[float, float, int]:
    """Return the sum of log P(x, y), in nats, and the numbers of tokens and free parameters."""
    check_is_fitted(model)
    if isinstance(X, Dyads):
        samples, weights = model._score_samples(X)
        n_rows = len(model.embedding_)
        sizes = np.bincount(X.rows, weights)
    else:
        rows = model._read_rows(X, scored=True)
        samples, weights = score_rows(rows, model.predictor(rows))
        n_rows = len(weights)
        sizes = weights
    total = float(weights.sum())
    if not total:
        raise ValueError("X has no tokens to score: all entries are zero.")
    counted = weights > 0  # an impossible token of weight zero would give NaN
    shares = sizes / total
    of_columns = float(np.sum(weights[counted] * samples[counted]))  # log P(y given x)
    log_likelihood = of_columns + total * float(np.sum(shares * log(shares)))
    return log_likelihood, total, free_parameters(model, n_rows)


def free_parameters(model: Predictions, n_rows: int) -> int:
    """Return the number of free parameters of P(y given x) and P(x)."""
    equations = model._fitted_model
    params = model._state.params
    if model._columns is not None:
        params = equations.restrict(params, model._columns)
    free: int = equations.free_parameters(params, n_rows)
    return free + n_rows - 1
