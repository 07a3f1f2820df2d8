import json
import re

import numpy as np
import pytest

from benchmarks.papers import paper_page, paper_tables, papers
from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences


@pytest.fixture
def X():
    return make_cooccurrences(60, 40, n_components=3, random_state=0).X.astype(np.float32)


def rows(ratios, model="AspectModel"):
    """Two folds for each K, around the memo's perplexity times a ratio."""
    yield {"model": "unigram", "K": 1, "fold": 0, "perplexity": 690.0}
    yield {"model": "unigram", "K": 1, "fold": 1, "perplexity": 700.0}
    rest = {"smoothing": 0.1, "hardly smoothed": 500.0, "seconds": 2.0}
    for K, ratio in ratios.items():
        centre = ratio * paper_tables.MEMO["cranfield"]["SMM"][K].perplexity
        for fold, offset in enumerate((-2.0, 2.0)):
            result = {"perplexity": centre + offset, "beta": 0.8 + 0.01 * fold}
            yield {"model": model, "K": K, "fold": fold, **result, **rest}
    yield {"model": model, "elapsed": 7.0}


def test_folds_are_disjoint_and_together_all_observations(X):
    parts = list(paper_tables.divided(X, 10))
    tests = [test.to_csr() for _, test in parts]
    assert np.array_equal(sum(tests).toarray(), X.toarray())
    for (train, _), test in zip(parts, tests, strict=True):
        assert np.array_equal((train + test).toarray(), X.toarray())
        assert train.dtype == np.float32
    assert len(list(paper_tables.divided(X, 2))) == 2


def test_a_fit_knows_training_observations_alone(X, monkeypatch):
    part = next(paper_tables.divided(X, 1))
    seen = []

    class Watched(AspectModel):
        def fit(self, X):
            seen.append(X)
            return super().fit(X)

    family = paper_tables.Family("SMM", Watched)
    monkeypatch.setitem(paper_tables.FAMILIES, "AspectModel", family)
    row = paper_tables.fitted("AspectModel", 3, 4, part)
    (fitted,) = seen
    assert fitted is part[0]
    plain = AspectModel(3, random_state=4).fit(part[0])
    assert row["perplexity"] == pytest.approx(plain.perplexity(part[1]), rel=1e-6)
    assert (row["beta"], row["smoothing"]) == (plain.beta_, plain.smoothing_)
    test, P = part[1], plain.embedding_ @ plain.components_
    of_test = (0.999 * P + 0.001 * plain.unigram_)[test.rows, test.columns]
    assert row["hardly smoothed"] == pytest.approx(np.exp(-np.log(of_test).mean()), rel=1e-5)


def test_means_stand_beside_those_of_the_memo():
    unigram, eight, large = paper_tables.summary(list(rows({8: 1.0, 128: 1.1})), "cranfield")
    assert (unigram["perplexity"], unigram["memo"], unigram["K"]) == (695.0, 685.0, 1)
    assert (eight["perplexity"], eight["memo"], eight["beta of memo"]) == (482.0, 482, 0.88)
    assert eight["beta"] == pytest.approx(0.805)
    assert eight["sd"] == pytest.approx(np.std([-2.0, 2.0], ddof=1))
    assert large["ratio"] == pytest.approx(1.1)


def test_the_page_says_what_is_missed_and_which_hierarchies_reach_the_paper():
    facts = {"cpu": "", "cores": 2, "memory_gib": 1, "python": "3", "versions": {"numpy": "2"}}
    options = {"tables": {"jobs": 2, "folds": 10}}

    def page(*results):
        tables = {"cranfield": [row for each in results for row in each]}
        given = {"options": options, "machine": facts, "curves": [], "tables": tables}
        return paper_page.page(given)

    for ratio, words in ((1.02, "No figure of the memo"), (1.04, "AspectModel at K = 8 (1.040)")):
        text = page(rows({8: ratio, 16: 1.0}))
        assert words in text
        assert ("**1.040**" in text) == (ratio > 1.03)
    SMM, HACM = (paper_tables.MEMO["cranfield"][name] for name in ("SMM", "HACM"))
    of_smm = {K: HACM[K].perplexity / SMM[K].perplexity for K in (8, 16)}
    wide = rows({8: of_smm[8], 16: 1.01 * of_smm[16]}, "ClusterAbstraction")
    good = rows({K: 0.99 * ratio for K, ratio in of_smm.items()}, "ClusterAbstraction, grown")
    text = page(wide, good)
    assert "* HACM: at K = 16 (1.0 %)\n* HACM, grown: nowhere\n" in text
    assert "| HACM | HACM, grown |" in text


def test_everything_runs_and_the_page_can_be_written_again(tmp_path):
    saved = tmp_path / "results.json"
    small = "--data cranfield --models AspectModel --components 2 --folds 2 --jobs 1"
    small += " --curve-components 2"
    where = ["--docs", str(tmp_path), "--output", str(saved)]
    papers.main(["--quick", "--max-iter", "3", *small.split(), *where])
    page = (tmp_path / "papers.md").read_text()
    pictures = re.findall(r"\]\((.*?)\)", page)
    assert len(pictures) == 4
    assert all((tmp_path / name).is_file() for name in pictures)
    assert {len(row["test"]) for row in json.loads(saved.read_text())["curves"]} <= {2, 3, 6}
    (tmp_path / "papers.md").unlink()
    papers.main(["--from", str(saved), "--docs", str(tmp_path)])
    assert (tmp_path / "papers.md").read_text() == page
