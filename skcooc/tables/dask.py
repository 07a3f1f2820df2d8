"""Dask arrays: their counts for a fit, rows transformed block by block, and what can go wrong."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.em.legs import State
from skcooc.tables.checks import check_row_blocks
from skcooc.tables.dyads import Dyads

SAMPLE_ROWS = 10_000  # on which the temperature is chosen


def delayed_rows(blocks: Iterable[Any], n_columns: int, dtype: DTypeLike = np.float64) -> Any:
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


@contextmanager
def distributed_counts(estimator: Any, X: Any) -> Iterator[tuple[Any, Any]]:
    """The counts of a dask array on the workers, and a sample of its rows here.

    Parameters
    ----------
    estimator : estimator
        Gets what is known of the columns, and the table without its observations.
    X : dask array of shape (N, M)

    Yields
    ------
    counts : DaskCounts of shape (N, M)
    sample : CSR array of shape (n, M)
        Of one row, where nothing is to be chosen.

    Raises
    ------
    ValueError
        Where X is negative, not finite or all zero, or there is no client.
    RuntimeError
        Also from what is done with the counts: where blocks kill the workers.
    ConnectionError
        Also from what is done with the counts: where the scheduler is lost.
    """
    from skcooc.counts.dask import load  # needs dask, as X does

    name = type(estimator).__name__
    with _explained():
        counts = load(_client(), X, name)
        if not counts.column_sums.any():
            raise ValueError(
                f"Found array with 0 observation(s) (shape={counts.shape}) while a minimum of 1 is "
                f"required by {name}: all counts are zero."
            )
        estimator.n_features_in_ = counts.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        estimator._table = Dyads(sp.csr_array(counts.shape))
        n_rows = SAMPLE_ROWS if estimator.beta == "auto" else 1
        yield counts, counts.sample(n_rows, np.random.default_rng(estimator._seeds(1)[0]))


def transformed(estimator: Any, X: Any) -> Any:
    """The mixtures of the rows of a dask array, lazily and block by block.

    Parameters
    ----------
    estimator : fitted estimator
    X : dask array of shape (n, M)

    Returns
    -------
    mixtures : dask array of shape (n, K)
    """
    check_row_blocks(X)
    light = copy.copy(estimator)  # what is sent to the workers, without the rows fitted
    params, (rows,) = estimator._state
    light._state = State(params, [rows[:0]])
    for name in ("embedding_", "row_distribution_"):
        setattr(light, name, getattr(estimator, name)[:0])
    components = estimator.components_
    return X.map_blocks(
        light.transform,
        dtype=components.dtype,
        chunks=(X.chunks[0], (len(components),)),
        meta=np.empty((0, 0), dtype=components.dtype),
    )


def _client() -> Any:
    from distributed import get_client

    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "X is a dask array, which is fitted by the workers of a cluster, but there is no "
            "client. Start one with distributed.Client(), or give X.compute()."
        ) from error


@contextmanager
def _explained() -> Iterator[None]:
    """Say what to do where the cluster fails beyond what it can repair."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            "Workers died again and again over one block of X, most likely since they were out of "
            "memory. Give smaller blocks, as with X.rechunk, or more workers, or workers a larger "
            f"memory_limit. The estimator is as it was. Dask says: {error}"
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise ConnectionError(
            "The connection to the scheduler is lost, or it has lost what X was made of. Start a "
            "client and fit again; with a checkpoint (skcooc.callbacks.Checkpoint) and "
            "warm_start=True the fit goes on from there. The estimator is as it was."
        ) from error
