"""Axes of curves: those of sizes and of perplexities, with as little around them as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREAD = 4.0  # ratio of sizes above which their axis is logarithmic
APART = 1.35  # ratio of sizes that are written beside each other


def bare(ax: Axes, fontsize: float) -> None:
    """No box around a picture."""
    ax.tick_params(labelsize=fontsize)
    ax.spines[["top", "right"]].set_visible(False)


def sizes_across(ax: Axes, sizes: Array) -> None:
    """Across are rising sizes, on a logarithmic axis where they are far apart."""
    if sizes[-1] >= SPREAD * sizes[0] > 0:
        ax.set_xscale("log")
        ticks = far_apart(sizes.tolist())
        ax.set_xticks(ticks, [_digits(tick) for tick in ticks])
        ax.minorticks_off()


def logarithmic(ax: Axes) -> None:
    """A logarithmic axis of perplexities with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())


def far_apart(sizes: Sequence[float]) -> list[float]:
    """Those of rising sizes that are far enough from each other to be written.

    >>> far_apart([2, 3, 5, 6, 7, 8])
    [2, 3, 5, 7]
    """
    kept = [sizes[0]]
    for size in sizes[1:]:
        if size >= APART * kept[-1]:
            kept.append(size)
    return kept


def _digits(size: float) -> str:
    """Two digits of a small number, all those of a large one."""
    return f"{size:.2g}" if size < 100 else f"{size:.0f}"
