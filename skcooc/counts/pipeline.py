"""Work on the tiles of a matrix side by side, in an order that no number of threads changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Semaphore
from typing import Protocol, TypeVar

from skcooc.protocol import Array

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Map(Protocol):
    """The built-in map, or one like it that works side by side."""

    def __call__(
        self, function: Callable[[Argument], Result], arguments: Iterable[Argument], /
    ) -> Iterable[Result]:
        """What a function returns for each argument, in order."""


class Each(Protocol):
    """A Map for functions of several arguments, which is told how much work there is."""

    def __call__(
        self, function: Callable[..., Result], arguments: Sequence[tuple[object, ...]], work: int
    ) -> list[Result]:
        """function(*these) for these of the arguments."""


class Over(Protocol):
    """Runs a loop over ranges of rows or columns that have about equally many non-zeros."""

    def __call__(self, indptr: Array, n_components: int, loop: Callable[[int, int], None]) -> None:
        """loop(start, stop) for each range."""


def pipelined(map: Map, tile: Callable[[int, int], None], n_bands: int, n_ranges: int) -> None:
    """Call tile(band, range) for all bands of rows and ranges of columns, each range in a thread.

    A thread goes down its range of columns, band by band, and enters a band when the range before
    has left it. What is added up over the columns of a band, or over the bands of a column, is
    therefore added up in order, however many ranges there are.

    Parameters
    ----------
    map : callable
        Runs a function over the ranges; it begins with the first, and so on. Side by side or not.
    tile : callable
    n_bands, n_ranges : int
    """
    left = [Semaphore(0) for _ in range(n_ranges)]

    def down(columns: int) -> None:
        try:
            for band in range(n_bands):
                if columns:
                    left[columns - 1].acquire()
                tile(band, columns)
                left[columns].release()
        finally:  # none waits for a thread that has failed
            left[columns].release(n_bands)

    list(map(down, range(n_ranges)))
