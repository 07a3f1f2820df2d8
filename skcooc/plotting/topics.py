"""Panels of topics, with the words or the shares of each, and a map of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.features import Order, rank_columns
from skcooc.inspection.groups import RowGroups, runs
from skcooc.inspection.models import FACTORS, Names, unwrap
from skcooc.inspection.names import resolve_model, select_topics
from skcooc.inspection.palette import topic_ranks
from skcooc.inspection.shares import FEW, LEVEL, group_model, share_intervals
from skcooc.inspection.similarity import map_positions
from skcooc.plotting import canvas
from skcooc.plotting.canvas import FONT, NEUTRAL, POINTS, Display, styled
from skcooc.protocol import Array, Estimator, TableLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

PANELS_A_ROW = 3
WORDS_WIDTH, WORD_HEIGHT = 175.0, 13.5  # points: of a panel of words, and of a word
SHARES_WIDTH, SHARES_HEIGHT = 150.0, 130.0  # points: of a panel of shares
GROUP_HEIGHT, LONGEST = 12.5, 100.0  # points: of a group, and longest name of it and of a word
TITLE, AROUND = 125.0, 22.0  # points: width of a title and the air around it, the air
NUMBERS = 36.0  # points: width of the numbers beside panels over time
MAX_DATES = 4  # below a panel
HEADROOM = 1.08  # length of an axis, in units of what it shows

# TopicMapDisplay
SIDE, FEW_TOPICS = 500.0, 25  # points: width of a new map of at most so many topics
LINE = 1.25 * FONT  # points: height of the one or two lines of a name of at most LONGEST
FILLED = 0.08  # share of the map that circles would cover without overlaps
AIR = 4.0  # points around all
DIRECTIONS = np.linspace(0, 2 * np.pi, 16, endpoint=False)  # of a name from its circle
DISTANCES = np.array([2.0, 8.0, 16.0, 28.0, 44.0, 64.0])  # points between a circle and its name
PADDING = 1.5  # points around a name
LINE_FROM = 8.0  # points from a circle to its name, above which a line joins them
OVERLAP_COST = 15.0  # of a point into a circle, in points of distance from its own circle
DEEPEST = 4.0  # points into circles, above which a name is left out
ALONG = np.linspace(0, 0.9, 12)[:, None]  # points of a line that are checked


class Topic(NamedTuple):
    """A panel of words."""

    name: str
    weight: float  # share of the tokens
    features: list[str]
    probabilities: Array  # (n,): P(y given z) of these
    unigram: Array  # (n,): P(y)
    intervals: Array | None = None  # (2, n): of P(y given z) over the members of an average
    rank: int = 0  # among all topics, by share; gives the colour


class TopicsDisplay(Display):
    """Topics, each with a bar for each of its characteristic columns.

    The length of a bar is P(y given z); the upright mark is P(y). For the ``consensus_`` of an
    average, a line at the end of each bar is the interval over the members. The title has the share
    of the tokens and the name of the topic. Panels have scales of their own.

    Parameters
    ----------
    topics : list of Topic
        Each with ``name``, ``weight``, ``features``, ``probabilities``, ``unigram``, ``intervals``,
        ``rank``.

    Attributes
    ----------
    axes_ : (K,) array of matplotlib Axes
    ax_, figure_ : the first Axes and the matplotlib Figure

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, plotting
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> display = plotting.TopicsDisplay.from_estimator(model, ["tea", "cup", "ball"])
    >>> [topic.features[0] for topic in display.topics]
    ['tea', 'ball']
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self.topics = topics

    @classmethod
    def from_estimator(
        cls, model: Estimator, feature_names: ArrayLike | None = None, *, n_features: int = 8,
        order: Order = "characteristic",
        topics: int | Sequence[int] = 12, names: Names | None = None, ax: Axes | None = None,
    ) -> TopicsDisplay:  # fmt: skip
        """Draw the topics of a fitted model.

        Parameters
        ----------
        model, feature_names, n_features, order, names
            As for :func:`skcooc.inspection.describe`.
        topics : int or sequence of int, default=12
            Number of topics, the largest first; or their numbers.
        ax : matplotlib Axes, default=None, for a new figure
            Of ``subplots`` or ``add_subplot``; the panels take its place.
        """
        resolved = resolve_model(model, feature_names, names)
        weights = resolved.weights
        unigram = weights @ resolved.components
        top = rank_columns(resolved.model, n_features, order)
        intervals = getattr(resolved.model, "component_intervals_", None)
        ranks = topic_ranks(weights).tolist()
        panels = [
            Topic(
                name=resolved.names[k],
                weight=weights[k],
                features=[str(word) for word in resolved.columns[top[k]]],
                probabilities=resolved.components[k, top[k]],
                unigram=unigram[top[k]],
                intervals=None if intervals is None else intervals[:, k, top[k]],
                rank=ranks[k],
            )
            for k in select_topics(weights, topics)
        ]
        return cls(panels).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> TopicsDisplay:
        """Draw; see :meth:`from_estimator`."""
        n_words = max(len(topic.features) for topic in self.topics)
        words = [canvas.shorten(word, LONGEST) for topic in self.topics for word in topic.features]
        beside = max((canvas.text_width(word, FONT) for word in words), default=0.0)
        width = max(WORDS_WIDTH, TITLE + beside)
        caption = "P(column given component); mark: P(column)"
        if any(topic.intervals is not None for topic in self.topics):
            caption += "; line: interval"
        across = min(len(self.topics), PANELS_A_ROW) * width
        lines = canvas.fold(caption, 0.9 * across, FONT + 1, 6)
        below = 1.45 * (FONT + 1) * (len(lines) - 1)
        height = 66 + WORD_HEIGHT * n_words
        self.axes_ = new_panels(len(self.topics), width, height, ax=ax, below=below)
        self.ax_ = self.axes_[0]
        for topic, panel in zip(self.topics, self.axes_, strict=True):
            self._draw(panel, topic, n_words)
            set_panel_title(panel, f"{topic.weight:.1%} {topic.name}", beside)
        self.figure_.supxlabel("\n".join(lines), fontsize=FONT + 1)
        return self

    def _draw(self, ax: Axes, topic: Topic, n_words: int) -> None:
        y = np.arange(len(topic.features))
        ax.barh(y, topic.probabilities, height=0.7, color=canvas.topic_colours([topic.rank])[0])
        ax.vlines(topic.unigram, y - 0.35, y + 0.35, color=canvas.ink(), linewidth=1.6)
        if topic.intervals is not None:
            ax.hlines(y, *topic.intervals, color=canvas.ink(), linewidth=1.0)
        words = [canvas.shorten(word, LONGEST) for word in topic.features]
        ax.set_yticks(y, words, fontsize=FONT, parse_math=False)
        ax.tick_params("y", length=0)
        ends = topic.probabilities if topic.intervals is None else topic.intervals[1]
        longest = max([*topic.probabilities, *topic.unigram, *ends], default=1.0)
        ax.set(ylim=(n_words - 0.4, -0.6), xlim=(0, 1.05 * longest))
        mark_percent(ax.xaxis)


class SharesDisplay(Display):
    """The share of each topic in groups of rows: dots, or a line over numbers and dates.

    Each topic has a panel; a dashed line is its share of all tokens. Groups that are numbers
    or dates are joined by a line; others are a dot each. Panels have scales of their own, which
    small groups do not set: dots of groups of few rows are hollow, and an arrow at the edge marks
    one beyond it. Pale lines are 95 % intervals (Korn and Graubard 1998), which express the
    variation between rows and take the topics as known; a group of one row has none. For intervals
    of differences see :func:`skcooc.inspection.compare_shares`.

    Parameters
    ----------
    division : RowGroups
        The G groups.
    shares : (G, K) array
        Shares of the K topics in them.
    names : list of K str
        Names of the topics.
    overall : (K,) array
        Their shares of all tokens.
    ranks : sequence of K int, default=None
        Ranks of the topics among all of the model, which give their colours. None means 0 to K - 1.
    intervals : (2, G, K) array, default=None
        Lower and upper ends of intervals of the shares, or NaN.

    Attributes
    ----------
    axes_ : (K,) array of matplotlib Axes
    ax_, figure_ : the first Axes and the matplotlib Figure

    References
    ----------
    E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data, Survey Methodology 24, 193-201, 1998.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, plotting
    >>> X = datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(3, beta=0.9, random_state=0).fit(X)
    >>> years = [1990 + row % 5 for row in range(60)]
    >>> display = plotting.SharesDisplay.from_estimator(model, {"year": years}, X=X)
    >>> len(display.axes_), display.division.labels[0], display.shares.shape
    (3, '1990', (5, 3))
    """

    def __init__(
        self, division: RowGroups, shares: Array, names: Sequence[str], overall: Array, *,
        ranks: Sequence[int] | None = None, intervals: Array | None = None,
    ) -> None:  # fmt: skip
        self.division = division
        self.shares = shares
        self.names = names
        self.overall = overall
        self.ranks = range(len(names)) if ranks is None else ranks
        self.intervals = intervals
        self._sizes = np.array([len(rows) for rows in division.members])

    @classmethod
    def from_estimator(
        cls, model: Estimator, by: Any, feature_names: ArrayLike | None = None, *,
        X: TableLike | None = None, freq: str = "auto", topics: int | Sequence[int] = 12,
        names: Names | None = None, ax: Axes | None = None,
    ) -> SharesDisplay:  # fmt: skip
        """Draw the shares in groups of rows.

        Parameters
        ----------
        model, by, feature_names, X, freq, names
            As for :func:`skcooc.inspection.topic_shares`, with the same warning without X. The name
            of a column of labels is that of the axis.
        topics : int or sequence of int, default=12
            Number of topics, the largest first; or their numbers.
        ax : matplotlib Axes, default=None, for a new figure
            Of ``subplots`` or ``add_subplot``; the panels take its place.
        """
        grouped = group_model(model, by, feature_names, freq, names, X)
        shown = select_topics(grouped.weights, topics)
        model = unwrap(model, *FACTORS).model
        weights = getattr(model, "ranking_weights_", grouped.weights)
        members = grouped.division.members
        shares = grouped.topics.shares(members)
        display = cls(
            grouped.division,
            shares[:, shown],
            [grouped.names[k] for k in shown],
            grouped.topics.overall[shown],
            ranks=topic_ranks(weights)[shown].tolist(),
            intervals=share_intervals(grouped.topics, members, shares)[:, :, shown],
        )
        return display.plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> SharesDisplay:
        """Draw; see :meth:`from_estimator`."""
        ordered = self.division.ordered
        labels = [canvas.shorten(label, LONGEST) for label in self.division.labels]
        n_across = min(len(self.names), PANELS_A_ROW)
        beside = NUMBERS if ordered else max(canvas.text_width(label, FONT) for label in labels)
        room = beside / n_across
        height = SHARES_HEIGHT if ordered else max(66 + GROUP_HEIGHT * len(labels), 90)
        width = n_across * (SHARES_WIDTH + room)
        panels = -(-len(self.names) // n_across) * height
        name = self.division.name or "group"
        label = canvas.fold(name, 0.9 * width if ordered else 0.75 * panels, FONT + 1)
        across, up = (label, ["share of tokens"]) if ordered else (["share of tokens"], label)
        caption = [*across, *self._caption(width)]
        below = 1.45 * (FONT + 1) * (len(caption) - 1)
        self.axes_ = new_panels(
            len(self.names),
            SHARES_WIDTH + room,
            height,
            ax=ax,
            below=below,
            sharex=ordered,
            sharey=not ordered,
        )
        self.ax_ = self.axes_[0]
        for k, panel in enumerate(self.axes_):
            self._draw(panel, k, labels)
            set_panel_title(panel, self.names[k], room)
        self.figure_.supxlabel("\n".join(caption), fontsize=FONT + 1, parse_math=False)
        middle = (below + panels / 2) / (below + panels)
        self.figure_.supylabel("\n".join(up), y=middle, fontsize=FONT + 1, parse_math=False)
        return self

    def _caption(self, width: float) -> list[str]:
        """What lines, dots and arrows mean, on lines of this width."""
        text = f"{'line' if self.division.ordered else 'dot'}: share; dashed: share in all rows"
        if self.intervals is not None:
            text += f"; pale: {LEVEL:.0%} interval"
        if self._sizes.min() < FEW:
            text += f"; hollow: fewer than {FEW} rows"
        if any(self._end(k) < self.shares[:, k].max() for k in range(len(self.names))):
            text += "; arrow: beyond the scale"
        text += "; scales differ" if len(self.names) > 1 else ""
        return canvas.fold(text, 0.9 * width, FONT + 1, 6)

    def _end(self, k: int) -> float:
        """The end of an axis: of the intervals of groups with enough rows, or of all groups.

        It is at most three times the largest share.
        """
        large = self._sizes >= FEW
        shown = large if large.any() else ~large
        share = float(self.shares[shown, k].max())
        if self.intervals is None:
            return HEADROOM * share or 1.0
        high = np.nan_to_num(self.intervals[1, shown, k]).max()
        return HEADROOM * min(max(share, high), 3 * share) or 1.0

    def _draw(self, ax: Axes, k: int, labels: Sequence[str]) -> None:
        """Draw shares upwards, joined by a line, if groups are ordered; else to the right."""
        from matplotlib.ticker import MaxNLocator

        ordered = self.division.ordered
        places = self.division.groups if ordered else np.arange(len(labels))
        share = self.shares[:, k]
        end = self._end(k)
        colour = canvas.topic_colours([self.ranks[k]])[0]

        def plot(groups: Array | slice, values: Array, form: str, **options: Any) -> None:
            x, y = (places[groups], values) if ordered else (values, places[groups])
            ax.plot(x, y, form, **options)

        draw_overall = ax.axhline if ordered else ax.axvline
        draw_overall(self.overall[k], color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
        if self.intervals is not None:
            draw = ax.vlines if ordered else ax.hlines
            draw(places, *self.intervals[:, :, k], color=colour, linewidth=2, alpha=0.4)
        for run in runs(places) if ordered else ():
            plot(run, share[run], "-", color=colour)
        is_small = self._sizes < FEW
        for groups, fill in ((~is_small, "full"), (is_small, "none")):
            if groups.any():
                size = 3 if ordered else 5
                plot(groups, share[groups], "o", color=colour, markersize=size, fillstyle=fill)
        beyond = share > end
        if beyond.any():
            ends = np.full(beyond.sum(), end)
            arrow = "^" if ordered else ">"
            plot(beyond, ends, arrow, color=NEUTRAL, markersize=5, clip_on=False, zorder=4)
        mark_percent(ax.yaxis if ordered else ax.xaxis)
        if not ordered:
            ax.set(xlim=(0, end), ylim=(len(places) - 0.4, -0.6))
            ax.set_yticks(places, labels, fontsize=FONT, parse_math=False)
            ax.tick_params("y", length=0)
            return
        ax.set_ylim(0, end)
        if places.dtype.kind == "M":
            shown = readable_dates(places, labels)
            ax.set_xticks(places[shown], [labels[g] for g in shown])
        else:
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=places.dtype.kind in "iu"))


class TopicMapDisplay(Display):
    """Topics as circles: near each other where they have the same columns, large where common.

    Places are found by multidimensional scaling of the Hellinger distances of the distributions
    P(y given z): small distances are meaningful, long ones less so. The areas of the circles are
    proportional to the shares of the tokens. Names are written without overlaps, larger
    topics first; those without room are left out.

    Parameters
    ----------
    at : (K, 2) array
        Places of the topics.
    weights : (K,) array
        Their shares of the tokens.
    names : list of K str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, in units of points, and Figure
    circles_, texts_ : matplotlib PathCollection and dict of int to matplotlib Text
        The circles, the largest first, and the names that are written.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, plotting
    >>> X = datasets.make_cooccurrences(60, 40, n_components=4, random_state=0).X
    >>> model = AspectModel(4, beta=0.9, random_state=0).fit(X)
    >>> display = plotting.TopicMapDisplay.from_estimator(model)
    >>> sorted(display.texts_), display.at.shape
    ([0, 1, 2, 3], (4, 2))
    """

    def __init__(self, at: Array, weights: Array, names: Sequence[str]) -> None:
        self.at = at
        self.weights = weights
        self.names = names

    @classmethod
    def from_estimator(
        cls, model: Estimator, feature_names: ArrayLike | None = None, *,
        names: Names | None = None, ax: Axes | None = None,
    ) -> TopicMapDisplay:  # fmt: skip
        """Draw the map of the topics of a fitted model.

        Parameters
        ----------
        model, feature_names, names
            As for :func:`skcooc.inspection.describe`.
        ax : matplotlib Axes, default=None, for a new figure
        """
        resolved = resolve_model(model, feature_names, names)
        places = map_positions(resolved.components)
        return cls(places, resolved.weights, resolved.names).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> TopicMapDisplay:
        """Draw; see :meth:`from_estimator`."""
        if ax is None:
            side = SIDE * max(1.0, np.sqrt(len(self.at) / FEW_TOPICS))
            ax = canvas.framed_axes(side, 0.75 * side, AIR, 22.0, AIR, AIR)
        self.ax_ = ax
        size = np.array(canvas.size_in_points(ax))
        radii = np.sqrt(FILLED * size.prod() * self.weights / np.pi)
        margin = radii.max() + np.array([0.4 * LONGEST, 1.5 * FONT])  # for names
        extent = np.maximum(np.ptp(self.at, axis=0), 1e-9)
        unit = np.min(np.maximum(size - 2 * margin, 0.2 * size) / extent)
        middle = (self.at.max(axis=0) + self.at.min(axis=0)) / 2
        centers = size / 2 + unit * (self.at - middle)  # points
        order = np.argsort(-self.weights, kind="stable")
        ax.set(xlim=(0, size[0]), ylim=(0, size[1]), xticks=[], yticks=[])
        ax.set_xlabel("distances on the map approximate Hellinger distances of topics")
        ax.spines[:].set_visible(False)
        self.circles_ = ax.scatter(
            centers[order, 0],
            centers[order, 1],
            s=(4 * radii[order] ** 2).tolist(),
            color=canvas.topic_colours(topic_ranks(self.weights)[order]),
            alpha=0.6,
            edgecolors=NEUTRAL,
            linewidths=0.8,
        )
        self._write_names(centers, radii, order)
        return self

    def _write_names(self, centers: Array, radii: Array, order: Array) -> None:
        names = [canvas.fold(self.names[k], LONGEST) for k in order]
        sizes = [
            (1.04 * max(canvas.text_width(line, FONT) for line in lines), LINE * len(lines))
            for lines in names
        ]
        boxes = place_names(centers[order], radii[order], sizes, canvas.size_in_points(self.ax_))
        self.texts_ = {}
        lines = []
        for k, folded, box in zip(order.tolist(), names, boxes, strict=True):
            if box is None:
                continue
            x, y = (box[:2] + box[2:]) / 2
            self.texts_[k] = canvas.write(
                self.ax_, x, y, "\n".join(folded), fontsize=FONT, ha="center", linespacing=1.05
            )
            if (line := leader_line(centers[k], radii[k], box)) is not None:
                lines.append(line)
        canvas.draw_lines(self.ax_, lines, NEUTRAL, 0.6)


def new_panels(
    n: int,
    width: float,
    height: float,
    *,
    ax: Axes | None = None,
    below: float = 0.0,
    sharex: bool = False,
    sharey: bool = False,
) -> Array:
    """The n axes of panels; width and height of each in a new figure, and a margin, in points."""
    across = min(n, PANELS_A_ROW)
    down = -(-n // across)
    figure = canvas.new_panel_figure(across * width, down * height + below, ax)
    axes = figure.subplots(down, across, squeeze=False, sharex=sharex, sharey=sharey)
    for unused in axes.flat[n:]:
        unused.remove()
    if sharex:  # the last panel of a column has the numbers
        for last in axes.flat[max(0, n - across) : n]:
            last.tick_params(labelbottom=True)
    return np.array(axes.flat[:n])


def set_panel_title(ax: Axes, name: str, beside: float) -> None:
    """Write a title, narrower than the panel without the texts beside it; in points."""
    figure = ax.figure
    n_across = min(len(figure.axes), PANELS_A_ROW)
    panel = figure.bbox.width * POINTS / figure.dpi / n_across
    width = min(TITLE, panel - beside) - AROUND
    ax.set_title("\n".join(canvas.fold(name, width)), fontsize=FONT, loc="left", parse_math=False)


def mark_percent(axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axis.set_major_formatter(FuncFormatter(_in_percent))


def _in_percent(share: float, _: int) -> str:  # no lambda: drawn displays are pickled
    return f"{100 * share:.3g}%"


def readable_dates(days: Array, labels: Sequence[str]) -> list[int]:
    """The groups to write below a panel: the first, and others that have room.

    >>> days = np.arange("2001", "2009", dtype="datetime64[Y]")
    >>> readable_dates(days, [str(2001 + g) for g in range(8)])
    [0, 2, 4, 6]
    """
    places = (days - days[0]).astype(float)
    places *= 0.85 * SHARES_WIDTH / max(places[-1], 1.0)
    shown = [0]
    for g in range(1, len(days)):
        width = max(canvas.text_width(labels[g], 10.0) + 8, 0.85 * SHARES_WIDTH / MAX_DATES)
        if places[g] - places[shown[-1]] >= width:
            shown.append(g)
    return shown


def place_names(
    centers: Array, radii: Array, sizes: Sequence[tuple[float, float]], room: tuple[float, float]
) -> list[Array | None]:
    """The box of the name of each circle, (x0, y0, x1, y1); None if there is no room for it.

    Boxes are chosen greedily, circle by circle: near the own circle and hardly over others.
    Neither names nor the lines to them are over other names. All is in points; (0, 0) is a corner.
    """
    placed: list[Array | None] = []
    taken = np.empty((0, 4))
    for center, radius, size in zip(centers, radii, sizes, strict=True):
        boxes = _boxes_around(center, radius, size)
        nearest = np.clip(centers, boxes[:, None, :2], boxes[:, None, 2:])
        depths = np.maximum(radii - np.linalg.norm(centers - nearest, axis=2), 0)
        overlap = depths.sum(axis=1)  # of each box with all circles
        cost = OVERLAP_COST * overlap + np.repeat(DISTANCES, len(DIRECTIONS))
        free = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2:] <= room).all(axis=1)
        free &= ~_intersect(boxes, taken) & (overlap <= DEEPEST)
        for c in np.flatnonzero(free):
            free[c] = not _intersect(_boxes_along(center, radius, boxes[c]), taken).any()
        best = np.argmin(np.where(free, cost, np.inf))
        placed.append(boxes[best] if free.any() else None)
        if free.any():
            taken = np.vstack([taken, boxes[best], _boxes_along(center, radius, boxes[best])])
    return placed


def leader_line(center: Array, radius: float, box: Array) -> Array | None:
    """The ends of the line from a circle to its name, (2, 2); None if they are close."""
    nearest = np.clip(center, box[:2], box[2:])
    vector = nearest - center
    length = np.linalg.norm(vector)
    if length <= radius + LINE_FROM:
        return None
    return np.array([center + vector * radius / length, nearest])


def _boxes_around(center: Array, radius: float, size: tuple[float, float]) -> Array:
    """Boxes of a size that touch wider circles from outside, in all directions, (n, 4)."""
    half = np.array(size) / 2 + PADDING
    units = np.column_stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])
    middles = center + (radius + DISTANCES)[:, None, None] * units + np.sign(units.round(9)) * half
    middles = middles.reshape(-1, 2)
    return np.hstack([middles - half, middles + half])


def _boxes_along(center: Array, radius: float, box: Array) -> Array:
    """Small boxes along the line to a name, (n, 4)."""
    if (ends := leader_line(center, radius, box)) is None:
        return np.empty((0, 4))
    points = ends[0] + ALONG * (ends[1] - ends[0])
    return np.hstack([points - 0.5, points + 0.5])


def _intersect(a: Array, b: Array) -> Array:
    """True for each box of a that intersects any box of b, (n,)."""
    apart = (a[:, None, :2] >= b[:, 2:]) | (a[:, None, 2:] <= b[:, :2])
    return np.any(~np.any(apart, axis=2), axis=1)
