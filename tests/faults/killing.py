"""Child processes that are killed at random moments, and made again until they end."""

import itertools
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from tests.faults.kinds import KINDS, fitted, outcome, run_again

PARTIAL = ".model.skcooc-partial"
SHARE = 0.6  # of the time of an undisturbed fit: the longest that a process lives


class Whole(NamedTuple):
    """An undisturbed fit."""

    kind: str
    outcome: str
    seconds: float


def undisturbed(kind: str) -> Whole:
    """Fit once to compile, and once with checkpoints to measure the time."""
    expected = outcome(fitted(clone(KINDS[kind])))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        assert outcome(run_again(kind, Path(folder) / "model")) == expected
        return Whole(kind, expected, time.perf_counter() - began)


def chain(whole: Whole, rng: np.random.Generator, most: int) -> int:
    """Kill a fit repeatedly until it ends; returns the number of kills, ``most`` at most."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for n_kills in itertools.count():
            delay = np.inf if n_kills == most else rng.uniform(0, SHARE * whole.seconds)
            found = child(lambda: outcome(run_again(whole.kind, path)), delay)
            left = set(os.listdir(folder))
            if found is not None:
                assert found == whole.outcome, f"{whole.kind}: another result"
                assert left <= {"model"}, left
                return n_kills
            assert left <= {"model", PARTIAL}, left


def child(function, delay: float = np.inf) -> str | None:
    """What function() returns in a forked process; None where that was killed after so long.

    An error there is raised here.
    """
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        _answer(function, write)
    os.close(write)
    deadline = time.monotonic() + delay
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    _, status = os.waitpid(pid, 0)
    with open(read, encoding="utf-8") as pipe:
        answer = pipe.read()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    assert status == 0, f"exit status {status}: {answer}"
    return answer


def _answer(function, write: int) -> None:
    """Write the result of a function to a pipe, and end the process in any case."""
    try:
        os.write(write, function().encode())
        os._exit(0)
    except BaseException as error:
        os.write(write, repr(error).encode())
    finally:
        os._exit(1)
