"""What importing and building do in a fresh process: one, since to import takes two seconds."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skcooc
from skcooc.datasets import load_docstrings

ROOT = Path(skcooc.__file__).parent
ROOMS = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}

PROGRAM = """
import sys, warnings
blocked = 'matplotlib', 'pandas', 'polars', 'rich', 'dask', 'skimage', 'jinja2'
class Finder:
    def find_spec(name, *_):
        if name.partition('.')[0] in blocked: raise ImportError(name)
sys.meta_path.insert(0, Finder)
import skcooc
loaded = {name.split('.')[1] for name in sys.modules if name.startswith('skcooc.')}
unloaded = ROOMS - loaded
assert unloaded == set(skcooc.SIDE_ROOMS), unloaded ^ set(skcooc.SIDE_ROOMS)
assert not {'sklearn.model_selection', 'matplotlib'} & set(sys.modules)
assert {*skcooc.__all__, *skcooc.SIDE_ROOMS} <= set(dir(skcooc))
assert not hasattr(skcooc, 'missing')
with warnings.catch_warnings(action='ignore'):
    skcooc.AspectModel(2, random_state=0, max_iter=5).fit([[3, 1], [1, 3], [2, 2]])
sys.meta_path.remove(Finder)
from skcooc.datasets import load_docstrings
load_docstrings(data_home=HOME)
warnings.simplefilter('ignore')
for name in dir(skcooc):
    getattr(skcooc, name)
from skcooc import *
assert AspectRetriever is skcooc.retrieval.AspectRetriever
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The finished process, and the folder where it has built the corpus of docstrings."""
    home, rooms = tmp_path_factory.mktemp("home"), ROOMS - {"__init__", "__main__"}
    program = f"ROOMS, HOME = {rooms}, {str(home)!r}{PROGRAM}"
    settings = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONWARNINGS": "always"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=settings), home


def test_importing_loads_no_side_room_needs_no_optional_package_and_warns_of_nothing(done):
    """All rooms that it does not load are side rooms, and these are there when they are touched."""
    assert (done[0].returncode, done[0].stdout, done[0].stderr) == (0, "", "")


def test_it_builds_the_same_corpus(done):
    """Up to the order of words: SciPy prints a set into one docstring."""
    corpus = load_docstrings()
    (file,) = (done[1] / "skcooc").iterdir()
    documents = json.loads(gzip.decompress(file.read_bytes()))
    assert documents["names"] == corpus.names
    for there, here in zip(documents["data"], corpus.data, strict=True):
        if there != here:
            assert sorted(re.findall(r"\w+", there)) == sorted(re.findall(r"\w+", here))
