"""Multiscale optimisation: EM on tables in which rows are tied, the coarsest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from skcooc.em.stages import EMStage, StageSchedule, Variation
from skcooc.protocol import Array, Block, Capability, Counts


@dataclass(frozen=True)
class Coarsened(Variation):
    """Stages on coarse tables before those on the table itself."""

    groupings: Sequence[ArrayLike]  # groups of rows, (N,), finest grouping first
    tables: Sequence[Scale] | None = None  # of one table, if they are made already

    needs: ClassVar[Mapping[Capability, str]] = {
        "coarsen": "coarsening groups rows in memory; set coarsening=None"
    }

    def checked(self, X: Counts) -> Coarsened:
        return replace(self, groupings=check_coarsening(self.groupings, X.shape[0]))

    def in_short_fits(self, X: Counts, *, chosen: bool) -> Coarsened:
        return self.prepared(X)

    def prepared(self, X: Counts) -> Coarsened:
        labels = [np.asarray(grouping) for grouping in self.groupings]
        return replace(self, tables=scales(cast(Block, X), labels))

    def apply(
        self, stages: list[StageSchedule], X: Counts, values: Mapping[str, Any]
    ) -> list[StageSchedule]:
        *coarse, finest = self.tables or cast(Sequence[Scale], self.prepared(X).tables)
        first = cast(EMStage, stages[0])
        before = [
            replace(first, X=table.X, members=table.members, groups=table.groups, heldout=None)
            for table in coarse
        ]
        return [*before, replace(first, members=finest.members), *stages[1:]]


class Scale(NamedTuple):
    """Table of multiscale optimisation, in which rows may be tied."""

    X: Counts
    members: Array | None  # for each row, its row in the next coarser table
    groups: Array | None  # for each row of the finest table, its row in this one


def scales(X: Block, coarsening: Sequence[Array]) -> list[Scale]:
    """Return a table for each nested grouping of rows, (N,), the coarsest first, and X last.

    A group of rows with one posterior acts as its mean row, counted once for each member. So the
    objective is the same on all scales, it never rises from one to the next, and one temperature
    suits all: Hofmann & Puzicha (1998), section 5.4. The finest grouping comes first.
    """
    tables = []
    groups = None
    for labels in coarsening:
        finer = np.arange(X.shape[0]) if groups is None else groups
        coarser = np.unique(labels, return_inverse=True)[1]
        members = coarser[np.unique(finer, return_index=True)[1]]
        tables.append(Scale(X, members, groups))
        X = X.coarsen(members)
        groups = coarser
    return [Scale(X, None, groups), *reversed(tables)]


def check_coarsening(coarsening: Sequence[ArrayLike], n_rows: int) -> list[Array]:
    """Return labels of rows, (n_rows,), finest first; ValueError where they are not nested."""
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
