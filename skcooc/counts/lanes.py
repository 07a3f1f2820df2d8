"""Rows of a matrix in vector registers, for compiled loops that go on working on the same row.

A compiler that does not know the number of components makes a loop over them of every line, which
loads and stores what could have stayed where it is. Here a row is a value: it is loaded once, is
as many vectors of 64 bytes as it takes, and is stored when all is done. How many these are is the
length of a tuple, ``lanes(n_components, dtype)``, by whose type numba compiles a loop; the last of
them has ``None`` for its entry where it is filled in part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

LINE = 64  # bytes of a vector, and of a line of the cache
WIDEST = 256  # numbers of a row that are worked on at a time, where that is possible
PAGE = 4096  # bytes; loads wait for stores that are a multiple of this apart

INDEX, INT32, BYTES = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
FAST = ("fast",)


def lanes(n_components: int, dtype: Any) -> tuple[int | None, ...]:
    """The vectors that a row fills: one entry for each, None for one that is filled in part.

    Examples
    --------
    >>> lanes(32, "float32"), lanes(20, "float32"), lanes(3, "float64")
    ((0, 0), (0, None), (None,))
    """
    whole, rest = divmod(n_components * np.dtype(dtype).itemsize, LINE)
    return (0,) * whole + (None,) * (rest > 0)


def pieces(n_components: int) -> list[slice]:
    """Columns of a wide array, a few at a time, for loops that work on each column alone.

    Examples
    --------
    >>> pieces(600)
    [slice(0, 256, None), slice(256, 512, None), slice(512, 600, None)]
    """
    starts = range(0, n_components, WIDEST)
    return [slice(start, min(start + WIDEST, n_components)) for start in starts]


def lined_up(
    shape: tuple[int, ...],
    dtype: Any,
    shift: int = 0,
    make: Callable[..., NDArray[Any]] = np.empty,
) -> NDArray[Any]:
    """An array that begins so many lines of the cache after the beginning of a page.

    Where the length of a row is a multiple of a line, each of its vectors then fills one line, not
    two in part. Arrays that are read and written side by side should have different shifts.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = make(size + 2 * PAGE, dtype=np.uint8)
    start = -memory.ctypes.data % PAGE + shift * LINE
    return memory[start : start + size].view(dtype).reshape(shape)


class Row(types.Type):
    """A row as numba knows it: ``count`` vectors of ``width`` numbers."""

    def __init__(self, dtype: Any, count: int) -> None:
        self.dtype, self.count, self.width = dtype, count, 8 * LINE // dtype.bitwidth
        super().__init__(f"Row({dtype}, {count})")

    @property
    def vector(self) -> ir.VectorType:
        """One of the vectors as LLVM knows it."""
        number = ir.FloatType() if self.dtype == types.float32 else ir.DoubleType()
        return ir.VectorType(number, self.width)


@register_model(Row)
class RowModel(models.PrimitiveModel):
    """A row is an array of vectors, which LLVM takes apart and keeps in registers."""

    def __init__(self, manager: Any, row: Row) -> None:
        super().__init__(manager, row, ir.ArrayType(row.vector, row.count))


@intrinsic
def load(typing, lanes, array, i):  # type: ignore[no-untyped-def]
    """array[i] as a row."""
    row = Row(array.dtype, len(lanes))

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vectors = []
        for place, mask in _places(context, builder, row, signature.args[:2], *arguments[1:]):
            if mask is None:
                vectors.append(builder.load(place, align=row.dtype.bitwidth // 8))
            else:
                nothing = ir.Constant(row.vector, None)
                loaded = place, _alignment(row), mask, nothing
                vectors.append(_call(builder, "masked.load", row, row.vector, *loaded))
        return _together(builder, row, vectors)

    return row(lanes, array, types.uintp), generate


@intrinsic
def store(typing, lanes, row, array, i):  # type: ignore[no-untyped-def]
    """Let array[i] be the row."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kinds = signature.args[0], signature.args[2]
        places = _places(context, builder, row, kinds, *arguments[2:])
        for vector, (place, mask) in zip(_apart(builder, row, arguments[1]), places, strict=True):
            if mask is None:
                builder.store(vector, place, align=row.dtype.bitwidth // 8)
            else:
                stored = vector, place, _alignment(row), mask
                _call(builder, "masked.store", row, ir.VoidType(), *stored)
        return context.get_dummy_value()

    return types.void(lanes, row, array, types.uintp), generate


@intrinsic
def prefetch(typing, lanes, array, i):  # type: ignore[no-untyped-def]
    """Have array[i] brought into the cache while other work goes on."""
    row = Row(array.dtype, len(lanes))

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        read, near, data = (ir.Constant(INT32, value) for value in (0, 3, 1))
        kind = ir.FunctionType(ir.VoidType(), [BYTES, INT32, INT32, INT32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        for place, _ in _places(context, builder, row, signature.args[:2], *arguments[1:]):
            builder.call(function, [builder.bitcast(place, BYTES), read, near, data])
        return context.get_dummy_value()

    return types.void(lanes, array, types.uintp), generate


@intrinsic
def dot(typing, x, y):  # type: ignore[no-untyped-def]
    """x @ y of two rows."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        xs, ys = (_apart(builder, x, argument) for argument in arguments)
        total, *products = (builder.fmul(a, b, flags=FAST) for a, b in zip(xs, ys, strict=True))
        for product in products:
            total = builder.fadd(total, product, flags=FAST)
        number = x.vector.element
        return _call(
            builder, "vector.reduce.fadd", x, number, ir.Constant(number, -0.0), total, flags=FAST
        )

    return x.dtype(x, y), generate


@intrinsic
def plus(typing, x, w, y):  # type: ignore[no-untyped-def]
    """x + w y of two rows and a number."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        xs, ys = (_apart(builder, x, arguments[place]) for place in (0, 2))
        many = _repeated(builder, arguments[1], x.width)
        sums = [
            builder.fadd(a, builder.fmul(many, b, flags=FAST), flags=FAST)
            for a, b in zip(xs, ys, strict=True)
        ]
        return _together(builder, x, sums)

    return x(x, x.dtype, y), generate


def _places(
    context: Any, builder: Any, row: Row, kinds: Any, array: Any, i: Any
) -> Iterator[tuple[Any, Any]]:
    """Where the vectors of a row of an array are, and which of their numbers belong to it."""
    lanes, kind = kinds
    array = context.make_array(kind)(context, builder, array)
    size = ir.Constant(INDEX, row.dtype.bitwidth // 8)
    stride = builder.sdiv(cgutils.unpack_tuple(builder, array.strides, 2)[0], size)
    n_components = cgutils.unpack_tuple(builder, array.shape, 2)[1]
    start = builder.gep(array.data, [builder.mul(i, stride)])
    for v, filled in enumerate(lanes):
        first = ir.Constant(INDEX, v * row.width)
        place = builder.bitcast(builder.gep(start, [first]), row.vector.as_pointer())
        if not isinstance(filled, types.NoneType):
            yield place, None
        else:
            numbers = ir.Constant(ir.VectorType(INDEX, row.width), list(range(row.width)))
            rest = _repeated(builder, builder.sub(n_components, first), row.width)
            yield place, builder.icmp_unsigned("<", numbers, rest)


def _repeated(builder: Any, number: Any, width: int) -> Any:
    """A vector of one number."""
    undefined = ir.Constant(ir.VectorType(number.type, width), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(INT32, 0))
    all_of_it = ir.Constant(ir.VectorType(INT32, width), None)
    return builder.shuffle_vector(first, undefined, all_of_it)


def _apart(builder: Any, row: Row, value: Any) -> list[Any]:
    return [builder.extract_value(value, v) for v in range(row.count)]


def _together(builder: Any, row: Row, vectors: list[Any]) -> Any:
    value = ir.Constant(ir.ArrayType(row.vector, row.count), ir.Undefined)
    for v, vector in enumerate(vectors):
        value = builder.insert_value(value, vector, v)
    return value


def _alignment(row: Row) -> Any:
    return ir.Constant(INT32, row.dtype.bitwidth // 8)


def _call(builder: Any, name: str, row: Row, result: Any, *arguments: Any, flags: Any = ()) -> Any:
    """Call LLVM's function of this name for vectors of this kind."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    suffix = f"v{row.width}f{row.dtype.bitwidth}" + (".p0" if "masked" in name else "")
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
    return builder.call(function, arguments, fastmath=flags)
