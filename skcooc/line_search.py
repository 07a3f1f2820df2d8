"""Searches along a line for the minimum of a function of one variable.

A search is a generator: it yields the next point and is sent the value there.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Literal, NamedTuple

import numpy as np

GOLDEN = (math.sqrt(5) - 1) / 2  # no NumPy scalar, which would promote float32 arrays
PLATEAU = 1e-4  # relative difference of values that are equal within noise
GROWTH = 1.5  # factor of the step, once there are points on both sides of the guess
SAME = 1e-9  # difference of points that are equal but for rounding
STEP = 0.035  # between points around a guess

Points = Generator[float, float, None]


class TemperatureRange(NamedTuple):
    """Range in which an inverse temperature, or another hyper-parameter, is searched."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    guess: float | None = None  # first point to try; None: golden-section search
    step: float = STEP  # between points around the guess, on the scale

    @property
    def points(self) -> Points:
        """Search for the minimum, on the scale."""
        low = self.scaled(self.low)
        high = self.scaled(self.high)
        if self.guess is None:
            return golden_section(low, high)
        return expanding_bracket(self.scaled(self.guess), self.step, low, high)

    def scaled(self, value: float) -> float:
        """Return the point of a value on the scale."""
        return float(np.log(value)) if self.scale == "log" else value

    def unscaled(self, point: float) -> float:
        """Return the value of a point on the scale."""
        return float(np.exp(point)) if self.scale == "log" else point

    @property
    def is_point(self) -> bool:
        """True if the range has a single value."""
        return self.scaled(self.high) - self.scaled(self.low) < SAME


def golden_section(low: float, high: float) -> Points:
    """Golden-section search; among equal values it goes towards larger points."""
    values: dict[float, float] = {}
    while high - low >= SAME:
        left = high - GOLDEN * (high - low)
        right = low + GOLDEN * (high - low)
        at_left = yield from _value_near(left, values)
        at_right = yield from _value_near(right, values)
        if at_left < (1 - PLATEAU) * at_right:
            high = right
        else:
            low = left


def _value_near(point: float, values: dict[float, float]) -> Generator[float, float, float]:
    """Return the value at a point; yield the point unless one within SAME has a value."""
    for neighbor, value in values.items():
        if abs(neighbor - point) < SAME:
            return value
    values[point] = yield point
    return values[point]


def expanding_bracket(guess: float, step: float, low: float, high: float) -> Points:
    """Try a guess, then points to both sides, further out while the minimum is at an end.

    Among equal values it goes towards larger points.
    """
    values: dict[float, float] = {}
    point: float | None = guess
    while point is not None:
        values[point] = yield point
        enough = (1 + PLATEAU) * min(values.values())
        best = max(x for x in values if values[x] <= enough)
        if len(values) >= 4:
            step = GROWTH * min(abs(x - best) for x in values if x != best)
        point = None
        for side in (max(low, best - step), min(high, best + step)):
            beyond = any((x - best) * (side - best) > 0 for x in values)
            if abs(side - best) > SAME and not beyond:
                point = float(side)
                break


def vertex(values: Mapping[float, float]) -> float:
    """Return the vertex of the parabola through the minimum and its two neighbours.

    The values are those of a function, by its argument. A minimum at an end is returned as it is.
    """
    points = sorted(values)
    at = min(range(len(points)), key=lambda i: values[points[i]])
    if at in (0, len(points) - 1):
        return float(points[at])
    three = points[at - 1 : at + 2]
    a, b, _ = np.polyfit(np.subtract(three, three[1]), [values[x] for x in three], 2)
    return float(np.clip(three[1] - b / (2 * a), three[0], three[2]))
