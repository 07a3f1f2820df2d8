"""Do the defaults predict better than an averaged LDA, on all collections and with few and many K?

A tenth of the observations is held out by a binomial draw. For each draw the default of
`AspectModel`, the same with `burstiness="auto"`, the mean of five, and tomotopy's LDA: the mean of
what 20 samples of one chain predict, from the second half of its sweeps. LDA optimises alpha; its
eta and its smoothing are chosen on a tenth of the first training part. Ours are scored with the
within-document cache, too, as is the topic-free baseline.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from benchmarks.quality import peers, tuned
from benchmarks.quality.peers import Factors
from benchmarks.speed.default_fit import split
from skcooc import AspectModel, AveragedModels, Dyads, RowMemory
from skcooc.metrics import unigram

DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "pairs": corpora.brown_pairs,
    "classic3": corpora.classic3,
    "reuters": corpora.reuters5,
    "bible": corpora.bible,
    "abstracts": corpora.neurips_abstracts,
    "newsgroups20": corpora.newsgroups20,
}
MODELS: dict[str, Callable[[int], Any]] = {
    "none": lambda K: None,
    "default": lambda K: AspectModel(K, n_jobs=1),
    "plain": lambda K: AspectModel(K, leave_one_out=False, n_jobs=1),
    "bursty": lambda K: AspectModel(K, burstiness="auto", n_jobs=1),
    "five": lambda K: AveragedModels(AspectModel(K), 5, n_jobs=1),
}
ETAS = (0.01, 0.03, 0.1, 0.3, 0.6)
SMOOTHINGS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3)
FEW_SAMPLES, SAMPLES = 5, 20
VALIDATION = 77  # seed of the division in which eta is chosen


def ours(name: str, K: int, train: Any, test: Any, seed: int) -> dict[str, Any]:
    """One fit: its perplexity alone, and with memory."""
    model, began = MODELS[name](K), time.process_time()
    if model is not None:
        model.set_params(random_state=seed)
    fitted, held_out = RowMemory(model, random_state=seed).fit(train), Dyads(test)
    row = {"seconds": time.process_time() - began, "memory": fitted.perplexity(held_out)}
    if model is None:
        return row
    first = getattr(fitted.estimator_, "estimators_", [fitted.estimator_])[0]
    alone = fitted.estimator_.perplexity(held_out)
    return row | {"alone": alone, "beta": first.beta_, "left out": first.leave_one_out_}


def lda(K: int, train: Any, test: Any, eta: float, sweeps: int, samples: int, seed: int) -> Any:
    """What LDA predicts of the test cells, in the mean over samples of one chain."""
    total = np.zeros(test.nnz)
    for model in peers.gibbs_chain(train, K, 1 / K, eta, sweeps, samples, 1, seed):
        total += _cells(peers.posterior_means(model, train), test)
    return total / samples


def tuned_lda(K: int, train: Any, sweeps: int) -> tuple[float, float]:
    """The eta and the smoothing that are best for a tenth of the training part."""
    inner, valid = split(train, VALIDATION)
    tried = []
    for eta in ETAS:
        cells = lda(K, inner, valid, eta, sweeps // 2, FEW_SAMPLES, 0)
        tried += [(_perplexity(cells, valid, inner, s), eta, s) for s in SMOOTHINGS]
    return min(tried)[1:]


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each fit."""
    for name in options.data:
        X = DATA[name]().X
        for K in options.components:
            settings = None
            for seed in range(options.seeds):
                train, test = split(X, seed)
                told = {"data": name, "K": K, "seed": seed}
                for model in options.models:
                    yield {**told, "model": model, **ours(model, K, train, test, seed)}
                if options.sweeps:
                    settings = settings or tuned_lda(K, train, options.sweeps)
                    cells = lda(K, train, test, settings[0], options.sweeps, SAMPLES, seed)
                    score = _perplexity(cells, test, train, settings[1])
                    yield {**told, "model": "lda", "alone": score, "eta": settings[0]}


def _cells(factors: Factors, test: sp.csr_array) -> np.ndarray:
    """What factors predict of the non-zeros of the test part, (nnz,)."""
    i, j = test.nonzero()
    return np.einsum("nk,nk->n", factors.mixtures[i], factors.components.T[j])


def _perplexity(cells: np.ndarray, test: sp.csr_array, train: sp.csr_array, s: float) -> float:
    """Of cells that are in this share the unigram."""
    predicted = (1 - s) * cells + s * unigram(train)[test.nonzero()[1]]
    return float(np.exp(-(test.data @ np.log(predicted)) / test.data.sum()))


def main() -> None:
    options = reporting.options(__doc__ or "")
    options.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    options.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    options.add_argument("--components", type=int, nargs="+", default=[8, 32, 128])
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--sweeps", type=int, default=400, help="of LDA; 0 for none")
    given = options.parse_args()
    tuned.silence()
    results: dict[str, Any] = {"options": reporting.given(given)}
    reporting.collect(rows(given), given.output, results, "fits")


if __name__ == "__main__":
    main()
