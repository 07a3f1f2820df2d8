"""How shares of topics in groups of rows would vary if other rows had been drawn.

A share is a ratio of sums over rows, so that all resamples of a group are matrix products. Random
numbers do not depend on the topics: these go through in blocks, with the same draws for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm, t

from skcooc.protocol import Array

FEW = 5  # rows of a group, below which its interval sets no scale
BLOCK = 8_000_000  # numbers in the largest array


class Mass(NamedTuple):
    """The observations of N rows, as a share of all or in counts."""

    joint: Array  # (N, K): of each topic
    rows: Array  # (N,): of all


class Shares(NamedTuple):
    """Shares of the observations of each of G groups that are of each topic, with an interval.

    NaN are the ends of intervals of groups of one row, of which nothing is known.
    """

    share: Array  # (G, K)
    low: Array  # (G, K)
    high: Array  # (G, K)


def shares(mass: Mass, members: list[Array], n_resamples: int, level: float, seed: int) -> Shares:
    """The shares in groups of rows, and percentiles of resamples of the rows of each group.

    Rows of a group are drawn with replacement, as many as it has: the intervals say how far the
    choice of rows matters, not how far the model does.
    """
    sizes = [len(rows) for rows in members]
    ends = []
    for topics in _blocks(mass.joint.shape[1], len(members) * n_resamples):
        parts, totals = _resamples(mass, members, topics, n_resamples, seed)
        ends.append(_percentiles(parts / totals[:, :, None], sizes, level))
    low, high = np.concatenate(ends, axis=2)
    return Shares(_share(mass, members), low, high)


def differences(
    mass: Mass, members: list[Array], n_resamples: int, level: float, seed: int
) -> Shares:
    """The share in each group less that in all others together, with its interval; as `shares`."""
    sizes = np.array([len(rows) for rows in members])
    ends = []
    for topics in _blocks(mass.joint.shape[1], 2 * len(members) * n_resamples):
        parts, totals = _resamples(mass, members, topics, n_resamples, seed)
        found = _against_rest(parts, totals[:, :, None])
        ends.append(_percentiles(found, np.minimum(sizes, sizes.sum() - sizes), level))
    low, high = np.concatenate(ends, axis=2)
    parts, totals = sums(mass.joint, members), sums(mass.rows, members)
    return Shares(_against_rest(parts, totals[:, None]), low, high)


def p_values(mass: Mass, members: list[Array], n_permutations: int, seed: int) -> Array:
    """Of the hypothesis that the labels of rows say nothing about a topic, (G, K).

    The statistic is the difference between a group and all others, divided by its standard error,
    so that groups whose rows are longer or vary more may be compared (Chung and Romano 2013). NaN
    where a group or its rest has one row.
    """
    rows = np.concatenate(members)
    sizes = np.array([len(of_group) for of_group in members])
    n_topics, found = mass.joint.shape[1], []
    for topics in _blocks(n_topics, 3 * len(rows)):
        table = _moments(mass.joint[rows][:, topics], mass.rows[rows])
        seen = _statistic(_group_sums(np.arange(len(rows))[None], sizes, table))
        larger = np.zeros(seen.shape[1:])
        rng, at_once = np.random.default_rng(seed), max(1, BLOCK // max(table.size, len(rows)))
        for first in range(0, n_permutations, at_once):
            order = np.tile(np.arange(len(rows)), (min(at_once, n_permutations - first), 1))
            drawn = _statistic(_group_sums(rng.permuted(order, axis=1), sizes, table))
            larger += (drawn >= seen * (1 - 1e-9)).sum(axis=0)
        found.append((1 + larger) / (1 + n_permutations))
    p = np.concatenate(found, axis=1)
    p[np.minimum(sizes, sizes.sum() - sizes) < 2] = np.nan
    return p


def sums(values: Array, members: list[Array]) -> Array:
    """Over the rows of each group, (G,) or (G, K)."""
    return np.array([values[rows].sum(axis=0) for rows in members])


def _share(mass: Mass, members: list[Array]) -> Array:
    return sums(mass.joint, members) / sums(mass.rows, members)[:, None]


def _against_rest(parts: Array, totals: Array) -> Array:
    """The share of each group less that of the others, of sums over groups, the first axis."""
    rest, others = parts.sum(axis=0) - parts, totals.sum(axis=0) - totals
    return parts / totals - rest / others


def _blocks(n_topics: int, numbers: int) -> Iterator[slice]:
    """Topics of which arrays of so many numbers each fit into a block."""
    step = max(1, BLOCK // numbers)
    return (slice(first, first + step) for first in range(0, n_topics, step))


def _resamples(
    mass: Mass, members: list[Array], topics: slice, n_resamples: int, seed: int
) -> tuple[Array, Array]:
    """Sums over the rows drawn: of topics (G, R, k), and of all observations (G, R)."""
    rng, parts, totals = np.random.default_rng(seed), [], []
    for rows in members:
        table = np.column_stack([mass.joint[rows, topics], mass.rows[rows]])
        drawn = np.concatenate([times @ table for times in _times(len(rows), n_resamples, rng)])
        parts.append(drawn[:, :-1])
        totals.append(drawn[:, -1])
    return np.array(parts), np.array(totals)


def _times(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """How often each of n rows is drawn, multinomial: some resamples after the other, (r, n)."""
    at_once = max(1, BLOCK // n)
    for first in range(0, n_resamples, at_once):
        r = min(at_once, n_resamples - first)
        drawn = rng.integers(n, size=(r, n)) + n * np.arange(r)[:, None]
        yield np.bincount(drawn.ravel(), minlength=r * n).reshape(r, n).astype(np.float64)


def _percentiles(values: Array, sizes: Array | list[int], level: float) -> Array:
    """Ends of the intervals of (G, R, K) resamples, (2, G, K)."""
    ends = np.full((2, len(values), values.shape[2]), np.nan)
    for g, n in enumerate(sizes):
        if n > 1:
            tail = expanded(level, n)
            ends[:, g] = np.quantile(values[g], [tail, 1 - tail], axis=0)
    return ends


def expanded(level: float, n: int) -> float:
    """The share of resamples below an interval of this level, for a group of n rows.

    Resamples vary less than samples do, by the root of (n - 1) / n, and have no tails of a t
    distribution: the interval is expanded by both (Hesterberg 2015, section 5.3).

    >>> [round(expanded(0.95, n), 3) for n in (5, 20, 1000)]
    [0.001, 0.016, 0.025]
    """
    return float(norm.cdf(-np.sqrt(n / (n - 1)) * t.ppf((1 + level) / 2, n - 1)))


def _moments(joint: Array, rows: Array) -> Array:
    """What the statistic is made of, of each row: joint, its square and product with rows."""
    return np.column_stack([joint, joint**2, joint * rows[:, None], rows, rows**2])


def _group_sums(order: Array, sizes: Array, table: Array) -> Array:
    """Sums over groups of these sizes, of rows in each of b orders: (b, G, columns)."""
    begin = np.concatenate([[0], np.cumsum(np.tile(sizes, len(order)))])
    chosen = sp.csr_array(
        (np.ones(order.size), order.ravel(), begin), shape=(len(begin) - 1, len(table))
    )
    return (chosen @ table).reshape(len(order), len(sizes), -1)


def _statistic(group_sums: Array) -> Array:
    """Squares of differences between groups and all others, over their variances, (b, G, k)."""
    rest = group_sums.sum(axis=1, keepdims=True) - group_sums
    share, variance = _ratio(group_sums)
    other, its_variance = _ratio(rest)
    square, spread = (share - other) ** 2, variance + its_variance
    square[square < (1e-12 * (share + other)) ** 2] = 0  # of equal shares it is rounding
    found = np.where(square > 0, np.inf, 0.0)
    return np.divide(square, spread, out=found, where=spread > 0)


def _ratio(group_sums: Array) -> tuple[Array, Array]:
    """A share and its variance, that of a ratio of sums, by linearisation."""
    k = (group_sums.shape[2] - 2) // 3
    joint, square, product = (group_sums[:, :, a * k : (a + 1) * k] for a in range(3))
    rows, rows_squared = group_sums[:, :, -2, None], group_sums[:, :, -1, None]
    share = joint / rows
    spread = square - 2 * share * product + share**2 * rows_squared
    spread[spread < 1e-12 * (square + share**2 * rows_squared)] = 0  # so it is of equal rows
    return share, spread / rows**2
