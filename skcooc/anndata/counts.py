"""Counts and genes of an AnnData: which are fitted, and where other cells have these genes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from skcooc.inspection.models import Unwrapped, layers
from skcooc.protocol import Array, TableLike
from skcooc.tables import RowBlocks, is_collection

if TYPE_CHECKING:
    from anndata import AnnData
    from pandas import Index

CELLS = 10_000  # of a block of a table in a file
N_VALUES = 10_000  # checked for fractions
LARGEST_LOG = 25.0  # log1p of 7e10 counts
MOST = 0.5  # share of fractions from which counts may have been normalised
FEW = 1000  # cells that are examined for units
LARGEST_RATIO, NEARLY, NEARLY_ALL = 10, 0.02, 0.9  # of counts; distance to integers; share of them
SAME_TOTAL = 1e-3  # relative difference of the sums of cells that were scaled to one total
HINT = "Give the layer with raw counts, as in layer='counts'."


@dataclass(frozen=True)
class _BackedRows:
    X: Any
    genes: Array
    shape: tuple[int, int]

    def __len__(self) -> int:
        return -(-self.shape[0] // CELLS)

    def __iter__(self) -> Iterator[TableLike]:
        for first in range(0, self.shape[0], CELLS):
            yield self.X[first : first + CELLS][:, self.genes]


def check_adata(adata: object) -> None:
    if not hasattr(adata, "var_names"):
        raise TypeError(
            f"adata should be an AnnData, got {type(adata).__name__}: give anndata.AnnData(X). "
            "Install it with `pip install 'skcooc[anndata]'`."
        )


def read_counts(adata: AnnData, layer: str | None, genes: Array) -> TableLike:
    """The counts of genes, (N, M), with a warning if they seem to be normalised."""
    X = adata.X if layer is None else get_entry(adata.layers, layer, "layer", "adata.layers")
    if X is None:
        raise ValueError(f"adata.X is None. {HINT}")
    if is_collection(X):
        return X[:, genes]
    if not isinstance(X, np.ndarray) and not sp.issparse(X):
        _check(X[:CELLS], genes)
        return RowBlocks(_BackedRows(X, genes, (adata.n_obs, len(genes))))
    _check(X, genes)
    return _columns(X, genes)


def get_entry(entries: Mapping[str, Any], key: str, what: str, where: str) -> Any:
    """The value of a key; KeyError with all keys if it is missing."""
    if key not in entries:
        there = ", ".join(repr(name) for name in entries if name is not None) or "none"
        raise KeyError(f"There is no {what} {key!r} in {where}. There: {there}.")
    return entries[key]


def row_sums(X: TableLike) -> Array:
    blocks = X if isinstance(X, RowBlocks) else [X]
    return np.concatenate([np.asarray(block.sum(axis=1)).ravel() for block in blocks])


def _columns(X: Any, genes: Array) -> Any:
    return X if np.array_equal(genes, np.arange(X.shape[1])) else X[:, genes]


def _check(X: Any, genes: Array) -> None:
    """Check the counts of genes, and the sums of cells over all genes."""
    chosen = _columns(X, genes)
    values = chosen.data if sp.issparse(chosen) else np.asarray(chosen).ravel()
    if (least := values.min(initial=0)) < 0:
        raise ValueError(f"Counts are negative, such as {least:g}: they were scaled. {HINT}")
    few = values[:N_VALUES]
    few = few[few > 0]
    if not len(few) or np.mean(few != np.floor(few)) < MOST:
        return
    sums = row_sums(X)
    sums = sums[sums > 0]
    if values.max(initial=0) < LARGEST_LOG:
        _warn(f"log-normalised (not whole numbers, largest below {LARGEST_LOG:g})")
    elif len(sums) > 1 and np.ptp(sums) <= SAME_TOTAL * sums.max():
        _warn("normalised: not whole numbers, and all cells have the same total")
    elif _have_units(chosen):
        _warn("normalised: the counts of each cell are multiples of a number of its own")


def _have_units(X: Any) -> bool:
    """True if counts are multiples of the least one of their cell."""
    cells = sp.csr_array(X[:FEW], copy=True)
    cells.eliminate_zeros()
    if not cells.nnz:
        return False
    per_cell = np.diff(cells.indptr)
    units = np.minimum.reduceat(cells.data, cells.indptr[:-1][per_cell > 0])
    multiples = cells.data / np.repeat(units, per_cell[per_cell > 0])
    return _are_whole(multiples) and not _are_whole(units / units.min())


def _are_whole(ratios: Array) -> bool:
    small = ratios[ratios < LARGEST_RATIO]
    return bool(np.mean(np.abs(small - np.rint(small)) < NEARLY) > NEARLY_ALL)


def _warn(looks: str) -> None:
    message = f"X looks {looks}. skcooc models raw counts. {HINT}"
    warnings.warn(message, UserWarning, stacklevel=5)


def select_genes(adata: AnnData, mask_var: str | ArrayLike | None) -> Array:
    if mask_var is None:
        return np.arange(adata.n_vars)
    if isinstance(mask_var, str):
        mask_var = get_entry(adata.var, mask_var, "column", "adata.var")
    mask = np.asarray(mask_var)
    if mask.shape != (adata.n_vars,) or mask.dtype != bool:
        raise ValueError(
            f"mask_var should be bool, of shape ({adata.n_vars},), or a column of adata.var, got "
            f"{mask.dtype} of shape {mask.shape}."
        )
    if not mask.any():
        raise ValueError("mask_var selects no gene.")
    return np.flatnonzero(mask)


def set_gene_names(model: Any, names: Index) -> None:
    """Set the names of the columns of a fitted model, as a fit to a data frame does."""
    for layer in layers(model):
        if layer.steps:
            layer.steps[0].feature_names_in_ = np.asarray(names, dtype=object)
            return
        if not hasattr(layer.model, "steps"):  # a pipeline has those of its first step
            layer.model.feature_names_in_ = np.asarray(names, dtype=object)


def find_fitted_genes(adata: AnnData, model: Any) -> Array:
    """Positions of the genes that a model was fitted to, by name if it has names."""
    names = (getattr(layer.model, "feature_names_in_", None) for layer in layers(model))
    known = next((fitted for fitted in names if fitted is not None), None)
    if known is None and adata.n_vars != model.n_features_in_:
        raise ValueError(
            f"adata has {adata.n_vars} genes, but {type(model).__name__} was fitted to "
            f"{model.n_features_in_} without their names: give the AnnData of these genes alone, "
            "such as adata[:, genes].copy(), or fit by fit_topics, which keeps names."
        )
    if known is None or np.array_equal(known, adata.var_names):
        return np.arange(adata.n_vars)
    if not adata.var_names.is_unique or len(set(known)) < len(known):
        raise ValueError(
            "adata.var_names differ from those fitted, or are in another order, and are not "
            "unique, so genes cannot be matched by name: call adata.var_names_make_unique() on all "
            "cells before the fit."
        )
    places = adata.var_names.get_indexer(known)
    if (places < 0).any():
        missing = known[places < 0]
        first = ", ".join(map(repr, missing[:3].tolist()))
        cure = (
            "Are names of one kind in both, such as symbols or identifiers?"
            if len(missing) == len(known)
            else "Fit to the genes that both have; or, if these genes were measured and have no "
            "counts, add them: anndata.concat([adata, cells_fitted[:0]], join='outer', "
            "fill_value=0)."
        )
        raise ValueError(
            f"The feature names should match those that were passed during fit: adata lacks "
            f"{len(missing)} of the {len(known)} genes that {type(model).__name__} was fitted to, "
            f"the first of them {first}. {cure}"
        )
    return np.asarray(places)


def genes_of_columns(found: Unwrapped, names: Index) -> Array | None:
    """Positions of the genes of the columns of the model inside; None if unknown."""
    if not found.steps:
        return np.arange(len(names))
    columns = found.column_names()
    if not names.is_unique or not np.isin(columns, names).all():
        return None
    return np.asarray(names.get_indexer(columns))
