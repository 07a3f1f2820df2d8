"""The modulus of a bank of Gabor filters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.signal import fftconvolve

from skcooc.protocol import Array

BANDWIDTH = 1.0  # octaves


def gabor_moduli(
    image: Array, n_scales: int, n_orientations: int, frequency: float
) -> Iterator[Array]:
    """How strongly each site of an image responds to waves of every scale and orientation.

    Each is an (H, W) array of float32: scale after scale, an octave below the one before, and
    within a scale orientation after orientation, evenly spaced over half a turn. ``frequency`` is
    that of the finest scale, in cycles a pixel. The image goes on beyond its edges as in a mirror.
    ImportError is raised where scikit-image is not installed.
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
            # Without its mean, a wave is blind to the level of grey.
            yield _modulus(image, kernel - envelope * (kernel.sum() / envelope.sum()))


def _modulus(image: Array, kernel: Array) -> Array:
    margins = [(side // 2, side // 2) for side in kernel.shape]  # kernels have odd sides
    mirrored = np.pad(image, margins, mode="symmetric").astype(np.float32)
    response = fftconvolve(mirrored, kernel.astype(np.complex64), mode="valid")
    return np.abs(response).astype(np.float32)
