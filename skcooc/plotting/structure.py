"""The mixtures of rows, one beside the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.found import chosen, found
from skcooc.inspection.groups import Division, divide
from skcooc.inspection.labels import Names
from skcooc.inspection.names import HOW_MANY
from skcooc.plotting.apart import spread
from skcooc.plotting.canvas import (
    NEUTRAL,
    Display,
    colours,
    framed_axes,
    size_in_points,
    styled,
    text_width,
)
from skcooc.plotting.panels import FONT, cut
from skcooc.protocol import Array, FactorModel
from skcooc.protocol.decorators import validated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, LONGEST = 430.0, 150.0, 150.0  # points: of the axes, and of the longest text
TO_LABELS = 9.0  # points: of the lines from small groups to their labels
LEAST = 5  # rows of a group that are kept, if it has them
APART = 0.008  # between groups, as a share of the width
LABEL = 1.2 * FONT  # points: from one upright label to the next
PALE = 0.5  # of white in the second colours


class Bars(NamedTuple):
    """Rows in the order in which they are drawn."""

    mixtures: Array  # (n, K): P(z given x)
    sizes: list[int]  # (G,): how many of each group
    labels: list[str]  # (G,)
    n_rows: int  # how many there were


class StructureDisplay(Display):
    """The mixture of each row as a bar of shares, groups of rows beside each other.

    Within a group, rows stand by their largest topic, and then by its share. Of many rows, every
    so manieth in this order is drawn. Large topics have colours of their own; all others together
    are grey. After the plots of Rosenberg et al. (2002) of populations.

    Parameters
    ----------
    bars : Bars
        ``mixtures`` (n, K), ``sizes`` and ``labels`` of the groups, and ``n_rows``.
    topics : sequence of int
        Those with a colour, from below.
    names : list of K str
        Of all topics.
    name : str, default=None
        Of what the rows are grouped by.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    N. A. Rosenberg et al., Genetic structure of human populations, Science 298, 2381-2385, 2002.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.plotting import StructureDisplay
    >>> X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(3, beta=0.9, random_state=0).fit(X)
    >>> display = StructureDisplay.from_estimator(model, ["a", "b", "b"] * 20, n_rows=30)
    >>> display.bars.mixtures.shape, display.bars.labels, display.bars.sizes
    ((30, 3), ['a', 'b'], [10, 20])
    """

    def __init__(
        self, bars: Bars, topics: Sequence[int], names: Sequence[str], *, name: str | None = None
    ) -> None:
        self.bars, self.topics, self.names, self.name = bars, topics, names, name

    @classmethod
    @validated({"n_rows": HOW_MANY})
    def from_estimator(
        cls, model: FactorModel, by: Any = None, feature_names: ArrayLike | None = None, *,
        freq: str = "auto", n_rows: int = 400, topics: int | Sequence[int] = 14,
        names: Names | None = None, ax: Axes | None = None,
    ) -> StructureDisplay:  # fmt: skip
        """Draw the mixtures of the rows that were fitted.

        Parameters
        ----------
        model : fitted estimator
            With ``components_``, ``embedding_`` and ``row_distribution_``; or a pipeline or a
            search with one inside.
        by : array-like of shape (N,), series, or dict or data frame of one column, default=None
            A label, a number or a date of each row, as for :func:`skcooc.inspection.topic_shares`.
            None means all rows in one group.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        freq : str, default="auto"
            Length of the periods of dates.
        n_rows : int, default=400
            How many rows about; of each group five at least.
        topics : int or sequence of int, default=14
            How many topics have a colour, the largest, or which; 14 at most.
        names : sequence of K str, or dict of int to str, default=None
            Names of the topics; see :func:`skcooc.inspection.name_topics` for the others.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure.

        Returns
        -------
        display : StructureDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError, TypeError
            As :func:`skcooc.inspection.topic_shares`, and where there are no such topics.
        """
        its = found(model, feature_names, names)
        one = np.zeros(len(its.mixtures), dtype=int)
        division = divide(one if by is None else by, its.row_distribution, freq)
        shown = chosen(its.weights, topics)
        bars = thinned(its.mixtures, division, n_rows)
        if by is None:
            bars = bars._replace(labels=[""])
        return cls(bars, shown, its.names, name=division.name).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> StructureDisplay:
        """Draw; see :meth:`from_estimator`."""
        colour = _palette()
        if len(self.topics) > len(colour):
            raise ValueError(f"{len(self.topics)} topics are too many: colours are {len(colour)}.")
        places, names = _places(self.bars.sizes), [self.names[k] for k in self.topics]
        layers = list(self.bars.mixtures[:, self.topics].T)
        if len(self.topics) < len(self.names):
            names, layers = [*names, "others"], [*layers, np.maximum(1 - np.sum(layers, axis=0), 0)]
            colour[len(names) - 1 :] = [NEUTRAL]
        right = 30 + max(text_width(_short(name), FONT) for name in names)
        upright = self._upright(places)
        below = 30 + (TO_LABELS + max(self._widths()) if upright else FONT)
        self.ax_ = framed_axes(WIDTH, HEIGHT, 44.0, below, right, 8.0) if ax is None else ax
        for k, (values, bottom) in enumerate(zip(layers, _bottoms(layers), strict=True)):
            self._fill(places, bottom, bottom + values, colour[k], _short(names[k]))
        self._draw_axes(len(places))
        self._write_groups(places, upright)
        return self

    def _widths(self) -> list[float]:
        """Of the labels of the groups, in points."""
        return [text_width(_short(label), FONT) for label in self.bars.labels]

    def _upright(self, places: list[Array]) -> bool:
        """Whether labels are wider than their groups."""
        room = [WIDTH * (edges[-1] - edges[0]) for edges in places]
        return any(width > at_most for width, at_most in zip(self._widths(), room, strict=True))

    def _fill(self, places: list[Array], low: Array, high: Array, colour: str, name: str) -> None:
        """A topic in all groups, whose bars are between their edges."""
        ends = np.cumsum([0, *self.bars.sizes])
        for g, edges in enumerate(places):
            self.ax_.stairs(
                high[ends[g] : ends[g + 1]], edges, baseline=low[ends[g] : ends[g + 1]], fill=True,
                color=colour, linewidth=0, label=name if g == 0 else None,
            )  # fmt: skip

    def _write_groups(self, places: list[Array], upright: bool) -> None:
        """Their labels; upright ones beside each other, with lines to their groups."""
        middles = np.array([edges[[0, -1]].mean() for edges in places])
        labels, at, ax = [_short(label) for label in self.bars.labels], middles, self.ax_
        ax.tick_params("x", length=0, pad=TO_LABELS if upright else 3.5)
        if upright:
            width, height = size_in_points(ax)
            kept = np.arange(0, len(at), -(-int(len(at) * LABEL) // int(width)))
            middles, labels = middles[kept], [labels[g] for g in kept]
            at = spread(middles * width, LABEL, width) / width
            ends = np.stack([np.stack([middles, at], axis=1), [[0, -TO_LABELS / height]] * len(at)])
            ax.plot(
                *ends.transpose(0, 2, 1), color=NEUTRAL, linewidth=0.5, clip_on=False,
                transform=ax.get_xaxis_transform(),
            )  # fmt: skip
        rotation = 90 if upright else 0
        ax.set_xticks(at, labels, rotation=rotation, fontsize=FONT, parse_math=False)

    def _draw_axes(self, n_groups: int) -> None:
        ax = self.ax_
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
        n, n_rows = len(self.bars.mixtures), self.bars.n_rows
        of = f"{n} of {n_rows} rows" if n < n_rows else f"{n} rows"
        ax.set_xlabel(of + (f", by {self.name or 'group'}" if n_groups > 1 else ""))
        ax.set_ylabel("share of the row")
        ax.spines[:].set_visible(False)
        handles, names = ax.get_legend_handles_labels()
        n = len(self.topics)  # from above, and last the others
        handles, names = [*handles[:n][::-1], *handles[n:]], [*names[:n][::-1], *names[n:]]
        ax.legend(
            handles, names, fontsize=FONT, handlelength=1, labelspacing=0.2,
            loc="upper left", bbox_to_anchor=(1, 1.03), borderaxespad=0.2,
        )  # fmt: skip


def thinned(mixtures: Array, division: Division, n_rows: int) -> Bars:
    """Rows by group and by what they are of, every so manieth."""
    total = sum(len(rows) for rows in division.members)
    order = []
    for rows in division.members:
        ranked = rows[_by_topic(mixtures[rows])]
        n = min(len(rows), max(LEAST, round(n_rows * len(rows) / total)))
        order.append(ranked[((np.arange(n) + 0.5) * len(rows) / n).astype(int)])
    sizes = [len(rows) for rows in order]
    return Bars(mixtures[np.concatenate(order)], sizes, division.labels, total)


def _by_topic(mixtures: Array) -> Array:
    """By the largest topic of each row, those first that are large in all, then by its share."""
    largest = mixtures.argmax(axis=1)
    rank = np.argsort(np.argsort(-mixtures.sum(axis=0), kind="stable"))
    return np.lexsort((-mixtures.max(axis=1), rank[largest]))


def _places(sizes: list[int]) -> list[Array]:
    """The edges of the bars of each group, from 0 to 1, with room between groups."""
    unit = (1 - APART * (len(sizes) - 1)) / sum(sizes)
    begin = np.cumsum([0, *sizes[:-1]]) * unit + APART * np.arange(len(sizes))
    return [first + unit * np.arange(n + 1) for first, n in zip(begin, sizes, strict=True)]


def _bottoms(layers: list[Array]) -> Array:
    return np.concatenate([np.zeros((1, len(layers[0]))), np.cumsum(layers, axis=0)[:-1]])


def _palette() -> list[str]:
    """The colours, and then paler ones."""
    from matplotlib.colors import to_hex, to_rgb

    own = colours()
    paler = [[(1 - PALE) * c + PALE for c in to_rgb(name)] for name in own]
    return own + [to_hex((r, g, b)) for r, g, b in paler]


def _short(text: str) -> str:
    return text if text_width(text, FONT) <= LONGEST else cut(text, LONGEST, FONT)
