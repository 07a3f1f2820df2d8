"""What benchmarks/quality/language.py computes: three parts, groups of contexts, combinations."""

import numpy as np
import pytest

from benchmarks.quality import language
from skcooc.datasets import make_cooccurrences
from skcooc.metrics import perplexity_of


@pytest.fixture(scope="module")
def task():
    X = make_cooccurrences(80, 60, 4, random_state=0).X.tocoo()
    return language.divided(*(np.repeat(k, X.data.astype(int)) for k in X.coords), X.shape, 0)


def test_each_observation_is_in_one_part(task):
    X = make_cooccurrences(80, 60, 4, random_state=0).X
    assert abs(sum(task) - X).sum() == 0
    shares = np.array([part.sum() for part in task]) / X.sum()
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=1e-3)


def test_grouped_rows_are_added_up(task):
    groups = np.arange(80) % 7
    for part, grouped in zip(task, language.grouped(task, groups, 7), strict=True):
        for group in range(7):
            expected = part.toarray()[groups == group].sum(axis=0)
            np.testing.assert_allclose(grouped.toarray()[group], expected)


def test_combinations_are_no_worse_than_their_parts_on_what_chose_them(task):
    single = language.parts(task, False, [4], seed=0)
    found = language.predictions(task, single)
    perplexities = {name: perplexity_of(task.validation, p) for name, p in found.items()}
    alone = [perplexities[name] for name in perplexities if name.endswith("alone")]
    assert perplexities["all interpolated"] <= min(alone) * (1 + 1e-6)
    assert perplexities["back-off to all"] <= perplexities["Kneser-Ney"] * (1 + 1e-6)
    rows = list(language.scored("made up", 0, task, found))
    assert [row["prediction"] for row in rows] == list(found)
    summary = language.summary([*rows, *rows])
    assert summary[0]["perplexity"] == pytest.approx(rows[0]["perplexity"])
