"""Where a function of one variable is least: points to try, one after the other.

A plan of points is a generator. It yields the next point, and is sent the value there.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping

import numpy as np

GOLDEN = (math.sqrt(5) - 1) / 2
PLATEAU = 1e-4  # relative difference of values that says nothing
GROWTH = 1.5  # of the steps, once there is a point to either side of the guess
SAME = 1e-9  # difference of points that are equal but for rounding

Points = Generator[float, float, None]


def golden_section(low: float, high: float) -> Points:
    """The golden sections of an interval, of that part of it which has the least, and so on.

    Where values are equal the least is looked for at larger points.
    """
    known: dict[float, float] = {}
    while True:
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        for point in (left, right):
            if _near(known, point) is None:
                known[point] = yield point
        at_left, at_right = (known[_near(known, point)] for point in (left, right))  # type: ignore[index]
        if at_left < (1 - PLATEAU) * at_right:
            high = right
        else:
            low = left


def around(guess: float, step: float, low: float, high: float) -> Points:
    """A guess, and points a step to either side, ever further where the least is at an end.

    Where values are equal the least is looked for at larger points.
    """
    known: dict[float, float] = {}
    point: float | None = guess
    while point is not None:
        known[point] = yield point
        enough = (1 + PLATEAU) * min(known.values())
        least = max(tried for tried in known if known[tried] <= enough)
        further = step if len(known) < 4 else GROWTH * _to_the_next(known, least)
        sides = max(low, least - further), min(high, least + further)
        point = next((float(side) for side in sides if _is_open(known, least, side)), None)


def vertex(known: Mapping[float, float]) -> float:
    """Where the parabola through the least value and its neighbours is least.

    An end that has the least is itself the result.
    """
    points = sorted(known)
    at = min(range(len(points)), key=lambda i: known[points[i]])
    if at in (0, len(points) - 1):
        return float(points[at])
    three = points[at - 1 : at + 2]
    a, b, _ = np.polyfit(np.subtract(three, three[1]), [known[point] for point in three], 2)
    return float(np.clip(three[1] - b / (2 * a), three[0], three[2]))


def _is_open(known: Mapping[float, float], least: float, side: float) -> bool:
    """Whether nothing is known on this side of the least, and there is such a side."""
    beyond = any((tried - least) * (side - least) > 0 for tried in known)
    return abs(side - least) > SAME and not beyond


def _to_the_next(known: Mapping[float, float], point: float) -> float:
    """How far the next point known is from this one."""
    return min(abs(tried - point) for tried in known if tried != point)


def _near(known: Mapping[float, float], point: float) -> float | None:
    """The point tried before that is this one but for rounding."""
    return next((other for other in known if abs(other - point) < SAME), None)
