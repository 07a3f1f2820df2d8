"""What only some models have: a tree, with rows at its leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from skcooc.inspection.explorer.reading import Subject

AT_LEAVES = 10  # rows of a leaf


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
