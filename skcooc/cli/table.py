"""A table of counts with the names of its rows and columns, and what it needs to be usable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.protocol import Array
from skcooc.tables.frames import MAX_OBSERVATIONS

MIN_OBSERVATIONS = 100  # a tenth of them is held out, and a tenth of the rest once more


class InputError(Exception):
    """What the user gave cannot be used; the message says why in one line."""


class LeftOut(NamedTuple):
    """Words that are in too many or too few documents."""

    frequent: list[tuple[str, float]]  # with the share of documents, the most frequent first
    n_rare: int
    max_df: int | float
    min_df: int | float


@dataclass(frozen=True)
class Table:
    """What a data set is to all that follows."""

    X: sp.sparray  # (N, M): counts; CSR once they are checked
    row_names: Sequence[str]
    column_names: Sequence[str]
    title: str  # where it comes from
    kinds: tuple[str, str] = ("rows", "columns")  # what these are, in the plural
    examples: Sequence[str] = ()  # rows whose neighbours are shown; chosen by the report if empty
    vectorizer: CountVectorizer | None = None  # what made counts of texts
    texts: Sequence[str] | None = None
    left_out: LeftOut | None = None  # words that texts have and the table has not
    groups: Array | None = None  # a label of each row, None where it has none
    times: Array | None = None  # a number or a date of each row

    def position(self, name: str) -> int:
        """Position of a row; InputError where there is none, or it has no observations."""
        if name not in self.row_names:
            raise InputError(f"{self.title}: there is no row {name!r}")
        i = list(self.row_names).index(name)
        if not self.X[[i]].sum():
            raise InputError(f"{self.title}: the row {name!r} has no observations")
        return i


def checked(table: Table) -> Table:
    """The table with counts in float64 as CSR, none of them stored twice, no stored zeros.

    InputError is raised where there are counts that no model can use, or too few.
    """
    if not (np.issubdtype(table.X.dtype, np.number) or table.X.dtype == bool):
        raise InputError(f"{table.title}: counts are of type {table.X.dtype}, not numbers")
    if np.iscomplexobj(table.X.data):
        raise InputError(f"{table.title}: counts are complex numbers")
    X = sp.csr_array(table.X, dtype=np.float64)
    if not np.isfinite(X.data).all():
        raise InputError(f"{table.title}: counts are not all finite")
    X.sum_duplicates()
    X.eliminate_zeros()
    if (X.data < 0).any():
        raise InputError(f"{table.title}: counts are negative, such as {X.data.min():g}")
    _check_size(table, X)
    _check_labels(table, X)
    return replace(table, X=X)


def _check_size(table: Table, X: sp.csr_array) -> None:
    n, m = (np.unique(positions).size for positions in X.nonzero())
    if min(n, m) < 2:
        raise InputError(
            f"{table.title}: {n} {table.kinds[0]} and {m} {table.kinds[1]} with observations; "
            "at least two of both are needed"
        )
    with np.errstate(over="ignore"):  # infinitely many are too many
        n_observations = np.ceil(X.data).sum()
    if not MIN_OBSERVATIONS <= n_observations <= MAX_OBSERVATIONS:
        raise InputError(
            f"{table.title}: {n_observations:.10g} observations; "
            f"it takes from {MIN_OBSERVATIONS} to {MAX_OBSERVATIONS} to hold out a part of them"
        )


def _check_labels(table: Table, X: sp.csr_array) -> None:
    observed = X.sum(axis=1) > 0
    for option, labels in (("--group", table.groups), ("--time", table.times)):
        if labels is None:
            continue
        known = [label is not None and label == label for label in labels]  # NaN and NaT are not
        if not (observed & known).any():
            raise InputError(f"{table.title}: no text with words has a value of {option}")
