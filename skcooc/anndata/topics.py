"""A model of the counts of cells, and what the AnnData gets of it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skcooc.anndata.counts import counts_of, row_sums
from skcooc.anndata.genes import chosen, fitted, learn, of_columns
from skcooc.inspection.explorer.reading import ask, distributions
from skcooc.inspection.labels import named_topics
from skcooc.inspection.ranking import masses
from skcooc.inspection.unwrapping import Unwrapped, unnamed, unwrap
from skcooc.protocol import Array, TableLike
from skcooc.tables import RowBlocks

if TYPE_CHECKING:
    from anndata import AnnData

Model = TypeVar("Model", bound=BaseEstimator)


def fit_topics(
    adata: AnnData,
    model: Model,
    *,
    layer: str | None = None,
    mask_var: str | ArrayLike | None = None,
    key_added: str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Model:
    """Fit a model to the counts of cells, and add what it finds to the AnnData.

    Parameters
    ----------
    adata : AnnData of N cells and M genes
        In memory, with dask arrays, or backed by a file. Counts that are in the file are read in
        blocks of cells, which need a model with ``partial_fit``. Layers and raw counts that
        anndata has read are in memory.
    model : estimator
        Any estimator with ``components_`` and ``transform``; or a pipeline, a search or another
        estimator around one, whose model inside is what is shown. It is fitted itself. Of other
        libraries, mixtures and components are made to sum to one.
    layer : str, default=None
        The layer with raw counts. None means ``adata.X``.
    mask_var : str or array-like of shape (M,), bool, default=None
        Genes that the model is fitted to, such as "highly_variable", a column of ``adata.var``.
        None means all.
    key_added : str, default=None
        Name of all that is added. None means those below.
    sample_weight : array-like of shape (N,), default=None
        Weight of each cell.

    Returns
    -------
    model : estimator
        The same, fitted, with the names of the genes as ``feature_names_in_``. The AnnData itself
        has, if ``key_added`` is None,

        ``obsm["X_topics"]`` : array of shape (N, K)
            P(topic given cell).
        ``varm["topics"]`` : array of shape (M, K)
            P(gene given topic), zero of genes that are left out.
        ``uns["topics"]`` : dict
            Names of the topics (``names``), as :func:`skcooc.inspection.name_topics` makes them;
            their shares of all counts (``shares``); and what was asked for (``params``).

    Raises
    ------
    KeyError
        Where there is no such layer, or no such column of ``adata.var``.
    ValueError
        Where counts are negative, as of scaled data, or ``mask_var`` has another shape.
    TypeError
        Where the estimator has no ``transform``, or cells are in a file and it has no
        ``partial_fit``.

    Warns
    -----
    UserWarning
        Where most counts are no whole numbers, and either none is above 25, as of logarithms; or
        all cells have the same total, to a thousandth, or counts of each are multiples of a number
        of its own, as of ``scanpy.pp.normalize_total``. Totals are those of all genes. Other
        fractions, as of corrected counts, are taken as they are. Of a table in a file the first
        cells are looked at; of dask arrays none. Also where steps of a pipeline do not say which
        genes they keep: there is no ``varm`` then.

    See Also
    --------
    add_topics : The same for other cells, with a fitted model.
    skcooc.inspection.Mixtures : Cells of an AnnData, to be shown.
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
    _check_transforms(model)
    genes = chosen(adata, mask_var)
    X, names = counts_of(adata, layer, genes), adata.var_names[genes]
    _check_blocks(model, X)
    model.fit(X, **({} if sample_weight is None else {"sample_weight": sample_weight}))
    learn(model, names)
    found = unwrap(model, "components_")
    kept = getattr(found.model, "embedding_", ())
    mixtures = np.asarray(kept) if len(kept) == adata.n_obs else _folded_in(found, X)
    asked = {"layer": layer, "mask_var": mask_var if isinstance(mask_var, str) else None}
    counts = row_sums(X) * (1 if sample_weight is None else np.asarray(sample_weight))
    _add(adata, found, genes, mixtures, counts, key_added, asked)
    return model


def add_topics(
    adata: AnnData,
    model: BaseEstimator,
    *,
    layer: str | None = None,
    key_added: str | None = None,
) -> None:
    """Add the mixtures of further cells under a fitted model.

    Parameters
    ----------
    adata : AnnData of n cells
        With the genes fitted, which are found by their names, in any order and among others. A
        model that knows no names takes all genes, in their order.
    model : fitted estimator
        As ``fit_topics`` returns it.
    layer, key_added
        As for :func:`fit_topics`. The AnnData gets the same; shares are those of its own counts,
        and genes that were not fitted have zeros.

    Raises
    ------
    KeyError, ValueError
        As for :func:`fit_topics`; also where genes that were fitted are lacking.
    TypeError
        Where the model has no ``components_``.

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
    found = unwrap(model, "components_")
    genes = fitted(adata, model)
    X = counts_of(adata, layer, genes)
    mixtures = _folded_in(found, X)
    _add(adata, found, genes, mixtures, row_sums(X), key_added, {"layer": layer})


def _check_transforms(model: Any) -> None:
    """TypeError where a model would have no mixtures, before it is fitted for hours."""
    if not hasattr(model, "transform"):
        raise TypeError(
            f"{type(model).__name__} has no transform, which gives the mixtures of cells. "
            "Pipelines have it where their last step has, and searches with refit=True."
        )


def _check_blocks(model: Any, X: TableLike) -> None:
    """TypeError where a model cannot read cells in blocks."""
    if isinstance(X, RowBlocks) and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit, by which cells in a file are fitted: "
            "bring them into memory, by adata.to_memory()."
        )


def _folded_in(found: Unwrapped, X: TableLike) -> Array:
    """Mixtures of cells, (N, K), by the model inside."""
    with unnamed():
        blocks = [found.table(block) for block in (X if isinstance(X, RowBlocks) else [X])]
    mixtures = np.vstack([ask(found.model, "transform", block) for block in blocks])
    return mixtures if hasattr(found.model, "embedding_") else distributions(mixtures)


def _add(
    adata: AnnData, found: Unwrapped, genes: Array, mixtures: Array, counts: Array,
    key_added: str | None, asked: dict[str, str | None],
) -> None:  # fmt: skip
    """What a model has found: of cells (N, K), of genes (M, K), and of topics."""
    model, shares = found.model, counts / counts.sum() @ mixtures
    adata.obsm[key_added or "X_topics"] = mixtures
    columns = of_columns(found, adata.var_names[genes])
    if columns is None:
        _warn_of_columns(model)
    else:
        components = np.zeros((adata.n_vars, mixtures.shape[1]), dtype=mixtures.dtype)
        components[genes[columns]] = _components(model).T
        adata.varm[key_added or "topics"] = components
    params = {"model": type(model).__name__, **asked}
    adata.uns[key_added or "topics"] = {
        "names": np.asarray(_names(found), dtype=object),
        "shares": shares,
        "params": {name: value for name, value in params.items() if value is not None},
    }


def _components(model: Any) -> Array:
    """P(gene given topic), (K, M)."""
    if hasattr(model, "embedding_"):
        return np.asarray(model.components_)
    return distributions(model.components_)


def _names(found: Unwrapped) -> list[str]:
    """As `name_topics` and all that shows the model have them."""
    model, components = found.model, _components(found.model)
    kept = hasattr(model, "row_distribution_")  # or else they are of equal size
    weights = masses(model) if kept else np.full(len(components), 1 / len(components))
    return named_topics(model, components.astype(float), weights, found.column_names())


def _warn_of_columns(model: Any) -> None:
    warnings.warn(
        f"The steps before {type(model).__name__} do not say by get_feature_names_out which genes "
        "its columns are: adata.varm has no topics.",
        UserWarning,
        stacklevel=4,
    )
