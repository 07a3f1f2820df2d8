"""Subnormal numbers are taken as zero while loops run, because processors are slow with them.

Near beta = 1 EM drives probabilities below 1e-38, where float32 has subnormal numbers. Arithmetic
on these takes many times as long on some processors, and hardly longer on others. Bits in the
control register of a thread make the processor read and write them as zeros. On a processor without
such bits results are the same up to numbers as small as these.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from skcooc.protocol.decorators import compiled

X86 = {"x86_64", "amd64"}
ARM = {"aarch64", "arm64"}
PROCESSOR = platform.machine().lower()
# Flush to zero and denormals are zero, bits 15 and 6 of MXCSR; or FZ, bit 24 of FPCR.
FLUSH = 1 << 15 | 1 << 6 if PROCESSOR in X86 else 1 << 24
ALL, NONE = -1, 0  # masks
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()


@intrinsic
def control_register(typing):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return read_register(builder, PROCESSOR)

    return types.uint64(), generate


@intrinsic
def set_control_register(typing, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        write_register(builder, PROCESSOR, arguments[0])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


def read_register(builder: ir.IRBuilder, processor: str) -> ir.Value:
    """Code that reads the control register of floating point arithmetic; 0 if it is unknown."""
    if processor in X86:
        place = cgutils.alloca_once(builder, INT32)
        _call(builder, "llvm.x86.sse.stmxcsr", ir.VoidType(), builder.bitcast(place, POINTER))
        return builder.zext(builder.load(place), INT64)
    if processor in ARM:
        return _call(builder, "llvm.aarch64.get.fpcr", INT64)
    return ir.Constant(INT64, 0)


def write_register(builder: ir.IRBuilder, processor: str, value: ir.Value) -> None:
    if processor in X86:
        place = cgutils.alloca_once(builder, INT32)
        builder.store(builder.trunc(value, INT32), place)
        _call(builder, "llvm.x86.sse.ldmxcsr", ir.VoidType(), builder.bitcast(place, POINTER))
    elif processor in ARM:
        _call(builder, "llvm.aarch64.set.fpcr", ir.VoidType(), value)


def _call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


@compiled
def change_control_register(mask, bits):  # type: ignore[no-untyped-def]
    """Keep the bits of the mask, set others, and return all as they were before."""
    before = control_register()
    set_control_register(before & mask | bits)
    return before


@contextmanager
def flushed_subnormals() -> Iterator[None]:
    """Take subnormal numbers as zero in this thread; also a decorator.

    >>> import numpy as np
    >>> x = np.full(2, 1e-39, dtype=np.float32)
    >>> with flushed_subnormals():
    ...     inside = x + x
    >>> bool((x + x).all())
    True
    """
    before = change_control_register(ALL, FLUSH)
    try:
        yield
    finally:
        change_control_register(NONE, before)
