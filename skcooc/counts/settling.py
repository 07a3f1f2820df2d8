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
another order if arrays lie so in memory that they might overlap. That is not so for rows of `load`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from skcooc.counts.lanes import (
    LINE,
    Numbers,
    U,
    add_scaled,
    aligned_array,
    at_least,
    compiled,
    divide_rows,
    dot,
    lanes,
    largest,
    load,
    multiply,
    padded,
    power_formula,
    row_formula,
    store,
    total,
    without_padding,
)
from skcooc.counts.passes import NonZeros
from skcooc.protocol import Array, FixedComponents, Pass, Rows

MOVED_BEFORE = 0.25  # weight of the change since the last EM step in the test for convergence
MIN_EM_SHARE = 0.3  # of the result of the EM step: momentum leaves as much of every number
MIN_DIVISOR = 1e-15  # of divisors: its square is a float32, and the reciprocal of that
TRIES = 10  # lengths of a step, before there is none


@row_formula
def add_product(sums: Numbers, x: Numbers, y: Numbers) -> Numbers:
    return sums + x * y


@row_formula
def with_prior(sums, powers, otherwise, of_tokens, of_prior):  # type: ignore[no-untyped-def]
    """The result of a step of EM, up to a factor: powers times sums, and pseudo-counts."""
    return sums * powers * of_tokens + otherwise * of_prior


@row_formula
def divided(x: Numbers, mass: Numbers) -> Numbers:
    return x / mass


@row_formula
def larger_change(most: Numbers, now: Numbers, plain: Numbers, last: Numbers) -> Numbers:
    """Largest change by EM, now or since its last step."""
    change, earlier = plain - now, plain - last
    change = change.maximum(now - plain)
    return most.maximum(change).maximum(earlier.maximum(last - plain) * MOVED_BEFORE)


@row_formula
def add_return(back: Numbers, now: Numbers, plain: Numbers, last: Numbers) -> Numbers:
    """The sum is positive if momentum leads back."""
    return back + (now - plain) * (plain - last)


@row_formula
def momentum_step(now, before, plain, stride, momentum):  # type: ignore[no-untyped-def]
    beyond = now + (plain - now) * stride + (now - before) * momentum
    return beyond.maximum(plain * MIN_EM_SHARE)


power_of_row = row_formula(power_formula)


# One function, since each that it calls would take .1 s to compile.
@compiled
def solve_rows(  # type: ignore[no-untyped-def]
    line, table, B, power, otherwise, row_prior, tol, max_iter, rows, work, start, stop
):
    """Iterate EM on rows start..stop, which are initial mixtures, until it converges.

    All rows have whole cache lines, each with the lanes ``line``; those of B and of ``rows`` are
    one after the other. ``work`` are five vectors, and zeros.
    """
    indptr, indices, data = table
    kind, n, width = B.dtype.type, U(len(otherwise)), U(len(line[1]))
    zero, one, limit = kind(0), kind(1), np.sqrt(1.0 - power if power < 1 else 0.0)
    now, before, plain, last, powers, zeros = work[0], work[1], work[2], work[3], work[4], work[5]
    none = load(line, zeros, U(0))
    for i in range(U(start), U(stop)):
        tokens, age, first, end = zero, 0, indptr[i], indptr[i + U(1)]
        for p in range(first, end):
            tokens += data[p]
        n_tokens = np.float64(tokens)
        share = row_prior / (row_prior + n_tokens * n_tokens) if row_prior > 0 else 0.0
        of_prior = kind(share)
        of_tokens = kind((1 - share) / n_tokens if share > 0 and n_tokens > 0 else 1.0)
        for k in range(U(0), n, width):
            initial = load(line, rows, i * n + k)
            store(initial, now, k)
            store(initial, before, k)
            store(initial, last, k)
        for _ in range(max_iter):
            # A step of EM. The sums are those of n_p B_p / (B_p @ powers) over the entries p, four
            # at a time, so that powers and sums are loaded a quarter as often.
            for k in range(U(0), n, width):
                store(power_of_row((load(line, now, k),), (power, zero)), powers, k)
                store(none, plain, k)
            for p in range(first, end, 4):
                # The first entry also stands for those beyond the end, without tokens.
                q, r, s = p + int(p + 1 < end), p + 2 * int(p + 2 < end), p + 3 * int(p + 3 < end)
                b, c = U(indices[p]) * n, U(indices[q]) * n
                d, e = U(indices[r]) * n, U(indices[s]) * n
                in_b, in_c, in_d, in_e = none, none, none, none
                for k in range(U(0), n, width):
                    a = load(line, powers, k)
                    in_b = add_product((in_b, load(line, B, b + k), a), ())
                    in_c = add_product((in_c, load(line, B, c + k), a), ())
                    in_d = add_product((in_d, load(line, B, d + k), a), ())
                    in_e = add_product((in_e, load(line, B, e + k), a), ())
                v, w, x, y = total(in_b), total(in_c), total(in_d), total(in_e)
                v = data[p] / v if v > zero else zero
                w = data[q] / w if w > zero and q > p else zero
                x = data[r] / x if x > zero and r > p else zero
                y = data[s] / y if y > zero and s > p else zero
                for k in range(U(0), n, width):
                    sums = add_scaled(load(line, plain, k), v, load(line, B, b + k))
                    sums = add_scaled(sums, w, load(line, B, c + k))
                    sums = add_scaled(sums, x, load(line, B, d + k))
                    store(add_scaled(sums, y, load(line, B, e + k)), plain, k)
            in_all = none
            for k in range(U(0), n, width):
                given = load(line, plain, k), load(line, powers, k), load(line, otherwise, k)
                expected = with_prior(given, (of_tokens, of_prior))
                in_all = add_scaled(in_all, one, expected)
                store(expected, plain, k)
            mass = total(in_all)
            if not mass > zero:  # the row has no tokens that components explain
                for k in range(U(0), n, width):
                    store(load(line, otherwise, k), plain, k)
                break
            most, back = none, none
            for k in range(U(0), n, width):
                result = divided((load(line, plain, k),), (mass,))
                store(result, plain, k)
                moved = load(line, now, k), result, load(line, last, k)
                most, back = larger_change((most, *moved), ()), add_return((back, *moved), ())
            if largest(most) <= tol:
                break
            # A step with momentum from ``now``, which becomes ``before``; ``plain`` becomes last.
            age = 0 if total(back) > zero else age
            s = 3 / (2 * age + 3)
            s = s if s > limit else limit
            age += 1
            ratio = (1 - s) / (1 + s)
            steps, in_all = (kind(4 / ((1 + s) * (1 + s))), kind(ratio * ratio)), none
            for k in range(U(0), n, width):
                here, result = load(line, now, k), load(line, plain, k)
                there = momentum_step((here, load(line, before, k), result), steps)
                in_all = add_scaled(in_all, one, there)
                store(here, before, k)
                store(result, last, k)
                store(there, now, k)
            mass = total(in_all)
            for k in range(U(0), n, width):
                store(divided((load(line, now, k),), (mass,)), now, k)
        for k in range(U(0), n, width):
            store(load(line, plain, k), rows, i * n + k)


class RowMixtures(NonZeros):
    """Mixtures of new rows at fixed components."""

    def solve_mixtures(self, fixed: FixedComponents, rows: Rows, tol: float, max_iter: int) -> Rows:
        """Mixtures of the rows after EM has converged, (n, k), from initial ones.

        No number then changes by more than ``tol``, nor did by more than four times that since the
        last step of EM. A row depends neither on its weight nor on other rows; a row without
        tokens becomes ``fixed.otherwise``.
        """
        B, otherwise, new = (
            padded(F, self.dtype) for F in (fixed.components, fixed.otherwise[None], np.array(rows))
        )
        kind, of_line = self.dtype.type, lanes(B[:, : LINE // self.dtype.itemsize])
        fixed_rows = B.reshape(-1), kind(fixed.power), otherwise[0], float(fixed.row_prior)
        given = of_line, (self.indptr, self.indices, self.data), *fixed_rows, kind(tol), max_iter

        def solve(start: int, stop: int) -> None:
            work = np.zeros((6, B.shape[1]), self.dtype)
            solve_rows(*given, new.reshape(-1), work, start, stop)

        self._run_ranges(self.indptr, rows.shape[1], solve)
        return without_padding(new, rows.shape[1])


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

    def alternate(self, A: Array, B: Array) -> Pass:
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
        return Pass(A[:, :n_components], B[:, :n_components], log_likelihood)

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
