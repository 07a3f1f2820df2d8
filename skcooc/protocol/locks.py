"""Paths that one writer has at a time, and locks that a forked process finds free."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EAGAIN, EINVAL, EISDIR, ENOLCK, ENOSYS, ENOTSUP
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, Any

from skcooc.protocol import warn

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        file.seek(0)  # bytes from there are locked, and a file to append to begins at its end
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, HEADER)
        except PermissionError as error:
            raise BlockingIOError from error

    def _unlock(file: IO[str]) -> None:
        """Close a file, which cannot be removed while it is open; Windows may unlock it late."""
        file.seek(0)
        with suppress(OSError):  # where file systems have no locks
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, HEADER)
        file.close()
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


WITHOUT_LOCKS = ENOLCK, ENOSYS, ENOTSUP  # errors of file systems
HEADER = 1  # bytes that Windows locks, which others cannot read
HELD: set[IO[str]] = set()  # files of locks


@contextmanager
def exclusive(path: Path) -> Iterator[Path]:
    """A path next to ``path`` for unfinished parts; only one writer at a time has it.

    What a killed writer left there is removed. BlockingIOError, with process and time, while
    another writer is at work; the system frees the lock of a process that ends, however it does.
    """
    lock, partial = (path.with_name(f".{path.name}.skcooc-{part}") for part in ("lock", "partial"))
    file = _open_locked(lock, path)
    HELD.add(file)
    try:
        file.truncate(0)
        file.write(f" {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        file.flush()
        remove(partial)
        try:
            yield partial
        finally:
            remove(partial)
    finally:
        if file in HELD:
            HELD.remove(file)
            if sys.platform == "win32":
                _unlock(file)
            with suppress(FileNotFoundError, PermissionError):
                lock.unlink()
            file.close()


def _open_locked(lock: Path, path: Path) -> IO[str]:
    while True:
        file = lock.open("a+", encoding="utf-8")
        try:
            _lock(file)
        except OSError as error:
            if error.errno in WITHOUT_LOCKS:
                warn(f"{path} cannot be locked ({error.strerror}): give it to one fit at a time.")
                return file
            file.seek(HEADER)
            writer = file.read()
            file.close()
            raise BlockingIOError(
                EAGAIN,
                f"is being written by process {writer}: wait for it, or give another path",
                str(path),
            ) from error
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                return file
        file.close()  # its writer has just removed it


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise OSError if a path is a folder, a pipe or links in a circle."""
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not S_ISREG(mode):
            raise OSError(EISDIR if S_ISDIR(mode) else EINVAL, "not a regular file", str(path))


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def free_in_forks(lock: Any) -> None:
    """Let a fork wait for a lock, so that the child does not inherit it locked."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


def _leave_to_parent() -> None:
    """Close the files of locks in a child, which would outlive its parent with them."""
    while HELD:
        HELD.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
