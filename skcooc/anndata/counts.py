"""The counts of cells: where they are in an AnnData, and whether they are counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from skcooc.protocol import Array, TableLike
from skcooc.tables import RowBlocks, is_collection

if TYPE_CHECKING:
    from anndata import AnnData

CELLS = 10_000  # of a block of a table that is in a file
LARGEST_LOG = 25.0  # log1p of 7e10 counts
MOST = 0.5  # of the counts are no whole numbers where they may be none
FEW = 1000  # cells that are looked at for units
TOLD, NEARLY, NEARLY_ALL = 10, 0.02, 0.9  # ratios, their distance from whole ones, how many
ALIKE = 1e-3  # relative difference of the sums of cells that were scaled to one total
SCALED = ", as if they were normalised. Then cells of few molecules count as those of many."
HINT = "Give the layer with raw counts, as in layer='counts'."


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


def counts_of(adata: AnnData, layer: str | None, genes: Array) -> TableLike:
    """The counts of these genes, (N, M), with a warning where they seem to be none.

    KeyError where there is no such layer, ValueError where counts are negative.
    """
    X = adata.X if layer is None else entry(adata.layers, layer, "layer", "adata.layers")
    if X is None:
        raise ValueError(f"adata.X is None. {HINT}")
    if is_collection(X):
        return X[:, genes]
    if not isinstance(X, np.ndarray) and not sp.issparse(X):
        _check(X[:CELLS], genes)
        return RowBlocks(_BackedRows(X, genes, (adata.n_obs, len(genes))))
    _check(X, genes)
    return _columns(X, genes)


def entry(of: Mapping[str, Any], key: str, what: str, where: str) -> Any:
    """What has this key; KeyError where nothing has, with the keys that there are."""
    if key not in of:
        there = ", ".join(map(repr, of)) or "none"
        raise KeyError(f"There is no {what} {key!r} in {where}. There: {there}.")
    return of[key]


def row_sums(X: TableLike) -> Array:
    """Observations of each cell, (N,)."""
    blocks = X if isinstance(X, RowBlocks) else [X]
    return np.concatenate([np.asarray(block.sum(axis=1)).ravel() for block in blocks])


def _columns(X: Any, genes: Array) -> Any:
    """Those of the genes; X itself where these are all, in their order."""
    return X if np.array_equal(genes, np.arange(X.shape[1])) else X[:, genes]


def _check(X: Any, genes: Array) -> None:
    """Of the genes, but for the sums of cells: scaled ones are alike only with all genes."""
    chosen = _columns(X, genes)
    values = chosen.data if sp.issparse(chosen) else np.asarray(chosen).ravel()
    if (least := values.min(initial=0)) < 0:
        raise ValueError(f"Counts are negative, such as {least:g}: they were scaled. {HINT}")
    few = values[:CELLS]
    few = few[few > 0]
    if not len(few) or np.mean(few != np.floor(few)) < MOST:
        return
    if values.max(initial=0) < LARGEST_LOG:
        looks = f"none is above {LARGEST_LOG:g}, as if they were normalised and logarithms"
        _warn(f"{looks}. Mixtures of logarithms mean little.")
    elif _have_one_total(row_sums(X)):
        _warn(f"all cells have the same total{SCALED}")
    elif _have_units(chosen):
        _warn(f"those of each cell are whole multiples of a number of its own{SCALED}")


def _have_one_total(sums: Array) -> bool:
    """Whether all cells with counts have the same; of a single cell it cannot be known."""
    sums = sums[sums > 0]
    return len(sums) > 1 and bool(np.ptp(sums) <= ALIKE * sums.max())


def _have_units(X: Any) -> bool:
    """Whether counts are multiples of the least of their cell, and these of no common number."""
    cells = sp.csr_array(X[:FEW], copy=True)
    cells.eliminate_zeros()
    if not cells.nnz:
        return False
    per_cell = np.diff(cells.indptr)
    units = np.minimum.reduceat(cells.data, cells.indptr[:-1][per_cell > 0])
    multiples = cells.data / np.repeat(units, per_cell[per_cell > 0])
    return _are_whole(multiples) and not _are_whole(units / units.min())


def _are_whole(ratios: Array) -> bool:
    """Whether most of those that are small enough to tell are whole numbers."""
    small = ratios[ratios < TOLD]
    return bool(np.mean(np.abs(small - np.rint(small)) < NEARLY) > NEARLY_ALL)


def _warn(looks: str) -> None:
    warnings.warn(
        f"Most counts are no whole numbers, and {looks} {HINT}", UserWarning, stacklevel=5
    )
