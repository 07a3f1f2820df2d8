"""Parts that all displays share: the style, axes in points, lines, and how texts are fitted."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import resources
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec, Self, TypeVar

import numpy as np
from sklearn.isotonic import isotonic_regression

from skcooc.inspection.names import SEPARATOR, escape_surrogates
from skcooc.inspection.palette import topic_colors
from skcooc.protocol import Array, AttributeHints

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Text

POINTS = 72.0  # per inch
FONT = 9.0  # points: names and words
AIR = 5.0  # points around all panels of a display
NEUTRAL = "0.55"  # lines that are to be seen on white and on black

P = ParamSpec("P")
D = TypeVar("D", bound="Display")
Plot = Callable[Concatenate[D, P], D]


@contextmanager
def style() -> Iterator[None]:
    """Use the style of all displays: dark text, and colours that are safe for the colour-blind.

    ``with skcooc.plotting.style():`` applies it to other figures; changes of ``rcParams`` have
    precedence. ``matplotlib.style.use("skcooc.plotting.skcooc")`` sets it for the whole session.
    """
    import matplotlib

    with resources.as_file(resources.files("skcooc.plotting") / "skcooc.mplstyle") as path:
        sheet = matplotlib.rc_params_from_file(path, use_default_template=False)
    default = matplotlib.rcParamsDefault
    unchanged = [key for key in sheet if matplotlib.rcParams[key] == default[key]]
    with matplotlib.rc_context({key: sheet[key] for key in unchanged}):
        yield


def styled(plot: Plot[D, P]) -> Plot[D, P]:
    """Draw in the style of all displays; ImportError where matplotlib is not installed."""

    @wraps(plot)
    def draw(self: D, *args: P.args, **kwargs: P.kwargs) -> D:
        ax = kwargs.get("ax", args[0] if args else None)
        if not (ax is None or hasattr(ax, "get_subplotspec")):
            raise TypeError(
                f"ax should be one Axes, got {type(ax).__name__}. "
                "After figure, axes = plt.subplots(1, 2), give axes[0] or axes[1]."
            )
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} needs matplotlib. "
                'Install it with `pip install "skcooc[plot]"`.'
            ) from error
        with style():
            return plot(self, *args, **kwargs)

    return draw


class Display(AttributeHints):
    ax_: Axes
    _instead: ClassVar[Mapping[str, str]] = {
        "show": "matplotlib.pyplot.show()",
        "savefig": "save(path)",
        "fit": "from_estimator(model)",
    }
    _unset = "not drawn yet, call plot first"

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Create a display; TypeError for a model, which ``from_estimator`` draws."""
        if any(hasattr(arg, "get_params") for arg in args):
            name = cls.__name__
            raise TypeError(f"{name} takes what it draws. Draw a model by {name}.from_estimator.")
        return super().__new__(cls)

    def __repr__(self) -> str:
        state = "drawn" if hasattr(self, "ax_") else "not drawn yet: call plot"
        return f"<{type(self).__name__}: {state}>"

    @property
    def figure_(self) -> Figure | SubFigure:
        return self.ax_.figure

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the figure into a file, with 300 pixels an inch.

        Parameters
        ----------
        path : str or path
            Its ending is the format, as in "topics.svg".
        **options
            Of ``matplotlib.figure.Figure.savefig``, such as ``transparent=True``.
        """
        with style():
            self.ax_.figure.savefig(path, **options)  # type: ignore[union-attr]


def new_axes(width: float, height: float) -> Axes:
    """Axes that fill a new figure; width and height in points."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width / POINTS, height / POINTS))
    return figure.add_axes((0, 0, 1, 1))


def framed_axes(
    width: float, height: float, left: float, below: float, right: float, above: float
) -> Axes:
    """Axes in a new figure, with margins; lengths in points."""
    across = left + width + right
    down = below + height + above
    ax = new_axes(across, down)
    ax.set_position((left / across, below / down, width / across, height / down))
    return ax


def new_panel_figure(width: float, height: float, ax: Axes | None) -> Figure | SubFigure:
    """A new figure, its size in points; or a subfigure in the place of ax, which is removed.

    The figure of ax gets a constrained layout, if it has none, for the texts of the panels.
    """
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=AIR / POINTS, h_pad=AIR / POINTS)
    if ax is None:
        return plt.figure(figsize=(width / POINTS, height / POINTS), layout=layout)
    place = ax.get_subplotspec()
    figure = ax.figure.figure
    if place is None or figure is None:
        raise ValueError(
            "A display of several panels divides the place of ax in a grid: give ax of "
            "plt.subplots or add_subplot, not of add_axes."
        )
    if figure.get_layout_engine() is None:
        figure.set_layout_engine(layout)
    ax.remove()
    return figure.add_subfigure(place)


def size_in_points(ax: Axes) -> tuple[float, float]:
    box = ax.get_window_extent()
    scale = POINTS / ax.figure.dpi
    return box.width * scale, box.height * scale


def shrink_to_fit(ax: Axes, width: float, height: float) -> tuple[float, float, float]:
    """The scale, at most 1, at which width and height fit, and the size of the axes at it."""
    across, down = size_in_points(ax)
    scale = min(across / width, down / height, 1.0)
    ax.set_axis_off()
    return scale, across / scale, down / scale


def colours() -> list[str]:
    import matplotlib

    return list(matplotlib.rcParams["axes.prop_cycle"].by_key()["color"])


def topic_colours(ranks: Iterable[int]) -> list[str]:
    """A colour for each rank, those of dark pages where the style sets a dark background."""
    import matplotlib
    from matplotlib.colors import to_rgba

    *rgb, opacity = to_rgba(matplotlib.rcParams["axes.facecolor"])
    listed = list(ranks)
    colors = topic_colors(max(listed, default=-1) + 1, dark=opacity > 0 and max(rgb) < 0.5)
    return [colors[rank] for rank in listed]


def ink() -> str:
    """The colour of texts."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def ink_on(colour: str) -> str:
    """Black or white, the one that is read more easily on a colour."""
    from matplotlib.colors import to_rgb

    luminance = np.dot(np.array(to_rgb(colour)) ** 2.2, (0.2126, 0.7152, 0.0722))
    return "black" if luminance > 0.18 else "white"


def draw_lines(
    ax: Axes,
    segments: Sequence[Array | Sequence[tuple[float, float]]],
    color: str,
    width: float | Sequence[float],
    *,
    zorder: float = 2,
    capstyle: Literal["projecting"] | None = None,
) -> LineCollection:
    """Draw lines along the points (x, y) of each segment; one width, or one each, in points."""
    from matplotlib.collections import LineCollection

    lines = LineCollection(
        segments, colors=color, linewidths=width, zorder=zorder, capstyle=capstyle
    )
    ax.add_collection(lines)
    return lines


def write(ax: Axes, x: float, y: float, text: str, **options: Any) -> Text:
    """Write a text in which $ does not begin a formula, by default centred at the height y."""
    options.setdefault("va", "center")
    return ax.text(x, y, escape_surrogates(text), parse_math=False, **options)


def draw_legend(ax: Axes, handles: list[Artist], names: list[str], **options: Any) -> None:
    """Draw a legend of names, in which $ does not begin a formula."""
    for text in ax.legend(handles, names, fontsize=FONT, **options).get_texts():
        text.set_parse_math(False)


def declutter(places: Array, gap: float, low: float, high: float) -> Array:
    """Increasing places between low and high, moved as little as possible (least squares).

    Neighbours of the n are at least a gap apart; (n - 1) gap is at most high - low.

    >>> declutter(np.array([1.0, 1.0, 5.0]), gap=1.0, low=0.0, high=9.0)
    array([0.5, 1.5, 5. ])
    """
    shift = gap * np.arange(len(places))
    top = max(high - shift[-1], low)
    return isotonic_regression(places - shift, y_min=low, y_max=top) + shift


def text_width(text: str, fontsize: float) -> float:
    """Width of a line in points, in the current font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=fontsize)
    text = escape_surrogates(text)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def shorten(text: str, width: float, fontsize: float = FONT, *, cut: bool = False) -> str:
    """The text, cut with an ellipsis if ``cut`` or if it is wider than ``width`` points."""
    text = escape_surrogates(text)
    if not cut and text_width(text, fontsize) <= width:
        return text
    lengths = range(1, len(text) + 1)
    length = bisect_right(lengths, width, key=lambda n: text_width(f"{text[:n]}…", fontsize))
    return f"{text[:length].rstrip(' ·')}…"


def fold(text: str, width: float, fontsize: float = FONT, n_lines: int = 2) -> list[str]:
    """Break a text into lines of at most ``width`` points; an ellipsis marks omitted words.

    Lines end after spaces, commas, slashes and underscores. Names that are joined by dots move to a
    new line as wholes, and no line has a dot at its ends.

    >>> fold("tea · cup", 100.0), fold("tea · cup", 20.0)
    (['tea · cup'], ['tea', 'cup'])
    """
    lines = list[str]()
    for name in escape_surrogates(text).split(SEPARATOR):
        longer = SEPARATOR.join([*lines[-1:], name])
        if lines and text_width(longer, fontsize) <= width:
            lines[-1] = longer
            continue
        lines.append("")
        for word in re.split(r"(?<=[ ,/_])", name):
            longer = f"{lines[-1]}{word}"
            if text_width(longer.strip(), fontsize) <= width or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(word)
    lines = [line.strip() for line in lines]
    n = len(lines)
    return [
        shorten(line, width, fontsize, cut=n > n_lines and i == n_lines - 1)
        for i, line in enumerate(lines[:n_lines])
    ]


def wrap(words: Sequence[str], n_lines: int, fontsize: float) -> list[str]:
    """Words in at most n_lines lines, in order and with commas, the longest as short as can be."""
    if not words:
        return [""]
    lines = [*(f"{word}," for word in words[:-1]), words[-1]]
    while len(lines) > max(1, n_lines):
        joined = [f"{a} {b}" for a, b in pairwise(lines)]
        widths = [text_width(line, fontsize) for line in joined]
        i = widths.index(min(widths))
        lines[i : i + 2] = [joined[i]]
    return lines
