"""How well do the clustering models predict, and how fast are they?

Parts, all of them optional:

memo        Table 2 of the memo: Cranfield, ten folds of observations, ``beta="auto"``, one seed a
            fold; mean and standard deviation over the folds beside the figures of the memo. The
            temperature and the smoothing are chosen on training observations alone.
speed       An EM iteration of AsymmetricClustering on 20 Newsgroups, 64 clusters, float32, one and
            two threads, beside the two sparse products alone by scipy; the least of several, taken
            in turns.
multiscale  A mosaic of eight Brodatz textures, 128 x 128 sites with histograms of 480 bins:
            AsymmetricClustering with and without multiscale optimisation, annealed and from random
            starts, at two temperatures; seconds of a whole fit with one thread, and by how much
            the final free energies differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from statistics import mean, stdev
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import uniform_filter
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import corpora, reporting
from benchmarks.papers import paper_tables
from benchmarks.papers.texture import ranks
from benchmarks.quality import folds, tuned
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ProductSpaceMixture,
    SymmetricClustering,
)
from skcooc.counts import CSRCounts
from skcooc.counts.passes import threads
from skcooc.equations.row_clusters import RowClusters
from skcooc.image import grid_coarsening

Row = dict[str, Any]

ESTIMATORS: dict[str, Callable[..., Any]] = {
    "AsymmetricClustering": AsymmetricClustering,
    "SymmetricClustering": lambda K, **parameters: SymmetricClustering(K, K, **parameters),
    "ProductSpaceMixture": lambda K, **parameters: ProductSpaceMixture(K, K, **parameters),
    "AspectModel": AspectModel,
}
SITES, SEGMENTS, CELLS, WINDOW = 128, 8, 16, 9
FREQUENCIES, ORIENTATIONS, BINS = (0.25, 0.125, 0.0625), 4, 40


def memo(options: argparse.Namespace) -> Iterator[Row]:
    """Ten folds of Cranfield."""
    dyads, parts = folds.cranfield_folds()
    base = [folds.unigram_on_fold(dyads, *part) for part in parts]
    line = {"model": "unigram", "K": 1, "perplexity": mean(base), "sd": stdev(base)}
    yield line | {"memo": paper_tables.MEMO_UNIGRAM["cranfield"]}
    for name, estimator in ESTIMATORS.items():
        family = paper_tables.FAMILIES.get(name)
        reported = paper_tables.MEMO["cranfield"][family.memo] if family else {}
        for K in options.components:
            measured = folds.on_folds(estimator, K, dyads, parts, options.jobs)
            of_memo = reported[K].perplexity if K in reported else ""
            yield {"model": name, "K": K, **measured, "memo": of_memo}


def speed(options: argparse.Namespace) -> Iterator[Row]:
    """One iteration beside scipy's products."""
    X = corpora.newsgroups20().X.astype(np.float32)
    model, beta = RowClusters(64), 0.05
    counts = CSRCounts(X)
    params, rows = model.start(counts, np.random.default_rng(0))
    posteriors, _ = model.expect(counts, params, rows, beta)
    log_q = np.log(params.components)

    def iteration(counts: CSRCounts) -> None:
        model.maximize(model.expect(counts, params, rows, beta)[1], params, beta)

    with threads(1) as one, threads(2) as two:
        serial, parallel = counts.with_threads(1, one), counts.with_threads(2, two)
        actions: dict[str, Callable[[], Any]] = {
            "scipy.sparse, the two products": lambda: (X @ log_q, X.T @ posteriors),
            "iteration, one thread": lambda: iteration(serial),
            "iteration, two threads": lambda: iteration(parallel),
        }
        seconds: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(options.repeats):
            for name, action in actions.items():
                seconds[name].append(reporting.clock(action))
    peer = min(seconds["scipy.sparse, the two products"])
    for name, times in seconds.items():
        yield {"what": name, "ms": 1e3 * min(times), "times faster": peer / min(times)}


def multiscale(options: argparse.Namespace) -> Iterator[Row]:
    """The mosaic with and without tied sites."""
    X, labels = mosaic()
    groups = grid_coarsening((SITES, SITES))
    yield {"what": f"{X.nnz} non-zeros, {X.sum() / X.shape[0]:.0f} observations a site"}
    for annealing in (1.1, None):
        for beta in (0.018, 0.05):
            for seed in range(options.seeds):
                model = {"beta": beta, "annealing": annealing, "random_state": seed}
                single, tied = (_timed(X, labels, g, model) for g in (None, groups))
                yield {
                    "start": "random" if annealing is None else "annealed",
                    "beta": beta,
                    "seed": seed,
                    "single, s": single["seconds"],
                    "multiscale, s": tied["seconds"],
                    "times faster": single["seconds"] / tied["seconds"],
                    "energy, %": 100 * (tied["energy"] / single["energy"] - 1),
                    "single, NMI": single["NMI"],
                    "multiscale, NMI": tied["NMI"],
                }


def _timed(X: Any, labels: np.ndarray, coarsening: Any, parameters: dict[str, Any]) -> Row:
    model = AsymmetricClustering(SEGMENTS, coarsening=coarsening, **parameters)
    seconds = reporting.clock(model.fit, X)
    nmi = normalized_mutual_info_score(labels, model.labels_)
    return {"seconds": seconds, "energy": model.objective_, "NMI": nmi}


def mosaic() -> tuple[Any, np.ndarray]:
    """Histograms of Gabor moduli at the sites of a mosaic of textures, and the textures.

    Moduli are cut into bins of equal numbers of pixels, counted in a window around each site.
    """
    place = np.random.default_rng(0).uniform(0, SITES, (CELLS, 2))
    y, x = np.mgrid[:SITES, :SITES]
    nearest = (y[..., None] - place[:, 0]) ** 2 + (x[..., None] - place[:, 1]) ** 2
    labels = nearest.argmin(axis=-1) % SEGMENTS
    textures = corpora.textures()
    parts = [ranks(textures[name]) for name in sorted(textures)[:SEGMENTS]]
    image = np.choose(labels, [part[:SITES, :SITES] for part in parts])
    columns = [
        np.rint(WINDOW**2 * uniform_filter((bins == b).astype(float), WINDOW, mode="nearest"))
        for bins in map(_binned, _gabor_moduli(image))
        for b in range(BINS)
    ]
    X = sp.csr_array(np.stack([column.ravel() for column in columns], axis=1, dtype=np.float32))
    return X, labels.ravel()


def _gabor_moduli(image: np.ndarray) -> Iterator[np.ndarray]:
    y, x = np.fft.fftfreq(SITES)[:, None], np.fft.fftfreq(SITES)[None]
    spectrum = np.fft.fft2(image - image.mean())
    for frequency in FREQUENCIES:
        for angle in np.pi * np.arange(ORIENTATIONS) / ORIENTATIONS:
            off = (x - frequency * np.cos(angle)) ** 2 + (y - frequency * np.sin(angle)) ** 2
            yield np.abs(np.fft.ifft2(spectrum * np.exp(-off / (2 * (frequency / 2.5) ** 2))))


def _binned(modulus: np.ndarray) -> np.ndarray:
    return (BINS * ranks(modulus)).astype(int)


PARTS = {"memo": memo, "speed": speed, "multiscale": multiscale}


def main() -> None:
    """Run the parts asked for."""
    tuned.silence()
    parser = folds.options(str(__doc__), PARTS)
    parser.add_argument("--seeds", type=int, default=3, help="of 'multiscale'")
    parser.add_argument("--repeats", type=int, default=20, help="of 'speed'")
    reporting.run_parts(PARTS, parser.parse_args())


if __name__ == "__main__":
    main()
