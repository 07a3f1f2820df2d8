"""The shares of topics in the groups and over the times of texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skcooc.cli.table import Table
from skcooc.inspection import name_topics
from skcooc.inspection.explorer.shares import by_time
from skcooc.inspection.groups import divide
from skcooc.inspection.resampling import Mass, Shares, shares
from skcooc.protocol import Array, FactorModel

N_RESAMPLES, LEVEL = 200, 0.95  # of intervals, as in the page
N_GROUPS = 12  # the largest are printed
N_TOPICS = 3  # of each


class Compared(NamedTuple):
    """The shares of topics in groups of rows, with intervals."""

    what: str  # "group" or "time"
    labels: list[str]
    sizes: list[int]  # rows of each
    topics: list[str]
    shares: Shares


def compared(table: Table, model: FactorModel, seed: int) -> list[Compared]:
    """Shares by group and over time, where the rows of the table have any."""
    rows = np.asarray(model.row_distribution_)
    mass, topics = (
        Mass(rows[:, None] * model.embedding_, rows),
        name_topics(model, table.column_names),
    )

    def found(what: str, members: list[Array], labels: list[str]) -> Compared:
        of = shares(mass, members, N_RESAMPLES, LEVEL, seed)
        return Compared(what, labels, list(map(len, members)), topics, of)

    divisions = []
    if table.groups is not None:
        groups = divide(table.groups, rows)
        divisions.append(found("group", groups.members, groups.labels))
    if table.times is not None:
        times = by_time(table.times, rows)
        divisions.append(found("time", times.members, times.labels))
    return divisions


def lines(of: Compared, noun: str, rows: str) -> Iterator[str]:
    """The largest topics of the largest groups, in the order of the groups."""
    n_topics = min(N_TOPICS, len(of.topics))
    yield (
        f"Shares by {of.what}: the {n_topics} largest {noun}, of the observations of its {rows}, "
        f"with {LEVEL:.0%} intervals"
    )
    for g in sorted(np.argsort(-np.array(of.sizes), kind="stable")[:N_GROUPS].tolist()):
        yield ""
        yield f"  {of.labels[g]} ({rows}: {of.sizes[g]:,})"
        for k in np.argsort(-of.shares.share[g], kind="stable")[:n_topics].tolist():
            share, low, high = (100 * values[g, k] for values in of.shares)
            interval = "-" if np.isnan(low) else f"{low:.1f} to {high:.1f}"
            yield f"    {share:5.1f} %  {interval:13}  {of.topics[k]}"
    if len(of.labels) > N_GROUPS:
        yield ""
        yield f"  and {len(of.labels) - N_GROUPS} smaller ones: --output writes all of them"


def records(of: Compared) -> Iterator[tuple[str, ...]]:
    """A line for each group and topic, after a header; nothing stands for ends that are unknown."""
    yield of.what, "topic", "share", "low", "high"
    for g, label in enumerate(of.labels):
        for k, topic in enumerate(of.topics):
            values = (value[g, k] for value in of.shares)
            yield label, topic, *("" if np.isnan(v) else f"{v:.6g}" for v in values)
