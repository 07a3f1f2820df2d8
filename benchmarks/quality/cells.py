"""Programmes of genes in simulated cells: are their use and their markers found?

Counts as of scsim (D. Kotliar et al., eLife 8, e43803, 2019), which follows Splatter (L. Zappia,
B. Phipson and A. Oshlack, Genome Biology 18, 174, 2017): gamma levels of 2000 genes; in each of ten
programmes a gene is raised with probability .025, by a log-normal factor with the logarithm 1
(moderate) or 1.5 (strong) in the median; a cell is of one of eight types, and 35 % of the cells
have .1 to .7 of their counts of one of two activities instead; log-normal depths; negative binomial
counts. Beside this part, `--parts pbmc` has 700 cells of blood, which scanpy ships, with types.

Use: correlations over cells of matched programmes, their mean and the least. Markers: which share
of the 40 genes that a programme raises most is among the first 40 found, by the ratio of
probabilities to their mean over programmes (for all methods alike), and of ours by those that
`inspection` has. "true programmes" is told the programmes and finds the use, "true use" is told the
use and finds programmes, "EM from the truth" begins with the true programmes and goes on to the
nearest maximum of the likelihood.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from benchmarks import reporting
from benchmarks.quality import markers
from skcooc import AspectModel, AsymmetricClustering, AveragedModels
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, State, fit
from skcooc.em.solvers import Momentum
from skcooc.equations.aspects import Aspects, Params

GENES, TYPES, ACTIVITIES, MARKERS = 2000, 8, 2, 40
RAISED, SPREAD, ACTIVE, DISPERSION = 0.025, 1.0, 0.35, 0.1
FOLDS = {"moderate": 1.0, "strong": 1.5}
STEADY = 1e-5  # probability that is added before ratios are taken
K_PBMC = 10


class Cells(NamedTuple):
    """A table that is known."""

    X: sp.csr_array  # (N, M) counts
    use: np.ndarray  # (N, K)
    programmes: np.ndarray  # (K, M)
    markers: np.ndarray  # (K, 40)


class Found(NamedTuple):
    """What a method says, in any units."""

    use: np.ndarray  # (N, K)
    programmes: np.ndarray  # (K, M)
    model: AspectModel | None = None


def simulated(n_cells: int, depth: float, fold: float, seed: int) -> Cells:
    """Counts of cells of known programmes."""
    rng, K = np.random.default_rng(seed), TYPES + ACTIVITIES
    factors = np.ones((K, GENES))
    raised = rng.random(factors.shape) < RAISED
    drawn = rng.lognormal(fold, SPREAD, int(raised.sum()))
    factors[raised] = np.maximum(drawn, 1 / drawn)
    programmes = normalize(factors * rng.gamma(0.6, 1 / 0.3, GENES), "l1")
    use = np.eye(K)[rng.integers(TYPES, size=n_cells)]
    share = np.where(rng.random(n_cells) < ACTIVE, rng.uniform(0.1, 0.7, n_cells), 0.0)
    use *= 1 - share[:, None]
    use[np.arange(n_cells), TYPES + rng.integers(ACTIVITIES, size=n_cells)] += share
    means = rng.lognormal(np.log(depth), 0.4, n_cells)[:, None] * (use @ programmes)
    counts = rng.poisson(rng.gamma(1 / DISPERSION, DISPERSION * means)).astype(float)
    return Cells(sp.csr_array(counts), use, programmes, first(factors))


def first(scores: np.ndarray) -> np.ndarray:
    """The 40 genes of each programme with the largest scores."""
    return np.argsort(-scores, axis=1)[:, :MARKERS]


def ratios(programmes: np.ndarray) -> np.ndarray:
    """Probabilities of genes beside their mean over programmes."""
    P = normalize(programmes, "l1") + STEADY
    return P / P.mean(axis=0)


def aspects(X: sp.csr_array, K: int, seed: int) -> Found:
    """The default of this package."""
    model = AspectModel(K, random_state=seed).fit(X)
    return Found(model.embedding_, model.components_, model)


def leaving_out(X: sp.csr_array, K: int, seed: int) -> Found:
    """With leave-one-out EM."""
    model = AspectModel(K, random_state=seed, leave_one_out=True).fit(X)
    return Found(model.embedding_, model.components_)


def best_of_five(X: sp.csr_array, K: int, seed: int) -> Found:
    """The best of five starts."""
    model = AspectModel(K, random_state=seed, n_init=5).fit(X)
    return Found(model.embedding_, model.components_)


def from_clusters(X: sp.csr_array, K: int, seed: int) -> Found:
    """EM at beta = 1 that begins with clusters of cells, which no option of `AspectModel` does."""
    components = AsymmetricClustering(K, random_state=seed).fit(X).components_ + 1e-7
    weights = np.full(K, 1 / K)
    rows = np.full((X.shape[0], K), 1 / K)
    start = State(Params(normalize(components, "l1").T.copy(), weights), rows)
    leg = EMStage(Aspects(K, "joint", 0.0), CSRCounts(X), 1.0, 500, 3e-6)
    fitted = fit([leg], np.random.default_rng(seed), Momentum(), start=start)
    return Found(fitted.rows, fitted.params.components.T)


def averaged(X: sp.csr_array, K: int, seed: int) -> Found:
    """The consensus of five fits."""
    model = AveragedModels(AspectModel(K), random_state=seed).fit(X).consensus_
    return Found(model.embedding_, model.components_)


def nmf(X: sp.csr_array, K: int, seed: int) -> Found:
    """Of counts divided by the standard deviation of each gene, as in cNMF, and first by depth.

    cNMF itself does not divide by depth. The best of five starts, since single ones get stuck; cNMF
    takes medians of many more.
    """
    shares = normalize(X, "l1")
    scale = np.sqrt(shares.power(2).mean(axis=0) - np.asarray(shares.mean(axis=0)) ** 2)
    scale = np.maximum(scale, 1e-12)
    scaled, fits = sp.csr_array(shares / scale), []
    for start in range(5):
        model = NMF(K, init="random", random_state=5 * seed + start, max_iter=200)
        fits.append((model.fit_transform(scaled), model))
    use, model = min(fits, key=lambda fitted: fitted[1].reconstruction_err_)
    programmes = model.components_ * scale
    return Found(use * programmes.sum(axis=1), programmes)


def nmf_kl(X: sp.csr_array, K: int, seed: int) -> Found:
    """Of counts, by Kullback-Leibler divergence."""
    model = NMF(
        K, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=seed,
        max_iter=150,
    )  # fmt: skip
    use = model.fit_transform(X)
    return Found(use * model.components_.sum(axis=1), model.components_)


def lda(X: sp.csr_array, K: int, seed: int) -> Found:
    """Of counts."""
    model = LatentDirichletAllocation(K, random_state=seed, max_iter=15)
    return Found(model.fit_transform(X), model.components_)


METHODS: dict[str, Callable[..., Found]] = {
    "AspectModel": aspects,
    "leave_one_out": leaving_out,
    "n_init=5": best_of_five,
    "from clusters": from_clusters,
    "consensus of five": averaged,
    "NMF, best of five": nmf,
    "NMF, KL": nmf_kl,
    "LDA": lda,
}


def told(cells: Cells, programmes: bool = False, use: bool = False, n_iter: int = 80) -> Found:
    """EM from the true programmes, all used alike; they, or the true use, may stay as they are."""
    X, theta, P = (
        cells.X.toarray(),
        np.full_like(cells.use, 1 / cells.use.shape[1]),
        cells.programmes,
    )
    if use:
        theta = cells.use
        P = np.tile(X.sum(axis=0) / X.sum(), (len(P), 1))
    for _ in range(n_iter):
        ratio = X / np.maximum(theta @ P, 1e-300)
        new = normalize(theta * (ratio @ P.T), "l1")
        if not programmes:
            P = normalize(P * ((theta * X.sum(axis=1, keepdims=True)).T @ (ratio)), "l1")
        theta = theta if use else new
    return Found(theta, P)


ORACLES = {"true programmes": {"programmes": True}, "true use": {"use": True}}
ORACLES |= {"EM from the truth": {}}


def shown_genes(model: AspectModel, X: sp.csr_array) -> dict[str, np.ndarray]:
    """The first genes of each programme, by what `inspection` ranks them by; -1 where fewer."""
    words = markers.shown(model, X, MARKERS)
    genes = {name: np.full((len(lists), MARKERS), -1) for name, lists in words.items()}
    for name, lists in words.items():
        for k, names in enumerate(lists):
            genes[name][k, : len(names)] = [int(word[1:]) for word in names]
    return genes


def share_found(genes: np.ndarray, markers: np.ndarray, order: np.ndarray) -> float:
    """The share of the markers that are among the first genes of the programme matched."""
    pairs = zip(genes[order], markers, strict=True)
    return float(np.mean([np.isin(of, among).mean() for among, of in pairs]))


def scored(cells: Cells, found: Found) -> dict[str, float]:
    """How well use and markers agree with the truth."""
    use = normalize(np.maximum(found.use, 1e-300), "l1")
    K = use.shape[1]
    both = np.nan_to_num(np.corrcoef(cells.use.T, use.T)[:K, K:])
    order = linear_sum_assignment(-both)[1]
    of = both[np.arange(K), order]
    row = {"correlation": float(of.mean()), "least": float(of.min())}
    row["markers"] = share_found(first(ratios(found.programmes)), cells.markers, order)
    genes = shown_genes(found.model, cells.X) if found.model is not None else {}
    return row | {name: share_found(g, cells.markers, order) for name, g in genes.items()}


def grid(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each method and table."""
    settings = [(d, f, s) for f in options.folds for d in options.depths for s in options.seeds]
    for depth, fold, seed in settings:
        cells = simulated(options.cells, depth, FOLDS[fold], seed)
        for name in [*ORACLES, *options.methods]:
            began = process_time()
            if name in ORACLES:
                found = told(cells, **ORACLES[name])
            else:
                found = METHODS[name](cells.X, TYPES + ACTIVITIES, seed)
            seconds = process_time() - began
            row = {"fold": fold, "depth": depth, "seed": seed, "method": name}
            yield row | scored(cells, found) | {"CPU seconds": seconds}


def pbmc_counts() -> tuple[sp.csr_array, np.ndarray]:
    """Counts of 700 cells and 765 genes, and the types given with them.

    The file has logarithms of 1 + counts of 10,000 in all, to three decimals. The smallest count of
    each cell is one molecule; ValueError where others are no multiples of it, or where the number
    of molecules does not follow from it.
    """
    from anndata import read_h5ad

    found = find_spec("scanpy")
    if found is None or found.origin is None:
        raise ImportError("It needs scanpy's wheel: pip install scanpy")
    adata = read_h5ad(Path(found.origin).parent / "datasets" / "10x_pbmc68k_reduced.h5ad")
    logs = sp.csr_array(adata.raw.X).astype(float)
    values = np.expm1(logs.data)
    one = np.minimum.reduceat(values, logs.indptr[:-1])
    unit = np.repeat(one, np.diff(logs.indptr))
    counts = np.round(values / unit)
    rounded = 5.5e-4 * ((values + 1) / unit + values * (unit + 1) / unit**2)
    molecules = one * adata.obs["n_counts"].to_numpy()
    if (abs(values / unit - counts) > rounded).any() or abs(molecules / 1e4 - 1).max() > 2e-3:
        raise ValueError("Whole counts cannot be had from this file.")
    types = adata.obs["bulk_labels"].to_numpy().astype(str)
    return sp.csr_array((counts, logs.indices, logs.indptr), shape=logs.shape), types


def clusters(X: sp.csr_array, K: int, seed: int) -> Found:
    """Groups of cells."""
    model = AsymmetricClustering(K, random_state=seed).fit(X)
    return Found(np.eye(K)[model.labels_], model.components_)


def pbmc(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The largest topic of each cell beside its type."""
    X, types = pbmc_counts()
    for name, method in (METHODS | {"AsymmetricClustering": clusters}).items():
        for seed in options.seeds:
            began = process_time()
            found = method(X, K_PBMC, seed)
            seconds = process_time() - began
            largest = normalize(np.maximum(found.use, 1e-300), "l1").argmax(axis=1)
            yield {
                "method": name,
                "seed": seed,
                "NMI": normalized_mutual_info_score(types, largest),
                "ARI": adjusted_rand_score(types, largest),
                "CPU seconds": seconds,
            }


PARTS = {"grid": grid, "pbmc": pbmc}


def main() -> None:
    """Measure, print and save."""
    parser = reporting.options(__doc__, PARTS)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--depths", type=float, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--folds", choices=FOLDS, nargs="+", default=list(FOLDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=list(METHODS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reporting.run_parts(PARTS, parser.parse_args())


if __name__ == "__main__":
    main()
