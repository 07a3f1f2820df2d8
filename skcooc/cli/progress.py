"""Progress bars on a terminal, nothing at all elsewhere."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from sklearn.callback import ProgressBar


class Screen:
    """What is shown while models are fitted.

    Parameters
    ----------
    wanted : bool
        Whether the user wants to see progress. It is shown only on a terminal.
    """

    def __init__(self, wanted: bool) -> None:
        self.shown = wanted and sys.stdout.isatty()
        self._bars = self.shown and find_spec("rich") is not None

    def announce(self, what: str) -> None:
        """Say what comes next, over its progress bar."""
        if self.shown:
            print(what, flush=True)

    def watch(self, model: Any) -> Any:
        """Give a model a progress bar, where it supports callbacks."""
        if self._bars and hasattr(model, "set_callbacks"):
            model.set_callbacks(ProgressBar())
        return model

    def done(self) -> None:
        """Leave a blank line between the bars and what follows."""
        self.announce("")
