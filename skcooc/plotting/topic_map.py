"""The topics on a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.found import found
from skcooc.inspection.labels import Names
from skcooc.inspection.places import places
from skcooc.plotting.apart import leader, place
from skcooc.plotting.canvas import (
    NEUTRAL,
    Display,
    colours,
    draw_lines,
    framed_axes,
    size_in_points,
    styled,
    text_width,
)  # fmt: skip
from skcooc.plotting.panels import FONT, cut
from skcooc.protocol import Array, FactorModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE, FEW = 400.0, 25  # points: width of a new map, and topics up to which it has this
LONGEST = 130.0  # points: of a name
FILLED = 0.08  # share of the map that circles cover, if none is over another
AIR = 4.0  # points around all


class TopicMapDisplay(Display):
    """Topics as circles: near each other where they have the same columns, large where common.

    Places are those of multidimensional scaling of the Hellinger distances of the distributions
    P(y given z), as on the page of :func:`skcooc.inspection.explore`: neighbours say something,
    long distances little. The areas of the circles are proportional to the shares of the
    observations. Names are beside the circles, none over another, larger topics first; those for
    which there is no room are left out.

    Parameters
    ----------
    at : (K, 2) array
        Places of the topics.
    weights : (K,) array
        Their shares of the observations.
    names : list of K str

    Attributes
    ----------
    ax_ : matplotlib Axes
        Its units are points.
    figure_ : matplotlib Figure
    circles_ : matplotlib PathCollection
        The largest first.
    texts_ : dict of int to matplotlib Text
        The names that are written.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.plotting import TopicMapDisplay
    >>> X = make_cooccurrences(60, 40, n_components=4, random_state=0).X
    >>> model = AspectModel(4, beta=0.9, random_state=0).fit(X)
    >>> display = TopicMapDisplay.from_estimator(model)
    >>> sorted(display.texts_), display.at.shape
    ([0, 1, 2, 3], (4, 2))
    """

    def __init__(self, at: Array, weights: Array, names: Sequence[str]) -> None:
        self.at, self.weights, self.names = at, weights, names

    @classmethod
    def from_estimator(
        cls, model: FactorModel, feature_names: ArrayLike | None = None, *,
        names: Names | None = None, ax: Axes | None = None,
    ) -> TopicMapDisplay:  # fmt: skip
        """Draw the map of the topics of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            With ``components_``, ``embedding_`` and ``row_distribution_``; or a pipeline or a
            search with one inside.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        names : sequence of K str, or dict of int to str, default=None
            Names of the topics; see :func:`skcooc.inspection.name_topics` for the others.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure, larger where there are many topics.

        Returns
        -------
        display : TopicMapDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError, TypeError
            Where there are not as many names as columns or topics, or the model lacks an attribute.
        """
        its = found(model, feature_names, names)
        return cls(places(its.components), its.weights, its.names).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> TopicMapDisplay:
        """Draw; see :meth:`from_estimator`."""
        if ax is None:
            side = SIDE * max(1.0, np.sqrt(len(self.at) / FEW))
            ax = framed_axes(side, 0.75 * side, AIR, 22.0, AIR, AIR)
        self.ax_ = ax
        size = np.array(size_in_points(ax))
        radii = np.sqrt(FILLED * size.prod() * self.weights / np.pi)
        centers = self._centers(size, radii.max())
        order = np.argsort(-self.weights, kind="stable")
        ax.set(xlim=(0, size[0]), ylim=(0, size[1]), xticks=[], yticks=[])
        ax.set_xlabel("near each other: topics of like distributions (Hellinger distance)")
        ax.spines[:].set_visible(False)
        self.circles_ = ax.scatter(
            centers[order, 0], centers[order, 1], s=(4 * radii[order] ** 2).tolist(),
            color=colours()[4], alpha=0.6, edgecolors=NEUTRAL, linewidths=0.8,
        )  # fmt: skip
        self._write(centers, radii, order)
        return self

    def _centers(self, size: Array, largest: float) -> Array:
        """The places in points, with room around them for the names at the margins."""
        margin = np.array([largest + 0.3 * LONGEST, largest + 1.5 * FONT])
        spread = np.maximum(np.ptp(self.at, axis=0), 1e-9)
        unit = np.min(np.maximum(size - 2 * margin, 0.2 * size) / spread)
        middle = (self.at.max(axis=0) + self.at.min(axis=0)) / 2
        return size / 2 + unit * (self.at - middle)

    def _write(self, centers: Array, radii: Array, order: Array) -> None:
        """The names, and lines to those that are not at their circle."""
        names = [self._short(self.names[k]) for k in order]
        sizes = [(1.04 * text_width(name, FONT), 1.25 * FONT) for name in names]
        boxes = place(centers[order], radii[order], sizes, size_in_points(self.ax_))
        self.texts_, lines = {}, []
        for k, name, box in zip(order.tolist(), names, boxes, strict=True):
            if box is None:
                continue
            x, y = (box[:2] + box[2:]) / 2
            self.texts_[k] = self.ax_.text(
                x, y, name, fontsize=FONT, ha="center", va="center", parse_math=False
            )
            if (line := leader(centers[k], radii[k], box)) is not None:
                lines.append(line)
        draw_lines(self.ax_, lines, NEUTRAL, 0.6)

    def _short(self, name: str) -> str:
        return name if text_width(name, FONT) <= LONGEST else cut(name, LONGEST, FONT)
