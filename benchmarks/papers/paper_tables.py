"""Table 2 of the memo: the perplexity of held-out observations, four families of models.

Every observation is in one of ten folds. A model is fitted to nine of them and scored on the
tenth; its temperature and its smoothing are chosen inside ``fit``, on a tenth of the observations
of the nine. Cranfield is the memo's collection but for the selection of words; the adjective-noun
pairs of the Brown corpus stand in for those of the Penn Treebank.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.model_selection import KFold

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from benchmarks.quality.folds import unigram_perplexity
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    Dyads,
    SymmetricClustering,
)
from skcooc.datasets import make_cooccurrences
from skcooc.metrics import perplexity

Row = dict[str, Any]
Part = tuple[sp.csr_array, Dyads]  # training table, test observations

UNIGRAM = "unigram"
N_FOLDS = 10
HARDLY = 1e-3  # smoothing
CHOSEN = ("beta", "smoothing", "hardly smoothed", "seconds")


class Family(NamedTuple):
    """A model of ours, and the memo's name of it."""

    memo: str
    make: Callable[..., Any]  # (K, random_state=...) -> estimator


class Reported(NamedTuple):
    """What the memo reports."""

    beta: float
    perplexity: float


FAMILIES = {
    "AspectModel": Family("SMM", lambda K, **seed: AspectModel(K, leave_one_out=False, **seed)),
    "AspectModel, left out": Family(
        "SMM", lambda K, **seed: AspectModel(K, leave_one_out=True, **seed)
    ),
    "AsymmetricClustering": Family("ACM", AsymmetricClustering),
    "ClusterAbstraction": Family("HACM", ClusterAbstraction),
    "ClusterAbstraction, row": Family(
        "HACM", lambda K, **seed: ClusterAbstraction(K, abstraction="row", **seed)
    ),
    "ClusterAbstraction, joint": Family(
        "HACM", lambda K, **seed: ClusterAbstraction(K, tempering="joint", **seed)
    ),
    "ClusterAbstraction, grown": Family(
        "HACM", lambda K, **seed: ClusterAbstraction(K, tree="grown", **seed)
    ),
    "SymmetricClustering": Family("SCM", lambda K, **seed: SymmetricClustering(K, K, **seed)),
}
COLLECTIONS: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "brown": corpora.brown_pairs,
}


def _reported(*betas_and_perplexities: float) -> dict[int, Reported]:
    """Pairs of beta and perplexity, at K = 8 to 128."""
    values = iter(betas_and_perplexities)
    pairs = zip(values, values, strict=True)
    return {K: Reported(*pair) for K, pair in zip((8, 16, 32, 64, 128), pairs, strict=True)}


# Memo, table 2; the second half is about the Penn Treebank.
MEMO = {
    "cranfield": {
        "SMM": _reported(0.88, 482, 0.85, 431, 0.83, 386, 0.79, 360, 0.78, 353),
        "ACM": _reported(0.09, 527, 0.07, 482, 0.07, 452, 0.06, 527, 0.04, 663),
        "HACM": _reported(0.18, 511, 0.14, 471, 0.12, 438, 0.11, 422, 0.10, 410),
        "SCM": _reported(0.67, 615, 0.60, 543, 0.53, 506, 0.48, 477, 0.45, 462),
    },
    "brown": {
        "SMM": _reported(0.73, 312, 0.72, 255, 0.71, 205, 0.69, 182, 0.68, 166),
        "ACM": _reported(0.08, 352, 0.07, 302, 0.07, 254, 0.07, 223, 0.06, 231),
        "HACM": _reported(0.13, 322, 0.10, 268, 0.08, 226, 0.07, 204, 0.06, 179),
        "SCM": _reported(0.55, 394, 0.51, 335, 0.46, 286, 0.44, 272, 0.40, 241),
    },
}
MEMO_UNIGRAM = {"cranfield": 685.0, "brown": 639.0}


def table(data: str, quick: bool) -> sp.csr_array:
    """The counts of a collection, or small ones made up in its place."""
    if quick:
        return make_cooccurrences(60, 40, n_components=3, random_state=0).X.astype(np.float32)
    return COLLECTIONS[data]().X.astype(np.float32)


def divided(X: sp.csr_array, n_folds: int) -> Iterator[Part]:
    """The first of ten divisions of the observations into training and test."""
    dyads = Dyads(X)
    folds = KFold(N_FOLDS, shuffle=True, random_state=0).split(dyads)
    for train, test in islice(folds, n_folds):
        yield dyads[train].to_csr(), dyads[test]


def runs(data: str, options: argparse.Namespace) -> Iterator[Row]:
    """A row for every family, K and fold, and one with the seconds of every family in all."""
    parts = list(divided(table(data, options.quick), options.folds))
    for fold, part in enumerate(parts):
        yield {"model": UNIGRAM, "K": 1, "fold": fold, "perplexity": unigram_perplexity(*part)}
    for name in options.models:
        began = perf_counter()
        fits = (
            delayed(fitted)(name, K, fold, part)
            for K in sorted(options.components, reverse=True)  # the longest first
            for fold, part in enumerate(parts)
        )
        yield from Parallel(options.jobs, return_as="generator_unordered")(fits)
        yield {"model": name, "elapsed": perf_counter() - began}


def fitted(name: str, K: int, fold: int, part: Part) -> Row:
    """One fit, whose seed is the number of the fold, scored on the test observations."""
    tuned.silence()
    train, test = part
    model = FAMILIES[name].make(K, random_state=fold)
    began = perf_counter()
    model.fit(train)
    seconds = perf_counter() - began
    return {
        "model": name,
        "K": K,
        "fold": fold,
        "perplexity": model.perplexity(test),
        "beta": model.beta_,
        "smoothing": model.smoothing_,
        "hardly smoothed": hardly_smoothed(model, test),
        "iterations": model.n_iter_,
        "seconds": seconds,
    }


def hardly_smoothed(model: Any, test: Dyads) -> float:
    """Perplexity of the same fit with next to nothing of the unigram, which the memo may have."""
    factors = model.embedding_, model.components_
    smoothing = {"background": model.unigram_, "smoothing": HARDLY}
    return perplexity(test.to_csr(), *factors, **smoothing)


def summary(rows: Sequence[Row], data: str) -> list[Row]:
    """Means over the folds, by family and K, beside what the memo reports."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if "fold" in row:
            groups.setdefault((row["model"], row["K"]), []).append(row)
    order = [UNIGRAM, *FAMILIES]
    keys = sorted(groups, key=lambda key: (order.index(key[0]), key[1]))
    return [_means(data, *key, groups[key]) for key in keys]


def _means(data: str, name: str, K: int, rows: Sequence[Row]) -> Row:
    values = [row["perplexity"] for row in rows]
    line = {
        "model": name,
        "K": K,
        "perplexity": mean(values),
        "sd": reporting.deviation(values),
    }
    if name == UNIGRAM:
        reported = MEMO_UNIGRAM[data]
    else:
        line |= {key: mean(row[key] for row in rows) for key in CHOSEN}
        of_memo = MEMO[data][FAMILIES[name].memo].get(K)
        if of_memo is None:
            return line
        line["beta of memo"], reported = of_memo
    return line | {"memo": reported, "ratio": line["perplexity"] / reported}
