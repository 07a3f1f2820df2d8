"""The columns that are predicted first of a row."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from skcooc.protocol import Array


class Ranked(NamedTuple):
    """Columns of several rows, the best first, and what puts them there."""

    columns: Array  # (n, k) of int; -1 behind the last one
    values: Array  # (n, k), float64; NaN behind the last one

    @classmethod
    def none(cls, n: int, k: int) -> Self:
        """Nothing yet for n rows."""
        return cls(np.full((n, k), -1), np.full((n, k), np.nan))


def ranked(values: Array, k: int) -> Ranked:
    """The k largest values of each row, (n, M); of equal ones the first column comes first.

    Those that are -inf are left out.
    """
    n, width = len(values), min(k, values.shape[1])
    least = np.partition(values, -width, axis=1)[:, -width]
    rows, columns = np.nonzero((values >= least[:, None]) & (values > -np.inf))
    found = values[rows, columns]
    order = np.lexsort((columns, -found, rows))
    sizes = np.bincount(rows, minlength=n)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order, place = order[place < k], place[place < k]
    best = Ranked.none(n, k)
    best.columns[rows[order], place] = columns[order]
    best.values[rows[order], place] = found[order]
    return best
