import csv
import io
import json

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.cli import main
from skcooc.datasets import make_cooccurrences

FAST = ["-k", "3", "--max-iter", "10", "--jobs", "1"]
TOPICS = ("cat dog horse cow sheep", "bread cheese wine apple soup", "piano violin flute drum harp")

HEADER = ("id", "text", "category", "date")


def written(path, header, records, separator=","):
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows([header, *records])
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def X():
    return make_cooccurrences(30, 20, 3, n_observations=3000, random_state=0).X


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(TOPICS[i % 3].split(), 12)) for i in range(30)]


@pytest.fixture
def articles(documents):
    """Records of a text with an id, a desk, and a date."""
    return [
        (str(i), text, ("home", "sport")[i % 2], f"2024-0{1 + i % 3}-05")
        for i, text in enumerate(documents)
    ]


@pytest.fixture
def npz(X, tmp_path):
    sp.save_npz(tmp_path / "counts.npz", X)
    return tmp_path / "counts.npz"


@pytest.fixture
def texts(documents, tmp_path):
    """The documents, in a file with one on each line."""
    (tmp_path / "documents.txt").write_text("\n".join(documents))
    return tmp_path / "documents.txt"


@pytest.fixture
def run(capsys):
    """Run with these arguments; what is printed."""

    def printed(*arguments):
        code = main([*FAST, *map(str, arguments)])
        out, err = capsys.readouterr()
        assert err == ""
        assert code == 0
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
    """Run with bad input; the one line that is said of it."""

    def said(*arguments):
        code = main([*FAST, *map(str, arguments)])
        out, err = capsys.readouterr()
        assert code == 2
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith("skcooc: error: ")
        return err

    return said
