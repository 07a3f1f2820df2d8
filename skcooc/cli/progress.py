"""Progress on stderr where it is a terminal, nothing at all elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.callback import ProgressBar

from skcooc.cli.characters import printable, say

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Item = TypeVar("Item")


class Screen:
    """What is shown on a terminal, and nowhere else, while there is work, where wanted.

    All steps are announced. Where rich is installed, they have bars.
    """

    def __init__(self, wanted: bool) -> None:
        self.shown = wanted and sys.stderr.isatty()
        self._bars = self.shown and find_spec("rich") is not None
        if self._bars:
            from rich import reconfigure

            reconfigure(stderr=True)  # scikit-learn's bars go where that of rich writes

    def announce(self, what: str) -> None:
        """Say what comes next, over its progress bar."""
        if self.shown:
            say(f"{printable(what)}\n", sys.stderr)
            sys.stderr.flush()

    def watch(self, model: Estimator) -> Estimator:
        """Give a model a progress bar, where it supports callbacks."""
        if self._bars and hasattr(model, "set_callbacks"):
            model.set_callbacks(ProgressBar())
        return model

    def track(self, items: Sequence[Item], what: str) -> Iterable[Item]:
        """The items, and how many of them have been taken."""
        if not self._bars:
            self.announce(what)
            return items
        from rich.markup import escape
        from rich.progress import track

        return track(items, escape(printable(what)), len(items))

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """What does not tell how far it is: the time that it has taken."""
        if not self._bars:
            self.announce(what)
            yield
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        columns = text, BarColumn(), TimeElapsedColumn()
        with Progress(*columns) as progress:
            task = progress.add_task(printable(what), total=None)
            yield
            progress.update(task, total=1, completed=1)


SILENT = Screen(wanted=False)
