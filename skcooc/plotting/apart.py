"""Where names are written beside circles, or along a line, none over another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.isotonic import isotonic_regression

from skcooc.protocol import Array

DIRECTIONS = np.linspace(0, 2 * np.pi, 16, endpoint=False)
STEPS = np.array([2.0, 8.0, 16.0, 28.0, 44.0, 64.0])  # points between a circle and its name
AIR = 1.5  # points around a name
FAR = 8.0  # points from a circle to its name, above which there is a line
DEEP = 15.0  # what a point into a circle counts, in points away from the own one
ALONG = np.linspace(0, 0.9, 12)[:, None]  # points of a line that are looked at


def place(
    centers: Array, radii: Array, sizes: Sequence[tuple[float, float]], room: tuple[float, float]
) -> list[Array | None]:
    """Where the name of each circle is, (x0, y0, x1, y1); None where there is no room for it.

    The first circles choose first: as near as can be, and over as little of circles as can be.
    Neither names nor the lines to them are over other names. All is in points, and in a room that
    begins at (0, 0).
    """
    placed: list[Array | None] = []
    taken = np.empty((0, 4))
    for center, radius, size in zip(centers, radii, sizes, strict=True):
        boxes = _around(center, radius, size)
        cost = DEEP * _hidden(boxes, centers, radii) + np.repeat(STEPS, len(DIRECTIONS))
        free = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= room).all(axis=1)
        free &= ~_meet(boxes, taken)
        for c in np.flatnonzero(free):
            free[c] = not _meet(_line(center, radius, boxes[c]), taken).any()
        best = np.argmin(np.where(free, cost, np.inf))
        placed.append(boxes[best] if free.any() else None)
        if free.any():
            taken = np.vstack([taken, boxes[best], _line(center, radius, boxes[best])])
    return placed


def leader(center: Array, radius: float, box: Array) -> Array | None:
    """The ends of a line from a circle to a name that is not at it, (2, 2)."""
    nearest = np.clip(center, box[:2], box[2:])
    way = nearest - center
    length = np.linalg.norm(way)
    return np.array([center + way * radius / length, nearest]) if length > radius + FAR else None


def _line(center: Array, radius: float, box: Array) -> Array:
    """Small boxes along the line to a name, (n, 4)."""
    ends = leader(center, radius, box)
    if ends is None:
        return np.empty((0, 4))
    points = ends[0] + ALONG * (ends[1] - ends[0])
    return np.hstack([points - 0.5, points + 0.5])


def _around(center: Array, radius: float, size: tuple[float, float]) -> Array:
    """Boxes of a size that touch wider circles from outside, in all directions."""
    half = np.array(size) / 2 + AIR
    ways = np.column_stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])
    middles = center + (radius + STEPS)[:, None, None] * ways + np.sign(ways.round(9)) * half
    flat = middles.reshape(-1, 2)
    return np.hstack([flat - half, flat + half])


def _meet(boxes: Array, others: Array) -> Array:
    """Which of the boxes meet any of the others."""
    a, b = boxes[:, None], others[None]
    apart = (a[..., :2] >= b[..., 2:]) | (a[..., 2:] <= b[..., :2])
    return np.any(~np.any(apart, axis=2), axis=1)


def _hidden(boxes: Array, centers: Array, radii: Array) -> Array:
    """How deep each box reaches into circles, in points."""
    nearest = np.clip(centers, boxes[:, None, :2], boxes[:, None, 2:])
    return np.maximum(radii - np.linalg.norm(centers - nearest, axis=2), 0).sum(axis=1)


def spread(at: Array, least: float, width: float) -> Array:
    """Increasing places as near as can be to these, at least so far apart, from 0 to a width.

    >>> spread(np.array([10.0, 11.0, 50.0]), 9.0, 100.0)
    array([ 6., 15., 50.])
    """
    steps = least * np.arange(len(at))
    return np.asarray(isotonic_regression(at - steps, y_min=0.0, y_max=width - steps[-1])) + steps
