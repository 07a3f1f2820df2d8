"""Fits in child processes that are killed at random moments, and made again until they end."""

import itertools
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import skcooc
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.model_selection import ComponentSearchCV
from tests.tables import planted

KILLS = int(os.environ.get("SKCOOC_KILLS", "3"))  # of each kind of fit
CHAIN = 12  # of one fit, at most
PARTS = {".model.skcooc-lock", ".model.skcooc-partial"}
SHARE = 0.6  # of the time of an undisturbed fit: the longest that a process lives


class Whole(NamedTuple):
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
            assert left <= {"model", *PARTS}, left


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


X = planted(n_tokens=4000).X.astype(float)
SHORT = {"max_iter": 30, "tol": 1e-6, "random_state": 0}
ASPECTS = skcooc.AspectModel(3, beta=0.9, **SHORT | {"max_iter": 6})

KINDS = {
    "beta given": skcooc.AspectModel(3, beta=0.9, n_init=3, **SHORT),
    "beta searched": skcooc.AspectModel(3, **SHORT),
    "left out": skcooc.AspectModel(20, leave_one_out="auto", n_init=2, **SHORT | {"max_iter": 8}),
    "clusters": skcooc.AsymmetricClustering(4, annealing=1.2, beta=0.3, **SHORT),
    "grown tree": skcooc.ClusterAbstraction(5, tree="grown", **SHORT | {"max_iter": 8}),
    "annealed tree": skcooc.ClusterAbstraction(4, tree="annealed", **SHORT | {"max_iter": 8}),
    "average": skcooc.AveragedModels(
        skcooc.AspectModel(3, max_iter=8), 3, n_jobs=2, random_state=0
    ),
    "components": ComponentSearchCV(clone(ASPECTS), [2, 3, 4], cv=2, n_runs=1, random_state=0),
    "mean": skcooc.InterpolatedModels(
        [("aspects", clone(ASPECTS)), ("two", skcooc.AspectModel(2, **SHORT))], random_state=0
    ),
    "memory": skcooc.RowMemory(clone(ASPECTS), random_state=0),
}
QUICK = ["beta searched", "grown tree", "average"]


def run_again(kind: str, path: Path, **options: object) -> object:
    """A program that resumes from its checkpoint whenever it is run again."""
    model = read_checkpoint(path) if path.exists() else clone(KINDS[kind])
    if "warm_start" in model.get_params(deep=False):
        model.set_params(warm_start=path.exists())
    return fitted(model.set_callbacks(Checkpoint(path, **{"every": 2} | options)))


def fitted(model: object, table: object = X) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The held-out perplexity is still falling")
        return model.fit(table)


def outcome(model: object) -> str:
    """A digest of all fitted attributes except times."""
    return joblib.hash(_plain(found_by(model)))


def found_by(model: object) -> dict[str, object]:
    parts = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: value for name, value in parts.items() if "time" not in name}


def _plain(value: object) -> object:
    if hasattr(value, "get_params"):
        return _plain(found_by(value))
    if hasattr(value, "_asdict"):
        value = {name: part for name, part in value._asdict().items() if name != "seconds"}
    if isinstance(value, dict):
        named = {str(name): part for name, part in value.items() if "time" not in str(name)}
        return [(name, _plain(named[name])) for name in sorted(named)]
    if isinstance(value, list | tuple | np.ma.MaskedArray):
        return [_plain(part) for part in list(value)]
    return None if callable(value) else value
