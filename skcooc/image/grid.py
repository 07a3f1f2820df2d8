"""Image sites as rows: which of them to tie at each resolution."""

from __future__ import annotations

from math import prod
from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar

from skcooc.protocol import Array

LEAST_BLOCKS = 64


def grid_coarsening(shape: tuple[int, int], n_levels: int | None = None) -> list[Array]:
    """Nested groups of the pixels of an image: blocks of 2 x 2, of 4 x 4, of 8 x 8, ...

    The coarsening hierarchy of multiscale optimisation: adjacent sites that are likely to belong to
    one cluster share its posterior. Level l, counted from 0, ties blocks of 2^(l + 1) pixels a
    side, smaller ones at the right and the lower edge where they do not divide the image.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image, in pixels.
    n_levels : int, default=None
        How many levels; at most as many as it takes to tie all pixels. None means as many as leave
        64 blocks, such as 8 x 8: fewer are mixtures of segments, and too few to find clusters in.

    Returns
    -------
    coarsening : list of n_levels (height * width,) arrays of int
        Finest first. The block of each site, 0 to the number of blocks - 1; sites and blocks are
        counted along the lines of the image, as in ``image.ravel()``.

    Raises
    ------
    ValueError, TypeError
        Where the shape is not that of a grey-level image, or there are too many levels.

    References
    ----------
    T. Hofmann and J. Puzicha, *Statistical Models for Co-occurrence Data*, AI Memo 1625, MIT, 1998,
    section 5.4.

    Examples
    --------
    >>> from skcooc.image import grid_coarsening
    >>> fine, coarse = grid_coarsening((3, 5), n_levels=2)
    >>> fine.reshape(3, 5)
    array([[0, 0, 1, 1, 2],
           [0, 0, 1, 1, 2],
           [3, 3, 4, 4, 5]])
    >>> coarse.reshape(3, 5)
    array([[0, 0, 0, 0, 1],
           [0, 0, 0, 0, 1],
           [0, 0, 0, 0, 1]])
    """
    shape = check_shape(shape)
    most = (max(shape) - 1).bit_length()
    if n_levels is None:
        levels = range(1, most + 1)
        n_levels = sum(prod(n_blocks(shape, 2**level)) >= LEAST_BLOCKS for level in levels)
    check_scalar(n_levels, "n_levels", Integral, min_val=0, max_val=most)
    return [block_of(shape, 2 ** (level + 1)).ravel() for level in range(n_levels)]


def check_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Height and width of an image; ValueError or TypeError where they are none."""
    if len(shape) != 2:
        raise ValueError(f"shape={shape} should be the height and the width of an image")
    for side, name in zip(shape, ("height", "width"), strict=True):
        check_scalar(side, name, Integral, min_val=1)
    return int(shape[0]), int(shape[1])


def n_blocks(shape: tuple[int, ...], size: int) -> tuple[int, int]:
    """How many blocks of size x size pixels are below, and beside, each other."""
    return -(-shape[0] // size), -(-shape[1] // size)


def block_of(shape: tuple[int, ...], size: int) -> Array:
    """For each pixel, (H, W), the block of size x size pixels that it is in."""
    rows, columns = np.arange(shape[0]) // size, np.arange(shape[1]) // size
    return rows[:, None] * (columns[-1] + 1) + columns
