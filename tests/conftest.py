"""Settings and fixtures of all tests."""

import gc
import os
import zlib
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

# The cores are for the workers: threads of BLAS would contend for them. Before NumPy is imported.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_configure(config):
    """Most fits of tests are too short to converge."""
    config.addinivalue_line("filterwarnings", "ignore:EM did not converge")
    config.addinivalue_line("filterwarnings", "ignore:All .* components")
    if "PYTEST_XDIST_WORKER" in os.environ and find_spec("fcntl"):  # not on Windows
        config.pluginmanager.register(CompileOnce(Path(config.option.basetemp).parent))


class CompileOnce:
    """Where a worker compiles a loop or a test file, others wait, and load it from the disk."""

    def __init__(self, folder):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.dispatcher import Dispatcher

        self.folder, compile_loop = folder, Dispatcher.compile

        def wait_and_compile(loop, signature):
            name = f"{loop.py_func.__module__}.{loop.py_func.__qualname__} {signature}"
            if not name.startswith("skcooc."):
                return compile_loop(loop, signature)
            with global_compiler_lock, self.locked(name):
                return compile_loop(loop, signature)

        Dispatcher.compile = wait_and_compile

    @contextmanager
    def locked(self, name):
        import fcntl

        with open(self.folder / f"{zlib.crc32(name.encode())}.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        if not isinstance(collector, pytest.Module):
            return (yield)
        with self.locked(collector.nodeid):
            return (yield)


def pytest_collection_modifyitems(items):
    """Examples warn of nothing; that of checkpoints is skipped without scikit-learn's callbacks."""
    from tests.data import requires_callbacks  # imports NumPy

    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.filterwarnings("error::UserWarning"))
        if item.name == "skcooc.callbacks.Checkpoint":
            item.add_marker(requires_callbacks)


def pytest_collection_finish():
    """Exclude what has been imported from garbage collection, and collect less often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="module")
def few_starts():
    """Initialise clusters with the better of two short runs: for tests of what comes after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skcooc.starts.clusters.MIN_RUNS", 2)
        patch.setattr("skcooc.starts.clusters.MAX_RUNS", 2)
        yield


@pytest.fixture
def short_starts(monkeypatch):
    """Initialise with a few iterations, for tests of what comes after."""
    twos = ("START_ITERATIONS", "FIRST_ITERATIONS", "MIN_RUNS", "MAX_RUNS")
    monkeypatch.setattr("skcooc.equations.memberships.POWER_ITERATIONS", 2)
    for name, value in {**dict.fromkeys(twos, 2), "ONLY_ITERATIONS": 1, "ROUNDS": (2,)}.items():
        monkeypatch.setattr(f"skcooc.starts.clusters.{name}", value)
    monkeypatch.setattr("skcooc.starts.topics.START_ITERATIONS", 2)
