"""Multiscale optimisation: coarse tables first, in which neighbouring rows are tied (memo, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.protocol import Array, Block, Counts


class Scale(NamedTuple):
    """A table in which rows may be tied."""

    X: Counts
    members: Array | None  # for each row, its row in the next coarser table
    groups: Array | None  # for each row of the finest table, its row in this one


def scales(X: Block, coarsening: Sequence[Array]) -> list[Scale]:
    """The tables that nested groupings of rows, (N,), make of one, the coarsest first, X last.

    Tying the rows of a group in one posterior restricts the free energy to a subspace: a group acts
    as its mean row, counted as often as it has members. So the objective is the same on all scales,
    it never rises from one to the next, and one temperature is right for all: memo, section 5.4.
    The finest grouping comes first; each joins groups of the one before.
    """
    found, groups = [], None
    finer = np.arange(X.shape[0])
    for labels in coarsening:
        coarser = np.unique(labels, return_inverse=True)[1]
        members = coarser[np.unique(finer, return_index=True)[1]]
        found.append(Scale(X, members, groups))
        X, finer, groups = X.coarsen(members), coarser, coarser
    return [*reversed([*found, Scale(X, None, groups)])]
