"""Where results go: looked at before the long work, changed when all of them are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EINVAL, ENOTDIR
from pathlib import Path
from tempfile import TemporaryDirectory

from skcooc.cli.arguments import Options
from skcooc.cli.table import InputError


def check(path: Path, options: Options) -> None:
    """OSError where a file cannot be written here; InputError where it should not be."""
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "not a file that can be replaced", str(path))
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, os.strerror(EACCES), str(parent))
    for source in (options.data, options.row_names, options.column_names):
        if source is not None:
            _check_apart(path, source)


def _check_apart(path: Path, source: Path) -> None:
    """Results are not written over what was read, nor where they would be read the next time."""
    if path.resolve() == source.resolve():
        raise InputError(f"{path}: it is read, and would be written over")
    if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{path}: in {source}, where it would be one of the texts the next time")


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """A hidden folder in this one, whose files go there when all are written, or none of them.

    The folder is made where there is none, and is gone again where writing failed.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", suffix=".skcooc-partial", dir=folder) as partial:
            yield Path(partial)
            for file in sorted(Path(partial).iterdir()):
                os.replace(file, folder / file.name)
    except BaseException:
        for place in made:
            if place.exists() and not any(place.iterdir()):
                place.rmdir()
        raise
