"""Checkpoints of which bits are flipped, and writers that meet."""

import os
import time
from pathlib import Path

import numpy as np

from skcooc.callbacks import read_checkpoint, write_checkpoint
from tests.faults.killing import child
from tests.faults.kinds import outcome


def flips(path: Path, rng: np.random.Generator, n_flips: int) -> int:
    """Flip single random bits of a checkpoint; returns how many flips were detected."""
    whole, found_out = path.read_bytes(), 0
    for place in rng.integers(8 * len(whole), size=n_flips):
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            read_checkpoint(path)
        except ValueError:
            found_out += 1
    path.write_bytes(whole)
    return found_out


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
        try:
            write_checkpoint(path, model)
        except OSError:
            continue
    os._exit(0)


def without_room(path: Path, model: object, limit: int) -> str:
    """Write a checkpoint in a process with a limit on file sizes; returns its error."""

    def write() -> str:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            write_checkpoint(path, model)
        except OSError as error:
            return error.strerror
        return "written"

    return child(write)
