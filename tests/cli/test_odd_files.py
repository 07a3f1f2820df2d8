"""Odd and damaged files: each gives a result, or one line that says why it cannot."""

import subprocess
import sys

import pytest

from skcooc.cli import main
from tests.cli.odd import ODD, PARQUET
from tests.cli.odd.contents import JUNK, SUFFIXES
from tests.inspection.pages import read_payload

CHEAP = ["-k", "2", "--beta", ".9", "--max-iter", "2", "--jobs", "1", "--skip-lda"]
RESULTS = {"components.csv", "embedding.csv", "summary.json", "model.joblib", "page.html"}


class Enough(Exception):
    """The table has been read; its shape, in words."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Folders of what is read and of what is written, and one to be in."""
    for name in ("in", "cwd"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes() if file.is_file() else None
        for file in folder.rglob("*")
    }


def put(name, place):
    if name in PARQUET:
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow or polars")
    path = place / "in" / name
    ODD[name].put(path)
    out = place / "new" / "out"
    return [*CHEAP, *ODD[name].arguments, "-o", out, "--html", out / "page.html", "--", path]


def ended(arguments):
    try:
        return main(list(map(str, arguments)))
    except SystemExit as exit:  # of argparse
        return exit.code


def refused(name, place, capsys):
    """Run with a file that is refused: one line on stderr, and no other file is changed."""
    arguments = put(name, place)
    before = contents(place)
    assert ended(arguments) == ODD[name].code
    out, err = capsys.readouterr()
    assert out == ""
    assert ODD[name].expected in err
    assert err.startswith("skcooc: error: ")
    assert err.count("\n") == 1
    assert len(err) < 1200
    assert "\x1b" not in err
    assert contents(place) == before


@pytest.mark.filterwarnings("error")  # a warning is a line on stderr, too
@pytest.mark.parametrize(
    "name", [name for name, odd in ODD.items() if not odd.is_read and name not in JUNK]
)
def test_is_refused_in_one_line(name, place, capsys):
    refused(name, place, capsys)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_junk_of_any_suffix_is_refused(suffix, place, capsys):
    for name in JUNK:
        if name.endswith(f"_as.{suffix}"):
            refused(name, place, capsys)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [n for n, odd in ODD.items() if odd.is_read and not odd.whole])
def test_is_read(name, place, capsys, monkeypatch):
    def shape(table, *_):
        (n, m), (rows, columns) = table.X.shape, table.kinds
        raise Enough(f"{n} {rows}, {m} {columns}".replace("\x1b", "\\x1b"))

    arguments = put(name, place)
    before = contents(place)
    monkeypatch.setattr("skcooc.cli.compare", shape)
    with pytest.raises(Enough) as found:
        main(list(map(str, arguments)))
    assert str(found.value).startswith(ODD[name].expected)
    assert capsys.readouterr() == ("", "")
    assert contents(place) == before


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", [name for name, odd in ODD.items() if odd.whole])
def test_is_fitted_and_written(name, place, capsys):
    arguments = put(name, place)
    before = contents(place)
    assert ended(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert ODD[name].expected in out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert max(map(len, out.splitlines())) <= 200 + len(str(place))
    after = contents(place)
    new = {file for file in after if file not in before and after[file] is not None}
    divided = {f"shares_by_{what}.csv" for what in ("group", "time") if f"--{what}" in arguments}
    assert new == {f"new/out/{file}" for file in RESULTS | divided}
    assert {file: after[file] for file in before} == before
    page = after["new/out/page.html"].decode()
    assert page.count("<script") == 2  # the data and the page's own
    assert read_payload(page)["topics"]


def test_as_a_program(place):
    program = [sys.executable, "-m", "skcooc", "/dev/stdin", "-o", "out"]
    done = subprocess.run(program, input=b"a\0b\n", capture_output=True, timeout=900)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr == b"skcooc: error: /dev/stdin: not a text file: it has null characters\n"
    assert contents(place / "cwd") == {}
