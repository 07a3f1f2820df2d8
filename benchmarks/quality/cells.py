"""Programmes of genes in simulated cells: are their use and their markers found?

A cell is mostly of one type and has some activity of other programmes. A programme multiplies the
level of 40 genes, its markers, by a factor of 2 to 8 (log-normal levels of all genes; cells
differ in depth; counts are negative binomial around their means). Correlations are those of the
use of matched programmes over cells, and markers are looked for among the first 40 genes: by
log-ratio for ours (`distinguishing_features`), and for all by the ratio of a gene's probability to
its mean over programmes. NMF is given counts divided by depth, as in cNMF, and counts by
Kullback-Leibler divergence; LDA counts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.preprocessing import normalize

from benchmarks import reporting
from skcooc import AspectModel, AveragedModels
from skcooc.inspection import distinguishing_features

GENES, MARKERS, DISPERSION = 2000, 40, 0.1


def simulated(n_cells: int, K: int, seed: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Counts, the use of each programme by each cell, and the markers (K, 40)."""
    rng = np.random.default_rng(seed)
    levels = rng.lognormal(0, 1.2, GENES)
    markers = rng.permutation(GENES)[: K * MARKERS].reshape(K, MARKERS)
    P = np.tile(levels, (K, 1))
    for k in range(K):
        P[k, markers[k]] *= rng.lognormal(np.log(4), 0.4, MARKERS)
    P /= P.sum(axis=1, keepdims=True)
    use = 0.7 * np.eye(K)[rng.integers(K, size=n_cells)]
    use = use + 0.3 * rng.dirichlet(np.full(K, 0.3), n_cells)
    means = rng.lognormal(np.log(3000), 0.4, n_cells)[:, None] * (use @ P)
    counts = rng.poisson(rng.gamma(1 / DISPERSION, DISPERSION * means))
    return sp.csr_array(counts.astype(np.float64)), use, markers


def aspects(X: sp.csr_array, K: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The default of this package."""
    model = AspectModel(K, random_state=seed).fit(X)
    return model.embedding_, model.components_


def averaged(X: sp.csr_array, K: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The consensus of five fits."""
    model = AveragedModels(AspectModel(K), random_state=seed).fit(X).consensus_
    return model.embedding_, model.components_


def nmf(X: sp.csr_array, K: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of counts divided by depth, and by the standard deviation of each gene."""
    shares = normalize(X, "l1")
    scale = np.sqrt((shares.power(2).mean(axis=0)) - np.asarray(shares.mean(axis=0)) ** 2)
    model = NMF(K, random_state=seed, max_iter=400)
    use = model.fit_transform(sp.csr_array(shares / np.maximum(scale, 1e-12)))
    return use, model.components_ * scale


def nmf_kl(X: sp.csr_array, K: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of counts, by Kullback-Leibler divergence."""
    model = NMF(K, beta_loss="kullback-leibler", solver="mu", random_state=seed, max_iter=400)
    use = model.fit_transform(X)
    return use * model.components_.sum(axis=1), model.components_


def lda(X: sp.csr_array, K: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Of counts."""
    model = LatentDirichletAllocation(K, random_state=seed, max_iter=30)
    return model.fit_transform(X), model.components_


METHODS: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "AspectModel": aspects,
    "consensus of five": averaged,
    "NMF": nmf,
    "NMF, Kullback-Leibler": nmf_kl,
    "LDA": lda,
}


def first_genes(components: np.ndarray) -> np.ndarray:
    """Those whose probability is largest beside the mean over programmes, (K, 40)."""
    P = components / components.sum(axis=1, keepdims=True)
    ratios = (P + 1e-7) / (P.mean(axis=0) + 1e-7)
    return np.argsort(-ratios, axis=1)[:, :MARKERS]


def by_log_ratio(X: sp.csr_array, K: int, seed: int) -> np.ndarray:
    """The first genes of `distinguishing_features`, (K, 40); -1 where there are fewer."""
    model = AspectModel(K, random_state=seed).fit(X)
    table = distinguishing_features(model, X, n_features=MARKERS)
    genes = np.full((K, MARKERS), -1)
    for k in range(K):
        found = [int(name[1:]) for name in table["feature"][table["component"] == k]]
        genes[k, : len(found)] = found
    return genes


def share_found(genes: np.ndarray, markers: np.ndarray, order: np.ndarray) -> float:
    """The share of the markers that are among the first genes of the programme matched."""
    pairs = zip(genes[order], markers, strict=True)
    return float(np.mean([np.isin(of, among).mean() for among, of in pairs]))


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each method and table."""
    K = options.components
    for seed in options.seeds:
        X, use, markers = simulated(options.cells, K, seed)
        for name, method in METHODS.items():
            began = process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, components = method(X, K, seed)
            seconds = process_time() - began
            found = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
            both = np.corrcoef(use.T, found.T)[:K, K:]
            order = linear_sum_assignment(-both)[1]
            row = {
                "method": name,
                "seed": seed,
                "correlation": float(both[np.arange(K), order].mean()),
                "least": float(both[np.arange(K), order].min()),
                "markers": share_found(first_genes(components), markers, order),
                "by log-ratio": np.nan,
                "CPU seconds": seconds,
            }
            if name == "AspectModel":
                row["by log-ratio"] = share_found(by_log_ratio(X, K, seed), markers, order)
            yield row


def main() -> None:
    """Measure, print and save."""
    parser = reporting.options(__doc__)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--cells", type=int, default=3000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    rows = reporting.collect(measured(options), options.output, results, "tables")
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
