"""How the non-zeros of a count matrix lie in memory, and how passes over them are divided."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

import numpy as np
import scipy.sparse as sp

from skcooc.counts.bands import Bands, Matrix
from skcooc.protocol import Array


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


class Views:
    """Each is made once, by the first thread that asks for it.

    Parameters
    ----------
    X : Matrix
        Its attributes are kept, not X: what refers to each other is freed late.
    """

    def __init__(self, X: Matrix) -> None:
        self.shape, self.indptr, self.indices, self.data = X.shape, X.indptr, X.indices, X.data
        self._lock = Lock()

    @property
    def bands(self) -> Bands:
        """Bands of rows, and of these column by column."""
        with self._lock:
            return self._bands

    @property
    def columns(self) -> ColumnView:
        """Column by column."""
        with self._lock:
            return self._columns

    @cached_property
    def _bands(self) -> Bands:
        return Bands(self)

    @cached_property
    def _columns(self) -> ColumnView:
        return ColumnView(self)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=Lock())
