"""Dask arrays: checks of them, and their counts on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.protocol import TableLike

if TYPE_CHECKING:
    from skcooc.counts.dask import DaskCounts


def delayed_rows(
    blocks: Iterable[object], n_columns: int, dtype: DTypeLike = np.float64
) -> TableLike:
    """A dask array of blocks of rows that are still to be read or made.

    Parameters
    ----------
    blocks : iterable of Delayed or Future
        Each a CSR array or matrix, or a numpy array, of shape (n, n_columns); n need not be known.
    n_columns : int
    dtype : dtype, default=float64
        What the blocks have.

    Returns
    -------
    X : dask array of shape (N, n_columns)
        ``fit`` and ``transform`` of the estimators take it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dask import delayed
    >>> from skcooc import delayed_rows
    >>> blocks = [delayed(sp.random_array)((100, 40), density=0.1, format="csr") for _ in range(3)]
    >>> delayed_rows(blocks, n_columns=40).numblocks
    (3, 1)
    """
    import dask.array as da
    from dask import delayed

    meta = sp.csr_array((0, n_columns), dtype=dtype)
    shape = (np.nan, n_columns)
    arrays = [da.from_delayed(delayed(block), shape, meta=meta) for block in blocks]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def load_on_workers(X: TableLike, name: str) -> DaskCounts:
    """Check the blocks of a dask array, and keep them on the workers of the current client.

    ``name`` is that of the estimator. ValueError where X is negative, not finite or all zero, or
    there is no client. Also from what is done with the counts: RuntimeError where blocks kill the
    workers, ConnectionError where the scheduler is lost.
    """
    from distributed import get_client

    from skcooc.counts.dask import load

    try:
        client = get_client()
    except ValueError as error:
        raise ValueError(
            "X is a dask array, which is fitted by the workers of a cluster, but there is no "
            "client. Start one with distributed.Client(), or give X.compute()."
        ) from error
    counts = load(client, X, name)
    if not counts.column_sums.any():
        raise ValueError(
            f"Found array with 0 observation(s) (shape={counts.shape}) while a minimum of 1 is "
            f"required by {name}: all counts are zero."
        )
    return counts


def check_row_blocks(X: TableLike) -> None:
    """Raise where a dask collection is not an array in blocks of rows."""
    if not hasattr(type(X), "map_blocks"):
        raise TypeError(
            f"Expected a dask array, got {type(X).__name__} instead. A dataframe has "
            "to_dask_array(lengths=True); for delayed blocks use skcooc.delayed_rows."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}.")
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X should be in blocks of rows, but its columns are divided into {X.numblocks[1]} "
            "chunks. Use X.rechunk({1: -1}) first."
        )
