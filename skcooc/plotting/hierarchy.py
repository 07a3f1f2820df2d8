"""Trees: words of the nodes of a hierarchy, nodes of one word, splits of an annealed fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.hierarchy import Tree, division
from skcooc.inspection.features import Order, component_features
from skcooc.inspection.models import FACTORS, Names, names_by_number, names_of_nodes, unwrap
from skcooc.inspection.names import override_names, user_names
from skcooc.inspection.palette import topic_ranks
from skcooc.plotting import canvas
from skcooc.plotting.canvas import FONT, NEUTRAL, Display, styled
from skcooc.protocol import Array, Estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

# HierarchyDisplay, in units of the font size
LINE = 1.3  # height of a line of text
APART = 0.45  # between texts one above the other
GAP = 1.8  # between columns of texts
AIR = 0.5  # between a text and a line, and around all
DOT, BESIDE = 0.8, 0.35  # diameter of a node, and between it and its text
LONGEST = 11.0  # width of a word, or of a name

# AbstractionDisplay, in points
ACROSS, DOWN = 25.0, 36.0  # between clusters and between levels of a new figure
LARGEST = 30.0  # diameter of the circle of a node that has all occurrences
BELOW = 38.0  # for half a circle and an upright share below it
TITLE, TITLE_LINE, TITLE_LINES = 10.0, 12.5, 3  # font, height of a line, and most lines

# Points: the line that all tokens are below, and the thinnest
HIERARCHY_WIDEST, ABSTRACTION_WIDEST, THINNEST = 8.0, 6.0, 0.6

# SplitsDisplay, in points
ROW, WIDTH = 14.0, 300.0  # height of a cluster, width of the axes
MIN_ROWS = 4


class HierarchyDisplay(Display):
    """The tree of a hierarchy of clusters, each node with its characteristic columns.

    The root is at the left; clusters are at the right, each in its colour and after its number. The
    width of a line is the share of the tokens at a node and below it. On given axes, text is made
    smaller where it would not fit. After figures 9 and 11 of Hofmann & Puzicha (1998).

    Parameters
    ----------
    tree : Tree
        With V nodes.
    features : list of V lists of str
        Columns to write at each node.
    names : dict of int to str, default=None
        Names of nodes, written before their columns.
    max_depth : int, default=None
        Largest depth drawn; an ellipsis marks omitted children. None means all.
    node_weights : (V,) array, default=None
        Shares of the tokens, for the widths of the lines, and for the colours by rank. None means
        thin lines.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    texts_, lines_ : dict of int to matplotlib Text, and matplotlib LineCollection
        The text of each node that is drawn, and lines between nodes and their children.
    circles_ : matplotlib PathCollection
        The nodes, in the order of the texts.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, plotting
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> display = plotting.HierarchyDisplay.from_estimator(model, words)
    >>> sorted(display.texts_[node].get_text().split()[-1] for node in range(3))
    ['drink', 'tea', 'wine']
    """

    def __init__(
        self, tree: Tree, features: Sequence[Sequence[str]], *,
        names: Mapping[int, str] | None = None, max_depth: int | None = None,
        node_weights: Array | None = None,
    ) -> None:  # fmt: skip
        self.tree = tree
        self.features = features
        self.names = {} if names is None else names
        self.max_depth = max_depth
        self.node_weights = node_weights

    @classmethod
    def from_estimator(
        cls, model: Estimator, feature_names: ArrayLike | None = None, *, n_features: int = 5,
        order: Order = "characteristic", names: Names | None = None, ax: Axes | None = None,
        max_depth: int | None = None, fontsize: float = 9,
    ) -> HierarchyDisplay:  # fmt: skip
        """Draw the tree of a fitted model.

        Parameters
        ----------
        model : fitted ClusterAbstraction
            With ``tree_``, ``components_`` (V, M) and ``node_weights_`` (V,).
        feature_names, n_features, order
            Columns of each node; see :func:`skcooc.inspection.export_text`.
        names : sequence of V or K str, or dict of int to str, default=None
            Names of all V nodes, of the K leaves, or of some, such as ``{"cluster 0": "laws"}``.
            None means those of :func:`skcooc.inspection.set_names`, if any.
        ax, fontsize : matplotlib Axes, default=None; float, default=9
            Where to draw; None means a new figure, as large as the tree. Size of texts in points.
        max_depth : int, default=None
            Depth of the lowest nodes to draw; 0 is the root alone. None means all.
        """
        unwrapped = unwrap(model, "tree_", "node_weights_", *FACTORS)
        model = unwrapped.model
        features = component_features(unwrapped, feature_names, n_features, order)
        names = user_names(model) if names is None else node_names(model.tree_, names)
        display = cls(
            model.tree_,
            features,
            names=names,
            max_depth=max_depth,
            node_weights=model.node_weights_,
        )
        return display.plot(ax, fontsize=fontsize)

    @styled
    def plot(self, ax: Axes | None = None, *, fontsize: float = 9) -> HierarchyDisplay:
        """Draw; see :meth:`from_estimator`."""
        if self.max_depth is not None and self.max_depth < 0:
            raise ValueError(f"max_depth={self.max_depth} should be at least 0.")
        y = -positions(self.tree, self.max_depth) * (LINE + APART) * fontsize
        lines = self._lines(y, fontsize)
        widths, starts = self._columns(lines, fontsize)
        height = np.array([len(text) * LINE * fontsize for text in lines.values()]) / 2
        middle = y[list(lines)]
        air = AIR * fontsize
        low = (middle - height).min() - air
        high = (middle + height).max() + air
        right = max(starts[self.tree.depths[v]] + width for v, width in widths.items()) + air
        self.ax_ = canvas.new_axes(right, high - low) if ax is None else ax
        shrink, across, down = canvas.shrink_to_fit(self.ax_, right, high - low)
        spare = max(down - (high - low), 0) / 2
        self.ax_.set(xlim=(0, across), ylim=(low - spare, high + spare))
        self._draw_lines(y, starts, widths, fontsize)
        self._draw_nodes(list(lines), y, starts, fontsize, shrink)
        self.texts_ = {}
        for v, text in lines.items():
            x = starts[self.tree.depths[v]] + (DOT + BESIDE) * fontsize
            self.texts_[v] = canvas.write(
                self.ax_, x, y[v], "\n".join(text), fontsize=fontsize * shrink, linespacing=1.15
            )
        return self

    def _draw_nodes(
        self, nodes: list[int], y: Array, starts: Array, fontsize: float, shrink: float
    ) -> None:
        weights = np.zeros(self.tree.n_nodes) if self.node_weights is None else self.node_weights
        colours = canvas.topic_colours(topic_ranks(weights))
        self.circles_ = self.ax_.scatter(
            starts[self.tree.depths[nodes]] + DOT * fontsize / 2,
            y[nodes],
            s=(DOT * fontsize * shrink) ** 2,
            color=[colours[v] if v in self.tree.leaves else NEUTRAL for v in nodes],
            linewidths=0,
            zorder=3,
        )

    def _lines(self, y: Array, fontsize: float) -> dict[int, list[str]]:
        """The text of each node, on as many lines as fit between its neighbours in the column."""
        lines = {}
        depths = np.where(np.isnan(y), -1, self.tree.depths)
        for depth in range(depths.max() + 1):
            level = np.flatnonzero(depths == depth)
            level = level[np.argsort(y[level])]
            distances = np.concatenate([[np.inf], np.diff(y[level]), [np.inf]])
            room = np.minimum(distances[1:], distances[:-1]) / fontsize - APART
            for node, space in zip(level.tolist(), room, strict=True):
                n_lines = int(min(space / LINE + 1e-9, len(self.features[node])))
                lines[node] = canvas.wrap(self._words(node, fontsize), n_lines, fontsize)
        return lines

    def _words(self, node: int, fontsize: float) -> list[str]:
        """The name and the columns of a node; those of a leaf after the number of its cluster."""

        def shorten(text: str) -> str:
            return canvas.shorten(text, LONGEST * fontsize, fontsize)

        words = [shorten(word) for word in self.features[node]]
        if node in self.names:
            words[:1] = [": ".join([shorten(self.names[node]), *words[:1]])]
        if node in self.tree.leaves:
            cluster = np.searchsorted(self.tree.leaves, node)
            words[:1] = [f"{cluster}: {''.join(words[:1])}"]
        elif is_end(self.tree, node, self.max_depth):
            words.append("…")
        return words

    def _columns(
        self, lines: dict[int, list[str]], fontsize: float
    ) -> tuple[dict[int, float], Array]:
        """Width of each text, and start of the column of each depth."""
        widths = {
            v: (DOT + BESIDE) * fontsize
            + 1.07 * max(canvas.text_width(line, fontsize) for line in text)
            for v, text in lines.items()
        }
        columns = np.zeros(self.tree.depths.max() + 1)
        for node, width in widths.items():
            columns[self.tree.depths[node]] = max(columns[self.tree.depths[node]], width)
        steps = np.cumsum(columns + GAP * fontsize)
        return widths, AIR * fontsize + np.concatenate([[0], steps[:-1]])

    def _draw_lines(
        self, y: Array, starts: Array, widths: dict[int, float], fontsize: float
    ) -> None:
        air = AIR * fontsize
        segments = {}
        for node in widths:
            if is_end(self.tree, node, self.max_depth):
                continue
            depth = self.tree.depths[node]
            begin = starts[depth] + widths[node] + air
            bar = starts[depth + 1] - GAP * fontsize / 2
            end = starts[depth + 1] + DOT * fontsize / 2
            for child in self.tree.children(node).tolist():
                segments[child] = np.array(
                    [(begin, y[node]), (bar, y[node]), (bar, y[child]), (end, y[child])]
                )
        masses = np.zeros(self.tree.n_nodes) if self.node_weights is None else self.node_weights
        wide = line_widths(self.tree, masses, HIERARCHY_WIDEST)[list(segments)]
        self.lines_ = canvas.draw_lines(self.ax_, list(segments.values()), NEUTRAL, wide.tolist())


class AbstractionDisplay(Display):
    """The nodes of a hierarchy at which one column occurs.

    The areas of the circles are proportional to P(node given column). The width of a line is the
    share at a node and below it. The root is at the top, the clusters are at the bottom, above
    their numbers. General words are at the root, specific ones at a leaf, and ambiguous ones at
    several distant nodes. After figure 10 of Hofmann & Puzicha (1998).

    Parameters
    ----------
    tree : Tree
        With V nodes.
    shares : (V,) array
        P(node given column).
    name : str
        Name of the column.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    circles_, lines_ : matplotlib PathCollection and LineCollection
        A circle for each of the V nodes, and lines between nodes and their children.
    texts_ : dict of int to matplotlib Text
        The shares of at least ``label_from``.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, plotting
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> display = plotting.AbstractionDisplay.from_estimator(model, "drink", words)
    >>> display.texts_[0].get_text()  # at the root
    '100%'
    """

    def __init__(self, tree: Tree, shares: Array, name: str) -> None:
        self.tree = tree
        self.shares = shares
        self.name = name

    @classmethod
    def from_estimator(
        cls, model: Estimator, feature: str | int, feature_names: ArrayLike | None = None, *,
        ax: Axes | None = None, label_from: float = 0.1, cmap: str | Colormap = "YlGnBu",
    ) -> AbstractionDisplay:  # fmt: skip
        """Draw the nodes at which a fitted model places the occurrences of a column.

        Parameters
        ----------
        model : fitted ClusterAbstraction
            With ``tree_``, ``components_`` (V, M) and ``node_weights_`` (V,).
        feature : str or int
            Name or position of the column.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        ax : matplotlib Axes, default=None, for a new figure
        label_from : float, default=0.1
            Smallest share to write, in [0, 1].
        cmap : str or matplotlib Colormap, default="YlGnBu"
            Colours of the shares from 0 to 1.

        Raises
        ------
        ValueError, TypeError
            If there is no such column, no node generates it, or the model has no tree.
        """
        unwrapped = unwrap(model, "tree_", "components_")
        model = unwrapped.model
        names = unwrapped.column_names(feature_names)
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
        x = positions(tree)
        y = -tree.depths
        n_clusters = len(tree.leaves)
        n_levels = tree.depths.max() + 1
        if ax is None:
            width = max((n_clusters + 0.6) * ACROSS, 120.0)
            height = (n_levels - 0.5) * DOWN + BELOW
            above = 10 + TITLE_LINE * len(canvas.fold(self.name, width, TITLE, TITLE_LINES))
            ax = canvas.framed_axes(width, height, left=36.0, below=32.0, right=8.0, above=above)
        self.ax_ = ax
        width, height = canvas.size_in_points(ax)
        title = canvas.fold(self.name, width, TITLE, TITLE_LINES)
        ax.set_title("\n".join(title), fontsize=TITLE, parse_math=False)
        across = width / (n_clusters + 0.6)
        down = (height - BELOW) / (n_levels - 0.5)
        ax.set(xlim=(-0.8, n_clusters - 0.2), ylim=(1 - n_levels - BELOW / down, 0.5))
        largest = min(1.4 * across, 1.2 * down, LARGEST)
        self._draw_axes(x, across)
        self._draw_lines(x, y)
        self.circles_ = ax.scatter(
            x,
            y,
            s=self.shares * largest**2,
            c=self.shares,
            cmap=cmap,
            vmin=-0.2,
            vmax=1.0,
            edgecolors=NEUTRAL,
            linewidths=(0.6 * (self.shares > 2e-3)).tolist(),
            zorder=3,
        )
        self._label(x, y, largest, across, label_from)
        return self

    def _draw_axes(self, x: Array, across: float) -> None:
        ax = self.ax_
        leaves = self.tree.leaves
        levels = np.arange(self.tree.depths.max() + 1)
        ax.set_xticks(x[leaves], [str(k) for k in range(len(leaves))])
        ax.set_yticks(-levels, levels)
        ax.tick_params("x", length=0, labelsize=min(FONT, 0.6 * across))
        ax.tick_params("y", length=0, labelsize=FONT)
        ax.set_xlabel("cluster", fontsize=FONT)
        ax.set_ylabel("level", fontsize=FONT)
        ax.spines[:].set_visible(False)

    def _draw_lines(self, x: Array, y: Array) -> None:
        """Join each node with its children, by a bar half-way between their levels."""
        nodes = np.flatnonzero(self.tree.parents >= 0)
        above = self.tree.parents[nodes]
        bars = y[above] - 0.5
        corners = np.stack([x[above], y[above], x[above], bars, x[nodes], bars, x[nodes], y[nodes]])
        segments = list(corners.T.reshape(-1, 4, 2))
        wide = line_widths(self.tree, self.shares, ABSTRACTION_WIDEST)[nodes]
        self.lines_ = canvas.draw_lines(self.ax_, segments, NEUTRAL, wide.tolist(), zorder=1)
        self.ax_.scatter(x, y, s=4, color=NEUTRAL, linewidths=0, zorder=2)

    def _label(self, x: Array, y: Array, largest: float, across: float, label_from: float) -> None:
        """Write large shares: below leaves (upright where these are close), else at the right."""
        fontsize = min(FONT, 0.6 * across)
        self.texts_ = {}
        for node in np.flatnonzero(self.shares >= label_from):
            distance = largest * np.sqrt(self.shares[node]) / 2 + 1.5
            is_leaf = node in self.tree.leaves
            self.texts_[int(node)] = self.ax_.annotate(
                f"{self.shares[node]:.0%}",
                (x[node], y[node]),
                fontsize=fontsize,
                xytext=(0, -distance) if is_leaf else (distance, 1),
                textcoords="offset points",
                ha="center" if is_leaf else "left",
                va="top" if is_leaf else "bottom",
                rotation=90 if is_leaf and across < 2.6 * fontsize else 0,
            )


class SplitsDisplay(Display):
    """The dendrogram of an annealed fit: the inverse temperatures at which clusters split.

    The inverse temperature rises to the right. Clusters that never split share a line.

    Parameters
    ----------
    splits : sequence of Split
        Each with ``beta`` and ``parts``, in the order of the fit.
    beta : float, default=None
        Inverse temperature at the end of the fit. None means a little above the last split.
    labels : sequence of str, default=None
        Texts after the number of each cluster, such as words.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : matplotlib LineCollection
    division_ : SplitTree
        The tree that is drawn.

    Examples
    --------
    >>> from skcooc.em import Split
    >>> from skcooc.plotting import SplitsDisplay
    >>> splits = [Split(0.02, ((0, 2), (1,))), Split(0.05, ((0,), (2,)))]
    >>> SplitsDisplay(splits).plot().division_.groups
    [(0, 1, 2), (0, 2), (1,), (0,), (2,)]
    """

    def __init__(
        self, splits: Sequence[Any], *,
        beta: float | None = None, labels: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.splits = splits
        self.beta = beta
        self.labels = labels

    @classmethod
    def from_estimator(
        cls, model: Estimator, feature_names: ArrayLike | None = None, *, n_features: int = 3,
        order: Order = "characteristic", names: Names | None = None, ax: Axes | None = None,
    ) -> SplitsDisplay:  # fmt: skip
        """Draw the splits of a fitted model.

        Parameters
        ----------
        model : fitted ClusterAbstraction, AsymmetricClustering or AspectModel
            With ``splits_``, ``beta_`` and ``components_``.
        feature_names, n_features, order
            Columns of each cluster, see :func:`skcooc.inspection.describe`; none if n_features=0.
        names : sequence of K str, or dict of int to str, default=None
            Texts in the place of columns, for all components (the nodes of a hierarchy, or its
            leaves) or some. None means the names of :func:`skcooc.inspection.set_names`, if any.
        ax : matplotlib Axes, default=None, for a new figure

        Raises
        ------
        ValueError
            If the model has no splits, because it was not annealed.
        """
        unwrapped = unwrap(model, "components_")
        model = unwrapped.model
        splits = getattr(model, "splits_", ())
        display = cls(splits, beta=getattr(model, "beta_", None))
        if n_features > 0 and len(splits):
            words = component_features(unwrapped, feature_names, n_features, order)
            if names is None:
                names = user_names(model)
            elif hasattr(model, "tree_"):
                names = node_names(model.tree_, names)
            texts = override_names(names, [", ".join(of_component) for of_component in words])
            display.labels = [texts[k] for k in _clusters(model, splits)]
        return display.plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> SplitsDisplay:
        """Draw; see :meth:`from_estimator`."""
        if not len(self.splits):
            raise ValueError(
                "There are no splits to draw: fit with annealing above 1, or ClusterAbstraction "
                "with tree='annealed'."
            )
        n_clusters = _n_clusters(self.splits)
        if self.labels is not None and len(self.labels) < n_clusters:
            raise ValueError(
                f"labels has {len(self.labels)} entries, but the splits are of {n_clusters} "
                "clusters: give one for each."
            )
        self.division_ = division(self.splits)
        names = []
        for leaf in self.division_.tree.leaves:
            group = self.division_.groups[leaf]
            name = ", ".join(map(str, group))
            if self.labels is not None:
                name += f": {self.labels[group[0]]}"
            names.append(canvas.shorten(name, WIDTH))
        y = -positions(self.division_.tree)
        if ax is None:
            right = max(canvas.text_width(name, FONT) for name in names) * 1.04 + 14
            height = (max(len(names), MIN_ROWS) + 0.2) * ROW
            ax = canvas.framed_axes(WIDTH, height, 20.0, 38.0, right, 6.0)
        self.ax_ = ax
        first = np.nanmin(self.division_.betas)
        last = np.nanmax(self.division_.betas)
        stretch = (last / first) ** 0.08 * 1.02
        end = max(last * stretch, self.beta or 0)
        self._draw_lines(y, first / stretch, end)
        self._draw_axes(y[self.division_.tree.leaves], names, first / stretch, end)
        return self

    def _draw_lines(self, y: Array, start: float, end: float) -> None:
        tree = self.division_.tree
        betas = self.division_.betas
        segments = []
        for node in range(tree.n_nodes):
            birth = start if tree.parents[node] < 0 else betas[tree.parents[node]]
            death = betas[node]
            children = tree.children(node)
            segments.append([(birth, y[node]), (end if np.isnan(death) else death, y[node])])
            if len(children):
                segments.append([(death, y[children].min()), (death, y[children].max())])
        self.lines_ = canvas.draw_lines(
            self.ax_, segments, canvas.colours()[0], 1.2, capstyle="projecting"
        )

    def _draw_axes(self, y: Array, names: list[str], start: float, end: float) -> None:
        from matplotlib.ticker import FormatStrFormatter, LogLocator, MaxNLocator, NullFormatter

        ax = self.ax_
        ax.set(xscale="log", xlim=(start, end), ylim=(y.min() - 0.6, y.max() + 0.6))
        ratio = end / start
        decades = LogLocator(subs=(1, 2, 5) if ratio < 100 else (1,))
        ax.xaxis.set_major_locator(MaxNLocator(4) if ratio < 10 else decades)
        ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("inverse temperature β", fontsize=FONT)
        ax.tick_params("x", labelsize=FONT)
        ax.yaxis.tick_right()
        row = canvas.size_in_points(ax)[1] / (len(names) + 0.2)
        ax.set_yticks(y, names, fontsize=min(FONT, 0.7 * row), parse_math=False)
        ax.tick_params("y", length=0)
        ax.set_ylabel("cluster", fontsize=FONT)
        ax.yaxis.set_label_position("left")
        ax.spines[["left", "top", "right"]].set_visible(False)


def _clusters(model: Any, splits: Sequence[Any]) -> Sequence[int]:
    """Numbers of the components that are clusters; in a hierarchy these are the leaves."""
    tree = getattr(model, "tree_", None)
    if tree is not None and len(tree.leaves) >= _n_clusters(splits):
        leaves: list[int] = tree.leaves.tolist()
        return leaves
    return range(len(model.components_))


def _n_clusters(splits: Sequence[Any]) -> int:
    return 1 + max(k for split in splits for part in split.parts for k in part)


def node_names(tree: Tree, names: Names) -> dict[int, str]:
    """Names by the numbers of nodes; ValueError where a sequence is not as long as it should be."""
    if isinstance(names, Mapping):
        return names_by_number(names_of_nodes(names, tree), tree.n_nodes)
    n_leaves = len(tree.leaves)
    if isinstance(names, str) or len(names) not in (tree.n_nodes, n_leaves):
        n = 1 if isinstance(names, str) else len(names)
        raise ValueError(
            f"names has {n} entries, but the tree has {tree.n_nodes} nodes and {n_leaves} leaves: "
            "give one for each node or for each leaf, or a dict such as {'cluster 0': name}."
        )
    nodes = tree.leaves.tolist() if len(names) == n_leaves else range(tree.n_nodes)
    return names_by_number(dict(zip(nodes, names, strict=True)), tree.n_nodes)


def positions(tree: Tree, max_depth: int | None = None) -> Array:
    """Places of the nodes across the paths from the root to the leaves, (V,).

    Nodes at which a path ends have 0, 1, ..., in an order without crossings; others the middle of
    their first and last child; those below max_depth NaN.

    >>> from skcooc.hierarchy import binary_tree
    >>> positions(binary_tree(3))
    array([1.25, 0.5 , 2.  , 0.  , 1.  ])
    """
    places = np.full(tree.n_nodes, np.nan)
    nodes = [v for v in tree.preorder if max_depth is None or tree.depths[v] <= max_depth]
    n_ends = 0
    for node in nodes:
        if is_end(tree, node, max_depth):
            places[node] = n_ends
            n_ends += 1
    for node in reversed(nodes):
        if not is_end(tree, node, max_depth):
            places[node] = places[tree.children(node)[[0, -1]]].mean()
    return places


def line_widths(tree: Tree, masses: Array, widest: float) -> Array:
    """Widths of the lines to the nodes, (V,), proportional to the mass at and below them.

    >>> from skcooc.hierarchy import binary_tree
    >>> line_widths(binary_tree(2), np.array([0.46, 0.5, 0.04]), widest=10.0)
    array([10. ,  5. ,  0.6])
    """
    below = np.array(masses, dtype=np.float64)
    for node in tree.preorder[:0:-1]:
        below[tree.parents[node]] += below[node]
    return np.maximum(widest * below, THINNEST)


def is_end(tree: Tree, node: int, max_depth: int | None) -> bool:
    return tree.depths[node] == max_depth or not len(tree.children(node))


def _column(names: Array, feature: str | int) -> int:
    columns = np.flatnonzero(names == feature)
    if len(columns):
        return int(columns[0])
    if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"feature={feature!r} is not a name or position of one of the {len(names)} columns."
    )
