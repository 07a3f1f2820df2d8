"""What only clusterings of both sides have: blocks, with the members of both clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skcooc.inspection.blocks import cluster_orders
from skcooc.inspection.explorer.reading import Subject
from skcooc.inspection.explorer.topics import counted, short
from skcooc.protocol import Array

FIRST = 12  # members of each cluster, which are kept whatever room they need
ROOM = 200_000  # bytes of the names of the members of one side
EXAMPLES = 8  # pairs of a block
MOST_EXAMPLES = 6000  # of all blocks


class Side(NamedTuple):
    """The rows or the columns, in clusters."""

    labels: Array  # (n,)
    sums: Array  # (n,): observations of each
    names: Sequence[str]
    n_clusters: int

    @property
    def members(self) -> list[Array]:
        """Those of each cluster that have observations, the commonest first."""
        order = np.lexsort((-self.sums, self.labels))
        order = order[self.sums[order] > 0]
        return [order[self.labels[order] == c] for c in range(self.n_clusters)]


def blocks(subject: Subject) -> dict[str, Any]:
    """The associations of clusters of rows and columns, their members and their commonest pairs.

    Pairs are positions among the members. Of large tables, seldom members are left out.
    """
    joint = np.asarray(subject.model.joint_, dtype=np.float64)
    rows, columns = sides = _sides(subject, joint.shape)
    n = max(2, min(EXAMPLES, MOST_EXAMPLES // joint.size))
    pairs = _pairs(subject.counts, rows.labels, columns.labels, joint.shape, n)
    paired = (np.array([pair[at] for _, of in pairs for pair in of], dtype=int) for at in (0, 1))
    kept = [_kept(side, needed) for side, needed in zip(sides, paired, strict=True)]
    at = [_positions(of) for of in kept]
    down, across = cluster_orders(joint)
    with np.errstate(divide="ignore"):
        log2 = np.log2(np.asarray(subject.model.association_, dtype=np.float64))
    return {
        "rows": down.tolist(),
        "columns": across.tolist(),
        "joint": [[short(value) for value in line] for line in joint],
        "log2": [[short(v) if np.isfinite(v) else None for v in line] for line in log2],
        "row_members": _listed(rows, kept[0]),
        "column_members": _listed(columns, kept[1]),
        "pairs": [[n, [[at[0][i], at[1][j], m] for i, j, m in of]] for n, of in pairs],
    }


def _sides(subject: Subject, shape: tuple[int, ...]) -> tuple[Side, Side]:
    sums = np.asarray(subject.counts.sum(axis=0)).ravel()
    columns = [str(name) for name in subject.columns]
    return (
        Side(subject.labels("row_labels_"), subject.row_sums, subject.rows, shape[0]),
        Side(np.asarray(subject.model.column_labels_), sums, columns, shape[1]),
    )


def _kept(side: Side, needed: Array) -> list[Array]:
    """The members of each cluster that the page has: the first, those needed, and the commonest."""
    commonest = np.argsort(-side.sums, kind="stable")
    room = np.cumsum([len(side.names[i].encode()) + 3 for i in commonest]) <= ROOM
    kept = np.zeros(len(side.sums), dtype=bool)
    kept[commonest[room]] = kept[needed] = True
    return [members[kept[members] | (np.arange(len(members)) < FIRST)] for members in side.members]


def _positions(kept: list[Array]) -> dict[int, int]:
    """Where each member is in its cluster."""
    return {i: place for members in kept for place, i in enumerate(members.tolist())}


def _listed(side: Side, kept: list[Array]) -> list[Any]:
    """Of each cluster the number of its members, and the names of those kept."""
    return [
        [len(members), [side.names[i] for i in some.tolist()]]
        for members, some in zip(side.members, kept, strict=True)
    ]


def _pairs(
    counts: Any, row_labels: Array, column_labels: Array, shape: tuple[int, ...], n: int
) -> list[tuple[float, list[tuple[int, int, float]]]]:
    """Of each block, row by row, the observations in it and its n commonest: (i, j, n_ij)."""
    entries = counts.tocoo()
    number = row_labels[entries.row] * shape[1] + column_labels[entries.col]
    order = np.lexsort((entries.col, entries.row, -entries.data, number))
    begin = np.searchsorted(number[order], np.arange(np.prod(shape) + 1))
    totals = np.bincount(number, entries.data, minlength=np.prod(shape))

    def pair(e: int) -> tuple[int, int, float]:
        return int(entries.row[e]), int(entries.col[e]), counted(entries.data[e])

    return [
        (counted(total), [pair(e) for e in order[a : min(a + n, b)].tolist()])
        for total, a, b in zip(totals, begin[:-1], begin[1:], strict=True)
    ]
