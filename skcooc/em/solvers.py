"""Over-relaxed EM: go beyond the M-step along the direction it took (memo, eq. 63)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from skcooc.em.sweep import Sweep
from skcooc.protocol import Counts, Rows

CHUNK = 2**14  # numbers that are worked on at a time: they stay in the cache
FLOOR = 1e-3  # of the plain step: a probability that reached zero could never come back


class OverRelaxation:
    """Makes every plain step a longer one, and knows the way back where the objective rises.

    Parameters
    ----------
    eta : float in (0, 2)
        Step size; with 1, the plain step, nothing is kept.
    """

    def __init__(self, eta: float) -> None:
        self.eta = eta
        self._plain: Sweep | None = None  # the last plain sweep
        self._taken: Sweep | None = None  # what was made of it

    def undo(self, step: Sweep) -> Sweep | None:
        """The plain sweep to go back to, if the step that led to this sweep raised the objective.

        Parameters
        ----------
        step : Sweep

        Returns
        -------
        plain : Sweep or None
        """
        plain, relaxed = self._plain, self._taken is not self._plain
        if plain is None or not relaxed or step.objective <= plain.objective:
            return None
        self._taken = plain
        return plain

    def take(self, step: Sweep, blocks: Sequence[Counts]) -> Sweep:
        """The sweep of these blocks on which the M-step is to work instead of a plain one."""
        if self.eta == 1.0:
            return step
        self._plain = step  # first, so that the plain sweep before it is free when memory is short
        previous, self._taken = self._taken, step
        if previous is not None:
            self._taken = relax(previous, step, blocks, self.eta)
        return self._taken


def relax(
    previous: Sweep,
    step: Sweep,
    blocks: Sequence[Counts],
    relaxation: float,
    floor: float = FLOOR,
) -> Sweep:
    """The step (1 - eta) previous + eta step in the statistics and in the row states.

    Taking it in the expected counts, of which the M-step is a normalisation, keeps the parameters
    admissible without a projection of their own.

    Parameters
    ----------
    previous : Sweep
        Where the step is measured from: the sweep, itself relaxed, which led to the parameters of
        ``step``, or the plain one before.
    step : Sweep
        The sweep at these parameters.
    blocks : sequence of Counts
        To which the states of the rows belong.
    relaxation : float
        eta in (0, 2); 1 is the plain step.
    floor : float in (0, 1), default=.001
        Least share of an expected count of the plain step.

    Returns
    -------
    relaxed : Sweep
        With the objective of ``step``.
    """
    pairs = zip(previous.stats, step.stats, strict=True)
    stats = type(step.stats)(*(_beyond(*pair, relaxation, floor) for pair in pairs))
    states = zip(blocks, previous.rows, step.rows, strict=True)
    further = partial(_further, relaxation=relaxation, floor=floor)
    rows = [X.over_states(further, *pair) for X, *pair in states]
    return step._replace(stats=stats, rows=rows)


def _further(old: Rows, new: Rows, relaxation: float, floor: float) -> Rows:
    """The step in the states of rows, whose sums stay those of the plain step."""
    rows = _beyond(old, new, relaxation, floor)
    total, kept = (P.sum(axis=1, keepdims=True) for P in (rows, new))
    rows *= np.divide(kept, total, out=np.zeros_like(total), where=total > 0)
    return rows


def _beyond(old: Any, new: Any, relaxation: float, floor: float) -> Any:
    if np.ndim(new) == 0:  # the free energy
        return new
    beyond, height = np.empty_like(new), max(1, CHUNK // max(1, new[:1].size))
    for top in range(0, len(new), height):
        before, now, out = (array[top : top + height] for array in (old, new, beyond))
        np.subtract(now, before, out=out)
        out *= relaxation
        out += before
        least = floor * now
        if now.min() < 0:  # logarithms, sums of the column models, may go down; counts may not
            least[now < 0] = -np.inf
        np.maximum(out, least, out=out)
    return beyond
