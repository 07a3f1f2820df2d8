"""The groups and times of a page: no more than can be looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.dates import CURE, missing
from skcooc.inspection.groups import dated, grouped, read, runs
from skcooc.protocol import Array

N_RESAMPLES, LEVEL = 200, 0.95  # of intervals
MOST_GROUPS = 40  # the largest are shown
MOST_TIMES = 24  # single numbers up to this number, else equal intervals


class Shown(NamedTuple):
    """Groups of rows."""

    members: list[Array]  # positions of their rows
    labels: list[str]
    n: int  # how many groups or times there are, though not all are shown
    name: str | None = None  # of what rows are divided by
    at: list[float] | None = None  # where each is in time
    runs: list[list[int]] | None = None  # the first, and one behind the last, of those joined


def by_group(groups: ArrayLike, row_sums: Array) -> Shown:
    """The largest groups, by their labels."""
    found = grouped(read(groups, "groups"), row_sums)
    sizes = np.array([len(rows) for rows in found.members])
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS]).tolist()
    members, labels = [found.members[g] for g in largest], [found.labels[g] for g in largest]
    return Shown(members, labels, len(sizes), found.name)


def by_time(times: ArrayLike, row_sums: Array) -> Shown:
    """Each number or, where there are more than ``MOST_TIMES``, equal intervals; periods of dates.

    Strings are dates in ISO 8601. Rows without a time are left out. TypeError is raised where times
    are neither numbers nor dates.
    """
    column = dated(read(times, "times"))
    found = grouped(column, row_sums)
    if not found.ordered:
        first = column.values[~missing(column.values)].tolist()[0]
        raise TypeError(f"times should be numbers or dates, but one is {first!r}. {CURE}")
    n, at = len(found.groups), found.groups.astype(float)
    if n > MOST_TIMES and found.groups.dtype.kind != "M":
        return _intervals(at, found.members, found.name)
    return Shown(found.members, found.labels, n, found.name, at.tolist(), _joined(found.groups))


def _joined(places: Array) -> list[list[int]]:
    return [[run.start, run.stop] for run in runs(places)]


def _intervals(values: Array, members: list[Array], name: str | None) -> Shown:
    """The rows of increasing values in equal intervals, where not empty."""
    edges = np.linspace(values[0], values[-1], MOST_TIMES + 1)
    numbers = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, MOST_TIMES - 1)
    shown = np.unique(numbers).tolist()
    merged = [np.concatenate([members[v] for v in np.flatnonzero(numbers == t)]) for t in shown]
    labels = [f"{edges[t]:.6g} – {edges[t + 1]:.6g}" for t in shown]
    middles = ((edges[:-1] + edges[1:]) / 2)[shown]
    return Shown(merged, labels, len(values), name, middles.tolist(), _joined(middles))
