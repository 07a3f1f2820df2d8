"""Callbacks of fits: checkpoints, which let an interrupted fit resume."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import ExitStack
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from skcooc.protocol.decorators import validated
from skcooc.protocol.locks import check_regular, exclusive, free_in_forks
from skcooc.protocol.scikit_learn import Interval
from skcooc.version import __version__, check_version

__all__ = ["Checkpoint", "read_checkpoint"]

PASS = "pass"  # name of the callback task of a pass over RowBlocks
MAGIC = b"skcooc checkpoint, version "  # the first line of a file, before the version
DIGEST = hashlib.sha256().digest_size  # bytes at the end: checksum of all others
CHUNK = 2**20
WRITING = Lock()  # restarts that are fitted in parallel write to one file
free_in_forks(WRITING)
LOCKED: dict[tuple[int, Path], ExitStack] = {}  # by the estimator and the file of its checkpoints
KINDS = {b"\x80": "a pickle", b"PK": "a zip archive, such as .npz", b"\x93NUMPY": "a numpy array"}


class Checkpoint:
    """Write the model to a file during its fit, so that an interrupted fit can resume.

    The file holds the estimator and the state of its fit, such as trials of the temperature, the
    tree grown so far, momentum, other restarts, or fitted members of an average. After
    ``read_checkpoint``, ``fit`` of the same data with the same parameters (and ``warm_start=True``,
    for estimators that have it) resumes there, and its result is bit by bit that of an
    uninterrupted fit.

    The estimator can transform, predict and score if the checkpoint was written in the final fit.
    Earlier checkpoints, of a start, of the search or of a growing tree, can only resume. So can
    those of searches and ensembles, which hold finished parts: candidates or members. An
    unfinished part starts again; for RowBlocks, the first pass does, except for the fit of its
    sample.

    Read more in the :doc:`how-to guide </howto/large_data>`.

    Parameters
    ----------
    path : path
        File to write, in a folder that exists. It is replaced as a whole: at any time it holds the
        last complete checkpoint.
    every : int, default=10
        Number of iterations between two checkpoints, also in the search and in starts. Another one
        follows each pass over RowBlocks and each finished part of a search or ensemble.

    Notes
    -----
    This scikit-learn callback concerns the estimator that it is set on, not nested estimators. Each
    fit needs its own file, several times as large as parameters and ``embedding_``: a second fit
    with this path is refused with a BlockingIOError. Hidden files in the same folder hold the lock
    and what is being written. A killed process leaves them; the next fit with this path removes
    them.

    ``random_state`` should be a number if tokens are sampled or folds drawn before the fit
    begins: for RowBlocks, dask arrays, and stateful splitters.

    Examples
    --------
    A program that resumes when it is run again:

    >>> import os, tempfile
    >>> from skcooc.callbacks import Checkpoint, read_checkpoint
    >>> from skcooc import AspectModel, datasets
    >>> X = datasets.make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
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

    @validated({"every": [Interval(Integral, 1, None, closed="left")]})
    def __init__(self, path: str | os.PathLike[str], *, every: int = 10) -> None:
        self.path, self.every = path, every
        self._calls = 0

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every})"

    def setup(self, estimator: Any, context: Any) -> None:
        path = Path(self.path)
        self._calls = 0
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"The folder {path.parent} of the checkpoint {path} does not exist: create it."
            )
        check_regular(path)
        locked = ExitStack()
        locked.enter_context(exclusive(path))
        LOCKED[id(estimator), path] = locked

    def teardown(self, estimator: Any, context: Any) -> None:
        # Another fit with this path, which was refused, has no lock to give back.
        LOCKED.pop((id(estimator), Path(self.path)), ExitStack()).close()

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        if fitted_estimator is not None and self.is_due(context.task_name == PASS):
            write_checkpoint(self.path, fitted_estimator)

    def is_due(self, ended: bool) -> bool:
        """Count a call; whether a checkpoint is written now."""
        with WRITING:
            self._calls += 1
            return ended or self._calls % self.every == 0


def keep(estimator: Any, attributes: Callable[[], dict[str, object]], *, ended: bool) -> None:
    """Write an estimator with further attributes to those of its checkpoints that are due.

    ``ended`` says that a part of the fit has ended, not only an iteration of EM.
    """
    for callback in getattr(estimator, "_skl_callbacks", ()):
        if isinstance(callback, Checkpoint) and callback.is_due(ended):
            unfinished = copy.copy(estimator)
            unfinished.__dict__.update(attributes())
            write_checkpoint(callback.path, unfinished)


def write_checkpoint(path: str | os.PathLike[str], estimator: Any) -> None:
    """Write an estimator without its callbacks to a file, atomically."""
    path = Path(path)
    estimator = copy.copy(estimator)
    for name in [name for name in vars(estimator) if "_callback" in name]:
        delattr(estimator, name)
    partial = path.with_name(f".{path.name}.skcooc-partial")
    with WRITING:
        try:
            with open(partial, "w+b") as file:
                file.write(MAGIC + __version__.encode() + b"\n")
                pickle.dump(estimator, file, protocol=pickle.HIGHEST_PROTOCOL)
                file.write(_digest(file, file.tell()))
                file.flush()
                os.fsync(file.fileno())  # on disk before it replaces the old file
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)


def read_checkpoint(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that ``Checkpoint`` wrote.

    Parameters
    ----------
    path : path
        From a source that you trust: a pickle can run any program.

    Returns
    -------
    estimator : fitted estimator
        With a warning if another version of the package wrote it.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or its checksum does not match.
    """
    check_regular(path)
    with open(path, "rb") as file:
        line = file.readline(100)
        if not line.startswith(MAGIC):
            kinds = (kind for start, kind in KINDS.items() if line.startswith(start))
            other = f"a file that begins with {line[:20]!r}" if line else "an empty file"
            raise ValueError(f"{path} is not a checkpoint, but {next(kinds, other)}.")
        start = len(line)
        end = os.fstat(file.fileno()).st_size - DIGEST
        if end < start or _digest(file, end) != file.read():
            raise ValueError(
                f"{path} is a damaged checkpoint: it was truncated or changed after it was written."
            )
        file.seek(start)
        version = line[len(MAGIC) :].decode().strip()
        check_version(version, str(path))
        try:
            return pickle.load(file)
        except (AttributeError, ImportError) as error:
            raise ValueError(
                f"{path} was written by skcooc {version}, and cannot be read by {__version__}: "
                f"{error}."
            ) from error


def _digest(file: BinaryIO, end: int) -> bytes:
    """Checksum of a file up to ``end``, where its position is left."""
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(min(CHUNK, end - file.tell())):  # empty, too, where the file shrinks
        digest.update(chunk)
    return digest.digest()
