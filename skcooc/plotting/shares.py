"""The shares of topics in groups of rows, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.found import chosen
from skcooc.inspection.groups import Division, runs
from skcooc.inspection.labels import Names
from skcooc.inspection.resampling import Shares
from skcooc.inspection.shares import divided, resampled
from skcooc.plotting.canvas import NEUTRAL, Display, colours, styled, text_width
from skcooc.plotting.panels import ACROSS, FONT, cut, fold, head, panels, percent, titles
from skcooc.plotting.scales import draw_beyond, draw_shares, legend, upper_end
from skcooc.protocol import Array, FactorModel, RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 165.0, 115.0  # points: of a panel
LINE = 11.0  # points: of a group
LONGEST = 130.0  # points: of the name of a group
MOST_TICKS = 4  # dates that are written below a panel


class SharesDisplay(Display):
    """The share of each topic in groups of rows: dots and intervals, or a line with a band.

    Each topic has a panel, in which a dashed line is its share of all observations. Where groups
    are numbers or dates, they are across, joined by a line, with the intervals as a band; others
    are a dot each, with its interval. Panels have scales of their own, which groups of few rows, or
    of few observations, do not set: their dots are hollow, and an arrow at the edge of a panel says
    where a share or an interval goes on beyond it.

    Parameters
    ----------
    division : Division
        The G groups.
    shares : Shares
        Of the K topics in them: ``share``, ``low`` and ``high``, each (G, K).
    names : list of K str
        Of the topics.
    overall : (K,) array
        Their shares of all observations.
    masses : (G,) array
        The observations of the groups, in counts or as shares of all.

    Attributes
    ----------
    axes_ : (K,) array of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.plotting import SharesDisplay
    >>> X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(3, beta=0.9, random_state=0).fit(X)
    >>> years = [1990 + row % 5 for row in range(60)]
    >>> display = SharesDisplay.from_estimator(model, {"year": years}, random_state=0)
    >>> len(display.axes_), display.division.labels[0], display.shares.share.shape
    (3, '1990', (5, 3))
    """

    def __init__(
        self, division: Division, shares: Shares, names: Sequence[str], overall: Array,
        masses: Array,
    ) -> None:  # fmt: skip
        self.division, self.shares, self.names = division, shares, names
        self.overall, self.masses = overall, masses

    @classmethod
    def from_estimator(
        cls, model: FactorModel, by: Any, feature_names: ArrayLike | None = None, *,
        freq: str = "auto", topics: int | Sequence[int] = 12, n_resamples: int = 200,
        level: float = 0.95, names: Names | None = None, random_state: RandomState = None,
    ) -> SharesDisplay:  # fmt: skip
        """Draw the shares in the groups of the rows that were fitted.

        Parameters
        ----------
        model : fitted estimator
            With ``components_``, ``embedding_`` and ``row_distribution_``; or a pipeline or a
            search with one inside.
        by : array-like of shape (N,), series, or dict or data frame of one column
            A label, a number or a date of each row; see :func:`skcooc.inspection.topic_shares`.
            The name of a column is that of the axis.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        topics : int or sequence of int, default=12
            How many topics, the largest first; or which.
        freq, n_resamples, level, names, random_state
            As for :func:`skcooc.inspection.topic_shares`.

        Returns
        -------
        display : SharesDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError, TypeError
            As :func:`skcooc.inspection.topic_shares`, and where there are no such topics.
        """
        of = divided(model, by, feature_names, freq, names)
        overall = of.mass.joint.sum(axis=0) / of.mass.rows.sum()
        shown = chosen(overall, topics)
        shares = resampled(of, n_resamples, level, random_state)
        shares = Shares(*(values[:, shown] for values in shares))
        masses = np.array([of.mass.rows[rows].sum() for rows in of.division.members])
        return cls(of.division, shares, [of.names[k] for k in shown], overall[shown], masses).plot()

    @styled
    def plot(self) -> SharesDisplay:
        """Draw; see :meth:`from_estimator`."""
        ordered = self.division.ordered
        labels = [self._short(label) for label in self.division.labels]
        across = min(len(self.names), ACROSS)
        room = 0 if ordered else max(text_width(label, FONT) for label in labels) / across
        height = HEIGHT if ordered else max(58 + LINE * len(labels), 90)
        caption = self._caption(across * (WIDTH + room))
        self.axes_ = panels(
            len(self.names), WIDTH + room, height, below=1.3 * (FONT + 1) * len(caption),
            sharex=ordered, sharey=not ordered,
        )  # fmt: skip
        self.ax_ = self.axes_[0]
        for k, ax in enumerate(self.axes_):
            (self._draw_line if ordered else self._draw_dots)(ax, k)
            head(ax, self.names[k], 0.7 * WIDTH)
        share, group = "share of observations", self.division.name or "group"
        first, up = (group, share) if ordered else (share, group)
        titles(self.axes_, "\n".join([first, *caption]), up)
        return self

    def _caption(self, width: float) -> list[str]:
        """What is drawn, on lines of this width."""
        each = range(len(self.names))
        own = "line: share; band" if self.division.ordered else "dot: share; line"
        said = f"{own}: interval of resampled rows; dashed: share in all rows"
        said += legend(self._sizes, any(self._end(k) < self._of(k)[2].max() for k in each))
        said += "; scales differ" if len(self.names) > 1 else ""
        return fold(said, 0.9 * width, FONT + 1, 6)

    def _of(self, k: int) -> tuple[Array, Array, Array]:
        """A topic: its shares, and the intervals; of groups of one row these are the shares."""
        share, low, high = (values[:, k] for values in self.shares)
        return share, np.where(np.isnan(low), share, low), np.where(np.isnan(high), share, high)

    def _end(self, k: int) -> float:
        """Where the axis of shares of a panel ends."""
        share, _, high = self._of(k)
        return upper_end(share, high, np.array(self._sizes), self.masses) or 1.0

    @property
    def _sizes(self) -> list[int]:
        return [len(rows) for rows in self.division.members]

    def _draw_line(self, ax: Axes, k: int) -> None:
        from matplotlib.ticker import MaxNLocator

        x, (share, _, high) = self.division.groups, self._of(k)
        ax.axhline(self.overall[k], color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
        blue, low, up = colours()[0], self.shares.low[:, k], self.shares.high[:, k]
        for run in runs(x):
            ax.fill_between(x[run], low[run], up[run], color=blue, alpha=0.3, linewidth=0)
            ax.plot(x[run], share[run], color=blue)
        end = self._end(k)
        draw_shares(ax, x, share, np.array(self._sizes), blue, 3)
        draw_beyond(ax, x[high > end], np.full((high > end).sum(), end), "^")
        ax.set_ylim(0, end)
        percent(ax.yaxis)
        if x.dtype.kind == "M":
            shown = apart(x, self.division.labels)
            ax.set_xticks(x[shown], [self.division.labels[g] for g in shown])
        else:
            ax.xaxis.set_major_locator(MaxNLocator(4, integer=x.dtype.kind in "iu"))

    def _draw_dots(self, ax: Axes, k: int) -> None:
        y, (share, low, high) = np.arange(len(self.division.labels)), self._of(k)
        ax.axvline(self.overall[k], color=NEUTRAL, linewidth=0.8, linestyle="--", zorder=1)
        ax.hlines(y, low, high, color=colours()[0], linewidth=1.6)
        end = self._end(k)
        draw_shares(ax, share, y, np.array(self._sizes), colours()[0], 4)
        draw_beyond(ax, np.full((high > end).sum(), end), y[high > end], ">")
        ax.set(xlim=(0, end), ylim=(len(y) - 0.4, -0.6))
        labels = [self._short(label) for label in self.division.labels]
        ax.set_yticks(y, labels, fontsize=FONT, parse_math=False)
        ax.tick_params("y", length=0)
        percent(ax.xaxis)

    def _short(self, label: str) -> str:
        return label if text_width(label, FONT) <= LONGEST else cut(label, LONGEST, FONT)


def apart(places: Array, labels: Sequence[str]) -> list[int]:
    """The groups that are written below a panel: the first, and others that have room.

    >>> apart(np.arange("2001", "2009", dtype="datetime64[Y]"), [str(2001 + g) for g in range(8)])
    [0, 2, 4, 6]
    """
    at = (places - places[0]).astype(float)
    at *= 0.85 * WIDTH / max(at[-1], 1.0)
    shown = [0]
    for g in range(1, len(places)):
        least = max(text_width(labels[g], 10.0) + 8, 0.85 * WIDTH / MOST_TICKS)
        if at[g] - at[shown[-1]] >= least:
            shown.append(g)
    return shown
