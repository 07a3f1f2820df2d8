"""Topic-free language models against transcriptions and broken variants, and their comparison."""

import doctest

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.quality import language, language_models
from benchmarks.quality.language_models import (
    Grouped,
    SimilarRows,
    best_back_off,
    continuations,
    frequencies,
    mixed_order,
    nearest_rows,
)
from skcooc.datasets import make_cooccurrences
from skcooc.heldout import Discounted, Interpolated, Unigram
from skcooc.metrics import perplexity_of
from tests.benchmarks import literal_language_models as literal
from tests.heldout.test_predictors import (
    N_COLUMNS,
    N_ROWS,
    check_predictors,
    dense,
    whole_counts,
)


def test_examples_of_the_docstrings():
    found = doctest.testmod(language_models)
    assert found.attempted > 10
    assert not found.failed


def test_all_predict_distributions():
    known, rng = whole_counts(), np.random.default_rng(1)
    similar = SimilarRows(known, *nearest_rows(known, 5), beta=4.0)
    contexts = rng.integers(N_COLUMNS, size=(N_ROWS, 2))
    predictors = [
        frequencies(known),
        Discounted(known, 0.7, Unigram(continuations(known))),
        similar,
        Grouped(similar, rng.integers(5, size=N_ROWS)),
        mixed_order(known, contexts, max_iter=3),
    ]
    check_predictors(predictors, known)


def test_continuations_count_rows_not_tokens():
    known = whole_counts()
    types = (known.toarray() > 0).sum(axis=0)
    expected = (types + 1) / (types.sum() + N_COLUMNS)
    np.testing.assert_allclose(continuations(known), expected)
    stored = known.copy()
    stored.data[0] = 0  # a stored zero does not count
    assert continuations(stored)[stored.indices[0]] < expected[stored.indices[0]]


def test_similar_rows_equal_the_transcription():
    known = whole_counts()
    neighbors, divergences = nearest_rows(known, 4)
    nearest, J = literal.nearest_rows(known.toarray(), 4)
    np.testing.assert_allclose(np.minimum(divergences, 9), np.minimum(J, 9), atol=1e-12)
    for beta in (0.0, 3.0):
        P = dense(SimilarRows(known, neighbors, divergences, beta))
        np.testing.assert_allclose(P, literal.similar(known.toarray(), nearest, J, beta))
        broken = literal.similar(known.toarray(), nearest, J / 2, beta)
        assert (np.abs(P - broken).max() > 1e-3) == (beta > 0)


def test_similar_rows_with_few_or_no_neighbours():
    known = sp.csr_array(np.array([[2.0, 0, 0], [0, 1.0, 1], [0, 2, 0], [0, 0, 0]]))
    neighbors, divergences = nearest_rows(known, 50)
    assert neighbors.shape == divergences.shape == (4, 3)
    assert np.isinf(divergences[[0, 3]]).all()
    P = dense(SimilarRows(known, neighbors, divergences, 2.0), known.shape)
    np.testing.assert_allclose(P, [[1 / 3, 1 / 2, 1 / 6], [0, 1, 0], [0, 0.5, 0.5], P[0]])


def text(seed=0, n_words=6, length=400, m=2):
    """Contexts of m words, the nearest first, and how often each word followed."""
    rng = np.random.default_rng(seed)
    words = list(rng.integers(n_words - 1, size=m))  # the last word is never seen
    while len(words) < length:
        source = words[-1] if rng.random() < 0.6 - 0.1 * words[-1] else words[-2]
        words.append((source + (rng.random() < 0.2)) % (n_words - 1))
    words = np.array(words)
    before = np.stack([words[m - k : -k] for k in range(1, m + 1)], axis=1)
    contexts, rows = np.unique(before, axis=0, return_inverse=True)
    n = np.zeros((len(contexts), n_words))
    np.add.at(n, (rows.ravel(), words[m:]), 1)
    return n, contexts


def test_mixed_order_equals_the_transcription_and_not_its_broken_step():
    for m in (1, 2, 3):
        n, contexts = text(m=max(m, 2))
        contexts, X = contexts[:, :m], sp.csr_array(n)
        expected = broken = literal.skipping(n, contexts)
        for _ in range(4):
            expected = literal.mixed_order_step(n, contexts, *expected)
            broken = literal.mixed_order_step(n, contexts, *broken, broken=True)
        P = dense(mixed_order(X, contexts, max_iter=4), n.shape)
        np.testing.assert_allclose(P, literal.mixed_order(contexts, *expected))
        assert m < 3 or np.abs(P - literal.mixed_order(contexts, *broken)).max() > 0.01
    n, contexts = text()
    P = dense(mixed_order(sp.csr_array(n), contexts).at(np.array([[5, 5], [0, 5]])), (2, 6))
    np.testing.assert_allclose(P[0], n.sum(axis=0) / n.sum())  # of words that were never seen
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_best_back_off_is_as_good_as_a_grid():
    known, held_out = whole_counts(), whole_counts(seed=5).toarray()
    known_rows = known.sum(axis=1) > 0
    held_out[~known_rows] = 0
    rng = np.random.default_rng(0)
    lower = [Unigram(rng.dirichlet(np.ones(N_COLUMNS))) for _ in range(2)]
    best = best_back_off(held_out, known, lower)
    grid = {
        perplexity_of(held_out, Discounted(known, d, Interpolated(lower, (w, 1 - w)))): (d, w)
        for d in np.linspace(0, 1, 13)
        for w in np.linspace(0, 1, 13)
    }
    assert perplexity_of(held_out, best) <= min(grid) * (1 + 1e-6)
    assert best.discount == pytest.approx(grid[min(grid)][0], abs=0.1)


def test_wrong_arguments_are_refused():
    known = whole_counts()
    with pytest.raises(ValueError, match=r"beta=-1.0 should be in the \[0, inf\) range"):
        SimilarRows(known, *nearest_rows(known, 2), beta=-1.0)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        nearest_rows(known, 0)
    with pytest.raises(ValueError, match="do not match X"):
        mixed_order(known, np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match="should be columns of X"):
        mixed_order(known, np.full((N_ROWS, 2), N_COLUMNS))


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
