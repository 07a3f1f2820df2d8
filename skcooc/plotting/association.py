"""The matrix of a symmetric clustering, sorted by cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.inspection import features
from skcooc.inspection.export import to_linkage
from skcooc.inspection.features import SideClusters, TwoSided
from skcooc.inspection.models import check_fitted_columns, fitted_row_names, split_row_names
from skcooc.plotting import canvas
from skcooc.plotting.canvas import NEUTRAL, Display, styled
from skcooc.plotting.dendrograms import draw_tree, leaf_order
from skcooc.protocol import Array, Estimator, TableLike
from skcooc.tables import check_sparse_structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Colormap

SIDE = 320.0  # points: least height and width of the matrix
LEADER, AIR = 12.0, 5.0  # points: from a cluster to its words, and around all
BELOW = 52.0  # points: height of all that is below the matrix
BAR = 7.0  # points: height of the colour bar
TREE = 7.0  # height of a dendrogram, in units of the font size
HEADROOM = 1.04  # of the scale of dendrograms
LINE = 1.3  # height of a line of text, in units of the font size
LONGEST = 18.0  # width of the words of a cluster, in units of the font size
LIMIT = 3  # the colours end where log2 of the association is this, and minus this
INK = 0.05  # area of all dots, as a share of that of the matrix
LARGEST = 12.0  # points squared: largest area of a dot for one co-occurrence
OPACITY = 0.6  # of dots

Scale = Literal["counts", "equal"]


class MatrixSide(NamedTuple):
    """The rows or the columns of a matrix, and their clusters."""

    labels: Array  # (N,): the cluster of each object
    masses: Array  # (N,): its share of the co-occurrences
    words: list[list[str]]  # frequent members of each of the C clusters

    def label(self, cluster: int, fontsize: float) -> str:
        """Number and rows or columns of a cluster, as many as there is room for."""
        words = self.words[cluster]
        width = LONGEST * fontsize
        texts = [f"{cluster}: {', '.join(words[:n])}" for n in range(max(1, len(words)), 0, -1)]
        fitting = (text for text in texts if canvas.text_width(text, fontsize) <= width)
        return next(fitting, canvas.shorten(texts[-1], width, fontsize))


class SideLayout(NamedTuple):
    """Places of the objects of a side, between 0 and 1."""

    objects: Array  # (N,): their middles
    edges: Array  # (C + 1,): between the clusters, in the order in which they are drawn

    def cluster_middles(self, order: Array) -> Array:
        """The middle of each cluster, (C,), if they are drawn in this order."""
        return ((self.edges[:-1] + self.edges[1:]) / 2)[np.argsort(order)]


class AssociationDisplay(Display):
    """The matrix of a symmetric clustering, its rows and columns sorted by cluster.

    The colour of a block is the association c_cd of its clusters, on a logarithmic scale: how much
    more often they occur together than expected under independence. Dots are the pairs of the
    training matrix, their areas proportional to the counts. At the margins are the numbers of the
    clusters and their most frequent members. Clusters of rows are sorted by decreasing share of the
    co-occurrences, clusters of columns by the clusters of rows that they are most associated with.
    After figure 12 of Hofmann & Puzicha (1998).

    With dendrograms, these orders are kept as far as the trees allow. The height of a merge is the
    integrated likelihood, in nats, that is lost by all merges of rows and columns up to this one.
    Both trees have one scale.

    Parameters
    ----------
    joint : (C, D) array
        pi_cd, share of the co-occurrences in each pair of clusters.
    rows, columns : MatrixSide
        Their ``labels`` and ``masses``, and the ``words`` of their clusters.
    pairs : tuple of three (nnz,) arrays, default=None
        Positions of rows, positions of columns, and counts: the dots.
    linkages : pair of (C - 1, 4) and (D - 1, 4) arrays, default=None
        Trees of both sides, see :func:`skcooc.inspection.to_linkage`: the dendrograms.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, in units of points, and Figure
    image_, dots_, lines_ : matplotlib QuadMesh, PathCollection or None, and LineCollection
        The blocks, the pairs, and lines between blocks and from clusters to their words.
    trees_ : tuple of matplotlib LineCollection
        The dendrograms of the rows and of the columns, or none.
    row_texts_, column_texts_ : dict of int to matplotlib Text
        The words of each cluster that has members.
    row_order_, column_order_ : (C,) and (D,) arrays of int
        The clusters from top to bottom and from left to right.

    Examples
    --------
    >>> from skcooc import SymmetricClustering, plotting
    >>> X = [[9, 4, 0, 0], [5, 3, 0, 0], [0, 0, 2, 5]]
    >>> model = SymmetricClustering(2, 2, hard=True, random_state=0).fit(X)
    >>> display = plotting.AssociationDisplay.from_estimator(
    ...     model, X, ["tea", "cup", "goal", "ball"], ["hot", "sweet", "fast"]
    ... )
    >>> [display.rows.words[c] for c in display.row_order_]
    [['hot', 'sweet'], ['fast']]
    >>> [display.columns.words[d] for d in display.column_order_]
    [['tea', 'cup'], ['ball', 'goal']]
    """

    def __init__(
        self, joint: Array, rows: MatrixSide, columns: MatrixSide,
        *, pairs: tuple[Array, ...] | None = None, linkages: tuple[Array, Array] | None = None,
    ) -> None:  # fmt: skip
        self.joint = joint
        self.rows = rows
        self.columns = columns
        self.pairs = pairs
        self.linkages = linkages

    @classmethod
    def from_estimator(
        cls, model: Estimator, X: TableLike | None = None, feature_names: ArrayLike | None = None,
        row_names: ArrayLike | None = None, *, n_features: int = 4, dendrograms: bool = False,
        ax: Axes | None = None, scale: Scale = "counts", cmap: str | Colormap = "RdBu_r",
        fontsize: float = 9, sides: tuple[str, str] = ("rows", "columns"),
    ) -> AssociationDisplay:  # fmt: skip
        """Draw the matrix of a fitted model.

        Parameters
        ----------
        model : fitted SymmetricClustering
            Soft, hard or tied. In soft clusterings, rows and columns are drawn in their most
            probable clusters.
        X : array-like, sparse array or matrix, DataFrame, Dyads of shape (N, M), default=None
            The training matrix, to be drawn as dots. None means the blocks alone.
        feature_names, row_names
            As for :func:`skcooc.inspection.describe`.
        n_features : int, default=4
            Number of members of each cluster to write, the most frequent first, where there is
            room.
        dendrograms : bool, default=False
            Whether to draw the trees of both sides; AttributeError where ``tied=True``. Of many
            clusters, draw the top of the trees: see :func:`skcooc.inspection.merge_clusters`.
        ax : matplotlib Axes, default=None, for a new figure
        scale : {"counts", "equal"}, default="counts"
            What the size of a row or column is proportional to: its co-occurrences, so that dots
            would be spread evenly under independence; or the same for all that have any.
        cmap : str or matplotlib Colormap, default="RdBu_r"
            Colours of associations from 1/8 to 8; the middle is 1.
        fontsize : float, default=9, in points
        sides : pair of str, default=("rows", "columns")
            Titles of the rows and the columns, such as ("adjectives", "nouns").
        """
        unwrapped = features.unwrap_coclustering(model, "components_")
        model = unwrapped.model
        words = unwrapped.column_names(feature_names)
        names = fitted_row_names(model, row_names)
        rows = _matrix_side(features.row_clusters(model), names, n_features)
        columns = _matrix_side(features.column_clusters(model), words, n_features)
        pairs = None if X is None else _pairs(unwrapped.table(X), model)
        linkages = None
        if dendrograms:
            linkages = to_linkage(model, axis="rows"), to_linkage(model, axis="columns")
        joint = np.asarray(model.joint_, dtype=np.float64)
        display = cls(joint, rows, columns, pairs=pairs, linkages=linkages)
        return display.plot(ax, scale=scale, cmap=cmap, fontsize=fontsize, sides=sides)

    @styled
    def plot(
        self, ax: Axes | None = None, *, scale: Scale = "counts",
        cmap: str | Colormap = "RdBu_r", fontsize: float = 9,
        sides: tuple[str, str] = ("rows", "columns"),
    ) -> AssociationDisplay:  # fmt: skip
        """Draw; see :meth:`from_estimator`."""
        if scale not in ("counts", "equal"):
            raise ValueError(f"scale={scale!r} should be 'counts' or 'equal'.")
        self._sort_clusters()
        down, across = (
            arrange(side, order, side.masses if scale == "counts" else side.masses > 0)
            for side, order in ((self.rows, self.row_order_), (self.columns, self.column_order_))
        )
        has_trees = self.linkages is not None
        titles = f"{sides[0]} ↓", f"{sides[1]} →"
        if has_trees:
            titles = f"{sides[0]} ↑", f"← {sides[1]}"
        frame = MatrixFrame(self.rows, self.columns, down, across, fontsize, titles, has_trees)
        self.ax_ = canvas.new_axes(*frame.size) if ax is None else ax
        shrink, width, height = canvas.shrink_to_fit(self.ax_, *frame.size)
        self.ax_.set(xlim=(0, width), ylim=(frame.size[1] - height, frame.size[1]))
        self._draw_blocks(frame, cmap, fontsize * shrink)
        self._draw_dots(frame, shrink)
        self._draw_words(frame, fontsize, shrink)
        self._draw_trees(frame, fontsize, shrink)
        write = partial(canvas.write, self.ax_, fontsize=fontsize * shrink)
        for i, title in enumerate(titles):
            y = frame.label_y - frame.sign * i * LINE * fontsize
            write(frame.label_x, y, title, ha=frame.alignments[0])
        dots = "" if self.dots_ is None else "; dots: pairs, areas as their counts"
        write(AIR, AIR + fontsize / 2, f"cluster number: most frequent members{dots}")
        return self

    def _sort_clusters(self) -> None:
        self.row_order_, self.column_order_ = features.cluster_orders(self.joint)
        if self.linkages is not None:
            of_rows, of_columns = self.linkages
            self.row_order_ = leaf_order(of_rows, self.row_order_, self.joint.sum(axis=1))
            _, columns = features.cluster_orders(self.joint, self.row_order_)
            self.column_order_ = leaf_order(of_columns, columns, self.joint.sum(axis=0))

    def _draw_blocks(self, frame: MatrixFrame, cmap: str | Colormap, fontsize: float) -> None:
        with np.errstate(divide="ignore"):
            log2 = np.log2(features.association_ratios(self.joint))
        blocks = log2[self.row_order_][:, self.column_order_]
        self.image_ = self.ax_.pcolormesh(
            frame.x(frame.across.edges),
            frame.y(frame.down.edges),
            np.clip(blocks, -LIMIT, LIMIT),
            cmap=cmap,
            vmin=-LIMIT,
            vmax=LIMIT,
            zorder=1,
        )
        box = (frame.left, BELOW - LEADER - BAR, frame.width / 2, BAR)
        inset = self.ax_.inset_axes(box, transform=self.ax_.transData)
        ticks = range(-LIMIT, LIMIT + 1)
        bar = self.figure_.colorbar(self.image_, cax=inset, orientation="horizontal", ticks=ticks)
        bar.ax.set_xticklabels([f"1/{2**-t}" if t < 0 else f"{2**t}" for t in bar.get_ticks()])
        bar.ax.tick_params(labelsize=fontsize, length=2, pad=1)
        x = frame.left + frame.width / 2 + AIR
        y = BELOW - LEADER - BAR / 2
        canvas.write(self.ax_, x, y, "observed / expected", fontsize=fontsize)

    def _draw_dots(self, frame: MatrixFrame, shrink: float) -> None:
        from matplotlib.patches import Rectangle

        self.dots_ = None
        if self.pairs is None:
            return
        i, j, counts = self.pairs
        area = min(INK * frame.width * frame.height / counts.sum(), LARGEST) * shrink**2
        self.dots_ = self.ax_.scatter(
            frame.x(frame.across.objects[j]),
            frame.y(frame.down.objects[i]),
            s=area * counts,
            color="0.1",
            alpha=OPACITY,
            linewidths=0,
            zorder=2,
            rasterized=True,
        )
        matrix = Rectangle(
            (frame.left, frame.bottom), frame.width, frame.height, transform=self.ax_.transData
        )
        self.dots_.set_clip_path(matrix)

    def _draw_words(self, frame: MatrixFrame, fontsize: float, shrink: float) -> None:
        write = partial(
            canvas.write,
            self.ax_,
            fontsize=fontsize * shrink,
            va="center_baseline",
            rotation_mode="anchor",
        )
        gap = LINE * fontsize
        sign = frame.sign
        right = frame.left + frame.width
        top = frame.bottom + frame.height
        segments = [[(frame.left, edge), (right, edge)] for edge in frame.y(frame.down.edges)]
        segments += [[(edge, frame.bottom), (edge, top)] for edge in frame.x(frame.across.edges)]
        self.row_texts_ = {}
        for c, middle, place in label_places(self.row_order_, frame.down, frame.height, gap):
            label = self.rows.label(c, fontsize)
            y = top - place
            ends = frame.label_x - 2 * sign, frame.label_x - (LEADER - 1) * sign
            segments.append([(ends[0], y), (ends[1], top - middle)])
            self.row_texts_[c] = write(frame.label_x, y, label, ha=frame.alignments[0])
        self.column_texts_ = {}
        for d, middle, place in label_places(self.column_order_, frame.across, frame.width, gap):
            label = self.columns.label(d, fontsize)
            x = frame.left + place
            ends = frame.label_y + 2 * sign, frame.label_y + (LEADER - 1) * sign
            segments.append([(x, ends[0]), (frame.left + middle, ends[1])])
            self.column_texts_[d] = write(
                x, frame.label_y, label, ha=frame.alignments[1], rotation=90
            )
        self.lines_ = canvas.draw_lines(self.ax_, segments, NEUTRAL, 0.4 * shrink, zorder=3)

    def _draw_trees(self, frame: MatrixFrame, fontsize: float, shrink: float) -> None:
        self.trees_: tuple[LineCollection, ...] = ()
        if self.linkages is None:
            return
        of_rows, of_columns = self.linkages
        highest = np.concatenate([of_rows, of_columns])[:, 2].max(initial=0)
        end = HEADROOM * highest or 1.0
        height = TREE * fontsize
        draw = partial(draw_tree, end=end, fontsize=fontsize * shrink, linewidth=0.8 * shrink)
        left = frame.left - height, frame.bottom, height - 1, frame.height
        above = frame.left, frame.bottom + frame.height + 1, frame.width, height - 1
        beside, over = (
            self.ax_.inset_axes(box, transform=self.ax_.transData) for box in (left, above)
        )
        beside.set_ylim(1, 0)
        over.set_xlim(0, 1)
        self.trees_ = (
            draw(beside, of_rows, frame.down.cluster_middles(self.row_order_), upright=False),
            draw(over, of_columns, frame.across.cluster_middles(self.column_order_), upright=True),
        )


class MatrixFrame:
    """Place of the matrix among its margins, in points, with a line of text for each cluster.

    Labels are at the left and above, or where trees are there, at the right and below.
    """

    def __init__(
        self,
        rows: MatrixSide,
        columns: MatrixSide,
        down: SideLayout,
        across: SideLayout,
        fontsize: float,
        titles: tuple[str, str],
        has_trees: bool,
    ) -> None:
        def margin(side: MatrixSide, *titles: str) -> float:
            texts = [*(side.label(c, fontsize) for c in range(len(side.words))), *titles]
            width = max(canvas.text_width(text, fontsize) for text in texts)
            return width * 1.04 + LEADER + AIR

        self.down = down
        self.across = across
        self.height = max(SIDE, LINE * fontsize * len(rows.words))
        self.width = max(SIDE, LINE * fontsize * len(columns.words))
        beside = margin(rows, *titles)
        along = margin(columns)
        if has_trees:
            tree = AIR + TREE * fontsize
            self.left = tree
            self.bottom = BELOW + along
            self.size = tree + self.width + beside, self.bottom + self.height + tree
            self.label_x = self.left + self.width + LEADER
            self.label_y = self.bottom - LEADER
        else:
            self.left = beside
            self.bottom = BELOW
            self.size = beside + self.width + 2 * AIR, BELOW + self.height + along
            self.label_x = beside - LEADER
            self.label_y = BELOW + self.height + LEADER
        self.sign = 1 if has_trees else -1  # of the way from the matrix to the right and downwards
        self.alignments = ("left", "right") if has_trees else ("right", "left")

    def x(self, shares: Array) -> Array:
        return self.left + self.width * shares

    def y(self, shares: Array) -> Array:
        """Shares of the height from the top, as places on the axes."""
        return self.bottom + self.height * (1 - shares)


def arrange(side: MatrixSide, order: Array, weights: Array) -> SideLayout:
    """Place one object after the other, each with a size in proportion to its weight.

    They are sorted by cluster, in the order given, then by decreasing share of the co-occurrences.
    """
    rank = np.argsort(order)[side.labels]
    sorted_objects = np.lexsort((-side.masses, rank))
    room = weights[sorted_objects] / weights.sum()
    middles = np.empty_like(room)
    middles[sorted_objects] = np.cumsum(room) - room / 2
    sizes = np.bincount(rank, weights, minlength=len(order)) / weights.sum()
    return SideLayout(middles, np.concatenate([[0.0], np.cumsum(sizes)]))


def label_places(
    order: Array, layout: SideLayout, length: float, gap: float
) -> list[tuple[int, float, float]]:
    """Cluster, middle, and place of its words, for all clusters that take up room."""
    low = length * layout.edges[:-1]
    high = length * layout.edges[1:]
    shown = high > low
    middles = (low + high)[shown] / 2
    moved = canvas.declutter(middles, gap, gap / 2, length - gap / 2)
    return list(zip(order[shown].tolist(), middles.tolist(), moved.tolist(), strict=True))


def _matrix_side(clusters: SideClusters, names: Array, n: int) -> MatrixSide:
    """A side with the n members of each cluster that have the most co-occurrences."""
    words = [[str(names[i]) for i in members[:n]] for members in clusters.members]
    return MatrixSide(clusters.labels, clusters.masses, words)


def _pairs(X: TableLike, model: TwoSided) -> tuple[Array, Array, Array]:
    """Positions and counts of the pairs; ValueError if X is not the training matrix."""
    check_fitted_columns(X, model)
    X, names = split_row_names(X)
    shape = len(model.embedding_), len(model.column_labels_)
    X = check_array(check_sparse_structure(X), accept_sparse="coo", ensure_non_negative=True)
    if X.shape != shape:
        raise ValueError(f"X has shape {X.shape}, but the model was fitted to shape {shape}.")
    fitted = getattr(model, "row_names_in_", None)
    if not (names is None or fitted is None or np.array_equal(names, fitted)):
        raise ValueError("X has rows of other names, or in another order, than those fitted.")
    if isinstance(X, np.ndarray):
        i, j = np.nonzero(X)
        return i, j, X[i, j]
    return X.row, X.col, X.data
