"""Topics as small panels, each with its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.found import Found, chosen, found
from skcooc.inspection.labels import Names
from skcooc.inspection.ranking import Order, ranked
from skcooc.plotting.canvas import NEUTRAL, Display, colours, styled
from skcooc.plotting.panels import FONT, head, panels, percent, titles
from skcooc.protocol import Array, FactorModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, LINE = 170.0, 12.0  # points: of a panel, and of a word


class Topic(NamedTuple):
    """A panel."""

    name: str
    weight: float  # share of the observations
    features: list[str]
    probabilities: Array  # (n,): P(y given z) of these
    unigram: Array  # (n,): P(y)
    intervals: Array | None = None  # (2, n): of P(y given z) over the members of an average


class TopicsDisplay(Display):
    """Topics, each with a bar for each of its characteristic columns.

    The length of a bar is P(y given z), and the upright mark at it is P(y), the share of the column
    in all observations. Of the ``consensus_`` of an average each bar has a line at its end, the
    interval over the members. Columns are those of
    :func:`skcooc.inspection.characteristic_features`. Above is the share of the observations and
    the name of the topic. Panels have scales of their own.

    Parameters
    ----------
    topics : list of Topic
        Each with ``name``, ``weight``, ``features``, ``probabilities``, ``unigram`` and
        ``intervals``.

    Attributes
    ----------
    axes_ : (K,) array of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.plotting import TopicsDisplay
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> display = TopicsDisplay.from_estimator(model, ["tea", "cup", "ball"])
    >>> [topic.features[0] for topic in display.topics]
    ['tea', 'ball']
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self.topics = topics

    @classmethod
    def from_estimator(
        cls, model: FactorModel, feature_names: ArrayLike | None = None, *, n_features: int = 8,
        order: Order = "characteristic",
        topics: int | Sequence[int] = 12, names: Names | None = None,
    ) -> TopicsDisplay:  # fmt: skip
        """Draw the topics of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            With ``components_``, ``embedding_`` and ``row_distribution_``; or a pipeline or a
            search with one inside.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        n_features : int, default=8
            How many columns of each topic at most.
        order : {"characteristic", "probable"}, default="characteristic"
            Which columns: see :func:`skcooc.inspection.describe`.
        topics : int or sequence of int, default=12
            How many topics, the largest first; or which.
        names : sequence of K str, or dict of int to str, default=None
            Names of the topics; see :func:`skcooc.inspection.name_topics` for the others.

        Returns
        -------
        display : TopicsDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError, TypeError
            Where there are not as many names as columns or topics, no such topics, or the model
            lacks an attribute.
        """
        its = found(model, feature_names, names)
        return cls(_panels(its, chosen(its.weights, topics), n_features, order)).plot()

    @styled
    def plot(self) -> TopicsDisplay:
        """Draw; see :meth:`from_estimator`."""
        most = max(len(topic.features) for topic in self.topics)
        self.axes_ = panels(len(self.topics), WIDTH, 56 + LINE * most)
        self.ax_ = self.axes_[0]
        for topic, ax in zip(self.topics, self.axes_, strict=True):
            self._draw(ax, topic, most)
        titles(self.axes_, "probability in the topic; the mark is that in all observations", None)
        return self

    def _draw(self, ax: Axes, topic: Topic, most: int) -> None:
        y = np.arange(len(topic.features))
        ax.barh(y, topic.probabilities, height=0.7, color=colours()[4])
        ax.vlines(topic.unigram, y - 0.35, y + 0.35, color=NEUTRAL, linewidth=1.6)
        if topic.intervals is not None:
            ax.hlines(y, *topic.intervals, color=NEUTRAL, linewidth=1.0)
        ax.set_yticks(y, topic.features, fontsize=FONT, parse_math=False)
        ax.tick_params("y", length=0)
        ends = topic.probabilities if topic.intervals is None else topic.intervals[1]
        longest = max([*topic.probabilities, *topic.unigram, *ends], default=1.0)
        ax.set(ylim=(most - 0.4, -0.6), xlim=(0, 1.05 * longest))
        percent(ax.xaxis)
        head(ax, f"{topic.weight:.1%} {topic.name}", 0.6 * WIDTH)


def _panels(its: Found, shown: list[int], n_features: int, order: Order) -> list[Topic]:
    unigram, topics = its.weights @ its.components, []
    intervals = getattr(its.model, "component_intervals_", None)
    top = ranked(its.model, n_features, order)
    for k in shown:
        words = [str(word) for word in its.columns[top[k]]]
        p = its.components[k, top[k]]
        members = None if intervals is None else intervals[:, k, top[k]]
        topics.append(Topic(its.names[k], its.weights[k], words, p, unigram[top[k]], members))
    return topics
