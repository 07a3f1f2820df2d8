"""Callbacks: what a fit does on the way."""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["Checkpoint", "read_checkpoint"]

PASS = "pass"  # name of the task that is a pass over RowBlocks


class Checkpoint:
    """Write the model to a file while it is fitted, so that a fit that is stopped can go on.

    The file holds the estimator, which can transform, predict and score, and all that the fit needs
    to go on, such as momentum, other random starts, or the levels of an annealing. Let
    ``read_checkpoint`` read it: with ``warm_start=True``, ``fit`` of the same table with the same
    parameters goes on from there, and ends bit by bit as if nothing had happened.

    There is no file before the first iteration. Where the search for the temperature, or the growth
    of an annealed tree, is interrupted, fit anew: the result is the same where ``random_state`` is
    a number. So it is where a fit of RowBlocks is interrupted before the first pass has ended.

    Parameters
    ----------
    path : path
        File to write. It is replaced as a whole: at any time it holds the last complete checkpoint.
    every : int, default=10
        Number of iterations between two checkpoints. Where RowBlocks are fitted, one follows each
        pass.

    See Also
    --------
    read_checkpoint : Reads the file.

    Notes
    -----
    It is a scikit-learn callback. Each fit needs a file of its own, so that it does not serve
    AveragedModels and TemperatureSearchCV. Of a ComponentSearchCV, which needs no ``warm_start``,
    ``every`` counts numbers of components, not iterations. The file is some times as large as
    parameters and ``embedding_``.

    Examples
    --------
    A program that goes on whenever it is run again:

    >>> import os, tempfile
    >>> from skcooc import AspectModel
    >>> from skcooc.callbacks import Checkpoint, read_checkpoint
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> path = os.path.join(tempfile.mkdtemp(), "model.pickle")
    >>> def run():
    ...     model = AspectModel(n_components=3, random_state=0)
    ...     if os.path.exists(path):
    ...         model = read_checkpoint(path).set_params(warm_start=True)
    ...     return model.set_callbacks(Checkpoint(path, every=5)).fit(X)
    >>> first, second = run(), run()
    >>> bool((first.components_ == second.components_).all())
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, every: int = 10) -> None:
        self.path, self.every = path, every
        self._calls = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""
        self._calls = 0

    def teardown(self, estimator: Any, context: Any) -> None:
        """A fit has ended."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A part of the fit begins."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """A part of the fit has ended: an iteration, where there is a fitted estimator."""
        if fitted_estimator is None:
            return
        self._calls += 1
        if self._calls % self.every == 0 or context.task_name == PASS:
            write_checkpoint(self.path, fitted_estimator)


def write_checkpoint(path: str | os.PathLike[str], estimator: Any) -> None:
    """Write an estimator, without its callbacks, to a file, which is replaced as a whole."""
    path, estimator = Path(path), copy.copy(estimator)
    for name in [name for name in vars(estimator) if "_callback" in name]:
        delattr(estimator, name)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            pickle.dump(estimator, file, protocol=pickle.HIGHEST_PROTOCOL)
            file.flush()
            os.fsync(file.fileno())  # on disk before it takes the place of the old file
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)


def read_checkpoint(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that ``Checkpoint`` wrote.

    Parameters
    ----------
    path : path
        From a source that you trust: a pickle can run any program.

    Returns
    -------
    estimator : fitted estimator
    """
    with open(path, "rb") as file:
        return pickle.load(file)
