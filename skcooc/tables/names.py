"""Names of rows and columns: taken from tables, compared and found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.protocol import Array
from skcooc.protocol.scikit_learn import is_missing

NAME_OF_IDS = re.compile(
    r"(^|[\W_])(id|ID)$|[a-z]I[dD]$|^Unnamed: \d+$|^(__index_level_\d+__|level_\d+|index)$"
)

MEASURE = re.compile(
    "age|altitude|chr|date|day|depth|duration|elevation|end|lat|latitude|length|lon|long|longitude|"
    "month|numotus|ph|price|ratings?|score|stars|start|sum|temp|temperature|time|timestamp|totals?|"
    "year|.*%.*|.+[ _.](mm|cm|km|mg|kg|ml|pct|percent|usd|eur)|"
    "(altitude|depth|elevation|height|length|mass|temperature|weight|width)[ _.].+",
    re.IGNORECASE,
)


def same_names(first: ArrayLike, second: ArrayLike) -> bool:
    """True if names are the same in the same order, where missing names are equal."""
    first = as_names(first)
    second = as_names(second)
    if first.shape != second.shape or first.ndim != 1:
        return bool(first.tolist() == second.tolist())
    missing = is_missing(first)  # None, NaN or NA
    if not np.array_equal(missing, is_missing(second)):
        return False
    pairs = zip(first.tolist(), second.tolist(), missing.tolist(), strict=True)
    return all(is_unknown or a == b for a, b, is_unknown in pairs)


class NameIndex:
    """Look-ups of names, each made at its first use."""

    def __init__(self, names: Array) -> None:
        self.names = names

    def find(self, wanted: ArrayLike) -> Array:
        """Return the position of each wanted name, (n,); -1 if it is not among the names."""
        wanted = as_names(wanted).ravel().tolist()
        return np.array([self._positions.get(name, -1) for name in wanted], dtype=np.intp)

    @cached_property
    def _positions(self) -> dict[object, int]:
        return {name: i for i, name in enumerate(self.names.tolist())}

    @cached_property
    def repeated(self) -> dict[object, int]:
        """How often each name occurs that occurs more than once."""
        if len(self._positions) == len(self.names):
            return {}
        return {name: n for name, n in Counter(self.names.tolist()).items() if n > 1}

    @cached_property
    def types(self) -> frozenset[type]:
        return frozenset(map(type, self.names.tolist()))

    @property
    def has_numbers(self) -> bool:
        return any(issubclass(kind, Number) for kind in self.types)

    @cached_property
    def has_texts_of_numbers(self) -> bool:
        """Whether a name is a text such as "5"."""
        names = self.names.tolist() if str in self.types else []
        return any(
            isinstance(name, str) and name.strip().lstrip("+-").isdecimal() for name in names
        )


def find_names(names: Array, wanted: ArrayLike) -> Array:
    """Position of each wanted name, (n,); -1 if it is not among the names."""
    return NameIndex(names).find(wanted)


def as_names(names: ArrayLike) -> Array:
    """Names as an array; integers that are objects, as in some data frames, become integers.

    Dates are in microseconds: lists of them hold dates, and not integers as of nanoseconds. Tuples,
    as in a MultiIndex, are single names, and a list of texts and numbers keeps the numbers.
    TypeError for a mapping, such as a vocabulary, which is in another order than the columns.
    """
    if isinstance(names, Mapping):
        raise TypeError(
            f"Names are a {type(names).__name__}: give a list in the order of the table, such as "
            "get_feature_names_out() of a vectorizer, or of a gensim dictionary "
            "[dictionary[j] for j in range(len(dictionary))]."
        )
    if isinstance(names, Iterator):
        names = list(names)
    if isinstance(names, list | tuple) and _need_objects(names):
        array = np.empty(len(names), dtype=object)
        array[:] = names
    else:
        array = np.asarray(names)
    if (kind := array.dtype.kind) in "mM":
        return array.astype(f"{kind}8[us]")
    if array.dtype == object and any(isinstance(name, np.str_) for name in array.flat):
        array = np.asarray(np.frompyfunc(_plain, 1, 1)(array), dtype=object)
    if array.dtype != object or not all(isinstance(name, Integral) for name in array.flat):
        return array
    numbers = np.array(array.tolist())
    return numbers if numbers.dtype.kind in "iu" else array


def _plain(name: object) -> object:
    """A name as it is, but a string of NumPy, which scikit-learn refuses, as one of Python."""
    return str(name) if isinstance(name, np.str_) else name


def _need_objects(names: Sequence[object]) -> bool:
    """Whether NumPy would take tuples apart, or make texts of numbers."""
    if any(isinstance(name, tuple) for name in names):
        return True
    is_text = [isinstance(name, str) for name in names]
    return any(is_text) and not all(is_text)


def unique_names(names: Array, side: str) -> tuple[Array, Array]:
    """Sorted distinct names, and the index of each; TypeError if names have no order."""
    if names.dtype.kind in "iu" and names.size:
        smallest = names.min()
        if int(names.max()) - int(smallest) < 2 * len(names):  # no need to sort
            offsets = (names - smallest).view(f"u{names.itemsize}")  # which cannot overflow
            is_name = np.zeros(int(offsets.max()) + 1, dtype=bool)
            is_name[offsets] = True
            distinct = np.flatnonzero(is_name).astype(names.dtype) + smallest
            return distinct, (np.cumsum(is_name) - 1)[offsets]
    if names.dtype.kind not in "OU":
        return np.unique(names, return_inverse=True)
    listed = names.tolist()
    try:  # to sort all names, and not only the distinct ones, takes many times as long
        ordered = sorted(set(listed))
    except TypeError as error:
        types = sorted({type(name).__name__ for name in listed})
        raise TypeError(
            f"Names of {side} should be all strings or all numbers. Got {types}: convert them, "
            "such as by .astype(str)."
        ) from error
    distinct = np.empty(len(ordered), dtype=names.dtype)
    distinct[:] = ordered
    positions = {name: i for i, name in enumerate(ordered)}
    return distinct, np.fromiter(map(positions.__getitem__, listed), np.intp, len(listed))


def in_another_order(first: Any, second: Any) -> bool:
    """Whether names, or strings of them, are the same but for their order; each may repeat."""
    if len(first) != len(second):
        return False
    first, second = (list(map(str, as_names(names).tolist())) for names in (first, second))
    return first != second and Counter(first) == Counter(second)


def check_index(X: Any, **arguments: Any) -> None:
    """Refuse values of rows that have the names of rows in another order, or those of columns."""
    rows = X.index if hasattr(X, "iloc") else row_names_of(X)
    check_order(rows, **arguments)
    columns = None if getattr(X, "ndim", 2) == 1 else column_names_of(X)
    for name, values in arguments.items():
        if columns is None or not hasattr(values, "iloc") or _numbers_all(values.index):
            continue
        labels = set(as_names(values.index).tolist())
        are_rows = rows is not None and labels == set(as_names(rows).tolist())
        if labels == set(columns.tolist()) and not are_rows:
            raise ValueError(
                f"{name} should have a value for each row, but its index is that of the columns "
                f"of X, such as {columns[0]!r}: if rows and columns are exchanged, give X.T."
            )


def check_order(index: Any, **arguments: Any) -> None:
    """Refuse values of rows that have these names in another order, or names of other rows.

    Those without a name in common are in the order of the rows, as are those that number them.
    """
    for name, values in arguments.items():
        if isinstance(values, Mapping):
            check_order(index, **{f"{name}[{key!r}]": column for key, column in values.items()})
        if index is None or not hasattr(values, "iloc"):
            continue
        if np.array_equal(index, values.index) or same_names(index, values.index):
            continue
        if in_another_order(index, values.index):
            raise ValueError(
                f"{name} has the index of the rows in another order, but its values are matched "
                f"by position. Give {name}.loc[index of rows], or {name}.to_numpy() if the order "
                "is right."
            )
        if _numbers_all(index) or _numbers_all(values.index) or len(index) != len(values.index):
            continue
        rows, labels = (list(map(str, as_names(n).tolist())) for n in (index, values.index))
        differing = [pair for pair in zip(rows, labels, strict=True) if pair[0] != pair[1]]
        if differing and not set(rows).isdisjoint(labels):
            row, label = differing[0]
            raise ValueError(
                f"{name} has the index of other rows, such as {label!r} for the row {row!r}, but "
                f"its values are matched by position. Give {name}.reindex(index of rows), or "
                f"{name}.to_numpy() if the order is right."
            )


def _numbers_all(index: Any) -> bool:
    """Whether an index is 0, 1, ..."""
    names = as_names(index)
    return names.dtype.kind in "iu" and np.array_equal(names, np.arange(len(names)))


def checked_names(names: ArrayLike | None, size: int, parameter: str) -> Array | None:
    if names is None:
        return None
    names = as_names(names).copy()
    if names.shape != (size,):
        message = f"{parameter} has shape {names.shape}; expected ({size},)"
        if names.ndim == 2:
            message += ": join the levels of a MultiIndex, such as by '_'.join"
        raise ValueError(message)
    return names


def row_names_of(X: Any) -> Array | None:
    """Names of the rows of a table; None where it has none, or an index that numbers all rows.

    >>> import pandas
    >>> frame = pandas.DataFrame({"tea": [3, 1, 2], "ale": [0, 4, 1]})
    >>> row_names_of(frame) is None, row_names_of(frame[frame.ale > 0])
    (True, array([1, 2]))
    """
    if not hasattr(X, "iloc"):
        return getattr(X, "row_names", None)
    index = X.index
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return None
    return as_names(index)


def column_names_of(X: Any) -> Array | None:
    """Names of the columns of a table, of any type; None where they are numbered 0, 1, ..."""
    columns = columns_of(X)
    if columns is None:
        return None
    return None if _numbers_all(columns) else as_names(columns)


def is_name_of_ids(name: object) -> bool:
    """Whether a column of this name identifies the rows: "userId", or an index as pandas writes it.

    >>> [name for name in ("user_id", "#OTU ID", "Unnamed: 0", "covid") if is_name_of_ids(name)]
    ['user_id', '#OTU ID', 'Unnamed: 0']
    """
    return isinstance(name, str) and NAME_OF_IDS.search(name.strip()) is not None


def is_name_of_measure(name: object) -> bool:
    """Whether a column is called like a measurement; words may have such names, too.

    >>> [name for name in ("Age", "body_mm", "agent") if is_name_of_measure(name)]
    ['Age', 'body_mm']
    """
    return isinstance(name, str) and MEASURE.fullmatch(name.strip()) is not None


def columns_of(frame: Any, default: Any = None) -> Any:
    """Names of the columns of a data frame, also of pyarrow, or the index of a Series."""
    if hasattr(frame, "iloc"):  # pandas has attributes for words, such as "column_names"
        return frame.axes[-1]
    return getattr(frame, "column_names", getattr(frame, "columns", default))
