"""Callbacks: what a fit does on the way."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from sklearn.utils._param_validation import Interval

from skcooc.protocol.decorators import validated
from skcooc.version import __version__, check_version

__all__ = ["Checkpoint", "read_checkpoint"]

PASS = "pass"  # name of the task that is a pass over RowBlocks
MAGIC = b"skcooc checkpoint, version "  # the first line of a file, before the version
DIGEST = hashlib.sha256().digest_size  # bytes at the end, made of all before
CHUNK = 2**20
WRITING = Lock()  # starts that are fitted side by side have one file
KINDS = {b"\x80": "a pickle", b"PK": "a zip archive, such as .npz", b"\x93NUMPY": "a numpy array"}


class Checkpoint:
    """Write the model to a file while it is fitted, so that a fit that is stopped can go on.

    The file holds the estimator, and all that the fit has found and needs to go on, such as
    temperatures tried, the tree as it has grown, momentum, other random starts, or models that an
    average has already. Let ``read_checkpoint`` read it: ``fit`` of the same data with the same
    parameters, where there is a ``warm_start`` with ``warm_start=True``, goes on from there, and
    ends bit by bit as if nothing had happened.

    From the first iteration of the final fit on the estimator can transform, predict and score.
    What was written before, while the temperature is searched or a tree grows, can only go on; so
    can what ComponentSearchCV, TemperatureSearchCV, AveragedModels, InterpolatedModels and
    RowMemory write, which keep what has ended: candidates, short fits and fits of folds, members. A
    fit of theirs that is under way begins anew. So does one of RowBlocks before the end of the
    first pass, but for the fit of its sample.

    Parameters
    ----------
    path : path
        File to write. It is replaced as a whole: at any time it holds the last complete checkpoint.
    every : int, default=10
        Number of iterations between two checkpoints. One follows each pass over RowBlocks, and each
        part of a search or average that has ended.

    Raises
    ------
    ValueError
        Where ``every`` is no positive int.
    FileNotFoundError, IsADirectoryError
        When a fit begins, before it does anything: where ``path`` is in a folder that does not
        exist, or is one.

    See Also
    --------
    read_checkpoint : Reads the file.

    Notes
    -----
    It is a scikit-learn callback of what it is set on, not of the estimators in it. Each fit needs
    a file of its own. The file is some times as large as parameters and ``embedding_``. While it is
    written it is another one beside it, hidden and always of the same name, of which a process that
    is killed leaves at most this one; the next fit with this path, or checkpoint, takes it away.

    ``random_state`` should be a number where observations are sampled, or folds drawn, before the
    fit begins: RowBlocks, dask arrays, and splitters with a state of their own.

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

    @validated({"every": [Interval(Integral, 1, None, closed="left")]})
    def __init__(self, path: str | os.PathLike[str], *, every: int = 10) -> None:
        self.path, self.every = path, every
        self._calls = 0

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every})"

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""
        path, self._calls = Path(self.path), 0
        if not path.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {path.parent} for the checkpoint {path}.")
        if path.is_dir():
            raise IsADirectoryError(f"The checkpoint {path} is a folder.")
        _partial(path).unlink(missing_ok=True)  # of a process that was killed

    def teardown(self, estimator: Any, context: Any) -> None:
        """A fit has ended."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A part of the fit begins."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """A part of the fit has ended: an iteration, where there is a fitted estimator."""
        if fitted_estimator is not None and self._is_due(context.task_name == PASS):
            write_checkpoint(self.path, fitted_estimator)

    def keep(self, estimator: Any, found: Callable[[], dict[str, object]], *, ended: bool) -> None:
        """Something has been found by an estimator that cannot predict yet; see ``keep``."""
        if self._is_due(ended):
            estimator = copy.copy(estimator)
            estimator.__dict__.update(found())
            write_checkpoint(self.path, estimator)

    def _is_due(self, ended: bool) -> bool:
        """Whether to write: after more than an iteration, or so many of them."""
        with WRITING:
            self._calls += 1
            return ended or self._calls % self.every == 0


def keep(estimator: Any, found: Callable[[], dict[str, object]], *, ended: bool) -> None:
    """Let the checkpoints of an estimator hold it with attributes of what it has found so far.

    ``ended`` is whether that was more than an iteration of EM.
    """
    for callback in getattr(estimator, "_skl_callbacks", ()):
        if isinstance(callback, Checkpoint):
            callback.keep(estimator, found, ended=ended)


def write_checkpoint(path: str | os.PathLike[str], estimator: Any) -> None:
    """Write an estimator, without its callbacks, to a file, which is replaced as a whole."""
    path, estimator = Path(path), copy.copy(estimator)
    for name in [name for name in vars(estimator) if "_callback" in name]:
        delattr(estimator, name)
    partial = _partial(path)
    with WRITING:
        try:
            _write(partial, estimator)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """What is written before it takes the place of a checkpoint."""
    return path.with_name(f".{path.name}.skcooc-partial")


def _write(path: Path, estimator: Any) -> None:
    with open(path, "w+b") as file:
        file.write(MAGIC + __version__.encode() + b"\n")
        pickle.dump(estimator, file, protocol=pickle.HIGHEST_PROTOCOL)
        file.write(_digest(file, file.tell()))
        file.flush()
        os.fsync(file.fileno())  # on disk before it takes the place of the old file


def read_checkpoint(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that ``Checkpoint`` wrote.

    Parameters
    ----------
    path : path
        From a source that you trust: a pickle can run any program.

    Returns
    -------
    estimator : fitted estimator
        With a warning where another version of the package wrote it.

    Raises
    ------
    ValueError
        Where the file is something else, or is damaged: it ends with a checksum, which is compared
        before anything else is read.
    """
    with open(path, "rb") as file:
        line = file.readline(100)
        if not line.startswith(MAGIC):
            raise ValueError(f"{path} is no checkpoint, but {_kind(line)}.")
        start, end = len(line), os.fstat(file.fileno()).st_size - DIGEST
        if end < start or _digest(file, end) != file.read():
            raise ValueError(
                f"{path} is a damaged checkpoint: it was cut off or changed after it was written."
            )
        file.seek(start)
        version = line[len(MAGIC) :].decode().strip()
        check_version(version, str(path))
        return _unpickled(file, version, path)


def _unpickled(file: BinaryIO, version: str, path: object) -> Any:
    try:
        return pickle.load(file)
    except (AttributeError, ImportError) as error:
        raise ValueError(
            f"{path} was written by skcooc {version}, and cannot be read by {__version__}: {error}."
        ) from error


def _digest(file: BinaryIO, end: int) -> bytes:
    """The checksum of a file up to there, which is where it is left."""
    digest = hashlib.sha256()
    file.seek(0)
    while file.tell() < end:
        digest.update(file.read(min(CHUNK, end - file.tell())))
    return digest.digest()


def _kind(line: bytes) -> str:
    """What a file seems to be that begins so."""
    known = (kind for start, kind in KINDS.items() if line.startswith(start))
    return next(known, f"a file that begins with {line[:20]!r}" if line else "an empty file")
