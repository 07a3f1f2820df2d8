"""Annealing as a continuation: runs that go on while the temperature changes, up or down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skcooc.em.legs import BURN_IN, Leg, Part, Run
from skcooc.em.splitting import Splitting, path
from skcooc.protocol import Counts

COLDEST = 1.0  # inverse temperature at which a fall begins: maximum likelihood
Annealing = Callable[[Leg], list[Part]]  # a leg that does not begin at its own temperature


@dataclass(frozen=True)
class Falling(Part):
    """EM at a falling sequence of inverse temperatures, each from where the one before has ended.

    Where nothing is held out, the temperatures on the way have a few iterations each, the last as
    many as it needs: what has become zero near beta = 1 stays so, and in single precision most
    probabilities do if EM goes on until it converges there. Where something is held out, a
    temperature ends where it is no longer predicted better, the next goes on from what predicted
    best, and one that does not improve on it is the last: tempered EM, T. Hofmann, Machine Learning
    42, 177-196, 2001.
    """

    leg: Leg  # at the last temperature
    betas: Sequence[float]  # falling

    def at(self, run: Run) -> Leg:
        """The leg under way."""
        number, last = run.number, len(self.betas) - 1
        if number >= last:
            return self.leg
        on_the_way = replace(self.leg, beta=self.betas[number])
        if self.leg.heldout is not None:
            return on_the_way
        return replace(on_the_way, max_iter=min(BURN_IN, self.leg.max_iter))

    def enter(self, run: Run, rng: np.random.Generator) -> None:
        """From what predicted best, with new patience."""
        run.state, run.since_best = run.best or run.state, 0

    def leave(self, run: Run) -> None:
        """The next temperature, unless it has come to nothing."""
        in_vain = run.best is not None and run.since_best == run.n_iter
        run.number += 1
        if in_vain or run.number == len(self.betas):
            run.part, run.number = run.part + 1, 0


def falling(factor: float) -> Annealing:
    """From beta = 1, each temperature this times the one before."""
    return lambda leg: [Falling(leg, path(max(COLDEST, leg.beta), leg.beta, factor))]


def rising(factor: float, critical_beta: Callable[[Counts], float]) -> Annealing:
    """From the critical temperature of the table, where there is one cluster, which splits."""

    def rise(leg: Leg) -> list[Part]:
        betas = path(critical_beta(leg.X), leg.beta, factor)
        return [Splitting(replace(leg, heldout=None), betas), leg]

    return rise


def cooled(factor: float | None, critical_beta: Callable[[Counts], float]) -> Annealing | None:
    """Rising by a factor above 1, falling by one below, or, without any, neither."""
    if factor is None:
        return None
    return rising(factor, critical_beta) if factor > 1 else falling(factor)


def of_the_start(factor: float | None) -> tuple[float | None, Annealing | None]:
    """Split ``annealing`` into the factor of the start and the schedule of the model.

    Models without splits anneal only the clusters with which they start.
    """
    if factor is None or factor > 1:
        return factor, None
    return None, falling(factor)
