"""What a row has not, and is likely to have next: items for users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.base.quantities import NoRowsError, positions
from skcooc.heldout.ranking import Ranked, ranked
from skcooc.protocol import CSR, Array, Block, Predictor, TableLike
from skcooc.protocol.decorators import validated
from skcooc.tables import Frame, cells_of, everywhere, places
from skcooc.tables.frames import Cells

CELLS = 2**20  # probabilities that are in memory at a time


class Recommendations(NamedTuple):
    """Columns for rows, the most probable first."""

    items: Array
    """(n_rows, n): names of columns, as objects, where these are known; positions otherwise."""

    scores: Array
    """(n_rows, n): P(y given x) of each, float64."""


class Fitted(Protocol):
    """What is asked of a fitted model."""

    components_: Array
    embedding_: Array
    _frame: Frame
    _checked: Callable[[TableLike], Block]
    _fold_in: Callable[[Block], Array]
    _predicting: Callable[[Array, CSR | None], Predictor]
    _rows_fitted: Callable[[], CSR | None]


class Asked(NamedTuple):
    """Rows for which something is recommended."""

    mixtures: Array  # (n, K)
    known: CSR | None  # (n, M): what predictions need to know of them
    seen: Cells | None  # what is left out: cells of a table
    rows: Array  # (n,): which rows of it these are


@validated({"n": [Interval(Integral, 1, None, closed="left")], "exclude_seen": ["boolean"]})
def recommend(
    self: Fitted, rows: ArrayLike | TableLike, n: int = 10, *, exclude_seen: bool = True
) -> Recommendations:
    """The most probable columns of rows: items for users.

    Columns are ranked by P(y_j given x_i), smoothed as all that is scored is. Of equally probable
    ones that which stands first in the table comes first. What is recommended to a row does not
    depend on which others are asked for.

    Parameters
    ----------
    rows : int, str, array-like of shape (n_rows,), or table of shape (n_rows, M)
        Rows fitted, by their positions, or by their names where `Dyads` with names of rows were
        fitted; integers are names only where the names are. Or else counts of new rows, as
        ``transform`` takes them, in memory: they are folded in.
    n : int, default=10
        How many columns for each row.
    exclude_seen : bool, default=True
        Whether to leave out the columns that a row has observations in: of a row fitted those in
        the table fitted, of a new row those of its counts.

    Returns
    -------
    recommendations : Recommendations
        A named tuple of ``items`` and ``scores``, both of shape (n_rows, n), or (n,) for a single
        row. Items are names where the columns fitted have names, in an array of objects, and
        positions otherwise. Scores are P(y_j given x_i). Where fewer than n columns are left for
        a row, the last items are None, or -1, and their scores NaN.

    Raises
    ------
    ValueError
        Where names are not among those of the rows fitted, where the table was read in blocks, so
        that no rows are kept, or was a dask array or CompactTable, so that it is not known which
        columns rows fitted have; where there are names, but the rows fitted have none; where n is
        no positive int, or new rows are no valid counts.
    IndexError
        Where positions are out of bounds, or are not integers.

    Notes
    -----
    A model fitted in memory knows which cells of its table have observations, not how many: it
    shares ``indices`` of a CSR array that was given, so these should not be written to. It takes
    time proportional to n_rows M K; about a million probabilities are in memory at a time.

    Examples
    --------
    >>> from skcooc import AspectModel, Dyads
    >>> users = ["ann", "ann", "bob", "bob", "cleo", "dan", "dan"]
    >>> items = ["tea", "scones", "tea", "jam", "ale", "ale", "crisps"]
    >>> observations = Dyads.from_pairs(users, items)
    >>> model = AspectModel(2, beta=0.9, random_state=0).fit(observations)
    >>> model.recommend(["ann", "cleo"], 1).items
    array([['jam'],
           ['crisps']], dtype=object)
    >>> model.recommend("dan", 1, exclude_seen=False).items
    array(['ale'], dtype=object)
    """
    check_is_fitted(self)
    shape = np.shape(rows)
    if len(shape) > 2 or (sp.issparse(rows) and len(shape) == 1):
        raise ValueError(
            f"rows are of shape {shape}: give positions or names in a list, or counts of new rows "
            f"as a table with {self.components_.shape[1]} columns."
        )
    asked = _new(self, rows) if len(shape) == 2 else _fitted(self, rows, exclude_seen)
    leading = (len(asked.rows),) if shape else ()
    best = Ranked.none(len(asked.rows), n)
    for some, P in _predicted(self, asked if exclude_seen else asked._replace(seen=None)):
        best.columns[some], best.values[some] = ranked(P, n)
    items = _named(self._frame.column_names, best.columns)
    return Recommendations(items.reshape(*leading, n), best.values.reshape(*leading, n))


def _new(self: Fitted, rows: TableLike) -> Asked:
    """New rows, of which these are the counts."""
    X = self._checked(rows)
    return Asked(self._fold_in(X), X.table, cells_of(X.table), np.arange(X.shape[0]))


def _fitted(self: Fitted, rows: ArrayLike, exclude_seen: bool) -> Asked:
    """Rows fitted, by positions or names."""
    if not len(self.embedding_):
        raise NoRowsError
    frame = self._frame
    if exclude_seen and frame.seen is None:
        raise ValueError(
            "It is not known which columns the rows fitted have: of a dask array or CompactTable "
            "that is not kept. Give the counts of rows as a matrix, or exclude_seen=False."
        )
    chosen = _chosen(frame.row_names, np.asarray(rows).ravel(), len(self.embedding_))
    known = self._rows_fitted()
    mixtures = np.asarray(self.embedding_[chosen])
    return Asked(mixtures, None if known is None else known[chosen], frame.seen, chosen)


def _chosen(names: Array | None, rows: Array, n_rows: int) -> Array:
    """Positions of rows that were asked for by position or by name."""
    if names is None and rows.dtype.kind in "UO":
        raise ValueError(
            "The rows fitted have no names: give positions, or fit Dyads with row_names, or a data "
            "frame whose index holds strings."
        )
    numbers = rows.dtype.kind in "iufb"
    if names is None or (numbers and not np.issubdtype(names.dtype, np.number)):
        return positions(rows, n_rows, "row")
    found = places(names, rows)
    if (found < 0).any():
        unknown = rows[found < 0].tolist()
        raise ValueError(
            f"{len(unknown)} of the rows are not in the table fitted: {unknown[:3]}. Its rows are "
            f"called {names[:2].tolist()} and so on; counts of new ones are given as a matrix."
        )
    return found


def _predicted(self: Fitted, asked: Asked) -> Iterator[tuple[slice, Array]]:
    """P(y given x), (n, M), of some rows after the others; -inf in columns that are left out."""
    n_columns = self.components_.shape[1]
    for first in range(0, len(asked.rows), step := max(1, CELLS // n_columns)):
        some = slice(first, first + step)
        mixtures, known, rows = asked.mixtures[some], asked.known, asked.rows[some]
        predictor = self._predicting(mixtures, None if known is None else known[some])
        everything = everywhere(len(rows), n_columns, mixtures.dtype)
        P = predictor.cells(everything).reshape(everything.shape)
        if asked.seen is not None:
            P[asked.seen.of(rows)] = -np.inf
        yield some, P


def _named(names: Array | None, columns: Array) -> Array:
    """Names of columns, as objects, and None for -1; the columns where there are no names."""
    if names is None:
        return columns
    return np.append(names.astype(object), [None])[columns]
