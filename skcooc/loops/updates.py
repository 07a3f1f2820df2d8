"""Element-wise parts of a step of EM, each in one loop.

A row of a text has some thirty non-zeros. A pass of NumPy over the (N + M) K numbers of the factors
costs as much as two of these, and a step needed ten such passes besides that over the non-zeros.
"""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array
from skcooc.protocol.decorators import compiled


@compiled
def mixture_rows(products, otherwise, A):  # type: ignore[no-untyped-def]
    """Replace each row of A (n, K) by A * products, normalised; by ``otherwise`` (K,) if zero."""
    zero = A.dtype.type(0)
    for i in range(len(A)):
        a = A[i]
        product = products[i]
        total = zero
        for k in range(len(a)):
            a[k] *= product[k]
            total += a[k]
        if total > zero:
            for k in range(len(a)):
                a[k] /= total
        else:
            for k in range(len(a)):
                a[k] = otherwise[k]


@compiled
def scale_columns(factors, P):  # type: ignore[no-untyped-def]
    """Multiply the columns of P (M, K) by factors (K,)."""
    for j in range(len(P)):
        row = P[j]
        for k in range(len(factors)):
            row[k] *= factors[k]


@compiled
def relaxed_numbers(old, new, eta, floor, out):  # type: ignore[no-untyped-def]
    """old + eta (new - old), (n,); not less than floor * new where that is positive."""
    for p in range(len(new)):
        value = old[p] + eta * (new[p] - old[p])
        out[p] = max(value, floor * new[p]) if new[p] >= 0 else value


@compiled
def relaxed_rows(old, new, eta, floor, out):  # type: ignore[no-untyped-def]
    """`relaxed_numbers` of (n, K), and the sums of the new rows."""
    zero = new.dtype.type(0)
    for i in range(len(new)):
        before = old[i]
        plain = new[i]
        row = out[i]
        total = zero
        plain_total = zero
        for k in range(len(row)):
            value = max(before[k] + eta * (plain[k] - before[k]), floor * plain[k])
            row[k] = value
            total += value
            plain_total += plain[k]
        factor = plain_total / total if total > zero else zero
        for k in range(len(row)):
            row[k] *= factor


@compiled
def add_excesses(expected, weights, m, excesses):  # type: ignore[no-untyped-def]
    """Fill m (M,) with the sums of expected counts m_jk, and add sum_j [m_jk - m_j w_k]+, (K,)."""
    zero = expected.dtype.type(0)
    for j in range(len(expected)):
        row = expected[j]
        total = zero
        for k in range(len(row)):
            total += row[k]
        m[j] = total
        for k in range(len(row)):
            excesses[k] += max(row[k] - total * weights[k], zero)


def relax_rows(old: Array, new: Array, out: Array, *, eta: float, floor: float) -> None:
    """Fill row states (n, K) with longer steps, whose sums stay those of the plain ones."""
    number = new.dtype.type
    contiguous = np.ascontiguousarray(old), np.ascontiguousarray(new)
    relaxed_rows(*contiguous, number(eta), number(floor), out)


def relax_statistic(old: Array, new: Array, *, eta: float, floor: float) -> Array:
    """Return a longer step in expected counts, of at least this share of the plain ones.

    Logarithms, sums of models of columns, may go down as far as they go up.
    """
    if np.ndim(new) == 0:  # the free energy
        return new
    number = new.dtype.type
    out = np.empty(new.shape, number)
    relaxed_numbers(np.ravel(old), np.ravel(new), number(eta), number(floor), out.reshape(-1))
    return out


def excess_counts(expected: Array, weights: Array) -> tuple[Array, Array]:
    """Return sums m_j of expected counts m_jk (M, K), and sum_j [m_jk - m_j w_k]+, (K,)."""
    m = np.empty(len(expected), expected.dtype)
    excesses = np.zeros(len(weights))
    add_excesses(np.ascontiguousarray(expected), weights, m, excesses)
    return m, excesses
