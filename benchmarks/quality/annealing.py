"""Is it better to change the temperature while EM goes on than to start at the one that is best?

mixtures   AspectModel and ProductSpaceMixture on Cranfield; a tenth of the observations is held
           out, in the same split for all. Perplexity of that tenth, the temperature chosen by
           ``fit``. "tempered EM" alone chooses it on the way down from 1, as T. Hofmann's, 2001,
           and does not see the tenth of the rest by which it is stopped.
clusters   SymmetricClustering on CLASSIC3: normalised mutual information of clusters and classes.

"random" starts at random, once, and "best of five" takes the best of five such starts by its own
objective. The free energy, in nats an observation, compares fits of equal beta alone. All is done
on one thread; seconds are those of the whole ``fit``, the search for the temperature included.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import groupby
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from benchmarks.quality.coclustering import documents
from skcooc import AspectModel, ProductSpaceMixture, SymmetricClustering
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts

WAYS: dict[str, dict[str, Any]] = {
    "random": {},
    "best of five": {"n_init": 5},
    "rising": {"annealing": 1.03},
    "falling": {"annealing": 0.95},
    "tempered EM": {"annealing": 0.95, "beta": 0.5, "early_stopping": True},
}
CLUSTER_WAYS: dict[str, dict[str, Any]] = {
    "random": {},
    "best of five": {"n_init": 5},
    "rising": {"annealing": 1.1},
    "falling": {"annealing": 0.8},
}
MODELS: dict[str, Callable[..., Any]] = {
    "AspectModel": lambda K, **options: AspectModel(K, **options),
    "ProductSpaceMixture": lambda K, **options: ProductSpaceMixture(K, K, **options),
}
KEYS = ("model", "K", "way")

Row = dict[str, Any]


def mixtures(options: argparse.Namespace) -> Iterator[Row]:
    """Perplexities on Cranfield, one row for each model, size, way and seed."""
    X = corpora.cranfield().X.astype(np.float32)
    for model, make in MODELS.items():
        for K in options.components:
            for way, parameters in WAYS.items():
                for seed in range(options.seeds):
                    train, test = split_counts(X, 0.1, random_state=seed)
                    fitted, row = timed(make(K, n_jobs=1, random_state=seed, **parameters), train)
                    factors = fitted.embedding_, fitted.components_
                    smooth = {"background": unigram(train), "smoothing": fitted.smoothing_}
                    row["perplexity"] = perplexity(test, *factors, **smooth)
                    yield {"model": model, "K": K, "way": way, "seed": seed} | row


def clusters(options: argparse.Namespace) -> Iterator[Row]:
    """Agreement with the classes of CLASSIC3, one row for each size, way and seed."""
    X, classes = documents("classic3")
    for K in options.clusters:
        for way, parameters in CLUSTER_WAYS.items():
            for seed in range(options.seeds):
                model = SymmetricClustering(K, K, n_jobs=1, random_state=seed, **parameters)
                fitted, row = timed(model, X)
                row["NMI"] = normalized_mutual_info_score(classes, fitted.labels_)
                yield {"model": "SymmetricClustering", "K": K, "way": way, "seed": seed} | row


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "mixtures": mixtures,
    "clusters": clusters,
}


def timed(model: Any, X: Any) -> tuple[Any, Row]:
    """The model, fitted, and what can be said of the fit."""
    began = perf_counter()
    model.fit(X)
    seconds = perf_counter() - began
    return model, {
        "beta": model.beta_,
        "free energy": model.objective_ / X.sum(),
        "iterations": model.n_iter_,
        "splits": len(getattr(model, "splits_", [])),
        "seconds": seconds,
    }


def warm_up(options: argparse.Namespace) -> None:
    """Compile the loops, before anything is timed."""
    X = np.random.default_rng(0).poisson(1.0, (60, 40)).astype(np.float32)
    for size in {size * times for size in options.components for times in (1, 2)}:
        AspectModel(size, beta=0.9, annealing=1.1, max_iter=2, n_jobs=1).fit(X)


def summary(rows: list[Row]) -> list[Row]:
    """Means over the seeds, and the standard deviation of what counts."""
    lines = []
    for key, group in groupby(rows, key=lambda row: tuple(row[name] for name in KEYS)):
        members = list(group)
        line = dict(zip(KEYS, key, strict=True))
        for name in [name for name in members[0] if name not in {*KEYS, "seed"}]:
            line[name] = mean(row[name] for row in members)
        measure = "NMI" if "NMI" in line else "perplexity"
        values = [row[measure] for row in members]
        line[f"{measure} sd"] = reporting.deviation(values)
        lines.append(line)
    return lines


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__), PARTS)
    parser.add_argument("--components", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--clusters", type=int, nargs="+", default=[3, 5, 8])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warm_up(options)
    results: dict[str, Any] = {"options": reporting.given(options)}
    for part in options.parts:
        rows = reporting.collect(PARTS[part](options), options.output, results, part)
        reporting.print_table(lines := summary(rows))
        results[f"{part} summary"] = lines
    reporting.save(options.output, results)


if __name__ == "__main__":
    main()
