"""The genes of a model: which are fitted, under which names, and where other cells have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.anndata.counts import entry
from skcooc.inspection.unwrapping import Unwrapped, layers
from skcooc.protocol import Array

if TYPE_CHECKING:
    from anndata import AnnData
    from pandas import Index


def chosen(adata: AnnData, mask_var: str | ArrayLike | None) -> Array:
    """Positions of the genes that a model is fitted to."""
    if mask_var is None:
        return np.arange(adata.n_vars)
    if isinstance(mask_var, str):
        mask_var = entry(adata.var, mask_var, "column", "adata.var")
    mask = np.asarray(mask_var)
    if mask.shape != (adata.n_vars,) or mask.dtype != bool:
        raise ValueError(
            f"mask_var should be a column of adata.var, or of shape ({adata.n_vars},), and bool."
        )
    if not mask.any():
        raise ValueError("mask_var chooses no gene.")
    return np.flatnonzero(mask)


def learn(model: Any, names: Index) -> None:
    """Have a fitted model know the names of its columns, as it would of those of a data frame."""
    for layer in layers(model):
        if layer.before:
            layer.before[0].feature_names_in_ = np.asarray(names, dtype=object)
            return
        if not hasattr(layer.model, "steps"):  # a pipeline has those of its first step
            layer.model.feature_names_in_ = np.asarray(names, dtype=object)


def fitted(adata: AnnData, model: Any) -> Array:
    """Positions of the genes that a model was fitted to, by their names, where it knows them.

    ValueError where some are not there.
    """
    known = next((of for layer in layers(model) if (of := _names(layer.model)) is not None), None)
    if known is None:
        return _all(adata, model)
    if np.array_equal(known, adata.var_names):
        return np.arange(adata.n_vars)
    if not adata.var_names.is_unique or len(set(known)) < len(known):
        raise ValueError(
            "adata.var_names are other names than those fitted, or in another order, and genes "
            "cannot be found by names that some of them share: use adata.var_names_make_unique() "
            "of all cells, before the fit."
        )
    places = adata.var_names.get_indexer(known)
    if (places < 0).any():
        raise ValueError(_lacking(model, known, known[places < 0]))
    return np.asarray(places)


def of_columns(found: Unwrapped, names: Index) -> Array | None:
    """Which of the genes are the columns of the model inside; None where its steps do not say."""
    if not found.before:
        return np.arange(len(names))
    columns = found.column_names()
    if not names.is_unique or not np.isin(columns, names).all():
        return None
    return np.asarray(names.get_indexer(columns))


def _names(model: Any) -> Array | None:
    return getattr(model, "feature_names_in_", None)


def _all(adata: AnnData, model: Any) -> Array:
    """All genes, for a model without their names; ValueError where they are not as many."""
    if adata.n_vars != model.n_features_in_:
        raise ValueError(
            f"adata has {adata.n_vars} genes, but {type(model).__name__} was fitted to "
            f"{model.n_features_in_} without their names: give the AnnData of these genes alone, "
            "such as adata[:, genes].copy(), or fit by fit_topics, which keeps names."
        )
    return np.arange(adata.n_vars)


def _lacking(model: Any, known: Array, missing: Array) -> str:
    first = ", ".join(map(repr, missing[:3].tolist()))
    cure = (
        "Are names of one kind in both, such as symbols or identifiers?"
        if len(missing) == len(known)
        else "Fit to the genes that both have; or, where these were looked for and have no counts, "
        "add them: anndata.concat([adata, cells_fitted[:0]], join='outer', fill_value=0)."
    )
    return (
        f"The feature names should match those that were passed during fit: adata lacks "
        f"{len(missing)} of the {len(known)} genes that {type(model).__name__} was fitted to, the "
        f"first of them {first}. {cure}"
    )
