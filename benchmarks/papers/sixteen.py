"""A mosaic of sixteen textures, its segments, and the pixels that are wrong.

After figure 2 (a) of Hofmann and Puzicha, ICPR 1998. There are eleven textures here: eight of
Brodatz, and brick, grass and gravel of scikit-image at half their size. The five of them that
change most by a quarter of a turn (half the sum of absolute differences of their histograms of
Gabor responses, .22 to .46) stand for others when turned. Mosaics of 512 x 512, random layouts,
with the textures' grey levels made uniform, so that only texture counts, and as they are. Eight
spare segments instead of four, because there are more borders: chosen out of four, eight and twelve
on four other layouts (seeds 300 to 303), equalised. The first layout, equalised, is drawn:
``docs/sixteen.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks import corpora, reporting
from benchmarks.mondrian import Mondrian
from benchmarks.papers.texture import correct, layout, matched, ranks
from skcooc.image import TextureSegmenter

TURNED = ("D4", "D21", "D55", "D68", "brick")
SIDE = 512

Row = dict[str, Any]


def sixteen() -> list[np.ndarray]:
    """Eleven textures, and five of them by a quarter of a turn."""
    from skimage import data

    stones = {name: getattr(data, name)() for name in ("brick", "grass", "gravel")}
    halved = {
        name: image.reshape(256, 2, 256, 2).mean(axis=(1, 3)) for name, image in stones.items()
    }
    eleven = corpora.textures() | halved
    return [*eleven.values(), *(np.rot90(eleven[name]) for name in TURNED)]


def measured(options: argparse.Namespace) -> Iterator[Row]:
    """Correct pixels, layout by layout."""
    textures = sixteen()
    model = TextureSegmenter(len(textures), n_spare=8)
    for equalised in (True, False):
        patterns = [ranks(texture) if equalised else texture / 255 for texture in textures]
        for seed in range(options.layouts):
            mosaic = layout(patterns, len(textures), SIDE, seed)
            began = process_time()
            fitted = clone(model).set_params(random_state=seed).fit(mosaic.image)
            yield {
                "equalised": equalised,
                "layout": seed,
                "correct": correct(mosaic, fitted.labels_),
                "seconds of processor time": process_time() - began,
            }
            if equalised and seed == 0:
                draw(fitted, mosaic, options.picture)


def draw(fitted: TextureSegmenter, mosaic: Mondrian, path: Path) -> None:
    """The mosaic, and what was found, the errors in black."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
    left.imshow(mosaic.image, cmap="gray")
    colours = plt.get_cmap("tab20")(fitted.labels_)[..., :3]
    wrong = matched(mosaic.labels, fitted.labels_) != fitted.labels_
    right.imshow(np.where(wrong[..., None], 0.0, colours))
    titles = ("sixteen textures", f"segments: {1 - wrong.mean():.1%} correct, errors in black")
    for ax, title in zip((left, right), titles, strict=True):
        ax.set_axis_off()
        ax.set_title(title, fontsize=10)
    reporting.save_picture(figure, path, dpi=110, colours=64)


def main() -> None:
    """Measure, and print medians."""
    parser = reporting.options(str(__doc__))
    parser.add_argument("--layouts", type=int, default=10)
    parser.add_argument("--picture", type=Path, default=reporting.DOCS / "sixteen.png")
    options = parser.parse_args()
    results = {"options": reporting.given(options)}
    rows = reporting.collect(measured(options), options.output, results, "rows")
    for equalised in (True, False):
        shares = [row["correct"] for row in rows if row["equalised"] == equalised]
        print(f"{equalised=}: median {median(shares):.3f}, worst {min(shares):.3f}")


if __name__ == "__main__":
    main()
