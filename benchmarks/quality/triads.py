"""Is one index of three better predicted from the two others than from the better of them alone?

`TriadicAspectModel` beside `AspectModel`, which predicts the same index from each of the others, on
(category, adjective, noun) of the Brown corpus, (category, word, next word) of Reuters, and on word
trigrams of the Bible. A tenth of the observations is held out, the same for all; all choose
temperature, smoothing and pseudo-count inside ``fit``, and the three-way model its exponents, which
are (1, 1) in "three, plain". "mean with" is half the prediction of the three-way model and half
that of the two-way model from the first or the second of the others; "unigram" is the add-one
distribution.
Seconds of an iteration, plain EM in float32 on one thread, are taken by turns, for each distinct
observation (non-zero) and for each observation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import corpora, reporting
from skcooc import AspectModel, TriadicAspectModel, Triads
from skcooc.model_selection import split_counts

Row = dict[str, Any]

DATA: dict[str, Callable[[], Triads]] = {
    "brown": corpora.brown_triples,
    "reuters": corpora.reuters_triples,
    "bible": corpora.bible_trigrams,
}
TEST = 0.1
WAYS = {"first": (0, 2), "second": (1, 2)}
SINGLE = np.float32


def perplexities(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each data set, predicted way, number of components, seed and model."""
    seeds = range(options.seeds)
    cases = product(options.data, options.targets, options.components, seeds)
    for data, target, K, seed in cases:
        observed = _with_last(DATA[data](), target)
        train, test = split_counts(observed, TEST, random_state=seed)
        train = train.reweighted(np.ones(len(train), SINGLE))
        case = {"data": data, "target": target, "K": K, "seed": seed}
        yield {**case, "model": "unigram", "perplexity": _unigram(train, test)}
        parameters = {"n_components": K, "random_state": seed, "n_jobs": options.n_jobs}
        row, three = _fitted(TriadicAspectModel(**parameters), train, test)
        yield {**case, "model": "three", **row}
        plain, _ = _fitted(TriadicAspectModel(exponents=(1, 1), **parameters), train, test)
        yield {**case, "model": "three, plain", **plain}
        for name, ways in WAYS.items():
            tables = (triads.dyads(*ways) for triads in (train, test))
            row, two = _fitted(AspectModel(**parameters), *tables)
            yield {**case, "model": f"two, {name}", **row}
            both = np.logaddexp(three, two) - np.log(2)
            yield {**case, "model": f"mean with {name}", "perplexity": np.exp(-both.mean())}


def seconds(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each data set, number of components and model."""
    for data in options.data:
        observed = DATA[data]()
        observed = observed.reweighted(np.ones(len(observed), SINGLE))
        for K in options.components:
            fixed = {"n_components": K, "beta": 0.9, "solver": 1.0, "tol": 0, "random_state": 0}
            tables = {name: observed.dyads(*ways) for name, ways in WAYS.items()}
            models = {f"two, {name}": (AspectModel(**fixed), X) for name, X in tables.items()}
            models["three"] = TriadicAspectModel(**fixed), observed
            for name, (X, best) in _by_turns(models, options.rounds).items():
                n = len(np.unique(np.asarray(X), axis=0))
                yield {
                    "data": data,
                    "K": K,
                    "model": name,
                    "iteration_ms": 1e3 * best,
                    "ns_per_nonzero": 1e9 * best / n,
                    "ns_per_observation": 1e9 * best / len(X),
                }


def _with_last(triads: Triads, target: int) -> Triads:
    """The same triads, with this way last."""
    others = [way for way in range(3) if way != target]
    return triads.transpose(*others, target)


def _unigram(train: Triads, test: Triads) -> float:
    counts = np.bincount(train.positions[2], minlength=train.table_shape[2]) + 1
    return float(np.exp(-np.log(counts / counts.sum())[test.positions[2]].mean()))


def _fitted(model: Any, train: Any, test: Any) -> tuple[Row, np.ndarray]:
    """What came of a fit, and the log-likelihood of each test observation."""
    took = reporting.clock(model.fit, train)
    scores = model.score_samples(test)
    found = {"beta": model.beta_, "smoothing": model.smoothing_, "iterations": model.n_iter_}
    return {"perplexity": np.exp(-scores.mean()), **found, "seconds": took}, scores


def _by_turns(models: dict[str, Any], rounds: int) -> dict[str, Any]:
    """The tables, and the least seconds of an iteration over several short fits."""
    best = dict.fromkeys(models, np.inf)
    for _ in range(rounds):
        for name, (model, X) in models.items():
            model.set_params(max_iter=20).fit(X)
            best[name] = min(best[name], *(record.seconds for record in model.history_[1:]))
    return {name: (models[name][1], best[name]) for name in models}


PARTS = {"perplexities": perplexities, "seconds": seconds}


def main() -> None:
    """Run the benchmark."""
    parser = reporting.options(__doc__, PARTS)
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--targets", type=int, choices=range(3), nargs="+", default=[2])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5, help="short fits of each model, by turns")
    parser.add_argument("--n-jobs", type=int, default=1)
    began = perf_counter()
    reporting.run_parts(PARTS, parser.parse_args())
    reporting.progress(f"{perf_counter() - began:.0f} seconds")


if __name__ == "__main__":
    main()
