import contextlib
import csv
import io
import json

import numpy as np
import pytest

from skcooc import Dyads, GuidedAspectModel
from skcooc.cli import read_counts
from skcooc.model_selection import split_counts
from tests.cli.conftest import ARTICLES, HEADER, written
from tests.cli.odd import DOCUMENTS, OBJECTS, jsonl
from tests.inspection.pages import read_payload

SEEDS = {"music": ["piano", "harp"], "food": ["soup"]}
LINES = "music: piano, harp\n\nfood:soup,\n"


@pytest.fixture
def seeds(tmp_path):
    path = tmp_path / "seeds.txt"
    path.write_text(LINES)
    return path


@pytest.fixture
def articles(tmp_path):
    return written(tmp_path / "a.csv", HEADER, ARTICLES)


def test_topics_with_seeds_carry_their_names(summary, articles, seeds, tmp_path):
    options = "--seeds", seeds, "--group", "category", "--html", tmp_path / "a.html"
    out, found, _ = summary(articles, *options)
    for name, word in (("music", "violin"), ("food", "wine")):
        assert word in next(line for line in out.splitlines() if f"%  {name}: " in line)
    assert found["names"][:2] == ["music", "food"]
    assert found["parameters"]["seed_features"] == SEEDS
    header = next(csv.reader((tmp_path / "new/out/components.csv").open(newline="")))
    assert header == ["name", *found["names"]]
    assert "home,0,music," in (tmp_path / "new/out/shares_by_group.csv").read_text()
    shown = read_payload((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert {"music", "food"} < {topic["name"] for topic in shown["topics"]}


def test_seeds_are_compared_like_other_models(summary, texts, seeds):
    _, found, pipeline = summary(texts, "--seeds", seeds, "--compare")
    train, test = split_counts(pipeline[0].transform(DOCUMENTS), 0.1, 0)
    words = pipeline[0].get_feature_names_out()
    model = GuidedAspectModel(3, seed_features=SEEDS, feature_names=words, random_state=0)
    for entry, beta in ((1, 1.0), (3, "auto")):
        model.set_params(max_iter=10, beta=beta).fit(train)
        expected = pytest.approx(model.perplexity(Dyads(test)))
        assert found["comparison"][entry]["perplexity"] == expected


def test_words_of_one_batch_make_no_topic(summary, seeds, tmp_path):
    texts = [f"{text}{' press agency' * 6 * (i % 2)}" for i, text in enumerate(DOCUMENTS)]
    objects = [{"text": t, "site": [f"s{i % 2}", "x"]} for i, t in enumerate(texts)]
    (tmp_path / "a.jsonl").write_bytes(jsonl([*objects, {"text": "cat dog", "site": []}]))
    _, found, pipeline = summary(tmp_path / "a.jsonl", "--batch", "site", "--seeds", seeds)
    model = pipeline[-1]
    assert model.groups_.tolist() == ["s0", "s1"]  # the first of a list
    assert found["names"][:2] == ["music", "food"]
    press = pipeline[:-1].get_feature_names_out().tolist().index("press")
    assert model.column_factors_[1, press] > model.column_factors_[0, press]
    largest = model.embedding_[:30].argmax(axis=1)
    assert all(len(set(largest[k::3])) == 1 for k in range(3))


def test_bad_seeds_are_refused(error, texts, tmp_path):
    path = tmp_path / "seeds"
    for content, expected in (
        ("", "no topics: use lines such as"),
        ("{}", "no topics: use lines such as"),
        ("music: piano\nfood\n", "line 2: this is not a topic with its words"),
        (": piano", "line 1: this is not a topic with its words"),
        ("music: piano\nmusic: harp", "two topics have the same name in music, music"),
        ('{"a": ["harp"], "a": ["soup"]}', "two topics have the same name in a, a"),
        *(
            (f'{{"a": {v}}}', "'a' is not a topic")
            for v in ('"harp"', "[]", '{"b": "harp"}', "[1]")
        ),
        ('{"a": ["harp"]', "not JSON"),
        ("a: harp, drums\nb: Soup", "'drums' of 'a', 'Soup' of 'b'; remove them"),
        ("a: cat\nb: dog\nc: harp\nd: soup", "the file names 4 topics, but --components is 3"),
    ):
        path.write_text(content)
        assert expected in error(texts, "--seeds", path)
    assert "No such file" in error(texts, "--seeds", tmp_path / "none")


def test_names_with_commas_and_formulas_are_those_of_the_data(summary, npz, tmp_path):
    names = ["salt, coarse", "=1+1", *(f"c{j}" for j in range(18))]
    (tmp_path / "names.txt").write_text("\n".join(names))
    (tmp_path / "seeds.json").write_text(json.dumps({"salt": names[:1]}))
    options = "--column-names", tmp_path / "names.txt", "--seeds", tmp_path / "seeds.json"
    assert summary(npz, *options)[1]["names"][0] == "salt"
    lines = list(csv.reader((tmp_path / "new/out/components.csv").open(newline="")))
    assert [line[0] for line in lines[1:]] == names


def test_five_lines_of_python_give_the_same_topics(summary, npz, texts, articles, seeds):
    both = "--batch", "category", "--seeds", seeds, "--beta", "0.8", "--min-df", "2"
    for arguments in (
        [npz], [texts, "--stop-words", "none", "--max-df", "0.9"], [articles, *both],
        [texts, "--model", "abstraction"], [articles, "--group", "category", "--time", "date"],
        *([npz, "--model", m] for m in ("product-space", "symmetric", "projection", "abstraction")),
    ):  # fmt: skip
        out, found, model = summary(*arguments)
        assert len(found["python"]) == 5
        assert "\n  ".join(["", *found["python"], ""]).rstrip(" ") in out
        space: dict = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec("\n".join(found["python"]), space)
        again = getattr(model, "steps", [[None, model]])[-1][1]
        names = found["names"]
        if "report" in space:  # which lists the largest first
            model = space["report"].model
            names = [names[k] for k in space["report"].topics["component"]]
        else:
            model = space["model"]
        np.testing.assert_array_equal(model.components_, again.components_)
        assert printed.getvalue().split("\n")[:-1] == names


def test_counts_are_read_as_by_the_command_line(tmp_path, monkeypatch):
    (tmp_path / "-a.jsonl").write_bytes(jsonl(OBJECTS))
    monkeypatch.chdir(tmp_path)
    table = read_counts("-a.jsonl", text="text", row="id", min_df=9)
    n_documents = (read_counts("-a.jsonl", text="text").X > 0).sum(axis=0)
    assert table.X.shape == (30, (n_documents >= 9).sum())
    assert table.row_names[0] == "d0"
