"""Threads for passes over the counts, in an order that no number of them changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import Lock, Semaphore

import numpy as np
from joblib import effective_n_jobs
from numba import config
from threadpoolctl import ThreadpoolController

from skcooc.protocol import Array, Map


@contextmanager
def threads(n_threads: int) -> Iterator[Map]:
    """A map that runs in threads; the built-in one for one thread. BLAS keeps to one thread.

    BLAS threads would contend for the cores, and their number changes the last digits.
    """
    with _ONE_BLAS_THREAD:
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


class _OneBlasThread:
    """Limit BLAS to one thread, in the process, from the first of concurrent fits to the last."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

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


def n_threads(n_jobs: int | None) -> int:
    """Number of threads in joblib's conventions, at most numba's limit.

    joblib lowers that in worker processes, so that their threads do not oversubscribe the cores.
    """
    return max(1, min(effective_n_jobs(n_jobs), config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


def pipelined(map: Map, tile: Callable[[int, int], None], n_bands: int, n_ranges: int) -> None:
    """Call tile(band, range) for all bands of rows and ranges of columns, each range in a thread.

    A thread goes through its range of columns, band by band, and enters a band when the range
    before has left it. So sums over the columns of a band, and over the bands of a column, are made
    in order, however many ranges there are. ``map`` has to start the ranges in order.
    """
    left = [Semaphore(0) for _ in range(n_ranges)]

    def down(columns: int) -> None:
        try:
            for band in range(n_bands):
                if columns:
                    left[columns - 1].acquire()
                tile(band, columns)
                left[columns].release()
        finally:  # so that no thread waits for one that has failed
            left[columns].release(n_bands)

    list(map(down, range(n_ranges)))


def balanced_ranges(indptr: Array, n_ranges: int) -> list[tuple[int, int]]:
    """Cut rows into at most ``n_ranges`` non-empty ranges with about equally many non-zeros."""
    n_rows = len(indptr) - 1
    goals = [float(indptr[-1]) / n_ranges * r for r in range(1, n_ranges)]
    limits = [0, *(np.searchsorted(indptr, goals).tolist() if goals else ()), n_rows]
    return [(start, stop) for start, stop in pairwise(limits) if start < stop]
