"""Multiscale optimisation: coarse tables first, in which neighbouring rows are tied (memo, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

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


def check_coarsening(coarsening: Sequence[ArrayLike], n_rows: int) -> list[Array]:
    """Labels of nested groups of rows, (n_rows,), finest first; ValueError where they are not."""
    groupings: list[Array] = [np.asarray(labels) for labels in coarsening]
    if not all(labels.ndim == 1 and labels.dtype.kind not in "fc" for labels in groupings):
        raise ValueError("coarsening should be a list of 1d arrays of int, finest grouping first.")
    for labels in groupings:
        if len(labels) != n_rows:
            raise ValueError(
                f"coarsening has a grouping of {len(labels)} rows, but X has {n_rows} sample(s)."
            )
    for finer, coarser in pairwise(groupings):
        first, group = np.unique(finer, return_index=True, return_inverse=True)[1:]
        if not np.array_equal(coarser[first][group], coarser):
            raise ValueError(
                "coarsening should be nested, finest grouping first: a grouping divides a group of "
                "the one before it."
            )
    return groupings
