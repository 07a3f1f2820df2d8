import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from skcooc.cli import main
from skcooc.cli.report import printable


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.tsv", "x.npz", "x.mtx", "x.mtx.gz"])
class TestBadFiles:
    def test_missing(self, error, tmp_path, name):
        assert "No such file" in error(tmp_path / name)

    def test_empty(self, error, tmp_path, name):
        (tmp_path / name).write_bytes(b"")
        assert name in error(tmp_path / name)

    @pytest.mark.parametrize(
        "junk",
        [
            bytes(range(256)) * 8,
            b"\0" * 500,
            b"PK\x03\x04" + b"\0" * 500,
            b"\x93NUMPY\x01\x00",
            b"\x1f\x8b" + b"\0" * 20,
            b"%%MatrixMarket matrix coordinate real general\n2 2 9\n1 1",
        ],
    )
    def test_junk(self, error, tmp_path, name, junk):
        (tmp_path / name).write_bytes(junk)
        assert name in error(tmp_path / name)


def test_a_folder_without_files(error, tmp_path):
    assert "no documents" in error(tmp_path)


def test_a_folder_with_a_binary_file(error, documents, tmp_path):
    (tmp_path / "good.txt").write_text(documents[0])
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n")
    assert "image.png: not a text in UTF-8" in error(tmp_path)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", ["--row", "user"], "no column 'user'; the header is a, b"),
        ("a,b\n1,2\n", ["--row", "b"], "both 'b'"),
        ("a\n1\n", [], "two names or more"),
        ("a,b\n", [], "no records"),
        ("a,b\n1,2\n1\n", [], "line 3: number of fields is 1, in the header 2"),
        ("a,b,count\n1,2,3\n1,3,-2\n", [], "line 3: '-2' is not a count"),
        ("a,b,count\n1,2,many\n", [], "line 2: 'many' is not a count"),
        ("a,b,count\n1,2,nan\n", [], "line 2: 'nan' is not a count"),
        ("a,b,count\n1,2,inf\n", [], "line 2: 'inf' is not a count"),
        ("a,b\n1,2\n2,1\n", [], "2 observations; it takes from 100"),
        ("a,b,count\n1,2,500\n1,3,500\n", [], "1 values of a and 2 values of b"),
        ("a,b,count\n1,2,5e9\n2,1,1\n", [], "observations; it takes from 100"),
        ('a,b\n"1,2\n', [], "line 2: unexpected end of data"),
    ],
)
def test_bad_pairs(error, tmp_path, content, options, message):
    (tmp_path / "pairs.csv").write_text(content)
    assert message in error(tmp_path / "pairs.csv", *options)


@pytest.mark.parametrize(
    ("bad", "message"),
    [(-1, "negative, such as -1"), (np.nan, "not all finite"), (np.inf, "not all finite")],
)
@pytest.mark.parametrize("suffix", ["npz", "mtx"])
def test_bad_counts(error, X, tmp_path, bad, message, suffix):
    X = X.astype(float)
    X.data[3] = bad
    path = tmp_path / f"counts.{suffix}"
    (sp.save_npz if suffix == "npz" else scipy.io.mmwrite)(path, X)
    assert message in error(path)


def test_a_page_without_jinja(error, npz, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "--html: explore needs Jinja2" in error(npz, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_other_arrays_and_texts_without_words(error, X, tmp_path):
    sp.save_npz(tmp_path / "counts.npz", X * 1j)
    assert "complex" in error(tmp_path / "counts.npz")
    np.savez(tmp_path / "counts.npz", X=X.toarray())
    assert "not a sparse matrix" in error(tmp_path / "counts.npz")
    (tmp_path / "a.txt").write_text("the and of\n1 2 3\n")
    assert "no words are left (documents: 2)" in error(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "arguments",
    [
        "--components 0", "--components three", "--beta 0", "--beta 1.5", "--beta cold",
        "--test-size 0", "--test-size 0.6", "--min-df -1", "--max-df 1.5", "--seed -1",
        "--jobs 0", "--model oracle", "--unknown", "one two",
    ],
)  # fmt: skip
def test_wrong_arguments(capsys, arguments):
    with pytest.raises(SystemExit) as exit:
        main(arguments.split())
    out, err = capsys.readouterr()
    assert exit.value.code == 2
    assert out == ""
    assert err.startswith("skcooc: error: ")
    assert err.count("\n") == 1


def test_clusters_have_no_nearest_rows(error, npz):
    message = error(npz, "--model", "asymmetric", "--nearest", "1")
    assert "--nearest needs mixtures of aspects" in message


def test_a_header_that_promises_a_giant_is_refused(error, tmp_path):
    lines = "%%MatrixMarket matrix coordinate integer general", "999999999 999999999 2"
    (tmp_path / "x.mtx").write_text("\n".join([*lines, "1 1 99", "5 7 99", ""]))
    assert "a matrix of 999999999 x 999999999" in error(tmp_path / "x.mtx")


@pytest.mark.parametrize(("name", "value"), [("indptr", 2**30), ("indptr", -9), ("indices", -1)])
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_a_matrix_with_wild_indices(error, X, tmp_path, name, value, format):
    wild = X.asformat(format).copy()
    getattr(wild, name)[3] = value
    sp.save_npz(tmp_path / "x.npz", wild)
    assert "x.npz: not a sparse matrix of SciPy" in error(tmp_path / "x.npz")


def test_no_memory_is_one_line(capsys, npz, monkeypatch):
    def exhausted(*arguments):
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("skcooc.cli.compare", exhausted)
    assert main([str(npz)]) == 1
    expected = "skcooc: error: not enough memory: Unable to allocate 7.28 TiB\n"
    assert capsys.readouterr().err == expected


def test_what_a_terminal_obeys_is_written_out(error, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,count\n1,2,\x1b[2Jmany\n")
    assert "\x1b" not in error(tmp_path / "x.csv")
    (tmp_path / "\x1b[2J.csv").write_text("a,b\n1,2\n")
    assert "\\x1b[2J.csv: 1 values of" in error(tmp_path / "\x1b[2J.csv")
    assert printable("\u202eabc\x9b\n") == "\\u202eabc\\x9b\n"
