"""Sites of an image, and histograms of the responses of Gabor filters around them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter, uniform_filter1d
from scipy.signal import fftconvolve
from sklearn.base import TransformerMixin
from sklearn.utils import check_array, check_scalar
from sklearn.utils.validation import check_is_fitted

from skcooc.protocol import CSR, Array, warn
from skcooc.protocol.bases import BaseEstimator
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import Interval

BANDWIDTH = 1.0  # octaves
MIN_BLOCKS = 64  # of the coarsest level
OTHER_SCALE = 50.0  # ratio of the levels of two images: 255 of those in 0 to 255 and in 0 to 1
BRIGHTEST = 1e30  # bins are float32


class GaborHistograms(TransformerMixin, BaseEstimator):
    """Counts of Gabor responses around the sites of an image, (sites, bins).

    A row is a site, a column is a bin of the responses of one channel, and a count is how often
    such a response occurs near the site. Channels are the moduli of Gabor filters of several scales
    and orientations, applied to the mean of the colours, and the level of grey: a Gaussian as wide
    as one wave of the finest scale. Each colour but the first adds a channel, the level of its
    contrast with the mean of those before it: green less red, and blue less yellow.

    Sites are blocks of ``step`` x ``step`` pixels. The histogram of a site is that of a square
    window around it, ``window`` wavelengths wide. Neighbouring responses are correlated: a window
    has about as many independent ones as squared wavelengths, so the histogram of each channel sums
    to ``window ** 2``.

    Read more in the :doc:`how-to guide </howto/textures>`.

    Parameters
    ----------
    n_scales, n_orientations : int, default=3 and 4
        Number of scales, an octave apart, and of evenly spaced orientations.
    n_bins : int, default=40
        Number of bins of each channel, quantiles of the pixels of the training image.
    window : float, default=4.0
        Side of the windows, in wavelengths, rounded to an odd number of blocks.
    frequency : float in (0, 0.5], default=0.42
        Frequency of the finest scale, in cycles a pixel.
    step : int, default=4
        Side of the blocks that are sites, in pixels.

    Attributes
    ----------
    edges_ : (n_channels, n_bins - 1) array
        Edges between the bins of each channel: by scale, finest first, then by orientation; then
        the level of grey, then contrasts.
    n_features_out_ : int
        Number M = (n_scales * n_orientations + C) * n_bins of columns; C is the number of colours,
        1 for a grey image.

    References
    ----------
    T. Hofmann and J. Puzicha, *Statistical Models for Co-occurrence Data*, AI Memo 1625, MIT, 1998,
    section 6.3. Edges of bins, sizes and weights of windows, grey and colours are additions.

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
    _largest_level: float

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
        self.n_scales = n_scales
        self.n_orientations = n_orientations
        self.n_bins = n_bins
        self.window = window
        self.frequency = frequency
        self.step = step

    def fit(self, X: ArrayLike, y: object = None) -> GaborHistograms:
        self.fit_bins(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> CSR:
        """Choose the bins by an image, and count its responses.

        Parameters
        ----------
        X : array-like of shape (H, W) or (H, W, C)
            Grey levels, or C colours, of any scale. At least as large as a window of the finest
            scale, and not constant.
        y : None
            Ignored.

        Returns
        -------
        counts : CSR array of shape (N, M), float32
            A row for each site, along the lines of the :meth:`grid`.

        Raises
        ------
        ImportError, ValueError
            Where scikit-image is not installed; where X is no image, is constant or too small, or
            has NaN or masked pixels, colours first, or an alpha channel.
        """
        return self.histograms(self.fit_bins(X))

    def transform(self, X: ArrayLike) -> CSR:
        """Count the responses of an image, (H, W) or (H, W, C), in the bins of the training image.

        The image may have another size, but not another number of colours. A warning says where its
        levels are of another scale. Counts are as those of :meth:`fit_transform`.
        """
        return self.histograms(self.bins(X))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_bins(self, X: ArrayLike) -> Array:
        """Choose the bins by an image; return the :meth:`bins` of its responses."""
        image = check_image(X)
        if image.min() == image.max():
            raise ValueError(f"image has no texture: all pixels are {image.flat[0]:g}.")
        side = int(np.ceil(self.window / self.frequency))
        if min(image.shape[:2]) < side:
            raise ValueError(
                f"image has {image.shape[0]} x {image.shape[1]} pixels, less than a window of the "
                f"finest scale, {side} x {side}: give a larger image, or decrease window."
            )
        responses = self._responses(image)
        self._largest_level = np.abs(image).max()
        inner = np.linspace(0, 1, self.n_bins + 1)[1:-1]
        self.edges_ = np.quantile(responses, inner, axis=(1, 2)).T.astype(np.float32)
        self.n_features_out_ = self.edges_.shape[0] * self.n_bins
        return self._bin_responses(responses)

    def bins(self, X: ArrayLike) -> Array:
        """The bin of every response of an image, (n_channels, H, W).

        Bins are columns of the counts: those of channel r are r * n_bins to (r + 1) * n_bins - 1.
        """
        check_is_fitted(self)
        image = check_image(X)
        n_colours = len(self.edges_) - self.n_scales * self.n_orientations
        if image.shape[2] != n_colours:
            raise ValueError(
                f"X has {image.shape[2]} colours, but the training image has {n_colours}."
            )
        largest = np.abs(image).max()
        in_training = self._largest_level
        if max(largest, in_training) > OTHER_SCALE * min(largest, in_training):
            warn(
                f"The largest level of the image is {largest:.3g}, and {in_training:.3g} in the "
                "training image: give both on the same scale, such as 0 to 1."
            )
        return self._bin_responses(self._responses(image))

    def grid(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Number of sites of an image of this shape, vertically and horizontally."""
        return n_blocks(shape, self.step)

    def _responses(self, image: Array) -> Array:
        grey = image.mean(axis=2)
        moduli = gabor_moduli(grey, self.n_scales, self.n_orientations, self.frequency)
        levels = [
            gaussian_filter(level, 1 / self.frequency, mode="reflect").astype(np.float32)
            for level in (grey, *contrasts(image))
        ]
        return np.stack([*moduli, *levels])

    def _bin_responses(self, responses: Array) -> Array:
        bins = [
            np.searchsorted(edges, response, "right") + self.n_bins * channel
            for channel, (edges, response) in enumerate(zip(self.edges_, responses, strict=True))
        ]
        return np.stack(bins)

    def histograms(self, bins: Array) -> CSR:
        """Count responses around every site, given their :meth:`bins`; (N, M) of float32."""
        height, width = self.grid(bins.shape[1:])
        blocks = block_counts(bins, self.step, self.n_features_out_)
        # SciPy 1.13 makes this a COO array, which has no columns.
        shares = (blocks / (blocks.sum(axis=1)[:, None] / len(bins))).tocsr()
        columns = []
        for channel in range(len(bins)):
            columns_of_channel = slice(channel * self.n_bins, (channel + 1) * self.n_bins)
            planes = shares[:, columns_of_channel].toarray().reshape(height, width, self.n_bins)
            scale = min(channel // self.n_orientations, self.n_scales - 1)
            side = 2 * int(self.window * 2**scale / self.frequency / self.step / 2) + 1  # blocks
            for axis in (0, 1):
                planes = uniform_filter1d(planes, side, axis=axis, mode="reflect")
            columns.append(np.maximum(planes, 0).reshape(-1, self.n_bins) * self.window**2)
        return sp.csr_array(np.concatenate(columns, axis=1, dtype=np.float32))


def gabor_moduli(
    image: Array, n_scales: int, n_orientations: int, frequency: float
) -> Iterator[Array]:
    """The modulus of the response of each Gabor filter at each pixel, (H, W) of float32.

    Scales are octaves, from ``frequency`` downwards, in cycles a pixel; orientations of each scale
    are evenly spaced over half a turn. The image is mirrored at its edges.
    """
    try:
        from skimage.filters import gabor_kernel
    except ImportError as error:
        raise ImportError(
            "Gabor filters need scikit-image. Install it with `pip install 'skcooc[image]'`."
        ) from error
    for scale in range(n_scales):
        for orientation in range(n_orientations):
            angle = np.pi * orientation / n_orientations
            kernel = gabor_kernel(frequency / 2**scale, angle, bandwidth=BANDWIDTH)
            envelope = np.abs(kernel)
            # Without its mean, a wave does not respond to the level of grey.
            kernel = (kernel - envelope * (kernel.sum() / envelope.sum())).astype(np.complex64)
            margins = [(side // 2, side // 2) for side in kernel.shape]  # kernels have odd sides
            mirrored = np.pad(image, margins, mode="symmetric").astype(np.float32)
            yield np.abs(fftconvolve(mirrored, kernel, mode="valid")).astype(np.float32)


def block_counts(bins: Array, step: int, n_columns: int) -> CSR:
    """Counts of bins, (n_channels, H, W), in blocks of step x step pixels, (n_blocks, M)."""
    block = np.broadcast_to(block_of_pixels(bins.shape[1:], step), bins.shape)
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
    """An image as an array of floats, (H, W, C); C is 1 for grey."""
    if isinstance(X, str | PathLike):
        raise TypeError(f"image is a path, {str(X)!r}: read it, as with matplotlib.pyplot.imread.")
    if np.ma.is_masked(X):
        raise ValueError("image has masked pixels, which are unknown: cut them off or fill them.")
    values = np.asarray(X)
    if values.dtype.kind == "c":
        raise ValueError("image has complex numbers: give their moduli, np.abs(image).")
    if values.dtype.kind == "f" and (n_missing := np.isnan(values).sum()):
        raise ValueError(
            f"image has NaN in {n_missing} places, which are unknown: cut them off or fill them."
        )
    options = {"dtype": [np.float64, np.float32], "ensure_2d": False, "allow_nd": True}
    image = check_array(X, input_name="image", **options)
    if image.ndim not in (2, 3) or not image.size:
        raise ValueError(f"image has shape {image.shape}, but should be (H, W) or (H, W, C).")
    if max(-image.min(), image.max()) > BRIGHTEST:
        raise ValueError(f"image has values beyond {BRIGHTEST:g}; responses would overflow.")
    if image.ndim == 3:
        _check_colours(image)
    return image.reshape(*image.shape[:2], -1)


def _check_colours(image: Array) -> None:
    """Raise ValueError where an image seems to have colours first, or an alpha channel."""
    height, width, n_colours = image.shape
    if height <= 4 < min(width, n_colours):
        raise ValueError(
            f"image has shape {image.shape}, but colours are the last axis: give "
            "np.moveaxis(image, 0, -1)."
        )
    alpha = image[..., -1]
    if n_colours in (2, 4) and alpha.min() == alpha.max():
        raise ValueError(
            f"The last of {n_colours} colours of the image is {alpha.flat[0]:g} everywhere, as an "
            f"alpha channel is: give image[..., :{n_colours - 1}]."
        )


def grid_coarsening(shape: tuple[int, int], n_levels: int | None = None) -> list[Array]:
    """Nested groups of the pixels of an image: blocks of 2 x 2, of 4 x 4, of 8 x 8, ...

    In multiscale optimisation (Hofmann & Puzicha, 1998, section 5.4), the sites of a block share a
    posterior. Blocks are cut off at the right and the lower edge.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image, in pixels.
    n_levels : int, default=None
        Number of levels, at most up to a single block. None means as many as leave at least 64
        blocks, for fewer are mixtures of segments.

    Returns
    -------
    coarsening : list of n_levels (height * width,) arrays of int
        The block of each site, finest level first. Sites and blocks are numbered as in
        ``image.ravel()``.

    Examples
    --------
    >>> from skcooc.image import grid_coarsening
    >>> grid_coarsening((3, 5), n_levels=2)[0].reshape(3, 5)
    array([[0, 0, 1, 1, 2],
           [0, 0, 1, 1, 2],
           [3, 3, 4, 4, 5]])
    """
    shape = check_shape(shape)
    max_levels = (max(shape) - 1).bit_length()
    if n_levels is None:
        levels = range(1, max_levels + 1)
        n_levels = sum(prod(n_blocks(shape, 2**level)) >= MIN_BLOCKS for level in levels)
    check_scalar(n_levels, "n_levels", Integral, min_val=0, max_val=max_levels)
    return [block_of_pixels(shape, 2 ** (level + 1)).ravel() for level in range(n_levels)]


def check_shape(shape: tuple[int, int]) -> tuple[int, int]:
    if np.shape(shape) != (2,):
        value = shape if isinstance(shape, tuple) else type(shape).__name__
        raise ValueError(f"shape={value} should be the height and the width of an image")
    for side, name in zip(shape, ("height", "width"), strict=True):
        check_scalar(side, name, Integral, min_val=1)
    return int(shape[0]), int(shape[1])


def n_blocks(shape: tuple[int, ...], size: int) -> tuple[int, int]:
    """Number of blocks of size x size pixels, vertically and horizontally."""
    return -(-shape[0] // size), -(-shape[1] // size)


def block_of_pixels(shape: tuple[int, ...], size: int) -> Array:
    """The number of the block of size x size pixels of each pixel, (H, W)."""
    rows = np.arange(shape[0]) // size
    columns = np.arange(shape[1]) // size
    return rows[:, None] * (columns[-1] + 1) + columns
