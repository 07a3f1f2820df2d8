"""How well are held-out observations predicted, with and without the memory of rows, in what time?

Cranfield, CLASSIC3, adjective-noun pairs and 20 Newsgroups; about a tenth of the observations is
held out, each with the same chance, in the same split for all models, for several seeds; "folds"
are the first of the ten folds of Cranfield that folds.py has. Every model is scored alone; with the
memory of rows that `RowMemory` has; and so on the observations in cells where the training part has
none, predictions divided by their sum over such cells of the row. The topic-free baseline is the
unigram, and with memory `RowMemory(None)`. The peers get their tuned best: priors (LDA) or
initialisation and number of iterations (NMF), smoothing and memory, chosen on a tenth of the
training observations; the seconds of tuning and of the final fit are given apart. Ours tune inside
``fit``. All get the same counts, in float32, and the same number of cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from statistics import mean
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from benchmarks.quality.folds import cranfield_folds
from benchmarks.quality.methods import METHODS, warm_up

DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "classic3": corpora.classic3,
    "brown": corpora.brown_pairs,
    "newsgroups20": corpora.newsgroups20,
}
FOLDS = "folds"
COMPONENTS = {"newsgroups20": [64]}  # else 8, 32 and 128
TEST = 0.1
SCORES = ("alone", "with memory", "unseen", "share seen")

Row = dict[str, Any]


def runs(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each data set, number of components, method and seed."""
    for data in options.data:
        splits = {
            seed: (tuned.divide(train, seed), test)
            for seed, (train, test) in enumerate(_divided(data, options.seeds))
        }
        for K in options.components or COMPONENTS.get(data, [8, 32, 128]):
            for method in options.methods:
                for seed, (split, test) in splits.items():
                    outcome = METHODS[method](split, _effort(K, options), seed)
                    yield {
                        "data": data,
                        "K": K,
                        "method": method,
                        "seed": seed,
                        **tuned.scores(split, test, outcome),
                        "smoothing": outcome.smoothing,
                        "tuning_seconds": outcome.tuning_seconds,
                        "fit_seconds": outcome.fit_seconds,
                        "settings": outcome.settings,
                    }


def _effort(K: int, options: argparse.Namespace) -> tuned.Effort:
    """The work that goes into each fit; the options about LDA shorten a run on large data."""
    if options.quick:
        return tuned.quick(K, options.jobs)
    return tuned.Effort(
        K,
        options.jobs,
        lda_iterations=options.lda_iterations,
        gibbs_samples=options.lda_samples,
        document_priors=tuple(options.document_priors),
        word_priors=tuple(options.word_priors),
    )


def _divided(data: str, n_splits: int) -> Iterator[tuple[Any, Any]]:
    """Training and test observations of every split."""
    if data == FOLDS:
        dyads, folds = cranfield_folds()
        for parts in folds[:n_splits]:
            train, test = (dyads[part].to_csr().astype(np.float32) for part in parts)
            yield train, test
        return
    X = DATA[data]().X.astype(np.float32)
    for seed in range(n_splits):
        yield thinned(X, TEST, seed)


def thinned(X: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Two tables that add up to X: each observation goes to the second one with this chance."""
    taken = np.random.default_rng(seed).binomial(X.data.astype(int), share).astype(X.dtype)
    parts = X.data - taken, taken
    train, test = (sp.csr_array((n, X.indices.copy(), X.indptr.copy()), X.shape) for n in parts)
    train.eliminate_zeros()
    test.eliminate_zeros()
    return train, test


def summary(rows: list[Row]) -> list[Row]:
    """Mean and standard deviation over the seeds."""
    lines = []
    keys = ("data", "K", "method")
    for key, group in groupby(rows, key=lambda row: tuple(row[name] for name in keys)):
        members = list(group)
        values = {name: [row[name] for row in members] for name in SCORES}
        lines.append(
            dict(zip(keys, key, strict=True))
            | {name: mean(values[name]) for name in SCORES}
            | {"sd of " + name: reporting.deviation(values[name]) for name in SCORES}
            | {
                "tuning s": mean(row["tuning_seconds"] for row in members),
                "fit s": mean(row["fit_seconds"] for row in members),
                "seeds": len(members),
            }
        )
    return lines


def main() -> None:
    tuned.silence()
    warm_up()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=[*DATA, FOLDS], nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, nargs="+", help="instead of each data set's own")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3, help="number of splits")
    parser.add_argument("--jobs", type=int, default=2, help="threads or processes of every model")
    usual = tuned.Effort(1)
    parser.add_argument("--lda-iterations", type=int, default=usual.lda_iterations)
    priors: dict[str, Any] = {"type": float, "nargs": "+"}
    parser.add_argument("--document-priors", default=usual.document_priors, **priors)
    parser.add_argument("--word-priors", default=usual.word_priors, **priors)
    parser.add_argument("--lda-samples", type=int, default=usual.gibbs_samples, help="tomotopy")
    parser.add_argument("--quick", action="store_true", help="too little work, as a smoke test")
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    told = itemgetter("data", "K", "method", "seed", *SCORES)
    lines = summary(reporting.collect(runs(options), options.output, results, "runs", told))
    reporting.print_table(lines)
    reporting.save(options.output, results | {"summary": lines})


if __name__ == "__main__":
    main()
