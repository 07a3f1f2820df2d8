"""Settings and fixtures of all tests."""

import gc
import os

import pytest

# The cores are for the workers: threads of BLAS would contend for them. Before NumPy is imported.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_configure(config):
    """Most fits of tests are too short to converge."""
    config.addinivalue_line("filterwarnings", "ignore:EM did not converge")
    config.addinivalue_line("filterwarnings", "ignore:All .* components")


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
    for name in ("SETTLING_ITERATIONS", "TRIAL_ITERATIONS", "DIVISION_ITERATIONS", "MAX_SWAPS"):
        monkeypatch.setattr(f"skcooc.starts.swaps.{name}", 1)


@pytest.fixture
def starts_of_all_tables(monkeypatch):
    """Co-clusters begin as in tables that are not in memory, where there is no search."""
    from skcooc.starts.clusters import cocluster_start

    monkeypatch.setattr("skcooc.estimators.symmetric.search_start", cocluster_start)
