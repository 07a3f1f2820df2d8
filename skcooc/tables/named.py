"""Names that stay with counts through a pipeline, and values of columns matched by name."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from skcooc.protocol import CSR, Array, warn
from skcooc.tables.names import checked_names, columns_of, find_names, same_names


class NamedCSR(sp.csr_array):
    """A CSR array with names of its rows or columns.

    Copies, arrays of another type, rows and columns that are selected keep the names; what else is
    derived from it, such as sums and transposes, has none.
    """

    row_names: Array | None = None  # (N,)
    column_names: Array | None = None  # (M,)

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if part.ndim != 2 or part.format != "csr":
            return part
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, Ellipsis)
        return with_names(
            part, _selected(self.column_names, columns), _selected(self.row_names, rows)
        )

    def copy(self) -> Self:
        return self._named(super().copy())

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> Self:
        return self._named(super().astype(dtype, casting=casting, copy=copy))

    def resize(self, *shape: int) -> None:
        super().resize(*shape)
        self.row_names = None
        self.column_names = None

    def _named(self, same_table: Self) -> Self:
        same_table.row_names = self.row_names
        same_table.column_names = self.column_names
        return same_table


def _selected(names: Array | None, key: Any) -> Array | None:
    """Names at the positions of a slice, a list or a mask; None for other keys."""
    is_list = key is Ellipsis or isinstance(key, slice) or np.ndim(key) == 1
    return names[key] if names is not None and is_list else None


def with_names(part: CSR, column_names: Array | None, row_names: Array | None = None) -> CSR:
    """Attach names to a table, so that a model fits it like a data frame.

    A transformer of counts takes names by ``column_names_of(X)``, and returns its own with this.
    """
    if column_names is None and row_names is None:
        return part
    named = NamedCSR(part)
    named.column_names = checked_names(column_names, part.shape[1], "column_names")
    named.row_names = checked_names(row_names, part.shape[0], "row_names")
    return named


def in_columns_of_table(
    values: Array, frame: object, columns: Array | None, parameter: str
) -> Array:
    """Values of a frame or Series, (..., F), in the M columns of a table, by name: (..., M).

    Columns that the frame lacks are zero. Without names, or with the names 0, 1, ..., values are
    in the order of the table, and returned as they are.

    ValueError where names repeat or none is a column; UserWarning where some are no columns, or
    columns of the table have no names.
    """
    names = columns_of(frame)
    if names is None or same_names(names, np.arange(len(names))):
        return values
    if columns is None:
        warn(
            f"{parameter} has names of columns, such as {names[0]!r}, but X has none: values are "
            "matched by position. Fit a data frame or counts of NamedCounts, or give a NumPy array."
        )
        return values
    if same_names(names, columns):
        return values
    places = find_names(columns, names)
    unknown = np.flatnonzero(places < 0)
    if len(unknown) == len(places):
        raise ValueError(
            f"None of the {len(places)} columns of {parameter}, such as {names[0]!r}, is a column "
            "of X. Name its columns as those of X, or give a NumPy array."
        )
    if len({*names}) < len(names) or len({*columns.tolist()}) < len(columns):
        raise ValueError(
            f"{parameter} has its columns in another order than X, and names repeat. Rename them, "
            "or give a NumPy array."
        )
    if len(unknown):
        warn(
            f"{len(unknown)} of the {len(places)} columns of {parameter} are not in X, such as "
            f"{names[unknown[0]]!r}: they are left out."
        )
    aligned = np.zeros((*values.shape[:-1], len(columns)), dtype=values.dtype)
    aligned[..., places[places >= 0]] = values[..., places >= 0]
    return aligned
