"""Where a matrix is among the words at its margins, in points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skcooc.plotting.arrangement import Places, Side, spread
from skcooc.plotting.canvas import size_in_points, text_width
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

SIDE = 320.0  # least height and width of the matrix
LEADER, AIR = 12.0, 5.0  # from a cluster to its words, and around all
BELOW = 46.0  # height of all that is below the matrix
LINE = 1.3  # height of a line of text, in units of the font size


class Frame:
    """Where the matrix is among its margins, in points."""

    def __init__(self, left: float, above: float, width: float, height: float) -> None:
        self.left, self.width, self.height = left, width, height
        self.right, self.top = left + width + 2 * AIR, BELOW + height + above

    @classmethod
    def around(cls, rows: Side, columns: Side, fontsize: float, corner: tuple[str, str]) -> Frame:
        """Room for the words of all clusters, for each a line of text, and for the corner."""
        written = [[label(side, c) for c in range(len(side.words))] for side in (rows, columns)]
        written[0] += corner
        margins = [
            max(text_width(words, fontsize) for words in of) * 1.04 + LEADER + AIR for of in written
        ]
        sizes = [max(SIDE, LINE * fontsize * len(side.words)) for side in (columns, rows)]
        return cls(*margins, *sizes)

    def show(self, ax: Axes) -> float:
        """Show the whole, in points or, where there is no room, less; return the scale."""
        width, height = size_in_points(ax)
        shrink = min(width / self.right, height / self.top, 1.0)
        ax.set(xlim=(0, width / shrink), ylim=(self.top - height / shrink, self.top))
        ax.set_axis_off()
        return shrink

    def outline(self, ax: Axes) -> Patch:
        """The edge of the matrix, for what may not go beyond it."""
        from matplotlib.patches import Rectangle

        return Rectangle((self.left, BELOW), self.width, self.height, transform=ax.transData)

    def x(self, places: Array) -> Array:
        """Shares of the width, as places on the axes."""
        return self.left + self.width * places

    def y(self, places: Array) -> Array:
        """Shares of the height from the top, as places on the axes."""
        return BELOW + self.height * (1 - places)


def label_places(
    order: Array, places: Places, length: float, gap: float
) -> list[tuple[int, float, float]]:
    """Cluster, middle, and place of its words, for all clusters that take up room."""
    low, high = length * places.edges[:-1], length * places.edges[1:]
    shown = high > low
    middles = (low + high)[shown] / 2
    moved = spread(middles, gap, gap / 2, length - gap / 2)
    return list(zip(order[shown].tolist(), middles.tolist(), moved.tolist(), strict=True))


def corner(sides: tuple[str, str]) -> tuple[str, str]:
    """What the rows and the columns are, for the corner between their words."""
    return f"{sides[0]} ↓", f"{sides[1]} →"


def label(side: Side, cluster: int) -> str:
    """The number of a cluster and its words."""
    return f"{cluster}: {', '.join(side.words[cluster])}"
