"""The mixtures of rows as bars beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from skcooc.inspection.groups import RowGroups, divide
from skcooc.inspection.models import HOW_MANY, Names
from skcooc.inspection.names import SEPARATOR, resolve_model, select_topics
from skcooc.inspection.palette import N_COLORS, topic_ranks
from skcooc.inspection.similarity import order_by_similarity
from skcooc.plotting import canvas
from skcooc.plotting.canvas import FONT, NEUTRAL, Display, styled
from skcooc.protocol import Array, Estimator
from skcooc.protocol.decorators import validated
from skcooc.tables import check_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

WIDTH, HEIGHT, LONGEST = 340.0, 170.0, 145.0  # points: of the axes, and of the longest text
TO_LABELS = 9.0  # points: of the lines from small groups to their labels
MIN_ROWS = 5  # of a group that are kept, if it has them
FEW_TOPICS = 12  # in a legend of the usual height
LINE = 1.4 * FONT  # points: of a further topic in the legend
INSIDE, AIR = 7.0, 1.5  # points: font in the bars, and around a name there
APART = 0.008  # between groups, as a share of the width
LABEL = 1.2 * FONT  # points: from one upright label to the next


class Bars(NamedTuple):
    """Rows in the order in which they are drawn."""

    mixtures: Array  # (n, K): P(z given x)
    sizes: list[int]  # (G,): number of rows of each group
    labels: list[str]  # (G,)
    n_rows: int  # of the training matrix


class StructureDisplay(Display):
    """The mixture of each row as a bar of shares, groups of rows beside each other.

    Within a group, rows are sorted by their largest topic, and then by its share. Of many rows,
    every n-th in this order is drawn. Topics without a colour are grey together. After the plots of
    populations of Rosenberg et al., Genetic structure of human populations, Science 298, 2002.

    Parameters
    ----------
    bars : Bars
        ``mixtures`` (n, K), ``sizes`` and ``labels`` of the groups, and ``n_rows``.
    topics : sequence of int
        Topics with a colour, from below.
    names : list of K str
        Names of all topics.
    name : str, default=None
        Name of the variable by which rows are grouped.
    ranks : sequence of int, default=None
        Rank of each topic with a colour among all topics, which gives its colour, as in the other
        displays of topics. None means the order of ``topics``.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    texts_ : dict of int to matplotlib Text
        The names in the bars, by topic.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, plotting
    >>> X = datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(3, beta=0.9, random_state=0).fit(X)
    >>> display = plotting.StructureDisplay.from_estimator(model, ["a", "b", "b"] * 20, n_rows=30)
    >>> display.bars.mixtures.shape, display.bars.labels, display.bars.sizes
    ((30, 3), ['a', 'b'], [10, 20])
    """

    def __init__(
        self, bars: Bars, topics: Sequence[int], names: Sequence[str], *, name: str | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.bars = bars
        self.topics = topics
        self.names = names
        self.name = name
        self.ranks = ranks

    @classmethod
    @validated({"n_rows": HOW_MANY})
    def from_estimator(
        cls, model: Estimator, by: Any = None, feature_names: ArrayLike | None = None, *,
        freq: str = "auto", n_rows: int = 400, topics: int | Sequence[int] = 24,
        names: Names | None = None, ax: Axes | None = None,
    ) -> StructureDisplay:  # fmt: skip
        """Draw the mixtures of the rows of the training matrix.

        Parameters
        ----------
        model, feature_names, freq, names
            As for :func:`skcooc.inspection.topic_shares`, without X.
        by : array-like of shape (N,), series, or dict or data frame, default=None
            A label, a number or a date of each row; two columns mean their combinations. None
            means all rows in one group.
        n_rows : int, default=400
            Approximate number of rows; of each group five at least.
        topics : int or sequence of int, default=24
            Number of topics with a colour, the largest ones, drawn so that those of similar rows
            are neighbours; or their numbers from below. 72 at most.
        ax : matplotlib Axes, default=None, for a new figure
        """
        resolved = resolve_model(model, feature_names, names)
        check_order(getattr(resolved.model, "row_names_in_", None), by=by)
        groups = np.zeros(len(resolved.mixtures), dtype=int) if by is None else by
        division = divide(groups, resolved.row_distribution, freq)
        shown = select_topics(resolved.weights, topics)
        bars = sample_rows(resolved.mixtures, division, n_rows)
        if by is None:
            bars = bars._replace(labels=[""])
        if isinstance(topics, int | np.integer):
            shown = [shown[k] for k in order_by_similarity(bars.mixtures[:, shown])]
        weights = getattr(resolved.model, "ranking_weights_", resolved.weights)
        ranks = topic_ranks(weights)[shown].tolist()
        return cls(bars, shown, resolved.names, name=division.name, ranks=ranks).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> StructureDisplay:
        """Draw; see :meth:`from_estimator`."""
        if len(self.topics) > N_COLORS:
            raise ValueError(
                f"topics selects {len(self.topics)}, but there are {N_COLORS} colours: "
                f"give at most {N_COLORS}."
            )
        shades = canvas.topic_colours(range(len(self.topics)) if self.ranks is None else self.ranks)
        names = [self.names[k] for k in self.topics]
        layers = np.ascontiguousarray(self.bars.mixtures[:, self.topics].T)
        if len(self.topics) < len(self.names):
            shades.append(NEUTRAL)
            names = [*names, "others"]
            layers = np.vstack([layers, np.maximum(1 - layers.sum(axis=0), 0)])
        names = [canvas.shorten(name, LONGEST) for name in names]
        right = 30 + 1.05 * max(canvas.text_width(name, FONT) for name in names)
        sizes = self.bars.sizes
        unit = (1 - APART * (len(sizes) - 1)) / sum(sizes)
        begin = np.cumsum([0, *sizes[:-1]]) * unit + APART * np.arange(len(sizes))
        edges = [first + unit * np.arange(n + 1) for first, n in zip(begin, sizes, strict=True)]
        labels = [canvas.shorten(label, LONGEST) for label in self.bars.labels]
        widths = [canvas.text_width(label, FONT) for label in labels]
        upright = any(
            width > WIDTH * (group[-1] - group[0])
            for width, group in zip(widths, edges, strict=True)
        )
        caption = self._caption()
        below = 16 + FONT * 1.3 * len(caption) + (TO_LABELS + max(widths) if upright else FONT)
        height = HEIGHT + LINE * max(0, len(names) - FEW_TOPICS)
        self.ax_ = canvas.framed_axes(WIDTH, height, 52.0, below, right, 8.0) if ax is None else ax
        self.ax_.set_xlabel("\n".join(caption), parse_math=False)
        tops = np.cumsum(layers, axis=0)
        bottoms = np.vstack([np.zeros(layers.shape[1]), tops[:-1]])
        ends = np.cumsum([0, *sizes])
        for name, top, bottom, colour in zip(names, tops, bottoms, shades, strict=True):
            for g, (a, b) in enumerate(pairwise(ends)):
                self.ax_.stairs(
                    top[a:b],
                    edges[g],
                    baseline=bottom[a:b],
                    fill=True,
                    color=colour,
                    linewidth=0,
                    label=name if g == 0 else None,
                )
        self._draw_axes()
        self._write_groups(edges, labels, upright)
        self.texts_: dict[int, Text] = {}
        for k, top, bottom, colour in zip(self.topics, tops, bottoms, shades, strict=False):
            self._write_inside(k, edges, top, bottom, canvas.ink_on(colour))
        return self

    def _caption(self) -> list[str]:
        n = len(self.bars.mixtures)
        n_rows = self.bars.n_rows
        text = f"{n} of {n_rows} rows" if n < n_rows else f"{n} rows"
        if len(self.bars.sizes) > 1:
            text += f", by {self.name or 'group'}"
        return canvas.fold(text, WIDTH)

    def _write_inside(
        self, topic: int, edges: list[Array], top: Array, bottom: Array, ink: str
    ) -> None:
        """Write the first words of a name where its layer is thickest, across or upright."""
        across, down = canvas.size_in_points(self.ax_)
        words = self.names[topic].split(SEPARATOR)
        texts = [SEPARATOR.join(words[:n]) for n in range(len(words), 0, -1)]
        ends = np.cumsum([0, *self.bars.sizes])
        for text, rotation in ((text, rotation) for text in texts for rotation in (0, 90)):
            size = canvas.text_width(text, INSIDE) + 2 * AIR, INSIDE * 1.15 + 2 * AIR
            width, height = size[::-1] if rotation else size
            places = []
            for group, (a, b) in zip(edges, pairwise(ends), strict=True):
                n = int(np.ceil(width / across / (group[1] - group[0])))
                if n <= b - a:
                    low = sliding_window_view(bottom[a:b], n).max(axis=1)
                    high = sliding_window_view(top[a:b], n).min(axis=1)
                    i = int(np.argmax(high - low))
                    middle = (group[i] + group[i + n]) / 2, (low[i] + high[i]) / 2
                    places.append((high[i] - low[i], *middle))
            if places and max(places)[0] * down >= height:
                _, x, y = max(places)
                self.texts_[topic] = canvas.write(
                    self.ax_, x, y, text, fontsize=INSIDE, color=ink, ha="center", rotation=rotation
                )
                return

    def _write_groups(self, edges: list[Array], labels: list[str], upright: bool) -> None:
        """Write labels below their groups; upright ones are decluttered, with lines to groups."""
        ax = self.ax_
        middles = np.array([group[[0, -1]].mean() for group in edges])
        places = middles
        ax.tick_params("x", length=0, pad=TO_LABELS if upright else 3.5)
        if upright:
            width, height = canvas.size_in_points(ax)
            step = -(-int(len(middles) * LABEL) // int(width))
            middles = middles[::step]
            labels = labels[::step]
            places = canvas.declutter(middles * width, LABEL, 0.0, width) / width
            ax.plot(
                [middles, places],
                np.tile([[0], [-TO_LABELS / height]], len(places)),
                color=NEUTRAL,
                linewidth=0.5,
                clip_on=False,
                transform=ax.get_xaxis_transform(),
            )
        rotation = 90 if upright else 0
        ax.set_xticks(places, labels, rotation=rotation, fontsize=FONT, parse_math=False)

    def _draw_axes(self) -> None:
        ax = self.ax_
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
        ax.set_ylabel("share of the row")
        ax.spines[:].set_visible(False)
        handles, names = ax.get_legend_handles_labels()
        n = len(self.topics)  # from above, and last the others
        canvas.draw_legend(
            ax,
            [*handles[:n][::-1], *handles[n:]],
            [*names[:n][::-1], *names[n:]],
            handlelength=1,
            labelspacing=0.2,
            loc="upper left",
            bbox_to_anchor=(1, 1.03),
            borderaxespad=0.2,
        )


def sample_rows(mixtures: Array, division: RowGroups, n_rows: int) -> Bars:
    """About n_rows rows, evenly spaced after sorting by group, largest topic and its share."""
    total = sum(len(rows) for rows in division.members)
    order = []
    for rows in division.members:
        P = mixtures[rows]
        rank = np.argsort(np.argsort(-P.sum(axis=0), kind="stable"))  # of the topics
        ranked = rows[np.lexsort((-P.max(axis=1), rank[P.argmax(axis=1)]))]
        n = min(len(rows), max(MIN_ROWS, round(n_rows * len(rows) / total)))
        order.append(ranked[((np.arange(n) + 0.5) * len(rows) / n).astype(int)])
    sizes = [len(rows) for rows in order]
    return Bars(mixtures[np.concatenate(order)], sizes, division.labels, total)
