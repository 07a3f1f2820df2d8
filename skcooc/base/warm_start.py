"""Checks of warm starts: same table, parameters and shape as the fit before."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from skcooc.em import State
from skcooc.em.stages import unknown_rows
from skcooc.fitting import Recipe
from skcooc.fitting.fit import distributed
from skcooc.heldout.validation import add_one_unigram
from skcooc.protocol import Array, Counts

REMEDY = "Set warm_start=False to start anew."
# Parameters that may change before a fit that was cut short goes on, since its seeds are kept.
FREE = {"n_jobs", "random_state", "warm_start"}
# Those that may change, too, if a fit has ended: each iteration is what it would have been.
HOW_LONG = {"max_iter", "tol", "n_init"}

Parameters = Mapping[str, object]  # of an estimator when it was fitted


class Known(NamedTuple):
    """Fingerprint of a table: its type, and the shares of columns and rows."""

    dtype: np.dtype
    unigram: Array
    row_distribution: Array

    def is_of(self, X: Counts) -> bool:
        """Return whether X has this fingerprint."""
        dtype, unigram, shares = known_of(X)
        fitted = self.row_distribution
        same_rows = shares.shape == fitted.shape and bool((shares == fitted).all())
        return same_rows and np.array_equal(unigram, self.unigram) and dtype == self.dtype


class Begun(NamedTuple):
    """Parameters and table of a fit at its beginning."""

    parameters: Parameters
    table: Known


def begun(estimator: BaseEstimator, X: Counts) -> Begun:
    return Begun(estimator.get_params(deep=False), known_of(X))


def known_of(X: Counts) -> Known:
    """Return the fingerprint of a table."""
    return Known(X.dtype, add_one_unigram(X.column_sums, X.mean_count_weight), distributed(X)[1])


def is_same_run(estimator: BaseEstimator, fitted: Parameters, X: Counts) -> bool:
    """Return whether EM would continue the last fit exactly."""
    known = Known(estimator.components_.dtype, estimator.unigram_, estimator.row_distribution_)
    return not changed(estimator, fitted, HOW_LONG) and known.is_of(X)


def changed(
    estimator: BaseEstimator, fitted: Parameters, free: Set[str] = frozenset()
) -> list[str]:
    """Return the names of parameters changed since the last fit, less those free."""
    asked = estimator.get_params(deep=False)
    names = [name for name in asked if name not in FREE | free]
    return [name for name in names if joblib.hash(asked[name]) != joblib.hash(fitted[name])]


def check_as_before(estimator: BaseEstimator, fitted: Parameters, same_table: bool) -> None:
    """Raise ValueError where an interrupted fit had another table or parameters."""
    others = changed(estimator, fitted) + ["X"] * (not same_table)
    if others:
        raise ValueError(
            "A fit that was cut short goes on with the same table and parameters, but there "
            f"are other values of {', '.join(others)}. {REMEDY}"
        )


def check_shape(fitted: Parameters, recipe: Recipe, what: str, remedy: str = REMEDY) -> None:
    """Raise ValueError where the fitted model has another shape than the recipe."""
    shape = {name: fitted[name] for name in recipe.shape}
    if shape != recipe.shape:
        raise ValueError(
            f"{what} goes on from a model fitted with {shape}, but {dict(recipe.shape)} is "
            f"asked for. {remedy}"
        )


def check_columns(components: Array, X: Counts) -> None:
    """Raise ValueError where X has columns without probability in components (K, M)."""
    n_columns = components.shape[1]
    if n_columns != X.shape[1]:
        raise ValueError(
            f"warm_start=True goes on from components_ of {n_columns} columns, but X has "
            f"{X.shape[1]}. {REMEDY}"
        )
    new = np.flatnonzero((X.column_sums > 0) & ~components.any(axis=0))
    if new.size:
        raise ValueError(
            f"warm_start=True cannot go on with X: {new.size} of its columns, such as {new[0]},"
            f" have probability zero in components_. {REMEDY}"
        )


def carried_to(X: Counts, state: State) -> State:
    """Return a state in the dtype of X; equally many rows keep their mixtures."""
    params, rows = state
    params = type(params)(*(array.astype(X.dtype) for array in params))
    if len(rows) != X.shape[0]:
        return State(params, unknown_rows(params, X))
    return State(params, X.array(rows).astype(X.dtype))
