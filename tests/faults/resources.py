"""What a fit lacks: memory, a folder, a process; checkpoints that are damaged."""

import contextlib
import os
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.base import clone

from skcooc import AspectModel
from skcooc.callbacks import read_checkpoint, write_checkpoint
from tests.faults.killing import ASPECTS, X, child, fitted, outcome

ROOM = 100 * 2**20  # bytes


def without_memory() -> str:
    """Fit more components than memory allows, then a few; returns the outcome."""

    def fit() -> str:
        with open("/proc/self/statm", encoding="ascii") as pages:
            limit = int(pages.read().split()[0]) * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        model = AspectModel(200_000, beta=0.9)
        before = dict(vars(model))
        try:
            model.fit(X)
        except MemoryError:
            assert vars(model) == before
            return outcome(fitted(clone(ASPECTS)))
        return "there was enough"

    return child(fit)


def after_threads(n_children: int) -> list[str | None]:
    """Outcomes of fits in processes forked from one that has fitted with threads."""
    fitted(clone(ASPECTS).set_params(n_jobs=2))
    return [child(lambda: outcome(fitted(clone(ASPECTS))), 60.0) for _ in range(n_children)]


def side_by_side(n_threads: int) -> list[str]:
    models = [clone(ASPECTS).set_params(n_jobs=1 + number % 2) for number in range(n_threads)]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(lambda model: outcome(fitted(model)), models))


def flips(path: Path, rng: np.random.Generator, n_flips: int) -> int:
    """Flip single random bits of a checkpoint; returns how many flips were detected."""
    whole, n_undetected = path.read_bytes(), 0
    for place in rng.integers(8 * len(whole), size=n_flips):
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with contextlib.suppress(ValueError):
            read_checkpoint(path)
            n_undetected += 1
    path.write_bytes(whole)
    return n_flips - n_undetected


def meeting(path: Path, models: list, seconds: float) -> tuple[int, int]:
    """Read a path that two processes write: numbers of reads that were whole and refused."""
    known = {outcome(model) for model in models}
    write_checkpoint(path, models[0])
    pids = [_writer(path, model, seconds) for model in models]
    end, whole, refused = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        try:
            assert outcome(read_checkpoint(path)) in known
            whole += 1
        except (ValueError, FileNotFoundError):
            refused += 1
    for pid in pids:
        os.waitpid(pid, 0)
    return whole, refused


def written(path: Path, model: object) -> object:
    write_checkpoint(path, model)
    return read_checkpoint(path)


def _writer(path: Path, model: object, seconds: float) -> int:
    """Fork a process that writes a checkpoint repeatedly; file errors end a single write."""
    if pid := os.fork():
        return pid
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            write_checkpoint(path, model)
    os._exit(0)


def without_room(path: Path, model: object, limit: int) -> str:
    """Write a checkpoint in a process with a limit on file sizes; returns its error."""

    def write() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            write_checkpoint(path, model)
        except OSError as error:
            return error.strerror
        return "written"

    return child(write)
