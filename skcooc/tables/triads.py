"""Tokens of three indices as samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from skcooc.counts import TripleCounts
from skcooc.protocol import Array
from skcooc.tables.dyads import Dyads, TableSchema, Tokens
from skcooc.tables.names import check_index, checked_names
from skcooc.tables.pairs import (
    check_complete,
    checked_counts,
    distinct_names,
    list_tokens,
    place_names,
    read_columns,
)

WAYS = "first", "second", "third"


class Triads(Tokens):
    """Joint occurrences (x_i, y_j, w_l), one sample each, of a table of shape (N, M, L).

    An array-like of shape (n, 3). As with `Dyads`, indexing gives `Triads` of the same table, so
    that `KFold`, `cross_val_score` and `GridSearchCV` divide tokens.

    Read more in the :doc:`user guide </guide/triads>`.

    Parameters
    ----------
    first, second, third : array-likes of int of shape (n,)
        Positions in the table: coordinates of its non-zeros.
    counts : array-like of shape (n,), default=None
        How often each triple was observed, or its weight; once if None. A count c becomes ceil(c)
        tokens of weight c / ceil(c): of weight one if counts are integers.
    shape : tuple of three ints, default=None
        (N, M, L); if None, as small as the positions allow.
    names : sequence of three, default=(None, None, None)
        Names along each of the three ways, (N,), (M,) and (L,), or None.

    Attributes
    ----------
    positions : tuple of three (n,) arrays of int
        Positions in the table.
    weights : (n,) array or None
        Weight of each token; None, one each, if counts are integers.
    table_shape : tuple
        (N, M, L).
    names : tuple of three arrays or None
    shape : tuple
        (n, 3).

    Raises
    ------
    ValueError
        If lengths differ, positions lie outside of the shape, or counts are negative, not finite
        or add up to more than 2^31 - 1 tokens.

    Examples
    --------
    >>> from skcooc import Triads
    >>> triads = Triads([0, 0, 1], [0, 1, 1], [2, 0, 2], counts=[2, 1, 1])
    >>> triads
    <Triads: 4 tokens of a table of shape (2, 2, 3)>
    >>> triads[[0, 2]].dyads(0, 2).to_csr().toarray()
    array([[1., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        first: ArrayLike,
        second: ArrayLike,
        third: ArrayLike,
        counts: ArrayLike | None = None,
        *,
        shape: Sequence[int] | None = None,
        names: Sequence[ArrayLike | None] = (None, None, None),
    ) -> None:
        indices = zip((first, second, third), WAYS, strict=True)
        positions = [_check_positions(values, name) for values, name in indices]
        n = checked_counts(counts, *positions, min_samples=0)
        min_sizes = tuple(int(index.max(initial=-1)) + 1 for index in positions)
        sizes = min_sizes if shape is None else tuple(map(int, shape))
        if len(sizes) != 3 or any(np.less(sizes, min_sizes)):
            raise ValueError(f"shape={shape} should be three sizes, of {min_sizes} at least")
        self.table_shape: tuple[int, int, int] = (sizes[0], sizes[1], sizes[2])
        sized = zip(names, self.table_shape, WAYS, strict=True)
        self.names = tuple(checked_names(*way[:2], f"names, the {way[2]},") for way in sized)
        *repeats, self.weights = list_tokens(n, *positions)
        self.positions: tuple[Array, ...] = tuple(repeats)

    @classmethod
    def from_triples(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        third: ArrayLike,
        counts: ArrayLike | None = None,
        *,
        like: Triads | None = None,
    ) -> Triads:
        """Make tokens of three columns of names.

        Parameters
        ----------
        first, second, third : array-likes of shape (n,)
            Names of the three values of each triple.
        counts : array-like of shape (n,), default=None
            How often each triple was observed; once if None.
        like : Triads, default=None
            Tokens of a table with names, such as those fitted. Triples that have a name unknown to
            it are left out, with a warning.

        Returns
        -------
        triads : Triads
            In the order of the triples, each repeated by its count. The names of each way are those
            of ``like``, or the distinct ones in the order of :meth:`Dyads.from_pairs`, whose errors
            are raised.
        """
        check_index(first, second=second, third=third, counts=counts)
        columns = dict(zip(WAYS, (first, second, third), strict=True))
        ways = {way: check_complete(column, way) for way, column in columns.items()}
        n = checked_counts(counts, *ways.values())
        if not isinstance(like, Triads | None):
            raise TypeError(f"like should be the Triads fitted, got {type(like).__name__}.")
        if like is not None:
            mask, (x, y, w) = place_names(like.names, ways, "triples")
            return cls(x, y, w, n[mask], shape=like.table_shape, names=like.names)
        distinct = (distinct_names(columns[way], ways[way], way) for way in WAYS)
        names, (x, y, w) = zip(*distinct, strict=True)
        return cls(x, y, w, n, shape=list(map(len, names)), names=names)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        first: str,
        second: str,
        third: str,
        count: str | None = "auto",
        *,
        like: Triads | None = None,
    ) -> Triads:
        """Make tokens of columns of a data frame.

        Parameters
        ----------
        frame : DataFrame, Series, mapping or list of dicts
            As in :meth:`Dyads.from_frame`, whose errors are raised.
        first, second, third : str
            Names of the columns that hold the values of a triple.
        count : str or None, default="auto"
            Name of the column of counts. None: each line is one token. "auto": the column with a
            usual name of counts, as in :meth:`Dyads.from_frame`.
        like : Triads, default=None
            As in :meth:`from_triples`.

        Returns
        -------
        triads : Triads
        """
        x, y, w, counts = read_columns(frame, (first, second, third), count)
        return cls.from_triples(x, y, w, counts, like=like)

    @classmethod
    def from_schema(cls, schema: TableSchema, first: Array, second: Array, third: Array) -> Triads:
        names = schema.row_names, schema.middle_names, schema.column_names
        return cls(first, second, third, shape=schema.shape, names=names)

    def transpose(self, first: int, second: int, third: int) -> Triads:
        """Put the ways in another order, such as 2, 1, 0.

        The last way is the one that an estimator predicts.
        """
        order = first, second, third
        if sorted(order) != [0, 1, 2]:
            raise ValueError(f"The ways {order} should be 0, 1 and 2 in some order.")
        N, M, L = (self.table_shape[way] for way in order)
        other = self.with_positions(tuple(self.positions[way] for way in order), self.weights)
        other.names = tuple(self.names[way] for way in order)
        other.table_shape = N, M, L
        return other

    def dyads(self, rows: int, columns: int) -> Dyads:
        """Dyads, in the same order, of two ways, 0, 1 or 2, that become rows and columns."""
        if not {rows, columns} <= {0, 1, 2}:
            raise ValueError(f"The ways {rows} and {columns} should be 0, 1 or 2.")
        shape = self.table_shape[rows], self.table_shape[columns]
        schema = TableSchema(shape, self.names[rows], self.names[columns])
        positions = self.positions[rows], self.positions[columns]
        return Dyads.from_schema(schema, *positions, self.weights)

    @property
    def schema(self) -> TableSchema:
        first, second, third = self.names
        return TableSchema(self.table_shape, first, third, middle_names=second)

    def to_counts(self) -> TripleCounts:
        """The table of counts, of the type of `Dyads.to_csr`."""
        return TripleCounts(self._table(*self._paired), self.table_shape[1:])

    def listed(self, dtype: DTypeLike) -> tuple[TripleCounts, Array]:
        """Return one non-zero for each token, row by row, and the token of each, (L,)."""
        table, order = self._ones(*self._paired, dtype)
        return TripleCounts(table, self.table_shape[1:]), order

    @property
    def _paired(self) -> tuple[Array, tuple[int, int]]:
        """Positions of (y_j, w_l) among the M L pairs, and shape (N, M L)."""
        N, M, L = self.table_shape
        return self.positions[1].astype(np.int64) * L + self.positions[2], (N, M * L)


def _check_positions(values: ArrayLike, name: str) -> Array:
    index = np.asarray(values)
    index = index if index.size else index.astype(np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu" or index.min(initial=0) < 0:
        advice = "; of names make Triads.from_triples" if index.dtype.kind in "USO" else ""
        raise ValueError(f"{name} should be a 1d array of non-negative int{advice}.")
    return index.astype(np.intp, copy=False)
