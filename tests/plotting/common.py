"""Checks that the texts of a figure are legible, and a fitted model of rows in groups."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

TOLERANCE = 0.5  # pixels
GROUPS = np.array(["alpha", "beta", "gamma", "delta"])


def text_boxes(figure):
    """Text and bounding box, in pixels, of all visible texts of a figure."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    hidden = {text for ax in figure.findobj(Axes) for text in _hidden(ax)}
    drawn = [text for text in figure.findobj(Text) if text.get_visible() and text not in hidden]
    return [(one.get_text(), one.get_window_extent(renderer)) for one in drawn if one.get_text()]


def _hidden(ax):
    """Texts that matplotlib keeps and does not draw: beyond the limits, or of a hidden axis."""
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for mark in (*axis.majorTicks, *axis.minorTicks):
            if not (ax.axison and low <= mark.get_loc() <= high):
                yield from (mark.label1, mark.label2)
        if not ax.axison:
            yield axis.label


def overlaps(figure):
    return overlapping(text_boxes(figure))


def overlapping(boxes):
    return [
        (first, second)
        for (first, a), (second, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOLERANCE
        and min(a.y1, b.y1) - max(a.y0, b.y0) > TOLERANCE
    ]


def outside(figure, boxes):
    width, height = figure.bbox.size
    beyond = [(text, max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)) for text, box in boxes]
    return [text for text, pixels in beyond if pixels > TOLERANCE]


def assert_legible(display):
    boxes = text_boxes(display.figure_)
    assert overlapping(boxes) == outside(display.figure_, boxes) == []


def aspects(n_rows=60, n_topics=5, n_columns=30, seed=0):
    """Attributes of an aspect model, drawn at random; topics have few words in common."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(n_rows, 3.0))
    return SimpleNamespace(
        components_=rng.dirichlet(np.full(n_columns, 0.2), size=n_topics),
        embedding_=rng.dirichlet(np.full(n_topics, 0.4), size=n_rows),
        row_distribution_=rows,
        feature_names_in_=np.array([f"word{j}" for j in range(n_columns)]),
    )


def labels(n_rows=60):
    return GROUPS[np.arange(n_rows) * 7 % len(GROUPS)]
