"""Tokens as samples: `Dyads`, and what it shares with `Triads`."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from skcooc.counts import MAX_SINGLE, CSRCounts, check_block, narrowed, without_zeros
from skcooc.protocol import CSR, Array, TableWarning, warn
from skcooc.tables.doubts import doubts
from skcooc.tables.names import (
    NameIndex,
    check_index,
    checked_names,
    column_names_of,
    row_names_of,
    same_names,
)
from skcooc.tables.pairs import (
    check_complete,
    checked_counts,
    distinct_names,
    list_tokens,
    place_names,
    read_columns,
)

THREE_INDICES = "Got Triads, which have three indices; a table of two is needed: X.dyads(0, 2)."


class Cells(NamedTuple):
    """Cells of a table with counts."""

    indptr: Array  # (N + 1,)
    columns: Array  # (nnz,), of the smallest type that holds them

    def in_rows(self, rows: Array) -> tuple[Array, Array]:
        """Cells of the given rows, (n,): index into these rows, and column of each cell."""
        starts = self.indptr[rows]
        stops = self.indptr[rows + 1]
        parts = [self.columns[first:last] for first, last in zip(starts, stops, strict=True)]
        columns = np.concatenate(parts) if parts else self.columns[:0]
        return np.repeat(np.arange(len(rows)), stops - starts), columns


@dataclass(frozen=True, eq=False)
class TableSchema:
    """Shape and names of a table, and its cells with counts."""

    shape: tuple[int, ...]  # (N, M); of Triads (N, M, L)
    row_names: Array | None = None
    column_names: Array | None = None
    middle_names: Array | None = None  # of Triads those of the second index
    seen: Cells | None = None  # only of tables fitted in memory

    @property
    def names(self) -> tuple[Array | None, ...]:
        return self.row_names, self.column_names, self.middle_names

    @cached_property
    def row_index(self) -> NameIndex | None:
        return None if self.row_names is None else NameIndex(self.row_names)

    @cached_property
    def column_index(self) -> NameIndex | None:
        return None if self.column_names is None else NameIndex(self.column_names)

    def __getstate__(self) -> dict[str, object]:
        # Without the look-ups of names, which would double a pickle.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def copy(self) -> TableSchema:
        """Copy the names, for a model that outlives the table."""
        rows, columns, middle = (None if names is None else names.copy() for names in self.names)
        return replace(self, row_names=rows, column_names=columns, middle_names=middle)


def observed_cells(table: CSR) -> Cells:
    table = without_zeros(table)
    smallest = np.min_scalar_type(table.shape[1])
    return Cells(table.indptr.copy(), table.indices.astype(smallest))


def same_table(first: TableSchema, second: TableSchema) -> bool:
    return first.shape == second.shape and all(
        a is None or b is None or a is b or same_names(a, b)
        for a, b in zip(first.names, second.names, strict=True)
    )


class Tokens:
    """Tokens as samples of shape (L, 2) or (L, 3): what `Dyads` and `Triads` share."""

    positions: tuple[Array, ...]
    weights: Array | None
    table_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.positions)

    @property
    def rows(self) -> Array:
        return self.positions[0]

    @property
    def schema(self) -> TableSchema:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):  # dyads[positions, ...], as scikit-learn indexes arrays
            key, *rest = key
            if rest and rest[0] not in (Ellipsis, slice(None)):
                raise IndexError(
                    f"{type(self).__name__} are indexed by tokens; see rows and columns or "
                    "positions."
                )
        if isinstance(key, (int, np.integer)):
            return tuple(index[key] for index in self.positions)
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key if key.size else key.astype(np.intp)
        weights = None if self.weights is None else self.weights[key]
        return self.with_positions(tuple(index[key] for index in self.positions), weights)

    def with_positions(self, positions: tuple[Array, ...], weights: Array | None) -> Self:
        """Return other tokens of the same table."""
        other = copy.copy(self)
        other.positions = positions
        other.weights = weights
        return other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.column_stack(self.positions).astype(dtype or np.intp, copy=False)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.table_shape))
        return f"<{type(self).__name__}: {len(self)} tokens of a table of shape ({shape})>"

    def reweighted(self, sample_weight: ArrayLike) -> Self:
        """Multiply weights by factors, (L,); float32 for tokens without weights, up to 2^24."""
        weights = np.asarray(sample_weight)
        if self.weights is not None:
            weights = (self.weights * weights).astype(self.weights.dtype)
        elif weights.max(initial=0) <= MAX_SINGLE:
            weights = weights.astype(np.float32)
        return self.with_positions(self.positions, weights)

    def _table(self, columns: Array, shape: tuple[int, int]) -> CSR:
        weights = np.ones(len(self), dtype=np.float32) if self.weights is None else self.weights
        double = weights.astype(np.float64)  # so are their sums
        table = sp.coo_array((double, (self.rows, columns)), shape=shape).tocsr()
        return table if weights.dtype == np.float64 else narrowed(table)

    def _ones(self, columns: Array, shape: tuple[int, int], dtype: DTypeLike) -> tuple[CSR, Array]:
        """Return a one for each token, row by row, and which token each is, (L,)."""
        order = np.argsort(self.rows, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=shape[0]))])
        ones = np.ones(len(self), dtype=dtype)
        return sp.csr_array((ones, columns[order], indptr), shape=shape), order


class Dyads(Tokens):
    """Joint occurrences (x_i, y_j), one sample each, of a table with N rows and M columns.

    An array-like of shape (L, 2). Indexing it with an array of positions, a mask or a slice gives
    `Dyads` of the same table: `KFold`, `cross_val_score` and `GridSearchCV` then divide the
    tokens of a row between training and test. They are sorted by rows or as given: use
    ``cv=KFold(5, shuffle=True)``, not ``cv=5``; or ``CountSplit(5)`` of
    :mod:`skcooc.model_selection`.

    Read more in the :doc:`user guide </guide/heldout>`.

    Parameters
    ----------
    X : array-like, sparse array or matrix, or DataFrame of shape (N, M)
        Counts. An entry n becomes ceil(n) tokens of weight n / ceil(n): of weight one if counts
        are integers.
    row_names, column_names : sequence of length N or M, default=None
        Names. None: those of a DataFrame, which are its columns and its index, unless this numbers
        all rows from 0.

    Attributes
    ----------
    rows, columns : (L,) arrays of int
        Positions in the table.
    weights : (L,) array or None
        Weight of each token; None, one each, if counts are integers.
    table_shape : tuple
        (N, M).
    row_names, column_names : arrays or None
    shape : tuple
        (L, 2).

    Raises
    ------
    TypeError
        If X is not a table of counts but Dyads or Triads.
    ValueError
        If counts are negative, not finite, or add up to more than 2^31 - 1 tokens.

    Examples
    --------
    >>> from skcooc import Dyads
    >>> dyads = Dyads([[2, 0], [1, 1]])
    >>> len(dyads), dyads.table_shape
    (4, (2, 2))
    >>> dyads[[0, 3]].to_csr().toarray()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> Dyads.from_pairs(["old", "old", "new"], ["man", "house", "house"]).column_names
    array(['house', 'man'], dtype='<U5')
    """

    def __init__(
        self,
        X: Any,
        *more: Any,
        row_names: ArrayLike | None = None,
        column_names: ArrayLike | None = None,
    ) -> None:
        if more:
            raise TypeError(
                f"Dyads() takes one table of counts, got {1 + len(more)} positional arguments. "
                "Dyads.from_pairs(rows, columns, counts) takes pairs."
            )
        if isinstance(X, Tokens):
            raise TypeError(
                f"Dyads takes a table of counts, got {type(X).__name__}. "
                "Triads.dyads(i, j) makes Dyads of two of three indices."
            )
        if row_names is None:
            row_names = row_names_of(X)
        if column_names is None:
            column_names = column_names_of(X)
        table = sp.csr_array(check_block(X, estimator="Dyads"))
        cells = sp.coo_array(table if table.has_sorted_indices else table.sorted_indices())
        *positions, self.weights = list_tokens(cells.data, *cells.coords)
        self.positions = tuple(positions)
        self.table_shape: tuple[int, int] = cells.shape
        self.row_names = checked_names(row_names, cells.shape[0], "row_names")
        self.column_names = checked_names(column_names, cells.shape[1], "column_names")
        for message in doubts(table, self.row_names, self.column_names):
            warn(message, TableWarning)

    @classmethod
    def from_pairs(
        cls,
        rows: ArrayLike,
        columns: ArrayLike,
        counts: ArrayLike | None = None,
        *,
        like: Dyads | None = None,
    ) -> Dyads:
        """Make tokens of two columns of names.

        Of a list of pairs, make ``Dyads.from_pairs(*zip(*pairs))``.

        Parameters
        ----------
        rows, columns : array-likes of shape (n,)
            Names of the row and of the column of each pair.
        counts : array-like of shape (n,), default=None
            How often each pair was observed, or what it weighs; once if None.
        like : Dyads, default=None
            Tokens of a table with names, to which the pairs are to belong. Pairs that have a name
            unknown to it are left out, with a warning.

        Returns
        -------
        dyads : Dyads
            In the order of the pairs, each repeated by its count. The rows and columns of the table
            are those of ``like``, or the distinct names. These are in the order of the categories
            where a column has ordered ones, as months or answers may have, and else sorted.

        Raises
        ------
        ValueError
            If there are no pairs, names are missing, lengths differ, counts are negative or not
            finite, ``like`` has no names, or it has the names of no pair.
        TypeError
            If counts are no numbers, or names are of several types that have no order, such as
            strings and numbers.

        Warns
        -----
        UserWarning
            If pairs are left out, with their number and the first of the unknown names; or if names
            differ in blanks alone, are missing values as strings, or lists of other names.
        """
        check_index(rows, columns=columns, counts=counts)
        names = {"rows": check_complete(rows, "rows")}
        names["columns"] = check_complete(columns, "columns")
        n = checked_counts(counts, *names.values())
        if (
            counts is None
            and not hasattr(rows, "iloc")  # the columns of a frame are named
            and isinstance(names["rows"][0], tuple)
            and names["columns"].dtype.kind in "iuf"
        ):
            raise ValueError(
                "rows holds tuples, and columns numbers. If these are pairs and their counts, give "
                "Dyads.from_pairs(*zip(*rows), columns); if they are names, give counts as well."
            )
        if not isinstance(like, Dyads | None):
            raise TypeError(f"like should be the Dyads fitted, got {type(like).__name__}.")
        if like is not None:
            mask, positions = place_names((like.row_names, like.column_names), names, "pairs")
            *places, weights = list_tokens(n[mask], *positions)
            return like.with_positions(tuple(places), weights)
        row_names, i = distinct_names(rows, names["rows"], "rows")
        column_names, j = distinct_names(columns, names["columns"], "columns")
        schema = TableSchema((len(row_names), len(column_names)), row_names, column_names)
        dyads = cls.from_schema(schema, *list_tokens(n, i, j))
        for message in doubts(dyads.to_csr(), row_names, column_names, of_tokens=True):
            warn(message, TableWarning)
        return dyads

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        row: str,
        column: str,
        count: str | None = "auto",
        *,
        like: Dyads | None = None,
    ) -> Dyads:
        """Make tokens of columns of a data frame.

        Parameters
        ----------
        frame : DataFrame, Series, mapping or list of dicts
            A data frame in memory, such as of pandas, polars or pyarrow; a mapping of names to
            columns; a list of records; or a Series of pandas with the counts of the pairs in its
            index, such as ``frame.groupby([row, column]).size()``.
        row, column : str
            Names of the columns that hold the row and the column of a pair. In pandas they may be
            levels of the index.
        count : str or None, default="auto"
            Name of the column of counts or weights, such as ratings.

            - None: each line is one token.
            - "auto": the column of numbers named "count", "counts", "n", "freq", "frequency",
              "weight", "weights", "qty", "quantity", "size", "len", "COUNT(*)" or, as pandas has
              it, 0, in upper or lower case, with a warning. If there is none, each line is one
              token. The values of a Series are its counts.
        like : Dyads, default=None
            As in :meth:`from_pairs`, such as the tokens that were fitted.

        Returns
        -------
        dyads : Dyads
            As of :meth:`from_pairs`, whose errors are raised as well.

        Raises
        ------
        ValueError
            If a column is missing or named twice, several columns may hold the counts, or the frame
            is a table of counts, which :class:`Dyads` takes itself.
        TypeError
            If frame is something else, such as a file or a frame that is not in memory.

        Warns
        -----
        UserWarning
            With count="auto", if a column is taken as counts, or if the only other column holds
            numbers that are not used.

        Examples
        --------
        >>> from skcooc import Dyads
        >>> bought = {"user": ["ann", "bob"], "item": ["tea", "ale"]}
        >>> later = {"user": ["bob"], "item": ["tea"]}
        >>> train = Dyads.from_frame(bought, "user", "item")
        >>> test = Dyads.from_frame(later, "user", "item", like=train)
        >>> test.to_csr().toarray()
        array([[0., 0.],
               [0., 1.]], dtype=float32)
        """
        rows, columns, counts = read_columns(frame, (row, column), count)
        return cls.from_pairs(rows, columns, counts, like=like)

    @property
    def columns(self) -> Array:
        return self.positions[1]

    def like(self, rows: Array, columns: Array, weights: Array | None = None) -> Dyads:
        """Make other tokens, (L,), of the same table; arrays are copied."""
        weights = None if weights is None else np.array(weights)
        return self.with_positions((np.array(rows), np.array(columns)), weights)

    def new_to(self, others: Dyads) -> Dyads:
        """Return the tokens in cells in which others, such as those fitted, have none.

        Repeated columns are easy to predict: give only new ones to `recall_at_k` and `ndcg_at_k`.

        Parameters
        ----------
        others : Dyads
            Of the same table; else a ValueError is raised.

        Returns
        -------
        dyads : Dyads

        Examples
        --------
        >>> from skcooc import Dyads
        >>> before = Dyads.from_pairs(["ann", "bob"], ["tea", "ale"])
        >>> later = Dyads.from_pairs(["ann", "ann"], ["tea", "ale"], like=before)
        >>> later.new_to(before)
        <Dyads: 1 tokens of a table of shape (2, 2)>
        """
        if not same_table(self.schema, others.schema):
            raise ValueError(
                "others and these Dyads are of different tables, of shapes "
                f"{others.table_shape} and {self.table_shape}, or with other names: make them "
                "with Dyads.from_pairs(..., like=others)."
            )
        occupied = np.ravel_multi_index((others.rows, others.columns), self.table_shape)
        cells = np.ravel_multi_index((self.rows, self.columns), self.table_shape)
        return self[np.isin(cells, occupied, invert=True)]

    def to_csr(self) -> sp.csr_array:
        """The table of counts.

        Returns
        -------
        X : CSR array of shape (N, M)
            Float64 if the counts given were or one exceeds 2^24, else float32.
        """
        return self._table(self.columns, self.table_shape)

    def listed(self, dtype: DTypeLike) -> tuple[CSRCounts, Array]:
        """Return one non-zero for each token, row by row, and the token of each, (L,)."""
        table, order = self._ones(self.columns, self.table_shape, dtype)
        return CSRCounts(table), order

    @property
    def schema(self) -> TableSchema:
        return TableSchema(self.table_shape, self.row_names, self.column_names)

    @classmethod
    def from_schema(
        cls, schema: TableSchema, rows: Array, columns: Array, weights: Array | None = None
    ) -> Dyads:
        names = {"row_names": schema.row_names, "column_names": schema.column_names}
        return cls(sp.csr_array(schema.shape), **names).with_positions((rows, columns), weights)


def as_table(X: Any) -> Any:
    """Return Dyads as a table, other input as it is; TypeError for Triads."""
    if isinstance(X, Dyads):
        return X.to_csr()
    if isinstance(X, Tokens):
        raise TypeError(THREE_INDICES)
    return X
