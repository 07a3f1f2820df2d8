"""What all of inspection asks a model for: fitted attributes, and names."""

from __future__ import annotations

from numbers import Integral
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.hierarchy import Tree
from skcooc.protocol import Array, FactorModel

HOW_MANY = [Interval(Integral, 0, None, closed="left")]  # columns or rows of each component


class TreeModel(FactorModel, Protocol):
    """A fitted hierarchy of clusters, with V nodes."""

    tree_: Tree
    node_weights_: Array  # (V,): P(v)
    labels_: Array  # (N,): cluster of each row


def column_names(model: object, n_columns: int, feature_names: ArrayLike | None) -> Array:
    """Names of the columns: those given, those seen in fit, or numbers."""
    if feature_names is None:
        numbered = [f"x{j}" for j in range(n_columns)]
        feature_names = getattr(model, "feature_names_in_", numbered)
    return named(feature_names, n_columns, "feature_names", "columns")


def row_names_of(n_rows: int, row_names: ArrayLike | None) -> Array:
    """Names of the rows: those given, or their positions."""
    if row_names is None:
        return np.arange(n_rows)
    return named(row_names, n_rows, "row_names", "rows")


def check_has(model: object, *attributes: str) -> None:
    """Check that a model is fitted and has attributes, such as ``tree_``.

    NotFittedError where an estimator has not been fitted; TypeError where its kind has none.
    """
    for attribute in attributes:
        if not hasattr(model, attribute):
            check_is_fitted(model)
            raise TypeError(f"{type(model).__name__} has no {attribute}")


def most_probable(components: Array, n: int) -> Array:
    """The n columns of largest P(y given z), (K, n); of equals, those that come first."""
    return np.argsort(-components, axis=1, kind="stable")[:, :n]


def named(names: ArrayLike, n: int, parameter: str, what: str) -> Array:
    """The names as an array; ValueError where there are not n of them."""
    checked = np.asarray(names, dtype=object)
    if checked.shape != (n,):
        raise ValueError(f"{parameter} has shape {checked.shape}, but the model has {n} {what}")
    return checked
