"""The tree of a hierarchy of clusters, with the words of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skcooc.hierarchy import Tree
from skcooc.inspection.features import OF_ROWS, features_of
from skcooc.inspection.labels import Names, names_set, numbered
from skcooc.inspection.names import TreeModel
from skcooc.inspection.ranking import Order
from skcooc.inspection.unwrapping import unwrap
from skcooc.plotting.canvas import (
    NEUTRAL,
    Display,
    draw_lines,
    new_axes,
    size_in_points,
    styled,
    text_width,
    wrap,
)
from skcooc.plotting.layout import is_end, line_widths, positions
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE = 1.3  # height of a line of text; like the lengths below, in units of the font size
APART = 0.45  # between texts one above the other
GAP = 2.4  # between columns of texts
AIR = 0.5  # between a text and a line, and around all
WIDEST, LEAST = 8.0, 0.6  # points: a line that all observations go along, and any line


class HierarchyDisplay(Display):
    """The tree of a hierarchy of clusters, each node with its characteristic columns.

    The root is at the left, the clusters at the right, after their numbers. The words of inner
    nodes are on as many lines as there is room for. The size of the figure follows from the tree;
    on axes that are given the text is made smaller where it would not fit. Lines are as wide as
    the share of the observations that are at a node and below. Memo, figures 9 and 11.

    Parameters
    ----------
    tree : Tree
        With V nodes.
    features : list of V lists of str
        What is written at each node.
    names : dict of int to str, default=None
        Names of nodes, which are written before their columns.
    max_depth : int, default=None
        Nodes of larger depth are not drawn; an ellipsis is, where there are some. None means all.
    node_weights : (V,) array, default=None
        Shares of the observations, for the widths of the lines. None means thin ones.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    texts_ : dict of int to matplotlib Text
        The text of each node that is drawn.
    lines_ : matplotlib LineCollection
        Between nodes and their children.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction
    >>> from skcooc.plotting import HierarchyDisplay
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> display = HierarchyDisplay.from_estimator(model, words)
    >>> sorted(display.texts_[node].get_text().split()[-1] for node in range(3))
    ['drink', 'tea', 'wine']
    """

    def __init__(
        self, tree: Tree, features: Sequence[Sequence[str]], *,
        names: Mapping[int, str] | None = None, max_depth: int | None = None,
        node_weights: Array | None = None,
    ) -> None:  # fmt: skip
        self.tree, self.features, self.max_depth = tree, features, max_depth
        self.names = {} if names is None else names
        self.node_weights = node_weights

    @classmethod
    def from_estimator(
        cls, model: TreeModel, feature_names: ArrayLike | None = None, *, n_features: int = 5,
        order: Order = "characteristic", names: Names | None = None, ax: Axes | None = None,
        max_depth: int | None = None, fontsize: float = 8,
    ) -> HierarchyDisplay:  # fmt: skip
        """Draw the tree of a fitted model.

        Parameters
        ----------
        model : fitted ClusterAbstraction
            With ``tree_``, ``components_`` (V, M) and ``node_weights_`` (V,).
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        n_features : int, default=5
            How many columns of each node at most.
        order : {"characteristic", "probable"}, default="characteristic"
            Which columns: see :func:`skcooc.inspection.export_text`.
        names : sequence of V str, or dict of int to str, default=None
            Names of nodes. None means those of :func:`skcooc.inspection.set_names`, if any.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure, as large as the tree.
        max_depth : int, default=None
            Depth of the lowest nodes to draw; 0 is the root alone. None means all.
        fontsize : float, default=8
            In points.

        Returns
        -------
        display : HierarchyDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError
            Where there are not as many names as columns, or max_depth is negative.
        TypeError
            Where the model has no tree.
        """
        found = unwrap(model, "tree_", "node_weights_", *OF_ROWS)
        features = features_of(found, feature_names, n_features, order)
        own = names_set(found.model) if names is None else numbered(names, len(features))
        display = cls(
            found.model.tree_, features, names=own, max_depth=max_depth,
            node_weights=found.model.node_weights_,
        )  # fmt: skip
        return display.plot(ax, fontsize=fontsize)

    @styled
    def plot(self, ax: Axes | None = None, *, fontsize: float = 8) -> HierarchyDisplay:
        """Draw; see :meth:`from_estimator`."""
        if self.max_depth is not None and self.max_depth < 0:
            raise ValueError(f"max_depth={self.max_depth} should be at least 0.")
        y = -positions(self.tree, self.max_depth) * (LINE + APART) * fontsize
        lines = self._lines(y, fontsize)
        widths, starts = self._columns(lines, fontsize)
        height = np.array([len(text) * LINE * fontsize for text in lines.values()]) / 2
        middle = y[list(lines)]
        air = AIR * fontsize
        low, high = (middle - height).min() - air, (middle + height).max() + air
        right = max(starts[self.tree.depths[v]] + width for v, width in widths.items()) + air
        self.ax_ = new_axes(right, high - low) if ax is None else ax
        shrink = self._limits(right, low, high)
        self._draw_lines(y, starts, widths, fontsize)
        self.texts_ = {
            v: self.ax_.text(
                starts[self.tree.depths[v]], y[v], "\n".join(text), fontsize=fontsize * shrink,
                va="center", ha="left", linespacing=1.15, parse_math=False,
            )
            for v, text in lines.items()
        }  # fmt: skip
        return self

    def _lines(self, y: Array, fontsize: float) -> dict[int, list[str]]:
        """The text of each node, on as many lines as its neighbours at the same depth leave."""
        lines = {}
        depths = np.where(np.isnan(y), -1, self.tree.depths)
        for depth in range(depths.max() + 1):
            level = np.flatnonzero(depths == depth)
            level = level[np.argsort(y[level])]
            distances = np.concatenate([[np.inf], np.diff(y[level]), [np.inf]])
            room = np.minimum(distances[1:], distances[:-1]) / fontsize - APART
            for node, space in zip(level.tolist(), room, strict=True):
                n_lines = int(min(space / LINE + 1e-9, len(self.features[node])))
                lines[node] = wrap(self._words(node), n_lines, fontsize)
        return lines

    def _words(self, node: int) -> list[str]:
        """What is written at a node: at a leaf after the number of its cluster."""
        words = list(self.features[node])
        if node in self.names:
            words[:1] = [": ".join([self.names[node], *words[:1]])]
        if node in self.tree.leaves:
            cluster = np.searchsorted(self.tree.leaves, node)
            words[:1] = [f"{cluster}: {''.join(words[:1])}"]
        elif is_end(self.tree, node, self.max_depth):
            words.append("…")
        return words

    def _columns(
        self, lines: dict[int, list[str]], fontsize: float
    ) -> tuple[dict[int, float], Array]:
        """Width of each text, and where the column of each depth begins, in points."""
        widths = {
            v: 1.04 * max(text_width(line, fontsize) for line in text) for v, text in lines.items()
        }
        columns = np.zeros(self.tree.depths.max() + 1)
        for node, width in widths.items():
            columns[self.tree.depths[node]] = max(columns[self.tree.depths[node]], width)
        steps = np.cumsum(columns + GAP * fontsize)
        return widths, AIR * fontsize + np.concatenate([[0], steps[:-1]])

    def _limits(self, right: float, low: float, high: float) -> float:
        """Show the whole, in points or, where there is no room, less; return the scale."""
        width, height = size_in_points(self.ax_)
        shrink = min(width / right, height / (high - low), 1.0)
        spare = max(height / shrink - (high - low), 0) / 2
        self.ax_.set(xlim=(0, width / shrink), ylim=(low - spare, high + spare))
        self.ax_.set_axis_off()
        return shrink

    def _draw_lines(
        self, y: Array, starts: Array, widths: dict[int, float], fontsize: float
    ) -> None:
        """From the text of a node to a bar, along it, and to the text of each of its children."""
        air, segments = AIR * fontsize, {}
        for node in widths:
            if is_end(self.tree, node, self.max_depth):
                continue
            depth = self.tree.depths[node]
            begin, end = starts[depth] + widths[node] + air, starts[depth + 1] - air
            bar = starts[depth + 1] - GAP * fontsize / 2
            for child in self.tree.children(node).tolist():
                across, down = [begin, bar, bar, end], [y[node], y[node], y[child], y[child]]
                segments[child] = np.column_stack([across, down])
        masses = np.zeros(self.tree.n_nodes) if self.node_weights is None else self.node_weights
        wide = line_widths(self.tree, masses, WIDEST, LEAST)[list(segments)]
        self.lines_ = draw_lines(self.ax_, list(segments.values()), NEUTRAL, wide.tolist())
