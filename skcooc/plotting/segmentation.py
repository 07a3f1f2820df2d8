"""An image and its segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.models import unwrap
from skcooc.plotting.canvas import Display, colours, draw_lines, new_axes, styled
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

SIDE = 320.0  # points: longer side of a new picture
OPACITY = 0.4  # of the colours


class SegmentationDisplay(Display):
    """An image with its segments in colour, and the borders between them.

    Parameters
    ----------
    image : (H, W) array or (H, W, 3) array
        Grey levels, or colours as matplotlib takes them.
    labels : (H, W) array of int
        Segment of each pixel, 0 to K - 1.
    confidence : (H, W) array, default=None
        Probability of each label: colours fade where it is small.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_, tint_ : matplotlib AxesImage
    lines_ : matplotlib LineCollection
        The edges of pixels between different segments.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.plotting import SegmentationDisplay
    >>> labels = np.array([[0, 0, 1], [0, 1, 1]])
    >>> display = SegmentationDisplay.from_labels(np.zeros((2, 3)), labels)
    >>> len(display.lines_.get_segments())
    3
    """

    def __init__(self, image: Array, labels: Array, confidence: Array | None = None) -> None:
        self.image = image
        self.labels = labels
        self.confidence = confidence

    @classmethod
    def from_estimator(
        cls, segmenter: Any, image: ArrayLike, *, ax: Axes | None = None,
        cmap: str | Colormap | None = None,
    ) -> SegmentationDisplay:  # fmt: skip
        """Draw the segments of a fitted model; colours fade where their posterior is small.

        Parameters
        ----------
        segmenter : fitted TextureSegmenter
            With ``labels_`` (H, W) and ``posteriors_`` (H, W, K).
        image : array-like of shape (H, W) or (H, W, 3)
            The image it was fitted to.
        ax : matplotlib Axes, default=None, for a new figure
        cmap : str or matplotlib Colormap, default=None
            Colours of the segments; of a list of at least K colours, the first K. None means the
            colours of lines, or those of viridis where these are too few.
        """
        segmenter = unwrap(segmenter, "labels_", "posteriors_").model
        confidence = segmenter.posteriors_.max(axis=-1)
        return cls(np.asarray(image), segmenter.labels_, confidence).plot(ax, cmap=cmap)

    @classmethod
    def from_labels(
        cls, image: ArrayLike, labels: ArrayLike, *,
        ax: Axes | None = None, cmap: str | Colormap | None = None,
    ) -> SegmentationDisplay:  # fmt: skip
        """Draw segments that are known, all of them in the same strength.

        Parameters
        ----------
        image : array-like of shape (H, W) or (H, W, 3)
        labels : array-like of shape (H, W) of int
        ax, cmap
            As for :meth:`from_estimator`.
        """
        labels = np.asarray(labels)
        if labels.dtype.kind not in "iub":
            raise TypeError(
                f"labels should be whole numbers, and follow the image; got {labels.dtype}."
            )
        if labels.min(initial=0) < 0:
            raise ValueError(f"labels should be 0 or more, and one is {labels.min()}.")
        return cls(np.asarray(image), labels).plot(ax, cmap=cmap)

    @styled
    def plot(
        self, ax: Axes | None = None, *, cmap: str | Colormap | None = None
    ) -> SegmentationDisplay:
        """Draw; see :meth:`from_estimator`."""
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

        if self.image.ndim not in (2, 3) or self.image.shape[:2] != self.labels.shape:
            raise ValueError(
                f"The image has shape {self.image.shape}, the labels have {self.labels.shape}: "
                "they should be (H, W), or (H, W, 3), and (H, W)."
            )
        height, width = self.labels.shape
        scale = SIDE / max(height, width)
        self.ax_ = new_axes(scale * width, scale * height) if ax is None else ax
        self.image_ = self.ax_.imshow(self.image, cmap="gray", interpolation="nearest")
        n_segments = int(self.labels.max()) + 1
        if cmap is not None:
            colormap = colormaps.get_cmap(cmap)
        elif n_segments <= len(colours()):
            colormap = ListedColormap(colours())
        else:
            colormap = colormaps["viridis"].resampled(n_segments)
        tint = colormap(self.labels)
        tint[..., 3] = OPACITY * (1.0 if self.confidence is None else self.confidence)
        self.tint_ = self.ax_.imshow(tint, interpolation="nearest")
        self.lines_ = draw_lines(self.ax_, list(borders(self.labels)), "white", 1.2)
        self.ax_.set_axis_off()
        return self


def borders(labels: Array) -> Array:
    """The edges of pixels between different labels, (n, 2, 2): both ends of each, x before y.

    Pixel (y, x) is the unit square around (x, y).

    >>> borders(np.array([[0, 1]])).tolist()
    [[[0.5, -0.5], [0.5, 0.5]]]
    """
    y, x = np.nonzero(labels[:, 1:] != labels[:, :-1])
    upright = np.stack([[x + 0.5, y - 0.5], [x + 0.5, y + 0.5]])
    y, x = np.nonzero(labels[1:] != labels[:-1])
    level = np.stack([[x - 0.5, y + 0.5], [x + 0.5, y + 0.5]])
    return np.concatenate([upright, level], axis=2).transpose(2, 0, 1)
