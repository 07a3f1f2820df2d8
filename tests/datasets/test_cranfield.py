import gzip
import hashlib
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from skcooc.datasets import cranfield, docstrings, fetch_cranfield, load_docstrings
from tests.tables import refused

DOCUMENTS = [
    {"id": 1, "title": "on wings .", "body": "on wings .   lift  and drag .", "author": "a,b."},
    {"id": 2, "title": "", "body": "", "author": ""},
    {"id": 3, "title": "shock waves .", "body": "shock waves . heat .", "author": "c,d."},
]
QUERIES = [
    {"query number": 1, "query": "what is lift ."},
    {"query number": 2, "query": "what is heat ."},
    {"query number": 0, "query": 0},
]
JUDGEMENTS = [
    {"query_num": "1", "position": 1, "id": "1"},
    {"query_num": "1", "position": 4, "id": "3"},
    {"query_num": "1", "position": 1, "id": "2"},
    {"query_num": "2", "position": 1, "id": "3"},
]


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Small files in place of the real ones: their folder and the downloads so far."""
    folder, downloads = tmp_path / "served", []
    folder.mkdir()
    contents = zip(cranfield.CHECKSUMS, (DOCUMENTS, QUERIES, JUDGEMENTS), strict=True)
    for name, content in contents:
        (folder / name).write_text(json.dumps(content))
        checksum = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        monkeypatch.setitem(cranfield.CHECKSUMS, name, checksum)

    def retrieve(url, path):
        downloads.append(url.removeprefix(cranfield.BASE_URL))
        shutil.copy(folder / downloads[-1], path)

    monkeypatch.setattr("sklearn.datasets._base.urlretrieve", retrieve)
    return folder, downloads


def test_contents_are_downloaded_once(source, tmp_path):
    _, downloads = source
    with pytest.raises(OSError, match="Data not found and `download_if_missing` is False"):
        fetch_cranfield(data_home=tmp_path / "home", download_if_missing=False)
    assert downloads == []
    data = fetch_cranfield(data_home=tmp_path / "home")
    assert data.data == ["on wings . lift and drag .", "", "shock waves . heat ."]
    assert data.titles == ["on wings .", "", "shock waves ."]
    assert data.ids.tolist() == [1, 2, 3]
    assert data.queries == ["what is lift .", "what is heat ."]
    assert data.query_ids.tolist() == [1, 2]
    # The last judgement of each query gets its code back.
    assert data.relevance.tolist() == [[1, 1, 1], [1, 3, 4], [1, 2, -1], [2, 3, -1]]
    assert {a.dtype for a in (data.ids, data.query_ids, data.relevance)} == {np.dtype(np.int64)}
    assert "-1" in data.DESCR
    assert sorted(downloads) == sorted(cranfield.CHECKSUMS)
    again = fetch_cranfield(data_home=tmp_path / "home")
    offline = fetch_cranfield(data_home=tmp_path / "home", download_if_missing=False)
    assert len(downloads) == 3
    assert data.data == again.data == offline.data


def test_damaged_files(source, tmp_path):
    folder, downloads = source
    good = fetch_cranfield(data_home=tmp_path / "home")
    (tmp_path / "home" / "cranfield" / "cranqrel.json").write_text("[")
    with pytest.raises(OSError, match=r"cranqrel\.json .* differs from expected"):
        fetch_cranfield(data_home=tmp_path / "home", download_if_missing=False)
    with pytest.warns(UserWarning, match="re-downloading"):
        repaired = fetch_cranfield(data_home=tmp_path / "home")
    assert downloads[3:] == ["cranqrel.json"]
    assert repaired.relevance.tolist() == good.relevance.tolist()
    refused("The 'n_retries' parameter of fetch_cranfield must be", fetch_cranfield, n_retries=0)
    for name in reversed(cranfield.CHECKSUMS):
        (folder / name).write_text("[]")
        with pytest.raises(OSError, match=f"SHA256 checksum of {name} .* differs from expected"):
            fetch_cranfield(data_home=tmp_path / name)
        assert not (tmp_path / name / "cranfield" / name).exists()


@pytest.fixture(scope="module")
def corpus():
    """As it is in the data folder: a test below compares it with one that is built."""
    return load_docstrings()


def test_contents_of_docstrings(corpus):
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
        *["numpy.generic.fill"] * (np.__version__ >= "2"),  # refers to another docstring
    ):
        assert name not in corpus.names


def test_second_call_reads_the_cache_and_new_versions_a_new_file(corpus, monkeypatch):
    monkeypatch.setattr(docstrings, "build", lambda: pytest.fail("built again"))
    again = load_docstrings()
    for name in ("data", "names", "target_names"):
        assert again[name] == corpus[name]
    np.testing.assert_array_equal(again.target, corpus.target)
    path = docstrings.cache_path(None)
    monkeypatch.setattr(np, "__version__", "99.0")
    assert "numpy99.0" in docstrings.cache_path(None).name
    assert docstrings.cache_path(None) != path


@pytest.fixture
def few(monkeypatch, tmp_path_factory):
    package = SimpleNamespace(__name__="numpy.fft", __version__=np.__version__)
    monkeypatch.setattr(docstrings, "PACKAGES", (package,))
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
        if name == "scipy.sparse.linalg":
            raise ImportError("needs something")
        return real(name)

    monkeypatch.setattr(docstrings.importlib, "import_module", import_module)
    package = SimpleNamespace(__name__="scipy.sparse", __version__="1")
    monkeypatch.setattr(docstrings, "PACKAGES", (package,))
    modules = docstrings.build()["modules"]
    assert "scipy.sparse.linalg" not in modules
    assert "scipy.sparse.csgraph" in modules
    with pytest.raises(ValueError, match="The 'data_home' parameter of load_docstrings must be"):
        load_docstrings(data_home=3)
    monkeypatch.setattr(docstrings.sys, "flags", SimpleNamespace(optimize=2))
    refused("-OO", load_docstrings, data_home=tmp_path, error=RuntimeError)
