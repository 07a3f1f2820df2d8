"""The index of the papers has a row for each of their numbers, and names only what there is."""

import ast
import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

from benchmarks.papers.paper_page import INDEX

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers_index.md").read_text(encoding="utf-8")

# Equations, tables and figures of each section of the index.
NUMBERS = {
    "Memo: equations": (67, 0, 0),
    "Memo: tables and figures": (0, 2, 14),
    "Learning from dyadic data": (12, 1, 5),
    "Mixture models for co-occurrence and histogram data": (3, 1, 2),
    "A probabilistic clustering-projection model for discrete data": (9, 3, 3),
}


def numbers(page):
    """What stands in the first column, section by section."""
    sections = (part.split("\n", 1) for part in page.split("\n### ")[1:])
    pattern = r"^\| (\(\d+\)|Table \d+|Figure \d+) \|"
    return {title: re.findall(pattern, text, re.MULTILINE) for title, text in sections}


def expected():
    return {
        title: [
            form.format(number)
            for form, count in zip(("({})", "Table {}", "Figure {}"), counts, strict=True)
            for number in range(1, count + 1)
        ]
        for title, counts in NUMBERS.items()
    }


def names(page):
    return re.findall(r"`([^`]+)`", page)


def exists(name):
    """Whether there is such a file, module or attribute, or an estimator with such parameters."""
    if "/" in name:
        return (ROOT / name).is_file()
    tree = ast.parse(name, mode="eval").body
    if not isinstance(tree, ast.Call):
        return is_there(full(name)) or is_fitted(full(name))
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in tree.keywords}
    called = full(tree.func.id)
    return is_there(called) and all(takes(resolve_name(called), *pair) for pair in given.items())


def full(name):
    """The same with its package: what is public in skcooc goes without."""
    return name if name.split(".")[0] in ("skcooc", "tests", "benchmarks") else f"skcooc.{name}"


def is_there(name):
    try:
        resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


def is_fitted(name):
    """Whether it is an attribute that the docstring of the class lists."""
    owner, _, attribute = name.rpartition(".")
    listed = rf"^(?:\w+, )*{attribute}(?:, \w+)* : "
    return is_there(owner) and bool(
        re.search(listed, inspect.getdoc(resolve_name(owner)) or "", re.MULTILINE)
    )


def takes(estimator, parameter, value):
    """Whether there is such a parameter; the docstring has the strings that it takes in quotes."""
    known = parameter in inspect.signature(estimator).parameters
    return known and (not isinstance(value, str) or f'"{value}"' in inspect.getdoc(estimator))


def missing(page):
    return [name for name in names(page) if not exists(name)]


def test_every_number_of_the_papers_has_one_row_and_one_without_is_found():
    assert numbers(PAGE) == expected()
    without = re.sub(r"^\| \(17\) .*\n", "", PAGE, flags=re.MULTILINE)
    assert without != PAGE
    assert numbers(without) != expected()


def test_all_names_of_the_index_exist_and_made_up_ones_are_found():
    assert len(names(PAGE)) > 100
    assert not missing(PAGE)
    made_up = [
        "skcooc.equations.aspects.Aspects.guess",
        "skcooc.equations.aspect",
        "tests.equations.literal_aspects.prior",
        "benchmarks.papers.tables",
        "AspectModel.aspects_",
        "AspectsModel",
        "AspectModel(inverse_temperature=1.0)",
        'ClusterAbstraction(tempering="likelihood")',
        "docs/examples/plot_equations.py",
    ]
    assert missing(" ".join(f"`{name}`" for name in made_up)) == made_up


def test_the_page_of_the_papers_has_the_index():
    assert INDEX in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
