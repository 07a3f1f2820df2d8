"""What all displays share: the style, axes to draw on, in points, lines, and widths of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import resources
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure

POINTS = 72.0  # per inch
NEUTRAL = "0.55"  # of lines that are to be seen on white and on black

Of = ParamSpec("Of")
Drawn = TypeVar("Drawn", bound="Display")
Plot = Callable[Concatenate[Drawn, Of], Drawn]


@contextmanager
def style() -> Iterator[None]:
    """The style of all displays: colours for the colour-blind, for light and for dark pages.

    ``with skcooc.plotting.style():`` gives it to other pictures as well. What you have set yourself
    in ``matplotlib.rcParams`` stays. ``matplotlib.style.use("skcooc.plotting.skcooc")`` sets all of
    it, until it is set otherwise.
    """
    import matplotlib

    with resources.as_file(resources.files("skcooc.plotting") / "skcooc.mplstyle") as path:
        sheet = matplotlib.rc_params_from_file(path, use_default_template=False)
    ours, theirs = matplotlib.rcParams, matplotlib.rcParamsDefault
    with matplotlib.rc_context({key: sheet[key] for key in sheet if ours[key] == theirs[key]}):
        yield


def styled(plot: Plot[Drawn, Of]) -> Plot[Drawn, Of]:
    """A method that draws, in the style of all displays."""

    @wraps(plot)
    def drawn(self: Drawn, *args: Of.args, **kwargs: Of.kwargs) -> Drawn:
        self._require_matplotlib()
        with style():
            return plot(self, *args, **kwargs)

    return drawn


class Display:
    """What all displays have once they are drawn."""

    ax_: Axes

    def __repr__(self) -> str:
        drawn = "drawn" if hasattr(self, "ax_") else "not drawn yet: call plot"
        return f"<{type(self).__name__}: {drawn}>"

    @property
    def figure_(self) -> Figure | SubFigure:
        """The figure drawn on."""
        return self.ax_.figure

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the figure into a file, such as "topics.svg" or "topics.png".

        Behind it is nothing, text is text, and pixels are 300 an inch.

        Parameters
        ----------
        path : str or path
            Its ending is the format.
        **options
            Of ``matplotlib.figure.Figure.savefig``, such as ``facecolor="white"``.
        """
        with style():
            self.ax_.figure.savefig(path, **options)  # type: ignore[union-attr]

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


def colours() -> list[str]:
    """Those of lines and areas, in order."""
    import matplotlib

    return list(matplotlib.rcParams["axes.prop_cycle"].by_key()["color"])


def draw_lines(
    ax: Axes, segments: Sequence[Array | Sequence[tuple[float, float]]], color: str,
    width: float | Sequence[float],
    *, zorder: float = 2, capstyle: Literal["projecting"] | None = None,
) -> LineCollection:  # fmt: skip
    """Lines along the points (x, y) of each segment; width in points, of all or of each."""
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
