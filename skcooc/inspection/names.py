"""What all of inspection asks a model for: fitted attributes, and names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.protocol import Array


def column_names(model: Any, n_columns: int, feature_names: ArrayLike | None) -> Array:
    """Names of the columns: those given, those seen in fit, or numbers."""
    if feature_names is None:
        numbered = [f"x{j}" for j in range(n_columns)]
        feature_names = getattr(model, "feature_names_in_", numbered)
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_columns,):
        raise ValueError(
            f"feature_names has shape {names.shape}, but the model has {n_columns} columns"
        )
    return names


def row_names_of(n_rows: int, row_names: ArrayLike | None) -> Array:
    """Names of the rows: those given, or their positions."""
    if row_names is None:
        return np.arange(n_rows)
    names = np.asarray(row_names, dtype=object)
    if names.shape != (n_rows,):
        raise ValueError(f"row_names has shape {names.shape}, but the model has {n_rows} rows")
    return names


def fitted(model: Any, attribute: str) -> Any:
    """An attribute of a fitted model, such as ``tree_``.

    Raises
    ------
    NotFittedError
        Where the model is an estimator that has not been fitted.
    TypeError
        Where fitted models of this kind have no such attribute.
    """
    if not hasattr(model, attribute):
        check_is_fitted(model)
        raise TypeError(f"{type(model).__name__} has no {attribute}")
    return getattr(model, attribute)
