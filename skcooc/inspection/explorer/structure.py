"""What only some models have: a tree with rows at its leaves, or blocks of two-sided clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from skcooc.inspection.blocks import cluster_orders
from skcooc.inspection.explorer.reading import Subject
from skcooc.inspection.explorer.topics import counted, short
from skcooc.protocol import Array

AT_LEAVES = 10  # rows of a leaf
MEMBERS = 12  # of a cluster of rows or columns
EXAMPLES = 8  # pairs of a block
MOST_EXAMPLES = 6000  # of all blocks


def leaf_rows(subject: Subject) -> list[list[int]]:
    """Of each cluster of a tree, the rows that have the largest share at its leaf, (K,) lists."""
    tree = subject.model.tree_
    labels = subject.labels("labels_")
    joint = subject.row_distribution * subject.mixtures[np.arange(len(labels)), tree.leaves[labels]]
    order = np.lexsort((-joint, labels))
    return [order[labels[order] == c][:AT_LEAVES].tolist() for c in range(len(tree.leaves))]


def tree(subject: Subject, rows: list[list[int]], numbers: dict[int, int]) -> dict[str, Any]:
    """The parents of the nodes, and for each leaf its cluster, the size of this, and its rows."""
    fitted = subject.model.tree_
    labels = subject.labels("labels_")
    sizes = np.bincount(labels, minlength=len(fitted.leaves)).tolist()
    leaves = {
        str(leaf): {"cluster": c, "n_rows": sizes[c], "rows": [numbers[i] for i in rows[c]]}
        for c, leaf in enumerate(fitted.leaves.tolist())
    }
    return {"parents": fitted.parents.tolist(), "order": fitted.preorder.tolist(), "leaves": leaves}


def blocks(subject: Subject) -> dict[str, Any]:
    """The associations of clusters of rows and columns, their members and their commonest pairs."""
    model, counts = subject.model, subject.counts
    joint = np.asarray(model.joint_, dtype=np.float64)
    row_labels = subject.labels("row_labels_")
    column_labels = np.asarray(model.column_labels_)
    down, across = cluster_orders(joint)
    column_sums = np.asarray(counts.sum(axis=0)).ravel()
    n = max(2, min(EXAMPLES, MOST_EXAMPLES // joint.size))
    with np.errstate(divide="ignore"):
        log2 = np.log2(np.asarray(model.association_, dtype=np.float64))
    return {
        "rows": down.tolist(),
        "columns": across.tolist(),
        "joint": [[short(value) for value in line] for line in joint],
        "log2": [[short(v) if np.isfinite(v) else None for v in line] for line in log2],
        "row_members": _members(row_labels, subject.row_sums, subject.rows, len(joint)),
        "column_members": _members(column_labels, column_sums, subject.columns, joint.shape[1]),
        "pairs": _pairs(subject, row_labels, column_labels, joint.shape, n),
    }


def _members(labels: Array, sums: Array, names: Iterable[str], n_clusters: int) -> list[Any]:
    """Of each cluster the number of its members, and the names of the commonest."""
    names, order = np.asarray(names), np.lexsort((-sums, labels))
    order = order[sums[order] > 0]
    found = [order[labels[order] == c] for c in range(n_clusters)]
    return [[len(members), [str(name) for name in names[members[:MEMBERS]]]] for members in found]


def _pairs(
    subject: Subject, row_labels: Array, column_labels: Array, shape: tuple[int, ...], n: int
) -> list[Any]:
    """Of each block, row by row, the observations in it and its n commonest: [row, column, n]."""
    entries = subject.counts.tocoo()
    number = row_labels[entries.row] * shape[1] + column_labels[entries.col]
    order = np.lexsort((entries.col, entries.row, -entries.data, number))
    begin = np.searchsorted(number[order], np.arange(np.prod(shape) + 1))
    totals = np.bincount(number, entries.data, minlength=np.prod(shape))
    return [
        [counted(total), [_pair(subject, entries, e) for e in order[a : min(a + n, b)].tolist()]]
        for total, a, b in zip(totals, begin[:-1], begin[1:], strict=True)
    ]


def _pair(subject: Subject, entries: Any, e: int) -> list[Any]:
    row, column = subject.rows[entries.row[e]], str(subject.columns[entries.col[e]])
    return [row, column, counted(entries.data[e])]
