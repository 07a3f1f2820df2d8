import os

import pytest

from skcooc.cli import main
from tests.cli.odd import FITTED, JUNK, LINES, READ, REFUSED
from tests.inspection.pages import read_payload
from tests.tables import refused

CHEAP = ["-k", "2", "--beta", ".9", "--max-iter", "2", "--jobs", "1"]
RESULTS = {"components.csv", "embedding.csv", "summary.json", "model.joblib", "page.html"}


class Enough(Exception):
    """The table has been read; its shape, in words."""


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write files one by one, each in a folder of its own; their folder, arguments, expectation."""

    def files(cases):
        for number, (expected, name, given) in enumerate(
            (expected, *item) for expected, some in cases.items() for item in some.items()
        ):
            place = tmp_path / str(number)
            for folder in ("in", "cwd"):
                (place / folder).mkdir(parents=True)
            monkeypatch.chdir(place / "cwd")
            content, *more = given if isinstance(given, tuple) else (given,)
            path, out = place / "in" / name, place / "new" / "out"
            if callable(content):
                content(path)
            else:
                path.write_bytes(content)
            to = ["-o", out, "--html", out / "page.html", "--", path]
            yield place, list(map(str, [*CHEAP, *more, *to])), expected

    return files


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes() if file.is_file() else None
        for file in folder.rglob("*")
    }


def ended(arguments):
    try:
        return main(arguments)
    except SystemExit as exit:  # of argparse
        return exit.code


@pytest.mark.filterwarnings("error")  # a warning is a line on stderr, too
@pytest.mark.parametrize("cases", [REFUSED, JUNK], ids=["odd", "junk"])
def test_is_refused_in_one_line_and_no_other_file_is_changed(cases, put, capsys):
    for place, arguments, expected in put(cases):
        before = contents(place)
        code = ended(arguments)
        out, err = capsys.readouterr()
        assert (code, out) == (1 if "memory" in expected else 2, ""), arguments[-1]
        assert err.startswith("skcooc: error: ")
        assert expected in err
        assert err.count("\n") == 1
        assert len(err) < 1200
        assert "\x1b" not in err
        assert contents(place) == before


@pytest.mark.filterwarnings("error")
def test_is_read(put, capsys, monkeypatch):
    def shape(table, *_):
        (n, m), (rows, columns) = table.X.shape, table.kinds
        raise Enough(f"{n} {rows}, {m} {columns}".replace("\x1b", "\\x1b"))

    monkeypatch.setattr("skcooc.cli.make_model", shape)
    for place, arguments, expected in put(READ):
        before = contents(place)
        refused(f"^{expected}", main, arguments, error=Enough)
        assert (capsys.readouterr(), contents(place)) == (("", ""), before), arguments[-1]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_is_fitted_and_written(put, capsys):
    for place, arguments, expected in put(FITTED):
        before = contents(place)
        code = ended(arguments)
        out, err = capsys.readouterr()
        assert (code, err) == (0, ""), arguments[-1]
        assert expected in out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert max(map(len, out.splitlines())) <= 200 + len(str(place))
        after = contents(place)
        new = {file for file in after if file not in before and after[file] is not None}
        divided = {
            f"shares_by_{what}.csv" for what in ("group", "time") if f"--{what}" in arguments
        }
        assert new == {f"new/out/{file}" for file in RESULTS | divided}
        assert {file: after[file] for file in before} == before
        page = after["new/out/page.html"].decode()
        assert page.count("<script") == 2  # the data and the page's own
        assert read_payload(page)["topics"]


def test_what_comes_through_a_pipe(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    read, write = os.pipe()
    os.write(write, b"a\0b\n")
    os.close(write)
    assert ended([f"/dev/fd/{read}", "-o", "out"]) == 2
    os.close(read)
    told = f"skcooc: error: /dev/fd/{read}: not a text file: it contains null characters\n"
    assert (capsys.readouterr(), contents(tmp_path)) == (("", told), {})


def test_texts_through_a_pipe_are_read_once(tmp_path, capsys):
    read, write = os.pipe()
    os.write(write, LINES)
    os.close(write)
    assert ended([f"/dev/fd/{read}", *CHEAP, "-o", str(tmp_path / "out")]) == 0
    os.close(read)
    assert "30 documents, 15 words" in capsys.readouterr().out
