"""Mosaics of textures, whose segments are known, and how well they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean, median
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from benchmarks import corpora
from benchmarks.experiment import Row, experiment
from skcooc.image import GaborHistograms, TextureSegmenter
from skcooc.image.histograms import check_shape, gabor_moduli
from skcooc.protocol import Array, RandomState

JITTER, LEAST = 0.1, 0.2  # of a side: how far a cut may be off, and the least that it leaves
TUNING = range(200, 204)  # seeds of the layouts that k-means is tuned on
TURNED = ("D4", "D21", "D55", "D68", "brick")  # textures that change most by a quarter of a turn


class Smoothing(NamedTuple):
    """The settings of k-means on Gabor features."""

    frequency: float  # of the finest scale, cycles a pixel
    width: float  # standard deviation of the Gaussians, in wavelengths


GRID = [Smoothing(frequency, width) for frequency in (0.2, 0.3, 0.42) for width in (1.0, 1.5, 2.5)]


class Images(NamedTuple):
    """Textures, how many of them a mosaic has, its side, and the segmenter for them."""

    patterns: Sequence[np.ndarray]
    n: int
    side: int
    model: TextureSegmenter


@experiment(minutes=25, models=["TextureSegmenter"], quick={"images": ["Brodatz"], "seeds": [0]})
def textures(
    images: Sequence[str] = (
        "Brodatz",
        "Brodatz, equalised",
        "stones",
        "stones, 512 x 512",
        "sixteen",
        "sixteen, equalised",
    ),
    seeds: Sequence[int] = tuple(range(10)),
) -> Iterator[Row]:
    """How many pixels of a mosaic are in the right segment?

    Random mosaics; correct pixels after the best matching of segments and textures. "Brodatz": five
    of eight textures, 256 x 256; "equalised": grey levels made uniform, so that only texture
    counts. "stones": brick, grass and gravel of scikit-image. "sixteen", 512 x 512: those eleven,
    and five of them turned by a quarter. k-means has Gabor moduli smoothed by Gaussians,
    standardised, ten starts; frequency and width are chosen on four other layouts, with the
    textures known. The settings of `TextureSegmenter` were chosen by hand on other layouts of the
    same textures, with three spare segments for stones and eight for sixteen textures.
    """
    for name in images:
        given = collection(name)
        choice = tuned_k_means(given) if given.n < 16 else None
        shares: dict[str, list[float]] = {}
        seconds = 0.0
        for seed in seeds:
            mosaic = layout(given, seed)
            began = process_time()
            labels = clone(given.model).set_params(random_state=seed).fit_predict(mosaic.image)
            seconds += process_time() - began
            shares.setdefault("TextureSegmenter", []).append(correct(mosaic, labels))
            if choice:
                share = correct(mosaic, k_means(mosaic, choice))
                shares.setdefault("k-means", []).append(share)
        for method, found in shares.items():
            row = {"images": name, "method": method, "median": median(found), "worst": min(found)}
            yield row | ({} if method == "k-means" else {"CPU s": seconds / len(found)})


def collection(name: str) -> Images:
    """Textures and a segmenter by name."""
    kind, _, how = name.partition(", ")
    brodatz = corpora.textures()
    if kind == "Brodatz":
        patterns, n, side, model = list(brodatz.values()), 5, 256, TextureSegmenter(5)
    else:
        from skimage import data

        full = {stone: getattr(data, stone)() for stone in ("brick", "grass", "gravel")}
        halved = {
            stone: image.reshape(256, 2, 256, 2).mean(axis=(1, 3)) for stone, image in full.items()
        }
        if kind == "sixteen":
            eleven = brodatz | halved
            patterns = [*eleven.values(), *(np.rot90(eleven[name]) for name in TURNED)]
            n, side, model = 16, 512, TextureSegmenter(16, n_spare=8)
        elif how:
            wider = GaborHistograms(frequency=0.21, step=8)
            patterns, n, side = list(full.values()), 3, 512
            model = TextureSegmenter(3, n_spare=3, features=wider, reach=16)
        else:
            patterns, n, side = list(halved.values()), 3, 256
            model = TextureSegmenter(3, n_spare=3)
    scaled = [ranks(image) if how == "equalised" else image / 255 for image in patterns]
    return Images(scaled, n, side, model)


def layout(images: Images, seed: int) -> Mondrian:
    """A mosaic of some of the textures."""
    rng = np.random.RandomState(seed)
    chosen = rng.choice(len(images.patterns), images.n, replace=False)
    return make_mondrian([images.patterns[k] for k in chosen], (images.side, images.side), rng)


def tuned_k_means(images: Images) -> Smoothing:
    """The best settings of k-means on other layouts, whose textures are known."""
    mosaics = [layout(images, seed) for seed in TUNING]
    return max(GRID, key=lambda one: mean(correct(m, k_means(m, one)) for m in mosaics))


def ranks(image: np.ndarray) -> np.ndarray:
    """Grey levels made uniform in [0, 1)."""
    order = image.ravel().argsort(kind="stable").argsort(kind="stable")
    return order.reshape(image.shape) / image.size


def correct(mosaic: Mondrian, labels: np.ndarray) -> float:
    """Share of the pixels whose segment is matched with their texture."""
    pixels = confusion_matrix(mosaic.labels.ravel(), labels.ravel())
    return float(pixels[linear_sum_assignment(-pixels)].sum() / labels.size)


def k_means(mosaic: Mondrian, choice: Smoothing) -> np.ndarray:
    """Clusters of smoothed Gabor moduli; found on every 16th pixel, assigned to all."""
    bank = gabor_moduli(mosaic.image, 3, 4, choice.frequency)
    planes = [
        gaussian_filter(modulus, choice.width * 2 ** (channel // 4) / choice.frequency)
        for channel, modulus in enumerate(bank)
    ]
    features = np.stack(planes, axis=-1)
    features = (features - features.mean(axis=(0, 1))) / features.std(axis=(0, 1))
    clusters = KMeans(len(np.unique(mosaic.labels)), n_init=10, random_state=0)
    with threadpool_limits(1):
        clusters.fit(features[1::4, 1::4].reshape(-1, len(planes)))
        found = clusters.predict(features.reshape(-1, len(planes)))
    return found.reshape(mosaic.labels.shape)


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
    >>> from benchmarks.textures import make_mondrian
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
