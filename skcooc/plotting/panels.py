"""Small pictures beside each other, one for each topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skcooc.inspection.labels import APART
from skcooc.plotting.canvas import POINTS, text_width
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

ACROSS = 3  # panels in a row
FONT, AIR = 8.0, 5.0  # points: of names and words, and around all


def panels(
    n: int, width: float, height: float, *, below: float = 0.0, sharex: bool = False,
    sharey: bool = False,
) -> Array:  # fmt: skip
    """The n axes of a new figure, each with so much room, and that below; lengths in points."""
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    across = min(n, ACROSS)
    down = -(-n // across)
    size = across * width / POINTS, (down * height + below) / POINTS
    layout = ConstrainedLayoutEngine(w_pad=AIR / POINTS, h_pad=AIR / POINTS)
    figure = plt.figure(figsize=size, layout=layout)
    axes = figure.subplots(down, across, squeeze=False, sharex=sharex, sharey=sharey)
    for ax in axes.flat[n:]:
        ax.remove()
    if sharex:  # the last panel of a column has the numbers
        for ax in axes.flat[max(0, n - across) : n]:
            ax.tick_params(labelbottom=True)
    return np.array(axes.flat[:n])


def head(ax: Axes, name: str, width: float) -> None:
    """What a panel is of, on two lines at most."""
    ax.set_title("\n".join(fold(name, width, FONT)), fontsize=FONT, loc="left", parse_math=False)


def titles(axes: Array, across: str, up: str | None) -> None:
    """What is across and up in all panels."""
    axes[0].figure.supxlabel(across, fontsize=FONT + 1)
    if up is not None:
        axes[0].figure.supylabel(up, fontsize=FONT + 1)


def percent(axis: Axis) -> None:
    """Few marks of an axis, in percent."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g}%"))


def fold(text: str, width: float, fontsize: float, n_lines: int = 2) -> list[str]:
    """A text on lines no wider than so many points, with an ellipsis where it is cut.

    The names in it, which dots divide, go on a new line as wholes, and no dot is at its ends.

    >>> fold("tea · cup", 100.0, 8.0), fold("tea · cup", 20.0, 8.0)
    (['tea · cup'], ['tea', 'cup'])
    """
    lines = list[str]()
    for name in text.split(APART):
        longer = APART.join([*lines[-1:], name])
        if lines and text_width(longer, fontsize) <= width:
            lines[-1] = longer
        else:
            lines += _by_words(name, width, fontsize)
    kept, rest = lines[:n_lines], lines[n_lines:]
    if rest or text_width(kept[-1], fontsize) > width:
        kept[-1] = cut(kept[-1], width, fontsize)
    return kept


def _by_words(text: str, width: float, fontsize: float) -> list[str]:
    lines = [""]
    words: Sequence[str] = text.split(" ")
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, fontsize) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def cut(text: str, width: float, fontsize: float) -> str:
    """As much of a line as there is room for, with an ellipsis."""
    while text and text_width(f"{text}…", fontsize) > width:
        text = text[:-1]
    return f"{text.rstrip(' ·')}…"
