"""Which numbers of components are tried where nobody says: more and more, then near the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

FIRST = 2  # components
FACTOR = 1.5  # between the numbers tried first
PATIENCE = 2  # of them that are no better than the best
WIDEST, FINEST = 1 / 4, 1 / 25  # steps around the best, in shares of it; the last, or one

Sizes: TypeAlias = tuple[int, ...]  # numbers of components, one or two
Visit: TypeAlias = Callable[[Sizes], float]  # how good they are: larger is better


def explore(visit: Visit, limits: Sizes) -> None:
    """Visit sizes that grow by half, all together, and then those around the best.

    >>> visited = []
    >>> def visit(sizes):
    ...     visited.append(sizes)
    ...     return -abs(sizes[0] - 9)
    >>> explore(visit, (100,))
    >>> visited
    [(2,), (3,), (5,), (8,), (12,), (18,), (6,), (10,), (7,), (9,)]
    """
    scores: dict[Sizes, float] = {}

    def score(sizes: Sizes) -> float:
        if sizes not in scores:
            scores[sizes] = visit(sizes)
        return scores[sizes]

    for sizes in growing(limits):
        score(sizes)
        tried = list(scores)
        best = max(tried, key=score)
        if len(tried) - tried.index(best) > PATIENCE:
            break
    descend(score, best, limits)


def growing(limits: Sizes) -> list[Sizes]:
    """Sizes that grow by half, up to the limits."""
    sizes = [tuple(min(FIRST, limit) for limit in limits)]
    while sizes[-1] != limits:
        larger = (int(FACTOR * n + 0.5) for n in sizes[-1])
        sizes.append(tuple(min(n, limit) for n, limit in zip(larger, limits, strict=True)))
    return sizes


def descend(score: Visit, best: Sizes, limits: Sizes) -> None:
    """From the best so far to its neighbours, at ever shorter steps."""
    share = WIDEST
    while True:
        leader = max([best, *neighbours(best, share, limits)], key=score)
        if leader == best:
            if share <= FINEST or share * max(best) <= 1:
                return
            share /= 2
        best = leader


def neighbours(sizes: Sizes, share: float, limits: Sizes) -> list[Sizes]:
    """Those that differ in one number, by such a share of it, or one.

    >>> neighbours((4, 9), 0.25, (5, 20))
    [(3, 9), (5, 9), (4, 7), (4, 11)]
    """
    found = []
    for way, (n, limit) in enumerate(zip(sizes, limits, strict=True)):
        length = max(1, round(share * n))
        for other in (n - length, n + length):
            if FIRST <= other <= limit:
                found.append((*sizes[:way], other, *sizes[way + 1 :]))
    return found
