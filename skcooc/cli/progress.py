"""Progress bars on a terminal, nothing at all elsewhere."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.callback import ProgressBar

Estimator = TypeVar("Estimator", bound=BaseEstimator)


class Screen:
    """What is shown on a terminal, and nowhere else, while models are fitted, where wanted."""

    def __init__(self, wanted: bool) -> None:
        self.shown = wanted and sys.stdout.isatty()
        self._bars = self.shown and find_spec("rich") is not None

    def announce(self, what: str) -> None:
        """Say what comes next, over its progress bar."""
        if self.shown:
            print(what, flush=True)

    def watch(self, model: Estimator) -> Estimator:
        """Give a model a progress bar, where it supports callbacks."""
        if self._bars and hasattr(model, "set_callbacks"):
            model.set_callbacks(ProgressBar())
        return model
