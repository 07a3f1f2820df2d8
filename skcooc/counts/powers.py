"""Powers of non-negative numbers: a compiled loop of which processors do several turns at a time.

With x = 2^e m, where m lies between the roots of 1/2 and of 2, and t = (m - 1) / (m + 1),

    log2 x = e + (2 / log 2) (t + t^3/3 + t^5/5 + ...),   t^2 < .0295.

With b log2 x = k + r, where k is whole and |r| at most 1/2,

    x^b = 2^k (1 + r log 2 + (r log 2)^2/2! + ...).

The series end where terms no longer count. A product of b and e would leave too few digits behind
the point: b is a head of half the digits, whose product with e is exact, and a tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from skcooc.counts.kernels import U, compiled
from skcooc.protocol import Array

N_TERMS = {np.float32: (5, 8), np.float64: (10, 14)}  # of the logarithm, and of the exponential

# Sums are made in the order in which they are written. Nobody asks whether a divisor is zero.
strictly = partial(compiled, fastmath=False, error_model="numpy")


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


class Format(NamedTuple):
    """How numbers are made of bits; what is of their type, or of the integers of their size."""

    digits: Any  # of the fraction
    bias: Any  # of the exponent
    least: Any  # the least number that is not subnormal
    one: Any
    beyond: Any  # one less the root of 1/2
    whole: Any  # 2^digits: whose fraction is a whole number
    rounding: Any  # added and taken away, it rounds to whole numbers
    zero: Any
    infinite: Any
    halving: Any  # to be multiplied by, for a head of half the digits
    log: tuple[Any, ...]
    exp: tuple[Any, ...]


def _format(number: Any, bits: Any) -> Format:
    info, (n_log, n_exp) = np.finfo(number), N_TERMS[number]
    whole, unit = number(2.0**info.nmant), math.log(2)
    one = number(1).view(bits)
    return Format(
        digits=bits(info.nmant),
        bias=number(1 - info.minexp),
        least=info.smallest_normal.view(bits),
        one=one,
        beyond=bits(one - number(math.sqrt(0.5)).view(bits)),
        whole=whole,
        rounding=number(1.5) * whole,
        zero=number(0),
        infinite=number(np.inf),
        halving=number(2.0 ** ((info.nmant + 1) // 2) + 1),
        log=tuple(number(2 / unit / (2 * n + 1)) for n in reversed(range(n_log))),
        exp=tuple(number(unit**n / math.factorial(n)) for n in reversed(range(n_exp))),
    )


def loop(number: Any, bits: Any) -> Callable[..., None]:
    """The loop over numbers of a type, with integers of the same size."""
    F = _format(number, bits)
    wholes, rounding, ones = F.whole.view(bits), F.rounding.view(bits), number(1)
    # An exponent as it is stored, with the number of digits more where there are leading zeros.
    normal, subnormal = F.whole + F.bias, F.whole + F.bias + (F.bias + number(F.digits) - ones)
    beyond, twice = 2 * F.bias, bits(2 * F.bias)  # whatever is 2^beyond is infinite

    @strictly
    def powers(P, b, of_zero, out):  # type: ignore[no-untyped-def]
        head = F.halving * b - (F.halving * b - b)
        tail = b - head
        for p in range(U(P.size)):
            x = P[U(p)]
            i = number(x).view(bits)
            tiny = i < F.least
            scaled = bits(i | wholes).view(number) - F.whole
            i = number(scaled).view(bits) if tiny else i
            stored = bits(i + F.beyond) >> F.digits
            e = bits(stored | wholes).view(number) - (subnormal if tiny else normal)
            m = bits(i + F.one - (stored << F.digits)).view(number)
            t = (m - ones) / (m + ones)
            high = head * e
            low = tail * e + b * (t * polynomial(F.log, t * t))
            near = (high + low) + F.rounding
            power = polynomial(F.exp, (high - (near - F.rounding)) + low)
            # 2^k in two factors: it may itself be too small for a number that is not subnormal.
            k = bits(number(near).view(bits) - rounding + twice)
            half = k >> bits(1)
            power *= bits(half << F.digits).view(number)
            power *= bits((k - half) << F.digits).view(number)
            power = power if high + low > -beyond else F.zero
            power = power if high + low < beyond else F.infinite
            out[U(p)] = power if F.zero < x < F.infinite else of_zero if x == F.zero else x

    return powers


LOOPS = {
    np.dtype(number): loop(number, bits)
    for number, bits in ((np.float32, np.uint32), (np.float64, np.uint64))
}


def power(P: Array, exponent: float, out: Array) -> None:
    """Fill an array, contiguous in memory, with P to the power of the exponent, as NumPy has it.

    P is not negative. Zero and one stay what they are, and everything to the power of one does;
    else results are accurate to some units of the last place.
    """
    number = P.dtype.type
    if exponent == 1:
        np.copyto(out, P)
        return
    with np.errstate(divide="ignore"):
        of_zero = np.power(number(0), number(exponent))
    flat = np.ascontiguousarray(P).reshape(-1)
    LOOPS[P.dtype](flat, number(exponent), of_zero, out.reshape(-1))
