"""The non-zeros of a count matrix in other orders, for all that work on the same matrix."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

from skcooc.counts.bands import Bands
from skcooc.counts.layout import ColumnView, Matrix


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
