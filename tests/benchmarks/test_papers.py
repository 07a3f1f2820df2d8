import numpy as np
import pytest

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
    assert [row["model"] for row in rows] == ["unigram", "unigram with cache"] * 2 + [
        "AspectModel"
    ] * 2
    assert len({row["perplexity"] for row in rows}) == 6
    assert rows[0]["paper"] == 685
    assert (rows[-1]["paper"], rows[-1]["beta of paper"]) == (482, 0.88)
    assert all(0.85 < X.sum() / corpus.X.sum() < 0.95 for X in seen)
    assert rows[-1]["fold"] == 1


def test_every_model_of_table_2_has_its_figures():
    for of_models in papers.TABLE2.values():
        assert {family.name for family in papers.FAMILIES.values()} == set(of_models)
        assert all(len(values) == len(papers.SIZES) for values in of_models.values())


def test_curves_have_a_point_after_each_iteration_and_are_drawn(corpus, monkeypatch, tmp_path):
    names = "AspectModel", "leave-one-out"
    panels = [papers.Panel("Cranfield", (name,), (1.0, 1.0, 1.0, 1.0)) for name in names]
    monkeypatch.setattr(papers, "PANELS", {"figure 7": panels * 2})
    rows = list(papers.papers_curves(["Cranfield"], K=3, max_iter=6))
    points = [row for row in rows if row["part"] == "curve"]
    summaries = [row for row in rows if row["part"] == "summary"]
    assert [row["model"] for row in summaries] == ["AspectModel", "leave-one-out"]
    for summary in summaries:
        mine = [row for row in points if row["model"] == summary["model"]]
        assert [row["iteration"] for row in mine] == [1, 2, 3, 4, 5, 6]
        assert min(row["test"] for row in mine) == summary["least"]
        assert summary["training at the end"] < mine[0]["training"]
    papers.draw(rows, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 5000
