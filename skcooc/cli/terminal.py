"""Text and progress on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TextIO, TypeVar

from sklearn.base import BaseEstimator

from skcooc.protocol import scikit_learn

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Item = TypeVar("Item")

# Control characters, line separators and changes of direction: a terminal would obey them.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Escape control characters, as names of rows may have."""
    return CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)


def say(text: str, stream: TextIO) -> None:
    """Write a text; characters that the encoding of the stream lacks are escaped."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


class Screen:
    """Progress on stderr if it is a terminal, with bars if rich is installed."""

    def __init__(self, wanted: bool) -> None:
        self.shown = wanted and sys.stderr.isatty()
        self._bars = self.shown and find_spec("rich") is not None
        if self._bars:
            from rich import reconfigure

            reconfigure(stderr=True)  # scikit-learn's bars go where that of rich writes

    def announce(self, label: str) -> None:
        if self.shown:
            say(f"{printable(label)}\n", sys.stderr)
            sys.stderr.flush()

    def watch(self, model: Estimator) -> Estimator:
        """Give a model a progress bar, if it supports callbacks."""
        if self._bars and scikit_learn.HAS_CALLBACKS and hasattr(model, "set_callbacks"):
            model.set_callbacks(scikit_learn.ProgressBar())
        return model

    def track(self, items: Sequence[Item], label: str) -> Iterable[Item]:
        if not self._bars:
            self.announce(label)
            return items
        from rich.markup import escape
        from rich.progress import track

        return track(items, escape(printable(label)), len(items))

    @contextmanager
    def step(self, label: str) -> Iterator[None]:
        """Show the elapsed time of a step of unknown length."""
        if not self._bars:
            self.announce(label)
            yield
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        with Progress(text, BarColumn(), TimeElapsedColumn()) as progress:
            task = progress.add_task(printable(label), total=None)
            yield
            progress.update(task, total=1, completed=1)
