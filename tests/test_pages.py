"""Tables of results say where they come from, and the README states what is recorded."""

import json
import re
import runpy
import subprocess
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest
from sklearn.utils import Bunch

from benchmarks import experiment, planted_news, reference, tables
from skcooc import datasets

ROOT = Path(__file__).parents[1]
BUILT = {"_build", "auto_examples", "auto_tutorial", "generated", ".pytest_cache"}
PAGES = sorted(path for path in ROOT.rglob("*.md") if not BUILT & set(path.relative_to(ROOT).parts))
RESULTS = sorted(experiment.RESULTS.glob("*.json"))

DIRECTIVE = r"```\{(?:results|dots)\} (\S+)\n(.*?)```"


def results_tables():
    """(page, name, options) of each table of results."""
    for path in PAGES:
        for name, options in re.findall(DIRECTIVE, path.read_text(encoding="utf-8"), re.DOTALL):
            yield path, name, dict(re.findall(r"^:(\w+): ?(.*)$", options, re.MULTILINE))


def test_tables_of_results_show_rows_and_columns_that_are_there():
    shown = list(results_tables())
    assert len(shown) > 10
    for path, name, options in shown:
        rows = experiment.load(name)["rows"]
        for option in ("lines", "columns", "values"):
            for key in filter(None, map(str.strip, options.get(option, "").split(","))):
                assert any(key in row for row in rows), (path, name, key)


@cache
def commits():
    """All commits that git has here; None where it has no history, or only a part of it."""

    def git(*arguments):
        command = ["git", "-C", ROOT, *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout

    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        return None
    objects = git("cat-file", "--batch-all-objects", "--batch-check", "--unordered").splitlines()
    return {line.split()[0] for line in objects if " commit " in line}


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_say_where_they_come_from(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["name"] == path.stem
    assert record["rows"]
    assert all(isinstance(row, dict) for row in record["rows"])
    assert re.fullmatch(r"[0-9a-f]{40}", record["commit"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", record["date"])
    assert record["command"].startswith(f"python -m benchmarks run {path.stem}")
    assert {"question", "settings", "machine", "versions", "data"} <= set(record)
    assert commits() is None or record["commit"] in commits()


def test_every_result_belongs_to_an_experiment_that_runs_in_a_short_form():
    known = experiment.experiments()
    assert {path.stem for path in RESULTS} <= set(known)
    for name, one in known.items():
        assert one.question.endswith("?"), name
        assert set(one.quick) <= set(one.settings), name


README = (ROOT / "README.md").read_text(encoding="utf-8")
PLOT = Bunch(**runpy.run_path(str(ROOT / "docs" / "dot_plot.py")))


def test_dots_stand_at_the_means_in_the_colour_of_their_kind():
    numbers = {"AspectModel": [1.0, 3.0], "LDA": [6.0], "unigram": [12.0]}
    plot = PLOT.dot_plot({"texts": numbers}, "error by method")
    dots = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="[\d.]+" r="4.5"/>', plot)[3:]
    kinds, places = zip(*dots, strict=True)  # after those of the legend
    assert kinds == ("ours", "peer", "baseline")
    first, second, third = map(float, places)
    assert (second - first) / (third - first) == pytest.approx(0.4, abs=0.01)
    assert plot.count("<line class=") == 1  # only the first has a spread
    name = 'AsymmetricClustering(object_weights="counts")'
    long = PLOT.dot_plot({"texts": {name: [1.0], "LDA": [2.0]}}, "long names")
    assert all(float(x) > 7 * len(name) for x in re.findall(r'x="(\d+)"[^>]*"end"', long))
    far = PLOT.dot_plot({"texts": {"a": [0.1], "b": [1.0], "c": [100.0]}}, "logarithmic")
    places = re.findall(r'<circle class="ours" cx="([\d.]+)"', far)[1:]
    first, second, third = map(float, places)
    assert (second - first) / (third - first) == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("pLSA: AspectModel(beta=1)", "ours"),
        ("AveragedModels + 50 nearest rows", "ours"),
        ("50 nearest rows (topic-free)", "baseline"),
        ("gather alone", "baseline"),
        ("logistic regression, topics", "peer"),
        ("MixtureFeatures", "ours"),
    ],
)
def test_methods_are_of_three_kinds(method, kind):
    assert PLOT.kind_of(method) == kind


SHAPES = "even", "dominated", "common words"
METHODS = {  # each library in the better of two forms
    "**`fit_texts`**": "fit_texts",
    "NMF of scikit-learn": "scikit-learn NMF",
    "LDA of scikit-learn": "scikit-learn LDA",
    "LDA of tomotopy, four of twelve set aside": "tomotopy LDA, 4 set aside",
    "LDA of topica, four of twelve set aside": "topica LDA, 4 set aside",
}


def planted_errors():
    """Mean and worst error of planted shares by method, for each kind of texts."""
    rows = experiment.load("planted-news")["rows"]
    shown = tables.cells(rows, tables.Layout(["method"], ["error"], ["shape"]))
    return {
        name: [
            f"{fmean(shown[shape][method]):.3f} ({max(shown[shape][method]):.3f})"
            for shape in SHAPES
        ]
        for name, method in METHODS.items()
    }


def microseconds():
    """Of a new document in a batch, by model; CLASSIC3 and 32 topics."""
    rows = experiment.load("transform-time")["rows"]
    return {
        row["model"]: f"{row['in a batch']:,.0f}"
        for row in rows
        if (row["data"], row["K"]) == ("CLASSIC3", 32)
    }


def test_the_table_of_the_readme_has_the_recorded_figures():
    for name, cells in planted_errors().items():
        assert f"| {name} | {' | '.join(cells)} |" in README
    rows = experiment.load("planted-news")["rows"]
    means = tables.cells(rows, tables.Layout(["method"], ["error"]))["error"]
    for method, errors in means.items():
        if method not in METHODS.values():
            library = method.split(",")[0]
            (better,) = (name for name in METHODS.values() if name.startswith(library))
            assert fmean(means[better]) < fmean(errors)


FIGURE = r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)"
SETTINGS = {"16", "32"}  # numbers of topics
VERSIONS = {"3.11", "1.7"}


def figures(page):
    """Numbers in the prose and the tables of a page, without those of names."""
    text = page.split("## Citation")[0]
    for other in (r"```.*?```", r"`[^`\n]*`", r"\]\([^)]*\)", "CLASSIC3", "BSD-3"):
        text = re.sub(other, " ", text, flags=re.DOTALL)
    return set(re.findall(FIGURE, text))


def sources():
    """Numbers that are recorded or counted, or that an example prints: a test compares these."""
    printed = " ".join(re.findall(r"```text\n(.*?)```", README, re.DOTALL))
    recorded = " ".join([*map(" ".join, planted_errors().values()), *microseconds().values()])
    chapters = f"{len(datasets.load_bible().data):,}"
    news = f"{planted_news.N_TEXTS:,}", str(planted_news.N_SPARE)
    return {*re.findall(FIGURE, f"{printed} {recorded}"), chapters, *news}


def test_every_figure_of_the_readme_comes_from_a_run():
    assert figures(README) <= sources() | SETTINGS | VERSIONS
    added = README.replace("compare groups.", "compare groups, 9,731 or 12.5.")
    assert figures(added) - sources() - SETTINGS - VERSIONS == {"9,731", "12.5"}


def test_a_result_is_old_once_its_models_or_data_give_others(monkeypatch, tmp_path):
    numbers = reference.stored()["AspectModel"]
    record = {"models": {"AspectModel": numbers}, "data": {}}
    assert experiment.changes_since(record) == []
    assert experiment.changes_since({"data": {}}) == ["skcooc"]
    for factor, changes in ((1.005, []), (0.98, ["AspectModel"]), (1.02, ["AspectModel"])):
        other = numbers | {"Bible, few": factor * numbers["Bible, few"]}
        assert experiment.changes_since(record | {"models": {"AspectModel": other}}) == changes
    gone = {"Removed": numbers, "RowMemory": reference.stored()["RowMemory"]}
    assert experiment.changes_since(record | {"models": gone}) == ["Removed"]
    monkeypatch.setenv("SKCOOC_DATA", str(tmp_path))
    (tmp_path / "counts.npz").write_bytes(b"counts")
    assert experiment.changes_since(record | {"data": {"counts.npz": "0"}}) == ["counts.npz"]
    assert experiment.changes_since(record | {"data": {"absent.npz": "0"}}) == []


def test_a_record_has_the_numbers_of_the_models_that_its_experiment_names():
    named = {name: set(one.models) for name, one in experiment.experiments().items()}
    assert set().union(*named.values()) <= reference.MODELS.keys()
    records = [json.loads(path.read_text()) for path in experiment.RESULTS.glob("*.json")]
    for record in records:
        if "models" in record:
            assert record["models"].keys() == named[record["name"]], record["name"]


@pytest.mark.parametrize("name", reference.MODELS)
def test_models_give_the_numbers_that_are_stored(name):
    today = reference.numbers([name])
    assert reference.differing(today, reference.stored()) == [], (
        f"{name} gives {today[name]}, before {reference.stored()[name]}. If this is meant, run "
        f"python -m benchmarks.reference {name}: tables with older numbers are then marked as old."
    )
