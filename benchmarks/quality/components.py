"""How many components? Does the search find those that were planted, and what does it say of texts?

planted: tables of known numbers of aspects, clusters and co-clusters. Aspects are drawn by
`make_cooccurrences`; their columns then get the margins of Zipf's law, and where there is a
background it is .3 of every row. (Every aspect can hold its part of it, so that it is none of its
own.) ``fits`` is the work of the search for one part of the data, components times E-steps, in
fits of the largest number. texts: the curves, and the words of the summary. consensus: components
of two halves of the observations, of single fits and of the consensus of averages, and what the
latter costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from skcooc import AspectModel, AsymmetricClustering, AveragedModels, Dyads, SymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.equations.aspects import Aspects
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import ComponentSearchCV, split_counts
from skcooc.simplex import match_rows

ROWS = COLUMNS = 800
OBSERVATIONS = 80_000
BACKGROUND = 0.3
FLAT_RANKS = 10  # of Zipf's law: probabilities are proportional to 1 / (rank + 10)
GRID = [2, 3, 5, 8, 12, 18, 27, 41, 62]
N_ROWS = 4000  # of 20 Newsgroups
N_PARTS = 5 + 2 + 2  # of the data: folds, halves, starts


def planted(K: int, seed: int, background: float) -> sp.csr_array:
    """Counts of K aspects whose columns have the margins of Zipf's law."""
    data = make_cooccurrences(ROWS, COLUMNS, K, n_tokens=1, random_state=seed)
    rng = np.random.default_rng(seed + 10_000)
    zipf = 1 / (rng.permutation(COLUMNS) + float(FLAT_RANKS))
    zipf /= zipf.sum()
    components = data.components * zipf
    P = data.mixtures @ (components / components.sum(axis=1, keepdims=True))
    P = (1 - background) * P + background * zipf
    totals = rng.multinomial(OBSERVATIONS, np.full(ROWS, 1 / ROWS))
    return sp.csr_array(rng.multinomial(totals, P / P.sum(axis=1, keepdims=True)).astype(float))


def searched(X: Any, model: Any = None, *arguments: Any, **options: Any) -> ComponentSearchCV:
    """A search with all defaults but these, without the final fit."""
    search = ComponentSearchCV(model or AspectModel(), *arguments, refit=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.set_params(**options).fit(X)


def corpus(name: str) -> sp.csr_array:
    """Counts of a collection."""
    of_words = name == "neurips"
    found = corpora.neurips(["neural", "network"]) if of_words else getattr(corpora, name)()
    return found.X.astype(float)


@contextmanager
def counting() -> Iterator[list[int]]:
    """The number of components of every E-step of aspect models, in the mean time."""
    steps, expect = [], Aspects.expect

    def counted(self: Aspects, *arguments: Any) -> Any:
        steps.append(self.n_components)
        return expect(self, *arguments)

    Aspects.expect = counted  # type: ignore[method-assign]
    try:
        yield steps
    finally:
        Aspects.expect = expect  # type: ignore[method-assign]


def of_aspects(numbers: list[int], seeds: list[int]) -> Iterator[dict[str, Any]]:
    """What is found for planted aspects, a row for each table; and by other rules."""
    for K in numbers:
        for background in (0.0, BACKGROUND):
            for seed in seeds:
                X, began = planted(K, seed, background), process_time()
                with counting() as steps:
                    search = searched(X)
                seconds = process_time() - began
                results, at = search.cv_results_, search.best_index_
                n = results["param_n_components"].data
                with counting() as steps_of_one:
                    AspectModel(int(n.max()), random_state=0).fit(X)
                half = results["half_agreement"]
                yield {
                    "planted": K,
                    "background": background,
                    "seed": seed,
                    "found": search.best_n_components_,
                    "least": int(n[results["mean_test_score"].argmax()]),
                    "least unseen": int(n[results["mean_unseen_score"].argmax()]),
                    "halves": int(n[half >= 0.95 * half.max()].max()),
                    "distinct of most": float(results["n_distinct"][n.argmax()]),
                    "distinct": float(results["n_distinct"][at]),
                    "half agreement": float(half[at]),
                    "largest": int(n.max()),
                    "still falling": search.still_falling_,
                    "fits": sum(steps) / N_PARTS / sum(steps_of_one),
                    "CPU seconds": seconds,
                }


def of_clusters(numbers: list[int], seeds: list[int]) -> Iterator[dict[str, Any]]:
    """What the integrated likelihood finds for planted clusters and co-clusters."""
    for K in numbers:
        for seed in seeds:
            for kind in ("clusters", "coclusters"):
                L = K  # of columns: with few, some clusters of rows would be alike
                X = make_cooccurrences(
                    800, 400, K, kind=kind, n_column_clusters=L, n_tokens=40_000,
                    random_state=seed,
                ).X  # fmt: skip
                model: Any = AsymmetricClustering(hard=True)
                if kind == "coclusters":
                    model = SymmetricClustering(hard=True, n_init=3)
                search = searched(X, model, cv=2)
                both = kind == "coclusters"
                yield {
                    "kind": kind,
                    "planted": f"{K} x {L}" if both else str(K),
                    "seed": seed,
                    "found": " x ".join(map(str, search.best_params_.values())),
                }


def texts(names: list[str]) -> Iterator[dict[str, Any]]:
    """Curves of collections, and what the search says."""
    for name in names:
        X = corpus(name)
        if X.shape[0] > N_ROWS:
            X = X[np.random.default_rng(0).permutation(X.shape[0])[:N_ROWS]]
            X = X[:, X.sum(axis=0) > 0]
        search = searched(X, None, GRID, cv=3)
        results = search.cv_results_
        print(name, X.shape, search.summary())
        for i, n in enumerate(GRID):
            yield {
                "data": name,
                "K": n,
                "perplexity": float(np.exp(-results["mean_test_score"][i])),
                "unseen": float(np.exp(-results["mean_unseen_score"][i])),
                **{
                    of: float(results[of][i])
                    for of in (
                        "n_distinct",
                        "half_agreement",
                        "seed_agreement",
                        "coherence",
                        "beta",
                    )
                },
                "still falling": search.still_falling_,
            }


def consensus(tables: list[str], K: int, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """Agreement of halves of single fits and of consensus, and perplexities of a held-out tenth."""
    for name in tables:
        X = corpus(name)
        for seed in seeds:
            halves = split_counts(X, 0.5, random_state=seed)
            fits = [AveragedModels(AspectModel(K), random_state=seed).fit(half) for half in halves]
            pairs = zip(*(fit.estimators_ for fit in fits), strict=True)
            single = np.mean([match_rows(a.components_, b.components_)[1].mean() for a, b in pairs])
            both = [fit.consensus_.components_ for fit in fits]
            train, test = split_counts(X, 0.1, random_state=seed)
            average = AveragedModels(AspectModel(K), random_state=seed).fit(train)
            agreed, observations = average.consensus_, Dyads(test)
            yield {
                "data": name,
                "K": K,
                "split": seed,
                "halves, single": float(single),
                "halves, consensus": float(match_rows(*both)[1].mean()),
                "perplexity, single": float(
                    np.mean([member.perplexity(observations) for member in average.estimators_])
                ),
                "perplexity, consensus": perplexity(
                    test,
                    agreed.embedding_,
                    agreed.components_,
                    background=unigram(train),
                    smoothing=average.smoothing_,
                ),
                "perplexity, average": average.perplexity(observations),
            }


ANSWERS = {
    "planted": lambda given: of_aspects(given.numbers, given.seeds),
    "clusters": lambda given: of_clusters(given.numbers, given.seeds),
    "texts": lambda given: texts(given.texts),
    "consensus": lambda given: consensus(given.tables, given.n_components, given.seeds),
}


def main() -> None:
    parser = reporting.options(str(__doc__), ANSWERS)
    parser.add_argument("--numbers", type=int, nargs="+", default=[5, 8, 12, 20, 30])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--texts", nargs="+", default=["classic3", "reuters5", "newsgroups20"])
    parser.add_argument("--tables", nargs="+", default=["cranfield", "newsgroups4", "neurips"])
    parser.add_argument("--n-components", type=int, default=10)
    reporting.run_parts(ANSWERS, parser.parse_args())


if __name__ == "__main__":
    main()
