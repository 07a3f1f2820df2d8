"""The examples on language run, on small tables in place of the data sets."""

import re
import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition, ensemble

import skcooc
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
        ("plot_aggregate_markov", "bible"),
        ("plot_adjectives_and_nouns", "brown_pairs"),
        ("plot_class_bigrams", "bible"),
    ],
)
def test_language(name, data, monkeypatch, capsys):
    monkeypatch.setattr(corpora, data, small_corpus)
    assert "word" in printed_by(name, capsys)


@pytest.mark.filterwarnings("ignore")
def test_strange_documents(monkeypatch, capsys):
    usual, strange = (
        make_cooccurrences(n, 40, 3, n_tokens=60 * n, random_state=n).X for n in (150, 30)
    )
    titles = np.array([f"title{i}" for i in range(180)])
    labels, words = np.repeat([0, 1], [150, 30]), np.arange(40).astype(str)
    corpus = corpora.Corpus(sp.csr_array(sp.vstack([usual, strange])), titles, labels, words)
    monkeypatch.setattr(corpora, "cranfield_and_neurips", lambda: corpus)
    for room, name, few in (
        (decomposition, "LatentDirichletAllocation", {"max_iter": 1}),
        (ensemble, "IsolationForest", {"n_estimators": 5}),
        (skcooc, "AspectModel", {"beta": 0.9}),
    ):
        monkeypatch.setattr(room, name, partial(getattr(room, name), **few))
    found = printed_by("plot_strange_documents", capsys)
    assert "strange, but least so: title" in found
    clean = found.split("some are fitted")[0]
    assert float(re.search(r"aspects, whole row +([\d.]+)", clean)[1]) > 0.9
