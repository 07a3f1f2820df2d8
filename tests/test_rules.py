"""Rules for imports, names and prose in the package; checks find bad samples of their own."""

import ast
import inspect
import itertools
import pkgutil
import re
from collections import Counter
from functools import cache
from importlib import import_module
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


def test_there_are_no_circles_and_misplaced_imports_are_found():
    assert circle(ALLOWED) is None
    assert circle(ALLOWED | {"protocol": {"em"}})
    assert misplaced_imports("em", "from skcooc.estimators.aspect import AspectModel")
    assert misplaced_imports("counts", "import skcooc.em.stages")
    assert misplaced_imports("estimators", "from skcooc import inspection")
    assert misplaced_imports("em", "def f():\n    from skcooc.counts import CSRCounts")


def builds_counts(source):
    calls = (node for node in nodes(source) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func).endswith(("CSRCounts", "NewRows")) for call in calls)


def classes_of_ours(kind):
    """Classes under it, but for scikit-learn's base class, to which ``protocol`` adds hints."""
    own = [base for base in kind.__mro__[1:] if base.__module__.startswith(("skcooc", "tests"))]
    return [base for base in own if not base.__module__.startswith("skcooc.protocol")]


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
    if set(re.findall(r"\b_[^_\W]\w*", source)) <= face:
        return  # nothing to parse
    for module, names in imported(source):
        if module.split(".")[0] in {"skcooc", "tests", "benchmarks"}:
            yield from filter(private, names)
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in face:
            owner = ast.unparse(node.value)
            if owner not in own and not owner.startswith("super("):
                yield f"{owner}.{node.attr}"


def test_what_is_underscored_stays_at_home_and_the_table_has_all_rooms():
    for path in itertools.chain(FILES, TESTS):
        parts_of_estimators = {"model"} if "base" in path.parts else set()
        assert not list(foreign_privates(read(path), own=OWN | parts_of_estimators)), path
    assert list(foreign_privates("from skcooc.em.stages import _cut_short"))
    assert list(foreign_privates("def f(model):\n    return model._chosen"))
    assert set(ALLOWED) == {room_of(path) for path in FILES} - ANYTHING
    for path in (ROOT / "estimators").glob("[a-z]*.py"):
        assert "def recipe(self)" in read(path), path


SCIKIT_LEARN = "protocol/scikit_learn.py"
BASES = "protocol/bases.py"


def private_imports(source):
    """Names that scikit-learn may rename at any time, and its callbacks, which it may lack."""
    for module, names in imported(source):
        if module.split(".")[0] == "sklearn":
            inside = module == "sklearn.callback" or "._" in module
            yield from (name for name in [module, *names] if inside or private(name))


def test_private_names_of_scikit_learn_are_imported_in_one_module():
    assert set(private_imports(SOURCES[SCIKIT_LEARN])) >= {"_fit_context", "CallbackContext"}
    assert not list(private_imports("from sklearn.base import clone"))
    others = {name: source for name, source in SOURCES.items() if name != SCIKIT_LEARN}
    assert not (found := offences(lambda source: list(private_imports(source)), others)), found


SOURCES = {path.relative_to(ROOT).as_posix(): read(path) for path in FILES}
SCRIPTS = sorted((ROOT.parent / "benchmarks").rglob("*.py"))
BENCHMARKS = {path.relative_to(ROOT.parent).as_posix(): read(path) for path in SCRIPTS}

SHARED_NAMES = {"Params", "Statistics"}  # every module of equations has its own
MOST_WORDS = 850  # in the docstring of a class: scikit-learn's LDA has 838
PRONOUNS = re.compile(r"(These|Those|That of|The same|Ones|It)\b")
BANNED = [
    r"(leave|leaves|leaving|left) (itself|themselves) out",
    r"line without",
    r"what (a row|rows) repeats?",
    r"by itself",
    r"the memo",
    r"settled on",
    r"ahead",
    r"behind",
    r"stands? beside",
    r"None where nobody",
    r"that which",
    r"of which",
]
# Words of the package, its messages and its help; benchmarks have their own.
BANNED_HERE = [
    r"[Oo]bservations?",  # token, co-occurrence, count; also as names
    r"burn(t|ed)?[- ]?in",  # warm-up
    r"random starts?",  # initialisation
    r"bursts",  # burstiness
    r"unseen cells?",  # words new to the document
    r"(found|chosen|tuned) by itself",
    r"looked for",
    r"sought",  # tuned
    r"hands? on",
    r"somebody|nobody|whoever",
    r"states? of rows",  # mixtures, responsibilities
    r"what rows are",
    r"again and again",
    r"next to nothing",
    r"level with",
    r"on a par",
    r"members of (a|the) (cluster|triple)",  # rows, columns, values
    r"(number|numbers|space) of aspects",  # topics
    r"[0-9]% (of|intervals?)",  # a space before the sign
    r"(?<![\w.)\]])\.\d+ %",  # a zero before the point
]


def any_of(phrases):
    """Also where a line of a docstring or a comment ends between two words."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)".replace(" ", r"[\s#]+"))


BANNED, BANNED_HERE = any_of(BANNED), any_of([*BANNED, *BANNED_HERE])


def classes(source):
    return [node for node in nodes(source) if isinstance(node, ast.ClassDef)]


def repeated_class_names(sources):
    found = Counter(node.name for source in sources for node in classes(source))
    return {name for name, n in found.items() if n > 1} - SHARED_NAMES


def docstrings(source):
    """(name, docstring) of a module, its classes and its functions."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in nodes(source):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "module"), text


def pronouns(source):
    """Names of what has a docstring that begins with a pronoun."""
    return [name for name, text in docstrings(source) if PRONOUNS.match(text)]


def banned_phrases(source, banned=BANNED_HERE):
    """(line, phrase) of each, in code, docstrings, comments, messages and help."""
    found = banned.finditer(source)
    return [(source.count("\n", 0, match.start()) + 1, match.group()) for match in found]


def banned_in_benchmarks(source):
    found = banned_phrases(source, BANNED)
    return [(line, phrase) for line, phrase in found if phrase != "the memo"]


def public_classes():
    """Classes of all modules of the package whose names have no underscore."""
    for found in pkgutil.walk_packages(skcooc.__path__, "skcooc."):
        if found.name != "skcooc.__main__":
            for name, kind in vars(import_module(found.name)).items():
                if isinstance(kind, type) and kind.__module__ == found.name and name[0] != "_":
                    yield kind


def long_docstrings(kinds):
    """(name, number of words) of classes whose docstring is too long, as a user sees it.

    Paragraphs of shared parameters and attributes are filled in when a class is made: they count.
    """
    lengths = [(kind.__name__, len((inspect.getdoc(kind) or "").split())) for kind in kinds]
    return [(name, n) for name, n in lengths if n > MOST_WORDS]


def offences(check, sources=SOURCES):
    """What a check finds in the package, a file a line; empty where it finds nothing."""
    found = ((name, check(source)) for name, source in sources.items())
    return "\n".join(f"{name}: {offending}" for name, offending in found if offending)


def test_a_class_name_is_used_once():
    samples = "class A: ...\nclass Params: ...", "def f():\n    class A: ...\nclass Params: ..."
    assert repeated_class_names(samples) == {"A"}
    twice = {BASES}  # where one is for mypy alone
    assert repeated_class_names(SOURCES[name] for name in SOURCES.keys() - twice) == set()


def test_docstrings_begin_without_a_pronoun():
    sample = '''
"""These rows."""
class A:
    """It is bad."""
    def f(self):
        """Items of a row."""
    def g(self):
        """That of a row."""
    async def h(self):
        """The same."""
'''
    assert sorted(pronouns(sample)) == ["A", "g", "h", "module"]
    assert not (found := offences(pronouns)), found


def test_no_banned_phrase_is_used_here_or_in_benchmarks():
    sample = 'x = "rows leave\\nthemselves out"  # of\n# which\nahead_of = behind = "by itself"'
    sample = sample.replace("\\n", "\n")
    assert banned_phrases(sample) == [
        (1, "leave\nthemselves out"), (2, "of\n# which"), (4, "behind"), (4, "by itself"),
    ]  # fmt: skip
    sample = "observations = 3  # random\\n# starts; 5% of\nf('by .5 %, 0.5 % and {x}.5')"
    sample = sample.replace("\\n", "\n")
    assert banned_phrases(sample) == [
        (1, "observations"), (1, "random\n# starts"), (2, "5% of"), (3, ".5 %"),
    ]  # fmt: skip
    assert not (found := offences(banned_phrases)), found
    # "The memo" is allowed: benchmarks repeat its tables.
    assert banned_in_benchmarks("the memo\nahead") == [(2, "ahead")]
    assert not (found := offences(banned_in_benchmarks, BENCHMARKS)), found


def test_docstrings_of_classes_are_short_enough():
    own = 50 * "word "
    long, short = (f"{(MOST_WORDS + n) * 'word '}" for n in (1, 0))
    samples = [type("Long", (), {"__doc__": long}), type("Short", (), {"__doc__": short})]
    assert long_docstrings(samples) == [("Long", MOST_WORDS + 1)]
    # The shared paragraphs count, too, and are part of the docstring of an estimator.
    words = (MOST_WORDS - 50) * "word "
    section = f"    Parameters\n    ----------\n    size : int\n        {words}\n    "
    filled = type("Filled", (skcooc.AspectModel,), {"__doc__": f"{own}\n\n{section}"})
    assert "random_state : int" in filled.__doc__
    assert [name for name, _ in long_docstrings([filled])] == ["Filled"]
    kinds = list(public_classes())
    assert {skcooc.AspectModel, skcooc.model_selection.ComponentSearchCV} <= set(kinds)
    assert long_docstrings(kinds) == []
