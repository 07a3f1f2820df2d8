"""Where names are written beside circles, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.protocol import Array

DIRECTIONS = np.linspace(0, 2 * np.pi, 16, endpoint=False)
STEPS = (2.0, 8.0, 16.0, 28.0, 44.0, 64.0)  # points between a circle and its name
AIR = 1.5  # points around a name


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
    """
    placed: list[Box | None] = []
    for center, radius, size in zip(centers, radii, sizes, strict=True):
        taken = [box for box in placed if box is not None]
        free = [
            (box.hidden(centers, radii) + 0.4 * step + 0.02 * abs(box.y0 - center[1]), box)
            for step, box in _around(center, radius, size)
            if _inside(box, within) and not any(box.meets(other) for other in taken)
        ]
        placed.append(min(free)[1] if free else None)
    return placed


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
