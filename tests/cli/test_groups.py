"""What is told of groups and times, of words left out, and the heading of a page."""

import csv
import re
from importlib import import_module

import joblib
import numpy as np

from tests.cli.conftest import HEADER, written


def sections(report):
    """The paragraphs of a report by their first lines."""
    return {block.split("\n")[0]: block for block in report.split("\n\n")}


def test_the_report_and_a_file_have_the_shares_by_group_and_time(run, articles, tmp_path):
    desks = [(*a[:2], "home" if i % 3 else "sport", a[3]) for i, a in enumerate(articles)]
    path, folder = written(tmp_path / "a.csv", HEADER, desks), tmp_path / "out"
    arguments = ["--skip-lda", "--beta", ".8", "--output", folder, "--group", "category"]
    out = run(path, *arguments, "--time", "date")
    assert any(line.startswith("Shares by group: the 3 largest topics") for line in sections(out))
    assert "  home (documents: 20)" in sections(out)
    assert "  2024-02-05 (documents: 10)" in sections(out)
    model = joblib.load(folder / "model.joblib")[-1]
    header, *lines = csv.reader((folder / "shares_by_group.csv").open(newline=""))
    assert header == ["group", "topic", "share", "low", "high"]
    names = next(csv.reader((folder / "components.csv").open(newline="")))[1:]
    assert [line[:2] for line in lines] == [[g, name] for g in ("home", "sport") for name in names]
    of_home = np.arange(30) % 3 > 0
    rows = model.row_distribution_[of_home, None] * model.embedding_[of_home]
    found = np.array([line[2:] for line in lines], dtype=float)
    np.testing.assert_allclose(found[:3, 0], rows.sum(axis=0) / rows.sum(), rtol=1e-5)
    assert (found[:, 1] <= found[:, 0]).all()
    assert (found[:, 0] <= found[:, 2]).all()
    times = (folder / "shares_by_time.csv").read_text().splitlines()
    assert [times[0][:4], *(line[:10] for line in times[1::3])] == [
        "time", "2024-01-05", "2024-02-05", "2024-03-05"
    ]  # fmt: skip


def test_rows_without_a_label_are_in_no_group(run, error, articles, tmp_path):
    few = [(*a[:2], a[2] if i else " ", "") for i, a in enumerate(articles)]
    path = written(tmp_path / "a.csv", HEADER, few)
    out = run(path, "--skip-lda", "--beta", ".8", "--group", "category")
    assert "  home (documents: 14)" in out
    assert "(documents: 1)" not in out
    assert "no text with words has a value for --time" in error(path, "--time", "date")


def test_of_many_groups_the_largest_are_printed(run, articles, tmp_path):
    many = [(*a[:2], str(max(i, 10)), a[3]) for i, a in enumerate(articles)]
    out = run(
        written(tmp_path / "a.csv", HEADER, many), "--skip-lda", "--beta", ".8",
        "--group", "category",
    )  # fmt: skip
    assert "  10 (documents: 11)\n" in out
    assert "  21 (documents: 1)\n" in out
    assert "      -  " not in out.split("10 (documents")[1].split("11 (documents")[0]
    assert "  -  " in out.split("11 (documents")[1]
    assert "and 8 smaller groups, written with --output" in out


def test_the_heading_of_a_page_is_the_name_of_the_file_or_what_is_given(run, texts, tmp_path):
    page = tmp_path / "topics.html"
    run(texts, "--skip-lda", "--beta", ".8", "--html", page)
    assert "<title>documents.txt</title>" in page.read_text(encoding="utf-8")
    run(texts, "--skip-lda", "--beta", ".8", "--html", page, "--title", "A & B")
    assert "<title>A &amp; B</title>" in page.read_text(encoding="utf-8")


def test_words_that_are_left_out_are_counted_and_named(run, documents, texts, monkeypatch):
    texts.write_text(
        "\n".join(f"common {text} rare{i} pair{i // 2}" for i, text in enumerate(documents))
    )
    arguments = texts, "--skip-lda", "--beta", ".8", "--min-df", "3"
    out = run(*arguments)
    told = " ".join(out.split("words dropped, ")[1].split("\n\n")[0].split())
    assert told == (
        "in addition to stop words: 1 in more documents than --max-df 0.5 (common 100%), "
        "and 45 in fewer than --min-df 3"
    )
    every = run(*arguments, "--max-df", "1.0")
    assert "0 in more documents than --max-df 1.0, and 45 in fewer" in every
    monkeypatch.setattr(import_module("skcooc.cli.report"), "N_DROPPED", 2)
    few = run(*arguments, "--max-df", "9")
    frequent = re.search(r"stop words: 10 in .* --max-df 9 \((.*?)\)", " ".join(few.split()))[1]
    assert re.fullmatch(r"common 100%, \w+ 33%, \.\.\.", frequent)
