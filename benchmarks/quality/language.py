"""How well do back-off, similarity, classes and aspects predict words, alone and together?

"pairs" are the adjective-noun pairs of the Brown corpus, "bible" the words of the King James
Bible, marks included, each after the word before it. "bible, two words" and "bible, three words"
are the same observations for predictors that see more: mixed-order models, Kneser and Ney's
trigrams.

For each seed a tenth of the observations are validation, a tenth test, and the rest training.
Numbers of classes, aspects and neighbours, discounts, steps of EM and all weights are chosen on
validation observations; the inverse temperature is found by the estimator itself, inside the
training part. Nothing is fitted again to training and validation together. "alone" is a mean with
the unigram, without which most parts would hold something impossible.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from benchmarks.quality.language_models import (
    Grouped,
    SimilarRows,
    best_back_off,
    continuations,
    frequencies,
    mixed_order,
    nearest_rows,
)
from skcooc import AspectModel, SymmetricClustering
from skcooc.heldout import Discounted, Factors, Interpolated, Unigram
from skcooc.metrics import best_weights, perplexity_of, unigram

PARTS = (0.8, 0.1)  # training, validation; the rest is test
NEIGHBORS, BETAS, STEPS = (20, 100), (0.0, 10.0, 20.0), (0, 1, 2, 4, 8)

Row = dict[str, Any]
Predictor = Any


class Task(NamedTuple):
    """Three tables of the same shape."""

    train: sp.csr_array
    validation: sp.csr_array
    test: sp.csr_array

    def together(self, *predictors: Predictor) -> Predictor:
        """Their mean, with the best weights."""
        return Interpolated(predictors, best_weights(self.validation, predictors))

    def smoothed(self, predictor: Predictor) -> Predictor:
        """A mean with the unigram."""
        return self.together(predictor, Unigram(unigram(self.train)))

    def backed_off(self, *lower: Predictor) -> Predictor:
        """The table, discounted, above a mean of other predictions."""
        return best_back_off(self.validation, self.train, lower)

    def best(self, candidates: Iterable[Predictor]) -> Predictor:
        """The one that predicts best, smoothed."""
        found = [
            (perplexity_of(self.validation, self.smoothed(candidate)), number, candidate)
            for number, candidate in enumerate(candidates)
        ]
        perplexities = [round(perplexity, 2) for perplexity, _, _ in found]
        reporting.progress("chosen by validation perplexity, the least of", *perplexities)
        return min(found, key=lambda one: one[:2])[2]


def divided(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], seed: int) -> Task:
    """Observations, one by one, in three tables."""
    order = np.random.default_rng(seed).permutation(len(rows))
    ends = (np.cumsum(PARTS) * len(rows)).astype(int)
    return Task(*(counts(rows[some], columns[some], shape) for some in np.split(order, ends)))


def counts(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """How often each pair is there."""
    X = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    X.sum_duplicates()
    return X


def classes(X: sp.csr_array, K: int, tied: bool, seed: int) -> Factors:
    """Hard clusters of rows and columns; tied, the class bigram model."""
    return fitted(SymmetricClustering(K, K, hard=True, tied=tied, random_state=seed), X)


def aspects(X: sp.csr_array, K: int, seed: int) -> Factors:
    """The aspect model; of bigrams, an aggregate Markov model."""
    return fitted(AspectModel(K, random_state=seed), X)


def fitted(model: Any, X: sp.csr_array) -> Factors:
    model.fit(X)
    reporting.progress("fitted", model)
    return Factors(model.embedding_, model.components_.T)


def parts(task: Task, tied: bool, Ks: list[int], seed: int) -> dict[str, Predictor]:
    """What is made of the training table alone, each at its best settings."""
    X = task.train
    neighbors, divergences = nearest_rows(X, max(NEIGHBORS))
    similar = (
        SimilarRows(X, neighbors[:, :n], divergences[:, :n], beta)
        for n in NEIGHBORS
        for beta in BETAS
    )
    return {
        "frequencies": frequencies(X),
        "similar rows": task.best(similar),
        "classes": task.best(classes(X, K, tied, seed) for K in Ks),
        "aspects": task.best(aspects(X, K, seed) for K in Ks),
    }


def predictions(task: Task, single: dict[str, Predictor]) -> dict[str, Predictor]:
    """Each part alone, and what they are together."""
    b, follows = Unigram(unigram(task.train)), Unigram(continuations(task.train))
    similar, classes_, aspects_ = (single[name] for name in ("similar rows", "classes", "aspects"))
    return {
        "unigram": b,
        **{f"{name}, alone": task.smoothed(part) for name, part in single.items()},
        "Kneser-Ney": task.backed_off(follows),
        "similar rows and frequencies": task.together(similar, single["frequencies"], b),
        "classes and frequencies": task.together(classes_, single["frequencies"], b),
        "aspects and frequencies": task.together(aspects_, single["frequencies"], b),
        "all interpolated": task.together(*single.values(), b, follows),
        "back-off to similar rows": task.backed_off(similar, b, follows),
        "back-off to classes": task.backed_off(classes_, b, follows),
        "back-off to aspects": task.backed_off(aspects_, b, follows),
        "back-off to all": task.backed_off(similar, classes_, aspects_, b, follows),
    }


def pairs(options: argparse.Namespace, seed: int) -> Iterator[Row]:
    """Adjectives and nouns."""
    X = sp.coo_array(corpora.brown_pairs().X)
    rows, columns = (np.repeat(index, X.data) for index in X.coords)
    task = divided(rows, columns, X.shape, seed)
    single = parts(task, False, options.components, seed)
    yield from scored("pairs", seed, task, predictions(task, single))


def bible(options: argparse.Namespace, seed: int) -> Iterator[Row]:
    """Words after one, two and three words."""
    contexts, rows, columns = histories(3)
    n_words = corpora.bible().X.shape[1]
    after_three = divided(rows, columns, (len(contexts), n_words), seed)
    last = contexts[:, 0]
    bigrams = grouped(after_three, last, n_words)
    found = predictions(bigrams, parts(bigrams, True, options.components, seed))
    yield from scored("bible", seed, bigrams, found)

    two, pair = np.unique(contexts[:, :2], axis=0, return_inverse=True)
    after_two = grouped(after_three, pair, len(two))
    of_last = {name: Grouped(predictor, two[:, 0]) for name, predictor in found.items()}
    kneser_ney, best = of_last["Kneser-Ney"], of_last["back-off to all"]
    mixed = chosen_steps(after_two, two)
    found = {
        "mixed order, alone": after_two.smoothed(mixed),
        "mixed order and Kneser-Ney": after_two.together(mixed, kneser_ney),
        "mixed order and bigrams' back-off to all": after_two.together(mixed, best),
        "trigrams, back-off to Kneser-Ney": after_two.backed_off(kneser_ney),
        "trigrams, back-off to mixed order and Kneser-Ney": after_two.backed_off(mixed, kneser_ney),
        "trigrams, back-off to mixed order and all": after_two.backed_off(mixed, best),
    }
    yield from scored("bible, two words", seed, after_two, found)

    mixed = chosen_steps(after_three, contexts)
    trigrams = Grouped(found["trigrams, back-off to mixed order and all"], pair)
    found = {
        "mixed order, alone": after_three.smoothed(mixed),
        "mixed order and the best of two words": after_three.together(mixed, trigrams),
    }
    yield from scored("bible, three words", seed, after_three, found)


def chosen_steps(task: Task, contexts: np.ndarray) -> Predictor:
    """A mixed-order model after the best number of steps."""
    models = [mixed_order(task.train, contexts, STEPS[0])]
    for before, after in pairwise(STEPS):
        model = models[-1]
        for _ in range(after - before):
            model = model.step(task.train)
        models.append(model)
    return task.best(models)


def histories(m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contexts of m words, the nearest first, and the context and the next word of each place."""
    books = corpora.bible_text()
    before = np.vstack(
        [np.stack([words[m - k : -k] for k in range(1, m + 1)], axis=1) for words in books]
    )
    contexts, rows = np.unique(before, axis=0, return_inverse=True)
    return contexts, rows.ravel(), np.concatenate([words[m:] for words in books])


def grouped(task: Task, groups: np.ndarray, n_groups: int) -> Task:
    """The same observations, whose rows are groups of rows."""
    members = sp.csr_array(
        (np.ones(len(groups), np.float32), (groups, np.arange(len(groups)))),
        shape=(n_groups, len(groups)),
    )
    return Task(*(sp.csr_array(members @ X) for X in task))


def scored(data: str, seed: int, task: Task, found: dict[str, Predictor]) -> Iterator[Row]:
    """The test perplexity of each."""
    for name, predictor in found.items():
        row = {"data": data, "seed": seed, "prediction": name}
        row["perplexity"] = perplexity_of(task.test, predictor)
        if isinstance(predictor, Interpolated):
            row["weights"] = [float(weight) for weight in predictor.weights]
        if isinstance(predictor, Discounted):
            row["discount"] = predictor.discount
            row["weights"] = [float(weight) for weight in predictor.lower.weights]
        yield row


def summary(rows: list[Row]) -> list[Row]:
    """Means over the seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found.setdefault((row["data"], row["prediction"]), []).append(row["perplexity"])
    return [
        {
            "data": data,
            "prediction": name,
            "perplexity": mean(values),
            "sd": reporting.deviation(values),
        }
        for (data, name), values in found.items()
    ]


DATA: dict[str, Callable[[argparse.Namespace, int], Iterator[Row]]] = {
    "pairs": pairs,
    "bible": bible,
}


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for data in options.data:
        for seed in range(options.seeds):
            reporting.collect(DATA[data](options, seed), options.output, results, "predictions")
    reporting.print_table(summary(results["predictions"]))


if __name__ == "__main__":
    main()
