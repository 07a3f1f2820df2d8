"""Fresh processes, the memory that a process holds, and callbacks after each iteration."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

GB, MIB = 1e9, 2**20


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Result of a function of a module, called in a new Python process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def seconds_of(action: Callable[..., Any], *arguments: Any) -> float:
    """Seconds that an action takes on the clock."""
    start = perf_counter()
    action(*arguments)
    return perf_counter() - start


def cpu_seconds_of(action: Callable[[], Any]) -> float:
    """Seconds of the processor that an action takes, in all threads."""
    start = process_time()
    action()
    return process_time() - start


def memory(field: str) -> int:
    """Bytes that this process holds: VmRSS now, VmHWM at its peak, RssAnon without files."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(f"/proc/self/status has no field {field}")


def reset_peak() -> int:
    """Give free memory back to the system and forget the peak; return the bytes held now."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory("VmRSS")


class EachIteration:
    """A scikit-learn callback: passes the estimator, as if EM stopped there, to a function."""

    def __init__(self, action: Callable[[Any], None]) -> None:
        self._action = action

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Let the function see the end of an iteration; those of trials show no estimator."""
        if context.task_name == "iteration" and fitted_estimator is not None:
            self._action(fitted_estimator)
        return False
