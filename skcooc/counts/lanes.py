"""Rows of factors as vector registers for compiled loops, and vectorised powers, in LLVM.

The LLVM code is written by hand because it is worth it: the loop of the E-step is 1.7 to 2.4 times
faster than the same loop in plain numba, and powers are 2.4 to 3 times faster than those of NumPy
where NumPy does not use AVX-512.

Every loop works on a range of rows (or of columns) and writes only to the outputs of that range,
so that any number of threads gives bitwise the same result. No loop allocates anything of the size
of the non-zeros.

A compiler that does not know the number of components makes a loop over them of every line, which
loads and stores what could have stayed where it is. Here a row is a value of as many vectors as it
takes, loaded once and stored when all is done: rows are padded with zeros to whole vectors. Loops
are compiled for the number and width of these, which the dtype of a row tells numba: ``lanes(A)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import DTypeLike

from skcooc.protocol import Array
from skcooc.protocol.decorators import compiled

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.datamodel import DataModelManager


Result = TypeVar("Result")
U = np.uintp  # unsigned indices: numba emits no code for negative ones
Value: TypeAlias = ir.Value  # a number, or several, of the code that is made
Lanes: TypeAlias = np.dtype[np.void]  # of a row, whose vectors are those of a subarray
LINE = 64  # bytes of a vector, and of a line of the cache
HALF = LINE // 2  # bytes of rows of few components
PAIR = 2 * LINE  # bytes of a row that a loop of products takes at most
# Bytes of the vector registers of this processor: 32 of 64, or 16 of 32 bytes, or 32 of 16.
REGISTERS = 2048 if get_host_cpu_features().get("avx512f") else 512
PAGE = 4096  # bytes; loads wait for stores that are a multiple of this apart
INDEX = ir.IntType(64)
INT32 = ir.IntType(32)
BYTES = ir.IntType(8).as_pointer()
FAST = ("fast",)
ORDERED = ("nsz",)  # sums as they are written; to what has no flags, numba gives those of the loop
N_TERMS = {np.float32: (5, 8), np.float64: (10, 14)}  # of the logarithm, and of the exponential
# Rational approximation of log(1 + t) with sqrt(1/2) < 1 + t < sqrt(2), the highest powers first.
LOG_NUMERATOR = (0.025899792, 0.38088378, 1.4800006, 2.1126776, 1.0, 0.0)
LOG_DENOMINATOR = (0.0058750953, 0.15464763, 0.9864943, 2.453006, 2.6126776, 1.0)


def lanes(table: Array) -> Lanes:
    """Vectors of a padded row as a dtype: their number, and that of their numbers.

    >>> lanes(np.ones((1, 2))).shape, lanes(np.ones((1, 16))).shape
    ((1, 2), (2, 8))
    """
    n_columns = table.shape[1]
    width = min(LINE // table.itemsize, n_columns)
    return np.dtype((table.dtype, (n_columns // width, width)))


def part_of_row(table: Array) -> Lanes:
    """Vectors of a part of a padded row: two cache lines, or one if their number is odd."""
    width = PAIR // table.itemsize
    return lanes(table[:, : width if table.shape[1] % width == 0 else width // 2])


def column_chunks(table: Array) -> list[tuple[Lanes, np.uintp, np.uintp]]:
    """Two cache lines of columns at a time, or one: what loops need to find them in a flat table.

    These are the lanes, the first column, and the number of columns of the padded table. So loops
    are compiled for one line and for two.
    """
    n_columns = table.shape[1]
    width = PAIR // table.itemsize
    starts = range(0, n_columns, width)
    return [(lanes(table[:, i : i + width]), U(i), U(n_columns)) for i in starts]


def aligned_array(
    shape: tuple[int, ...], dtype: DTypeLike, shift: int = 0, make: Callable[..., Array] = np.empty
) -> Array:
    """An array that begins ``shift`` cache lines after the beginning of a page.

    If a row is a multiple of a line long, each of its vectors then lies in one line. Arrays that
    are read and written in the same loop should have different shifts. An array of less than a
    page, which is in the fastest cache anyway, begins anywhere: so it is made sooner.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < PAGE:
        return make(shape, dtype)
    memory = make(size + 2 * PAGE, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % PAGE + shift * LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def padded(table: Array, dtype: DTypeLike, min_bytes: int = LINE) -> Array:
    """The table (m, k) in C order, with columns of zeros at the end of its rows.

    A row then has ``min_bytes`` if that is enough, else a multiple of it, or of a cache line.
    """
    m, k = table.shape
    dtype = np.dtype(dtype)
    size = k * dtype.itemsize
    step = min_bytes if size <= min_bytes else max(min_bytes, LINE)
    n_columns = -(-size // step) * step // dtype.itemsize
    if n_columns == k:
        return np.ascontiguousarray(table, dtype=dtype)
    lines = aligned_array((m, n_columns), dtype, make=np.zeros)
    lines[:, :k] = table
    return lines


def without_padding(table: Array, n_columns: int) -> Array:
    if n_columns == table.shape[1]:
        return table
    result = aligned_array((len(table), n_columns), table.dtype)
    result[:] = table[:, :n_columns]
    return result


class Row(types.Type):
    """The type of a row for numba: ``count`` vectors of ``width`` numbers."""

    def __init__(self, dtype: types.Float, shape: tuple[int, int]) -> None:
        self.dtype = dtype
        self.count, self.width = shape
        super().__init__(f"Row({dtype}, {self.count}, {self.width})")

    @property
    def vector(self) -> ir.VectorType:
        number = ir.FloatType() if self.dtype == types.float32 else ir.DoubleType()
        return ir.VectorType(number, self.width)


@register_model(Row)
class RowModel(models.PrimitiveModel):
    """An array of vectors, which LLVM keeps in registers."""

    def __init__(self, manager: DataModelManager, row: Row) -> None:
        super().__init__(manager, row, ir.ArrayType(row.vector, row.count))


@intrinsic
def load(typing, lanes, array, i):  # type: ignore[no-untyped-def]
    row = Row(array.dtype, lanes.dtype.shape)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        places = _places(context, builder, row, array, *arguments[1:])
        vectors = [builder.load(place, align=row.dtype.bitwidth // 8) for place in places]
        return pack(builder, row, vectors)

    return row(lanes, array, types.uintp), generate


@intrinsic
def store(typing, row, array, i):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vectors = unpack(builder, row, arguments[0])
        places = _places(context, builder, row, array, *arguments[1:])
        for vector, place in zip(vectors, places, strict=True):
            builder.store(vector, place, align=row.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(row, array, types.uintp), generate


@intrinsic
def row_size(typing, lanes):  # type: ignore[no-untyped-def]
    """Numbers of a padded row, which the compiler knows."""
    count, width = lanes.dtype.shape

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return ir.Constant(INDEX, count * width)

    return types.uintp(lanes), generate


@intrinsic
def prefetch(typing, lanes, array, i):  # type: ignore[no-untyped-def]
    """Load array[i] into the cache in the background."""
    row = Row(array.dtype, lanes.dtype.shape)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        read, near, data = (ir.Constant(INT32, value) for value in (0, 3, 1))
        kind = ir.FunctionType(ir.VoidType(), [BYTES, INT32, INT32, INT32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        for place in _places(context, builder, row, array, *arguments[1:]):
            builder.call(function, [builder.bitcast(place, BYTES), read, near, data])
        return context.get_dummy_value()

    return types.void(lanes, array, types.uintp), generate


@intrinsic
def dot(typing, x, y):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        xs, ys = (unpack(builder, x, argument) for argument in arguments)
        total, *products = (builder.fmul(a, b, flags=FAST) for a, b in zip(xs, ys, strict=True))
        for product in products:
            total = builder.fadd(total, product, flags=FAST)
        return _reduced(builder, x, total, "fadd", ir.Constant(x.vector.element, -0.0))

    return x.dtype(x, y), generate


@intrinsic
def total(typing, x):  # type: ignore[no-untyped-def]
    """Sum of the numbers of a row of one vector."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zero = ir.Constant(x.vector.element, -0.0)
        return _reduced(builder, x, *unpack(builder, x, arguments[0]), "fadd", zero)

    return x.dtype(x), generate


@intrinsic
def largest(typing, x):  # type: ignore[no-untyped-def]
    """Largest of the numbers of a row of one vector."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _reduced(builder, x, *unpack(builder, x, arguments[0]), "fmax")

    return x.dtype(x), generate


@intrinsic
def add_scaled(typing, x, w, y):  # type: ignore[no-untyped-def]
    """x + w y of two rows and a number."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        xs, ys = (unpack(builder, x, arguments[place]) for place in (0, 2))
        many = broadcast(builder, arguments[1], x.width)
        sums = [
            builder.fadd(a, builder.fmul(many, b, flags=FAST), flags=FAST)
            for a, b in zip(xs, ys, strict=True)
        ]
        return pack(builder, x, sums)

    return x(x, x.dtype, y), generate


@intrinsic
def multiply(typing, x, y):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        xs, ys = (unpack(builder, x, argument) for argument in arguments)
        products = [builder.fmul(a, b, flags=FAST) for a, b in zip(xs, ys, strict=True)]
        return pack(builder, x, products)

    return x(x, y), generate


def _places(
    context: BaseContext, builder: ir.IRBuilder, row: Row, kind: types.Array, array: Value, i: Value
) -> list[Value]:
    """Addresses of the vectors of a row of an array, or of those from a place of a flat one."""
    fields = context.data_model_manager[kind]
    if kind.ndim > 1:
        size = ir.Constant(INDEX, row.dtype.bitwidth // 8)
        strides = fields.get(builder, array, "strides")
        i = builder.mul(i, builder.sdiv(builder.extract_value(strides, 0), size))
    start = builder.gep(fields.get(builder, array, "data"), [i])
    places = [builder.gep(start, [ir.Constant(INDEX, v * row.width)]) for v in range(row.count)]
    return [builder.bitcast(place, row.vector.as_pointer()) for place in places]


def _reduced(
    builder: ir.IRBuilder, row: Row, vector: Value, operation: str, *start: Value
) -> Value:
    number = row.vector.element
    kind = ir.FunctionType(number, [*(number for _ in start), row.vector])
    name = f"llvm.vector.reduce.{operation}.v{row.width}f{row.dtype.bitwidth}"
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [*start, vector], fastmath=FAST)


def broadcast(builder: ir.IRBuilder, number: Value, width: int) -> Value:
    undefined = ir.Constant(ir.VectorType(number.type, width), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INT32, width), None))


def unpack(builder: ir.IRBuilder, row: Row, value: Value) -> list[Value]:
    return [builder.extract_value(value, v) for v in range(row.count)]


def pack(builder: ir.IRBuilder, row: Row, vectors: list[Value]) -> Value:
    value = ir.Constant(ir.ArrayType(row.vector, row.count), ir.Undefined)
    for v, vector in enumerate(vectors):
        value = builder.insert_value(value, vector, v)
    return value


class Numbers:
    """A number, or a vector of them, in generated code, with arithmetic; a comparison is a bit."""

    def __init__(self, builder: ir.IRBuilder, value: Value, flags: Sequence[str] = FAST) -> None:
        self.builder, self.value, self.flags = builder, value, flags

    def __add__(self, other: Self | float) -> Self:
        return self._with("add", other)

    def __sub__(self, other: Self | float) -> Self:
        return self._with("sub", other)

    def __rsub__(self, number: float) -> Self:
        return self.same(number) - self

    def __mul__(self, other: Self | float) -> Self:
        return self._with("mul", other)

    def __truediv__(self, other: Self | float) -> Self:
        return self._with("div", other)

    def __or__(self, other: Self | float) -> Self:
        return self._new(self.builder.or_(self.value, self.same(other).value))

    def __lshift__(self, other: Self | float) -> Self:
        return self._new(self.builder.shl(self.value, self.same(other).value))

    def __rshift__(self, other: Self | float) -> Self:
        return self._new(self.builder.lshr(self.value, self.same(other).value))

    def __lt__(self, other: Self | float) -> Self:
        values = self.value, self.same(other).value
        if isinstance(self.element, ir.IntType):
            return self._new(self.builder.icmp_unsigned("<", *values))
        return self._new(self.builder.fcmp_ordered("<", *values, flags=self.flags))

    def minimum(self, other: Self | float) -> Self:
        return (self < other).choose(self, self.same(other))

    def maximum(self, other: Self | float) -> Self:
        return (self < other).choose(self.same(other), self)

    def choose(self, first: Self, second: Self) -> Self:
        """The first number if this bit is set, else the second."""
        return self._new(self.builder.select(self.value, first.value, second.value))

    def view(self, kind: ir.Type) -> Self:
        """Read the bits as numbers of another type."""
        many = isinstance(self.value.type, ir.VectorType)
        to = ir.VectorType(kind, self.value.type.count) if many else kind
        return self._new(self.builder.bitcast(self.value, to))

    @property
    def element(self) -> ir.Type:
        kind = self.value.type
        return kind.element if isinstance(kind, ir.VectorType) else kind

    def with_flags(self, flags: Sequence[str]) -> Self:
        return type(self)(self.builder, self.value, flags)

    def same(self, number: Self | float) -> Self:
        """The number, as a constant of this type if it is one of Python."""
        if isinstance(number, type(self)):
            return number
        kind = self.value.type
        many = [number] * kind.count if isinstance(kind, ir.VectorType) else number
        return self._new(ir.Constant(kind, many))

    def _with(self, operation: str, other: Self | float) -> Self:
        values = self.value, self.same(other).value
        if isinstance(self.element, ir.IntType):
            return self._new(getattr(self.builder, operation)(*values))
        return self._new(getattr(self.builder, f"f{operation}")(*values, flags=self.flags))

    def _new(self, value: Value) -> Self:
        return type(self)(self.builder, value, self.flags)


def row_formula(formula: Callable[..., Numbers]) -> Any:
    """Make a function of a tuple of rows and a tuple of numbers, for compiled loops; gives a row.

    The formula is evaluated vector by vector, so that intermediate results stay in registers.
    """

    @intrinsic
    def evaluate(typing, rows, numbers):  # type: ignore[no-untyped-def]
        row = rows[0]

        def generate(
            context: BaseContext, builder: ir.IRBuilder, signature: object, arguments: list[Value]
        ) -> Value:
            values, scalars = (cgutils.unpack_tuple(builder, argument) for argument in arguments)
            constants = [Numbers(builder, broadcast(builder, x, row.width)) for x in scalars]
            results = []
            for vectors in zip(*(unpack(builder, row, value) for value in values), strict=True):
                result = formula(*(Numbers(builder, vector) for vector in vectors), *constants)
                results.append(result.value)
            return pack(builder, row, results)

        return row(rows, numbers), generate

    return evaluate


def polynomial(terms: Sequence[float], x: Numbers) -> Numbers:
    """terms[0] x^n + terms[1] x^(n - 1) + ... + terms[n], written out by Horner's rule."""
    x = x.with_flags(("contract",))
    sum_of_terms = x.same(terms[0])
    for term in terms[1:]:
        sum_of_terms = sum_of_terms * x + term
    return sum_of_terms.with_flags(ORDERED)


def series(number: Any) -> tuple[tuple[float, ...], ...]:
    """Factors of the powers of t^2 in log2 m / t, and of those of r in 2^r, the highest first."""
    n_log, n_exp = N_TERMS[number]
    unit = math.log(2)
    of_log = [2 / unit / (2 * n + 1) for n in range(n_log)]
    of_exp = [unit**n / math.factorial(n) for n in range(n_exp)]
    return tuple(tuple(float(number(term)) for term in terms[::-1]) for terms in (of_log, of_exp))


def power_formula(x: Numbers, b: Numbers, of_zero: Numbers) -> Numbers:
    """x^b, and of 0^b.

    With x = 2^e m, where m lies between the roots of 1/2 and of 2, and t = (m - 1) / (m + 1),

        log2 x = e + (2 / log 2) (t + t^3/3 + t^5/5 + ...),   t^2 < .0295.

    With b log2 x = k + r, where k is whole and |r| at most 1/2,

        x^b = 2^k (1 + r log 2 + (r log 2)^2/2! + ...).

    The series end when terms no longer count. Rounding a product of b and e would cost too many
    digits: b is split into a head of half the digits, whose product with e is exact, and a tail.
    """
    real = x.element
    number = np.float32 if isinstance(real, ir.FloatType) else np.float64
    info = np.finfo(number)
    of_log, of_exp = series(number)
    bits = ir.IntType(info.bits)
    integers = np.dtype(f"u{info.bits // 8}")
    digits = info.nmant
    bias = 1 - int(info.minexp)
    base = 2.0**digits  # from here on, floats are whole numbers
    rounding = 1.5 * base  # added and subtracted to round to whole numbers
    halving = 2.0 ** ((digits + 1) // 2) + 1
    smallest, ones, base_bits, roundings, root = (
        int(number(value).view(integers))
        for value in (info.smallest_normal, 1, base, rounding, math.sqrt(0.5))
    )
    # An exponent as it is stored, and where there are leading zeros.
    normal = base + bias
    subnormal = base + bias + (bias + digits - 1)
    far = 3 * bias // 2  # 2^far is infinite and 2^-far zero, whatever the tail adds
    twice = 2 * bias
    x = x.with_flags(ORDERED)
    b = b.with_flags(ORDERED)
    head = b * halving - (b * halving - b)
    tail = b - head
    i = x.view(bits)
    tiny = i < smallest
    i = tiny.choose(((i | base_bits).view(real) - base).view(bits), i)
    stored = (i + (ones - root)) >> digits
    e = (stored | base_bits).view(real) - tiny.choose(x.same(subnormal), x.same(normal))
    m = (i + ones - (stored << digits)).view(real)
    t = (m - 1.0) / (m + 1.0)
    high = (head * e).maximum(-far).minimum(far)
    low = tail * e + b * (t * polynomial(of_log, t * t))
    near = (high + low) + rounding
    power = polynomial(of_exp, (high - (near - rounding)) + low)
    # 2^k in two factors: it may itself be too small for a number that is not subnormal.
    k = near.view(bits) - roundings + twice
    power *= ((k >> 1) << digits).view(real)
    power *= ((k - (k >> 1)) << digits).view(real)
    power = (x < np.inf).choose(power, x)
    is_zero = (x.view(bits) << 1) < 1  # compared as a number, one that is subnormal might be, too
    return is_zero.choose(of_zero, power)


@intrinsic
def power_of(typing, x, b, of_zero):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return power_formula(*(Numbers(builder, argument) for argument in arguments)).value

    return x(x, x, x), generate


@compiled
def power_loop(P, b, of_zero, out):  # type: ignore[no-untyped-def]
    for p in range(U(P.size)):
        out[U(p)] = power_of(P[U(p)], b, of_zero)


def power(P: Array, exponent: float, out: Array) -> None:
    """Fill an array, contiguous in memory, with P to the power of the exponent, as NumPy has it.

    P is not negative, and the exponent is below 50. Zero and one stay what they are, and so does
    everything to the power of one; else results are accurate to some units of the last place.
    """
    number = P.dtype.type
    if exponent == 1:
        np.copyto(out, P)
        return
    of_zero = number(0 if exponent > 0 else 1 if exponent == 0 else np.inf)
    flat = np.ascontiguousarray(P).reshape(-1)
    power_loop(flat, number(exponent), of_zero, out.reshape(-1))


def log_formula(x: Numbers) -> Numbers:
    """Logarithms of float32 as NumPy computes them, to the last bit where there is an FMA.

    With x = 2^e m, where m lies between the roots of 1/2 and of 2, that is e log 2 + log m.
    """
    number = np.float32
    digits = np.finfo(number).nmant
    base = 2.0**digits  # from here on, floats are whole numbers
    one, root, base_bits = (
        int(number(value).view(np.uint32)) for value in (1, math.sqrt(0.5), base)
    )
    x = x.with_flags(ORDERED)
    i = x.view(INT32)
    stored = (i + (one - root)) >> digits
    e = (stored | base_bits).view(x.element) - (base + 127)
    t = (i + one - (stored << digits)).view(x.element) - 1.0
    ratio = polynomial(LOG_NUMERATOR, t) / polynomial(LOG_DENOMINATOR, t)
    result = e.with_flags(("contract",)) * float(number(math.log(2))) + ratio
    return (x < np.inf).choose(result.with_flags(ORDERED), x)


@intrinsic
def log_of(typing, x):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return log_formula(Numbers(builder, arguments[0])).value

    return x(x), generate


@compiled
def log_loop(x):  # type: ignore[no-untyped-def]
    for p in range(U(x.size)):
        x[U(p)] = log_of(x[U(p)])


def replace_by_log(x: Array) -> None:
    """Replace positive numbers (n,), none of them subnormal, by their logarithms."""
    if x.dtype == np.float32:  # four times as fast as NumPy without AVX-512
        log_loop(x)
    else:
        np.log(x, out=x)
