"""Is the interpolation of different models better than the best of them?

`AspectModel`, `AsymmetricClustering`, `ClusterAbstraction`, the first two of them interpolated, and
all three; the average of three aspect models, and this with the two others. A tenth of the
observations is held out, another one for every seed. "alone" is the perplexity of these, "memory"
that inside `RowMemory`, and "unseen" that of the observations whose column the training part of the
row has not. "no topics" has no model: the unigram alone; with the memory, and for what is unseen,
columns by the number of rows that have them. Seconds are those of the fit in `RowMemory`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import corpora, reporting
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    Dyads,
    InterpolatedModels,
    RowMemory,
)
from skcooc.metrics import make_unseen_scorer
from skcooc.model_selection import split_counts

Row = dict[str, Any]

DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "reuters": corpora.reuters5,
}
TEST = 0.1


def perplexities(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each data set, seed and model."""
    for data in options.data:
        X = DATA[data]().X.astype(np.float32)
        unseen = make_unseen_scorer(Dyads(X))
        for seed in range(options.seeds):
            train, test = split_counts(X, TEST, random_state=seed)
            dyads = Dyads(test)
            case = {"data": data, "K": options.components, "seed": seed}
            for name, estimator in _models(options.components, seed).items():
                model = RowMemory(estimator, random_state=seed)
                took = reporting.clock(model.fit, train)
                found = {"memory": model.perplexity(dyads), "seconds": took}
                bare = model.estimator_ or AspectModel(1, random_state=seed).fit(train)
                found["alone"] = bare.perplexity(dyads)
                found["unseen"] = np.exp(-unseen(model.estimator_ or model, dyads))
                found["weights"] = list(vars(bare).get("interpolation_weights_", []))
                yield {**case, "model": name, **found}


def _models(K: int, seed: int) -> dict[str, Any]:
    single = {
        "aspects": AspectModel(K, random_state=seed),
        "clusters": AsymmetricClustering(K, random_state=seed),
        "tree": ClusterAbstraction(K, random_state=seed),
    }
    average = AveragedModels(single["aspects"], 3, random_state=seed)
    aspects, *others = single.items()
    means = {
        "two": InterpolatedModels([aspects, others[0]]),
        "three": InterpolatedModels([aspects, *others]),
        "average": average,
        "average and others": InterpolatedModels([("average", average), *others]),
    }
    return {"no topics": None, **single, **means}


def main() -> None:
    """Run the benchmark."""
    parser = reporting.options(__doc__)
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=3)
    began, options = perf_counter(), parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        reporting.collect(perplexities(options), options.output, {}, "perplexities")
    reporting.progress(f"{perf_counter() - began:.0f} seconds")


if __name__ == "__main__":
    main()
