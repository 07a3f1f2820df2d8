from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks import corpora, papers
from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences


@pytest.fixture
def corpus(monkeypatch):
    X = make_cooccurrences(60, 40, n_components=3, random_state=0, dtype=np.int64).X
    made = corpora.Corpus(X, None, None, np.arange(40))
    monkeypatch.setitem(corpora.COLLECTIONS, "Cranfield", lambda: made)
    return made


def test_table_2_is_scored_on_folds_and_compared_with_the_papers_figures(corpus, monkeypatch):
    seen = []

    class Watched(AspectModel):
        def fit(self, X):
            seen.append(X)
            return super().fit(X)

    monkeypatch.setattr(papers, "FAMILIES", {"AspectModel": papers.Family("SMM", Watched)})
    rows = list(papers.papers_table2(["Cranfield"], components=[8], folds=2, jobs=1))
    topic_free = ["unigram", "unigram with cache", "50 nearest rows with cache"]
    assert [row["model"] for row in rows] == topic_free * 2 + ["AspectModel"] * 2
    assert len({row["perplexity"] for row in rows}) == 8
    assert rows[0]["paper"] == 685
    assert (rows[-1]["paper"], rows[-1]["beta of paper"]) == (482, 0.88)
    assert all(0.85 < X.sum() / corpus.X.sum() < 0.95 for X in seen)
    assert rows[-1]["fold"] == 1


def literal_predictive_em(n, A, B, beta, steps):
    """Token after token: all other tokens of the row and of the column, by the step before."""
    tokens = [(i, j) for i, j in np.argwhere(n) for _ in range(n[i, j])]
    q = np.array([A[i] * B[:, j] / (A[i] @ B[:, j]) for i, j in tokens])
    rows, columns = np.array(tokens).T
    for _ in range(steps):
        new = []
        for r, (i, j) in enumerate(tokens):
            other = np.arange(len(tokens)) != r
            row, column = q[other & (rows == i)].sum(axis=0), q[other & (columns == j)].sum(axis=0)
            terms = (row * column / q[other].sum(axis=0)) ** beta
            new.append(terms / terms.sum() if terms.sum() > 0 else np.full(len(terms), 1 / 3))
        q = np.array(new)
    N = np.array([q[rows == i].sum(axis=0) for i in range(len(n))])
    return N / N.sum(axis=1, keepdims=True)


def test_predictive_em_is_that_of_the_paper(monkeypatch):
    monkeypatch.setattr(papers, "WARM_UP", 1)
    X = make_cooccurrences(12, 10, n_components=3, n_tokens=90, random_state=0).X
    X = sp.csr_array(X, dtype=np.float64)
    model = AspectModel(3, beta=0.8, solver="em", random_state=0)
    first = clone(model).set_params(beta=1.0, max_iter=1).fit(X)
    n = X.toarray().astype(int)
    for steps, (mixtures, _) in enumerate(islice(papers.predictive_em(model, X), 4)):
        args = n, first.embedding_, first.components_
        expected = literal_predictive_em(*args, 0.8, steps)
        np.testing.assert_allclose(mixtures[n.sum(axis=1) > 0], expected[n.sum(axis=1) > 0])
    assert np.abs(mixtures - literal_predictive_em(*args, 1.0, steps)).max() > 0.01
