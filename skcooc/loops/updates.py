"""Element-wise parts of a step of EM, each in one loop.

A row of a text has some thirty non-zeros, and a pass of NumPy over the factors of rows and columns
costs as much as two of these. Each of the loops replaces two to six such passes.
"""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array, Block
from skcooc.protocol.decorators import compiled


@compiled
def mix_rows(products, otherwise, A):  # type: ignore[no-untyped-def]
    zero = A.dtype.type(0)
    for i in range(len(A)):
        product = products[i]
        a = A[i]
        total = zero
        for k in range(len(a)):
            a[k] *= product[k]
            total += a[k]
        for k in range(len(a)):
            a[k] = a[k] / total if total > zero else otherwise[k]


@compiled
def relax_rows(old, new, eta, floor, keep_sums, out):  # type: ignore[no-untyped-def]
    zero = new.dtype.type(0)
    for i in range(len(new)):
        before = old[i]
        plain = new[i]
        longer = out[i]
        total = zero
        plain_total = zero
        for k in range(len(plain)):
            value = before[k] + eta * (plain[k] - before[k])
            if plain[k] >= zero:
                value = max(value, floor * plain[k])
            longer[k] = value
            total += value
            plain_total += plain[k]
        if keep_sums:
            factor = plain_total / total if total > zero else zero
            for k in range(len(longer)):
                longer[k] *= factor


@compiled
def add_excesses(expected, weights, m, excesses):  # type: ignore[no-untyped-def]
    zero = expected.dtype.type(0)
    for j in range(len(expected)):
        row = expected[j]
        total = zero
        for k in range(len(row)):
            total += row[k]
        m[j] = total
        for k in range(len(row)):
            excesses[k] += max(row[k] - total * weights[k], zero)


def new_mixtures(X: Block, A: Array, products: Array, otherwise: Array) -> Array:
    """Normalised rows of A * products (n, k), in place of A; ``otherwise`` (k,) if zero."""

    def mix(products: Array, out: Array) -> None:
        mix_rows(products, otherwise, out)

    return X.map_row_ranges(mix, products, out=A)


def longer_step(
    old: Array, new: Array, out: Array, *, eta: float, floor: float, keep_sums: bool
) -> None:
    """Fill an array with old + eta (new - old), all (n, k), but at least floor * new.

    There is no such limit where the new number is negative: logarithms may fall as far as they
    rise, which counts may not. With ``keep_sums`` the sums of rows are those of the new ones.
    """
    number = new.dtype.type
    before = np.ascontiguousarray(old)
    plain = np.ascontiguousarray(new)
    relax_rows(before, plain, number(eta), number(floor), keep_sums, out)


def excess_counts(expected: Array, weights: Array) -> tuple[Array, Array]:
    """Sums m_j of expected counts m_jk (M, K), and sum_j [m_jk - m_j w_k]+, (K,), in float64."""
    m = np.empty(len(expected), expected.dtype)
    excesses = np.zeros(len(weights))
    add_excesses(np.ascontiguousarray(expected), weights, m, excesses)
    return m, excesses
