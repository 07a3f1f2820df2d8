import gzip
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from skcooc.datasets import docstrings, load_docstrings


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("data_home")


@pytest.fixture(scope="module")
def corpus(home):
    return load_docstrings(data_home=home)


def test_contents(corpus):
    n, labels = len(corpus.data), corpus.target
    assert n > 3000
    assert labels.shape == (n,)
    assert labels.dtype == np.int64
    assert set(labels) == set(range(len(corpus.target_names)))
    assert corpus.target_names == sorted(corpus.target_names)
    assert f"{n} in all" in corpus.DESCR
    assert f"numpy {np.__version__}" in corpus.DESCR
    assert len(set(corpus.data)) == len(set(corpus.names)) == n
    assert corpus.names == sorted(corpus.names)
    assert min(len(text.split()) for text in corpus.data) >= docstrings.MIN_WORDS
    for name, label in zip(corpus.names, labels, strict=True):
        assert name.startswith(corpus.target_names[label] + ".")
        assert not any(part.startswith("_") for part in name.split("."))
        assert not docstrings.TESTS & set(name.split("."))
        assert not name.endswith("_request")  # these methods are generated


def test_known_objects(corpus):
    for name, module in (
        ("numpy.linalg.svd", "numpy.linalg"),
        ("numpy.add", "numpy"),  # a ufunc: its text is its own
        ("scipy.stats.norm", "scipy.stats"),  # an instance
        ("scipy.stats.ortho_group", "scipy.stats"),  # an instance with the text of its type
        ("scipy.signal.find_peaks", "scipy.signal"),
        ("sklearn.linear_model.Ridge", "sklearn.linear_model"),
        ("sklearn.linear_model.LogisticRegression.fit", "sklearn.linear_model"),  # a method
        ("numpy.random.Generator.poisson", "numpy.random"),  # a method of a compiled class
    ):
        assert corpus.target_names[corpus.target[corpus.names.index(name)]] == module
    for name in (
        "scipy.stats.distributions.norm",  # the long name of scipy.stats.norm
        "sklearn.base.clone",  # the long name of sklearn.clone
        "scipy.linalg.LinAlgError",  # NumPy's
        "scipy.signal.signaltools.convolve",  # kept for old imports
        "sklearn.linear_model.Ridge.get_params",  # inherited
        "numpy.ndarray.shape",  # an attribute
        "numpy.generic.fill",  # refers to another docstring
    ):
        assert name not in corpus.names


def test_second_call_reads_the_cache_and_new_versions_a_new_file(corpus, home, monkeypatch):
    monkeypatch.setattr(docstrings, "build", lambda: pytest.fail("built again"))
    again = load_docstrings(data_home=home)
    for name in ("data", "names", "target_names"):
        assert again[name] == corpus[name]
    X, y = load_docstrings(return_X_y=True, data_home=home)
    assert corpus.data == X
    np.testing.assert_array_equal(y, corpus.target)
    path = docstrings.cache_path(home)
    monkeypatch.setattr(np, "__version__", "99.0")
    assert "numpy99.0" in docstrings.cache_path(home).name
    assert docstrings.cache_path(home) != path


def test_another_process_builds_the_same_corpus(corpus, tmp_path):
    """And no warnings. Up to the order of words: SciPy prints a set into one docstring."""
    call = f"load_docstrings(data_home={str(tmp_path)!r})"
    program = [sys.executable, "-c", f"from skcooc.datasets import load_docstrings; {call}"]
    settings = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONWARNINGS": "always"}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=settings)
    assert (done.stdout, done.stderr) == ("", "")
    (file,) = (tmp_path / "skcooc").iterdir()
    documents = json.loads(gzip.decompress(file.read_bytes()))
    assert documents["names"] == corpus.names
    for there, here in zip(documents["data"], corpus.data, strict=True):
        assert sorted(re.findall(r"\w+", there)) == sorted(re.findall(r"\w+", here))


@pytest.fixture
def few(monkeypatch, tmp_path_factory):
    monkeypatch.setattr(docstrings, "PACKAGES", (np,))
    home = tmp_path_factory.mktemp("few")
    return SimpleNamespace(data=load_docstrings(data_home=home).data, home=home)


def test_damaged_cache_is_replaced_and_no_folder_is_needed(few, tmp_path):
    path = docstrings.cache_path(tmp_path)
    good = docstrings.cache_path(few.home).read_bytes()
    for damaged in (good[:-20], b"", gzip.compress(b"[")):
        path.write_bytes(damaged)
        assert load_docstrings(data_home=tmp_path).data == few.data
        assert path.read_bytes() == good
        assert list(path.parent.iterdir()) == [path]
    assert load_docstrings(data_home=path / "below").data == few.data  # which is a file


@pytest.mark.parametrize("function", ["TemporaryDirectory", "replace"])
def test_unwritable_data_folder(few, tmp_path, monkeypatch, function):
    def refuse(*args, **kwargs):
        raise PermissionError("read-only")

    owner = docstrings.os if function == "replace" else docstrings.tempfile
    monkeypatch.setattr(owner, function, refuse)
    assert load_docstrings(data_home=tmp_path).data == few.data
    assert list((tmp_path / "skcooc").iterdir()) == []


def test_optional_dependencies_are_skipped_and_bad_parameters_refused(monkeypatch, tmp_path):
    real = docstrings.importlib.import_module

    def import_module(name):
        if name == "sklearn.svm":
            raise ImportError("needs something")
        return real(name)

    monkeypatch.setattr(docstrings.importlib, "import_module", import_module)
    modules = docstrings.build()["modules"]
    assert "sklearn.svm" not in modules
    assert "sklearn.tree" in modules
    with pytest.raises(ValueError, match="The 'return_X_y' parameter of load_docstrings must be"):
        load_docstrings(return_X_y="yes")
    monkeypatch.setattr(docstrings.sys, "flags", SimpleNamespace(optimize=2))
    with pytest.raises(RuntimeError, match="-OO"):
        load_docstrings(data_home=tmp_path)
