"""Does beta="auto" find as good a temperature as the best fixed one, and are the papers' met?

Parts, all of them optional:

fixed     beta="auto" against every fixed beta in .60(.02)1.00, all fitted to all training
          observations. The fixed ones get an unfair advantage: both beta and the smoothing of each
          are the best *on the test observations*, an oracle. "auto" chooses both inside ``fit``.
          Iterations are counted, and given as multiples of the fit at the best fixed beta.
memo      Table 2 of the memo: Cranfield, its (K, beta) pairs, ten folds of observations in
          GridSearchCV, run until the free energy falls by less than 1e-6, the mean over the
          seeds; beside them the unigram, and K = 128 at beta = 1 run to the end.
folds     beta="auto" on the first five of these folds, the mean scaled to a unigram of 696.
prior     beta="auto" with the pseudo-count of the components that ``fit`` finds, and without any.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from statistics import mean
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks import corpora, reporting
from benchmarks.papers import paper_tables
from benchmarks.quality import tuned
from benchmarks.quality.counting import counted_fit
from benchmarks.quality.folds import unigram_on_fold
from benchmarks.quality.heldout import COMPONENTS, DATA
from skcooc import AspectModel, Dyads
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

BETAS = np.linspace(0.60, 1.00, 21).round(2).tolist()
MEMO = paper_tables.MEMO["cranfield"]["SMM"]
UNIGRAM = 696.0

Row = dict[str, Any]


def scored(X: Any, K: int, beta: Any, seed: int, max_iter: int, **parameters: Any) -> Row:
    """Fit the training part of a split and score its test part; an oracle smooths fixed betas."""
    train, test = split_counts(X, 0.1, random_state=seed)
    model, counts = counted_fit(
        AspectModel(K, beta=beta, random_state=seed, max_iter=max_iter, **parameters), train
    )
    b, factors = unigram(train), (model.embedding_, model.components_)
    s = model.smoothing_ if beta == "auto" else best_smoothing(test, *factors, b)
    return {
        "seed": seed,
        "beta": model.beta_,
        "perplexity": perplexity(test, *factors, background=b, smoothing=s),
        "smoothing": s,
        **counts._asdict(),
    }


def fixed(options: argparse.Namespace) -> Iterator[Row]:
    """beta="auto" against the grid, one row for each data set, K and seed."""
    for data in options.data:
        X = DATA[data]().X.astype(np.float32)
        for K in options.components or COMPONENTS.get(data, [8, 32, 128]):
            tasks = [(b, seed) for seed in range(options.seeds) for b in ("auto", *options.betas)]
            runs = [(X, K, *task, options.max_iter) for task in tasks]
            results = _parallel(options, runs, component_prior=0.0)  # the temperature alone
            for seed in range(options.seeds):
                mine = [row for row in results if row["seed"] == seed]
                yield {"part": "fixed", "data": data, "K": K} | _comparison(mine[0], mine[1:])


def _comparison(auto: Row, grid: list[Row]) -> Row:
    best = min(grid, key=lambda row: row["perplexity"])
    plain = best["iterations"]
    return {
        "seed": auto["seed"],
        "auto": auto["perplexity"],
        "beta": auto["beta"],
        "best fixed": best["perplexity"],
        "its beta": best["beta"],
        "ratio": auto["perplexity"] / best["perplexity"],
        "search/plain": auto["search_iterations"] / plain,
        "final/plain": auto["iterations"] / plain,
        "plain": plain,
        "collapsed": auto["collapsed"],
        "grid": [[row["beta"], row["perplexity"]] for row in grid],
        "auto run": auto,
    }


def memo(options: argparse.Namespace) -> Iterator[Row]:
    """Table 2 of the memo, then the unigram, then maximum likelihood."""
    dyads, cv = Dyads(corpora.cranfield().X), KFold(options.splits, shuffle=True, random_state=0)
    pairs = {K: MEMO[K] for K in options.components or MEMO if K in MEMO}
    ml = {"beta": [1.0], "smoothing": [1e-6], "tol": [0.0]}
    searches: list[tuple[dict[str, Any], Any]] = [
        ({"n_components": [K], "beta": [beta]}, paper) for K, (beta, paper) in pairs.items()
    ]
    if 128 in pairs:
        searches.append(({"n_components": [128], **ml}, ""))
    for grid, paper in searches:
        model = AspectModel(max_iter=options.max_iter, tol=1e-6)
        grid = grid | {"random_state": list(range(options.seeds))}
        search = GridSearchCV(model, grid, cv=cv, refit=False, n_jobs=options.jobs).fit(dyads)
        folds = [
            float(np.exp(-search.cv_results_[f"split{fold}_test_score"]).mean())
            for fold in range(options.splits)
        ]
        beta = grid["beta"][0]
        row = {"part": "memo", "K": grid["n_components"][0], "beta": beta}
        yield row | {"perplexity": mean(folds), "sd": float(np.std(folds)), "memo": paper}
    base = [unigram_on_fold(dyads, *fold) for fold in cv.split(dyads)]
    yield {"part": "memo", "K": 1, "beta": 1.0, "perplexity": mean(base), "sd": np.std(base)}


def folds(options: argparse.Namespace) -> Iterator[Row]:
    """beta="auto" on some of the ten folds."""
    dyads, cv = Dyads(corpora.cranfield().X), KFold(options.splits, shuffle=True, random_state=0)
    parts = list(islice(cv.split(dyads), options.folds))
    scale = UNIGRAM / mean(unigram_on_fold(dyads, *part) for part in parts)
    for K in options.components or [8, 32, 128]:
        runs = Parallel(n_jobs=options.jobs)(
            delayed(_auto_on_fold)(dyads, *part, K, options.max_iter, seed)
            for part in parts
            for seed in range(options.seeds)
        )
        values, betas, smoothing = zip(*runs, strict=True)
        yield {
            "part": "folds",
            "K": K,
            "perplexity": mean(values),
            "scaled": mean(values) * scale,
            "beta": mean(betas),
            "smoothing": mean(smoothing),
        }


def prior(options: argparse.Namespace) -> Iterator[Row]:
    """The pseudo-count that is found, and none, on the same splits."""
    for data in options.data:
        X = DATA[data]().X.astype(np.float32)
        for K in options.components or COMPONENTS.get(data, [8, 32, 128]):
            tasks = [(X, K, "auto", seed, options.max_iter) for seed in range(options.seeds)]
            for prior in (0.0, "auto"):
                for row in _parallel(options, tasks, component_prior=prior):
                    yield {"part": "prior", "data": data, "K": K, "prior": str(prior)} | row


PARTS = {"fixed": fixed, "memo": memo, "folds": folds, "prior": prior}


def _parallel(options: argparse.Namespace, tasks: list[Any], **parameters: Any) -> list[Row]:
    run = Parallel(n_jobs=options.jobs, verbose=5 if options.verbose else 0)
    return list(run(delayed(scored)(*task, **parameters) for task in tasks))


def _auto_on_fold(
    dyads: Dyads, train: Any, test: Any, K: int, max_iter: int, seed: int
) -> tuple[float, float, float]:
    tuned.silence()
    model = AspectModel(K, random_state=seed, max_iter=max_iter).fit(dyads[train])
    return model.perplexity(dyads[test]), model.beta_, model.smoothing_


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__), PARTS)
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA), help="of 'fixed'")
    parser.add_argument("--components", type=int, nargs="+", help="instead of each part's own")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--betas", type=float, nargs="+", default=BETAS, help="of 'fixed'")
    parser.add_argument("--splits", type=int, default=10, help="folds of 'memo'")
    parser.add_argument("--folds", type=int, default=5, help="how many of these 'folds' visits")
    parser.add_argument("--max-iter", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2, help="fits side by side")
    parser.add_argument("--verbose", action="store_true", help="show the progress of each batch")
    results = reporting.run_parts(PARTS, parser.parse_args())
    collapsed = [row for row in results.get("fixed", []) if row["collapsed"]]
    if collapsed:
        print(f"WARNING: beta='auto' collapsed in {len(collapsed)} fits", flush=True)


if __name__ == "__main__":
    main()
