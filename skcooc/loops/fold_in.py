"""Mixtures of rows at fixed components, by EM with momentum.

EM goes on for one row until it converges; the components that it needs stay
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
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.lanes import (
    LINE,
    Numbers,
    U,
    add_scaled,
    compiled,
    lanes,
    largest,
    load,
    padded,
    power_formula,
    row_formula,
    store,
    total,
    without_padding,
)
from skcooc.counts.passes import non_zeros
from skcooc.protocol import Block, FixedComponents, Rows

MOVED_BEFORE = 0.25  # weight of the change since the last EM step in the test for convergence
MIN_EM_SHARE = 0.3  # of the result of the EM step: momentum leaves as much of every number


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
def larger_change(peak: Numbers, now: Numbers, plain: Numbers, last: Numbers) -> Numbers:
    """Largest change by EM, now or since its last step."""
    change = plain - now
    earlier = plain - last
    change = change.maximum(now - plain)
    return peak.maximum(change).maximum(earlier.maximum(last - plain) * MOVED_BEFORE)


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
    line, table, B, power, otherwise, prior_shares, tol, max_iter, rows, work, start, stop
):
    """Iterate EM on rows start..stop, which are initial mixtures, until it converges.

    All rows have whole cache lines, each with the lanes ``line``; those of B and of ``rows`` are
    one after the other. ``work`` are five vectors, and zeros.
    """
    indptr, indices, data = table
    kind, n = B.dtype.type, U(len(otherwise))
    vectors = range(U(0), n, U(LINE // B.itemsize))
    zero, one, limit = kind(0), kind(1), np.sqrt(1.0 - power if power < 1 else 0.0)
    now, before, plain, last, powers, zeros = work[0], work[1], work[2], work[3], work[4], work[5]
    none = load(line, zeros, U(0))
    for i in range(U(start), U(stop)):
        tokens, age, first, end = zero, 0, indptr[i], indptr[i + U(1)]
        for p in range(first, end):
            tokens += data[p]
        of_prior = kind(prior_shares[i])
        of_tokens = (one - of_prior) / tokens if of_prior > zero and tokens > zero else one
        for k in vectors:
            initial = load(line, rows, i * n + k)
            store(initial, now, k)
            store(initial, before, k)
            store(initial, last, k)
        for _ in range(max_iter):
            # A step of EM. The sums are those of n_p B_p / (B_p @ powers) over the entries p, four
            # at a time, so that powers and sums are loaded a quarter as often.
            for k in vectors:
                store(power_of_row((load(line, now, k),), (power, zero)), powers, k)
                store(none, plain, k)
            for p in range(first, end, 4):
                # The first entry also stands for those beyond the end, without tokens.
                q, r, s = p + int(p + 1 < end), p + 2 * int(p + 2 < end), p + 3 * int(p + 3 < end)
                b, c = U(indices[p]) * n, U(indices[q]) * n
                d, e = U(indices[r]) * n, U(indices[s]) * n
                in_b, in_c, in_d, in_e = none, none, none, none
                for k in vectors:
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
                for k in vectors:
                    sums = add_scaled(load(line, plain, k), v, load(line, B, b + k))
                    sums = add_scaled(sums, w, load(line, B, c + k))
                    sums = add_scaled(sums, x, load(line, B, d + k))
                    store(add_scaled(sums, y, load(line, B, e + k)), plain, k)
            in_all = none
            for k in vectors:
                terms = load(line, plain, k), load(line, powers, k), load(line, otherwise, k)
                expected = with_prior(terms, (of_tokens, of_prior))
                in_all = add_scaled(in_all, one, expected)
                store(expected, plain, k)
            mass = total(in_all)
            if not mass > zero:  # the row has no tokens that components explain
                for k in vectors:
                    store(load(line, otherwise, k), plain, k)
                break
            peak, back = none, none
            for k in vectors:
                result = divided((load(line, plain, k),), (mass,))
                store(result, plain, k)
                moved = load(line, now, k), result, load(line, last, k)
                peak, back = larger_change((peak, *moved), ()), add_return((back, *moved), ())
            if largest(peak) <= tol:
                break
            # A step with momentum from ``now``, which becomes ``before``; ``plain`` becomes last.
            age = 0 if total(back) > zero else age
            s = 3 / (2 * age + 3)
            s = s if s > limit else limit
            age += 1
            ratio = (1 - s) / (1 + s)
            steps, in_all = (kind(4 / ((1 + s) * (1 + s))), kind(ratio * ratio)), none
            for k in vectors:
                current, result = load(line, now, k), load(line, plain, k)
                target = momentum_step((current, load(line, before, k), result), steps)
                in_all = add_scaled(in_all, one, target)
                store(current, before, k)
                store(result, last, k)
                store(target, now, k)
            mass = total(in_all)
            for k in vectors:
                store(divided((load(line, now, k),), (mass,)), now, k)
        for k in vectors:
            store(load(line, plain, k), rows, i * n + k)


def solve_mixtures(
    block: Block, fixed: FixedComponents, rows: Rows, tol: float, max_iter: int
) -> Rows:
    """Mixtures of the rows after EM has converged, (n, k), from initial ones.

    No number then changes by more than ``tol``, nor did by more than four times that since the
    last step of EM. A row depends neither on its weight nor on other rows; a row without
    tokens becomes ``fixed.otherwise``.
    """
    X = non_zeros(block)
    B, otherwise, new = (
        padded(F, X.dtype) for F in (fixed.components, fixed.otherwise[None], np.array(rows))
    )
    line = lanes(B[:, : LINE // X.dtype.itemsize])
    table = X.indptr, X.indices, X.data
    kind = X.dtype.type
    prior_shares = fixed.prior_shares
    if prior_shares is None:
        prior_shares = np.zeros(len(new))
    model = B.reshape(-1), kind(fixed.power), otherwise[0], prior_shares

    def solve(start: int, stop: int) -> None:
        work = np.zeros((6, B.shape[1]), X.dtype)
        options = kind(tol), max_iter
        solve_rows(line, table, *model, *options, new.reshape(-1), work, start, stop)

    X.run_ranges(X.indptr, rows.shape[1], solve)
    return without_padding(new, rows.shape[1])
