import hashlib
import http.server
import json
import threading

import numpy as np
import pytest

from skcooc.datasets import cranfield, fetch_cranfield

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
    """Serve small files in place of the real ones: their folder and the requests so far."""
    folder = tmp_path / "served"
    folder.mkdir()
    contents = zip(cranfield.CHECKSUMS, (DOCUMENTS, QUERIES, JUDGEMENTS), strict=True)
    for name, content in contents:
        (folder / name).write_text(json.dumps(content))
        checksum = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        monkeypatch.setitem(cranfield.CHECKSUMS, name, checksum)
    requests: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_request(self, *args):
            requests.append(self.path)

        def log_error(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(cranfield, "BASE_URL", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield folder, requests
    server.shutdown()
    thread.join()
    server.server_close()


def test_contents(source, tmp_path):
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


def test_downloads_once_and_not_at_all_where_that_is_not_wanted(source, tmp_path):
    _, requests = source
    with pytest.raises(OSError, match="Data not found and `download_if_missing` is False"):
        fetch_cranfield(data_home=tmp_path / "home", download_if_missing=False)
    assert requests == []
    first = fetch_cranfield(data_home=tmp_path / "home")
    assert sorted(requests) == ["/cran.qry.json", "/cranfield_data.json", "/cranqrel.json"]
    again = fetch_cranfield(data_home=tmp_path / "home")
    offline = fetch_cranfield(data_home=tmp_path / "home", download_if_missing=False)
    assert len(requests) == 3
    assert first.data == again.data == offline.data


@pytest.mark.parametrize("name", cranfield.CHECKSUMS)
def test_wrong_file_at_the_source(source, tmp_path, name):
    folder, _ = source
    (folder / name).write_text("[]")
    with pytest.raises(OSError, match=f"SHA256 checksum of {name} .* differs from expected"):
        fetch_cranfield(data_home=tmp_path / "home")
    assert not (tmp_path / "home" / "cranfield" / name).exists()


def test_damaged_local_file(source, tmp_path):
    _, requests = source
    good = fetch_cranfield(data_home=tmp_path / "home")
    (tmp_path / "home" / "cranfield" / "cranqrel.json").write_text("[")
    with pytest.raises(OSError, match=r"cranqrel\.json .* differs from expected"):
        fetch_cranfield(data_home=tmp_path / "home", download_if_missing=False)
    with pytest.warns(UserWarning, match="re-downloading"):
        repaired = fetch_cranfield(data_home=tmp_path / "home")
    assert requests[3:] == ["/cranqrel.json"]
    assert repaired.relevance.tolist() == good.relevance.tolist()
    with pytest.raises(ValueError, match="The 'n_retries' parameter of fetch_cranfield must be"):
        fetch_cranfield(n_retries=0)
