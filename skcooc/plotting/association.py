"""The matrix of a symmetric clustering, sorted by cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.inspection.blocks import (
    Clusters,
    TwoSided,
    cluster_orders,
    of_columns,
    of_rows,
    two_sided,
)
from skcooc.inspection.names import check_order, row_names_of, split
from skcooc.plotting.arrangement import Places, Side, arrange, log_association
from skcooc.plotting.canvas import NEUTRAL, Display, draw_lines, new_axes, styled
from skcooc.plotting.margins import AIR, BELOW, LEADER, LINE, Frame, corner, label, label_places
from skcooc.protocol import Array, TableLike
from skcooc.tables import sound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

BAR = 7.0  # points: height of the colour bar
LIMIT = 3  # the colours end where log2 of the association is this, and minus this
INK = 0.05  # area of all dots, as a share of that of the matrix
LARGEST = 12.0  # points squared: area of a dot for one observation, where there are few
SOLID = 0.6  # opacity of dots: colours are seen behind them


class AssociationDisplay(Display):
    """The matrix of a symmetric clustering, its rows and columns sorted by cluster.

    The colour of a block is the association c_cd of its clusters: how much more often they are
    observed together than by chance, if they were independent, on a logarithmic scale. Dots are the
    pairs that were observed, their areas proportional to the counts. At the margins are the numbers
    of the clusters and their most frequent members. After figure 12 of the memo.

    Clusters of rows come by decreasing share of the observations, and clusters of columns in the
    order of the clusters of rows that they have most to do with, so that what belongs together is
    near the diagonal.

    Parameters
    ----------
    joint : (C, D) array
        pi_cd, share of the observations in each pair of clusters.
    rows, columns : Side
        Their ``labels``, their ``masses`` (shares of the observations) and the ``words`` of their
        clusters.
    pairs : tuple of three (nnz,) arrays, default=None
        Positions of rows, positions of columns, and counts: the dots.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Its units are points; the axis is off.
    figure_ : matplotlib Figure
    image_ : matplotlib QuadMesh
        The blocks.
    dots_ : matplotlib PathCollection or None
        The pairs.
    lines_ : matplotlib LineCollection
        Between the blocks, and from the clusters to their words.
    row_texts_, column_texts_ : dict of int to matplotlib Text
        The words of each cluster that has members.
    side_texts_ : list of two matplotlib Text
        What the rows and the columns are.
    row_order_, column_order_ : (C,) and (D,) arrays of int
        The clusters from top to bottom and from left to right.

    Examples
    --------
    >>> from skcooc import SymmetricClustering
    >>> from skcooc.plotting import AssociationDisplay
    >>> X = [[9, 4, 0, 0], [5, 3, 0, 0], [0, 0, 2, 5]]
    >>> model = SymmetricClustering(2, 2, hard=True, random_state=0).fit(X)
    >>> display = AssociationDisplay.from_estimator(
    ...     model, X, ["tea", "cup", "goal", "ball"], ["hot", "sweet", "fast"]
    ... )
    >>> [display.rows.words[c] for c in display.row_order_]
    [['hot', 'sweet'], ['fast']]
    >>> [display.columns.words[d] for d in display.column_order_]
    [['tea', 'cup'], ['ball', 'goal']]
    """

    def __init__(
        self, joint: Array, rows: Side, columns: Side, *, pairs: tuple[Array, ...] | None = None
    ) -> None:
        self.joint, self.rows, self.columns, self.pairs = joint, rows, columns, pairs

    @classmethod
    def from_estimator(
        cls, model: TwoSided, X: TableLike | None = None, feature_names: ArrayLike | None = None,
        row_names: ArrayLike | None = None, *, n_features: int = 4, ax: Axes | None = None,
        scale: Literal["observations", "objects"] = "observations",
        cmap: str | Colormap = "RdBu_r", fontsize: float = 7,
        sides: tuple[str, str] = ("rows", "columns"),
    ) -> AssociationDisplay:  # fmt: skip
        """Draw the matrix of a fitted model.

        Parameters
        ----------
        model : fitted SymmetricClustering
            Soft, hard or tied. Rows and columns of soft clusterings are where their most probable
            clusters are.
        X : array-like, sparse array or matrix, DataFrame, Dyads of shape (N, M), default=None
            The counts that were fitted, to be drawn as dots. None means the blocks alone.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        row_names : array-like of shape (N,), default=None
            Names of the rows; see :func:`skcooc.inspection.representative_rows`.
        n_features : int, default=4
            How many members of each cluster to write: those with the most observations. Each object
            is a member of one cluster, so that frequent members distinguish it, too.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure, as large as it needs to be.
        scale : {"observations", "objects"}, default="observations"
            The room of a row or column: in proportion to its observations, where dots would be
            spread evenly if there were no association, or the same for all, where the size of a
            cluster is the number of its members.
        cmap : str or matplotlib Colormap, default="RdBu_r"
            Colours of associations from 1/8 to 8; the middle is 1.
        fontsize : float, default=7
            In points.
        sides : pair of str, default=("rows", "columns")
            What the rows and the columns are, such as ("adjectives", "nouns").

        Returns
        -------
        display : AssociationDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError
            Where there are not as many names as rows or columns, X has another shape or other
            names than the matrix that was fitted, or there is no such scale.
        TypeError
            Where the model has no clusters of columns.
        """
        found = two_sided(model, "components_")
        model = found.model
        rows = _side(of_rows(model), row_names_of(model, row_names), n_features)
        columns = _side(of_columns(model), found.column_names(feature_names), n_features)
        pairs = None if X is None else _pairs(found.table(X), model)
        display = cls(np.asarray(model.joint_, dtype=np.float64), rows, columns, pairs=pairs)
        return display.plot(ax, scale=scale, cmap=cmap, fontsize=fontsize, sides=sides)

    @styled
    def plot(
        self, ax: Axes | None = None, *,
        scale: Literal["observations", "objects"] = "observations",
        cmap: str | Colormap = "RdBu_r", fontsize: float = 7,
        sides: tuple[str, str] = ("rows", "columns"),
    ) -> AssociationDisplay:  # fmt: skip
        """Draw; see :meth:`from_estimator`."""
        if scale not in ("observations", "objects"):
            raise ValueError(f"scale={scale!r} should be 'observations' or 'objects'.")
        self.row_order_, self.column_order_ = cluster_orders(self.joint)
        down, across = (
            arrange(side, order, side.masses if scale == "observations" else np.ones(len(side[0])))
            for side, order in ((self.rows, self.row_order_), (self.columns, self.column_order_))
        )
        frame = Frame.around(self.rows, self.columns, fontsize, corner(sides))
        self.ax_ = new_axes(frame.right, frame.top) if ax is None else ax
        shrink = frame.show(self.ax_)
        self._draw_blocks(frame, down, across, cmap, fontsize * shrink)
        self._draw_dots(frame, down, across, shrink)
        self._draw_words(frame, down, across, fontsize, shrink)
        self._explain(frame, sides, fontsize, shrink)
        return self

    def _draw_blocks(
        self, frame: Frame, down: Places, across: Places, cmap: str | Colormap, fontsize: float
    ) -> None:
        """The associations of all pairs of clusters, and what their colours mean."""
        blocks = log_association(self.joint)[self.row_order_][:, self.column_order_] / np.log(2)
        x, y = frame.x(across.edges), frame.y(down.edges)
        self.image_ = self.ax_.pcolormesh(
            x, y, np.clip(blocks, -LIMIT, LIMIT), cmap=cmap, vmin=-LIMIT, vmax=LIMIT, zorder=1
        )
        box = (frame.left, BELOW - LEADER - BAR, frame.width / 2, BAR)
        inset = self.ax_.inset_axes(box, transform=self.ax_.transData)
        ticks = range(-LIMIT, LIMIT + 1)
        bar = self.figure_.colorbar(self.image_, cax=inset, orientation="horizontal", ticks=ticks)
        bar.ax.set_xticklabels([f"1/{2**-t}" if t < 0 else f"{2**t}" for t in bar.get_ticks()])
        bar.ax.tick_params(labelsize=fontsize, length=2, pad=1)
        self.ax_.text(
            frame.left + frame.width / 2 + AIR, BELOW - LEADER - BAR / 2,
            "times as often as by chance", fontsize=fontsize, va="center",
        )  # fmt: skip

    def _draw_dots(self, frame: Frame, down: Places, across: Places, shrink: float) -> None:
        """The pairs that were observed."""
        self.dots_ = None
        if self.pairs is None:
            return
        i, j, counts = self.pairs
        area = min(INK * frame.width * frame.height / counts.sum(), LARGEST) * shrink**2
        self.dots_ = self.ax_.scatter(
            frame.x(across.objects[j]), frame.y(down.objects[i]), s=area * counts,
            color="0.1", alpha=SOLID, linewidths=0, zorder=2, rasterized=True,
        )  # fmt: skip
        self.dots_.set_clip_path(frame.outline(self.ax_))

    def _explain(
        self, frame: Frame, sides: tuple[str, str], fontsize: float, shrink: float
    ) -> None:
        """What the two sides are, and what is written and drawn."""
        write = partial(self.ax_.text, fontsize=fontsize * shrink, va="center", color=NEUTRAL)
        top = BELOW + frame.height + LEADER
        self.side_texts_ = [
            write(frame.left - LEADER, top + at * LINE * fontsize, text, ha="right")
            for at, text in zip((0, 1), corner(sides), strict=True)
        ]
        dots = "" if self.dots_ is None else "; dots: pairs, areas as their counts"
        write(AIR, AIR + fontsize / 2, f"number of a cluster: its commonest members{dots}")

    def _draw_words(
        self, frame: Frame, down: Places, across: Places, fontsize: float, shrink: float
    ) -> None:
        """Lines between the clusters, and to their words, which are moved apart."""
        write = partial(
            self.ax_.text, va="center_baseline", fontsize=fontsize * shrink, parse_math=False,
            rotation_mode="anchor",
        )  # fmt: skip
        gap, start = LINE * fontsize, frame.left - LEADER
        right, top = frame.left + frame.width, BELOW + frame.height
        segments = [[(frame.left, edge), (right, edge)] for edge in frame.y(down.edges)]
        segments += [[(edge, BELOW), (edge, top)] for edge in frame.x(across.edges)]
        self.row_texts_, self.column_texts_ = {}, {}
        for c, middle, at in label_places(self.row_order_, down, frame.height, gap):
            segments.append([(start + 2, top - at), (frame.left - 1, top - middle)])
            self.row_texts_[c] = write(start, top - at, label(self.rows, c), ha="right")
        end = top + LEADER
        for d, middle, at in label_places(self.column_order_, across, frame.width, gap):
            x = frame.left + at
            segments.append([(x, end - 2), (frame.left + middle, top + 1)])
            self.column_texts_[d] = write(x, end, label(self.columns, d), ha="left", rotation=90)
        self.lines_ = draw_lines(self.ax_, segments, NEUTRAL, 0.4 * shrink, zorder=3)


def _side(clusters: Clusters, names: Array, n: int) -> Side:
    """Clusters with those of their members that have the most observations."""
    words = [[str(names[i]) for i in of[:n]] for of in clusters.members]
    return Side(clusters.labels, clusters.masses, words)


def _pairs(X: TableLike, model: TwoSided) -> tuple[Array, Array, Array]:
    """Positions and counts of the pairs observed; ValueError where X is of another table."""
    check_order(X, model)
    X, names = split(X)
    shape = len(model.embedding_), len(model.column_labels_)
    X = check_array(sound(X), accept_sparse="coo", ensure_non_negative=True)
    if X.shape != shape:
        raise ValueError(f"X has shape {X.shape}, but the model was fitted to shape {shape}.")
    known = getattr(model, "row_names_in_", None)
    if not (names is None or known is None or np.array_equal(names, known)):
        raise ValueError("X has rows of other names, or in another order, than those fitted.")
    if isinstance(X, np.ndarray):
        i, j = np.nonzero(X)
        return i, j, X[i, j]
    return X.row, X.col, X.data
