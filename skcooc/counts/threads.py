"""Threads for passes over the counts, while BLAS keeps to one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def threads(n_threads: int) -> Iterator[Any]:
    """A map over ranges of rows; plain where one thread is wanted. BLAS keeps to one thread.

    Its threads would contend with these for the cores, and their number changes the last digits.
    """
    with _ONE_BLAS_THREAD:
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


class _OneBlasThread:
    """Holds BLAS to one thread from the first of concurrent fits that enters to the last to leave.

    The limit is one of the process: fits that set and lifted it by themselves would lift each
    other's, and leave it behind.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _thread_pools().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()
