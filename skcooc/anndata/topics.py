"""A model of the counts of cells, and what the AnnData gets of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skcooc.protocol import Array, TableLike
from skcooc.tables import RowBlocks
from skcooc.tables.reading import is_collection

if TYPE_CHECKING:
    from anndata import AnnData

Model = TypeVar("Model", bound=BaseEstimator)

CELLS = 10_000  # of a block of a table that is in a file
LARGEST_LOG = 25.0  # log1p of 7e10 counts
HINT = "Give the layer with raw counts, as in layer='counts'."


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
        Any estimator of skcooc with ``embedding_`` and ``components_``. It is fitted itself.
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
        The same, fitted. The AnnData has, if ``key_added`` is None,

        ``obsm["X_topics"]`` : array of shape (N, K)
            P(topic given cell).
        ``varm["topics"]`` : array of shape (M, K)
            P(gene given topic), zero of genes that are left out.
        ``uns["topics"]`` : dict
            Names of the topics (``names``), their shares of all counts (``shares``), and what was
            asked for (``params``).

    Raises
    ------
    KeyError
        Where there is no such layer, or no such column of ``adata.var``.
    ValueError
        Where counts are negative, as of scaled data, or ``mask_var`` has another shape.

    Warns
    -----
    UserWarning
        Where counts look like logarithms: small, and no whole numbers. Of a table in a file the
        first cells are looked at; of dask arrays none.

    See Also
    --------
    add_topics : The same for other cells, with a fitted model.
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
    genes = _genes(adata, mask_var)
    X = _counts(adata, layer, genes)
    model.fit(X, sample_weight=sample_weight)
    mixtures = _folded_in(X, model) if isinstance(X, RowBlocks) else np.asarray(model.embedding_)
    components = np.zeros((adata.n_vars, mixtures.shape[1]), dtype=mixtures.dtype)
    components[genes] = np.asarray(model.components_).T
    asked = {"layer": layer, "mask_var": mask_var if isinstance(mask_var, str) else None}
    adata.obsm[key_added or "X_topics"] = mixtures
    adata.varm[key_added or "topics"] = components
    adata.uns[key_added or "topics"] = {
        "names": np.asarray(model.get_feature_names_out(), dtype=object),
        "shares": _shares(X, mixtures, sample_weight),
        "params": {"model": type(model).__name__}
        | {name: value for name, value in asked.items() if value is not None},
    }
    return model


def add_topics(
    adata: AnnData,
    model: BaseEstimator,
    *,
    layer: str | None = None,
    mask_var: str | ArrayLike | None = None,
    key_added: str | None = None,
) -> None:
    """Add the mixtures of further cells under a fitted model.

    Parameters
    ----------
    adata : AnnData of n cells
        With the genes of the cells fitted, in the same order.
    model : fitted estimator
        As ``fit_topics`` returns it.
    layer, mask_var, key_added
        As for :func:`fit_topics`.

    Raises
    ------
    KeyError, ValueError
        As for :func:`fit_topics`; also where the number of genes is another.

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
    X = _counts(adata, layer, _genes(adata, mask_var))
    folded = _folded_in(X, model) if isinstance(X, RowBlocks) else model.transform(X)
    adata.obsm[key_added or "X_topics"] = np.asarray(folded)


@dataclass(frozen=True)
class _BackedRows:
    """The cells of a table that is in a file, in blocks."""

    X: Any
    genes: Array
    shape: tuple[int, int]

    def __len__(self) -> int:
        return -(-self.shape[0] // CELLS)

    def __iter__(self) -> Iterator[TableLike]:
        for first in range(0, self.shape[0], CELLS):
            yield self.X[first : first + CELLS][:, self.genes]


def _genes(adata: AnnData, mask_var: str | ArrayLike | None) -> Array:
    """Positions of the genes that the model knows."""
    if mask_var is None:
        return np.arange(adata.n_vars)
    mask = np.asarray(adata.var[mask_var] if isinstance(mask_var, str) else mask_var)
    if mask.shape != (adata.n_vars,) or mask.dtype != bool:
        raise ValueError(
            f"mask_var should be a column of adata.var, or of shape ({adata.n_vars},), and bool."
        )
    return np.flatnonzero(mask)


def _counts(adata: AnnData, layer: str | None, genes: Array) -> TableLike:
    """The counts, with a warning where they seem to be none."""
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError(f"adata.X is None. {HINT}")
    if is_collection(X):
        return X[:, genes]
    if not isinstance(X, np.ndarray) and not sp.issparse(X):
        _check(X[:CELLS][:, genes])
        return RowBlocks(_BackedRows(X, genes, (adata.n_obs, len(genes))))
    chosen = X if len(genes) == adata.n_vars else X[:, genes]
    _check(chosen)
    return chosen


def _check(X: Any) -> None:
    values = X.data if sp.issparse(X) else np.asarray(X).ravel()
    if (least := values.min(initial=0)) < 0:
        raise ValueError(f"Counts are negative, such as {least:g}: they were scaled. {HINT}")
    few = values[:CELLS]
    if values.max(initial=0) < LARGEST_LOG and (few != np.floor(few)).any():
        warnings.warn(
            f"The counts are no whole numbers, and none is above {LARGEST_LOG:g}, as if they were "
            f"normalised and logarithms. Mixtures of logarithms mean little. {HINT}",
            UserWarning,
            stacklevel=4,
        )


def _folded_in(X: RowBlocks, model: BaseEstimator) -> Array:
    return np.vstack([model.transform(block) for block in X])


def _shares(X: TableLike, mixtures: Array, sample_weight: ArrayLike | None) -> Array:
    """The share of all counts that each topic has."""
    blocks = X if isinstance(X, RowBlocks) else [X]
    sums = np.concatenate([np.asarray(block.sum(axis=1)).ravel() for block in blocks])
    if sample_weight is not None:
        sums = sums * np.asarray(sample_weight)
    return (sums / sums.sum()) @ mixtures
