"""Settings and fixtures of all tests."""

import gc
import os
import zlib

import pytest

# The cores are for the workers: threads of BLAS would contend for them. Before NumPy is imported.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_configure(config):
    """Most fits of tests are too short to converge."""
    config.addinivalue_line("filterwarnings", "ignore:EM did not converge")
    config.addinivalue_line("filterwarnings", "ignore:All .* components")


def pytest_collection_modifyitems(items):
    """Skip the example of checkpoints where scikit-learn has no callbacks."""
    from tests.data import requires_callbacks  # imports NumPy

    for item in items:
        if item.name == "skcooc.callbacks.Checkpoint":
            item.add_marker(requires_callbacks)


def pytest_collection_finish():
    """Exclude what has been imported from garbage collection."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def compile_once(tmp_path_factory):
    """Where one worker of xdist compiles a loop, the others wait, and load it from the disk."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    import fcntl

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder, compile_loop = tmp_path_factory.getbasetemp().parent, Dispatcher.compile

    def wait_and_compile(loop, signature):
        name = f"{loop.py_func.__module__}.{loop.py_func.__qualname__} {signature}"
        if not name.startswith("skcooc."):
            return compile_loop(loop, signature)
        with global_compiler_lock, open(folder / f"{zlib.crc32(name.encode())}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_loop(loop, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", wait_and_compile)
        yield


@pytest.fixture(scope="module")
def few_starts():
    """Initialise clusters with the better of two short runs: for tests of what comes after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skcooc.equations.memberships.MIN_RUNS", 2)
        patch.setattr("skcooc.equations.memberships.MAX_RUNS", 2)
        yield


@pytest.fixture
def short_starts(monkeypatch):
    """Initialise with a few iterations, for tests of what comes after."""
    twos = ("START_ITERATIONS", "FIRST_ITERATIONS", "MIN_RUNS", "MAX_RUNS", "POWER_ITERATIONS")
    for name, value in {**dict.fromkeys(twos, 2), "ONLY_ITERATIONS": 1, "ROUNDS": (2,)}.items():
        monkeypatch.setattr(f"skcooc.equations.memberships.{name}", value)
    monkeypatch.setattr("skcooc.equations.aspects.START_ITERATIONS", 2)
