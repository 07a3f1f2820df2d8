"""Programmes of genes in simulated cells, and types of real cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks import peers
from benchmarks.experiment import Row, experiment
from skcooc import AspectModel, AsymmetricClustering, AveragedModels
from skcooc.inspection import characteristic_features, distinguishing_features, top_features

GENES, TYPES, ACTIVITIES, MARKERS = 2000, 8, 2, 40
RAISED, SPREAD, ACTIVE, DISPERSION = 0.025, 1.0, 0.35, 0.1
FOLDS = {"moderate": 1.0, "strong": 1.5}  # logarithms of factors, in the median
TOLERANCE = 0.02  # of a correlation below that of EM from the truth: a fit that failed
LOST = 0.8  # correlation, below which an activity counts as lost
STEADY = 1e-5  # probability that is added before ratios are taken
STARTS = 5  # of NMF


class Cells(NamedTuple):
    """Simulated counts and the truth."""

    X: sp.csr_array  # (N, M) counts
    use: np.ndarray  # (N, K)
    programmes: np.ndarray  # (K, M)
    markers: np.ndarray  # (K, 40)


class Found(NamedTuple):
    """The result of a method, in any units."""

    use: np.ndarray  # (N, K)
    programmes: np.ndarray  # (K, M)
    model: AspectModel | None = None


Method = Callable[[sp.csr_array, int, int], Found]  # counts, K, seed


@experiment(
    minutes=12,
    models=["AspectModel", "AveragedModels"],
    quick={"folds": ["strong"], "depths": [1000], "methods": ["AspectModel"], "seeds": [0]},
)
def cells(
    folds: Sequence[str] = ("moderate", "strong"),
    depths: Sequence[int] = (1000, 3000, 10000),
    methods: Sequence[str] = (),
    n_cells: int = 1000,
    seeds: Sequence[int] = (0, 1, 2, 3),
) -> Iterator[Row]:
    """Are the programmes of genes of simulated cells found, their use and their markers?

    Counts as of scsim (D. Kotliar et al., eLife 8, e43803, 2019) with fewer genes, less dispersion
    and activities in all types: 2000 genes; ten programmes, in which a gene is raised with
    probability .025 by a log-normal factor of e (moderate) or 4.5 (strong) in the median; a cell is
    of one of eight types, and 35 % of the cells have .1 to .7 of their counts of one of two
    activities; negative binomial counts, 1000 to 10,000 molecules in a cell in the median. The
    number of programmes is given. "correlation" is that of the use of matched programmes over
    cells, "worst" of the worst programme; "markers": share of the 40 most raised genes among the
    first 40 found, by the ratio of probabilities to their mean over programmes. A fit "failed" if
    its worst programme is more than .02 below that of EM from the truth. "true programmes" is given
    the programmes and finds the use, "true use" the reverse. NMF is that of cNMF after division by
    the depth of a cell, the best of five starts. Averages and LDA, which takes minutes for ten
    million molecules, are in `blood-cells` alone.
    """
    chosen = methods or [name for name in METHODS if name not in SLOW]
    for fold in folds:
        for depth in depths:
            for seed in seeds:
                data = simulated(n_cells, depth, FOLDS[fold], seed)
                case = {"fold": fold, "molecules": depth, "seed": seed}
                best = scored(data, oracle(data))
                yield {**case, "method": "EM from the truth", **best}
                for name, given in ORACLES.items():
                    yield {**case, "method": name, **scored(data, oracle(data, **given))}
                for name in chosen:
                    began = process_time()
                    with threadpool_limits(1):
                        found = METHODS[name](data.X, TYPES + ACTIVITIES, seed)
                    row = {"CPU s": process_time() - began} | scored(data, found)
                    row["failed, %"] = 100.0 * (row["worst"] < best["worst"] - TOLERANCE)
                    yield {**case, "method": name, **row}
                    if found.model is not None:
                        yield from (case | row for row in rankings(data, found.model))


@experiment(minutes=8, models=["AspectModel"], quick={"seeds": [100], "starts": [0, 1]})
def activities(
    fold: str = "moderate",
    molecules: int = 3000,
    n_cells: int = 1000,
    seeds: Sequence[int] = tuple(range(100, 120)),
    starts: Sequence[int] = (0, 1, 2, 3, 4),
) -> Iterator[Row]:
    """Are both activities of simulated cells found, by one run of EM and by two?

    Tables are simulated as in `cells`, with other seeds, and each is fitted from several random
    starts. "worst activity" is the smaller of the correlations of the use of the two activities
    with that of the topics matched; an activity is lost if it is below .8. The better of two fits,
    from this start and the next, is the one with the lower objective.
    """
    for seed in seeds:
        data = simulated(n_cells, molecules, FOLDS[fold], seed)
        fits = {(n, start): timed_fit(data, start, n_init=n) for n in (1, 2) for start in starts}
        for place, start in enumerate(starts):
            one, two = fits[1, start], fits[2, start]
            other = fits[1, starts[(place + 1) % len(starts)]]
            better = min(one, other, key=lambda fit: fit.objective)
            case = {"seed": seed, "start": start}
            yield {**case, "method": "AspectModel", **one.row}
            yield {**case, "method": "AspectModel(n_init=2)", **two.row}
            seconds = one.row["CPU s"] + other.row["CPU s"]
            yield {**case, "method": "better of two fits", **better.row, "CPU s": seconds}


class TimedFit(NamedTuple):
    """How well an aspect model finds the activities."""

    objective: float
    row: Row


def timed_fit(data: Cells, start: int, n_init: int) -> TimedFit:
    """Fit an aspect model, and compare its topics with the activities."""
    began = process_time()
    with threadpool_limits(1):
        model = AspectModel(TYPES + ACTIVITIES, n_init=n_init, random_state=start).fit(data.X)
    seconds = process_time() - began
    both, order = matched(data, model.embedding_)
    worst = float(both[range(TYPES, len(order)), order[TYPES:]].min())
    row = {
        "worst activity": worst,
        "fits that lost one (%)": 100.0 * (worst < LOST),
        "CPU s": seconds,
    }
    return TimedFit(model.objective_, row)


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
    """Probabilities of genes divided by their mean over programmes."""
    P = normalize(programmes, "l1") + STEADY
    return P / P.mean(axis=0)


def oracle(data: Cells, programmes: bool = False, use: bool = False, n_iter: int = 80) -> Found:
    """EM from the true programmes, all used alike; they, or the true use, may stay as they are."""
    X, theta, P = (
        data.X.toarray(),
        np.full_like(data.use, 1 / data.use.shape[1]),
        data.programmes,
    )
    if use:
        theta = data.use
        P = np.tile(X.sum(axis=0) / X.sum(), (len(P), 1))
    for _ in range(n_iter):
        ratio = X / np.maximum(theta @ P, 1e-300)
        new = normalize(theta * (ratio @ P.T), "l1")
        if not programmes:
            P = normalize(P * ((theta * X.sum(axis=1, keepdims=True)).T @ ratio), "l1")
        theta = theta if use else new
    return Found(theta, P)


ORACLES = {"true programmes": {"programmes": True}, "true use": {"use": True}}


def scored(data: Cells, found: Found) -> Row:
    """How well use and markers agree with the truth."""
    both, order = matched(data, found.use)
    of = both[np.arange(len(order)), order]
    markers = share_found(first(ratios(found.programmes)), data.markers, order)
    row: Row = {"correlation": float(of.mean()), "worst": float(of.min())}
    return row | {"ranking": "ratio to the mean", "markers": markers}


def matched(data: Cells, use: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlations of the true use with that found, and the programme found for each true one."""
    use = normalize(np.maximum(use, 1e-300), "l1")
    K = use.shape[1]
    both = np.nan_to_num(np.corrcoef(data.use.T, use.T)[:K, K:])
    return both, linear_sum_assignment(-both)[1]


def share_found(genes: np.ndarray, markers: np.ndarray, order: np.ndarray) -> float:
    """The share of the markers that are among the first genes of the programme matched."""
    pairs = zip(genes[order], markers, strict=True)
    return float(np.mean([np.isin(of, among).mean() for among, of in pairs]))


def rankings(data: Cells, model: AspectModel) -> Iterator[Row]:
    """The markers that are found by the rankings of `inspection`."""
    order = matched(data, model.embedding_)[1]
    for name, lists in shown(model, data.X, MARKERS).items():
        genes = np.full((len(lists), MARKERS), -1)
        for k, columns in enumerate(lists):
            genes[k, : len(columns)] = columns
        yield {
            "method": "AspectModel",
            "ranking": name,
            "markers": share_found(genes, data.markers, order),
        }


def shown(model: AspectModel, X: sp.csr_array, n: int) -> dict[str, list[list[int]]]:
    """The first n columns of each topic, as `inspection` ranks them."""
    table = distinguishing_features(model, X, n_features=n)
    topics = range(len(model.weights_))
    lists = {
        "most probable": top_features(model, n_features=n),
        "characteristic": characteristic_features(model, n_features=n),
        "log-ratio": [table["feature"][table["component"] == k].tolist() for k in topics],
    }
    numbers = {name: [[int(word[1:]) for word in of] for of in all] for name, all in lists.items()}
    return numbers


def aspects(**parameters: Any) -> Method:
    """An aspect model with other parameters."""

    def found(X: sp.csr_array, K: int, seed: int) -> Found:
        model = AspectModel(K, random_state=seed, **parameters).fit(X)
        return Found(model.embedding_, model.components_, None if parameters else model)

    return found


def averaged(X: sp.csr_array, K: int, seed: int) -> Found:
    model = AveragedModels(AspectModel(K), random_state=seed).fit(X).consensus_
    return Found(model.embedding_, model.components_)


def nmf(X: sp.csr_array, K: int, seed: int) -> Found:
    """Of shares divided by the standard deviation of each gene, the best of five starts."""
    parts = normalize(X, "l1")
    scale = np.sqrt(parts.power(2).mean(axis=0) - np.asarray(parts.mean(axis=0)) ** 2)
    scale = np.maximum(scale, 1e-12)
    scaled, fits = sp.csr_array(parts / scale), []
    for start in range(STARTS):
        model = NMF(K, init="random", random_state=STARTS * seed + start, max_iter=200)
        fits.append((model.fit_transform(scaled), model))
    use, model = min(fits, key=lambda fitted: fitted[1].reconstruction_err_)
    programmes = model.components_ * scale
    return Found(use * programmes.sum(axis=1), programmes)


def nmf_kl(X: sp.csr_array, K: int, seed: int) -> Found:
    model = NMF(
        K, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=seed,
        max_iter=150,
    )  # fmt: skip
    use = model.fit_transform(X)
    return Found(use * model.components_.sum(axis=1), model.components_)


def lda(X: sp.csr_array, K: int, seed: int) -> Found:
    """The last sample of tomotopy's sampler, which optimises alpha."""
    sampler = peers.gibbs_sampler(X, K, 0.1, 0.1, seed=seed)
    sampler.train(200, workers=1)
    factors = peers.posterior_means(sampler, X)
    return Found(factors.mixtures, factors.components)


METHODS: dict[str, Method] = {
    "AspectModel": aspects(),
    "AspectModel(n_init=2)": aspects(n_init=2),
    "AspectModel(leave_one_out=True)": aspects(leave_one_out=True),
    "AveragedModels (consensus)": averaged,
    "NMF (best of five)": nmf,
    "NMF (Kullback-Leibler)": nmf_kl,
    "LDA": lda,
}
SLOW = {"AveragedModels (consensus)", "LDA"}


@experiment(
    minutes=3,
    models=["AspectModel", "AsymmetricClustering", "AveragedModels"],
    quick={"methods": ["AspectModel"], "seeds": [0]},
    needs=["scanpy"],
)
def blood_cells(
    methods: Sequence[str] = (), K: int = 10, seeds: Sequence[int] = (0, 1, 2, 3, 4)
) -> Iterator[Row]:
    """Do the largest topics of blood cells agree with the types of the cells?

    700 cells, 765 variable genes and ten types, which scanpy ships (pbmc68k_reduced). The file has
    logarithms of shares; they are whole multiples of one molecule, so that counts can be restored.
    """
    X, types = blood_counts()
    for name in methods or [*METHODS, "AsymmetricClustering"]:
        for seed in seeds:
            began = process_time()
            with threadpool_limits(1):
                labels = largest(name, X, K, seed)
            yield {
                "method": name,
                "seed": seed,
                "NMI": normalized_mutual_info_score(types, labels),
                "ARI": adjusted_rand_score(types, labels),
                "CPU s": process_time() - began,
            }


def largest(name: str, X: sp.csr_array, K: int, seed: int) -> np.ndarray:
    """The largest component of each cell, or its cluster."""
    if name == "AsymmetricClustering":
        return AsymmetricClustering(K, random_state=seed).fit(X).labels_
    return normalize(np.maximum(METHODS[name](X, K, seed).use, 1e-300), "l1").argmax(axis=1)


def blood_counts() -> tuple[sp.csr_array, np.ndarray]:
    """Counts of 700 cells and 765 genes, and the types given with them.

    The file has logarithms of 1 + counts of 10,000 in all, to three decimals. The smallest count of
    each cell is one molecule; ValueError if others are no multiples of it, or if the number of
    molecules does not follow from it.
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
        raise ValueError("Whole counts cannot be restored from this file.")
    types = adata.obs["bulk_labels"].to_numpy().astype(str)
    return sp.csr_array((counts, logs.indices, logs.indptr), shape=logs.shape), types
