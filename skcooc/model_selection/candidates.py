"""Which numbers of components are tried, and in which order: first a few, then near the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from skcooc.protocol import Array

FIRST = 2, 3, 5, 8  # components
FACTOR = 2  # between the numbers after those
WIDEST, FINEST = 1 / 4, 1 / 25  # steps around the best, in shares of it; the last, or one

Sizes: TypeAlias = tuple[int, ...]  # numbers of components, one or two


class Visit(Protocol):
    """How good sizes are, (n_folds,): larger is better; ``again`` is for those visited before."""

    def __call__(self, sizes: Sizes, again: bool = False) -> Array: ...


def explore(visit: Visit, limits: Sizes) -> None:
    """Visit sizes that grow, all together, until one is no better; then those around the best.

    To be better is to be so by more than a standard error: copies of components often gain a
    little. Then the best is visited again, since it may gain by what has more components. Where the
    limits are the best, the curve has not ended, and there is nothing that it could name.

    >>> visited = []
    >>> def visit(sizes, again=False):
    ...     visited.append(sizes)
    ...     return np.array([-abs(sizes[0] - 11)])
    >>> explore(visit, (100,))
    >>> visited
    [(2,), (3,), (5,), (8,), (16,), (8,), (10,), (6,), (12,), (11,), (9,)]
    """
    scores: dict[Sizes, Array] = {}

    def score(sizes: Sizes) -> Array:
        if sizes not in scores:
            scores[sizes] = visit(sizes)
        return scores[sizes]

    best, *larger = growing(limits)
    score(best)
    for sizes in larger:
        if not is_better(score(sizes), score(best)):
            break
        best = sizes
    if best != limits:
        scores[best] = visit(best, again=True)
        descend(score, best, limits)


def growing(limits: Sizes) -> list[Sizes]:
    """The first sizes, and those that double from there, up to the limits."""
    numbers = [*FIRST]
    while numbers[-1] < max(limits):
        numbers.append(FACTOR * numbers[-1])
    sizes = [tuple(min(n, limit) for limit in limits) for n in numbers]
    return list(dict.fromkeys(sizes))


def go_through(visit: Visit, candidates: Sequence[Sizes]) -> None:
    """Visit candidates in the order in which they cost the least, and the best of them again.

    They are given from few to many. First come those that are twice as large as the one before, and
    the largest; then the others, each of which can begin with one that has more.

    >>> visited = []
    >>> def visit(sizes, again=False):
    ...     visited.append(sizes)
    ...     return np.array([-abs(sizes[0] - 4)])
    >>> go_through(visit, [(2,), (3,), (4,), (5,), (6,)])
    >>> visited
    [(2,), (4,), (6,), (5,), (3,), (4,)]
    """
    first = [candidates[0]]
    for sizes in candidates[1:]:
        if sizes == candidates[-1] or np.prod(sizes) >= FACTOR * np.prod(first[-1]):
            first.append(sizes)
    others = [sizes for sizes in reversed(candidates) if sizes not in first]
    means = {sizes: visit(sizes).mean() for sizes in [*first, *others]}
    best = max(means, key=lambda sizes: means[sizes])
    if best in first[:-1]:
        visit(best, again=True)


def descend(score: Callable[[Sizes], Array], best: Sizes, limits: Sizes) -> None:
    """From the best so far to its neighbours, at ever shorter steps."""
    share = WIDEST
    while True:
        tried = [best, *neighbours(best, share, limits)]
        leader = max(tried, key=lambda sizes: score(sizes).mean())
        if leader == best:
            if share <= FINEST or share * max(best) <= 1:
                return
            share /= 2
        best = leader


def neighbours(sizes: Sizes, share: float, limits: Sizes) -> list[Sizes]:
    """Those that differ in one number, by such a share of it, or one; the larger ones first.

    >>> neighbours((4, 9), 0.25, (5, 20))
    [(5, 9), (3, 9), (4, 11), (4, 7)]
    """
    found = []
    for way, (n, limit) in enumerate(zip(sizes, limits, strict=True)):
        length = max(1, round(share * n))
        for other in (n + length, n - length):
            if FIRST[0] <= other <= limit:
                found.append((*sizes[:way], other, *sizes[way + 1 :]))
    return found


def is_better(scores: Array, others: Array) -> bool:
    """Whether the mean is larger by more than the standard error of the difference, if it has one.

    >>> is_better(np.array([3.0, 3.1]), np.array([2.9, 2.9]))
    True
    >>> is_better(np.array([3.0, 3.0]), np.array([2.9, 3.1]))
    False
    """
    gains = scores - others
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > error)
