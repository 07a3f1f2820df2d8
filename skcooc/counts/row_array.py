"""Rows that stay on the workers of a Dask cluster after a fit, as an array that users know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Self
from uuid import uuid4

import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, Future

from skcooc.counts.tasks import check_running, explained
from skcooc.protocol import Array


class RowArray(da.Array):
    """A dask array with a row for each row fitted; its blocks lie in the memory of the workers.

    It has a few things more than others have. It knows the client of its workers. Pickled, it
    becomes an array of NumPy: what lies on the workers is lost with the cluster, and whoever
    pickles an estimator wants to keep it. And its product with a matrix, of numpy or scipy, is one,
    too.
    """

    __slots__ = ()

    client: Client

    def compute(self, **options: Any) -> Any:
        """All rows, brought here; ConnectionError where the cluster is lost, and they with it."""
        with explained(), self.client.as_current():
            check_running(self.client)
            return super().compute(**options)

    def __reduce__(self) -> Any:
        return np.asarray, (np.asarray(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self  # it cannot be changed

    def __matmul__(self, other: Any) -> da.Array:
        is_matrix = sp.issparse(other) or (isinstance(other, np.ndarray) and other.ndim == 2)
        if self.ndim == 1 or not is_matrix:
            return super().__matmul__(other)
        none = np.empty((0, other.shape[1]), dtype=np.result_type(self.dtype, other.dtype))
        chunks, by_other = (self.chunks[0], none.shape[1:]), partial(product, by=other)
        there = da.map_blocks(by_other, self, chunks=chunks, meta=none)
        return _known_to(self.client, RowArray(there.dask, there.name, chunks, meta=none))


def row_array(
    client: Client, futures: Iterable[Future], sizes: Sequence[int], none: Array
) -> RowArray:
    """A dask array of blocks on the workers, in chunks of these sizes.

    ``none`` has the type and the width of the blocks, but no rows.
    """
    name, width = f"rows-{uuid4().hex}", none.shape[1:]
    blocks = {(name, i, *(0 for _ in width)): future for i, future in enumerate(futures)}
    chunks = tuple(sizes), *((k,) for k in width)
    return _known_to(client, RowArray(blocks, name, chunks, meta=none))


def _known_to(client: Client, array: RowArray) -> RowArray:
    array.client = client
    return array


def product(rows: Array, by: Any) -> Array:
    """rows @ by, (n, k), by a matrix of numpy or scipy."""
    of_rows: Array = rows @ by
    return of_rows
