"""Powers of non-negative numbers in a compiled loop that processors vectorise.

With x = 2^e m, where m lies between the roots of 1/2 and of 2, and t = (m - 1) / (m + 1),

    log2 x = e + (2 / log 2) (t + t^3/3 + t^5/5 + ...),   t^2 < .0295.

With b log2 x = k + r, where k is whole and |r| at most 1/2,

    x^b = 2^k (1 + r log 2 + (r log 2)^2/2! + ...).

The series end when terms no longer count. Rounding a product of b and e would cost too many digits:
b is split into a head of half the digits, whose product with e is exact, and a tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from skcooc.counts.lanes import U, compiled
from skcooc.protocol import Array

N_TERMS = {np.float32: (5, 8), np.float64: (10, 14)}  # of the logarithm, and of the exponential


@intrinsic
def polynomial(typing, terms, x):  # type: ignore[no-untyped-def]
    """terms[0] x^n + terms[1] x^(n - 1) + ... + terms[n], written out by Horner's rule."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        total, *others = cgutils.unpack_tuple(builder, arguments[0])
        for term in others:
            product = builder.fmul(total, arguments[1], flags=("contract",))
            total = builder.fadd(product, term, flags=("contract",))
        return total

    return x(terms, x), generate


def series(number: Any) -> tuple[tuple[Any, ...], ...]:
    """Factors of the powers of t^2 in log2 m / t, and of those of r in 2^r, the highest first."""
    (n_log, n_exp), unit = N_TERMS[number], math.log(2)
    of_log = [2 / unit / (2 * n + 1) for n in range(n_log)]
    of_exp = [unit**n / math.factorial(n) for n in range(n_exp)]
    return tuple(tuple(map(number, reversed(terms))) for terms in (of_log, of_exp))


def power_loop_of(number: Any, bits: Any) -> Callable[..., None]:
    """Make the loop for a floating point type, with unsigned integers of the same size."""
    info, (of_log, of_exp) = np.finfo(number), series(number)
    digits, bias = bits(info.nmant), number(1 - info.minexp)
    zero, one, infinite, whole = (number(value) for value in (0, 1, np.inf, 2.0**info.nmant))
    rounding = number(1.5) * whole  # what is added and taken away to round to whole numbers
    halving = number(2.0 ** ((info.nmant + 1) // 2) + 1)
    least, ones, wholes, roundings, root = (
        value.view(bits)
        for value in (info.smallest_normal, one, whole, rounding, number(math.sqrt(0.5)))
    )
    # An exponent as it is stored, and where there are leading zeros.
    normal, subnormal = whole + bias, whole + bias + (bias + number(digits) - one)
    # Powers of 2 that are infinite, or zero, whatever the tail adds.
    far, twice, half = number(3 * int(bias) // 2), bits(2 * bias), bits(1)

    # Sums in the order in which they are written; no checks for division by zero.
    @partial(compiled, fastmath=False, error_model="numpy")
    def powers(P, b, of_zero, out):  # type: ignore[no-untyped-def]
        head = halving * b - (halving * b - b)
        tail = b - head
        for p in range(U(P.size)):
            x = P[U(p)]
            i = number(x).view(bits)
            tiny = i < least
            i = number(bits(i | wholes).view(number) - whole).view(bits) if tiny else i
            stored = bits(i + (ones - root)) >> digits
            e = bits(stored | wholes).view(number) - (subnormal if tiny else normal)
            m = bits(i + ones - (stored << digits)).view(number)
            t = (m - one) / (m + one)
            high = min(max(head * e, -far), far)
            low = tail * e + b * (t * polynomial(of_log, t * t))
            near = (high + low) + rounding
            power = polynomial(of_exp, (high - (near - rounding)) + low)
            # 2^k in two factors: it may itself be too small for a number that is not subnormal.
            k = bits(number(near).view(bits) - roundings + twice)
            power *= bits((k >> half) << digits).view(number)
            power *= bits((k - (k >> half)) << digits).view(number)
            out[U(p)] = power if zero < x < infinite else (of_zero if x == zero else x)

    return powers


LOOPS = {
    np.dtype(number): power_loop_of(number, bits)
    for number, bits in ((np.float32, np.uint32), (np.float64, np.uint64))
}


def power_loop(P: Array, b: Any, of_zero: Any, out: Array) -> None:
    """Call the loop for this type; compiled loops can do so, too."""
    LOOPS[P.dtype](P, b, of_zero, out)


@overload(power_loop)
def _compiled_power_loop(P, b, of_zero, out):  # type: ignore[no-untyped-def]
    # Callers can be cached, unlike callers of a loop in a closure.
    loop = LOOPS[as_dtype(P.dtype)]
    return lambda P, b, of_zero, out: loop(P, b, of_zero, out)


def power(P: Array, exponent: float, out: Array) -> None:
    """Fill an array, contiguous in memory, with P to the power of the exponent, as NumPy has it.

    P is not negative, and the exponent is below 50. Zero and one stay what they are, and so does
    everything to the power of one; else results are accurate to some units of the last place.
    """
    number = P.dtype.type
    if exponent == 1:
        np.copyto(out, P)
        return
    with np.errstate(divide="ignore"):
        of_zero = np.power(number(0), number(exponent))
    flat = np.ascontiguousarray(P).reshape(-1)
    power_loop(flat, number(exponent), of_zero, out.reshape(-1))
