"""Cells and genes: models of the counts of an AnnData, with their topics added to it.

Install what it needs with ``pip install "skcooc[anndata]"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skcooc.inspection import models
from skcooc.inspection.models import Unwrapped
from skcooc.inspection.names import make_names
from skcooc.protocol import Array, Estimator, TableLike, refuse_class, warn
from skcooc.tables import RowBlocks, check_sparse_structure, is_collection

if TYPE_CHECKING:
    from anndata import AnnData
    from pandas import Index

__all__ = ["add_topics", "fit_topics"]

Model = TypeVar("Model", bound=BaseEstimator)
CELLS = 10_000  # of a block of a table in a file
N_VALUES = 10_000  # checked for fractions
LARGEST_LOG = 25.0  # log1p of 7e10 counts
MOST = 0.5  # share of fractions from which counts may have been normalised
FEW = 1000  # cells that are examined for units
LARGEST_RATIO = 10  # of counts
NEARLY = 0.02  # distance to integers
NEARLY_ALL = 0.9  # share of the ratios that are nearly integers
SAME_TOTAL = 1e-3  # relative difference of the sums of cells that were scaled to one total
CONTAINERS = {  # what has an AnnData inside, and what to give instead
    "Raw": "adata.raw.to_adata()",
    "MuData": "one modality, adata.mod[name]",
    "SpatialData": "one table, adata.tables[name]",
}
HINT = "Give the layer with raw counts, as in layer='counts'."


def fit_topics(
    adata: AnnData, model: Model, *, layer: str | None = None,
    mask_var: str | ArrayLike | None = None, key_added: str | None = None,
    sample_weight: ArrayLike | None = None, batch_key: str | None = None,
) -> Model:  # fmt: skip
    """Fit a model to the counts of cells, and add its topics to the AnnData.

    Parameters
    ----------
    adata : AnnData of N cells and M genes
        In memory, with dask arrays, or backed by a file. Counts in a file are read in blocks of
        cells, which need a model with ``partial_fit``.
    model : estimator
        Any estimator with ``components_`` and ``transform``, or a meta-estimator with one inside.
        It is fitted itself, and no clone. Mixtures and components of other libraries are
        normalised. Seeds of a `GuidedAspectModel` are names of genes.
    layer : str, default=None
        The layer with raw counts. None means ``adata.X``.
    mask_var : str or array-like of shape (M,), bool, default=None
        Genes to fit, such as "highly_variable", a column of ``adata.var``. None means all.
    key_added : str, default=None
        Key of all that is added. None means those below.
    sample_weight : array-like of shape (N,), default=None
        Weight of each cell.
    batch_key : str, default=None
        Column of ``adata.obs`` with the batch of each cell, which becomes the ``groups`` of a
        `GuidedAspectModel` with ``group_effects="columns"``: mixtures are free of its effects.

    Returns
    -------
    model : estimator
        The same object, fitted, with the names of the genes as ``feature_names_in_``, and, where
        the cells were in memory, their names as ``row_names_in_`` of models of this package. The
        AnnData gets, if ``key_added`` is None,

        ``obsm["X_topics"]`` : array of shape (N, K)
            P(topic given cell).
        ``varm["topics"]`` : array of shape (M, K)
            P(gene given topic), zero for genes that are left out.
        ``uns["topics"]`` : dict
            Names of the topics by :func:`skcooc.inspection.name_topics` (``names``), their shares
            of all counts (``shares``), the shares of the cells whose largest topic they are
            (``cells``), and the options of the call (``params``).

    Raises
    ------
    KeyError, ValueError, TypeError
        If there is no such layer or column, counts are negative, or the estimator lacks a method.

    Warns
    -----
    UserWarning
        If most counts are no whole numbers and either none is above 25, all cells have the same
        total, or counts of each cell are multiples of a number of its own, as after
        ``scanpy.pp.normalize_total``. Only the first cells of a file are checked, and no dask
        arrays. Also if a pipeline does not tell which genes it keeps: there is no ``varm`` then.

    See Also
    --------
    add_topics : Topics of further cells.
    skcooc.inspection.Mixtures : Show the cells of an AnnData without the model.
    skcooc.inspection.distinguishing_features : Genes that tell topics apart, with intervals.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from skcooc.anndata import fit_topics
    >>> from skcooc import AspectModel, datasets
    >>> adata = AnnData(datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X)
    >>> model = fit_topics(adata, AspectModel(n_components=3, random_state=0))
    >>> adata.obsm["X_topics"].shape, adata.varm["topics"].shape
    ((60, 3), (40, 3))
    """
    refuse_class(model, "model")
    check_adata(adata)
    if not hasattr(model, "transform"):
        raise TypeError(
            f"{type(model).__name__} has no transform, which gives the mixtures of cells. "
            "Pipelines have it if their last step has, and searches with refit=True."
        )
    genes = select_genes(adata, mask_var)
    X = read_counts(adata, layer, genes)
    names = adata.var_names[genes]
    if isinstance(X, RowBlocks) and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit, which is needed to fit cells in a file: "
            "load them into memory with adata.to_memory()."
        )
    if batch_key is None and _has_group_effects(model):
        raise TypeError(f"{model} needs the batches of the cells: give batch_key.")
    options = {"sample_weight": sample_weight, "groups": _batches(adata, model, batch_key)}
    is_nameless = getattr(model, "seed_features", None) and model.feature_names is None
    if is_nameless:
        model.set_params(feature_names=np.asarray(names))
    try:
        with warnings.catch_warnings():  # read_counts has said so
            warnings.filterwarnings("ignore", "X holds (logarithms|shares of rows)", UserWarning)
            model.fit(X, **{name: value for name, value in options.items() if value is not None})
    finally:
        if is_nameless:  # the next AnnData may have other genes
            model.set_params(feature_names=None)
    set_names(model, adata.obs_names, names)
    unwrapped = models.unwrap(model, "components_")
    fitted = getattr(unwrapped.model, "embedding_", ())
    mixtures = np.array(fitted) if len(fitted) == adata.n_obs else _fold_in(unwrapped, X)
    column = mask_var if isinstance(mask_var, str) else None
    params = {"layer": layer, "mask_var": column, "batch_key": batch_key}
    counts = row_sums(X) * (1 if sample_weight is None else np.asarray(sample_weight))
    _add(adata, unwrapped, genes, mixtures, counts, key_added, params)
    return model


def add_topics(
    adata: AnnData, model: Estimator, *, layer: str | None = None, key_added: str | None = None,
    batch_key: str | None = None,
) -> None:  # fmt: skip
    """Add the mixtures of further cells under a fitted model.

    Parameters
    ----------
    adata : AnnData of n cells
        With the genes fitted, found by their names; a model without names takes all genes.
    model : fitted estimator
        As returned by ``fit_topics``; or ``consensus_`` of an average, for the cells fitted.
    layer, key_added
        See :func:`fit_topics`. The AnnData gets the same entries, with shares of its own counts and
        zeros for genes that were not fitted. ValueError if genes that were fitted are missing.
    batch_key : str, default=None
        See :func:`fit_topics`. Without it the factors of a model of batches are left out, with a
        warning; so they are for cells of other batches than those fitted.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from skcooc.anndata import add_topics, fit_topics
    >>> from skcooc import AspectModel, datasets
    >>> X = datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> known, further = AnnData(X[:50]), AnnData(X[50:])
    >>> add_topics(further, fit_topics(known, AspectModel(n_components=3, random_state=0)))
    >>> further.obsm["X_topics"].shape
    (10, 3)
    """
    check_adata(adata)
    unwrapped = models.unwrap(model, "components_")
    genes = find_fitted_genes(adata, model)
    X = read_counts(adata, layer, genes)
    mixtures = _fold_in(unwrapped, X, _batches(adata, unwrapped.model, batch_key))
    params = {"layer": layer, "batch_key": batch_key}
    _add(adata, unwrapped, genes, mixtures, row_sums(X), key_added, params)


def _fold_in(unwrapped: Unwrapped, X: TableLike, batches: Array | None = None) -> Array:
    """Mixtures of cells, (N, K), by the model inside; of a consensus, those of the cells fitted."""
    model = unwrapped.model
    if not hasattr(model, "transform"):
        sums = row_sums(X)
        fitted = model.row_distribution_
        if sums.shape != fitted.shape or not np.allclose(sums / sums.sum(), fitted, 1e-3):
            raise ValueError(
                f"{type(model).__name__} has no transform: give the cells and the layer fitted."
            )
        return np.array(model.embedding_)
    with models.ignore_name_warning():
        blocks = [unwrapped.table(block) for block in (X if isinstance(X, RowBlocks) else [X])]
    first = 0
    parts = []
    for block in blocks:
        last = first + block.shape[0]
        options = {} if batches is None else {"groups": batches[first:last]}
        parts.append(models.call_on_counts(model, "transform", block, **options))
        first = last
    mixtures = np.vstack(parts)
    return mixtures if hasattr(model, "embedding_") else models.mixtures_of(model, mixtures)


def _batches(adata: AnnData, model: BaseEstimator, batch_key: str | None) -> Array | None:
    """Return the batch of each cell, (N,), None where it is missing; None without a key."""
    if batch_key is None:
        return None
    if not _has_group_effects(model):
        raise TypeError(
            f"batch_key={batch_key!r} needs a model of groups, such as GuidedAspectModel("
            f'group_effects="columns"), got {model}.'
        )
    if batch_key not in adata.obs:
        raise KeyError(f"batch_key={batch_key!r} is not a column of adata.obs.")
    batches = adata.obs[batch_key].astype(object)
    return np.asarray(batches.where(batches.notna(), None), dtype=object)


def _has_group_effects(model: BaseEstimator) -> bool:
    """Whether a model, or that of a search, has effects of groups."""
    return bool(getattr(getattr(model, "estimator", model), "group_effects", None))


def _add(
    adata: AnnData,
    unwrapped: Unwrapped,
    genes: Array,
    mixtures: Array,
    counts: Array,
    key_added: str | None,
    params: dict[str, str | None],
) -> None:
    """Add mixtures of cells (N, K), components by gene (M, K), and facts about topics."""
    model = unwrapped.model
    shares = models.distributions(counts[None])[0] @ mixtures
    cells = np.bincount(mixtures[counts > 0].argmax(axis=1), minlength=len(shares))
    components = np.asarray(model.components_)
    if not hasattr(model, "embedding_"):
        components = models.distributions(components)
    adata.obsm[key_added or "X_topics"] = mixtures
    columns = genes_of_columns(unwrapped, adata.var_names[genes])
    if columns is None:
        warn(
            f"The steps before {type(model).__name__} lack get_feature_names_out, so that the "
            "genes of its columns are unknown: no topics are written to adata.varm."
        )
    else:
        by_gene = np.zeros((adata.n_vars, mixtures.shape[1]), dtype=mixtures.dtype)
        by_gene[genes[columns]] = components.T
        adata.varm[key_added or "topics"] = by_gene
    params = {"model": type(model).__name__, **params}
    if hasattr(model, "row_distribution_"):
        weights = models.topic_weights(model)
    else:
        weights = np.full(len(components), 1 / len(components))
    names = make_names(model, components.astype(float), weights, unwrapped.column_names())
    adata.uns[key_added or "topics"] = {
        "names": np.asarray(names, dtype=object),
        "shares": shares,
        "cells": cells / max(cells.sum(), 1),
        "params": {name: value for name, value in params.items() if value is not None},
    }


@dataclass(frozen=True)
class _BackedRows:
    X: Any
    genes: Array
    shape: tuple[int, int]

    def __len__(self) -> int:
        return -(-self.shape[0] // CELLS)

    def __iter__(self) -> Iterator[TableLike]:
        for first in range(0, self.shape[0], CELLS):
            yield _columns(self.X[first : first + CELLS], self.genes)


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


def get_entry(entries: Mapping[str, Any], key: str, kind: str, name: str) -> Any:
    """The value of a key; KeyError with all keys if it is missing."""
    if key not in entries:
        keys = ", ".join(repr(entry) for entry in entries if entry is not None) or "none"
        raise KeyError(f"There is no {kind} {key!r} in {name}, which has: {keys}.")
    return entries[key]


def row_sums(X: TableLike) -> Array:
    if is_collection(X):  # dask cannot add up sparse chunks
        return np.asarray(X.map_blocks(row_sums, drop_axis=1, dtype=np.float64))
    blocks = map(_checked, X if isinstance(X, RowBlocks) else [X])
    return np.concatenate([np.asarray(block.sum(axis=1)).ravel() for block in blocks])


def _checked(X: Any) -> Any:
    return check_sparse_structure(X, "The table of counts in adata")


def _columns(X: Any, genes: Array) -> Any:
    X = _checked(X)
    return X if np.array_equal(genes, np.arange(X.shape[1])) else X[:, genes]


def _check(X: Any, genes: Array) -> None:
    counts = _columns(X, genes)
    values = counts.data if sp.issparse(counts) else np.asarray(counts).ravel()
    lowest = values.min(initial=0)
    if lowest < 0:
        raise ValueError(f"Counts are negative, such as {lowest:g}: they were scaled. {HINT}")
    sample = values[:N_VALUES]
    sample = sample[sample > 0]
    if not len(sample) or np.mean(sample != np.floor(sample)) < MOST:
        return
    sums = row_sums(X)
    sums = sums[sums > 0]
    if values.max(initial=0) < LARGEST_LOG:
        reason = f"log-normalised (not whole numbers, largest below {LARGEST_LOG:g})"
    elif len(sums) > 1 and np.ptp(sums) <= SAME_TOTAL * sums.max():
        reason = "normalised: not whole numbers, and all cells have the same total"
    elif _have_units(counts):
        reason = "normalised: the counts of each cell are multiples of a number of its own"
    else:
        return
    warn(f"X looks {reason}. skcooc models raw counts. {HINT}")


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


def check_adata(adata: object) -> None:
    if (kind := type(adata).__name__) in CONTAINERS:
        raise TypeError(f"adata should be an AnnData, got {kind}: give {CONTAINERS[kind]}.")
    if not hasattr(adata, "n_vars"):
        raise TypeError(
            f"adata should be an AnnData, got {type(adata).__name__}: give anndata.AnnData(X) "
            "before the model. Install it with `pip install 'skcooc[anndata]'`."
        )
    if getattr(adata, "isbacked", False) and getattr(adata, "is_view", False):
        raise ValueError(
            "adata is a part of a file, to which nothing can be added: give adata.to_memory()."
        )


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


def set_names(model: Any, cells: Index, genes: Index) -> None:
    """Set the names of the rows and columns of a fitted model, as a fit to a data frame does."""
    layers = list(models.layers(model))
    for layer in layers:
        schema = getattr(layer.model, "_schema", None)
        if schema is not None and schema.shape[0] == len(cells):  # not of a table in a file
            row_names = np.array(cells, dtype=object)
            layer.model._schema = replace(schema, row_names=row_names)
    for layer in layers:
        if layer.steps:
            layer.steps[0].feature_names_in_ = np.array(genes, dtype=object)
            return
        if not hasattr(layer.model, "steps"):  # a pipeline has those of its first step
            layer.model.feature_names_in_ = np.array(genes, dtype=object)


def find_fitted_genes(adata: AnnData, model: Any) -> Array:
    """Positions of the genes that a model was fitted to, by name if it has names."""
    names = (getattr(layer.model, "feature_names_in_", None) for layer in models.layers(model))
    fitted = next((genes for genes in names if genes is not None), None)
    if fitted is None and adata.n_vars != model.n_features_in_:
        raise ValueError(
            f"adata has {adata.n_vars} genes, but {type(model).__name__} was fitted to "
            f"{model.n_features_in_} without their names: give the AnnData of these genes alone, "
            "such as adata[:, genes].copy(), or fit by fit_topics, which keeps names."
        )
    if fitted is None or np.array_equal(fitted, adata.var_names):
        return np.arange(adata.n_vars)
    if not adata.var_names.is_unique or len(set(fitted)) < len(fitted):
        raise ValueError(
            "adata.var_names differ from those fitted, or are in another order, and are not "
            "unique, so genes cannot be matched by name: call adata.var_names_make_unique() on all "
            "cells before the fit."
        )
    places = adata.var_names.get_indexer(fitted)
    if (places < 0).any():
        missing = fitted[places < 0]
        first = ", ".join(map(repr, missing[:3].tolist()))
        hint = (
            "Are names of one kind in both, such as symbols or identifiers?"
            if len(missing) == len(fitted)
            else "If these genes were measured and have no counts, add them: "
            "anndata.concat([adata, cells_fitted[:0]], join='outer', fill_value=0). Otherwise fit "
            "to the genes that both have; GuidedAspectModel(fixed_components=...) keeps the topics."
        )
        raise ValueError(
            f"The feature names should match those that were passed during fit: adata lacks "
            f"{len(missing)} of the {len(fitted)} genes that {type(model).__name__} was fitted to, "
            f"the first of them {first}. {hint}"
        )
    return np.asarray(places)


def genes_of_columns(unwrapped: Unwrapped, names: Index) -> Array | None:
    """Positions of the genes of the columns of the model inside; None if unknown."""
    if not unwrapped.steps:
        return np.arange(len(names))
    columns = unwrapped.column_names()
    if not names.is_unique or not np.isin(columns, names).all():
        return None
    return np.asarray(names.get_indexer(columns))
