"""Folds of the observations of Cranfield, and what models reach on them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from skcooc import Dyads
from skcooc.metrics import unigram

Row = dict[str, Any]
Fold = tuple[np.ndarray, np.ndarray]  # positions of training and test observations


def options(question: str, parts: Iterable[str]) -> argparse.ArgumentParser:
    """A parser for scripts that have a part "memo": its table, on these folds."""
    parser = reporting.options(question, parts)
    parser.add_argument("--components", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--jobs", type=int, default=2, help="fits of 'memo' side by side")
    return parser


def cranfield_folds() -> tuple[Dyads, list[Fold]]:
    """The observations of Cranfield, and ten divisions of them into training and test."""
    dyads = Dyads(corpora.cranfield().X.astype(float))
    return dyads, list(KFold(10, shuffle=True, random_state=0).split(dyads))


def on_folds(
    estimator: Callable[..., Any], K: int, dyads: Dyads, folds: Sequence[Fold], jobs: int
) -> Row:
    """Means over folds of what the estimator reaches, fitted with another seed on each."""
    runs = Parallel(n_jobs=jobs)(
        delayed(_on_fold)(estimator(K, random_state=seed), dyads, *fold)
        for seed, fold in enumerate(folds)
    )
    perplexities, betas, smoothing, seconds = zip(*runs, strict=True)
    return {
        "perplexity": mean(perplexities),
        "sd": stdev(perplexities),
        "beta": mean(betas),
        "smoothing": mean(smoothing),
        "seconds": mean(seconds),
    }


def _on_fold(model: Any, dyads: Dyads, train: np.ndarray, test: np.ndarray) -> tuple[float, ...]:
    tuned.silence()
    seconds = reporting.clock(lambda: model.fit(dyads[train]))
    return model.perplexity(dyads[test]), model.beta_, model.smoothing_, seconds


def unigram_on_fold(dyads: Dyads, train: np.ndarray, test: np.ndarray) -> float:
    """Perplexity of the unigram of the training observations."""
    return unigram_perplexity(dyads[train].to_csr(), dyads[test])


def unigram_perplexity(train: Any, test: Dyads) -> float:
    """What all models are with K = 1: the unigram of a training table, on test observations."""
    return float(np.exp(-np.log(unigram(train)[test.columns]).mean()))
