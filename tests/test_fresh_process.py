"""What importing does in a fresh process."""

import os
import subprocess
import sys
from pathlib import Path

import skcooc

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
warnings.simplefilter('ignore')
for name in dir(skcooc):
    getattr(skcooc, name)
from skcooc import *
assert AspectRetriever is skcooc.retrieval.AspectRetriever
"""


def test_importing_loads_no_side_room_needs_no_optional_package_and_warns_of_nothing():
    """All rooms that it does not load are side rooms, and these are there when they are touched."""
    program = f"ROOMS = {ROOMS - {'__init__', '__main__'}}{PROGRAM}"
    settings = {**os.environ, "PYTHONWARNINGS": "always"}
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, env=settings)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
