"""Docstrings of NumPy, SciPy and scikit-learn: a labelled corpus without download."""

import gzip
import importlib
import inspect
import json
import logging
import os
import pkgutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy
import sklearn
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from skcooc.protocol import Array
from skcooc.protocol.decorators import validated

logger = logging.getLogger(__name__)

PACKAGES = (np, scipy, sklearn)

# Public by name only: build and test tools, vendored code, aliases, and modules whose import
# changes the behaviour of the package (sklearn.experimental).
EXCLUDED = {
    "numpy.core", "numpy.distutils", "numpy.f2py", "numpy.ma.testutils", "numpy.matlib",
    "numpy.typing", "scipy.special.cython_special", "sklearn.experimental", "sklearn.externals",
    "sklearn.utils.estimator_checks",
}  # fmt: skip
TESTS = {"conftest", "testing", "tests"}

MIN_WORDS = 8  # shorter texts only refer to another one
# Public in processes that imported sklearn.experimental.
EXPERIMENTAL = {"HalvingGridSearchCV", "HalvingRandomSearchCV", "IterativeImputer"}

VARYING = "# may vary"  # lines that SciPy fills with unseeded random numbers at import
EDITION = 1  # part of the name of the cache file: raise it when the selection changes

DESCR = """\
Docstrings of the public functions, classes and methods of {versions}.

One document for each public object with a docstring of its own of at least {min_words} words,
{n_documents} in all; the label is the public module that holds the object, {n_modules} in all.
Output lines marked "# may vary" are left out. The texts are those of the installed versions, so
they differ between environments. They are under the licences of the packages (BSD 3-Clause)."""


Folder = str | PathLike[str] | None


class Docstrings(Bunch):
    data: list[str]
    target: Array
    target_names: list[str]
    names: list[str]
    DESCR: str


@validated({"data_home": [str, PathLike, None]})
def load_docstrings(*, data_home: Folder = None) -> Docstrings:
    """Load the docstrings of NumPy, SciPy and scikit-learn, labelled by module.

    The corpus is read off the installed packages by importing their public modules. Each object
    counts once, under its shortest public name. Inherited and repeated docstrings and those of less
    than eight words are left out. The result is kept in the data folder, in one file for each
    combination of versions; if it cannot be written, each call builds the corpus.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Data folder, by default that of scikit-learn
        (:func:`sklearn.datasets.get_data_home`); the file lies in its subfolder ``skcooc``.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        A dictionary with the attributes:

        * ``data``: list of str, length n. The docstrings, without common indentation and the
          output lines marked "# may vary".
        * ``target``: ndarray of shape (n,), int64. Index of the module into ``target_names``.
        * ``target_names``: list of str. Modules such as ``"scipy.signal"``, in alphabetical order.
        * ``names``: list of str, length n. Full names such as ``"scipy.signal.find_peaks"``.
        * ``DESCR``: str.

    Examples
    --------
    >>> from skcooc.datasets import load_docstrings
    >>> corpus = load_docstrings()
    >>> i = corpus.names.index("scipy.signal.find_peaks")
    >>> corpus.target_names[corpus.target[i]], corpus.data[i].splitlines()[0]
    ('scipy.signal', 'Find peaks inside a signal based on peak properties.')
    """
    path = cache_path(data_home)
    documents = _read(path) if path else None
    if documents is None:
        documents = build()
        if path:
            _write(path, documents)
    target_names, target = np.unique(documents["modules"], return_inverse=True)
    description = DESCR.format(
        versions=", ".join(f"{p.__name__} {p.__version__}" for p in PACKAGES),
        min_words=MIN_WORDS, n_documents=len(target), n_modules=len(target_names),
    )  # fmt: skip
    return Docstrings(
        data=documents["data"], target=target, target_names=target_names.tolist(),
        names=documents["names"], DESCR=description,
    )  # fmt: skip


def cache_path(data_home: Folder) -> Path | None:
    """Cache file for the installed versions; None without a data folder."""
    try:
        folder = Path(get_data_home(data_home)) / "skcooc"
        folder.mkdir(exist_ok=True)
    except OSError as error:
        logger.info("Docstrings are not cached: %s", error)
        return None
    versions = "-".join(f"{p.__name__}{p.__version__}" for p in PACKAGES)
    return folder / f"docstrings{EDITION}-{versions}.json.gz"


def _read(path: Path) -> dict[str, list[str]] | None:
    try:
        documents = json.loads(gzip.decompress(path.read_bytes()))
        return {key: documents[key] for key in ("data", "modules", "names")}
    except FileNotFoundError:
        return None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        logger.info("Docstrings are rebuilt, %s is unreadable: %s", path, error)
        return None


def _write(path: Path, documents: dict[str, list[str]]) -> None:
    content = gzip.compress(json.dumps(documents).encode(), compresslevel=6, mtime=0)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            part = Path(folder) / path.name
            part.write_bytes(content)
            os.replace(part, path)
    except OSError as error:
        logger.info("Docstrings are not cached: %s", error)


def build() -> dict[str, list[str]]:
    if sys.flags.optimize > 1:
        raise RuntimeError("There are no docstrings to load: Python was started with -OO.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated modules and attributes
        found = [(name, module, text) for name, module, obj in _objects() if (text := _text(obj))]
    first = {document[2]: document for document in reversed(found)}
    names, modules, data = zip(*sorted(first.values()), strict=True)
    return {"data": list(data), "modules": list(modules), "names": list(names)}


def _objects() -> Iterator[tuple[str, str, object]]:
    """(name, module, object) of public objects, shortest names first, then methods."""
    listed = [
        (f"{module.__name__}.{name}", module.__name__, obj)
        for package in PACKAGES
        for module in _modules(package.__name__)
        for name, obj in _members(module)
    ]
    unique: dict[int, tuple[str, str, object]] = {}
    for entry in sorted(listed, key=lambda entry: (entry[0].count("."), len(entry[0]), entry[0])):
        unique.setdefault(id(entry[2]), entry)
    yield from unique.values()
    for name, module, obj in unique.values():
        if inspect.isclass(obj):
            for method, function in sorted(vars(obj).items()):
                generated = function.__doc__ == type(function).__doc__  # sklearn's set_fit_request
                if inspect.isroutine(function) and not (method.startswith("_") or generated):
                    yield f"{name}.{method}", module, function


def _modules(name: str) -> Iterator[ModuleType]:
    """Import a module and, in turn, its public submodules."""
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        logger.debug("%s is skipped: %s", name, error)  # needs an optional package
        return
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        child = f"{name}.{info.name}"
        if not (info.name.startswith("_") or info.name in TESTS or child in EXCLUDED):
            yield from _modules(child)


def _members(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Public callables of a module: those of its ``__all__``, or all that it defines."""
    namespace = vars(module)  # unlike getattr, without deprecated names
    listed = namespace.get("__all__")
    for name, obj in sorted(namespace.items()):
        if name.startswith("_") or name in EXPERIMENTAL or not callable(obj):
            continue
        own = getattr(obj, "__module__", None) == module.__name__
        if own if listed is None else name in listed:
            yield name, obj


def _text(obj: object) -> str | None:
    """Docstring of an object; None for less than MIN_WORDS words."""
    if not isinstance(obj.__doc__, str):
        return None
    lines = inspect.cleandoc(obj.__doc__).splitlines()
    text = "\n".join(line for line in lines if not line.endswith(VARYING))
    return text if len(text.split()) >= MIN_WORDS else None
