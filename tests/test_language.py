"""The rules for names and prose in the package; each check finds a bad sample of its own."""

import ast
import re
from collections import Counter
from pathlib import Path

import skcooc

ROOT = Path(skcooc.__file__).parent
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(ROOT.rglob("*.py"))
}

BENCHMARKS = {
    path.relative_to(ROOT.parent).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT.parent / "benchmarks").rglob("*.py"))
}

SHARED_NAMES = {"Params", "Statistics"}  # every module of equations has its own
MOST_WORDS = 850  # in the docstring of a class: scikit-learn's NMF has 971
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
# Also where a line of a docstring or a comment ends between two words.
BANNED = [re.compile(rf"\b{phrase}\b".replace(" ", r"[\s#]+")) for phrase in BANNED]


def classes(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def repeated_class_names(sources):
    """Names of classes that are defined more than once."""
    found = Counter(node.name for source in sources for node in classes(source))
    return {name for name, n in found.items() if n > 1} - SHARED_NAMES


def docstrings(source):
    """(name, docstring) of a module, its classes and its functions."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "module"), text


def pronouns(source):
    """Names of what has a docstring that begins with a pronoun."""
    return [name for name, text in docstrings(source) if PRONOUNS.match(text)]


def banned_phrases(source):
    """(line, phrase) of each, in code, docstrings, comments and messages."""
    found = (match for pattern in BANNED for match in pattern.finditer(source))
    return sorted((source.count("\n", 0, match.start()) + 1, match.group()) for match in found)


def banned_in_benchmarks(source):
    return [(line, phrase) for line, phrase in banned_phrases(source) if phrase != "the memo"]


def long_docstrings(source):
    """(name, number of words) of public classes whose docstring is too long."""
    public = [node for node in classes(source) if not node.name.startswith("_")]
    lengths = [(node.name, len((ast.get_docstring(node) or "").split())) for node in public]
    return [(name, n) for name, n in lengths if n > MOST_WORDS]


def offences(check, sources=SOURCES):
    """What a check finds in the package, a file a line; empty where it finds nothing."""
    found = ((name, check(source)) for name, source in sources.items())
    return "\n".join(f"{name}: {offending}" for name, offending in found if offending)


def test_a_class_name_is_used_once():
    samples = "class A: ...\nclass Params: ...", "def f():\n    class A: ...\nclass Params: ..."
    assert repeated_class_names(samples) == {"A"}
    assert repeated_class_names(SOURCES.values()) == set()


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


def test_no_banned_phrase_is_used():
    sample = 'x = "rows leave\\nthemselves out"  # of\n# which\nahead_of = behind = "by itself"'
    sample = sample.replace("\\n", "\n")
    assert banned_phrases(sample) == [
        (1, "leave\nthemselves out"), (2, "of\n# which"), (4, "behind"), (4, "by itself"),
    ]  # fmt: skip
    assert not (found := offences(banned_phrases)), found


def test_no_banned_phrase_is_used_in_benchmarks():
    # "The memo" is allowed: benchmarks repeat its tables.
    assert banned_in_benchmarks("the memo\nahead") == [(2, "ahead")]
    assert not (found := offences(banned_in_benchmarks, BENCHMARKS)), found


def test_docstrings_of_classes_are_short_enough():
    sample = f'class A:\n    """{MOST_WORDS * "word "}and one."""\nclass B:\n    """Short."""'
    assert long_docstrings(sample) == [("A", MOST_WORDS + 2)]
    assert long_docstrings(sample.replace("class A", "class _A")) == []
    assert not (found := offences(long_docstrings)), found
