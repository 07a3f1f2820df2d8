import hashlib
import json
import shutil

import numpy as np
import pytest

from skcooc.datasets import cranfield, fetch_cranfield
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
