"""The topics of a page, and their features."""

from __future__ import annotations

from typing import Any

import numpy as np

from skcooc.inspection.explorer.reading import Subject
from skcooc.protocol import Array

MIXES = np.linspace(0, 1, 11)  # the places of the slider between probability and ratio
N_SHOWN = 20  # features at a place of the slider
MANY = 100  # topics, above which fewer features of each are kept
NOTHING = 1e-9  # probabilities that are shown as zero
LEAST = 3.0  # observations of a feature in a topic, below which its ratio says little


def others(subject: Subject) -> Array:
    """P(y given another topic than z), (K, M); half an observation where there is none."""
    joint = subject.weights[:, None] * subject.components
    rest = np.maximum(1 - subject.weights, np.finfo(float).tiny)[:, None]
    return np.maximum((subject.unigram - joint) / rest, 0.5 / subject.n_observations)


def relevances(p: Array, reference: Array, expected: Array) -> Array:
    """t log(p / reference) + (1 - t) log p at all places t of the slider, (11, M).

    Sievert and Shirley (2014), equation 1, where the reference is P(y). Features of fewer than
    ``LEAST`` expected observations are ranked by probability alone, at t = 0.
    """
    probability, t = np.log(np.maximum(p, NOTHING)), MIXES[:, None]
    mixed = probability - t * np.log(reference)
    mixed[1:, expected < LEAST] = -np.inf
    mixed[:, p < NOTHING] = -np.inf
    return mixed


def topic_features(subject: Subject) -> list[tuple[Array, Array, Array]]:
    """For each topic the features of any place of the slider, their P(y given z) and of others."""
    rest, unigram = others(subject), np.maximum(subject.unigram, np.finfo(float).tiny)
    n = N_SHOWN if len(rest) <= MANY else max(6, N_SHOWN * MANY // len(rest))
    found = []
    for p, weight, r in zip(subject.components, subject.weights, rest, strict=True):
        expected = subject.n_observations * weight * p
        kept = set[int]()
        for reference in (unigram, r):
            kept |= _first(relevances(p, reference, expected), n)
        columns = np.array(sorted(kept, key=lambda j: (-p[j], j)), dtype=int)
        found.append((columns, p[columns], r[columns]))
    return found


def _first(ranks: Array, n: int) -> set[int]:
    """The n columns of largest rank in any row, those of rank minus infinity left out."""
    n = min(n, ranks.shape[1])
    first = np.argpartition(-ranks, n - 1, axis=1)[:, :n]
    return set(first[np.take_along_axis(ranks, first, axis=1) > -np.inf].tolist())


def entry(
    weight: float,
    features: tuple[Array, Array, Array],
    numbers: dict[int, int],
    intervals: Array | None = None,
) -> Any:
    """A topic as the page has it: its weight, and [feature, P(y given z), P(y given others)].

    With ``intervals`` (2, M) of P(y given z), these are two more numbers of each feature.
    """
    columns, *values = features
    if intervals is not None:
        values += list(intervals[:, columns])
    listed = [
        [numbers[j], *map(short, numbers_of)]
        for j, *numbers_of in zip(columns.tolist(), *values, strict=True)
    ]
    return {"weight": short(weight), "features": listed}


def short(value: float) -> float:
    """Four digits of a number, which take less room."""
    return float(f"{value:.4g}") if abs(value) >= NOTHING else 0.0


def counted(n: float) -> float:
    """A number of observations: whole ones as they are, others of four digits."""
    return int(n) if n == int(n) else short(n)
