"""What a fit lacks: memory, a folder, a process; checkpoints that are damaged."""

import contextlib
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone

from skcooc import AspectModel
from skcooc.callbacks import read_checkpoint, write_checkpoint
from tests.faults.killing import ASPECTS, X, child, fitted, outcome
from tests.watching import At

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


def without_cache() -> str:
    """Fit where numba finds no folder to write; what went wrong, if anything."""
    program = (
        "import tempfile\n"
        "def refused(*arguments, **options):\n"
        "    raise OSError(30, 'Read-only file system')\n"
        "tempfile.TemporaryFile = refused\n"
        "import skcooc\n"
        "skcooc.AspectModel(2, beta=0.9, random_state=0).fit([[3, 1], [1, 3]])\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False).stderr


def after_threads(n_children: int) -> list[str | None]:
    """Outcomes of fits in processes forked from one that has fitted with threads."""
    fitted(clone(ASPECTS).set_params(n_jobs=2))
    return [child(lambda: outcome(fitted(clone(ASPECTS))), 60.0) for _ in range(n_children)]


def side_by_side(n_threads: int) -> list[str]:
    models = [clone(ASPECTS).set_params(n_jobs=1 + number % 2) for number in range(n_threads)]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(lambda model: outcome(fitted(model)), models))


def dead_workers(n_fits: int) -> int:
    """Fit a dask array on two workers, kill one; returns how many fits are unaffected."""
    import dask.array as da
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        table = da.from_array(X.toarray(), chunks=(40, -1))
        model = clone(ASPECTS).set_params(max_iter=20, tol=0)
        expected, n_same = outcome(_brought(fitted(model, table))), 0
        for number in range(n_fits):
            client.wait_for_workers(2, timeout=300)
            victims = sorted(client.run(os.getpid).values())
            killer = At(2 + number, partial(os.kill, victims[number % 2], signal.SIGKILL))
            disturbed = clone(model).set_callbacks(killer)
            n_same += outcome(_brought(fitted(disturbed, table))) == expected
            assert killer.n_calls <= 0
        return n_same


def _brought(model: object) -> object:
    return pickle.loads(pickle.dumps(model.set_callbacks()))


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
