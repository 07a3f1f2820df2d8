"""The dendrogram of the phase transitions of an annealed fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.hierarchy import division
from skcooc.inspection.features import Order, component_features
from skcooc.inspection.models import Names, Unwrapped, names_by_number, unwrap
from skcooc.inspection.names import user_names
from skcooc.plotting.canvas import (
    FONT,
    Display,
    colours,
    draw_lines,
    framed_axes,
    size_in_points,
    styled,
    text_width,
)
from skcooc.plotting.hierarchy import positions
from skcooc.protocol import Array, Components

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, WIDTH = 13.0, 330.0  # points: height of a cluster, width of the axes
MIN_ROWS = 4


class SplitsDisplay(Display):
    """The dendrogram of an annealed fit: the inverse temperatures at which clusters split.

    The inverse temperature rises to the right, on a logarithmic axis; at the left all clusters are
    the same, at the right are their numbers. Clusters that never split share a line.

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
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
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
        self.splits, self.beta, self.labels = splits, beta, labels

    @classmethod
    def from_estimator(
        cls, model: Components, feature_names: ArrayLike | None = None, *, n_features: int = 3,
        order: Order = "characteristic", names: Names | None = None, ax: Axes | None = None,
    ) -> SplitsDisplay:  # fmt: skip
        """Draw the splits of a fitted model.

        Parameters
        ----------
        model : fitted ClusterAbstraction, AsymmetricClustering or AspectModel
            With ``splits_``, ``beta_`` and ``components_``.
        feature_names : array-like of shape (M,), default=None
            Names of the columns; see :func:`skcooc.inspection.top_features`.
        n_features : int, default=3
            Number of columns of each cluster at most; 0 means the number of the cluster alone.
        order : {"characteristic", "probable"}, default="characteristic"
            Which columns: see :func:`skcooc.inspection.describe`.
        names : sequence of K str, or dict of int to str, default=None
            Texts in the place of columns, for all components (the nodes of a hierarchy) or some.
            None means the names of :func:`skcooc.inspection.set_names`, if any.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure, with room for all clusters.

        Returns
        -------
        display : SplitsDisplay

        Raises
        ------
        ValueError
            If the model has no splits, because it was not annealed, or there are not as many names
            as columns.
        """
        found = unwrap(model, "components_")
        splits = getattr(found.model, "splits_", ())
        display = cls(splits, beta=getattr(found.model, "beta_", None))
        if n_features > 0 and len(splits):
            words = component_features(found, feature_names, n_features, order)
            own = user_names(found.model) if names is None else names_by_number(names, len(words))
            texts = [own.get(k, ", ".join(of_one)) for k, of_one in enumerate(words)]
            display.labels = [texts[k] for k in _clusters(found, splits)]
        return display.plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> SplitsDisplay:
        """Draw; see :meth:`from_estimator`."""
        if not len(self.splits):
            raise ValueError("There are no splits to draw: fit the model with annealing above 1.")
        self.division_ = division(self.splits)
        names = [self._name(self.division_.groups[leaf]) for leaf in self.division_.tree.leaves]
        y = -positions(self.division_.tree)
        if ax is None:
            right = max(text_width(name, FONT) for name in names) * 1.04 + 14
            height = (max(len(names), MIN_ROWS) + 0.2) * ROW
            ax = framed_axes(WIDTH, height, 20.0, 38.0, right, 6.0)
        self.ax_ = ax
        first, last = np.nanmin(self.division_.betas), np.nanmax(self.division_.betas)
        stretch = (last / first) ** 0.08 * 1.02
        end = max(last * stretch, self.beta or 0)
        self._draw_lines(y, first / stretch, end)
        self._draw_axes(y[self.division_.tree.leaves], names, first / stretch, end)
        return self

    def _name(self, group: tuple[int, ...]) -> str:
        """Numbers of the clusters of a group, and the label of the first of them."""
        numbers = ", ".join(map(str, group))
        return numbers if self.labels is None else f"{numbers}: {self.labels[group[0]]}"

    def _draw_lines(self, y: Array, start: float, end: float) -> None:
        """Draw each group from its birth to its division, and the divisions."""
        tree, betas = self.division_.tree, self.division_.betas
        segments = []
        for node in range(tree.n_nodes):
            birth = start if tree.parents[node] < 0 else betas[tree.parents[node]]
            death, children = betas[node], tree.children(node)
            segments.append([(birth, y[node]), (end if np.isnan(death) else death, y[node])])
            if len(children):
                segments.append([(death, y[children].min()), (death, y[children].max())])
        self.lines_ = draw_lines(self.ax_, segments, colours()[0], 1.2, capstyle="projecting")

    def _draw_axes(self, y: Array, names: list[str], start: float, end: float) -> None:
        """Write the inverse temperature below and the clusters at the right, without a frame."""
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
        row = size_in_points(ax)[1] / (len(names) + 0.2)
        ax.set_yticks(y, names, fontsize=min(FONT, 0.7 * row), parse_math=False)
        ax.tick_params("y", length=0)
        ax.set_ylabel("cluster", fontsize=FONT)
        ax.yaxis.set_label_position("left")
        ax.spines[["left", "top", "right"]].set_visible(False)


def _clusters(found: Unwrapped, splits: Sequence[Any]) -> Sequence[int]:
    """Numbers of the components that are clusters; in a hierarchy these are the leaves."""
    n_clusters = 1 + max(k for split in splits for part in split.parts for k in part)
    tree = getattr(found.model, "tree_", None)
    if tree is not None and len(tree.leaves) >= n_clusters:
        leaves: list[int] = tree.leaves.tolist()
        return leaves
    return range(len(found.model.components_))
