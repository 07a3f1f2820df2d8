"""How loops over the non-zeros of a count matrix are compiled; each stands where it is used.

Every loop works on a range of rows (or of columns, through the CSC view) and writes only to the
outputs of that range, so that ranges may run in threads and any number of threads gives bitwise
the same result. No loop allocates anything of the size of the non-zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numba import njit

Result = TypeVar("Result")
U = np.uintp  # places that are unsigned: none needs to be asked whether it counts from the end


def compiled(function: Callable[..., Result], **options: Any) -> Callable[..., Result]:
    """Compile a loop without the GIL; cache it on disk where some folder can be written.

    ``options`` are those of numba that are not the usual ones. numba raises RuntimeError at once
    where neither the package folder nor the user's cache folder is writable; the loop is then
    compiled anew in each process.
    """
    # No function pointers for C are made, which would take a sixth of the time to compile.
    options = {"nogil": True, "fastmath": True, "no_cfunc_wrapper": True, **options}
    try:
        return njit(**options, cache=True)(function)
    except RuntimeError:
        return njit(**options)(function)


# For loops that never divide by zero: that numba asks takes a quarter of the time to compile.
guarded = partial(compiled, error_model="numpy")
