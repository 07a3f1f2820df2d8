"""Up to where shares are drawn, so that groups of few observations do not set the scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skcooc.inspection.resampling import FEW
from skcooc.plotting.canvas import NEUTRAL
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 0.95  # of the observations, whose intervals are seen as wholes
LONGER = 1.5  # an axis so many times as long still shows all intervals
EDGE = 1.08  # length of an axis, in units of what it shows


def upper_end(share: Array, high: Array, sizes: Array, masses: Array) -> float:
    """Where an axis of shares ends, with some room above them; all (G,).

    All intervals are seen, if they do not end far above those of most observations. Otherwise the
    latter are, and the shares of groups of ``FEW`` rows or more. Where no group has so many, all
    shares are.

    >>> share, high = np.array([0.1, 0.2, 0.1, 0.9]), np.array([0.2, 0.25, 0.2, 1.0])
    >>> upper_end(share, high, np.array([50, 60, 40, 2]), np.array([0.4, 0.3, 0.29, 0.01]))
    0.27
    """
    order = np.argsort(high)
    held = np.cumsum(masses[order])
    most = high[order][np.searchsorted(held, MOST * held[-1])]
    many = sizes >= FEW
    enough = max(most, share[many if many.any() else ~many].max())
    longest = high.max()
    return float(EDGE * (longest if longest <= LONGER * enough else enough))


def draw_shares(ax: Axes, x: Array, y: Array, sizes: Array, color: str, width: float) -> None:
    """Dots, hollow where a group has few rows."""
    few = sizes < FEW
    for some, fill in ((~few, "full"), (few, "none")):
        if some.any():
            ax.plot(x[some], y[some], "o", color=color, markersize=width, fillstyle=fill)


def draw_beyond(ax: Axes, x: Array, y: Array, arrow: str) -> None:
    """Arrows at the end of an axis, where something goes on beyond it."""
    if len(x):
        ax.plot(x, y, arrow, color=NEUTRAL, markersize=5, clip_on=False, zorder=4)


def legend(sizes: Sequence[int], beyond: bool) -> str:
    """What hollow dots and arrows are, where there are any."""
    hollow = f"; hollow: fewer than {FEW} rows" if min(sizes) < FEW else ""
    return hollow + ("; arrow: goes on beyond the scale" if beyond else "")
