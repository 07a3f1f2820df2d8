"""The examples on language run, on small tables in place of the data sets."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from benchmarks import corpora
from skcooc.datasets import make_cooccurrences

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def small_corpus():
    X = make_cooccurrences(
        120, 120, 6, n_tokens=20_000, kind="coclusters", random_state=0, dtype=np.int64
    ).X
    words = np.array([f"word{i}" for i in range(120)])
    return corpora.Corpus(X, words, None, words)


def printed_by(name, capsys):
    """Run an example, which draws something; return what it prints."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert plt.get_fignums()
    plt.close("all")
    return capsys.readouterr().out


@pytest.mark.usefixtures("few_starts")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plot_adjectives_and_nouns", "brown_pairs"),
        ("plot_class_bigrams", "bible"),
    ],
)
def test_language(name, data, monkeypatch, capsys):
    monkeypatch.setattr(corpora, data, small_corpus)
    assert "word" in printed_by(name, capsys)
