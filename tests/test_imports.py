import ast
from pathlib import Path

import skcooc

ROOT = Path(skcooc.__file__).parent


def private_imports(source):
    """Names that scikit-learn may change in any version, and its callbacks, new in 1.9."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            for name in (f"{module}.{alias.name}".strip(".") for alias in node.names):
                first, *others = name.split(".")
                if first == "sklearn" and any(n[0] == "_" or n == "callback" for n in others):
                    yield name


def test_private_names_of_scikit_learn_are_imported_in_one_module():
    paths = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    files = [name for name, source in sources.items() if any(private_imports(source))]
    assert files == ["protocol/scikit_learn.py"]
    line = "from sklearn.utils import check_array, _safe_indexing as index; import sklearn._loss"
    assert list(private_imports(line)) == ["sklearn.utils._safe_indexing", "sklearn._loss"]
