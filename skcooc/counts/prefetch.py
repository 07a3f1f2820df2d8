"""Ask for memory before it is needed, where compiled loops know what comes next."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = np.uintp(64)  # bytes that a cache fetches at once
READ, KEEP, DATA = 0, 3, 1  # the arguments of LLVM's intrinsic


@intrinsic
def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Fetch the cache line of an element of a contiguous array; no element need be there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        builder.call(function, [address, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.uintp), code


@njit(inline="always")
def prefetch_row(array, i):  # type: ignore[no-untyped-def]
    """Fetch row i of a C-contiguous matrix into the cache."""
    width = np.uintp(array.shape[1])
    begin = np.uintp(i) * width
    for place in range(begin, begin + width, LINE // np.uintp(array.itemsize)):
        _prefetch(array, place)
