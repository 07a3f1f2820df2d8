"""Where the clusters of two sides, their members and their names are in a matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from skcooc.protocol import Array


class Side(NamedTuple):
    """The rows or the columns of a matrix, and their clusters."""

    labels: Array  # (N,): the cluster of each object
    masses: Array  # (N,): its share of the observations
    words: list[list[str]]  # what to write at each of the C clusters


class Places(NamedTuple):
    """Where the objects of a side are, between 0 and 1."""

    objects: Array  # (N,): their middles
    edges: Array  # (C + 1,): between the clusters, in the order in which they are drawn


def log_association(joint: Array) -> Array:
    """log c_cd = log pi_cd / (pi_c pi_d); minus infinity where pi_cd = 0 < pi_c pi_d, else 0."""
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=independent > 0)
    return np.log(ratio, out=np.full_like(ratio, -np.inf), where=ratio > 0)


def arrange(side: Side, order: Array, weights: Array) -> Places:
    """One object after the other, each with room by its weight.

    They come by cluster, in the order given, then by decreasing share of the observations.
    """
    rank = np.argsort(order)[side.labels]
    sorted_objects = np.lexsort((-side.masses, rank))
    room = weights[sorted_objects] / weights.sum()
    middles = np.empty_like(room)
    middles[sorted_objects] = np.cumsum(room) - room / 2
    sizes = np.bincount(rank, weights, minlength=len(order)) / weights.sum()
    return Places(middles, np.concatenate([[0.0], np.cumsum(sizes)]))


def spread(places: ArrayLike, gap: float, low: float, high: float) -> Array:
    """Increasing places between low and high, moved as little as possible (least squares).

    Neighbours of the n are at least a gap apart; (n - 1) gap is at most high - low.

    >>> spread([1.0, 1.0, 5.0], gap=1.0, low=0.0, high=9.0)
    array([0.5, 1.5, 5. ])
    """
    shift = gap * np.arange(len(np.atleast_1d(places)))
    wanted = np.asarray(places, dtype=np.float64) - shift
    top = high - shift[-1] if len(shift) else high
    return isotonic_regression(wanted, y_min=low, y_max=max(top, low)) + shift
