import re
from pathlib import Path

import skcooc

ROOT = Path(skcooc.__file__).parent
PRIVATE = re.compile(
    r"^\s*(?:from|import) sklearn(?:\.callback|\S*\._|\S* import .*\b_)", flags=re.MULTILINE
)


def test_private_names_of_scikit_learn_and_its_callbacks_are_imported_in_one_module():
    """It may rename the first at any time, and older versions lack the second."""
    files = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if PRIVATE.search(path.read_text(encoding="utf-8"))
    }
    assert files == {"protocol/scikit_learn.py"}
    assert not PRIVATE.search("from sklearn.base import clone")
    assert PRIVATE.search("from sklearn.utils import check_array, _safe_indexing")
