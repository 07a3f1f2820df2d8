"""Warnings that become notes of a report."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

TWINS = "Topics are nearly equal"  # a report merges them, or says so in its own words


@contextmanager
def collected(notes: list[str]) -> Iterator[None]:
    """Append the texts of user warnings, which are not printed; other warnings remain."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", TWINS, UserWarning)
        yield
    for w in caught:
        if issubclass(w.category, UserWarning):
            notes.append(str(w.message))
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
