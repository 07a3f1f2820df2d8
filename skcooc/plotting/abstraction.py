"""Where in a hierarchy the occurrences of one word are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skcooc.hierarchy import Tree
from skcooc.inspection.names import TreeModel
from skcooc.inspection.unwrapping import unwrap
from skcooc.plotting.canvas import NEUTRAL, Display, draw_lines, framed_axes, size_in_points, styled
from skcooc.plotting.layout import line_widths, positions
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

ACROSS, DOWN = 21.0, 34.0  # points between clusters and between levels of a new figure
LARGEST = 30.0  # points, diameter of the circle of a node that has all occurrences
BELOW = 34.0  # points, for half a circle and an upright share below it
WIDEST, LEAST = 6.0, 0.6  # points: a line that all occurrences are below, and any line


class AbstractionDisplay(Display):
    """At which nodes of a hierarchy the occurrences of one column are.

    The areas of the circles are proportional to the shares P(node given column) of the nodes, and
    large shares are written at them. Lines are as wide as what is below. The root is at the top,
    the clusters at the bottom, above their numbers. General words are at the root, special ones at
    a leaf, and ambiguous ones at several nodes far apart. Memo, figure 10.

    Parameters
    ----------
    tree : Tree
        With V nodes.
    shares : (V,) array
        P(node given column).
    name : str
        Of the column.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    circles_ : matplotlib PathCollection
        Those of the V nodes.
    lines_ : matplotlib LineCollection
        Between nodes and their children.
    texts_ : dict of int to matplotlib Text
        The shares of at least ``label_from``.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction
    >>> from skcooc.plotting import AbstractionDisplay
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> display = AbstractionDisplay.from_estimator(model, "drink", words)
    >>> display.texts_[0].get_text()  # at the root
    '100%'
    """

    def __init__(self, tree: Tree, shares: Array, name: str) -> None:
        self.tree, self.shares, self.name = tree, shares, name

    @classmethod
    def from_estimator(
        cls, model: TreeModel, feature: str | int, feature_names: ArrayLike | None = None, *,
        ax: Axes | None = None, label_from: float = 0.1, cmap: str | Colormap = "YlGnBu",
    ) -> AbstractionDisplay:  # fmt: skip
        """Draw where a fitted model puts the occurrences of a column.

        Parameters
        ----------
        model : fitted ClusterAbstraction
            With ``tree_``, ``components_`` (V, M) and ``node_weights_`` (V,).
        feature : str or int
            Name or position of the column.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure, as large as the tree.
        label_from : float, default=0.1
            The shares to write, in [0, 1].
        cmap : str or matplotlib Colormap, default="YlGnBu"
            Colours of the shares from 0 to 1.

        Returns
        -------
        display : AbstractionDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError
            Where there is no such column, no node generates it, or there are not as many names as
            columns.
        TypeError
            Where the model has no tree.
        """
        found = unwrap(model, "tree_", "components_")
        model, names = found.model, found.column_names(feature_names)
        column = _column(names, feature)
        shares = model.node_weights_ * model.components_[:, column]
        if not shares.sum() > 0:
            raise ValueError(f"No node of the tree generates the column {names[column]!r}.")
        display = cls(model.tree_, shares / shares.sum(), str(names[column]))
        return display.plot(ax, label_from=label_from, cmap=cmap)

    @styled
    def plot(
        self, ax: Axes | None = None, *, label_from: float = 0.1, cmap: str | Colormap = "YlGnBu"
    ) -> AbstractionDisplay:
        """Draw; see :meth:`from_estimator`."""
        tree = self.tree
        x, y = positions(tree), -tree.depths
        n_clusters, n_levels = len(tree.leaves), tree.depths.max() + 1
        if ax is None:
            width, height = max((n_clusters + 0.6) * ACROSS, 120.0), (n_levels - 0.5) * DOWN + BELOW
            ax = framed_axes(width, height, left=36.0, below=32.0, right=8.0, above=22.0)
        self.ax_ = ax
        width, height = size_in_points(ax)
        across, down = width / (n_clusters + 0.6), (height - BELOW) / (n_levels - 0.5)
        ax.set(xlim=(-0.8, n_clusters - 0.2), ylim=(1 - n_levels - BELOW / down, 0.5))
        largest = min(1.4 * across, 1.2 * down, LARGEST)
        self._draw_axes(x, across)
        self._draw_lines(x, y)
        self.circles_ = ax.scatter(
            x, y, s=self.shares * largest**2, c=self.shares, cmap=cmap, vmin=-0.2, vmax=1.0,
            edgecolors=NEUTRAL, linewidths=(0.6 * (self.shares > 2e-3)).tolist(), zorder=3,
        )  # fmt: skip
        self._label(x, y, largest, across, label_from)
        return self

    def _draw_axes(self, x: Array, across: float) -> None:
        """Numbers of the clusters and of the levels, the name of the column, and no frame."""
        ax, tree = self.ax_, self.tree
        ax.set_xticks(x[tree.leaves], [str(k) for k in range(len(tree.leaves))])
        ax.set_yticks(-np.arange(tree.depths.max() + 1), np.arange(tree.depths.max() + 1))
        ax.tick_params("x", length=0, labelsize=min(8.0, 0.6 * across))
        ax.tick_params("y", length=0, labelsize=8)
        ax.set_xlabel("cluster", fontsize=8)
        ax.set_ylabel("level", fontsize=8)
        ax.set_title(self.name, fontsize=10, parse_math=False)
        ax.spines[:].set_visible(False)

    def _draw_lines(self, x: Array, y: Array) -> None:
        """From each node down to a bar half-way, and from there to its children."""
        nodes = np.flatnonzero(self.tree.parents >= 0)
        above = self.tree.parents[nodes]
        bars = y[above] - 0.5
        corners = np.stack([x[above], y[above], x[above], bars, x[nodes], bars, x[nodes], y[nodes]])
        segments = list(corners.T.reshape(-1, 4, 2))
        wide = line_widths(self.tree, self.shares, WIDEST, LEAST)[nodes]
        self.lines_ = draw_lines(self.ax_, segments, NEUTRAL, wide.tolist(), zorder=1)
        self.ax_.scatter(x, y, s=4, color=NEUTRAL, linewidths=0, zorder=2)

    def _label(self, x: Array, y: Array, largest: float, across: float, label_from: float) -> None:
        """Write large shares: below leaves, upright where these are close, else at the right."""
        fontsize = min(7.0, 0.6 * across)
        self.texts_ = {}
        for node in np.flatnonzero(self.shares >= label_from):
            away = largest * np.sqrt(self.shares[node]) / 2 + 1.5
            leaf = node in self.tree.leaves
            self.texts_[int(node)] = self.ax_.annotate(
                f"{self.shares[node]:.0%}", (x[node], y[node]), fontsize=fontsize,
                xytext=(0, -away) if leaf else (away, 1), textcoords="offset points",
                ha="center" if leaf else "left", va="top" if leaf else "bottom",
                rotation=90 if leaf and across < 2.6 * fontsize else 0,
            )  # fmt: skip


def _column(names: Array, feature: str | int) -> int:
    """Position of a column that is given by its name or its position."""
    named = np.flatnonzero(names == feature)
    if len(named):
        return int(named[0])
    if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
        return int(feature)
    raise ValueError(f"feature={feature!r} is none of the {len(names)} columns.")
