"""Observations given as pairs of names: what makes `Dyads` of columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.tables.frames import complete, distinct, named_column, placed, repeated

if TYPE_CHECKING:
    from skcooc.tables.dyads import Dyads


def from_pairs(
    cls: type[Dyads],
    rows: ArrayLike,
    columns: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    like: Dyads | None = None,
) -> Dyads:
    """Observations given as two columns of names.

    Parameters
    ----------
    rows, columns : array-likes of shape (n,)
        Names of the row and of the column of each pair.
    counts : array-like of shape (n,), default=None
        How often each pair was observed, or what it weighs; once if None.
    like : Dyads, default=None
        Observations of a table with names, to which the pairs are to belong. Pairs that have a
        name unknown to it are left out, with a warning.

    Returns
    -------
    dyads : Dyads
        In the order of the pairs, each repeated by its count. The rows and columns of the table
        are the distinct names, sorted, or those of ``like``.

    Raises
    ------
    ValueError
        Where counts are negative or not finite, names are missing, lengths differ, or ``like``
        has no names.
    TypeError
        Where names are of several types that have no order, such as strings and numbers.

    Warns
    -----
    UserWarning
        Where pairs are left out, with their number and the first of the unknown names.
    """
    rows, columns = complete(rows, "rows"), complete(columns, "columns")
    n = np.ones(len(rows)) if counts is None else np.asarray(counts)
    if not len(rows) == len(columns) == len(n):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{[len(rows), len(columns), len(n)]}"
        )
    n = check_array(n, ensure_2d=False, ensure_non_negative=True, input_name="counts")
    if like is not None:
        known, i, j = placed(like.frame, rows, columns)
        return like.like(*repeated(n[known], i, j))
    (row_names, i), (column_names, j) = distinct(rows, "rows"), distinct(columns, "columns")
    table = sp.csr_array((len(row_names), len(column_names)))
    return cls(table, row_names=row_names, column_names=column_names).like(*repeated(n, i, j))


def from_frame(
    cls: type[Dyads],
    frame: Any,
    row: str,
    column: str,
    count: str | None = None,
    *,
    like: Dyads | None = None,
) -> Dyads:
    """Observations given as columns of a data frame (pandas, polars or any mapping).

    Parameters
    ----------
    frame : DataFrame or mapping
    row, column : str
        Names of the columns which hold the row and the column of a pair.
    count : str, default=None
        Name of the column of counts, or of weights, such as ratings; every line is one
        observation if None.
    like : Dyads, default=None
        Observations of a table, such as those that were fitted, to which these are to belong,
        by their names. Lines that have a name unknown to it are left out, with a warning.

    Returns
    -------
    dyads : Dyads

    Raises
    ------
    ValueError
        Where the frame has no column of that name, and as :meth:`from_pairs`.

    Examples
    --------
    >>> from skcooc import Dyads
    >>> bought = {"user": ["ann", "bob"], "item": ["tea", "ale"]}
    >>> later = {"user": ["bob"], "item": ["tea"]}
    >>> train = Dyads.from_frame(bought, "user", "item")
    >>> test = Dyads.from_frame(later, "user", "item", like=train)
    >>> test.to_csr().toarray()
    array([[0., 0.],
           [0., 1.]])
    """
    counts = None if count is None else named_column(frame, count)
    return cls.from_pairs(named_column(frame, row), named_column(frame, column), counts, like=like)
