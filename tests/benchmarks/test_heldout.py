import doctest
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.quality import (
    language,
    language_models,
    methods,
    no_topics,
    peers,
    remembered,
    tuned,
)
from benchmarks.quality.deep_protocol import most_frequent
from benchmarks.quality.heldout import SCORES, summary, thinned
from benchmarks.quality.perplexity_curves import aspect_curve
from benchmarks.quality.recommending import METHODS, divided, found
from skcooc import AspectModel, Dyads, RowMemory
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
from tests.tables import refused

X = make_cooccurrences(60, 50, 3, burstiness=20, random_state=0).X.astype(np.float32)
TRAIN, TEST = thinned(X, 0.1, 0)
SPLIT = tuned.divide(TRAIN, 0)
EFFORT = replace(tuned.quick(3, 1), em_iterations=40)


def test_parts_and_tables():
    assert abs(TRAIN + TEST - X).sum() == 0
    assert TEST.sum() / X.sum() == pytest.approx(0.1, abs=0.02)
    assert abs(thinned(X, 0.1, 1)[1] - TEST).sum() > 0
    sums = X.sum(axis=0)
    columns = np.flatnonzero(sums >= np.sort(sums)[-7])
    np.testing.assert_array_equal(most_frequent(X, 7).toarray(), X.toarray()[:, columns])
    row = {"data": "made up", "K": 3, "method": "m", "tuning_seconds": 1, "fit_seconds": 2}
    (line,) = summary([row | dict.fromkeys(SCORES, value) for value in (1.0, 3.0)])
    assert [line[name] for name in SCORES] == [2.0] * len(SCORES)
    assert line["sd of alone"] == pytest.approx(np.sqrt(2))


def test_no_topics_is_the_unigram_and_the_memory_alone():
    found = tuned.scores(SPLIT, TEST, methods.without_topics(SPLIT, EFFORT, 0))
    logs = np.log((TRAIN.sum(axis=0) + 1) / (TRAIN.sum() + 50))
    assert found["alone"] == pytest.approx(np.exp(-TEST.sum(axis=0) @ logs / TEST.sum()))
    line = RowMemory(random_state=0).fit(TRAIN)
    assert found["with memory"] == pytest.approx(line.perplexity(Dyads(TEST)))
    seen = (TRAIN.toarray() > 0) * TEST.toarray()
    assert found["share seen"] == pytest.approx(seen.sum() / TEST.sum())
    b, known = line.unigram_, TRAIN.toarray() > 0
    new = np.where(known, 0, TEST.toarray())
    given = np.log(b / (1 - known @ b)[:, None])
    assert found["unseen"] == pytest.approx(np.exp(-(new * given).sum() / new.sum()))
    unigram, cache = no_topics.lines(no_topics.Task(TRAIN, TEST, TRAIN))
    assert (unigram, cache) == pytest.approx((found["alone"], found["with memory"]))
    half, _ = thinned(TRAIN, 0.5, 0)
    assert cache < no_topics.lines(no_topics.Task(TRAIN, TEST, half))[1] < unigram


def test_ours_are_scored_as_the_library_scores_them():
    found = tuned.scores(SPLIT, TEST, methods.aspect_model(SPLIT, EFFORT, 0))
    bare = AspectModel(3, max_iter=40, random_state=0)
    assert found["alone"] == pytest.approx(bare.fit(TRAIN).perplexity(Dyads(TEST)), rel=1e-5)
    memory = RowMemory(bare).fit(TRAIN)
    assert found["with memory"] == pytest.approx(memory.perplexity(Dyads(TEST)), rel=1e-5)


def test_settings_of_peers_are_the_best_of_those_tried_on_validation():
    outcome = methods.nmf_plsa(SPLIT, EFFORT, 0)
    assert outcome.settings["iterations"] in EFFORT.nmf_steps
    found = tuned.scores(SPLIT, TEST, outcome)
    unigram = tuned.scores(SPLIT, TEST, methods.without_topics(SPLIT, EFFORT, 0))
    assert all(found[name] < unigram[name] for name in ("alone", "with memory", "unseen"))

    def tried(*perplexities):
        return [tuned.Tried(value, 0.1, None, {}) for value in perplexities]

    assert [one.perplexity for one in tuned.while_falling(tried(5, 3, 4, 2, 4, 3, 1))] == [
        5, 3, 4, 2, 4, 3
    ]  # fmt: skip


def test_the_memory_of_peers_is_the_best_on_validation():
    (factors,) = peers.plsa_by_nmf(SPLIT.inner, 3, "random", [5], 1, 0)
    best = remembered.best(SPLIT.inner, SPLIT.valid, factors)

    def perplexity(memory):
        return remembered.scores(SPLIT.inner, SPLIT.valid, factors, memory)["with memory"]

    others = [best._replace(**{name: 0.9 * value}) for name, value in best._asdict().items()]
    assert all(perplexity(best) <= perplexity(other) for other in others)


def test_a_value_for_each_iteration_and_those_of_the_search():
    options = Namespace(components=3, max_iter=12)
    found = aspect_curve(X, lambda A, B: float(np.sum(A) / len(A)), "auto", options)
    assert [iteration for iteration, _ in found["curve"]] == list(range(1, 13))
    assert found["search iterations"] > 12
    model = AspectModel(3, max_iter=12, tol=0.0, random_state=0).fit(X)
    assert found["beta"] == model.beta_
    assert aspect_curve(X, lambda A, B: 1.0, 0.9, options)["search iterations"] <= 1


def test_examples_of_the_docstrings():
    found = doctest.testmod(language_models)
    assert found.attempted > 10
    assert not found.failed


def test_all_predict_distributions():
    known, rng = whole_counts(), np.random.default_rng(1)
    similar = language_models.SimilarRows(known, *language_models.nearest_rows(known, 5), beta=4.0)
    contexts = rng.integers(N_COLUMNS, size=(N_ROWS, 2))
    predictors = [
        language_models.frequencies(known),
        Discounted(known, 0.7, Unigram(language_models.continuations(known))),
        similar,
        language_models.Grouped(similar, rng.integers(5, size=N_ROWS)),
        language_models.mixed_order(known, contexts, max_iter=3),
    ]
    check_predictors(predictors, known)


def test_continuations_count_rows_not_tokens():
    known = whole_counts()
    types = (known.toarray() > 0).sum(axis=0)
    expected = (types + 1) / (types.sum() + N_COLUMNS)
    np.testing.assert_allclose(language_models.continuations(known), expected)
    stored = known.copy()
    stored.data[0] = 0  # a stored zero does not count
    assert language_models.continuations(stored)[stored.indices[0]] < expected[stored.indices[0]]


def test_similar_rows_equal_the_transcription():
    known = whole_counts()
    neighbors, divergences = language_models.nearest_rows(known, 4)
    nearest, J = literal.nearest_rows(known.toarray(), 4)
    np.testing.assert_allclose(np.minimum(divergences, 9), np.minimum(J, 9), atol=1e-12)
    for beta in (0.0, 3.0):
        P = dense(language_models.SimilarRows(known, neighbors, divergences, beta))
        np.testing.assert_allclose(P, literal.similar(known.toarray(), nearest, J, beta))
        broken = literal.similar(known.toarray(), nearest, J / 2, beta)
        assert (np.abs(P - broken).max() > 1e-3) == (beta > 0)


def test_similar_rows_with_few_or_no_neighbours():
    known = sp.csr_array(np.array([[2.0, 0, 0], [0, 1.0, 1], [0, 2, 0], [0, 0, 0]]))
    neighbors, divergences = language_models.nearest_rows(known, 50)
    assert neighbors.shape == divergences.shape == (4, 3)
    assert np.isinf(divergences[[0, 3]]).all()
    P = dense(language_models.SimilarRows(known, neighbors, divergences, 2.0), known.shape)
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
        P = dense(language_models.mixed_order(X, contexts, max_iter=4), n.shape)
        np.testing.assert_allclose(P, literal.mixed_order(contexts, *expected))
        assert m < 3 or np.abs(P - literal.mixed_order(contexts, *broken)).max() > 0.01
    n, contexts = text()
    P = dense(
        language_models.mixed_order(sp.csr_array(n), contexts).at(np.array([[5, 5], [0, 5]])),
        (2, 6),
    )
    np.testing.assert_allclose(P[0], n.sum(axis=0) / n.sum())  # of words that were never seen
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_best_back_off_is_as_good_as_a_grid():
    known, held_out = whole_counts(), whole_counts(seed=5).toarray()
    known_rows = known.sum(axis=1) > 0
    held_out[~known_rows] = 0
    rng = np.random.default_rng(0)
    lower = [Unigram(rng.dirichlet(np.ones(N_COLUMNS))) for _ in range(2)]
    best = language_models.best_back_off(held_out, known, lower)
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
        language_models.SimilarRows(known, *language_models.nearest_rows(known, 2), beta=-1.0)
    refused("n_neighbors=0", language_models.nearest_rows, known, 0)
    refused("do not match X", language_models.mixed_order, known, np.zeros((3, 2), dtype=int))
    refused(
        "should be columns of X",
        language_models.mixed_order,
        known,
        np.full((N_ROWS, 2), N_COLUMNS),
    )


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


RNG = np.random.default_rng(0)
SEEN = sp.csr_array(RNG.poisson(0.3, (60, 40)) * 1.0)


def test_whole_cells_of_rows_that_have_enough_are_held_out():
    train, test = divided(SEEN, 0.2, seed=0)
    np.testing.assert_array_equal((train + test).toarray(), SEEN.toarray())
    assert not train.multiply(test).nnz
    sizes = np.diff(SEEN.indptr)
    expected = np.where(sizes >= 5, np.maximum(1, np.round(0.2 * sizes)), 0)
    np.testing.assert_array_equal(np.diff(test.indptr), expected)
    assert (divided(SEEN, 0.2, seed=1)[1] != test).nnz


def test_what_is_popular_and_new_comes_first():
    train, test = divided(SEEN, 0.2, seed=0)
    held_out, items = found("most popular", {}, 0, train, test)
    rows = np.flatnonzero(np.diff(test.indptr))
    assert held_out.shape[0] == len(items) == len(rows)
    rows_with = (train > 0).sum(axis=0)
    for row, first in zip(rows, items[:, 0], strict=True):
        new = np.flatnonzero(train[[row]].toarray()[0] == 0)
        assert first in new
        assert rows_with[first] == rows_with[new].max()
    assert all(settings for _, settings in METHODS.values())
