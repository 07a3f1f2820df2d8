"""Schedules: which inverse temperature rules which iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

BURN_IN = 8  # iterations at beta = 1: enough to break the symmetry, too few to overfit


class Stage(NamedTuple):
    """A constant inverse temperature, kept until convergence but for at most ``max_iter`` steps."""

    beta: float
    max_iter: int


Schedule = tuple[Stage, ...]
MakeSchedule = Callable[[float, int], Schedule]  # (beta, max_iter) -> Schedule


def constant(beta: float, max_iter: int) -> Schedule:
    """One temperature throughout.

    Examples
    --------
    >>> constant(0.8, 100)
    (Stage(beta=0.8, max_iter=100),)
    """
    return (Stage(beta, max_iter),)


def burn_in(beta: float, max_iter: int, n_burn_in: int = BURN_IN) -> Schedule:
    """A few steps at beta = 1, then the temperature wanted; ``max_iter`` steps in all.

    Close to the critical temperature a random start decays to the unigram before its components
    have become different; the steps at beta = 1 make them so.

    Examples
    --------
    >>> burn_in(0.8, 100)
    (Stage(beta=1.0, max_iter=8), Stage(beta=0.8, max_iter=92))
    >>> burn_in(0.8, 5)
    (Stage(beta=1.0, max_iter=4), Stage(beta=0.8, max_iter=1))
    """
    if beta == 1.0:
        return constant(beta, max_iter)
    n_burn_in = min(n_burn_in, max_iter - 1)
    stages = (Stage(1.0, n_burn_in), Stage(beta, max_iter - n_burn_in))
    return tuple(stage for stage in stages if stage.max_iter)


def rising(low: float, high: float, factor: float) -> list[float]:
    """Inverse temperatures from low to high, each at most ``factor`` times the one before.

    Examples
    --------
    >>> [round(beta, 3) for beta in rising(0.1, 0.4, 2.0)]
    [0.1, 0.2, 0.4]
    >>> rising(0.5, 0.4, 2.0)
    [0.4]
    """
    if low >= high:
        return [high]
    n_steps = math.ceil(math.log(high / low) / math.log(factor) - 1e-9)
    return [low * (high / low) ** (step / n_steps) for step in range(n_steps)] + [high]
