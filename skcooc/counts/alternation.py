"""Rows of a factorisation improved at fixed columns, and then columns at the rows found.

Let n_ij be Poisson with mean A[i] @ B[j]. With B fixed, what -log likelihood says of a row a is

    sum_k S_k a_k - sum_j n_ij log(a @ B[j]),    S_k = sum_j B_jk,

a convex function of a row alone, and so is that of a column with A fixed. In one number a_k its
slope is S_k - g_k, its curvature H_k, with g_k = sum_j n_ij B_jk / (a @ B[j]) and H_k = sum_j n_ij
[B_jk / (a @ B[j])]^2. The reciprocal of g_k is concave in a_k, and nearly straight: Newton's method
makes 1 / g_k equal to 1 / S_k by the step

    (g_k / S_k) (g_k - S_k) / H_k,

which from below never goes beyond the minimum, and which ends at zero where it would go below: a
number that ought to be zero is, and one that is zero but ought not to be comes back, neither of
which EM can do. (Steps in one number after the other: C.-J. Hsieh and I. Dhillon, Fast coordinate
descent methods with variable selection for non-negative matrix factorization, KDD 2011; P.
Carbonetto, A. Sarkar, Z. Wang and M. Stephens, Non-negative matrix factorization algorithms greatly
improve topic model fits, arXiv 2105.13440, 2021.) Here all numbers of a row make their step at
once, the whole is shortened until its end no longer leads uphill, so that it has led downhill, and
then the row is scaled so that it expects as many observations as it has, which is best. Lines of B
are read three times, after the first time from the cache.

Sums have loops of their own, which store nothing: where a loop does, the compiled one adds in
another order where arrays lie so in memory that they might overlap.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from skcooc.counts.kernels import U, compiled
from skcooc.counts.lanes import (
    LINE,
    at_least,
    dot,
    lanes,
    lined_up,
    load,
    over,
    plus,
    store,
    times,
)
from skcooc.counts.layout import Stored
from skcooc.protocol import Array

LEAST = 1e-15  # of what is divided by: its square is a float32, and that of its reciprocal
TRIES = 10  # lengths of a step, before there is none

unchecked = partial(compiled, error_model="numpy")  # nobody asks whether a divisor is zero


@unchecked
def products_with(lanes, a, i, B, indices, products):  # type: ignore[no-untyped-def]
    """a[i] @ B[j] for some columns j."""
    row = load(lanes, a, U(i))
    for p in range(len(indices)):
        products[p] = dot(row, load(lanes, B, U(indices[p])))


@unchecked
def slope_and_curvature(lanes, B, indices, counts, cells, vectors):  # type: ignore[no-untyped-def]
    """Let the first two vectors be g and H; the last one is zero."""
    g, H = load(lanes, vectors, U(3)), load(lanes, vectors, U(3))
    for p in range(len(indices)):
        b = load(lanes, B, U(indices[p]))
        reciprocal = 1 / cells[p]
        w = counts[p] * reciprocal
        g, H = plus(g, w, b), plus(H, w * reciprocal, times(b, b))
    store(g, vectors, U(0))
    store(H, vectors, U(1))


@unchecked
def whole_step(a, totals, vectors):  # type: ignore[no-untyped-def]
    """Let the third vector be the step; return totals @ step, and how steeply it leads downhill."""
    g, H, step = vectors[0], vectors[1], vectors[2]
    least = a.dtype.type(LEAST)
    for k in range(len(a)):
        total = max(totals[k], least)
        newton = (g[k] / total) * ((g[k] - total) / max(H[k], least * least))
        step[k] = max(newton, -a[k]) if g[k] > 0 else -a[k]
    cost = descent = a.dtype.type(0)
    for k in range(len(a)):
        total = max(totals[k], least)
        cost += total * step[k]
        descent += (g[k] - total) * step[k]
    return cost, descent


@unchecked
def length(line, counts, cells, changes, n_lines, cost, descent, ones):  # type: ignore[no-untyped-def]
    """Which part of the step to take: at its end it no longer leads uphill."""
    kind = cells.dtype.type
    part, least, one = kind(1), kind(LEAST), kind(1)
    for _ in range(TRIES):
        gain = load(line, ones, U(1))
        for q in range(U(n_lines)):
            change = load(line, changes, q)
            there = at_least(plus(load(line, cells, q), part, change), least)
            gain = plus(gain, one, over(times(load(line, counts, q), change), there))
        gained = dot(gain, load(line, ones, U(0)))
        if gained >= cost:
            return part
        shorter = kind(0.95) * descent / (descent + cost - gained)
        if cost > 0:  # as for a row that begins at next to nothing: gained is like 1 / part
            shorter = min(shorter, gained / cost)
        part *= min(max(shorter, kind(0.1)), kind(0.9))
    return kind(0)


@unchecked
def go(a, part, step, totals, observations):  # type: ignore[no-untyped-def]
    """Take a part of the step; then let the row expect as many observations as it has."""
    zero = a.dtype.type(0)
    for k in range(len(a)):
        a[k] = max(a[k] + part * step[k], zero)
    expected = zero
    for k in range(len(a)):
        expected += totals[k] * a[k]
    if expected > 0:
        for k in range(len(a)):
            a[k] *= observations / expected


@unchecked
def improve_rows(  # type: ignore[no-untyped-def]
    lanes, line, indptr, indices, data, unit, B, totals, start, stop, A, cells, vectors, work
):
    """A step of rows start..stop of A; fill in their ``cells`` before it, in units of counts.

    ``work`` has lines of counts, cells and changes of a row, and at last ones and zeros.
    """
    width, least, zero = work.shape[2], A.dtype.type(LEAST), A.dtype.type(0)
    counts, here, changes = work[0].reshape(-1), work[1].reshape(-1), work[2].reshape(-1)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        n, n_lines = last - first, (last - first + width - 1) // width
        columns, a = indices[first:last], A[i]
        counts[n : n_lines * width], here[n : n_lines * width] = 0, 1
        changes[n : n_lines * width] = 0
        products_with(lanes, A, i, B, columns, here)
        for p in range(n):
            here[p] = max(here[p], least)
            cells[first + p], counts[p] = here[p], data[first + p] / unit
        observations = zero
        for p in range(n):
            observations += counts[p]
        slope_and_curvature(lanes, B, columns, counts, here, vectors)
        cost, descent = whole_step(a, totals, vectors)
        products_with(lanes, vectors, 2, B, columns, changes)
        part = length(line, work[0], work[1], work[2], n_lines, cost, descent, work[3])
        go(a, part, vectors[2], totals, observations)


class Alternation(NamedTuple):
    """What a step of the rows, and then of the columns, yields."""

    rows: Array  # (n, k): expected counts, with the columns found
    columns: Array  # (M, k): expected counts, with the rows found, which count by their weights
    log_likelihood: float  # sum n_ij log(A[i] @ B[j]) before, nats


class AlternatingRows(Stored):
    """Steps of rows and columns in turn."""

    def alternate(self, A: Array, B: Array) -> Alternation:
        """A step of A (n, k) at B (M, k), then one of B at the A found."""
        A, B, cells = self._copied(A), self._copied(B), np.empty_like(self.data)
        unit = power_of_two(self.data)  # reciprocals and squares of counts are to be numbers
        A /= unit
        self._improve((self.indptr, self.indices, self.data, unit), B, A, cells)
        observations = self.data if self.weights is None else self.observations
        logs = np.log(cells)
        log_likelihood = float(np.einsum("p,p->", observations, logs, dtype=np.float64))
        log_likelihood += float(observations.sum(dtype=np.float64) * np.log(unit))
        view, weighted = self.views.columns, self._weighted(A)
        counts = self.data[view.order]
        if self.weights is not None:
            counts *= self.weights.astype(self.dtype)[view.indices]
        self._improve((view.indptr, view.indices, counts, unit), weighted, B, cells)
        of_rows, of_columns = _totals(weighted) * unit, _totals(B) * unit
        A *= of_columns
        B *= of_rows
        return Alternation(A, B, log_likelihood)

    def _copied(self, F: Array) -> Array:
        copy = lined_up(F.shape, self.dtype)
        copy[:] = F
        return copy

    def _improve(
        self,
        table: tuple[Array, Array, Array, np.floating],
        B: Array,
        A: Array,
        cells: Array,
    ) -> None:
        """A step of A at B, which has a row for each index of the table, and its counts a unit."""
        n_components, totals, width = A.shape[1], _totals(B), LINE // self.dtype.itemsize
        wide = lanes(n_components, self.dtype), lanes(width, self.dtype)
        indptr = table[0]

        def improve(start: int, stop: int) -> None:
            longest = int(np.diff(indptr[start : stop + 1]).max())
            work = lined_up((4, max(2, -(-longest // width)), width), self.dtype, make=np.zeros)
            work[3, 0] = 1
            vectors = lined_up((4, n_components), self.dtype, make=np.zeros)
            improve_rows(*wide, *table, B, totals, start, stop, A, cells, vectors, work)

        self._over(indptr, n_components, improve)


def power_of_two(counts: Array) -> np.floating:
    """What to divide by, exactly, that counts are one or two in the mean of those not zero.

    >>> float(power_of_two(np.array([3.0, 1.0, 0.0, 5.0])))
    2.0
    """
    mean = counts.sum(dtype=np.float64) / max(1, np.count_nonzero(counts))
    unit: np.floating = counts.dtype.type(2.0 ** np.floor(np.log2(mean)) if mean else 1.0)
    return unit


def _totals(F: Array) -> Array:
    """Sums of the columns, added up in float64."""
    return F.sum(axis=0, dtype=np.float64).astype(F.dtype)
