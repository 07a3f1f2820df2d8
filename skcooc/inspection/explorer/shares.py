"""The shares of topics in groups of rows and over time, with bootstrap intervals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.protocol import Array

N_BOOT = 200  # resamples
LEVEL = (2.5, 97.5)  # percentiles of the intervals
MOST_GROUPS = 40  # the largest are shown
MOST_TIMES = 24  # single times up to this number, else equal intervals
BLOCK = 20_000_000  # numbers in an array of weights of resamples


class Shares(NamedTuple):
    """Shares of the observations of each of G groups that are of each topic."""

    labels: list[str]  # of the groups
    sizes: list[int]  # rows in each
    share: Array  # (G, K)
    low: Array  # (G, K)
    high: Array  # (G, K)


def shares(mixtures: Array, row_sums: Array, members: list[Array], labels: list[str]) -> Shares:
    """The shares in groups of rows, and what 95 of 100 resamples of their rows have.

    Rows of a group are drawn with replacement, as many as it has: the intervals say how far the
    choice of rows matters, not how far the model does.
    """
    rng, found = np.random.default_rng(0), []
    for rows in members:
        found.append(_interval(mixtures[rows] * row_sums[rows, None], row_sums[rows], rng))
    share, low, high = np.array(found).reshape(len(members), 3, -1).transpose(1, 0, 2)
    return Shares(labels, [len(rows) for rows in members], share, low, high)


def _interval(joint: Array, sums: Array, rng: np.random.Generator) -> Array:
    """The share, and its percentiles over resamples of the rows, (3, K)."""
    n, drawn = len(sums), []
    at_once = max(1, min(N_BOOT, BLOCK // n))
    for first in range(0, N_BOOT, at_once):
        times = rng.multinomial(n, np.full(n, 1 / n), size=min(at_once, N_BOOT - first))
        drawn.append(_ratio(times @ joint, times @ sums))
    share = _ratio(joint.sum(axis=0), sums.sum())
    return np.vstack([share, np.percentile(np.concatenate(drawn), LEVEL, axis=0)])


def _ratio(parts: Array, totals: Any) -> Array:
    """Parts over totals; zero where there is nothing."""
    whole = np.expand_dims(np.asarray(totals), -1)
    return np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0)


def by_group(groups: ArrayLike, has_observations: Array) -> tuple[list[Array], list[str], int]:
    """Rows of the largest groups, their labels, and how many groups there are."""
    labels, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers[has_observations], minlength=len(labels))
    shown = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
    members = [np.flatnonzero((numbers == g) & has_observations) for g in shown]
    kept = [(rows, str(labels[g])) for rows, g in zip(members, shown, strict=True) if len(rows)]
    return [rows for rows, _ in kept], [label for _, label in kept], len(labels)


def by_time(times: ArrayLike, has_observations: Array) -> tuple[list[Array], list[str], int]:
    """Rows of each time or interval, their labels, and how many times there are.

    More than ``MOST_TIMES`` are put into intervals of equal length. Rows without a time are left
    out. TypeError is raised where times are neither numbers nor dates.
    """
    values, name = _numbers(np.asarray(times))
    known = np.isfinite(values) & has_observations
    distinct = np.unique(values[known])
    if len(distinct) <= MOST_TIMES:
        members = [np.flatnonzero(known & (values == value)) for value in distinct]
        return members, [name(value) for value in distinct], len(distinct)
    edges = np.linspace(distinct[0], distinct[-1], MOST_TIMES + 1)
    numbers = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, MOST_TIMES - 1)
    members = [np.flatnonzero(known & (numbers == t)) for t in range(MOST_TIMES)]
    names = [f"{name(a)} – {name(b)}" for a, b in pairwise(edges)]
    kept = [(rows, label) for rows, label in zip(members, names, strict=True) if len(rows)]
    return [rows for rows, _ in kept], [label for _, label in kept], len(distinct)


def _numbers(times: Array) -> tuple[Array, Any]:
    """Times as floats, and what writes one of them."""
    if times.dtype == object:  # dates of the standard library, or of pandas
        try:
            times = times.astype("datetime64[ns]")
        except ValueError as error:
            raise TypeError("times should be numbers or dates.") from error
    if np.issubdtype(times.dtype, np.datetime64):
        seconds = times.astype("datetime64[s]").astype(float)
        seconds[np.isnat(times)] = np.nan
        return seconds, lambda value: str(np.datetime64(int(value), "s").astype("datetime64[D]"))
    if not np.issubdtype(times.dtype, np.number) or np.iscomplexobj(times):
        raise TypeError("times should be numbers or dates.")
    return times.astype(float), lambda value: f"{value:.6g}"
