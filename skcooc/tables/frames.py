"""What observations of two and of three indices share: checks, names, order."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils._missing import is_pandas_na

from skcooc.protocol import CSR, Array

MAX_OBSERVATIONS = 2**31 - 1


class Cells(NamedTuple):
    """Which cells of a table have observations: of a CSR array, whose indices are shared."""

    indptr: Array  # (N + 1,)
    columns: Array  # (nnz,)

    def of(self, rows: Array) -> tuple[Array, Array]:
        """Those of the given rows, (n,): which of these each is in, and its column."""
        starts, stops = self.indptr[rows], self.indptr[rows + 1]
        found = [self.columns[first:last] for first, last in zip(starts, stops, strict=True)]
        columns = np.concatenate(found) if found else self.columns[:0]
        return np.repeat(np.arange(len(rows)), stops - starts), columns


class Frame(NamedTuple):
    """A table without its counts: shape, names, and where it has observations."""

    shape: tuple[int, ...]  # (N, M); of Triads (N, M, L)
    row_names: Array | None = None
    column_names: Array | None = None
    third_names: Array | None = None
    seen: Cells | None = None  # of tables that were fitted in memory

    @property
    def names(self) -> tuple[Array | None, ...]:
        """Of rows, columns and the third way."""
        return self.row_names, self.column_names, self.third_names


def cells_of(table: CSR) -> Cells:
    """Where a checked table has observations."""
    if not table.data.all():
        table = table.copy()
        table.eliminate_zeros()
    return Cells(table.indptr, table.indices)


def same_table(one: Frame, other: Frame) -> bool:
    """Whether shapes are equal, and names too where both have them."""
    names = zip(one.names, other.names, strict=True)
    return one.shape == other.shape and all(_equal_names(*pair) for pair in names)


def places(names: Array, sought: ArrayLike) -> Array:
    """The position of each name sought, (n,); -1 where it is not among the names."""
    known = {name: i for i, name in enumerate(names.tolist())}
    found = [known.get(name, -1) for name in np.asarray(sought).ravel().tolist()]
    return np.array(found, dtype=np.intp)


def placed(frame: Frame, rows: Array, columns: Array) -> tuple[Array, Array, Array]:
    """Which of n pairs of names a table knows, (n,), and the positions of these; a warning else."""
    if frame.row_names is None or frame.column_names is None:
        raise ValueError("like has no names of rows and columns, by which pairs could be placed.")
    i, j = places(frame.row_names, rows), places(frame.column_names, columns)
    known = (i >= 0) & (j >= 0)
    if not known.all():
        unknown = [_unknown("rows", rows[i < 0]), _unknown("columns", columns[j < 0])]
        warnings.warn(
            f"{(~known).sum()} of {len(known)} pairs are left out: their table has "
            f"{' and '.join(filter(None, unknown))}.",
            UserWarning,
            stacklevel=4,
        )
    return known, i[known], j[known]


def _unknown(side: str, names: Array) -> str:
    """The first few that a table has not, and how many more there are; nothing where it has all."""
    distinct = sorted(set(names.tolist()), key=str)
    more = f" and {len(distinct) - 3} others" if len(distinct) > 3 else ""
    return f"no {side} {distinct[:3]}{more}" if distinct else ""


def repeated(counts: Any, *indices: Any) -> tuple[Any, ...]:
    """One entry for each observation; ValueError where there are too many.

    Weights are None where all observations weigh one.
    """
    repeats = np.ceil(counts)
    n_observations = float(repeats.sum(dtype=np.float64))
    if n_observations > MAX_OBSERVATIONS:
        raise ValueError(
            f"The counts add up to {n_observations:.3g} observations, more than Dyads can list "
            f"one by one ({MAX_OBSERVATIONS}). Use the count matrix itself."
        )
    repeats = repeats.astype(np.int64)
    unit = counts / np.maximum(repeats, 1).astype(np.result_type(counts, np.float32))
    whole = counts.dtype != np.float32 and bool((unit[counts > 0] == 1).all())
    weights = None if whole else np.repeat(unit, repeats)
    return *(np.repeat(index, repeats) for index in indices), weights


def complete(names: ArrayLike, side: str) -> Array:
    """The names; ValueError where some are missing, as pandas reads empty fields and "null"."""
    names = np.asarray(names)
    missing = _missing(names)
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of {len(names)} {side} have no name, the first at position "
            f"{missing.argmax()}: leave these out, or read names as strings, such as by "
            "pandas.read_csv(..., keep_default_na=False)."
        )
    return names


def _missing(names: Array) -> Array:
    """Which names are None, NaN, NaT or NA."""
    if names.dtype.kind != "O":
        return np.asarray(names != names)
    listed = names.tolist()
    none = {name for name in set(listed) if name is None or is_pandas_na(name) or name != name}
    return np.array([name in none for name in listed], dtype=bool)


def distinct(names: Array, side: str) -> tuple[Array, Array]:
    """The distinct names, sorted, and which of them each is; TypeError where none has an order."""
    try:
        return np.unique(names, return_inverse=True)
    except TypeError as error:
        types = sorted({type(name).__name__ for name in names.tolist()})
        raise TypeError(
            f"Names of {side} should be all strings or all numbers. Got {types}."
        ) from error


def new_cells(
    shape: tuple[int, int], rows: Array, columns: Array, others: tuple[Array, Array]
) -> Array:
    """Which observations, (L,), are in cells of a table in which there are no others."""
    known = np.ravel_multi_index(others, shape)
    return np.isin(np.ravel_multi_index((rows, columns), shape), known, invert=True)


def checked_names(names: ArrayLike | None, size: int, what: str) -> Array | None:
    """Names as an array; ValueError where there are more or fewer than the size."""
    if names is None:
        return None
    names = np.asarray(names)
    if names.shape != (size,):
        raise ValueError(f"{what} has shape {names.shape}; expected ({size},)")
    return names


def _equal_names(mine: Array | None, its: Array | None) -> bool:
    if mine is None or its is None or mine is its:
        return True
    return bool(np.array_equal(mine, its))


def selection(key: Any, name: str, see: str) -> Any:
    """What positions, a mask, a number or a slice select; IndexError where they are two ways'."""
    if isinstance(key, tuple):  # dyads[positions, ...], as scikit-learn indexes arrays
        key, *rest = key
        if rest and rest[0] not in (Ellipsis, slice(None)):
            raise IndexError(f"{name} are indexed by observations; see {see}.")
    if isinstance(key, (int, np.integer, slice)):
        return key
    key = np.asarray(key)
    return key if key.size else key.astype(np.intp)


def reweighted(weights: Array | None, sample_weight: ArrayLike) -> Array:
    """Weights, (n,), multiplied by factors; None are ones."""
    factors = np.asarray(sample_weight)
    return factors if weights is None else (weights * factors).astype(weights.dtype)


def row_by_row(rows: Array, n_rows: int) -> tuple[Array, Array]:
    """The order, (n,), in which observations lie row by row; and where each row begins."""
    per_row = np.bincount(rows, minlength=n_rows)
    return np.argsort(rows, kind="stable"), np.concatenate([[0], np.cumsum(per_row)])


def checked_positions(values: ArrayLike, name: str) -> Array:
    """Positions, (n,); ValueError where they are none."""
    index = np.asarray(values)
    index = index if index.size else index.astype(np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu" or index.min(initial=0) < 0:
        raise ValueError(f"{name} should be a 1d array of non-negative int.")
    return index


def checked_counts(counts: ArrayLike) -> Array:
    """Counts, (n,); ValueError where some are negative or not finite."""
    counted: Array = check_array(
        np.asarray(counts),
        ensure_2d=False,
        ensure_non_negative=True,
        ensure_min_samples=0,
        input_name="counts",
    )
    return counted


def named_column(frame: Any, name: str) -> Any:
    """A column of a data frame or mapping; ValueError where it has none of that name."""
    try:
        return frame[name]
    except KeyError as error:
        names = ", ".join(map(repr, getattr(frame, "columns", frame)))
        raise ValueError(f"{name!r} is not a column of the frame, which has {names}.") from error
