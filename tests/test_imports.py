"""The rules of the architecture: who may import whom, and what belongs where."""

import ast
import itertools
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import skcooc

ROOT = Path(skcooc.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))

ARCHITECTURE = ROOT.parent / "docs" / "contributing" / "architecture.md"
ANYTHING = {"__init__", "__main__", "cli"}


def table_of_rooms(page):
    """The rooms that each room may import, as the page says: a room is a folder or a module."""
    rows = re.findall(r"^\| (?:\d|side) \| `(\w+)` \| .* \| (.*?) ?\|$", page, re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", allowed)) for room, allowed in rows}


ALLOWED = table_of_rooms(ARCHITECTURE.read_text(encoding="utf-8"))

# What meta-estimators and tests ask of estimators; scikit-learn's and IPython's own names.
FACE = {"_state", "_heldout_predictions"}
FACE |= {"_unfinished"}  # what a fit that was cut short has found
FACE |= {"_without_rows"}  # a copy to be sent to workers
FOREIGN = {"_validate_params", "_init_callback_context", "_skl_callbacks", "_repr_html_"}
FOREIGN |= {"_replace", "_asdict", "_fields", "_callback_fit_ctx", "_exit", "_getframe"}
FOREIGN |= {"_parameter_constraints"}
OWN = {"self", "cls", "new"}  # new is a copy of self


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def read(path):
    return path.read_text(encoding="utf-8")


@cache
def nodes(source):
    """All that a module consists of."""
    return list(ast.walk(ast.parse(source)))


def imported(source):
    """(module, names) of each import."""
    for node in nodes(source):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def imported_rooms(source):
    for module, names in imported(source):
        if module == "skcooc":
            yield from names
        elif module.startswith("skcooc."):
            yield module.split(".")[1]


def misplaced_imports(room, source):
    return set(imported_rooms(source)) - ALLOWED[room] - {room}


@pytest.mark.parametrize("room", sorted({room_of(path) for path in FILES} - ANYTHING))
def test_imports_follow_the_floors(room):
    for path in FILES:
        if room_of(path) == room:
            assert not misplaced_imports(room, read(path)), path


def circle(allowed):
    """Some rooms that import each other in a circle; None where there are none."""

    def walk(room, path):
        if room in path:
            return (*path[path.index(room) :], room)
        found = (walk(below, (*path, room)) for below in sorted(allowed[room]))
        return next(filter(None, found), None)

    return next(filter(None, (walk(room, ()) for room in allowed)), None)


def test_there_are_no_circles():
    assert circle(ALLOWED) is None
    assert circle(ALLOWED | {"protocol": {"em"}})


def test_a_misplaced_import_is_found():
    assert misplaced_imports("em", "from skcooc.estimators.aspect import AspectModel")
    assert misplaced_imports("counts", "import skcooc.em.stages")
    assert misplaced_imports("estimators", "from skcooc import tables")
    assert misplaced_imports("em", "def f():\n    from skcooc.counts import CSRCounts")


def builds_counts(source):
    calls = (node for node in nodes(source) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func).endswith(("CSRCounts", "NewRows")) for call in calls)


def classes_of_ours(kind):
    return [base for base in kind.__mro__[1:] if base.__module__.startswith(("skcooc", "tests"))]


def test_estimators_stand_on_four_classes_at_most():
    public = [getattr(skcooc, name) for name in skcooc.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and hasattr(kind, "fit")]
    assert len(kinds) >= 8
    for kind in kinds:
        assert len(classes_of_ours(kind)) <= 4, classes_of_ours(kind)
    deep = type("Deep", (type("Deeper", (skcooc.ClusterAbstraction,), {}),), {})
    assert len(classes_of_ours(deep)) > 4


def asks_what_it_is_given(source):
    names = {node.id for node in nodes(source) if isinstance(node, ast.Name)}
    modules = {module.split(".")[0] for module, _ in imported(source)}
    return bool(names & {"getattr", "hasattr", "isinstance"} or "sklearn" in modules)


def test_who_builds_counts_and_who_asks_what_it_is_given():
    for path in FILES:
        if room_of(path) not in {"counts", "tables", "testing"}:
            assert not builds_counts(read(path)), path
        if room_of(path) in {"em", "equations"}:
            assert not asks_what_it_is_given(read(path)), path
    assert builds_counts("X = counts.CSRCounts(table)")
    assert asks_what_it_is_given("if isinstance(model, Aspects): ...")
    assert asks_what_it_is_given("from sklearn.base import clone")


def private(name):
    return name.startswith("_") and not name.startswith("__")


def foreign_privates(source, face=FACE | FOREIGN, own=OWN):
    """Underscored names that are another module's, or of another object than self."""
    for module, names in imported(source):
        if module.split(".")[0] in {"skcooc", "tests", "benchmarks"}:
            yield from filter(private, names)
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in face:
            owner = ast.unparse(node.value)
            if owner not in own and not owner.startswith("super("):
                yield f"{owner}.{node.attr}"


def test_what_is_underscored_stays_at_home():
    for path in itertools.chain(FILES, TESTS):
        parts_of_estimators = {"model"} if "base" in path.parts else set()
        assert not list(foreign_privates(read(path), own=OWN | parts_of_estimators)), path
    assert list(foreign_privates("from skcooc.em.stages import _cut_short"))
    assert list(foreign_privates("def f(model):\n    return model._chosen"))


def test_the_table_has_all_rooms_and_estimators_have_a_recipe():
    assert set(ALLOWED) == {room_of(path) for path in FILES} - ANYTHING
    for path in (ROOT / "estimators").glob("[a-z]*.py"):
        assert "def recipe(self)" in read(path), path


def run(program):
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=900)


def test_importing_loads_no_side_room():
    """All rooms that it does not load are side rooms, and these are there when they are touched."""
    rooms = {room_of(path) for path in FILES} - {"__init__", "__main__"}
    run(
        "import sys\n"
        "import skcooc\n"
        "loaded = {name.split('.')[1] for name in sys.modules if name.startswith('skcooc.')}\n"
        f"unloaded = {rooms} - loaded\n"
        "assert unloaded == set(skcooc.SIDE_ROOMS), unloaded ^ set(skcooc.SIDE_ROOMS)\n"
        "assert not {'sklearn.model_selection', 'matplotlib'} & set(sys.modules)\n"
        "assert {*skcooc.__all__, *skcooc.SIDE_ROOMS} <= set(dir(skcooc))\n"
        "assert not hasattr(skcooc, 'missing')\n"
        "for name in dir(skcooc):\n"
        "    getattr(skcooc, name)\n"
        "from skcooc import *\n"
        "assert AspectRetriever is skcooc.retrieval.AspectRetriever\n"
    )


def test_importing_needs_no_optional_package():
    run(
        "import sys\n"
        "blocked = 'matplotlib', 'pandas', 'polars', 'rich', 'dask', 'skimage', 'jinja2'\n"
        "sys.modules.update(dict.fromkeys(blocked))\n"
        "import skcooc\n"
        "skcooc.AspectModel(2, random_state=0, max_iter=5).fit([[3, 1], [1, 3], [2, 2]])\n"
    )
