"""How the non-zeros of a count matrix lie in memory, and how passes over them are divided."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from skcooc.protocol import Array


class Matrix(Protocol):
    """What views read of a CSR matrix."""

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array


class ColumnView:
    """The CSC structure of a CSR matrix; ``order`` finds its entries in the CSR data."""

    def __init__(self, X: Matrix) -> None:
        # The order of 2^31 entries and more needs 64-bit numbers whatever type the indices have.
        index = np.int32 if X.data.size < 2**31 else np.int64
        order = np.arange(X.data.size, dtype=index)
        view = sp.csr_array((order, X.indices, X.indptr), shape=X.shape).tocsc()
        self.indptr, self.indices, self.order = view.indptr, view.indices, view.data

    @property
    def structure(self) -> tuple[Array, Array, Array]:
        """The three arrays, as compiled loops take them."""
        return self.indptr, self.indices, self.order


def balanced_ranges(indptr: Array, n_ranges: int) -> list[tuple[int, int]]:
    """Cut rows into at most ``n_ranges`` non-empty ranges with about equally many non-zeros.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_ranges(np.array([0, 6, 7, 8, 12]), 2)
    [(0, 1), (1, 4)]
    """
    n_rows = len(indptr) - 1
    goals = np.arange(1, n_ranges) * (float(indptr[-1]) / n_ranges)
    limits = [0, *np.searchsorted(indptr, goals).tolist(), n_rows]
    return [(start, stop) for start, stop in pairwise(limits) if start < stop]
