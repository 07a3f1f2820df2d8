"""Observations as samples, so that scikit-learn's splitters divide observations, not rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils import check_array

from skcooc.counts import CSRCounts, check_sparse_structure
from skcooc.protocol import Array
from skcooc.tables import pairs
from skcooc.tables.frames import (
    Frame,
    checked_names,
    new_cells,
    repeated,
    reweighted,
    row_by_row,
    same_table,
    selection,
)


class Dyads:
    """Joint occurrences (x_i, y_j), one sample each, of a table with N rows and M columns.

    An array-like of shape (L, 2). Indexing it with an array of positions, a mask or a slice gives
    `Dyads` of the same table: `KFold`, `cross_val_score` and `GridSearchCV` then divide the
    observations of a row between training and test, as perplexity needs it. They come row by row,
    or as they were given, so that ``cv=KFold(5, shuffle=True)`` is needed, and not ``cv=5``; or
    ``ObservationSplit(5)`` of :mod:`skcooc.model_selection`.

    Parameters
    ----------
    X : array-like, sparse array or matrix, or DataFrame of shape (N, M)
        Counts. An entry n becomes ceil(n) observations of weight n / ceil(n): of weight one where
        counts are integers.
    row_names, column_names : sequence of length N or M, default=None
        Names; the columns of a DataFrame have names of their own, its index is not used.

    Attributes
    ----------
    rows, columns : (L,) arrays of int
        Positions in the table.
    weights : (L,) array or None
        Weight of each observation; None where all weigh one.
    table_shape : tuple
        (N, M).
    row_names, column_names : arrays or None
    shape : tuple
        (L, 2).

    Raises
    ------
    ValueError
        Where counts are negative, not finite, or add up to more than 2^31 - 1 observations.

    Examples
    --------
    >>> from skcooc import Dyads
    >>> dyads = Dyads([[2, 0], [1, 1]])
    >>> len(dyads), dyads.table_shape
    (4, (2, 2))
    >>> dyads[[0, 3]].to_csr().toarray()
    array([[1., 0.],
           [0., 1.]])
    >>> Dyads.from_pairs(["old", "old", "new"], ["man", "house", "house"]).column_names
    array(['house', 'man'], dtype='<U5')
    """

    def __init__(
        self,
        X: Any,
        *,
        row_names: ArrayLike | None = None,
        column_names: ArrayLike | None = None,
    ) -> None:
        if column_names is None and hasattr(X, "columns"):
            column_names = list(X.columns)
        X = check_array(
            check_sparse_structure(X),
            accept_sparse="csr",
            dtype="numeric",
            ensure_min_samples=0,
            ensure_non_negative=np.shape(X)[:1] != (0,),
            estimator="Dyads",
            input_name="X",
        )
        cells = sp.coo_array(X)
        self.rows, self.columns, self.weights = repeated(cells.data, *cells.coords)
        self.table_shape: tuple[int, int] = cells.shape
        self.row_names = checked_names(row_names, cells.shape[0], "row_names")
        self.column_names = checked_names(column_names, cells.shape[1], "column_names")

    from_pairs = classmethod(pairs.from_pairs)
    from_frame = classmethod(pairs.from_frame)

    @property
    def shape(self) -> tuple[int, int]:
        """(L, 2)."""
        return len(self.rows), 2

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> Any:
        key = selection(key, "Dyads", "rows and columns")
        if isinstance(key, (int, np.integer)):
            return self.rows[key], self.columns[key]
        weights = None if self.weights is None else self.weights[key]
        return self.like(self.rows[key], self.columns[key], weights)

    def like(self, rows: Array, columns: Array, weights: Array | None = None) -> Dyads:
        """Other observations of the same table.

        Parameters
        ----------
        rows, columns : (L,) arrays of int
        weights : (L,) array, default=None

        Returns
        -------
        dyads : Dyads
        """
        other = copy.copy(self)
        other.rows, other.columns, other.weights = rows, columns, weights
        return other

    def new_to(self, others: Dyads) -> Dyads:
        """The observations whose row has its column not among others, such as those fitted.

        What rows repeat is no discovery: `recall_at_k` and `ndcg_at_k` are to see these alone.

        Parameters
        ----------
        others : Dyads
            Of the same table.

        Returns
        -------
        dyads : Dyads

        Raises
        ------
        ValueError
            Where the tables differ.

        Examples
        --------
        >>> from skcooc import Dyads
        >>> before = Dyads.from_pairs(["ann", "bob"], ["tea", "ale"])
        >>> later = Dyads.from_pairs(["ann", "ann"], ["tea", "ale"], like=before)
        >>> later.new_to(before)
        <Dyads: 1 observations of a table of shape (2, 2)>
        """
        if not self.same_table(others):
            raise ValueError(
                f"others are observations of a table of shape {others.table_shape}, or of other "
                f"names, these of one of shape {self.table_shape}: make them with "
                "Dyads.from_pairs(..., like=others)."
            )
        cells = others.rows, others.columns
        return self[new_cells(self.table_shape, self.rows, self.columns, cells)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.column_stack([self.rows, self.columns]).astype(dtype or np.intp, copy=False)

    def __repr__(self) -> str:
        rows, columns = self.table_shape
        return f"<Dyads: {len(self)} observations of a table of shape ({rows}, {columns})>"

    def reweighted(self, sample_weight: ArrayLike) -> Dyads:
        """The same observations with their weights multiplied by (L,) factors."""
        return self.like(self.rows, self.columns, reweighted(self.weights, sample_weight))

    def to_csr(self) -> sp.csr_array:
        """The table of counts.

        Returns
        -------
        X : CSR array of shape (N, M), float64
            Float32 where the counts given were.
        """
        weights = np.ones(len(self)) if self.weights is None else self.weights
        return sp.coo_array((weights, (self.rows, self.columns)), shape=self.table_shape).tocsr()

    def listed(self, dtype: DTypeLike) -> tuple[CSRCounts, Array]:
        """The observations one by one, as non-zeros of counts.

        Parameters
        ----------
        dtype : dtype
            Of the counts, which are ones.

        Returns
        -------
        counts : CSRCounts of shape (N, M)
            Non-zeros are not summed up.
        order : (L,) array of int
            Which observation each non-zero is.
        """
        order, indptr = row_by_row(self.rows, self.table_shape[0])
        ones = np.ones(len(self), dtype=dtype)
        arrays = ones, self.columns[order], indptr
        return CSRCounts(sp.csr_array(arrays, shape=self.table_shape)), order

    @property
    def frame(self) -> Frame:
        """The table without observations."""
        return Frame(self.table_shape, self.row_names, self.column_names)

    def same_table(self, other: Dyads) -> bool:
        """Whether shapes are equal, and names too where both have them."""
        return same_table(self.frame, other.frame)

    @classmethod
    def of(cls, frame: Frame, rows: Array, columns: Array) -> Dyads:
        """Observations at these positions, (L,), of a table."""
        names = {"row_names": frame.row_names, "column_names": frame.column_names}
        none = cls(sp.csr_array(frame.shape), **names)
        return none.like(rows, columns)


def as_table(X: Any) -> Any:
    """The table of `Dyads`, whose own two columns are positions; anything else as it is."""
    return X.to_csr() if isinstance(X, Dyads) else X
