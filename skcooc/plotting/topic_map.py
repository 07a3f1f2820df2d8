"""The topics on a map, and where the names beside circles are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.models import Names
from skcooc.inspection.names import resolve_model
from skcooc.inspection.palette import topic_ranks
from skcooc.inspection.similarity import map_positions
from skcooc.plotting.canvas import (
    FONT,
    NEUTRAL,
    Display,
    draw_lines,
    fold,
    framed_axes,
    size_in_points,
    styled,
    text_width,
    topic_colours,
)
from skcooc.protocol import Array, Estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE, FEW_TOPICS = 500.0, 25  # points: width of a new map of at most so many topics
LONGEST, LINE = 100.0, 1.25 * FONT  # points: width of a name, and height of its one or two lines
FILLED = 0.08  # share of the map that circles would cover without overlaps
AIR = 4.0  # points around all

DIRECTIONS = np.linspace(0, 2 * np.pi, 16, endpoint=False)  # of a name from its circle
DISTANCES = np.array([2.0, 8.0, 16.0, 28.0, 44.0, 64.0])  # points between a circle and its name
PADDING = 1.5  # points around a name
LINE_FROM = 8.0  # points from a circle to its name, above which a line joins them
OVERLAP_COST = 15.0  # of a point into a circle, in points of distance from its own circle
DEEPEST = 4.0  # points into circles, above which a name is left out
ALONG = np.linspace(0, 0.9, 12)[:, None]  # points of a line that are checked


class TopicMapDisplay(Display):
    """Topics as circles: near each other where they have the same columns, large where common.

    Places are found by multidimensional scaling of the Hellinger distances of the distributions
    P(y given z): small distances are meaningful, long ones less so. The areas of the circles are
    proportional to the shares of the tokens. Names are written without overlaps, larger
    topics first; those without room are left out.

    Parameters
    ----------
    at : (K, 2) array
        Places of the topics.
    weights : (K,) array
        Their shares of the tokens.
    names : list of K str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, in units of points, and Figure
    circles_, texts_ : matplotlib PathCollection and dict of int to matplotlib Text
        The circles, the largest first, and the names that are written.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, plotting
    >>> X = datasets.make_cooccurrences(60, 40, n_components=4, random_state=0).X
    >>> model = AspectModel(4, beta=0.9, random_state=0).fit(X)
    >>> display = plotting.TopicMapDisplay.from_estimator(model)
    >>> sorted(display.texts_), display.at.shape
    ([0, 1, 2, 3], (4, 2))
    """

    def __init__(self, at: Array, weights: Array, names: Sequence[str]) -> None:
        self.at, self.weights, self.names = at, weights, names

    @classmethod
    def from_estimator(
        cls, model: Estimator, feature_names: ArrayLike | None = None, *,
        names: Names | None = None, ax: Axes | None = None,
    ) -> TopicMapDisplay:  # fmt: skip
        """Draw the map of the topics of a fitted model.

        Parameters
        ----------
        model : fitted estimator, or a pipeline or a search with one inside
            With ``components_``, ``embedding_`` and ``row_distribution_``.
        feature_names, names
            As for :func:`skcooc.inspection.describe`.
        ax : matplotlib Axes, default=None, for a new figure
        """
        its = resolve_model(model, feature_names, names)
        return cls(map_positions(its.components), its.weights, its.names).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> TopicMapDisplay:
        """Draw; see :meth:`from_estimator`."""
        if ax is None:
            side = SIDE * max(1.0, np.sqrt(len(self.at) / FEW_TOPICS))
            ax = framed_axes(side, 0.75 * side, AIR, 22.0, AIR, AIR)
        self.ax_ = ax
        size = np.array(size_in_points(ax))
        radii = np.sqrt(FILLED * size.prod() * self.weights / np.pi)
        centers = self._centers(size, radii.max())
        order = np.argsort(-self.weights, kind="stable")
        ax.set(xlim=(0, size[0]), ylim=(0, size[1]), xticks=[], yticks=[])
        ax.set_xlabel("distances on the map approximate Hellinger distances of topics")
        ax.spines[:].set_visible(False)
        self.circles_ = ax.scatter(
            centers[order, 0], centers[order, 1], s=(4 * radii[order] ** 2).tolist(),
            color=topic_colours(topic_ranks(self.weights)[order]), alpha=0.6, edgecolors=NEUTRAL,
            linewidths=0.8,
        )  # fmt: skip
        self._write_names(centers, radii, order)
        return self

    def _centers(self, size: Array, largest: float) -> Array:
        """The places in points, with margins for names."""
        margin = np.array([largest + 0.4 * LONGEST, largest + 1.5 * FONT])
        extent = np.maximum(np.ptp(self.at, axis=0), 1e-9)
        unit = np.min(np.maximum(size - 2 * margin, 0.2 * size) / extent)
        middle = (self.at.max(axis=0) + self.at.min(axis=0)) / 2
        return size / 2 + unit * (self.at - middle)

    def _write_names(self, centers: Array, radii: Array, order: Array) -> None:
        names = [fold(self.names[k], LONGEST) for k in order]
        sizes = [
            (1.04 * max(text_width(line, FONT) for line in lines), LINE * len(lines))
            for lines in names
        ]
        boxes = place_names(centers[order], radii[order], sizes, size_in_points(self.ax_))
        self.texts_, lines = {}, []
        for k, folded, box in zip(order.tolist(), names, boxes, strict=True):
            if box is None:
                continue
            x, y = (box[:2] + box[2:]) / 2
            self.texts_[k] = self.ax_.text(
                x, y, "\n".join(folded), fontsize=FONT, ha="center", va="center",
                linespacing=1.05, parse_math=False,
            )  # fmt: skip
            if (line := leader_line(centers[k], radii[k], box)) is not None:
                lines.append(line)
        draw_lines(self.ax_, lines, NEUTRAL, 0.6)


def place_names(
    centers: Array, radii: Array, sizes: Sequence[tuple[float, float]], room: tuple[float, float]
) -> list[Array | None]:
    """The box of the name of each circle, (x0, y0, x1, y1); None if there is no room for it.

    Boxes are chosen greedily, circle by circle: near the own circle and hardly over others.
    Neither names nor the lines to them are over other names. All is in points; (0, 0) is a corner.
    """
    placed: list[Array | None] = []
    taken = np.empty((0, 4))
    for center, radius, size in zip(centers, radii, sizes, strict=True):
        boxes = _boxes_around(center, radius, size)
        overlap = _overlap_with_circles(boxes, centers, radii)
        cost = OVERLAP_COST * overlap + np.repeat(DISTANCES, len(DIRECTIONS))
        free = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= room).all(axis=1)
        free &= ~_intersect(boxes, taken) & (overlap <= DEEPEST)
        for c in np.flatnonzero(free):
            free[c] = not _intersect(_boxes_along(center, radius, boxes[c]), taken).any()
        best = np.argmin(np.where(free, cost, np.inf))
        placed.append(boxes[best] if free.any() else None)
        if free.any():
            taken = np.vstack([taken, boxes[best], _boxes_along(center, radius, boxes[best])])
    return placed


def leader_line(center: Array, radius: float, box: Array) -> Array | None:
    """The ends of the line from a circle to its name, (2, 2); None if they are close."""
    nearest = np.clip(center, box[:2], box[2:])
    way = nearest - center
    length = np.linalg.norm(way)
    if length <= radius + LINE_FROM:
        return None
    return np.array([center + way * radius / length, nearest])


def _boxes_around(center: Array, radius: float, size: tuple[float, float]) -> Array:
    """Boxes of a size that touch wider circles from outside, in all directions, (n, 4)."""
    half = np.array(size) / 2 + PADDING
    ways = np.column_stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])
    middles = center + (radius + DISTANCES)[:, None, None] * ways + np.sign(ways.round(9)) * half
    flat = middles.reshape(-1, 2)
    return np.hstack([flat - half, flat + half])


def _boxes_along(center: Array, radius: float, box: Array) -> Array:
    """Small boxes along the line to a name, (n, 4)."""
    if (ends := leader_line(center, radius, box)) is None:
        return np.empty((0, 4))
    points = ends[0] + ALONG * (ends[1] - ends[0])
    return np.hstack([points - 0.5, points + 0.5])


def _intersect(boxes: Array, others: Array) -> Array:
    """True for each box that intersects any of the others, (n,)."""
    a, b = boxes[:, None], others[None]
    apart = (a[..., :2] >= b[..., 2:]) | (a[..., 2:] <= b[..., :2])
    return np.any(~np.any(apart, axis=2), axis=1)


def _overlap_with_circles(boxes: Array, centers: Array, radii: Array) -> Array:
    """Depth of each box in circles, summed over them, in points, (n,)."""
    nearest = np.clip(centers, boxes[:, None, :2], boxes[:, None, 2:])
    return np.maximum(radii - np.linalg.norm(centers - nearest, axis=2), 0).sum(axis=1)
