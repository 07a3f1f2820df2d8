"""Where the inverse temperature is looked for: a problem in one dimension."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from skcooc.em.minimum import Points, around, golden_section

SAME = 1e-9  # length of a range in which there is but one temperature
STEP = 0.035  # between points around a guess


class TemperatureRange(NamedTuple):
    """Where the best inverse temperature (or prior) is looked for, and on which scale."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    guess: float | None = None  # of where it is; None where nobody knows
    step: float = STEP  # on the scale, between points that are tried around the guess

    @property
    def points(self) -> Points:
        """What is to be tried, on the scale."""
        low, high = self.scaled(self.low), self.scaled(self.high)
        if self.guess is None:
            return golden_section(low, high)
        return around(self.scaled(self.guess), self.step, low, high)

    def scaled(self, value: float) -> float:
        """On the scale."""
        return float(np.log(value)) if self.scale == "log" else value

    def unscaled(self, point: float) -> float:
        """The value of a point on the scale."""
        return float(np.exp(point)) if self.scale == "log" else point

    @property
    def is_point(self) -> bool:
        """Whether there is but one."""
        return self.high - self.low < SAME
