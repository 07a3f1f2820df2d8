import json

import joblib
import pytest
import scipy.sparse as sp

from skcooc.cli import main
from skcooc.datasets import make_cooccurrences
from tests.cli.odd import DOCUMENTS, table

FAST = ["-k", "3", "--max-iter", "10", "--jobs", "1"]
HEADER = ("id", "text", "category", "date")


def written(path, header, records, separator=","):
    path.write_bytes(table([header, *records], separator))
    return path


@pytest.fixture(scope="module")
def X():
    return make_cooccurrences(30, 20, 3, n_tokens=3000, random_state=0).X


ARTICLES = [
    (str(i), text, ("home", "sport")[i % 2], f"2024-0{1 + i % 3}-05")
    for i, text in enumerate(DOCUMENTS)
]


@pytest.fixture
def npz(X, tmp_path):
    sp.save_npz(tmp_path / "counts.npz", X)
    return tmp_path / "counts.npz"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "documents.txt").write_text("\n".join(DOCUMENTS))
    return tmp_path / "documents.txt"


@pytest.fixture
def run(capsys):
    def printed(*arguments):
        code = main([*FAST, *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return printed


@pytest.fixture
def summary(run, tmp_path):
    """Run with these arguments and write the results; what is printed, the summary, the model."""

    def written(*arguments):
        folder = tmp_path / "new" / "out"
        out = run(*arguments, "--output", folder)
        found = json.loads((folder / "summary.json").read_text())
        return out, found, joblib.load(folder / "model.joblib")

    return written


@pytest.fixture
def error(capsys):
    """Run with bad input, or where output cannot be written; the one line that is said of it."""

    def said(*arguments, code=2):
        found = main([*FAST, *map(str, arguments)])
        out, err = capsys.readouterr()
        assert found == code
        assert out == "" or code == 1  # after the report, where results cannot be written
        assert err.count("\n") == 1
        assert err.startswith("skcooc: error: ")
        return err

    return said
