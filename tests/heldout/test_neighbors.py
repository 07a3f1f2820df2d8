"""Predictions from the nearest rows, compared with slow loops."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks import corpora
from skcooc import AspectModel, Dyads, RowBlocks, RowMemory
from skcooc.datasets import make_cooccurrences
from skcooc.ensemble import row_memory
from skcooc.ensemble.row_memory import thinned
from skcooc.heldout import NearestRows, Unigram
from skcooc.heldout.neighbors import RowIndex
from skcooc.heldout.predictors import smoothed
from skcooc.metrics import perplexity_of, unigram
from skcooc.model_selection import split_counts
from skcooc.tables import as_counts
from tests.data import requires_data
from tests.tables import planted, refused

X = sp.csr_array(planted(4, 1500, n_rows=60, n_columns=50).X.astype(float))
X[[7, 9]] = 0  # empty rows
X.eliminate_zeros()
EVERYTHING = as_counts(sp.csr_array(np.ones(X.shape)))


def literal_weights(known, rows, own, k):
    """Weights of the k nearest rows, the first of equal ones; own: positions, or -1."""
    N = len(known)
    idf = np.log((N + 1) / ((known > 0).sum(axis=0) + 1))
    weights = np.zeros((len(rows), N))
    for i, row in enumerate(rows):
        cosines = []
        for other in known:
            a, b = np.log(1 + row) * idf, np.log(1 + other) * idf
            norms = np.linalg.norm(a) * np.linalg.norm(b)
            cosines.append(a @ b / norms if norms else 0.0)
        if own[i] >= 0:
            cosines[own[i]] = 0.0
        nearest = np.argsort(-np.array(cosines).round(12), kind="stable")[:k]
        weights[i, nearest] = np.array(cosines)[nearest] ** 4
        weights[i] /= weights[i].sum() or 1
    return weights


@pytest.mark.parametrize("k", [1, 3, 50, 100])
def test_neighbours_are_the_nearest_rows_but_not_the_row_itself(k):
    known, n = X.toarray(), X.shape[0]
    found = NearestRows(X, n_neighbors=k).weights.toarray()
    np.testing.assert_allclose(found, literal_weights(known, known, range(n), k), atol=1e-12)
    itself = NearestRows(X, X, n_neighbors=k).weights.toarray()  # as if they were new
    np.testing.assert_allclose(itself, literal_weights(known, known, [-1] * n, k), atol=1e-12)
    assert (np.delete(itself.diagonal(), [7, 9]) > 0).all()
    some = np.array([3, 0, 7])
    part = NearestRows(X, X[some], some, n_neighbors=k).weights.toarray()
    np.testing.assert_array_equal(part, found[some])


@pytest.mark.parametrize("k", [1, 3, 6])
def test_of_equal_rows_the_first_ones_are_neighbours(k):
    known = np.tile(X.toarray()[:12], (5, 1))
    found = NearestRows(sp.csr_array(known), n_neighbors=k).weights.toarray()
    np.testing.assert_allclose(found, literal_weights(known, known, range(60), k), atol=1e-12)


def test_stored_zeros_and_columns_of_all_rows_are_no_products():
    known = X.toarray()
    known[:, [0, 5]] = 1 + np.arange(60)[:, None]  # in all rows: idf 0
    stored = sp.csr_array(np.ones(X.shape))
    stored.data[:] = known.ravel()  # zeros are stored
    found = NearestRows(stored, n_neighbors=5)
    itself = NearestRows(found.index, stored, n_neighbors=5).weights.toarray()
    assert (found.index.by_column.data > 0).all()
    rows = [range(60), [-1] * 60]
    for weights, own in zip([found.weights.toarray(), itself], rows, strict=True):
        np.testing.assert_allclose(weights, literal_weights(known, known, own, 5), atol=1e-12)
    refused("n_neighbors should be at least 1, got 0.", NearestRows, X, n_neighbors=0)


def test_predictions_are_weighted_means_of_shares():
    known = X.toarray()
    sums = known.sum(axis=1, keepdims=True)
    near = NearestRows(X, n_neighbors=5)
    expected = near.weights.toarray() @ (known / np.where(sums > 0, sums, 1))
    found = near.cells(EVERYTHING).reshape(X.shape)
    rest = np.delete(np.arange(len(found)), [7, 9])
    np.testing.assert_allclose(found[rest], expected[rest], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    unigram = (known.sum(axis=0) + 1) / (known.sum() + X.shape[1])
    np.testing.assert_allclose(found[[7, 9]], [unigram] * 2)


def test_threads_and_the_order_of_columns_change_nothing(monkeypatch):
    monkeypatch.setattr("skcooc.heldout.neighbors.PART", 7)
    one, two = (NearestRows(X, n_neighbors=5, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.weights.toarray(), two.weights.toarray())
    np.testing.assert_array_equal(one.cells(EVERYTHING), two.cells(EVERYTHING))
    other = np.random.default_rng(0).permutation(X.shape[1])
    moved = NearestRows(sp.csr_array(X[:, other]), n_neighbors=5)
    np.testing.assert_allclose(moved.weights.toarray(), one.weights.toarray(), atol=1e-12)


def test_an_index_is_prepared_once_and_pickles_as_the_rows_alone(monkeypatch):
    index, some = RowIndex(X), X[[3, 0]]
    expected = NearestRows(X, some, n_neighbors=5)
    first = NearestRows(index, some, n_neighbors=5)
    np.testing.assert_array_equal(first.weights.toarray(), expected.weights.toarray())
    again = pickle.loads(pickle.dumps(index))
    assert vars(again).keys() == {"known", "max_rows", "row_weights"}
    model = RowMemory(neighbors=5, random_state=0).fit(GROUPS)
    before = model.recommend([4], 3)
    monkeypatch.setattr(RowIndex, "unit_rows", lambda self, table: table)  # a broken twin
    assert model.recommend([4], 3).scores.tolist() != before.scores.tolist()
    monkeypatch.setattr("skcooc.heldout.neighbors.sp.csc_array", None)  # it is not made again
    model.recommend([4, 11], 3)


def test_frequent_columns_may_be_left_out():
    rows_with = (X.toarray() > 0).sum(axis=0)
    most = int(np.sort(rows_with)[-3])
    exact = NearestRows(X, n_neighbors=5).weights
    same = NearestRows(X, n_neighbors=5, max_rows=X.shape[0]).weights
    np.testing.assert_array_equal(same.toarray(), exact.toarray())
    fewer = NearestRows(X, n_neighbors=5, max_rows=most - 1).weights
    assert 0.3 < np.minimum(fewer.toarray(), exact.toarray()).sum() / X.shape[0] < 0.999


GROUPS = planted(20, 9000, n_rows=300, n_columns=200, concentration=0.05).X.astype(float)
NEW_ROWS = planted(20, 20000, n_rows=500, n_columns=200, concentration=0.05).X.astype(float)
TRAIN, TEST = split_counts(GROUPS, random_state=0)


def test_neighbours_improve_predictions_and_their_weight_is_the_best():
    near, plain = (
        RowMemory(AspectModel(3, beta=0.9, random_state=0), neighbors=n, random_state=0).fit(TRAIN)
        for n in (10, 0)
    )
    score = near.perplexity(Dyads(TEST))
    assert score < 0.97 * plain.perplexity(Dyads(TEST))
    assert (near.neighbors_, plain.neighbors_, plain.neighbor_share_) == (10, 0, 0.0)
    assert 0.1 < near.neighbor_share_ < 1
    auto = RowMemory(AspectModel(3, beta=0.9, random_state=0), neighbors="auto", random_state=0)
    assert auto.fit(TRAIN).neighbors_ == 50
    # Broken: rows that are their own neighbours predict what they have already.
    rows = NearestRows(TRAIN), NearestRows(TRAIN, TRAIN)
    assert perplexity_of(TRAIN, rows[1]) < 0.9 * perplexity_of(TRAIN, rows[0])


def test_auto_leaves_neighbours_out_where_they_do_not_help():
    X = np.random.default_rng(0).poisson(0.5, (80, 40)).astype(float)  # no structure
    model = RowMemory(neighbors="auto", random_state=0).fit(X)
    assert (model.neighbors_, model.neighbor_share_) == (0, 0.0)
    asked = RowMemory(neighbors=5, random_state=0).fit(X)
    n = X.sum() / len(X)
    assert asked.neighbor_share_ * n / (n + asked.neighbor_tokens_) < 0.15


def test_new_rows_and_recommendations_have_neighbours_too():
    model = RowMemory(neighbors=5, random_state=0).fit(GROUPS)
    rows = np.array([4, 11])
    given = model.recommend(rows, 3, exclude_seen=False).scores
    new = model.recommend(GROUPS[rows], 3, exclude_seen=False).scores
    assert np.abs(given - new).max() > 1e-3  # a new row may be near to its twin
    before = model.score(GROUPS[:9])
    assert before > RowMemory(random_state=0).fit(GROUPS).score(GROUPS[:9])
    model.set_params(neighbors=0)  # of the next fit
    assert model.score(GROUPS[:9]) == before


@pytest.mark.parametrize("estimator", [None, AspectModel(5, beta=0.9, random_state=0)], ids=repr)
def test_neighbours_of_rows_with_few_known_tokens_are_not_trusted(estimator):
    """New rows are never predicted worse than by the best part of the model."""
    train, new = NEW_ROWS[:-150], NEW_ROWS[-150:]
    model = RowMemory(estimator, neighbors=20, random_state=0).fit(train)
    cache, b = RowMemory(random_state=0).fit(train), unigram(train)
    constant = copy.copy(model)
    constant.neighbor_tokens_ = 0.0  # broken: the weight of whole rows for all
    worse = []
    for n in (1, 2, 5, 20):
        known, scored = few_tokens(new[new.sum(axis=1) > n], n)
        near = NearestRows(train, known.table, n_neighbors=20)
        parts = [Unigram(b), *(smoothed(near, b, s) for s in (0.1, 0.3, 0.5, 0.7, 0.9))]
        parts.append(cache.predictor(known))
        if estimator is not None:
            parts.append(model.estimator_.predictor(known))
        best = min(perplexity_of(scored, part) for part in parts)
        assert perplexity_of(scored, model.predictor(known)) < 1.015 * best
        worse.append(perplexity_of(scored, constant.predictor(known)) / best)
    assert max(worse[:2]) > 1.02
    assert worse[-1] < 1
    assert 0.3 < model.neighbor_tokens_ < 20


def test_a_model_that_few_known_tokens_mislead_is_not_trusted():
    model = AspectModel(40, beta=1.0, row_prior=1e-9, max_iter=30, random_state=0)
    train, new = NEW_ROWS[:-150], NEW_ROWS[-150:]
    memory = RowMemory(model, neighbors=20, random_state=0).fit(train)
    constant = copy.copy(memory)
    constant.model_tokens_ = 0.0  # broken
    known, scored = few_tokens(new, 1)
    found, broken, alone, b = (
        perplexity_of(scored, predictor)
        for predictor in (
            memory.predictor(known),
            constant.predictor(known),
            memory.estimator_.predictor(known),
            Unigram(unigram(train)),
        )
    )
    assert alone > 1.2 * b
    assert found < 0.95 * b
    assert broken > 1.05 * b
    assert 1 < memory.model_tokens_ < 20
    assert RowMemory(neighbors=20, random_state=0).fit(train).model_tokens_ == 0


@requires_data
def test_weights_do_not_grow_where_that_predicts_short_rows_worse(monkeypatch):
    train, test = split_counts(corpora.brown_pairs().X, random_state=0)
    model = RowMemory(neighbors=50, random_state=0).fit(train)
    assert model.neighbor_tokens_ == 0
    monkeypatch.setattr(row_memory, "MAX_LOSS", np.inf)  # broken
    broken = RowMemory(neighbors=50, random_state=0).fit(train)
    assert broken.perplexity(Dyads(test)) > 1.005 * model.perplexity(Dyads(test))


def few_tokens(X, n):
    """n tokens of each row, and the others."""
    rng = np.random.default_rng(0)
    known = [rng.multivariate_hypergeometric(row.astype(int), n) for row in X.toarray()]
    known = sp.csr_array(np.array(known, dtype=float))
    return as_counts(known), sp.csr_array(X - known)


def test_rows_are_thinned_by_turns_and_some_stay_whole():
    table = X.copy()
    few = thinned(table, np.random.default_rng(0))
    np.testing.assert_array_equal(table.toarray(), X.toarray())
    assert (few.toarray() <= X.toarray()).all()
    for i in range(X.shape[0]):
        n = (1, 2, 4, 8, 16, None)[i % 6]
        row = few[[i]].toarray()[0]
        if n is None:
            np.testing.assert_array_equal(row, X[[i]].toarray()[0])
        else:
            assert row.max(initial=0) <= 1
            assert row.sum() == min(n, X[[i]].nnz)


def test_the_weight_of_neighbours_is_learnt_from_rest_and_held_out_tokens_alone(monkeypatch):
    """Tokens that are predicted are neither known nor among the neighbours."""
    tables, real = [], row_memory.memory_cells

    def memory_cells(known, heldout, predictor, background, near, unigram):
        tables.append((known, heldout.table, near))
        return real(known, heldout, predictor, background, near, unigram)

    monkeypatch.setattr(row_memory, "memory_cells", memory_cells)
    model = RowMemory(AspectModel(3, beta=0.9, random_state=0), neighbors=5, random_state=0)
    model.fit(GROUPS)
    (rest, heldout, _), (few, again, near), of_model = tables
    assert of_model[0] is few
    assert of_model[2] is near
    np.testing.assert_array_equal((rest + heldout).toarray(), GROUPS.toarray())
    np.testing.assert_array_equal(again.toarray(), heldout.toarray())
    assert (few.toarray() <= rest.toarray()).all()
    np.testing.assert_array_equal(near.index.known.toarray(), rest.toarray())
    assert not near.weights.diagonal().any()  # no row is its own neighbour


def test_rows_of_no_weight_are_no_neighbours_and_weights_multiply_rows():
    X, new = (make_cooccurrences(90, 70, 4, n_tokens=810, random_state=seed).X for seed in (0, 5))
    weights = np.arange(90) % 3.0
    some = np.minimum(weights, 1)
    model = RowMemory(neighbors=4, random_state=0)
    left_out = clone(model).fit(X[some > 0])
    weightless = clone(model).fit(X, sample_weight=some)
    assert weightless.perplexity(new) == pytest.approx(left_out.perplexity(new), rel=1e-9)
    assert np.isfinite(weightless.score(Dyads(X)))  # rows of no weight are predicted, too
    times = weights.astype(int)
    given, repeated = RowIndex(X, 30, weights), RowIndex(X[np.repeat(np.arange(90), times)], 30)
    np.testing.assert_allclose(given.unigram, repeated.unigram)
    rows = given.by_column.toarray()
    np.testing.assert_allclose(np.repeat(rows, times, axis=0), repeated.by_column.toarray())
    assert not rows[times == 0].any()


def test_rows_that_are_not_kept_have_no_neighbours():
    blocks = RowBlocks([GROUPS[:150], GROUPS[150:]])
    model = AspectModel(3, beta=0.9, max_iter=5, random_state=0)
    refused("neighbors=5 needs all training rows", RowMemory(model, neighbors=5).fit, blocks)
    refused("neighbors=5 needs", RowMemory(model, neighbors=5).partial_fit, GROUPS)
    assert RowMemory(model, neighbors="auto", random_state=0).fit(blocks).neighbors_ == 0
    refused("The 'neighbors' parameter", RowMemory(neighbors=-1).fit, GROUPS)
