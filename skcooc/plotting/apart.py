"""Where names are written beside circles, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.protocol import Array

DIRECTIONS = np.linspace(0, 2 * np.pi, 16, endpoint=False)
STEPS = (2.0, 8.0, 16.0, 28.0, 44.0, 64.0)  # points between a circle and its name
AIR = 1.5  # points around a name
FAR = 8.0  # points from a circle to its name, above which there is a line
DEEP = 15.0  # what a point into a circle counts, in points away from the own one


class Box(NamedTuple):
    """A rectangle, in points."""

    x0: float
    y0: float
    x1: float
    y1: float

    def meets(self, other: Box) -> bool:
        return (
            min(self.x1, other.x1) > max(self.x0, other.x0)
            and min(self.y1, other.y1) > max(self.y0, other.y0)
        )  # fmt: skip

    def hidden(self, centers: Array, radii: Array) -> float:
        """How deep it reaches into circles, in points."""
        nearest = np.clip(centers, (self.x0, self.y0), (self.x1, self.y1))
        return float(np.maximum(radii - np.linalg.norm(centers - nearest, axis=1), 0).sum())


def place(
    centers: Array, radii: Array, sizes: Sequence[tuple[float, float]], within: Box
) -> list[Box | None]:
    """Where the name of each circle is; None where there is no room for it.

    The first circles choose first: as near as can be, and over as little of circles as can be.
    Neither names nor the lines to them are over other names.
    """
    placed: list[Box | None] = []
    taken: list[Box] = []
    for center, radius, size in zip(centers, radii, sizes, strict=True):
        free = [
            (DEEP * box.hidden(centers, radii) + step, box)
            for step, box in _around(center, radius, size)
            if _inside(box, within) and not _any_meet([box, *_line(center, radius, box)], taken)
        ]
        best = min(free)[1] if free else None
        placed.append(best)
        if best is not None:
            taken += [best, *_line(center, radius, best)]
    return placed


def leader(center: Array, radius: float, box: Box) -> Array | None:
    """The ends of a line from a circle to a name that is not at it, (2, 2)."""
    nearest = np.clip(center, box[:2], box[2:])
    way = nearest - center
    length = np.linalg.norm(way)
    return np.array([center + way * radius / length, nearest]) if length > radius + FAR else None


def _line(center: Array, radius: float, box: Box) -> list[Box]:
    """Points of the line to a name."""
    ends = leader(center, radius, box)
    if ends is None:
        return []
    points = ends[0] + np.linspace(0, 0.9, 12)[:, None] * (ends[1] - ends[0])
    return [Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5) for x, y in points.tolist()]


def _any_meet(some: Sequence[Box], others: Sequence[Box]) -> bool:
    return any(one.meets(other) for one in some for other in others)


def _around(center: Array, radius: float, size: tuple[float, float]) -> list[tuple[float, Box]]:
    """Boxes that touch a wider circle from outside, in all directions."""
    half = np.array(size) / 2 + AIR
    boxes = []
    for step in STEPS:
        for angle in DIRECTIONS:
            way = np.array([np.cos(angle), np.sin(angle)])
            middle = center + way * (radius + step) + np.sign(way.round(9)) * half
            boxes.append((step, Box(*(middle - half), *(middle + half))))
    return boxes


def _inside(box: Box, within: Box) -> bool:
    return (
        box.x0 >= within.x0 and box.y0 >= within.y0 and box.x1 <= within.x1 and box.y1 <= within.y1
    )
