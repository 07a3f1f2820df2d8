"""Mixtures of rows at fixed components by EM with momentum; alternating steps of both factors.

**Fixed components.** EM goes on for one row until it converges; the components that it needs stay
in the cache, raised to the power of beta, so that a step takes powers of the k numbers of the row
only. Mixtures and components are padded with zeros to whole cache lines, so that loops are compiled
once for any number of components.

Near the optimum a step of EM multiplies the distance to it by something between 0 and the power p
of the mixture. For such steps the best momentum is known (B. Polyak, Some methods of speeding up
the convergence of iteration methods, 1964): with s = sqrt(1 - p),

    y' = y + 4 / (1 + s)^2 (EM(y) - y) + [(1 - s) / (1 + s)]^2 (y - y before),

and s falls to that from 1, where it is a step of EM, as in Nesterov's method: 3 / (2 n + 3) after n
steps. It begins anew where a step leads back (O'Donoghue and Candès, Adaptive restart for
accelerated gradient schemes, 2015, the gradient scheme). The result is that of a step of EM.

**Alternating steps.** Let n_ij be Poisson with mean A[i] @ B[j]. At fixed B, -log likelihood of a
row a is

    sum_k S_k a_k - sum_j n_ij log(a @ B[j]),    S_k = sum_j B_jk,

a convex function, and so is that of a column at fixed A. In one number a_k its slope is S_k - g_k,
its curvature H_k, with g_k = sum_j n_ij B_jk / (a @ B[j]) and H_k = sum_j n_ij [B_jk / (a @
B[j])]^2. The reciprocal of g_k is concave in a_k, and nearly straight: Newton's method makes
1 / g_k equal to 1 / S_k by the step

    (g_k / S_k) (g_k - S_k) / H_k,

which from below never goes beyond the minimum, and ends at zero where it would become negative.
Zeros can be reached and left, unlike in EM. (Steps in one number after the other: C.-J. Hsieh and
I. Dhillon, Fast coordinate descent methods with variable selection for non-negative matrix
factorization, KDD 2011; P. Carbonetto et al., Non-negative matrix factorization algorithms greatly
improve topic model fits, arXiv 2105.13440, 2021.) Here all numbers of a row make their step at
once. It is shortened until its end no longer leads uphill, and then the row is scaled to the
expected number of tokens that is best, its own.

Sums have loops of their own, which store nothing: where a loop does, the compiled one adds in
another order if arrays lie so in memory that they might overlap.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from skcooc.counts.lanes import (
    LINE,
    U,
    add_scaled,
    aligned_array,
    at_least,
    compiled,
    divide_rows,
    dot,
    lanes,
    load,
    multiply,
    padded,
    power_of,
    store,
)
from skcooc.counts.passes import Mixture, NonZeros
from skcooc.protocol import Array, FixedComponents, Rows

MOVED_BEFORE = 0.25  # weight of the change since the last EM step in the test for convergence
MIN_EM_SHARE = 0.3  # of the result of the EM step: momentum leaves as much of every number
MIN_DIVISOR = 1e-15  # of divisors: its square is a float32, and the reciprocal of that
TRIES = 10  # lengths of a step, before there is none


# One function: a helper takes .1 s to compile, whatever it does. Conditions stand for min and max,
# which numba compiles as functions.
@compiled
def solve_rows(  # type: ignore[no-untyped-def]
    indptr, indices, data, B, power, otherwise, row_prior, tol, max_iter, start, stop, path, rows
):
    """Iterate EM on rows start..stop, which are initial mixtures, until it converges.

    ``path`` are five vectors to work on, zeros. Numbers are copied one by one: numba takes seconds
    to compile the assignment of an array.
    """
    kind, n_components = B.dtype.type, rows.shape[1]
    zero, least, moved = kind(0), kind(MIN_EM_SHARE), kind(MOVED_BEFORE)
    limit = np.sqrt(1.0 - power if power < 1 else 0.0)
    now, before, plain, last, a = path[0], path[1], path[2], path[3], path[4]
    for i in range(start, stop):
        tokens, age, first, end = zero, 0, indptr[i], indptr[i + 1]
        for p in range(first, end):
            tokens += data[p]
        n_tokens = np.float64(tokens)
        for k in range(n_components):
            now[k] = before[k] = last[k] = rows[i, k]
        share = row_prior / (row_prior + n_tokens * n_tokens) if row_prior > 0 else 0.0
        of_prior = kind(share)
        of_tokens = kind((1 - share) / n_tokens if n_tokens > 0 else 0.0)
        for _ in range(max_iter):
            # A step of EM: a * sum_p n_p B_p / (B_p @ a), where a are powers of the mixture. Four
            # entries at a time, so that ``a`` and the sums are loaded a quarter as often.
            for k in range(len(a)):
                a[k], plain[k] = power_of(now[k], power, zero), zero
            for p in range(first, end, 4):
                q = p + 1 if p + 1 < end else end - 1
                r = p + 2 if p + 2 < end else end - 1
                s = p + 3 if p + 3 < end else end - 1
                b, c, d, e = B[U(indices[p])], B[U(indices[q])], B[U(indices[r])], B[U(indices[s])]
                v, w, x, y = zero, zero, zero, zero
                for k in range(len(a)):
                    v += b[k] * a[k]
                    w += c[k] * a[k]
                    x += d[k] * a[k]
                    y += e[k] * a[k]
                v = data[p] / v if v > zero else zero
                w = data[q] / w if w > zero and q > p else zero
                x = data[r] / x if x > zero and r > q else zero
                y = data[s] / y if y > zero and s > r else zero
                for k in range(len(a)):
                    plain[k] += v * b[k] + w * c[k] + x * d[k] + y * e[k]
            for k in range(len(a)):
                plain[k] *= a[k]
            if of_prior > zero:  # the same, divided by the sum of both
                for k in range(n_components):
                    plain[k] = of_tokens * plain[k] + of_prior * otherwise[k]
            mass = zero
            for k in range(len(a)):
                mass += plain[k]
            if not mass > zero:  # the row has no tokens that components explain
                for k in range(n_components):
                    plain[k] = otherwise[k]
                break
            for k in range(len(a)):
                plain[k] /= mass
            # Largest change by EM, now or since its last step; and whether momentum leads back.
            furthest, back = zero, zero
            for k in range(len(a)):
                change, earlier = abs(plain[k] - now[k]), moved * abs(plain[k] - last[k])
                furthest = change if change > furthest else furthest
                furthest = earlier if earlier > furthest else furthest
                back += (now[k] - plain[k]) * (plain[k] - last[k])
            if furthest <= tol:
                break
            # A step with momentum from ``now``, which becomes ``before``; ``plain`` becomes last.
            age = 0 if back > zero else age
            s = 3 / (2 * age + 3)
            s = s if s > limit else limit
            age += 1
            ratio = (1 - s) / (1 + s)
            stride, momentum = kind(4 / ((1 + s) * (1 + s))), kind(ratio * ratio)
            for k in range(len(a)):
                beyond = now[k] + stride * (plain[k] - now[k]) + momentum * (now[k] - before[k])
                floor = least * plain[k]
                before[k], last[k] = now[k], plain[k]
                now[k] = beyond if beyond > floor else floor
            mass = zero
            for k in range(len(a)):
                mass += now[k]
            for k in range(len(a)):
                now[k] /= mass
        for k in range(n_components):
            rows[i, k] = plain[k]


class RowMixtures(NonZeros):
    """Mixtures of new rows at fixed components."""

    def solve_mixtures(self, fixed: FixedComponents, rows: Rows, tol: float, max_iter: int) -> Rows:
        """Mixtures of the rows after EM has converged, (n, k), from initial ones.

        No number then changes by more than ``tol``, nor did by more than four times that since the
        last step of EM. A row depends neither on its weight nor on other rows; a row without
        tokens becomes ``fixed.otherwise``.
        """
        new, kind = np.array(rows, dtype=self.dtype, order="C"), self.dtype.type
        table = self.indptr, self.indices, self.data
        B = padded(fixed.components, self.dtype)
        prior = fixed.otherwise.astype(self.dtype), float(fixed.row_prior)
        given = *table, B, kind(fixed.power), *prior, kind(tol), max_iter

        def solve(start: int, stop: int) -> None:
            path = np.zeros((5, B.shape[1]), self.dtype)
            solve_rows(*given, start, stop, path, new)

        self._run_ranges(self.indptr, new.shape[1], solve)
        return new


# Without, a helper may be linked from another module in the process that compiles it, and be
# optimised in another way than in those that load it from disk: with other last digits.
inlined = partial(compiled, forceinline=True)


@inlined
def products_with(lanes, a, i, B, indices, products):  # type: ignore[no-untyped-def]
    """a[i] @ B[j] for some columns j."""
    row = load(lanes, a, U(i))
    for p in range(len(indices)):
        products[p] = dot(row, load(lanes, B, U(indices[p])))


@inlined
def slope_and_curvature(lanes, B, indices, counts, cells, vectors):  # type: ignore[no-untyped-def]
    """Let the first two vectors be g and H; the last one is zero."""
    g, H = load(lanes, vectors, U(3)), load(lanes, vectors, U(3))
    for p in range(len(indices)):
        b = load(lanes, B, U(indices[p]))
        reciprocal = 1 / cells[p]
        w = counts[p] * reciprocal
        g, H = add_scaled(g, w, b), add_scaled(H, w * reciprocal, multiply(b, b))
    store(g, vectors, U(0))
    store(H, vectors, U(1))


@inlined
def newton_step(a, totals, vectors):  # type: ignore[no-untyped-def]
    """Newton step from gradient and curvature into vector 2.

    Returns totals @ step and the directional derivative.
    """
    g, H, step = vectors[0], vectors[1], vectors[2]
    least = a.dtype.type(MIN_DIVISOR)
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


@inlined
def step_length(line, counts, cells, changes, n_lines, cost, descent, ones):  # type: ignore[no-untyped-def]
    """Fraction of the step to take, at whose end it no longer leads uphill."""
    kind = cells.dtype.type
    part, least, one = kind(1), kind(MIN_DIVISOR), kind(1)
    for _ in range(TRIES):
        gain = load(line, ones, U(1))
        for q in range(U(n_lines)):
            movement = load(line, changes, q)
            there = at_least(add_scaled(load(line, cells, q), part, movement), least)
            gain = add_scaled(
                gain, one, divide_rows(multiply(load(line, counts, q), movement), there)
            )
        gained = dot(gain, load(line, ones, U(0)))
        if gained >= cost:
            return part
        shorter = kind(0.95) * descent / (descent + cost - gained)
        if cost > 0:  # for a row near zero gained is like 1 / part
            shorter = min(shorter, gained / cost)
        part *= min(max(shorter, kind(0.1)), kind(0.9))
    return kind(0)


@inlined
def take_step(a, part, step, totals, n_tokens):  # type: ignore[no-untyped-def]
    """Take a fraction of the step; then scale the row to its number of tokens."""
    zero = a.dtype.type(0)
    for k in range(len(a)):
        a[k] = max(a[k] + part * step[k], zero)
    expected = zero
    for k in range(len(a)):
        expected += totals[k] * a[k]
    if expected > 0:
        for k in range(len(a)):
            a[k] *= n_tokens / expected


@compiled
def improve_rows(  # type: ignore[no-untyped-def]
    lanes, line, indptr, indices, data, unit, B, totals, start, stop, A, cells, vectors, work
):
    """Step of rows start..stop of A; fills in ``cells`` before the step, in units of counts.

    ``work`` are cache lines of counts, cells and changes of a row, and of ones and zeros.
    """
    width, least, zero = work.shape[2], A.dtype.type(MIN_DIVISOR), A.dtype.type(0)
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
        n_tokens = zero
        for p in range(n):
            n_tokens += counts[p]
        slope_and_curvature(lanes, B, columns, counts, here, vectors)
        cost, descent = newton_step(a, totals, vectors)
        products_with(lanes, vectors, 2, B, columns, changes)
        part = step_length(line, work[0], work[1], work[2], n_lines, cost, descent, work[3])
        take_step(a, part, vectors[2], totals, n_tokens)


class AlternatingRows(NonZeros):
    """Alternating steps of rows and columns."""

    def alternate(self, A: Array, B: Array) -> Mixture:
        """Step of A (n, k) at B (M, k), then of B at the new A.

        Expected counts of rows and columns after it; the log-likelihood before it.
        """
        n_components, cells = A.shape[1], np.empty_like(self.data)
        unit = power_of_two(self.data)  # keeps squares and reciprocals finite
        A, B = padded(A / unit, self.dtype), padded(B.copy(), self.dtype)
        self._improve((self.indptr, self.indices, self.data, unit), B, A, cells)
        counts = self.data if self.weights is None else self.weighted_counts
        logs = np.log(cells)
        log_likelihood = float(np.einsum("p,p->", counts, logs, dtype=np.float64))
        log_likelihood += float(counts.sum(dtype=np.float64) * np.log(unit))
        view, weighted = self.views.columns, self._weighted(A)
        counts = self.data[view.order]
        if self.weights is not None:
            counts *= self.weights.astype(self.dtype)[view.indices]
        self._improve((view.indptr, view.indices, counts, unit), weighted, B, cells)
        of_rows, of_columns = _totals(weighted) * unit, _totals(B) * unit
        A *= of_columns
        B *= of_rows
        return Mixture(A[:, :n_components], B[:, :n_components], log_likelihood)

    def _improve(
        self, table: tuple[Array, Array, Array, np.floating], B: Array, A: Array, cells: Array
    ) -> None:
        """Step of A at B, for a table (indptr, indices, counts, unit of the counts)."""
        n_components, totals, width = A.shape[1], _totals(B), LINE // self.dtype.itemsize
        indptr = table[0]

        def improve(start: int, stop: int) -> None:
            n_lines = max(2, -(-int(np.diff(indptr[start : stop + 1]).max()) // width))
            work = aligned_array((4, n_lines, width), self.dtype, make=np.zeros)
            work[3, 0] = 1
            vectors = aligned_array((4, n_components), self.dtype, make=np.zeros)
            improve_rows(
                lanes(A), lanes(work[0]), *table, B, totals, start, stop, A, cells, vectors, work
            )

        self._run_ranges(indptr, n_components, improve)


def power_of_two(counts: Array) -> np.floating:
    """The power of two that divides counts to a mean between one and two, zeros aside."""
    mean = counts.sum(dtype=np.float64) / max(1, np.count_nonzero(counts))
    unit: np.floating = counts.dtype.type(2.0 ** np.floor(np.log2(mean)) if mean else 1.0)
    return unit


def _totals(F: Array) -> Array:
    return F.sum(axis=0, dtype=np.float64).astype(F.dtype)
