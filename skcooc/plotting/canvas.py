"""Axes to draw on, in points, and the width of text: all that displays need of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

POINTS = 72.0  # per inch


def require_matplotlib(display: object) -> None:
    """Refuse to draw without matplotlib, in words that help.

    Raises
    ------
    ImportError
        Where matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        name = type(display).__name__
        raise ImportError(
            f'{name} needs matplotlib. Install it with `pip install "skcooc[plot]"`.'
        ) from error


def new_axes(width: float, height: float) -> Any:
    """The axes of a new figure, all of which they fill; width and height in points."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width / POINTS, height / POINTS))
    return figure.add_axes((0, 0, 1, 1))


def size_in_points(ax: Any) -> tuple[float, float]:
    """Width and height of axes."""
    box = ax.get_window_extent()
    scale = POINTS / ax.figure.dpi
    return box.width * scale, box.height * scale


def text_width(text: str, fontsize: float) -> float:
    """Width of a line in points, in the current font, whatever it is drawn on."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=fontsize)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width)


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
