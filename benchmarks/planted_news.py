"""Texts with planted topics: are their number and their shares by group found in one call?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.experiment import Row, experiment
from skcooc import fit_texts
from skcooc.protocol import Array
from skcooc.reports.sizes import twins

N_TEXTS, N_TOPICS, LENGTH = 2000, 8, (100, 150)
N_WORDS, N_COMMON = 300, 400  # of each topic, and of none
DESKS = {"home": 0.5, "sport": 0.3, "world": 0.2}  # shares of the texts


class Shape(NamedTuple):
    common: float  # share of the tokens that are common words
    spread: float  # concentration of the mixtures of the texts
    is_dominated: bool  # each desk by one or two topics


SHAPES = {
    "even": Shape(0.6, 1.0, False),
    "dominated": Shape(0.4, 0.6, True),
    "common words": Shape(0.8, 0.5, False),
}


@experiment(minutes=2, quick={"shapes": ["even"], "seeds": [0]})
def planted_news(
    shapes: Sequence[str] = tuple(SHAPES),
    seeds: Sequence[int] = (100, 101, 102, 103, 104, 105, 106, 107, 108, 109),
) -> Iterator[Row]:
    """Are eight planted topics, and their shares in three desks, found without any option?

    2,000 texts of 100 to 150 words. Words of topics and common ones follow Zipf's law; 40 to 80 %
    of the tokens are common words. Desks have different mixtures of topics. Topics found are
    matched to the planted ones by their words. "Error" is the sum of the absolute errors of the
    shares in a desk, in the mean of the desks; "copies" are topics that are found again, "equal"
    pairs of topics that are nearly equal.
    """
    for name in shapes:
        for seed in seeds:
            texts, desks, planted = news(SHAPES[name], seed)
            began = process_time()
            report = fit_texts(texts, group=desks, n_jobs=1, random_state=seed)
            shares = report.by_group.share
            seconds = process_time() - began
            topics = np.array([word[0] for word in report.column_names])
            masses = np.array(
                [
                    report.model.components_[:, topics == letter(k)].sum(axis=1)
                    for k in range(N_TOPICS)
                ]
            )
            matched = masses.argmax(axis=0)[report.by_group.components]  # in its order
            sums = np.zeros_like(planted)
            for k, topic in enumerate(matched):
                sums[:, topic] += shares[:, k]
            yield {
                "shape": name,
                "seed": seed,
                "error": float(abs(sums - planted).sum(axis=1).mean()),
                "topics": len(report.names),
                "fitted": report.n_fitted,
                "copies": len(matched) - len(set(matched.tolist())),
                "equal": len(twins(report.model.components_)),
                "seconds": seconds,
            }


def news(shape: Shape, seed: int) -> tuple[list[str], Array, Array]:
    """Texts, the desk of each, and shares of the topics in the desks."""
    rng = np.random.default_rng(seed)
    if shape.is_dominated:
        mixtures = np.full((len(DESKS), N_TOPICS), 0.03)
        mixtures[0, :2] = 0.4, 0.42
        mixtures[1, 2:4] = 0.31, 0.52
        mixtures[2, 4:] = 0.2, 0.25, 0.2, 0.23
    else:
        mixtures = rng.dirichlet(np.full(N_TOPICS, 2.0), len(DESKS)) + 0.01
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    words = [names(letter(k), N_WORDS) for k in range(N_TOPICS)]
    common = names("x", N_COMMON)
    desks = rng.choice(len(DESKS), N_TEXTS, p=list(DESKS.values()))
    counts = np.zeros((len(DESKS), N_TOPICS))
    texts = []
    for desk in desks:
        mixture = rng.dirichlet(shape.spread * mixtures[desk] + 1e-3)
        length = rng.integers(*LENGTH)
        n_common = rng.binomial(length, shape.common)
        sizes = rng.multinomial(length - n_common, mixture)
        counts[desk] += sizes
        drawn = [rng.choice(words[k], n, p=zipf(N_WORDS)) for k, n in enumerate(sizes)]
        tokens = np.concatenate([*drawn, rng.choice(common, n_common, p=zipf(N_COMMON))])
        texts.append(" ".join(rng.permutation(tokens)))
    return texts, np.array(list(DESKS))[desks], counts / counts.sum(axis=1, keepdims=True)


def letter(k: int) -> str:
    return chr(ord("a") + k)


def names(first: str, n: int) -> list[str]:
    """Words of five letters that begin with these."""
    letters = "bcdfghjklmnpqrstvw"
    size = len(letters)
    return [
        f"{first}o{letters[j // size**2]}{letters[j // size % size]}{letters[j % size]}"
        for j in range(n)
    ]


def zipf(n: int) -> Array:
    p = 1 / np.arange(1, n + 1)
    return p / p.sum()
