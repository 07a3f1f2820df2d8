"""Multiscale optimisation: coarse tables first, in which neighbouring rows are tied (memo, 5.4)."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skcooc.em.legs import EM, Fit, Observe, Place, Record, State, Watch, ignore
from skcooc.em.splitting import Annealing
from skcooc.em.sweep import Map
from skcooc.protocol import Array, Counts, Rows


class Level(NamedTuple):
    """A table in which rows are tied."""

    X: Counts
    groups: Array  # (N,): for each row of the finest table, its row in this one
    members: Array  # for each row of the next finer table, its row in this one


def coarser_levels(X: Counts, coarsening: Sequence[Array]) -> list[Level]:
    """The tables that a nested sequence of groupings makes of one.

    Parameters
    ----------
    X : Counts of shape (N, M)
    coarsening : sequence of (N,) arrays of int
        Group of each row, finest grouping first; each must join groups of the one before.

    Returns
    -------
    levels : list of Level
        In the order of ``coarsening``.
    """
    levels: list[Level] = []
    finer = np.arange(X.shape[0])
    for labels in coarsening:
        groups = np.unique(labels, return_inverse=True)[1]
        members = groups[np.unique(finer, return_index=True)[1]]
        X = X.coarsen(members)
        levels.append(Level(X, groups, members))
        finer = groups
    return levels


def observed_from(level: Level, observe: Observe) -> Observe:
    """An observer of a coarse table that tells one of the finest table what happens."""

    def prolonged(record: Record, params: Any, rows: Sequence[Rows], run: Any) -> bool:
        return observe(record, params, [rows[0][level.groups]], run)

    return observe if observe is ignore else prolonged


@dataclass(frozen=True)
class Multiscale:
    """EM from the coarsest table to the finest, each started from the solution before.

    Tying the rows of a group in one posterior restricts the free energy to a subspace: a group acts
    as its mean row, counted as often as it has members. So the objective is the same on all levels,
    it never rises from one to the next, and one temperature is right for all.

    Parameters
    ----------
    em : EM
        What is run on every level. Held-out observations belong to the finest table, on which alone
        they are looked at.
    levels : sequence of Level
        Finest first, without the finest table itself.
    first : EM, Annealing or None, default=None
        What is run on the coarsest table instead.
    """

    em: EM
    levels: Sequence[Level]
    first: EM | Annealing | None = None

    def begin(self, model: Any, blocks: Sequence[Counts], rng: np.random.Generator) -> State:
        """Where ``fit`` begins on the coarsest table, unless it is told."""
        return (self.first or self.em).begin(model, [self.levels[-1].X], rng)

    def fit(
        self,
        model: Any,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe = ignore,
        map: Map = serial_map,
        start: State | None = None,
        resume: Place | None = None,
    ) -> Fit:
        """Run EM on every level; see EM.fit. The finest table is a single block."""
        last = replace(self.em, schedule=self.em.schedule[-1:])
        tied = replace(last, heldout=None)
        place = resume or Place(0, start or self.begin(model, blocks, rng), [])
        for level in self.levels[::-1][place.number :]:
            watch = Watch(observed_from(level, observe))
            optimiser = tied if place.number else self.first or replace(self.em, heldout=None)
            at = watch.at(place)
            fit = optimiser.fit(model, [level.X], rng, at, map, start=place.state, resume=place.run)
            splits = fit.splits if place.splits is None else place.splits
            finer = fit._replace(rows=[fit.rows[0][level.members]])
            place = place.after(finer)._replace(splits=splits)
            if watch.stopped:
                rows = [fit.rows[0][level.groups]]
                return fit._replace(rows=rows, history=place.history, splits=splits)
        at = Watch(observe).at(place)
        fit = last.fit(model, blocks, rng, at, map, start=place.state, resume=place.run)
        return fit._replace(history=place.history + fit.history, splits=place.splits)
