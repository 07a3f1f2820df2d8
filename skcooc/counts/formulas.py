"""Formulas over rows in vector registers, number by number; see ``lanes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from skcooc.counts.lanes import FAST, Value, apart, repeated, together

if TYPE_CHECKING:
    from numba.core.base import BaseContext


class Numbers:
    """A vector of the code that is made, which can be calculated with."""

    def __init__(self, builder: ir.IRBuilder, value: Value) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Self) -> Self:
        return self._new(self.builder.fadd(self.value, other.value, flags=FAST))

    def __mul__(self, other: Self) -> Self:
        return self._new(self.builder.fmul(self.value, other.value, flags=FAST))

    def __truediv__(self, other: Self) -> Self:
        return self._new(self.builder.fdiv(self.value, other.value, flags=FAST))

    def __rsub__(self, number: float) -> Self:
        many = ir.Constant(self.value.type, [number] * self.value.type.count)
        return self._new(self.builder.fsub(many, self.value, flags=FAST))

    def at_most(self, other: Self) -> Self:
        """The smaller of the two."""
        less = self.builder.fcmp_ordered("<", self.value, other.value, flags=FAST)
        return self._new(self.builder.select(less, self.value, other.value))

    def _new(self, value: Value) -> Self:
        return type(self)(self.builder, value)


def of_rows(formula: Callable[..., Numbers]) -> Any:
    """What compiled loops may call with a tuple of rows and one of numbers; it returns a row.

    The formula is given these one after the other. A vector is done with before the next one
    begins, so that what is between lines of the formula stays in registers.
    """

    @intrinsic
    def evaluate(typing, rows, numbers):  # type: ignore[no-untyped-def]
        row = rows[0]

        def generate(
            context: BaseContext, builder: ir.IRBuilder, signature: object, arguments: list[Value]
        ) -> Value:
            given, alone = (cgutils.unpack_tuple(builder, argument) for argument in arguments)
            same = [Numbers(builder, repeated(builder, number, row.width)) for number in alone]
            vectors = zip(*(apart(builder, row, value) for value in given), strict=True)
            results = [formula(*(Numbers(builder, v) for v in some), *same) for some in vectors]
            return together(builder, row, [result.value for result in results])

        return row(rows, numbers), generate

    return evaluate
