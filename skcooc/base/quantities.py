"""Quantities of a fitted model; documented as methods of the estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.em import State
from skcooc.heldout.predictors import Factors, with_background
from skcooc.heldout.scoring import log_likelihoods, score_rows
from skcooc.protocol import Array, Block, Predictor, TableLike
from skcooc.simplex import log, normalise
from skcooc.tables import Dyads, TableSchema

CHUNK_SIZE = 2**20  # numbers of a factor that are gathered at a time


class NoRowsError(ValueError, AttributeError):
    """Raised where training rows are needed, but the table was read in blocks."""

    def __init__(self) -> None:
        super().__init__("The training rows are not kept where a table is read in blocks.")


class FittedModel(Protocol):
    """Attributes and methods of a fitted estimator that quantities need."""

    components_: Array  # (K, M): P(y given z)
    embedding_: Array  # (N, K): P(z given x)
    row_distribution_: Array  # (N,): P(x)
    unigram_: Array  # (M,)
    smoothing_: float
    _fitted_model: Any
    _state: State
    _schema: TableSchema

    def _read_rows(self, X: TableLike) -> Block: ...
    def _run_with_threads(self, function: Callable[[Block], Array], X: Block) -> Array: ...
    def _mixture_prior(self) -> tuple[Array, Array]: ...
    def _score_samples(self, X: TableLike) -> tuple[Array, Array]: ...
    def _predictor(self, known: Block | None) -> Predictor: ...


def row_names(model: FittedModel) -> Array:
    names = model._schema.row_names
    if names is None or len(names) != len(model.embedding_):
        raise AttributeError(f"{type(model).__name__} was fitted to rows without names.")
    return names


def column_names(model: FittedModel) -> Array:
    own = model._schema.names[len(model._schema.shape) - 1]  # of Triads the third index
    names: Array | None = getattr(model, "feature_names_in_", own)
    if names is None:
        raise AttributeError(f"{type(model).__name__} was fitted to columns without names.")
    return names


def component_distribution(model: FittedModel) -> Array:
    return _marginal(model).astype(model.embedding_.dtype)


def row_components(model: FittedModel) -> Array:
    joint, mass = (_masses(model)[:, None] * model.embedding_).T, _marginal(model)[:, None]
    P = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), model.row_distribution_)
    return P.astype(model.embedding_.dtype)


def column_embedding(model: FittedModel) -> Array:
    P = _marginal(model)
    posteriors = normalise((P[:, None] * model.components_).T, axis=1, otherwise=P)
    return posteriors.astype(model.components_.dtype)


def joint_distribution(model: FittedModel, rows: ArrayLike, columns: ArrayLike) -> Array:
    mass, A, B = _masses(model), model.embedding_, model.components_.T
    i, j = positions(rows, len(A), "row"), positions(columns, len(B), "column")
    try:
        i, j = np.broadcast_arrays(i, j)
    except ValueError as error:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{i.shape} {j.shape}"
        ) from error
    P, flat = np.empty(i.size, dtype=A.dtype), (i.ravel(), j.ravel())
    for first in range(0, i.size, step := max(1, CHUNK_SIZE // A.shape[1])):
        some = slice(first, first + step)
        of_rows, of_columns = (index[some] for index in flat)
        P[some] = mass[of_rows] * np.einsum("lk,lk->l", A[of_rows], B[of_columns])
    return P.reshape(i.shape)


def row_log_likelihood(model: FittedModel, X: TableLike) -> Array:
    table = model._read_rows(X)
    weights, mixtures = model._mixture_prior()
    if not len(weights):
        raise NoRowsError
    factors = Factors(mixtures, model.components_.T)
    predictor = with_background(factors, model.unigram_, model.smoothing_)
    return model._run_with_threads(lambda X: log_likelihoods(X, weights, predictor), table)


def _masses(model: FittedModel) -> Array:
    """Return P(x_i), (N,); NoRowsError where rows are not kept."""
    check_is_fitted(model)
    if not len(model.embedding_):
        raise NoRowsError
    return model.row_distribution_


def _marginal(model: FittedModel) -> Array:
    return np.asarray(_masses(model) @ model.embedding_)


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


def n_parameters(model: FittedModel) -> int:
    check_is_fitted(model)
    if not len(model.embedding_):
        raise AttributeError(
            "n_parameters_ counts the training rows, which are not kept where a table is read in "
            "blocks."
        )
    return _free(model, len(model.embedding_))


def aic(model: FittedModel, X: TableLike) -> float:
    log_likelihood, _, free = _evidence(model, X)
    return 2 * (free - log_likelihood)


def bic(model: FittedModel, X: TableLike) -> float:
    log_likelihood, n_tokens, free = _evidence(model, X)
    return free * float(np.log(n_tokens)) - 2 * log_likelihood


def _evidence(model: FittedModel, X: TableLike) -> tuple[float, float, int]:
    """Return the sum of log P(x, y), in nats, and the numbers of tokens and free parameters."""
    check_is_fitted(model)
    if isinstance(X, Dyads):
        samples, weights = model._score_samples(X)
        n_rows, sizes = len(model.embedding_), np.bincount(X.rows, weights)
    else:
        rows = model._read_rows(X)
        samples, weights = score_rows(rows, model._predictor(rows))
        n_rows, sizes = len(weights), weights
    total = float(weights.sum())
    if not total:
        raise ValueError("X has no tokens to score: all entries are zero.")
    counted = weights > 0  # an impossible token of weight zero would give NaN
    given_rows, shares = float(np.sum(weights[counted] * samples[counted])), sizes / total
    log_likelihood = given_rows + total * float(np.sum(shares * log(shares)))
    return log_likelihood, total, _free(model, n_rows)


def _free(model: FittedModel, n_rows: int) -> int:
    """Return the number of free parameters of P(y given x) and P(x)."""
    free: int = model._fitted_model.free_parameters(model._state.params, n_rows)
    return free + n_rows - 1
