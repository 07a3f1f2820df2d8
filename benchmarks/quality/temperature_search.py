"""What does TemperatureSearchCV save beside GridSearchCV over the same temperatures?

A tenth of the observations is set aside as test part; the searches see the rest, and divide it
into the same folds. Each row of the table is one search: its seconds, refit included, the
processor time of that where there is one job, the best temperature, its perplexity by
cross-validation (the best of several, so a little too good), and that of the refitted model on the
test part. "tenths" is a grid in steps of .1, to show what coarse steps cost.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks import corpora, reporting
from benchmarks.quality import methods, tuned
from skcooc import AspectModel, Dyads
from skcooc.model_selection import CountSplit, TemperatureSearchCV, split_counts

DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "classic3": corpora.classic3,
    "brown": corpora.brown_pairs,
}
TENTHS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]

Row = dict[str, Any]


def searches(options: argparse.Namespace, K: int) -> dict[str, Any]:
    """The searches to compare, by name."""
    model = AspectModel(K, random_state=0, max_iter=options.max_iter)
    folds = {"cv": CountSplit(options.folds, random_state=0), "n_jobs": options.jobs}
    betas = np.linspace(options.low, 1.0, options.betas)
    return {
        "grid": GridSearchCV(model, {"beta": betas}, **folds),
        "search": TemperatureSearchCV(model, betas, **folds),
        "auto": TemperatureSearchCV(model, **folds),
        "tenths": TemperatureSearchCV(model, TENTHS, **folds),
    }


def compared(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each collection, number of components and search."""
    for data in options.data:
        X = DATA[data]().X
        train, test = (Dyads(part) for part in split_counts(X, 0.1, random_state=0))
        for K in options.components:
            chosen = searches(options, K)
            for name in options.searches:
                began, busy = perf_counter(), process_time()
                search = chosen[name].fit(train)
                seconds, busy = perf_counter() - began, process_time() - busy
                yield {
                    "data": data,
                    "K": K,
                    "search": name,
                    "seconds": seconds,
                    "processor": busy if options.jobs == 1 else "",
                    "beta": search.best_params_["beta"],
                    "folds": float(np.exp(-search.best_score_)),
                    "test": search.best_estimator_.perplexity(test),
                    **visits(search.cv_results_, options.folds),
                }


def visits(results: dict[str, Any], n_folds: int) -> Row:
    """How many full fits a search made, and on how many temperatures and folds it probed."""

    def count(what: str) -> int:
        columns = [results.get(f"split{fold}_{what}", [np.nan]) for fold in range(n_folds)]
        return int((~np.isnan(columns)).sum())

    return {"fits": count("test_score"), "probes": count("validation_score")}


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, nargs="+", default=["cranfield"])
    parser.add_argument("--components", type=int, nargs="+", default=[32])
    parser.add_argument(
        "--searches", nargs="+", default=["grid", "search", "auto", "tenths"], metavar="SEARCH"
    )
    parser.add_argument("--betas", type=int, default=12, help="number of temperatures")
    parser.add_argument("--low", type=float, default=0.5, help="the least of them")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--max-iter", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    methods.warm_up()
    reporting.print_table(reporting.collect(compared(options), options.output, {}, "searches"))


if __name__ == "__main__":
    main()
