import errno
import sys
from pathlib import Path

import pytest
import scipy.sparse as sp

from skcooc.cli import main
from skcooc.cli.terminal import printable


def test_a_page_without_jinja(error, npz, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "--html: explore needs Jinja2" in error(npz, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_wrong_arguments(capsys):
    for arguments in (
        "--components 0", "--components three", "--beta 0", "--beta 1.5", "--beta cold",
        "--test-size 0", "--test-size 0.6", "--min-df -1", "--max-df 1.5", "--seed -1",
        "--jobs 0", "--model oracle", "--unknown", "one two",
    ):  # fmt: skip
        with pytest.raises(SystemExit) as exit:
            main(arguments.split())
        out, err = capsys.readouterr()
        assert exit.value.code == 2
        assert out == ""
        assert err.startswith("skcooc: error: ")
        assert err.count("\n") == 1


def test_clusters_have_no_nearest_rows(error, npz):
    message = error(npz, "--model", "asymmetric", "--nearest", "1")
    assert "--nearest needs a topic model" in message


@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_a_matrix_with_invalid_indices(error, X, tmp_path, format):
    for name, value in (("indptr", 2**30), ("indptr", -9), ("indices", -1)):
        invalid = X.asformat(format).copy()
        getattr(invalid, name)[3] = value
        sp.save_npz(tmp_path / "x.npz", invalid)
        assert "x.npz: not a sparse matrix of SciPy" in error(tmp_path / "x.npz")


def test_no_memory_is_one_line(capsys, npz, monkeypatch):
    def exhausted(*arguments):
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("skcooc.cli.compare", exhausted)
    assert main([str(npz)]) == 1
    expected = "skcooc: error: not enough memory: Unable to allocate 7.28 TiB\n"
    assert capsys.readouterr().err == expected


def test_control_characters_are_escaped():
    assert printable("\u202eabc\x9b\n") == "\\u202eabc\\x9b\\n"


def test_a_file_without_permission(error, tmp_path, monkeypatch):
    names = "a.csv", "a.npz", "a.parquet", "a.txt", "a.json"
    for name in names:
        (tmp_path / name).write_text("a,b\n1,2\n")

    def forbidden(*_, **__):  # root may read everything
        raise PermissionError(errno.EACCES, "Permission denied")

    for method in ("open", "read_bytes"):
        monkeypatch.setattr(Path, method, forbidden)
    for name in names:
        assert f"{name}: Permission denied" in error(tmp_path / name)
