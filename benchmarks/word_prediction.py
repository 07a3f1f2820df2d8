"""Prediction of words from the words before them, and of one index of three from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora
from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import Row, experiment
from benchmarks.perplexity import continuations
from benchmarks.word_models import (
    Grouped,
    best_back_off,
    frequencies,
    mixed_order,
    nearest_rows,
    similar_rows,
)
from skcooc import AspectModel, SymmetricClustering, TriadicAspectModel, Triads
from skcooc.heldout import Factors, Interpolated, Unigram
from skcooc.metrics import best_weights, perplexity_of, unigram
from skcooc.model_selection import split_counts
from skcooc.protocol import Predictor

PARTS = (0.8, 0.1)  # training, validation; the rest is test
NEIGHBORS, BETAS, STEPS = (20, 100), (0.0, 10.0, 20.0), (0, 1, 2, 4, 8)


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
        return min(candidates, key=lambda one: perplexity_of(self.validation, self.smoothed(one)))


def divided(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], seed: int) -> Task:
    """Tokens, one by one, in three tables."""
    order = np.random.default_rng(seed).permutation(len(rows))
    ends = (np.cumsum(PARTS) * len(rows)).astype(int)
    return Task(*(counts(rows[some], columns[some], shape) for some in np.split(order, ends)))


def counts(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """How often each pair is there."""
    X = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    X.sum_duplicates()
    return X


def fitted(model: Any, X: sp.csr_array) -> Factors:
    """A model as a predictor."""
    model.fit(X)
    return Factors(model.embedding_, model.components_.T)


def single_predictors(task: Task, tied: bool, Ks: Sequence[int], seed: int) -> dict[str, Predictor]:
    """What the training table gives alone, each at its best settings."""
    X = task.train
    neighbors, divergences = nearest_rows(X, max(NEIGHBORS))
    similar = (
        similar_rows(X, neighbors[:, :n], divergences[:, :n], beta)
        for n in NEIGHBORS
        for beta in BETAS
    )
    classes = (
        fitted(SymmetricClustering(K, K, hard=True, tied=tied, random_state=seed), X) for K in Ks
    )
    return {
        "frequencies": frequencies(X),
        "similar rows": task.best(similar),
        "classes": task.best(classes),
        "topics": task.best(fitted(AspectModel(K, random_state=seed), X) for K in Ks),
    }


def predictions(task: Task, single: dict[str, Predictor]) -> dict[str, Predictor]:
    """Each predictor alone, and combinations."""
    b, follows = Unigram(unigram(task.train)), Unigram(continuations(task.train))
    similar, classes, topics = (single[name] for name in ("similar rows", "classes", "topics"))
    frequent = single["frequencies"]
    return {
        "unigram": b,
        **{name: task.smoothed(part) for name, part in single.items()},
        "back-off to continuations (Kneser-Ney)": task.backed_off(follows),
        "similar rows and frequencies": task.together(similar, frequent, b),
        "classes and frequencies": task.together(classes, frequent, b),
        "topics and frequencies": task.together(topics, frequent, b),
        "all interpolated": task.together(*single.values(), b, follows),
        "back-off to similar rows": task.backed_off(similar, b, follows),
        "back-off to classes": task.backed_off(classes, b, follows),
        "back-off to topics": task.backed_off(topics, b, follows),
        "back-off to all": task.backed_off(similar, classes, topics, b, follows),
    }


def brown_pairs(components: Sequence[int], seed: int) -> Iterator[tuple[str, Task, Any]]:
    """Adjectives and nouns."""
    X = sp.coo_array(corpora.brown_pairs().X)
    rows, columns = (np.repeat(index, X.data) for index in X.coords)
    task = divided(rows, columns, X.shape, seed)
    single = single_predictors(task, False, components, seed)
    yield "Brown pairs", task, predictions(task, single)


def bible(components: Sequence[int], seed: int) -> Iterator[tuple[str, Task, Any]]:
    """Words after one, two and three words."""
    contexts, rows, columns = histories(3)
    n_words = corpora.bible().X.shape[1]
    after_three = divided(rows, columns, (len(contexts), n_words), seed)
    bigrams = grouped(after_three, contexts[:, 0], n_words)
    found = predictions(bigrams, single_predictors(bigrams, True, components, seed))
    yield "Bible: one word before", bigrams, found

    two, pair = np.unique(contexts[:, :2], axis=0, return_inverse=True)
    after_two = grouped(after_three, pair, len(two))
    of_last = {name: Grouped(predictor, two[:, 0]) for name, predictor in found.items()}
    kneser_ney, best = of_last["back-off to continuations (Kneser-Ney)"], of_last["back-off to all"]
    mixed = chosen_steps(after_two, two)
    all_trigrams = after_two.backed_off(mixed, best)
    found = {
        "mixed order": after_two.smoothed(mixed),
        "mixed order and Kneser-Ney": after_two.together(mixed, kneser_ney),
        "mixed order and back-off to all": after_two.together(mixed, best),
        "trigrams, back-off to Kneser-Ney": after_two.backed_off(kneser_ney),
        "trigrams, back-off to mixed order and Kneser-Ney": after_two.backed_off(mixed, kneser_ney),
        "trigrams, back-off to mixed order and all": all_trigrams,
    }
    yield "Bible: two words before", after_two, found

    mixed = chosen_steps(after_three, contexts)
    found = {
        "mixed order": after_three.smoothed(mixed),
        "mixed order and trigrams of all": after_three.together(mixed, Grouped(all_trigrams, pair)),
    }
    yield "Bible: three words before", after_three, found


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
    """The same tokens, in tables whose rows are groups of rows."""
    members = sp.csr_array(
        (np.ones(len(groups), np.float32), (groups, np.arange(len(groups)))),
        shape=(n_groups, len(groups)),
    )
    return Task(*(sp.csr_array(members @ X) for X in task))


TASKS: dict[str, Callable[[Sequence[int], int], Iterator[tuple[str, Task, Any]]]] = {
    "Brown pairs": brown_pairs,
    "Bible": bible,
}


@experiment(
    minutes=60,
    models=["AspectModel", "RowMemory", "SymmetricClustering"],
    quick={"data": ["Brown pairs"], "components": [4], "seeds": [0]},
)
def language(
    data: Sequence[str] = tuple(TASKS),
    components: Sequence[int] = (32, 128),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """How well do back-off, similar rows, classes and topics predict the next word?

    Nouns after adjectives in the Brown corpus, and words of the King James Bible after one, two or
    three words. A tenth of the tokens is for validation, a tenth for the test, the rest for
    training. Numbers of classes, topics and neighbours, discounts, EM steps and all weights are
    chosen on validation tokens, the temperature inside ``fit``. Each predictor is smoothed with the
    unigram; nothing is fitted again to training and validation tokens together.
    """
    for name in data:
        for seed in seeds:
            for part, task, found in TASKS[name](components, seed):
                for prediction, predictor in found.items():
                    value = perplexity_of(task.test, predictor)
                    row = {"data": part, "seed": seed, "prediction": prediction}
                    yield row | {"perplexity": value}


TRIPLES: dict[str, Callable[[], Triads]] = {
    "Reuters: category, word, next word": corpora.reuters_triples,
    "Bible: word, word, word": corpora.bible_trigrams,
    "Brown: category, adjective, noun": corpora.brown_triples,
}


@experiment(
    minutes=30,
    models=["AspectModel", "RowMemory", "TriadicAspectModel"],
    quick={"tasks": [["Reuters: category, word, next word", 0]], "components": 4, "seeds": [0]},
)
def triads(
    tasks: Sequence[tuple[str, int]] = (
        ("Reuters: category, word, next word", 0),
        ("Reuters: category, word, next word", 1),
        ("Reuters: category, word, next word", 2),
        ("Bible: word, word, word", 1),
        ("Bible: word, word, word", 2),
    ),
    components: int = 32,
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Is one index of three better predicted from both others than from the better one alone?

    A tenth of the triples is held out, the same for all. `AspectModel` predicts the index from one
    of the others, `TriadicAspectModel` from both; all tune their hyper-parameters inside ``fit``.
    "mean" is half the prediction of the three-way model and half that of the best two-way model.
    """
    for name, target in tasks:
        observed = TRIPLES[name]()
        others = [way for way in range(3) if way != target]
        observed = observed.transpose(*others, target)
        for seed in seeds:
            train, test = split_counts(observed, 0.1, random_state=seed)
            train = train.reweighted(np.ones(len(train), np.float32))
            case = {"data": name, "predicted": target + 1, "K": components, "seed": seed}
            column = np.bincount(train.positions[2], minlength=train.table_shape[2]) + 1.0
            logs = np.log(column / column.sum())[test.positions[2]]
            yield case | {"model": "unigram", "perplexity": np.exp(-logs.mean())}
            for position, way in (("first", 0), ("second", 1)):
                tables = (part.dyads(way, 2).to_csr() for part in (train, test))
                for baseline in list(as_rows(baselines(*tables, seed)))[1:]:
                    model = f"{baseline['model']}, from the {position} of the others"
                    yield case | baseline | {"model": model}
            parameters = {"n_components": components, "random_state": seed}
            models = {
                "from the first of the others": (AspectModel(**parameters), (0, 2)),
                "from the second of the others": (AspectModel(**parameters), (1, 2)),
                "from both, exponents (1, 1)": (
                    TriadicAspectModel(exponents=(1, 1), **parameters), None,
                ),
                "from both": (TriadicAspectModel(**parameters), None),
            }  # fmt: skip
            scores = {}
            for model, (estimator, ways) in models.items():
                tables = (train, test) if ways is None else (train.dyads(*ways), test.dyads(*ways))
                scores[model] = estimator.fit(tables[0]).score_samples(tables[1])
                yield case | {"model": model, "perplexity": np.exp(-scores[model].mean())}
            two = max(list(scores.values())[:2], key=np.mean)
            both = np.logaddexp(scores["from both"], two) - np.log(2)
            yield case | {"model": "mean", "perplexity": np.exp(-both.mean())}
