"""The shares of topics in groups of rows and over time, with bootstrap intervals."""

from __future__ import annotations

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

    share: Array  # (G, K)
    low: Array  # (G, K)
    high: Array  # (G, K)


def shares(mixtures: Array, row_sums: Array, members: list[Array]) -> Shares:
    """The shares in groups of rows, and what 95 of 100 resamples of their rows have.

    Rows of a group are drawn with replacement, as many as it has: the intervals say how far the
    choice of rows matters, not how far the model does.
    """
    rng, found = np.random.default_rng(0), []
    for rows in members:
        found.append(_interval(mixtures[rows] * row_sums[rows, None], row_sums[rows], rng))
    share, low, high = np.array(found).reshape(len(members), 3, -1).transpose(1, 0, 2)
    return Shares(share, low, high)


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


class Division(NamedTuple):
    """Rows in groups."""

    members: list[Array]  # their positions, of each group
    labels: list[str]
    n: int  # how many groups or times there are, though not all are shown
    at: list[float] | None = None  # where each is in time


def by_group(groups: ArrayLike, has_observations: Array) -> Division:
    """The largest groups, by their labels."""
    labels, numbers = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    sizes = np.bincount(numbers[has_observations], minlength=len(labels))
    largest = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
    shown = [g for g in np.sort(largest).tolist() if sizes[g]]
    members = [np.flatnonzero((numbers == g) & has_observations) for g in shown]
    return Division(members, [str(labels[g]) for g in shown], len(labels))


def by_time(times: ArrayLike, has_observations: Array) -> Division:
    """Each time or, where there are more than ``MOST_TIMES``, equal intervals, where not empty.

    Rows without a time are left out. TypeError is raised where times are neither numbers nor dates.
    """
    values, name = _numbers(np.asarray(times))
    known = np.isfinite(values) & has_observations
    distinct = np.unique(values[known])
    if len(distinct) <= MOST_TIMES:
        members = [np.flatnonzero(known & (values == value)) for value in distinct]
        return Division(
            members, [name(value) for value in distinct], len(distinct), distinct.tolist()
        )
    edges = np.linspace(distinct[0], distinct[-1], MOST_TIMES + 1)
    numbers = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, MOST_TIMES - 1)
    shown = np.unique(numbers[known]).tolist()
    members = [np.flatnonzero(known & (numbers == t)) for t in shown]
    labels = [f"{name(edges[t])} – {name(edges[t + 1])}" for t in shown]
    return Division(members, labels, len(distinct), ((edges[:-1] + edges[1:]) / 2)[shown].tolist())


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
