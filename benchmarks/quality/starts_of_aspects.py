"""Aspects that begin with clusters of rows, beside such as begin at random.

`--parts texts`: default fits of texts and pairs; perplexity of a tenth of the observations, and CPU
seconds with one thread. `--parts planted`: tables of eight aspects, which differ in a few columns;
most rows have one or two aspects; how well mixtures agree, by the correlation of the aspect
found worst, at beta = 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import normalize

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from skcooc import AspectModel, Dyads
from skcooc.equations.aspects import Aspects
from skcooc.model_selection import split_counts

STARTS: dict[str, Callable[..., Any]] = {"random": Aspects.random, "clusters": Aspects.start}
DATA = {
    "cranfield": corpora.cranfield,
    "classic3": corpora.classic3,
    "newsgroups4": corpora.newsgroups4,
    "pairs": corpora.brown_pairs,
    "verses": corpora.bible,
}
FOUND = 0.7  # correlation
TABLES = {"short": (100, 1000, 0.15), "few": (300, 200, 0.15), "mixed": (1000, 400, 0.3)}


def fitted(start: str, X: Any, seed: int, **parameters: Any) -> tuple[AspectModel, float]:
    """A model, and the seconds that it took."""
    Aspects.start = STARTS[start]  # type: ignore[method-assign]
    before = process_time()
    model = AspectModel(**parameters, random_state=seed, n_jobs=1).fit(X)
    return model, process_time() - before


def texts(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each table, number of aspects, seed and start."""
    for data in options.data:
        X = DATA[data]().X
        for K in options.components:
            for seed in range(options.seeds):
                train, test = split_counts(X, random_state=seed)
                for start in STARTS:
                    model, seconds = fitted(start, train, seed, n_components=K)
                    row = {"data": data, "K": K, "seed": seed, "start": start}
                    row |= {"perplexity": model.perplexity(Dyads(test)), "seconds": seconds}
                    yield row | {"left out": model.leave_one_out_}


def made(seed: int, depth: float, n_rows: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts, and the mixtures of their rows."""
    rng = np.random.default_rng(1000 + seed)
    levels = np.tile(rng.gamma(1.0, size=160), (8, 1))
    levels[rng.random(levels.shape) < 0.06] *= 5
    mixtures = rng.dirichlet(np.full(8, spread), n_rows)
    return rng.poisson(depth * mixtures @ normalize(levels, "l1")).astype(float), mixtures


def planted(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each kind of table, seed, start and number of starts."""
    for kind, shape in TABLES.items():
        for seed in range(options.tables):
            X, mixtures = made(seed, *shape)
            for start, n_init in (("random", 1), ("random", 5), ("clusters", 1), ("clusters", 5)):
                given = {"n_components": 8, "beta": 1.0, "n_init": n_init}
                model, seconds = fitted(start, X, seed, **given)
                both = np.corrcoef(mixtures.T, model.embedding_.T)[:8, 8:]
                worst = both[linear_sum_assignment(-both)].min()
                row = {"kind": kind, "seed": seed, "start": start, "n_init": n_init}
                yield row | {"worst": worst, "found": worst > FOUND, "seconds": seconds}


PARTS = {"texts": texts, "planted": planted}


def main() -> None:
    """Measure, print and save."""
    tuned.silence()
    parser = reporting.options(str(__doc__), PARTS)
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", type=int, default=20)
    reporting.run_parts(PARTS, parser.parse_args())


if __name__ == "__main__":
    main()
