"""Sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skcooc.protocol import Statistics, T


def reduced(add: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """The sum of all parts, in pairs of neighbours, pairs of pairs and so on.

    The tree depends on the number of parts alone, not on where or when they are at hand.

    >>> reduced(lambda one, other: f"({one} + {other})", ["a", "b", "c", "d", "e"])
    '(((a + b) + (c + d)) + e)'
    """
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        rest = parts[len(parts) - len(parts) % 2 :]
        parts = [*(add(*pair) for pair in pairs), *rest]
    return parts[0]


def add_statistics(one: Statistics, other: Statistics) -> Statistics:
    """The statistics of two blocks together: the sum of every field."""
    return type(one)(*(mine + its for mine, its in zip(one, other, strict=True)))
