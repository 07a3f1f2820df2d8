"""A release says the same everywhere: versions, libraries, the figures of the paper."""

import re
import tomllib
from statistics import fmean

from benchmarks import experiment, tables
from skcooc.version import __version__
from tests.test_pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def minima(requirements):
    """The oldest version of each library that a list of requirements allows."""
    found = (re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)$", line) for line in requirements)
    return {match[1].lower(): match[2] for match in found if match}


def same_version(one, two):
    one, two = (version.split(".") for version in (one, two))
    return all(
        int(a) == int(b)
        for a, b in zip(one + ["0"] * len(two), two + ["0"] * len(one), strict=True)
    )


def test_the_oldest_libraries_are_those_that_are_allowed():
    lines = [line for line in read("tests/oldest.txt").splitlines() if line[:1] not in ("", "#")]
    oldest = dict(line.lower().split("==") for line in lines)
    used = [name for name in EXTRAS if name not in ("docs", "test", "benchmark", "all")]
    frames = [line for line in EXTRAS["test"] if re.match("pandas|polars|pyarrow", line)]
    asked = minima([*PROJECT["dependencies"], *frames, *(x for name in used for x in EXTRAS[name])])
    assert oldest.keys() == asked.keys()
    assert [name for name in asked if not same_version(asked[name], oldest[name])] == []
    assert same_version("1.7", "1.7.0")
    assert not same_version("1.7", "1.7.1")
    for extra in used:  # the tests run with what the extras allow
        assert minima(EXTRAS[extra]).items() <= minima(EXTRAS["test"]).items()


def test_the_version_is_one():
    assert PROJECT["version"] == __version__
    assert f"\nversion: {__version__}\n" in read("CITATION.cff")
    assert f"## {__version__}" in read("CHANGELOG.md")
    recipe = read(".ci/conda/meta.yaml")
    assert f'version = "{__version__}"' in recipe
    listed = re.findall(
        r"^    - (.*)$", recipe.partition("  run:\n")[2].partition("test:")[0], re.M
    )
    asked = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert listed == [line.replace(">=", " >=") for line in asked]
    assert [f"{name} = {call}" for name, call in PROJECT["scripts"].items()] == re.findall(
        r"entry_points:\n    - (.*)", recipe
    )


def test_the_address_of_the_repository_is_one():
    """None as long as there is none; pyproject.toml has it first."""
    address = PROJECT.get("urls", {}).get("Repository")
    for file, field in (("CITATION.cff", "repository-code"), (".ci/conda/meta.yaml", "  dev_url")):
        stated = re.search(rf"^{field}: (\S+)$", read(file), re.MULTILINE)
        assert (file, stated and stated[1]) == (file, address)


LINES = {
    "unigram (no topics)": "unigram (topic-free)",
    "mean of the 50 nearest documents (no topics)": "50 nearest rows (topic-free)",
    "LDA, 16 chains averaged": "tomotopy LDA, tuned, 16 chains",
    "**`AspectModel`**, one default fit": "AspectModel()",
    "**`AveragedModels`**, 16 short fits": "AveragedModels",
    "`AveragedModels` and the 50 nearest documents": "AveragedModels + 50 nearest rows",
}


def test_the_figures_of_the_paper_are_recorded():
    paper, record = read("paper/paper.md"), experiment.load("perplexity")
    alone, cached = (
        tables.cells(record["rows"], tables.Layout(["model"], [value], ["data", "K"]))
        for value in ("alone", "with cache")
    )
    for name, model in LINES.items():
        cells = [
            f"{fmean(shown[column][model]):.0f}"
            for column in ("Cranfield, K = 128", "CLASSIC3, K = 32")
            for shown in (alone, cached)
        ]
        assert f"| {name} | {' | '.join(cells)} |" in paper
    settings = record["settings"]
    assert f"mean of {len(settings['seeds'])} splits" in paper.replace("three", "3")


def test_the_paper_cites_what_its_bibliography_has():
    text, entries = read("paper/paper.md"), read("paper/paper.bib")
    cited = set(re.findall(r"@([\w:-]+)", text.split("---", 2)[2]))
    assert cited == set(re.findall(r"^@\w+\{([\w:-]+),", entries, re.MULTILINE))
    assert 800 <= len(text.split()) <= 1_000
