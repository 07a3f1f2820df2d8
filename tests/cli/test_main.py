import csv
import os
import re
import runpy
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import AspectModel, Dyads, RowMemory, metrics
from skcooc.cli import main
from skcooc.cli.models import with_components
from skcooc.cli.terminal import Screen, parse
from skcooc.cli.texts import NamedCounts
from skcooc.inspection import export_dict, export_text, name_topics
from skcooc.model_selection import split_counts
from tests.cli.conftest import FAST, written
from tests.cli.odd import DOCUMENTS, TOPICS
from tests.inspection.pages import read_payload


def test_a_report_of_pairs_and_of_other_models(run, npz, X, tmp_path, summary):
    out = run(npz, "--compare")
    assert out.startswith(alone := run(npz))  # the topics come first, and are the same
    assert "perplexity, 3 components" not in alone
    assert "perplexity, 3 components: 12.5 % of" in run(npz, "--compare", "--test-size", "0.125")
    for line in (
        "30 rows, 20 columns, 3,000 co-occurrences\n",
        "Test perplexity, 3 components: 10 % of the tokens are held out",
        "topic-free baseline: unigram",
        "EM at beta = 1, until convergence",
        "EM at beta = 1, early stopping",
        "EM, beta tuned on validation data",
        "LDA of scikit-learn, defaults",
        "Tuned inverse temperature: beta = ",
        "Nearest rows by their topics",
    ):
        assert line in out
    assert max(len(s) for s in out.splitlines() if " = AspectModel" not in s) <= 100 + len(str(npz))
    assert "\x1b" not in out
    cells = sp.coo_array(X)
    triples = [(f"f{j}", f"u{i}", n) for i, j, n in zip(*cells.coords, cells.data, strict=True)]
    path = written(tmp_path / "pairs.tsv", ("film", "user", "stars"), triples, "\t")
    named = ["--beta", ".8", "--row", "user", "--column", "film"]
    n, m = (np.unique(positions).size for positions in cells.coords)
    expected = f"{n} values of user, {m} values of film, 3,000 co-occurrences"
    assert expected in run(path, *named, "--count", "stars")
    assert f"{cells.nnz:,} co-occurrences" in run(path, *named)
    for model in ("product-space", "asymmetric", "projection", "symmetric"):
        out, found, _ = summary(npz, "--model", model)
        kind = "clusters" if model in ("asymmetric", "symmetric") else "topics"
        assert f"{kind.capitalize()}, most frequent first" in out
        assert ("Nearest rows" in out) == (model == "product-space")
        assert sum(found["weights"]) == pytest.approx(1)


def test_a_hierarchy_is_printed_as_a_tree(summary, npz, run, texts):
    out, found, model = summary(npz, "--model", "abstraction", "--top", 5)
    assert "Tree of clusters: characteristic columns" in out
    assert "Nearest rows" not in out
    columns = [f"column {j}" for j in range(20)]
    tree = export_text(model, columns, n_features=5).splitlines()
    assert [line[2:] for line in out.splitlines() if "|--- " in line] == tree
    assert found["tree"] == export_dict(model, columns)
    assert len(found["weights"]) == 5
    for top in (1, 40):  # or as many words as fit
        out = run(texts, "--model", "abstraction", "--beta", ".8", "--top", top)
        lines = [line for line in out.splitlines() if "|--- " in line]
        assert len(lines) == 5
        assert max(map(len, lines)) <= 96
        assert all(("," in line.split("(")[0]) == (top > 1) for line in lines)


def test_a_page_of_texts_and_one_of_counts(run, texts, npz, tmp_path):
    page = tmp_path / "new" / "topics.html"
    assert f"Written: {page}" in run(texts, "--html", page)
    shown = read_payload(page.read_text(encoding="utf-8"))
    assert ["".join(row["parts"]) for row in shown["documents"]] == DOCUMENTS
    assert shown["documents"][0]["name"].startswith("1: ")
    assert len(shown["topics"]) == 3
    run(npz, "--html", page)
    shown = read_payload(page.read_text(encoding="utf-8"))
    assert shown["features"][0][0].startswith("column ")
    assert not shown["facts"]["texts"]


def test_the_table_holds_what_the_library_computes(summary, npz, X):
    comparison = summary(npz, "--seed", 5, "--compare")[1]["comparison"]
    train, test = split_counts(X, 0.1, 5)
    unigram = metrics.perplexity(test, np.ones((30, 1)), [metrics.unigram(train)])
    assert comparison[0]["perplexity"] == pytest.approx(unigram)
    with pytest.warns(UserWarning, match="did not converge"):
        model = AspectModel(3, beta=1.0, max_iter=10, random_state=5).fit(train)
    expected = metrics.perplexity(
        test, model.embedding_, model.components_, background=model.unigram_, smoothing=0.001
    )
    assert comparison[1]["perplexity"] == pytest.approx(expected)
    assert any("did not converge" in note for note in comparison[1]["notes"])
    assert max(entry["perplexity"] for entry in comparison[1:]) < unigram  # aspects are planted


@pytest.mark.filterwarnings("error")  # a warning is a line on stderr, too
def test_warnings_of_the_fit_are_in_the_report(run, npz):
    assert "n_components=40, but X has 20 columns" in run(npz, "-k", 40)


def test_memory_is_that_of_the_library(summary, npz, X):
    out, found, _ = summary(npz, "--seed", 5, "--compare")
    *_, chosen, lda = found["comparison"]
    train, test = split_counts(X, 0.1, 5)
    model = RowMemory(AspectModel(3, max_iter=10, random_state=5)).fit(train)
    assert chosen["with_memory"] == pytest.approx(model.perplexity(Dyads(test)))
    assert chosen["perplexity"] == pytest.approx(model.estimator_.perplexity(Dyads(test)))
    peer = RowMemory(LatentDirichletAllocation(3, random_state=5), random_state=5).fit(train)
    assert lda["with_memory"] == pytest.approx(peer.perplexity(Dyads(test)))
    line = RowMemory(random_state=5).fit(train).perplexity(Dyads(test))
    table = out.split("-------\n")[1].splitlines()[:5]
    assert [text.split()[-2] == "-" for text in table] == [False, True, True, False, False]
    assert f"  {line:,.1f}  " in table[0]


def test_beta_given_a_collapse_and_the_same_report_again(run, npz):
    out = run(npz, "--beta", 0.9, "--compare")
    assert "EM at beta = 0.9 (--beta)" in out
    assert "Tuned inverse temperature" not in out
    out = run(npz, "--beta", 0.05, "--max-iter", 100)
    assert "the model has collapsed" in " ".join(out.split())
    first, again = (re.sub(r" [\d.]+$", "", run(npz), flags=re.M) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("n_rows", "n_seeds", "expected"), [(12, 0, 2), (85, 0, 8), (900, 0, 32), (12, 3, 3)]
)
def test_few_rows_have_fewer_components_by_default(n_rows, n_seeds, expected):
    seeds = {f"topic {k}": [] for k in range(n_seeds)}
    X = sp.csr_array(np.kron(np.eye(32), np.full((1, 3), 9.0))[np.arange(n_rows) % 32])
    table = NamedCounts(X, [], [], "counts", seeds=seeds)
    options = parse(["counts.npz"], ["aspect", "abstraction"])
    screen = Screen(wanted=False)
    assert with_components(options, table, screen).components == expected
    assert with_components(replace(options, components=7), table, screen).components == 7
    tree = replace(options, model="abstraction")
    assert with_components(tree, table, screen).components == max(expected if not n_seeds else 2, 2)


def test_names_of_a_matrix(error, run, npz, tmp_path):
    rows, columns = tmp_path / "rows.txt", tmp_path / "columns.txt"
    rows.write_text("\n".join(f"site-{i}" for i in range(30)))
    columns.write_text("\n".join(f"bin-{j}" for j in range(20)))
    names = ["--row-names", rows, "--column-names", columns]
    out = run(npz, *names, "--nearest", "site-7", "--nearest", "site-9")
    assert "\n  site-7\n" in out
    assert "\n  site-9\n" in out
    assert "bin-" in out
    assert "30 names, but the matrix has 20 columns" in error(npz, "--column-names", rows)
    assert "no row is named 'site-7'" in error(npz, "--nearest", "site-7")
    rows.write_text("\n".join(f"site-{i // 2}" for i in range(30)))
    assert "2 rows are named 'site-7'" in error(npz, *names, "--nearest", "site-7")


def test_lines_of_a_file_and_a_folder(run, tmp_path):
    path = tmp_path / "documents.txt"
    path.write_text("\n\n".join(DOCUMENTS))
    out = run(path)
    path.unlink()
    assert "30 documents, 15 words, 360 tokens" in out
    assert f"  1: {DOCUMENTS[0][:20]}" in out or f"  2: {DOCUMENTS[1][:20]}" in out
    (tmp_path / "sub").mkdir()
    for i, text in enumerate(DOCUMENTS):
        (tmp_path / ("sub" if i % 2 else ".") / f"{i}.txt").write_text(text)
    (tmp_path / ".hidden").write_bytes(b"\xff")
    out = run(tmp_path, "--nearest", os.path.join("sub", "1.txt"))
    assert "30 documents, 15 words, 360 tokens" in out


def test_aspects_are_the_topics_and_documents_without_words_are_counted(run, texts, error):
    for order in ("characteristic", "probable"):
        out = run(texts, "--top", "5", "--seed", "2", "--order", order)
        assert f"{order} words" in out
        aspects = [line.split("%  ")[2].split() for line in out.splitlines() if "%  " in line]
        assert sorted(map(sorted, aspects)) == sorted(sorted(topic.split()) for topic in TOPICS)
    texts.write_text(texts.read_text() + "\n42 43 44")
    assert "documents without any of these words: 1" in run(texts)
    assert "has no counts" in error(texts, "--nearest", "31: 42 43 44")


def test_output_of_texts_and_of_a_matrix(summary, texts, tmp_path, X):
    out, found, pipeline = summary(texts, "--compare")
    output = tmp_path / "new" / "out"
    assert f"Written to {output}: components.csv" in out
    names = {"components.csv", "embedding.csv", "summary.json", "model.joblib"}
    assert {file.name for file in output.iterdir()} == names
    cat, dog = pipeline.transform(["cat dog cow", "dog sheep horse"])
    np.testing.assert_allclose(cat, dog, atol=0.1)
    model = pipeline[-1]
    for name, values in (("components", model.components_.T), ("embedding", model.embedding_)):
        with (output / f"{name}.csv").open(newline="") as file:
            header, *lines = csv.reader(file)
        assert header == ["name", *name_topics(model, pipeline[:-1].get_feature_names_out())]
        found_values = np.array([line[1:] for line in lines], dtype=float)
        np.testing.assert_allclose(found_values, values, rtol=1e-5)
    assert found["n_tokens"] == 360
    assert found["comparison"][0]["label"] == "topic-free baseline: unigram"
    assert len(found["top_features"]) == 3
    assert [trial["n_components"] for trial in found["tuning"]][-2:] == [3, None]
    assert found["tuning"][0]["stage"] == "coarse"
    scipy.io.mmwrite(tmp_path / "counts.mtx", X)
    out, found, alone = summary(tmp_path / "counts.mtx")
    assert "comparison" not in found
    assert "30 rows, 20 columns, 3,000 co-occurrences" in out
    assert isinstance(alone, AspectModel)
    assert alone.transform(X).shape == (30, 3)


@pytest.mark.parametrize("kind", ["symmetric", "abstraction", "asymmetric", "projection"])
def test_clusters_are_written_for_rows_and_columns(kind, summary, texts, tmp_path):
    _, found, pipeline = summary(texts, "--model", kind, "--components", "2")
    model, labels = pipeline[-1], {"row_clusters.csv": pipeline[-1].labels_}
    if kind == "symmetric":
        labels["column_clusters.csv"] = model.column_labels_
    folder = tmp_path / "new" / "out"
    assert {file.name for file in folder.glob("*_clusters.csv")} == labels.keys()
    for file, expected in labels.items():
        header, *lines = csv.reader((folder / file).open(newline=""))
        assert header == ["name", "cluster", "cluster_name"]
        assert [int(line[1]) for line in lines] == expected.tolist()
    with (folder / "row_clusters.csv").open(newline="") as file:
        names = {int(line["cluster"]): line["cluster_name"] for line in csv.DictReader(file)}
    leaves = model.tree_.leaves if kind == "abstraction" else range(len(model.components_))
    given = {c: found["names"][v] for c, v in enumerate(leaves)}
    assert names.items() <= given.items() or kind == "projection"
    summary(texts)  # has no clusters
    assert not list(folder.glob("*_clusters.csv"))


def test_help_and_version_and_as_a_program(capsys, npz, monkeypatch):
    for argument, text in (("--help", "--beta"), ("--version", "skcooc ")):
        with pytest.raises(SystemExit) as exit:
            main([argument])
        assert exit.value.code == 0
        assert text in capsys.readouterr().out
    scripts = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    module, name = re.search(r'\[project.scripts\]\nskcooc = "(.*):(.*)"', scripts).groups()
    assert getattr(import_module(module), name) is main
    missing = "skcooc: error: missing.npz: No such file or directory\n"
    for arguments, code, err in (([str(npz), *FAST], 0, ""), (["missing.npz"], 2, missing)):
        monkeypatch.setattr(sys, "argv", ["skcooc", *arguments])
        with pytest.raises(SystemExit) as exit:
            runpy.run_module("skcooc", run_name="__main__")
        assert exit.value.code == code
        assert (said := capsys.readouterr()).err == err
        assert ("Tuned inverse temperature" in said.out) == (not err)


def test_without_data_it_shows_the_bible(run, tmp_path):
    page = tmp_path / "bible.html"
    out = run()
    assert "The King James Bible, by chapter\n1,189 documents, " in out
    assert "common words that say little about a topic: " in " ".join(out.split())
    topics = [
        line for line in out.splitlines() if re.match(r"  [ \d]\d\.\d %  [ \d.]+ %  \w", line)
    ]
    assert len(topics) == 3
    assert not {"unto", "thing", "time"} & set(" ".join(topics).split())
    for section in ("Law", "Prophets", "Gospels", "Epistles"):
        assert re.search(rf"^  {section} \(documents: \d+\)$", out, re.MULTILINE)
    assert "\n  Mark 4\n" in out
    out = run("--html", page, "--min-df", "300", "--max-df", "330", "--beta", ".9")
    assert "\n  Mark 4\n" in out
    assert "Psalms 23" not in out  # without any of these words
    shown = read_payload(page.read_text(encoding="utf-8"))
    assert shown["documents"][0]["name"] == "Genesis 1"
