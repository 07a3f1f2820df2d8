import csv
import errno
import io
import os
import re
import signal
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from skcooc.cli import main
from skcooc.cli.terminal import printable
from tests.cli.conftest import FAST, written
from tests.cli.odd import DOCUMENTS
from tests.faults.killing import child

CHEAP = [*FAST, "--beta", ".9"]


@pytest.fixture
def failed(error):
    """Run where the output cannot be written; the one line that is said of it."""
    return lambda *arguments: error("--beta", ".9", *arguments, code=1)


def everything(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_what_is_read_is_not_written_over(error, npz, tmp_path):
    names, rows, link = (tmp_path / name for name in ("components.csv", "rows", "link.npz"))
    names.write_text("\n".join(f"a{j}: column {j}" for j in range(3)) + 18 * "\n")
    rows.write_text("\n".join(map(str, range(30))))
    link.symlink_to(npz)
    before = everything(tmp_path)
    for options in (
        ("--html", link),
        ("-o", tmp_path, "--column-names", names),
        ("-o", tmp_path, "--column-names", names, "--row-names", rows),
        ("-o", tmp_path, "--seeds", names),
    ):
        assert "this is an input file, which would be overwritten" in error(npz, *options)
        assert everything(tmp_path) == before


def test_results_are_no_texts_of_the_next_time(error, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, text in enumerate(DOCUMENTS):
        (folder / f"{i}.txt").write_text(text)
    for arguments in (["-o", folder], ["--html", folder / "new" / "page.html"]):
        assert "whose files are all read as texts" in error(folder, *arguments)
    assert len(list(folder.iterdir())) == 30


def test_what_cannot_be_written_shows_before_the_work(failed, npz, tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.cli.fit_report", None)  # it is not called
    (tmp_path / "summary.json").mkdir()
    assert "summary.json: not a regular file" in failed(npz, "-o", tmp_path)
    assert "not a regular file" in failed(npz, "--html", tmp_path)
    (tmp_path / "file").write_text("")
    assert failed(npz, "-o", tmp_path / "file")
    assert "/dev/null: not a regular file" in failed(npz, "--html", "/dev/null")
    assert "Not a directory" in failed(npz, "-o", npz / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root may write everywhere
    assert "Permission denied" in failed(npz, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_all_is_written_or_nothing(failed, run, npz, tmp_path, monkeypatch):
    arguments = npz, "-o", tmp_path / "a" / "out", "--html", tmp_path / "b" / "page.html"
    run("--beta", ".9", *arguments)
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


def test_one_output_that_fails_does_not_stop_the_others(npz, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    options = ["-o", str(tmp_path / "out"), "--html", str(tmp_path / "page.html"), "--compare"]
    monkeypatch.setattr("joblib.dump", full)
    assert main([*CHEAP, str(npz), *options]) == 1
    out, err = capsys.readouterr()
    assert err == "skcooc: error: output: No space left on device\n"
    assert "Nearest rows" in out
    assert "Test perplexity, 3 components" in out
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not (tmp_path / "out").exists()


def test_outputs_do_not_replace_each_other(error, npz, tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.cli.fit_report", None)  # it is not called
    out = tmp_path / "out"
    (tmp_path / "link").symlink_to("out")
    for page in (out, out / "summary.json", out / "model.joblib" / "page.html", tmp_path / "link"):
        message = error(npz, "-o", out, "--html", page)
        assert f"--html {page} would overwrite a file that --output writes" in message
    assert "would overwrite" in error(npz, "-o", out / "more", "--html", out)
    assert not out.exists()


def test_places_are_tried_before_the_work(failed, npz, tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.cli.fit_report", None)  # it is not called
    long = 300 * "a"
    (tmp_path / "link").symlink_to("nowhere")
    for options in (
        ("-o", tmp_path / "new" / long), ("--html", tmp_path / "new" / f"{long}.html"),
        ("-o", tmp_path / "link"),
    ):  # fmt: skip
        failed(npz, *options)
        assert {*os.listdir(tmp_path)} == {"counts.npz", "link"}


@pytest.mark.parametrize("option", ["-o", "--html", "--seeds", "--row-names", "--column-names"])
def test_an_empty_path_is_not_the_current_folder(option, npz, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in ([str(npz), option, ""], [""]):
        with pytest.raises(SystemExit) as exit:
            main([*CHEAP, *arguments])
        out, err = capsys.readouterr()
        assert (exit.value.code, out) == (2, "")
        assert "the path is empty" in err
        assert err.count("\n") == 1
    assert os.listdir(tmp_path) == ["counts.npz"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_what_a_killed_run_left_is_removed_by_the_next(run, npz, tmp_path, monkeypatch):
    arguments = npz, "--beta", ".9", "-o", tmp_path / "out", "--html", tmp_path / "out" / "a.html"
    run(*arguments)
    names = {*os.listdir(tmp_path / "out")}
    for place in ("joblib.dump", "skcooc.inspection.explorer.page.Explorer.save"):
        with monkeypatch.context() as patch:
            patch.setattr(place, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            assert child(lambda: main([*FAST, *map(str, arguments)])) is None
        assert {*os.listdir(tmp_path / "out")} > names
    run(*arguments)
    assert {*os.listdir(tmp_path / "out")} == names


def test_names_are_written_as_they_are(run, tmp_path):
    marks = [f"{'=+-@'[i % 4]}{i}" for i in range(len(DOCUMENTS))]
    records = [(mark, text, mark[0]) for mark, text in zip(marks, DOCUMENTS, strict=True)]
    path = written(tmp_path / "a.csv", ("id", "text", "desk"), records)
    run(path, "--beta", ".9", "-o", tmp_path, "--group", "desk")
    found = {}
    for name in ("embedding", "shares_by_group"):
        with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            found[name] = [line[0] for line in csv.reader(file)][1:]
    assert found == {"embedding": marks, "shares_by_group": sorted([*"=+-@"] * 3)}
    run(path, "--beta", ".9", "-o", tmp_path)
    assert not (tmp_path / "shares_by_group.csv").exists()  # it was of the other model


def test_a_link_to_a_page_stays_one_and_output_fits_its_encoding(run, npz, tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link.html").symlink_to("page.html")
    run(npz, "--beta", ".9", "--html", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "a.txt").write_text("\n".join(DOCUMENTS).replace("cat", "кот"), encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert main([*CHEAP, str(tmp_path / "a.txt")]) == 0
    assert rb"\u043a\u043e\u0442" in out.buffer.getvalue()


def test_bad_input_is_one_line(error, npz, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "--html: explore needs Jinja2" in error(npz, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    message = error(npz, "--model", "asymmetric", "--nearest", "1")
    assert "--nearest needs a topic model" in message
    exhausted = Mock(side_effect=MemoryError("Unable to allocate 7.28 TiB"))
    monkeypatch.setattr("skcooc.cli.fit_report", exhausted)
    assert main([str(npz)]) == 1
    expected = "skcooc: error: not enough memory: Unable to allocate 7.28 TiB\n"
    assert capsys.readouterr().err == expected
    exhausted.side_effect = MemoryError()
    assert main([str(npz)]) == 1
    expected = "skcooc: error: not enough memory: the table or the model is too large\n"
    assert capsys.readouterr().err == expected
    assert printable("\u202eabc\x9b\n") == "\\u202eabc\\x9b\\n"
    names = "a.csv", "a.npz", "a.parquet", "a.txt", "a.json"
    for name in names:
        (tmp_path / name).write_text("a,b\n1,2\n")

    forbidden = Mock(side_effect=PermissionError(errno.EACCES, "Permission denied"))
    for method in ("open", "read_bytes"):
        monkeypatch.setattr(Path, method, forbidden)
    for name in names:
        assert f"{name}: Permission denied" in error(tmp_path / name)


def test_wrong_arguments(capsys):
    for arguments in (
        "--components 0", "--components three", "--beta 0", "--beta 1.5", "--beta cold",
        "--test-size 0", "--test-size 0.6", "--min-df -1", "--max-df 1.5", "--seed -1",
        "--jobs 0", "--model oracle", "--unknown", "one two", "--test-size 0.2", "--skip-lda",
        "--compare --batch a", "--seeds a --model symmetric", "--batch a --model abstraction",
    ):  # fmt: skip
        with pytest.raises(SystemExit) as exit:
            main(arguments.split())
        out, err = capsys.readouterr()
        assert (exit.value.code, out) == (2, "")
        assert err.startswith("skcooc: error: ")
        assert err.count("\n") == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch, capsys):
    def run(*arguments):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert main([*FAST, "--beta", ".9", *map(str, arguments)]) == 0
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
        return text, capsys.readouterr().out

    return run


STEPS = (
    "counting words", "fitting the model to all data", "writing", "page", "report",
    "topic-free baseline", "EM at beta = 1, until convergence", "EM at beta = 0.9",
    "LDA of scikit-learn",
)  # fmt: skip


@pytest.mark.parametrize("rich", [True, False])
def test_every_step_is_shown(shown, texts, tmp_path, monkeypatch, rich):
    if rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr("skcooc.cli.terminal.find_spec", lambda name: None)
    to = "-o", tmp_path / "out", "--html", tmp_path / "page.html"
    text, out = shown(texts, "--compare", *to)
    places = [text.find(step) for step in STEPS]
    assert -1 not in places
    assert places == sorted(places)
    assert ("100%" in text) == rich
    assert "fitting the model" not in out


@pytest.mark.parametrize("is_folder", [True, False])
def test_names_are_no_commands(shown, tmp_path, is_folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    folder = tmp_path / "[bold]a[" / "]\x1b[2J"  # markup that ends nowhere, and a clear screen
    folder.mkdir(parents=True)
    for i, text in enumerate(DOCUMENTS):
        (folder / f"{i}.txt").write_text(text)
    pairs = [(i % 8, i % 5) for i in range(160)]
    table = written(tmp_path / "[bold]a[" / "]\x1b[2J.csv", ("user", "item"), pairs)
    text, _ = shown(folder if is_folder else table)
    assert "[bold]a[/]\\x1b[2J" in text.replace("\n", "")


def test_nothing_is_shown_if_not_wanted(shown, texts):
    assert shown(texts, "--no-progress")[0] == ""
