"""Histograms of Gabor responses in windows around the sites of an image."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter, uniform_filter1d
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.image.gabor import gabor_moduli
from skcooc.image.grid import block_of, n_blocks
from skcooc.protocol import CSR, Array
from skcooc.protocol.decorators import fit_context

BRIGHTEST = 1e30  # bins are float32


class GaborHistograms(TransformerMixin, BaseEstimator):
    """How often each Gabor response occurs around the sites of an image.

    The co-occurrence data of texture: a row is a site, a column is a bin of the responses of one
    filter, and an observation is that this response was measured near the site. A filter is a
    wave of some scale and orientation, and its response the modulus. One more tells what all waves
    are blind to, the level of grey: a Gaussian as wide as one wave of the finest scale. Every
    filter, a channel, has a histogram of its own; channels count as if they were independent.

    Waves and the level of grey are those of the mean of an image's colours. Colours add levels of
    their contrasts: of each with the mean of those before it. Red, green and blue have two, about
    the opponent colours: green less red, and blue less yellow.

    Sites are blocks of ``step`` x ``step`` pixels. The histogram of a site is that of a square
    window of blocks around its own, as wide as ``window`` wavelengths of the filter, so that
    coarse scales are counted in large windows, and the level of grey in the largest. Neighbouring
    responses repeat each other, and a window has about as many independent ones as it has squared
    wavelengths. So every histogram sums to ``window ** 2``, and all channels have the same weight.

    Parameters
    ----------
    n_scales : int, default=3
        Number of scales, each an octave below the one before.
    n_orientations : int, default=4
        Number of orientations, evenly spaced.
    n_bins : int, default=40
        Number of bins of each channel. Each holds the same number of pixels of the image fitted.
    window : float, default=4.0
        Side of the windows, in wavelengths, rounded to an odd number of blocks.
    frequency : float in (0, 0.5], default=0.42
        Frequency of the finest scale, in cycles a pixel.
    step : int, default=4
        Side of the blocks that are sites, in pixels; at the lower and the right edge they may be
        smaller.

    Attributes
    ----------
    edges_ : (n_channels, n_bins - 1) array
        Between the bins of each channel: scale after scale, finest first, within a scale
        orientation after orientation, then the level of grey, and contrasts at the end.
    n_features_out_ : int
        Number M = (n_scales * n_orientations + C) * n_bins of columns, where the image has C
        colours, or is grey and C is 1.

    References
    ----------
    T. Hofmann and J. Puzicha, *Statistical Models for Co-occurrence Data*, AI Memo 1625, MIT, 1998,
    section 6.3: three scales, four orientations, 40 bins, windows proportional to the scale. What
    the bins are, how large the windows, how many observations they hold, the level of grey and
    colours are our choice.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.image import GaborHistograms
    >>> image = np.random.default_rng(0).normal(size=(32, 40))
    >>> histograms = GaborHistograms(n_bins=10)
    >>> X = histograms.fit_transform(image)
    >>> X.shape, histograms.grid(image.shape)
    ((80, 130), (8, 10))
    """

    edges_: Array
    n_features_out_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_scales": [Interval(Integral, 1, None, closed="left")],
        "n_orientations": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "window": [Interval(Real, 0, None, closed="neither")],
        "frequency": [Interval(Real, 0, 0.5, closed="right")],
        "step": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, n_scales: int = 3, n_orientations: int = 4, n_bins: int = 40, *,
        window: float = 4.0, frequency: float = 0.42, step: int = 4,
    ) -> None:  # fmt: skip
        self.n_scales, self.n_orientations, self.n_bins = n_scales, n_orientations, n_bins
        self.window, self.frequency, self.step = window, frequency, step

    def fit(self, X: ArrayLike, y: object = None) -> GaborHistograms:
        """Find the bins of an image; see :meth:`fit_transform`."""
        self.fit_bins(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> CSR:
        """Find the bins of an image, and count its responses.

        Parameters
        ----------
        X : array-like of shape (H, W) or (H, W, C)
            Grey levels, or C colours. The bins are made for this image, as evenly filled as equal
            responses allow.
        y : None
            Ignored.

        Returns
        -------
        counts : CSR array of shape (N, M), float32
            A row for each site, along the lines of the :meth:`grid`.

        Raises
        ------
        ImportError
            Where scikit-image is not installed.
        ValueError, TypeError
            Where X is no image, or a parameter has no valid value.
        """
        return self.histograms(self.fit_bins(X))

    def transform(self, X: ArrayLike) -> CSR:
        """Count the responses of an image in the bins found.

        Parameters
        ----------
        X : array-like of shape (H, W) or (H, W, C)
            Grey levels, or as many colours as there were. It need not be the image fitted, nor of
            its size: bins are absolute, so that textures of one image are found again in another.

        Returns
        -------
        counts : CSR array of shape (N, M), float32
        """
        return self.histograms(self.bins(X))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_bins(self, X: ArrayLike) -> Array:
        """Find the bins of an image, and the bin of every response; see :meth:`bins`."""
        responses = self._responses(check_image(X))
        inner = np.linspace(0, 1, self.n_bins + 1)[1:-1]
        self.edges_ = np.quantile(responses, inner, axis=(1, 2)).T.astype(np.float32)
        self.n_features_out_ = self.edges_.shape[0] * self.n_bins
        return self._binned(responses)

    def bins(self, X: ArrayLike) -> Array:
        """The bin of every response: what is counted.

        Parameters
        ----------
        X : array-like of shape (H, W) or (H, W, C)
            As for :meth:`transform`.

        Returns
        -------
        bins : (n_channels, H, W) array of int
            Columns of the table: those of channel r are r * n_bins to (r + 1) * n_bins - 1.
        """
        check_is_fitted(self)
        image = check_image(X)
        expected = len(self.edges_) - self.n_scales * self.n_orientations
        if image.shape[2] != expected:
            raise ValueError(
                f"The image has {image.shape[2]} colours, but that fitted has {expected}."
            )
        return self._binned(self._responses(image))

    def grid(self, shape: tuple[int, int]) -> tuple[int, int]:
        """How many sites an image of this shape has below, and beside, each other."""
        return n_blocks(shape, self.step)

    def _responses(self, image: Array) -> Array:
        grey, width = image.mean(axis=2), 1 / self.frequency
        bank = gabor_moduli(grey, self.n_scales, self.n_orientations, self.frequency)
        levels = [gaussian_filter(one, width, mode="reflect") for one in (grey, *contrasts(image))]
        return np.stack([*bank, *(level.astype(np.float32) for level in levels)])

    def _binned(self, responses: Array) -> Array:
        pairs = zip(self.edges_, responses, strict=True)
        bins = np.stack([np.searchsorted(edges, response, "right") for edges, response in pairs])
        return bins + self.n_bins * np.arange(len(bins))[:, None, None]

    def histograms(self, bins: Array) -> CSR:
        """Count responses around every site, whose bins are known.

        Parameters
        ----------
        bins : (n_channels, H, W) array of int
            As from :meth:`bins`.

        Returns
        -------
        counts : CSR array of shape (N, M), float32
        """
        height, width = self.grid(bins.shape[1:])
        blocks = block_counts(bins, self.step, self.n_features_out_)
        shares = blocks / (blocks.sum(axis=1)[:, None] / len(bins))
        columns = []
        for channel in range(len(bins)):
            own = shares[:, channel * self.n_bins : (channel + 1) * self.n_bins].toarray()
            side = self._side(min(channel // self.n_orientations, self.n_scales - 1))
            planes = own.reshape(height, width, self.n_bins)
            for axis in (0, 1):
                planes = uniform_filter1d(planes, side, axis=axis, mode="reflect")
            columns.append(np.maximum(planes, 0).reshape(len(own), -1) * self.window**2)
        return sp.csr_array(np.concatenate(columns, axis=1, dtype=np.float32))

    def _side(self, scale: int) -> int:
        """Side of the windows of a scale, in blocks."""
        return 2 * int(self.window * 2**scale / self.frequency / self.step / 2) + 1


def block_counts(bins: Array, step: int, n_columns: int) -> CSR:
    """How often each of the bins, (n_channels, H, W), occurs in blocks of step x step pixels."""
    block = np.broadcast_to(block_of(bins.shape[1:], step), bins.shape)
    ones = np.ones(bins.size, dtype=np.float32)
    shape = (int(block[0, -1, -1]) + 1, n_columns)
    return sp.csr_array((ones, (block.ravel(), bins.ravel())), shape=shape)


def contrasts(image: Array) -> Iterator[Array]:
    """Each colour but the first of an image, (H, W, C), less the mean of those before it.

    >>> red_green_blue = np.array([[[1.0, 3.0, 5.0]]])
    >>> [one.item() for one in contrasts(red_green_blue)]
    [2.0, 3.0]
    """
    for colour in range(1, image.shape[2]):
        yield image[..., colour] - image[..., :colour].mean(axis=2)


def check_image(X: ArrayLike) -> Array:
    """An image as an array of floats, (H, W, C); C is 1 where it is grey. ValueError for others."""
    image = check_array(
        X, dtype=[np.float64, np.float32], ensure_2d=False, allow_nd=True, input_name="image"
    )
    if image.ndim not in (2, 3) or not image.size:
        raise ValueError(f"image has shape {image.shape}, but should be (H, W) or (H, W, C).")
    if max(-image.min(), image.max()) > BRIGHTEST:
        raise ValueError(f"image has values beyond {BRIGHTEST:g}, of which responses overflow.")
    return image.reshape(*image.shape[:2], -1)
