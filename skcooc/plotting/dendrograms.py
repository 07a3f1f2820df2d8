"""Dendrograms beside a matrix: orders of their leaves, and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skcooc.plotting import canvas
from skcooc.plotting.canvas import NEUTRAL
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

LEAST = 1e-12  # weight of a leaf
N_TICKS = 3


def leaf_order(linkage: Array, order: Array, weights: Array) -> Array:
    """The leaves without crossings of a tree, as near to an order as can be, (K,).

    Of two subtrees the one with the smaller mean position in the order comes first. Leaves count by
    their weights (K,).

    >>> linkage = np.array([[0.0, 2.0, 1.0, 2.0], [1.0, 3.0, 4.0, 3.0]])
    >>> leaf_order(linkage, np.array([2, 1, 0]), np.array([0.6, 0.2, 0.2]))
    array([1, 2, 0])
    """
    positions = np.argsort(order)
    subtrees = [np.array([leaf]) for leaf in range(len(order))]
    for first, second in linkage[:, :2].astype(int):
        pair = sorted(
            (subtrees[first], subtrees[second]),
            key=lambda leaves: np.average(positions[leaves], weights=weights[leaves] + LEAST),
        )
        subtrees.append(np.concatenate(pair))
    return subtrees[-1]


def tree_lines(linkage: Array, places: Array) -> Array:
    """Heights and places of the four corners of each merge, (K - 1, 4, 2).

    >>> tree_lines(np.array([[0.0, 1.0, 7.0, 2.0]]), np.array([1.0, 3.0])).tolist()
    [[[0.0, 1.0], [7.0, 1.0], [7.0, 3.0], [0.0, 3.0]]]
    """
    nodes = [(0.0, place) for place in places.tolist()]
    lines = []
    for first, second, height, _ in linkage.tolist():
        ends = nodes[int(first)], nodes[int(second)]
        corners = [(height, place) for _, place in ends]
        lines.append((ends[0], *corners, ends[1]))
        nodes.append((height, (ends[0][1] + ends[1][1]) / 2))
    return np.array(lines).reshape(-1, 4, 2)


def draw_tree(
    ax: Axes,
    linkage: Array,
    places: Array,
    *,
    end: float,
    fontsize: float,
    linewidth: float,
    upright: bool,
) -> LineCollection:
    """Draw a tree with leaves at these places, and a scale of heights up to the end of the axis.

    The leaves are below if the tree is upright, and else at the right.
    """
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    side, axis, other = ("left", ax.yaxis, ax.xaxis) if upright else ("bottom", ax.xaxis, ax.yaxis)
    if upright:
        ax.set_ylim(0, end)
    else:
        ax.set_xlim(end, 0)
        axis.set_tick_params(labelrotation=90)
    axis.set_major_locator(MaxNLocator(N_TICKS, prune="lower"))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_tick_params(labelsize=fontsize, length=2, pad=1, width=linewidth)
    axis.set_label_text("loss in nats", fontsize=fontsize)
    axis.labelpad = 1
    other.set_ticks([])
    ax.spines[:].set_visible(False)
    ax.spines[side].set_visible(True)
    ax.spines[side].set_linewidth(linewidth)
    lines = tree_lines(linkage, places)
    return canvas.draw_lines(ax, list(lines[:, :, ::-1] if upright else lines), NEUTRAL, linewidth)
