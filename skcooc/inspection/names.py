"""What all of inspection knows of models and of names."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from skcooc.hierarchy import Tree
from skcooc.protocol import Array, FactorModel, TableLike, refuse_anndata

HOW_MANY = [Interval(Integral, 0, None, closed="left")]  # columns or rows of each component


class TreeModel(FactorModel, Protocol):
    """A fitted hierarchy of clusters, with V nodes."""

    tree_: Tree
    node_weights_: Array  # (V,): P(v)
    labels_: Array  # (N,): cluster of each row


def row_names_of(model: Any, row_names: ArrayLike | None = None) -> Array:
    """Names of the N rows fitted: those given, those of the table fitted, or their positions."""
    n_rows = len(model.embedding_)
    if row_names is None:
        return np.asarray(getattr(model, "row_names_in_", np.arange(n_rows)))
    return named(row_names, n_rows, "row_names", "rows")


def split(X: TableLike) -> tuple[TableLike, ArrayLike | None]:
    """Counts of dyads or of a data frame, and the names of their rows; others as they are."""
    if hasattr(X, "to_csr"):
        return X.to_csr(), X.row_names
    return X, X.index if hasattr(X, "iloc") else None


def check_order(X: TableLike, model: Any) -> None:
    """ValueError where a data frame or dyads have columns of other names than were fitted."""
    names = getattr(X, "columns", None) if hasattr(X, "iloc") else getattr(X, "column_names", None)
    known = getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and not np.array_equal(names, known):
        raise ValueError("X has columns of other names, or in another order, than the model.")


def most_probable(components: Array, n: int) -> Array:
    """The n columns of largest P(y given z), (K, n); of equals, those that come first."""
    return np.argsort(-components, axis=1, kind="stable")[:, :n]


def named(names: ArrayLike, n: int, parameter: str, what: str) -> Array:
    """The names as an array; ValueError where there are not n of them, TypeError for a number."""
    if isinstance(names, Integral):
        number = "n_" + parameter.replace("_names", "s")
        raise TypeError(
            f"{parameter} should be names of the {what}, and is {names}: the number that is shown "
            f"is {number}={names}."
        )
    side = "obs_names" if parameter == "row_names" else "var_names"
    refuse_anndata(names, parameter, f"names: give adata.{side}.")
    checked = np.asarray(names, dtype=object)
    if checked.shape != (n,):
        raise ValueError(f"{parameter} has shape {checked.shape}, but the model has {n} {what}")
    return checked
