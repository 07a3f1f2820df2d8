"""Models of the counts of cells, whose topics are added to the AnnData."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skcooc.anndata.counts import (
    check_adata,
    find_fitted_genes,
    genes_of_columns,
    read_counts,
    row_sums,
    select_genes,
    set_gene_names,
)
from skcooc.inspection.models import (
    Unwrapped,
    call_on_counts,
    distributions,
    ignore_name_warning,
    topic_weights,
    unwrap,
)
from skcooc.inspection.names import make_names
from skcooc.protocol import Array, Estimator, TableLike
from skcooc.tables import RowBlocks

if TYPE_CHECKING:
    from anndata import AnnData

Model = TypeVar("Model", bound=BaseEstimator)


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
        The same object, fitted, with the names of the genes as ``feature_names_in_``. The AnnData
        gets, if ``key_added`` is None,

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
    skcooc.inspection.Mixtures : Show the cells of an AnnData without the model.
    skcooc.inspection.distinguishing_features : Genes that tell topics apart, with intervals.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from skcooc import AspectModel
    >>> from skcooc.anndata import fit_topics
    >>> from skcooc.datasets import make_cooccurrences
    >>> adata = AnnData(make_cooccurrences(60, 40, n_components=3, random_state=0).X)
    >>> model = fit_topics(adata, AspectModel(n_components=3, random_state=0))
    >>> adata.obsm["X_topics"].shape, adata.varm["topics"].shape
    ((60, 3), (40, 3))
    """
    check_adata(adata)
    if isinstance(model, type):
        raise TypeError(f"model is a class: give an instance, {model.__name__}(...).")
    if not hasattr(model, "transform"):
        raise TypeError(
            f"{type(model).__name__} has no transform, which gives the mixtures of cells. "
            "Pipelines have it if their last step has, and searches with refit=True."
        )
    genes = select_genes(adata, mask_var)
    X, names = read_counts(adata, layer, genes), adata.var_names[genes]
    if isinstance(X, RowBlocks) and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit, by which cells in a file are fitted: "
            "bring them into memory, by adata.to_memory()."
        )
    given = {"sample_weight": sample_weight, "groups": _batches(adata, model, batch_key)}
    if getattr(model, "seed_features", None) and model.feature_names is None:
        model.set_params(feature_names=np.asarray(names))
    model.fit(X, **{name: value for name, value in given.items() if value is not None})
    set_gene_names(model, names)
    found = unwrap(model, "components_")
    kept = getattr(found.model, "embedding_", ())
    mixtures = np.asarray(kept) if len(kept) == adata.n_obs else _fold_in(found, X)
    options = {
        "layer": layer,
        "mask_var": mask_var if isinstance(mask_var, str) else None,
        "batch_key": batch_key,
    }
    counts = row_sums(X) * (1 if sample_weight is None else np.asarray(sample_weight))
    _add(adata, found, genes, mixtures, counts, key_added, options)
    return model


def add_topics(
    adata: AnnData, model: Estimator, *, layer: str | None = None, key_added: str | None = None
) -> None:
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

    Examples
    --------
    >>> from anndata import AnnData
    >>> from skcooc import AspectModel
    >>> from skcooc.anndata import add_topics, fit_topics
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> known, further = AnnData(X[:50]), AnnData(X[50:])
    >>> add_topics(further, fit_topics(known, AspectModel(n_components=3, random_state=0)))
    >>> further.obsm["X_topics"].shape
    (10, 3)
    """
    check_adata(adata)
    found = unwrap(model, "components_")
    genes = find_fitted_genes(adata, model)
    X = read_counts(adata, layer, genes)
    _add(adata, found, genes, _fold_in(found, X), row_sums(X), key_added, {"layer": layer})


def _fold_in(found: Unwrapped, X: TableLike) -> Array:
    """Mixtures of cells, (N, K), by the model inside; of a consensus, those of the cells fitted."""
    if not hasattr(found.model, "transform"):
        shares, fitted = row_sums(X), found.model.row_distribution_
        if shares.shape != fitted.shape or not np.allclose(shares / shares.sum(), fitted, 1e-3):
            kind = type(found.model).__name__
            raise ValueError(f"{kind} has no transform: give the cells and the layer fitted.")
        return np.asarray(found.model.embedding_)
    with ignore_name_warning():
        blocks = [found.table(block) for block in (X if isinstance(X, RowBlocks) else [X])]
    mixtures = np.vstack([call_on_counts(found.model, "transform", block) for block in blocks])
    return mixtures if hasattr(found.model, "embedding_") else distributions(mixtures)


def _batches(adata: AnnData, model: BaseEstimator, batch_key: str | None) -> Array | None:
    """Return the batch of each cell, (N,), None where it is missing; None without a key."""
    if batch_key is None:
        return None
    if not getattr(model, "group_effects", None):
        raise TypeError(
            f"batch_key={batch_key!r} needs a model of groups, such as GuidedAspectModel("
            f'group_effects="columns"), got {model}.'
        )
    if batch_key not in adata.obs:
        raise KeyError(f"batch_key={batch_key!r} is no column of adata.obs.")
    batches = adata.obs[batch_key].astype(object)
    return np.asarray(batches.where(batches.notna(), None), dtype=object)


def _add(
    adata: AnnData, found: Unwrapped, genes: Array, mixtures: Array, counts: Array,
    key_added: str | None, options: dict[str, str | None],
) -> None:  # fmt: skip
    """Add mixtures of cells (N, K), components by gene (M, K), and facts about topics."""
    model, shares = found.model, counts / counts.sum() @ mixtures
    cells = np.bincount(mixtures[counts > 0].argmax(axis=1), minlength=len(shares))
    components = _components(model)
    adata.obsm[key_added or "X_topics"] = mixtures
    columns = genes_of_columns(found, adata.var_names[genes])
    if columns is None:
        warnings.warn(
            f"The steps before {type(model).__name__} do not say by get_feature_names_out which "
            "genes its columns are: adata.varm has no topics.",
            UserWarning,
            stacklevel=3,
        )
    else:
        by_gene = np.zeros((adata.n_vars, mixtures.shape[1]), dtype=mixtures.dtype)
        by_gene[genes[columns]] = components.T
        adata.varm[key_added or "topics"] = by_gene
    params = {"model": type(model).__name__, **options}
    adata.uns[key_added or "topics"] = {
        "names": np.asarray(_names(found, components), dtype=object),
        "shares": shares,
        "cells": cells / max(cells.sum(), 1),
        "params": {name: value for name, value in params.items() if value is not None},
    }


def _components(model: Any) -> Array:
    """P(gene given topic), (K, M)."""
    own = hasattr(model, "embedding_")
    return np.asarray(model.components_) if own else distributions(model.components_)


def _names(found: Unwrapped, components: Array) -> list[str]:
    """Names of the topics, as by `name_topics`."""
    model = found.model
    kept = hasattr(model, "row_distribution_")  # or else weights are equal
    weights = topic_weights(model) if kept else np.full(len(components), 1 / len(components))
    return make_names(model, components.astype(float), weights, found.column_names())
