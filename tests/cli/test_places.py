"""Where results go, and what is there when something goes wrong."""

import errno
import io
import os
import sys

import pytest

from skcooc.cli import main
from tests.cli.conftest import FAST
from tests.cli.odd.made import DOCUMENTS

CHEAP = [*FAST, "--beta", ".9", "--skip-lda"]


@pytest.fixture
def failed(capsys):
    """Run where the output cannot be written; the one line that is said of it."""

    def said(*arguments):
        assert main([*CHEAP, *map(str, arguments)]) == 1
        err = capsys.readouterr().err
        assert err.startswith("skcooc: error: ")
        assert err.count("\n") == 1
        return err

    return said


def everything(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("option", ["-o", "--html", "--column-names"])
def test_what_is_read_is_not_written_over(error, npz, tmp_path, option):
    names = tmp_path / "components.csv"
    names.write_text("\n".join(f"bin-{j}" for j in range(20)))
    wanted = {"-o": tmp_path, "--html": tmp_path / "link.npz", "--column-names": names}
    (tmp_path / "link.npz").symlink_to(npz)
    before = everything(tmp_path)
    more = ["-o", tmp_path, "--row-names", tmp_path / "rows"] if option == "--column-names" else []
    (tmp_path / "rows").write_text("\n".join(map(str, range(30))))
    if option == "-o":
        more = ["--column-names", names]
    assert "an input file, which would be overwritten" in error(npz, option, wanted[option], *more)
    assert {file: everything(tmp_path)[file] for file in before} == before


def test_results_are_no_texts_of_the_next_time(error, run, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, text in enumerate(DOCUMENTS):
        (folder / f"{i}.txt").write_text(text)
    for arguments in (["-o", folder], ["--html", folder / "new" / "page.html"]):
        assert "whose files are all read as texts" in error(folder, *arguments)
    assert len(list(folder.iterdir())) == 30
    run(folder, "--beta", ".9", "--skip-lda", "-o", tmp_path / "out")


def test_what_cannot_be_written_shows_before_the_work(failed, npz, tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.cli.compare", None)  # it is not called
    (tmp_path / "summary.json").mkdir()
    assert "summary.json: not a regular file" in failed(npz, "-o", tmp_path)
    assert "not a regular file" in failed(npz, "--html", tmp_path)
    assert "/dev/null: not a regular file" in failed(npz, "--html", "/dev/null")
    assert "Not a directory" in failed(npz, "-o", npz / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root may write everywhere
    assert "Permission denied" in failed(npz, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_all_is_written_or_nothing(failed, run, npz, tmp_path, monkeypatch):
    arguments = npz, "-o", tmp_path / "a" / "out", "--html", tmp_path / "b" / "page.html"
    run("--skip-lda", "--beta", ".9", *arguments)
    before = everything(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("joblib.dump", full)
    assert "No space left" in failed(*arguments)
    assert "No space left" in failed(npz, "-o", tmp_path / "new" / "out")
    monkeypatch.undo()
    monkeypatch.setattr("skcooc.inspection.explorer.page.Explorer.save", full)
    assert "No space left" in failed(npz, "--html", tmp_path / "new" / "page.html")
    assert everything(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_a_link_to_a_page_stays_one(run, npz, tmp_path):
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link.html").symlink_to("page.html")
    run(npz, "--skip-lda", "--beta", ".9", "--html", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_the_encoding_of_the_output_lacks_is_written_out(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("\n".join(DOCUMENTS).replace("cat", "кот"), encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert main([*CHEAP, str(tmp_path / "a.txt")]) == 0
    assert rb"\u043a\u043e\u0442" in out.buffer.getvalue()
