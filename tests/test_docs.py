"""Documentation names everything public, the index of the papers only what there is.

.ci/run builds it, with the examples, takes warnings for errors, checks the site that is built
(docs/check_site.py), and runs the code of all pages (docs/check_code.py).
"""

import ast
import inspect
import re
import runpy
from pathlib import Path
from pkgutil import resolve_name

import pytest
from sklearn.utils import Bunch

import skcooc

DOCS = Path(__file__).parents[1] / "docs"
BUILT = ("_build", "auto_examples", "auto_tutorial", "api/generated", "api/backreferences")
SOURCES = ("examples", "tutorial", "templates", "static")

TOCTREE = r"```\{toctree\}\n(.*?)```|\.\. (?:toctree|autosummary)::\n(.*?)(?=\n\S|\Z)"


INCLUDED = r"```\{include\} (\S+)\.md\n"


def entries(text):
    """What the toctrees and autosummaries of a page list, without their options."""
    for block in re.findall(TOCTREE, text, re.DOTALL):
        for line in filter(None, map(str.strip, "".join(block).splitlines())):
            if not line.startswith(":"):
                yield re.sub(r".*<(.*)>", r"\1", line)


def pages():
    for path in sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]):
        name = path.relative_to(DOCS).with_suffix("").as_posix()
        if not name.startswith(tuple(f"{folder}/" for folder in (*BUILT, *SOURCES))):
            yield name, path.read_text(encoding="utf-8")


def test_the_reference_has_all_public_names_and_modules_say_what_is_public():
    assert set(entries((DOCS / "api" / "index.rst").read_text())) == set(skcooc.__all__)
    # Their pages list ``__all__``; without one, they would list what the module imports.
    for module in filter(inspect.ismodule, (getattr(skcooc, name) for name in skcooc.__all__)):
        for public in module.__all__:
            assert inspect.getdoc(getattr(module, public)), (module, public)


# The checks of numpydoc that docstrings pass: layout, order of sections, types and sentences.
CHECKS = {"GL01", "GL03", "GL05", "GL06", "GL07", "GL09", "GL10", "SS02", "SS03", "SS04", "SS06"}
CHECKS |= {"PR02", "PR05", "PR06", "PR09", "PR10", "RT04", "RT05", "SA02", "SA03", "SA04"}


def public_names():
    """Public classes and functions, and the methods of these classes, each once."""
    modules = [getattr(skcooc, name) for name in skcooc.__all__]
    for owner in (skcooc, *filter(inspect.ismodule, modules)):
        for name in owner.__all__:
            public = getattr(owner, name)
            if callable(public):
                yield public, f"{owner.__name__}.{name}"
            for method in dir(public) if inspect.isclass(public) else ():
                function = inspect.unwrap(getattr(public, method))
                of_skcooc = (getattr(function, "__module__", None) or "").startswith("skcooc")
                if method[0] != "_" and inspect.isroutine(function) and of_skcooc:
                    yield function, f"{owner.__name__}.{name}.{method}"


def test_public_docstrings_are_valid():
    """Parameters are listed all or not at all."""
    validate = pytest.importorskip("numpydoc.validate").validate
    faults = set()
    for public, name in dict(public_names()).items():
        lists = "\nParameters\n---" in (inspect.getdoc(public) or "")
        checks = CHECKS | {"PR01"} if lists else CHECKS
        faults |= {(name, *fault) for fault in validate(name)["errors"] if fault[0] in checks}
    # Further arguments of Dyads are refused, with a message.
    assert faults == {("skcooc.Dyads", "PR01", "Parameters {'*more'} not documented")}


def test_pages_name_the_files_to_touch():
    """All exist but for new ones, each in its room."""
    new = {"skcooc/equations", "skcooc/estimators", "tests/equations", "docs/guide"}
    for page, new_in in (("new_model", new), ("new_accelerator", set())):
        text = (DOCS / "contributing" / f"{page}.md").read_text(encoding="utf-8")
        files = re.findall(r"^\d+\. `(.*?)`", text.split("\n## Files to touch\n")[1], re.MULTILINE)
        missing = {Path(file).parent for file in files if not (DOCS.parent / file).exists()}
        assert {path.as_posix() for path in missing} == new_in


TOP = ("README", "CONTRIBUTING", "CHANGELOG", "benchmarks/README")
LINK = r"\]\(([^)\s#:]*)(?:#([^)\s]+))?\)"


def anchors(text):
    """What the headings of a page are called in links, by Sphinx as by hosts of source code."""
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def whole(path):
    """A page with those that are parts of it."""
    text = path.read_text(encoding="utf-8")
    return text + "".join(whole(path.parent / f"{part}.md") for part in re.findall(INCLUDED, text))


def dead_links(path, text):
    """Links of a page to files or headings that are not there, but for pages that are built."""
    for file, anchor in re.findall(LINK, text):
        target = (path.parent / file).resolve() if file else path
        if any(part in target.as_posix() for part in BUILT):
            continue
        if not target.exists():
            yield file
        elif anchor and anchor not in anchors(whole(target) if file else text):
            yield f"{file}#{anchor}"


SOURCE_PAGES = [
    *(DOCS.parent / f"{name}.md" for name in TOP),
    *(DOCS / f"{name}.md" for name, _ in pages() if (DOCS / f"{name}.md").exists()),
]


def test_links_between_pages_lead_somewhere_and_one_that_does_not_is_found():
    for path in SOURCE_PAGES:
        assert (path, list(dead_links(path, path.read_text(encoding="utf-8")))) == (path, [])
    text = "[here](#a-heading) [b](docs/results/speed.md#sped) [gone](docs/gone.md)\n# A heading\n"
    dead = list(dead_links(DOCS.parent / "README.md", text))
    assert dead == ["docs/results/speed.md#sped", "docs/gone.md"]


README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
PRINTED = Bunch(**runpy.run_path(str(DOCS / "check_code.py")))


def test_the_readme_prints_what_it_says():
    """So do all pages, whose code .ci/run runs."""
    assert sum(bool(stated) for _, stated in PRINTED.printed_blocks(README)) >= 1
    assert list(PRINTED.other_blocks(DOCS.parent / "README.md")) == []


_, PAGE = (DOCS / "papers.md").read_text(encoding="utf-8").split("\n## Every equation, ")


def names(page):
    return re.findall(r"`([^`]+)`", page)


def exists(name):
    """Whether there is such a file, module or attribute, or an estimator with such parameters."""
    if "/" in name:
        return (DOCS.parent / name).is_file()
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


def test_all_names_of_the_index_exist_and_made_up_ones_are_found():
    assert len(names(PAGE)) > 70
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
