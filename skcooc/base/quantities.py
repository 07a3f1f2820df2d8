"""Quantities of a fitted model; documented as methods of the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.heldout.scoring import score_rows
from skcooc.protocol import Array, TableLike
from skcooc.simplex import log
from skcooc.tables import Dyads

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
    i = positions(rows, len(A), "row")
    j = positions(columns, len(B), "column")
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


def positions(index: ArrayLike, size: int, name: str) -> Array:
    """Return non-negative positions; IndexError as from NumPy."""
    index = np.asarray(index)
    if not (index.size == 0 or np.issubdtype(index.dtype, np.integer)):
        raise IndexError(f"{name} indices must be of integer type. Got {index.dtype}.")
    out = index[(index < -size) | (index >= size)]
    if out.size:
        raise IndexError(
            f"{name} index {out.flat[0]} is out of bounds for a table of {size} {name}s."
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
        rows = model._read_rows(X)
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
    free: int = model._fitted_model.free_parameters(model._state.params, n_rows)
    return free + n_rows - 1
