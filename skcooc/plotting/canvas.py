"""Axes to draw on, in points, lines on them, and the width of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure

POINTS = 72.0  # per inch


class Display:
    """What all displays have once they are drawn."""

    ax_: Axes

    @property
    def figure_(self) -> Figure | SubFigure:
        return self.ax_.figure

    def _require_matplotlib(self) -> None:
        """Raise ImportError where matplotlib is not installed, in words that help."""
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} needs matplotlib. "
                'Install it with `pip install "skcooc[plot]"`.'
            ) from error


def new_axes(width: float, height: float) -> Axes:
    """The axes of a new figure, all of which they fill; width and height in points."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width / POINTS, height / POINTS))
    return figure.add_axes((0, 0, 1, 1))


def framed_axes(
    width: float, height: float, left: float, below: float, right: float, above: float
) -> Axes:
    """Axes in a new figure, with room for what is written around them; lengths in points."""
    whole = left + width + right, below + height + above
    ax = new_axes(*whole)
    ax.set_position((left / whole[0], below / whole[1], width / whole[0], height / whole[1]))
    return ax


def draw_lines(
    ax: Axes, segments: Sequence[Array | Sequence[tuple[float, float]]], color: str, width: float,
    *, zorder: float = 2, capstyle: Literal["projecting"] | None = None,
) -> LineCollection:  # fmt: skip
    """Lines along the points (x, y) of each segment; width in points."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(
        segments, colors=color, linewidths=width, zorder=zorder, capstyle=capstyle
    )
    ax.add_collection(lines)
    return lines


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of axes."""
    box = ax.get_window_extent()
    scale = POINTS / ax.figure.dpi
    return box.width * scale, box.height * scale


def text_width(text: str, fontsize: float) -> float:
    """Width of a line in points, in the current font, whatever it is drawn on."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=fontsize)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def wrap(words: Sequence[str], n_lines: int, fontsize: float) -> list[str]:
    """Words in at most n_lines lines, in order and with commas, the longest as short as can be."""
    if not words:
        return [""]
    parts = [*(f"{word}," for word in words[:-1]), words[-1]]
    lines = list(parts)
    while len(lines) > max(1, n_lines):
        joined = [f"{a} {b}" for a, b in pairwise(lines)]
        widths = [text_width(line, fontsize) for line in joined]
        at = widths.index(min(widths))
        lines[at : at + 2] = [joined[at]]
    return lines
