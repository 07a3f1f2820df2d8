"""Mosaics of textures, whose segments are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skcooc.image.sites import check_shape
from skcooc.protocol import Array, RandomState

JITTER, LEAST = 0.1, 0.2  # of a side: how far a cut may be off, and the least that it leaves


class Mondrian(NamedTuple):
    """A mosaic of textures."""

    image: Array  # (H, W)
    labels: Array  # (H, W): which texture each pixel is from


class Box(NamedTuple):
    """A rectangle of pixels."""

    top: int
    left: int
    height: int
    width: int


def make_mondrian(
    textures: Sequence[ArrayLike], shape: tuple[int, int] = (256, 256),
    random_state: RandomState = None,
) -> Mondrian:  # fmt: skip
    """Put textures together to an image, each in a rectangle of its own.

    The image is cut in two across its longer side, and so are its parts, until there are as many
    as textures; all have about the same area. In each is a part of its texture, taken at random,
    which repeats itself where the texture is too small.

    Parameters
    ----------
    textures : sequence of array-likes of shape (h, w)
        Grey levels. Segments may be told apart by these alone, unless they are equalised.
    shape : (int, int), default=(256, 256)
        Height and width of the mosaic, in pixels.
    random_state : int, RandomState instance or None, default=None
        Seed of the cuts and of the parts.

    Returns
    -------
    mondrian : Mondrian
        ``image``, (H, W), and ``labels``, (H, W) of int, the position of each pixel's texture.

    Raises
    ------
    ValueError, TypeError
        Where there are no textures, one is no grey-level image, or the shape is not that of an
        image or too small for them.

    References
    ----------
    T. Hofmann and J. Puzicha, *Statistical Models for Co-occurrence Data*, AI Memo 1625, MIT, 1998,
    figure 13, shows such mosaics; how they are cut is ours.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.mondrian import make_mondrian
    >>> image, labels = make_mondrian([np.zeros((9, 9)), np.ones((9, 9))], (4, 6), random_state=0)
    >>> np.array_equal(image, labels)
    True
    """
    height, width = check_shape(shape)
    patterns: list[Array] = [np.asarray(texture) for texture in textures]
    if not patterns or any(pattern.ndim != 2 or not pattern.size for pattern in patterns):
        raise ValueError("textures should be grey-level images: at least one, each of shape (h, w)")
    rng = check_random_state(random_state)
    boxes = _cut(Box(0, 0, height, width), len(patterns), rng)
    if min(min(box.height, box.width) for box in boxes) < 1:
        raise ValueError(f"shape={shape} is too small for {len(patterns)} textures")
    image = np.empty((height, width), dtype=np.result_type(*patterns))
    labels = np.empty((height, width), dtype=int)
    for label, box in zip(rng.permutation(len(patterns)), boxes, strict=True):
        place = np.s_[box.top : box.top + box.height, box.left : box.left + box.width]
        image[place] = _part(patterns[label], box, rng)
        labels[place] = label
    return Mondrian(image, labels)


def _cut(box: Box, n: int, rng: np.random.RandomState) -> list[Box]:
    """n parts of a box, of about the same area."""
    if n == 1:
        return [box]
    k = int(rng.randint(1, n))
    share = np.clip(k / n + rng.uniform(-JITTER, JITTER), LEAST, 1 - LEAST)
    if box.height > box.width:
        at = round(share * box.height)
        first = box._replace(height=at)
        second = box._replace(top=box.top + at, height=box.height - at)
    else:
        at = round(share * box.width)
        first = box._replace(width=at)
        second = box._replace(left=box.left + at, width=box.width - at)
    return _cut(first, k, rng) + _cut(second, n - k, rng)


def _part(texture: Array, box: Box, rng: np.random.RandomState) -> Array:
    """A part of a texture that fills a box."""
    sides = zip((box.height, box.width), texture.shape, strict=True)
    rows, columns = (
        (rng.randint(max(has - needs, 0) + 1) + np.arange(needs)) % has for needs, has in sides
    )
    return texture[np.ix_(rows, columns)]
