"""Standard output and error that are closed, full or gone: results are written all the same."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import skcooc
from skcooc.cli import main
from tests.cli.conftest import FAST

ROOT = Path(skcooc.__file__).parents[1]
COMMAND = [sys.executable, "-m", "skcooc"]
RESULTS = {"components.csv", "embedding.csv", "summary.json", "model.joblib"}
FULL = Path("/dev/full")
NO_SPACE = b"skcooc: error: stdout: No space left on device\n"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix shell")
has_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


@pytest.fixture
def started(npz, tmp_path):
    """Start the command in the folder of the test, with streams as for Popen."""

    def start(command, **streams):
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        env = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error::ResourceWarning"}
        return subprocess.Popen(command, cwd=tmp_path, env=env, **streams)

    return start


@pytest.fixture
def fit(npz):
    """A command that writes everything."""
    options = ["--beta", ".9", "-o", "out", "--html", "page.html"]
    return [*COMMAND, str(npz), *FAST, *options]


@pytest.fixture
def all_is_written(tmp_path):
    def check(compared=False):
        assert {*os.listdir(tmp_path)} == {"counts.npz", "out", "page.html"}
        assert {*os.listdir(tmp_path / "out")} == RESULTS
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())
        assert ("comparison" in summary) == compared
        assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")

    return check


def ended(process):
    """The exit code, and what came through pipes."""
    out, err = process.communicate()
    return process.returncode, out, err


def without_reader(command, started):
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    return process.wait(), err


def test_the_reader_goes_away(started, fit, all_is_written):
    assert without_reader([*fit, "--compare"], started) == (141, b"")
    all_is_written(compared=True)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_are_closed(started, fit, all_is_written, closed):
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *fit]
    code, out, err = ended(started(shell, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    assert (code, err) == (0, b"")
    assert (b"Written to out" in out) == (closed == "2>&-")
    all_is_written()


@has_full
def test_the_disk_behind_stdout_is_full(started, fit, all_is_written):
    with FULL.open("wb") as full:
        process = started(fit, stdout=full, stderr=subprocess.PIPE)
        assert ended(process) == (1, None, NO_SPACE)
    all_is_written()


@has_full
def test_an_error_keeps_its_exit_code_where_it_cannot_be_told(started):
    with FULL.open("wb") as full:
        process = started([*COMMAND, "nothing.npz"], stdout=subprocess.PIPE, stderr=full)
        assert ended(process) == (2, b"", None)


def test_nobody_reads_the_version(started):
    assert without_reader([*COMMAND, "--version"], started) == (141, b"")


def test_the_terminal_goes_away_during_the_fit(started, fit, all_is_written):
    """Progress cannot be shown any more, but the process has not ended with its terminal."""
    terminal, slave = pty.openpty()
    process = started(fit, stdout=subprocess.PIPE, stderr=slave, start_new_session=True)
    os.close(slave)
    assert os.read(terminal, 1)  # of the first step
    os.close(terminal)
    code, out, _ = ended(process)
    assert code == 0
    assert b"Written to out" in out
    all_is_written()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_comparison_that_fails_loses_no_files(
    error, npz, tmp_path, monkeypatch, capsys, all_is_written
):
    def fail(*_):
        raise error

    monkeypatch.setattr("skcooc.cli.compare", fail)
    monkeypatch.chdir(tmp_path)
    arguments = [str(npz), "--beta", ".9", "-o", "out", "--html", "page.html", "--compare"]
    assert main([*FAST, *arguments]) == (130 if error is KeyboardInterrupt else 1)
    out, err = capsys.readouterr()
    assert "Written to out" in out
    expected = "interrupted" if error is KeyboardInterrupt else "not enough memory: the table or"
    assert err.startswith(f"skcooc: error: {expected}")
    all_is_written()


def test_a_comparison_that_nobody_sees_is_not_made(npz, monkeypatch):
    monkeypatch.setattr("skcooc.cli.compare", None)  # it is not called
    monkeypatch.setattr(sys, "stdout", None)
    assert main([*FAST, str(npz), "--beta", ".9", "--compare"]) == 0
