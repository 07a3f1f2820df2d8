"""What is shown while there is work: on a terminal alone, and on stderr."""

import io
import re
import sys

import pytest

from skcooc.cli import main
from tests.cli.conftest import FAST, written


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch, capsys):
    """Run with a terminal as stderr; what is shown there, and what is printed."""

    def run(*arguments):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert main([*FAST, "--beta", ".9", *map(str, arguments)]) == 0
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
        return text, capsys.readouterr().out

    return run


STEPS = (
    "counting words", "compiling", "topic-free baseline", "EM at beta = 1, until convergence",
    "EM at beta = 0.9", "LDA of scikit-learn", "final fit to all data, beta = 0.9", "report",
    "writing", "page",
)  # fmt: skip


@pytest.mark.parametrize("rich", [True, False])
def test_every_step_is_shown(shown, texts, tmp_path, monkeypatch, rich):
    if rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr("skcooc.cli.terminal.find_spec", lambda name: None)
    text, out = shown(texts, "-o", tmp_path / "out", "--html", tmp_path / "page.html")
    places = [text.find(step) for step in STEPS]
    assert -1 not in places
    assert places == sorted(places)
    assert ("100%" in text) == rich
    assert "compiling\n" not in out


@pytest.mark.parametrize("is_folder", [True, False])
def test_names_are_no_commands(shown, documents, tmp_path, is_folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    folder = tmp_path / "[bold]a[" / "]\x1b[2J"  # markup that ends nowhere, and a clear screen
    folder.mkdir(parents=True)
    for i, text in enumerate(documents):
        (folder / f"{i}.txt").write_text(text)
    pairs = [(i % 8, i % 5) for i in range(160)]
    table = written(tmp_path / "[bold]a[" / "]\x1b[2J.csv", ("user", "item"), pairs)
    text, _ = shown(folder if is_folder else table, "--skip-lda")
    assert "[bold]a[/]\\x1b[2J" in text.replace("\n", "")


def test_nothing_is_shown_if_not_wanted(shown, texts):
    assert shown(texts, "--skip-lda", "--no-progress")[0] == ""
