"""Parameters that are distributions: found by their sums, and how they can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skcooc.protocol import Array, Params, Rows

ROUNDING = 1e-5  # of sums, in single precision


def simplices(P: Array) -> Iterator[Any]:
    """The parts of an array that sum to one each, as indices; none where it has none.

    They are the whole, its columns, its rows, or, in one dimension, runs of entries.

    >>> list(simplices(np.array([0.5, 0.5, 0.2, 0.8])))
    [slice(0, 2, None), slice(2, 4, None)]
    >>> list(simplices(np.array([0.5, 4.0])))
    []
    """
    if P.ndim == 0 or P.min() < 0:
        return
    if _is_one(P.sum()):
        yield ...
    elif P.ndim == 2 and _is_one(P.sum(axis=0)):
        yield from ((slice(None), k) for k in range(P.shape[1]))
    elif P.ndim == 2 and _is_one(P.sum(axis=1)):
        yield from range(len(P))
    elif P.ndim == 1:
        ends = 1 + np.flatnonzero(np.diff(np.floor(np.cumsum(P) + ROUNDING), prepend=0.0))
        runs = [slice(*pair) for pair in zip([0, *ends[:-1]], ends, strict=False)]
        if len(ends) and ends[-1] == len(P) and all(_is_one(P[run].sum()) for run in runs):
            yield from (slice(int(run.start), int(run.stop)) for run in runs)


def tangent(P: Array, rng: np.random.Generator) -> Array:
    """A random change of an array, relative to its entries, that keeps the sums of simplices."""
    direction = P * rng.standard_normal(P.shape)
    for part in simplices(P):
        direction[part] -= P[part] * direction[part].sum()
    return direction


def halved(P: Array) -> Array:
    """The roots of distributions, made distributions again: half a step from uniform ones."""
    parts, roots = list(simplices(P)), P
    if parts:
        roots = np.sqrt(P)
        for part in parts:
            roots[part] /= roots[part].sum()
    return roots


def flattened(P: Array, share: float = 0.1) -> Array:
    """Distributions that are uniform in this share."""
    flat = P.copy()
    for part in simplices(P):
        flat[part] *= 1 - share
        flat[part] += share / flat[part].size
    return flat


def reordered(array: Array, size: int, order: Array) -> Array:
    """The array with all axes of this size in another order."""
    for axis, length in enumerate(array.shape):
        if length == size:
            array = np.take(array, order, axis=axis)
    return array


def changed(params: Params, other: Params) -> list[str]:
    """The names of the fields that differ by more than rounding."""
    pairs = zip(params._fields, params, other, strict=True)
    return [name for name, one, two in pairs if not np.allclose(one, two, rtol=1e-7, atol=1e-12)]


def component_sizes(params: Params, rows: Rows, shape: tuple[int, int]) -> set[int]:
    """The sizes of axes that belong neither to rows nor to columns: numbers of components."""
    sizes = {size for array in (*params, rows) for size in np.shape(array)}
    return {size for size in sizes if size > 1} - set(shape)


def _is_one(sums: Array) -> bool:
    return bool(np.allclose(sums, 1, rtol=0, atol=ROUNDING))
