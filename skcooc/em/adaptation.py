"""The temperature along a stream: it follows what observations held out of each batch ask for.

More rows bear a larger beta: that of the first batch is too small for those that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from skcooc.em.temperature import TemperatureRange
from skcooc.heldout import Validation

N_STEPS = 25  # from one end of the range to the other
WHOLE = 1000.0  # held-out observations that are worth a step; with fewer it is as much shorter


class Temperature(NamedTuple):
    """Where a stream is, and which way it tries next."""

    beta: float
    direction: int = 1  # 1 towards larger beta, -1 towards smaller


class Tried(Protocol):
    """What came of a temperature."""

    @property
    def validation(self) -> Validation | None:
        """On the held-out observations of a batch; None where there are none."""


T = TypeVar("T", bound=Tried)


def followed(
    now: Temperature, within: TemperatureRange, observations: float, fold_in: Callable[[float], T]
) -> tuple[Temperature, T]:
    """Try the next temperature beside the present one, and go there if it predicts better.

    ``fold_in(beta)`` is the batch at a temperature. Where the present one stays, the other
    direction is next. Nothing is tried without observations held out, which decide.

    >>> class Batch(NamedTuple):
    ...     validation: Validation
    >>> def fold_in(beta):
    ...     return Batch(Validation((beta - 0.8) ** 2, 0.0))
    >>> now = Temperature(0.7)
    >>> for batch in range(9):
    ...     now, _ = followed(now, TemperatureRange(0.5, 1.0), 1000.0, fold_in)
    >>> round(now.beta, 2)
    0.8
    """
    stay, beta = fold_in(now.beta), _neighbour(now, within, observations)
    go = stay if beta == now.beta else fold_in(beta)
    if stay.validation is None or go.validation is None:
        return now, stay
    if go.validation.perplexity < stay.validation.perplexity:
        return Temperature(beta, now.direction), go
    return Temperature(now.beta, -now.direction), stay


def _neighbour(now: Temperature, within: TemperatureRange, observations: float) -> float:
    """The temperature beside the present one, in its direction."""
    to_scale, to_beta = (np.log, np.exp) if within.scale == "log" else (float, float)
    low, high = min(within.low, now.beta), max(within.high, now.beta)
    step = (to_scale(within.high) - to_scale(within.low)) / N_STEPS
    step *= now.direction * min(1.0, observations / WHOLE)
    return float(np.clip(to_beta(to_scale(now.beta) + step), low, high))
