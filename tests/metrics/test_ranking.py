"""Average precision, recall and NDCG at k, against loops that are written from the definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
)  # fmt: skip
from sklearn.model_selection import GridSearchCV, KFold

from skcooc import AspectModel, Dyads
from skcooc.counts import thin
from skcooc.heldout.scoring import SPLIT_SEED
from skcooc.metrics import average_precision_by_query, make_ranking_scorer, ndcg_at_k, recall_at_k
from tests.cases import FAST
from tests.tables import planted

RNG = np.random.default_rng(0)
RELEVANCE = (RNG.random((8, 30)) < 0.2).astype(int)
RELEVANCE[:, 0] = 1
SCORES = RNG.permuted(np.tile(np.arange(30.0), (8, 1)), axis=1)


def by_definition(relevance, scores):
    ranking = sorted(range(len(scores)), key=lambda d: -scores[d])
    places = [k for k, d in enumerate(ranking, 1) if relevance[d]]
    return np.mean([(n + 1) / k for n, k in enumerate(places)])


def test_it_is_the_definition_and_that_of_scikit_learn_and_ties_go_by_the_order():
    ours = average_precision_by_query(RELEVANCE, SCORES)
    pairs = list(zip(RELEVANCE, SCORES, strict=True))
    np.testing.assert_allclose(ours, [by_definition(*pair) for pair in pairs])
    np.testing.assert_allclose(ours, [average_precision_score(*pair) for pair in pairs])
    assert ours.mean() == pytest.approx(label_ranking_average_precision_score(RELEVANCE, SCORES))
    np.testing.assert_allclose(average_precision_by_query([[0, 1, 0, 1]], [[1, 1, 1, 1]]), 0.5)
    np.testing.assert_allclose(average_precision_by_query([[1, 0, 0, 0]], [[1, 1, 1, 1]]), 1)


def test_sparse_relevance_any_weight_queries_without_any_and_bad_input():
    relevance = RELEVANCE.copy()
    relevance[2] = 0
    ours = average_precision_by_query(sp.csr_array(3 * relevance), SCORES)
    np.testing.assert_allclose(ours, average_precision_by_query(relevance, SCORES))
    assert np.flatnonzero(np.isnan(ours)).tolist() == [2]
    with pytest.raises(ValueError, match="does not match"):
        average_precision_by_query(RELEVANCE, SCORES[:, 1:])
    with pytest.raises(ValueError, match="NaN"):
        average_precision_by_query(RELEVANCE, SCORES * np.nan)


pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")
HELD_OUT = RNG.poisson(0.15, (40, 25))
HELD_OUT[3] = 0
SCORED = RNG.random((40, 25))
ITEMS = np.argsort(-SCORED, axis=1)
X = planted(n_rows=60, n_columns=80, n_observations=3000).X.astype(float)
ASPECTS = AspectModel(3, beta=0.9, **FAST)


def literal_recall(held_out, items, k, truncated=False):
    found = []
    for wanted, recommended in zip(map(set, map(np.flatnonzero, held_out)), items, strict=True):
        if wanted:
            hits = [j for j in recommended[:k] if j in wanted]
            found.append(len(hits) / (min(k, len(wanted)) if truncated else len(wanted)))
    return np.mean(found)


def literal_ndcg(held_out, items, k, ranks=2):
    found = []
    for wanted, recommended in zip(map(set, map(np.flatnonzero, held_out)), items, strict=True):
        if wanted:
            gained = [1 / np.log2(r + ranks) for r in range(k) if recommended[r] in wanted]
            best = [1 / np.log2(r + ranks) for r in range(min(k, len(wanted)))]
            found.append(sum(gained) / sum(best))
    return np.mean(found)


def test_recall_and_ndcg_are_the_definitions():
    for k in (1, 3, 10, 25):
        recall, ndcg = recall_at_k(HELD_OUT, ITEMS, k), ndcg_at_k(HELD_OUT, ITEMS, k)
        assert recall == pytest.approx(literal_recall(HELD_OUT, ITEMS, k), rel=1e-12)
        assert ndcg == pytest.approx(literal_ndcg(HELD_OUT, ITEMS, k), rel=1e-12)
    # Broken twins: divided by k, and discounted from the second item on.
    recall, ndcg = recall_at_k(HELD_OUT, ITEMS, 3), ndcg_at_k(HELD_OUT, ITEMS, 3)
    assert recall != pytest.approx(literal_recall(HELD_OUT, ITEMS, 3, truncated=True), rel=1e-3)
    assert ndcg != pytest.approx(literal_ndcg(HELD_OUT, ITEMS, 3, ranks=3), rel=1e-3)
    some = HELD_OUT.any(axis=1)
    expected = ndcg_score(HELD_OUT[some] > 0, SCORED[some], k=7)
    assert ndcg_at_k(HELD_OUT, ITEMS, 7) == pytest.approx(expected, rel=1e-12)
    items = ITEMS[:, :10].copy()
    items[:, 6:] = -1
    assert recall_at_k(HELD_OUT, items, 10) == recall_at_k(HELD_OUT, items, 6)


def test_items_by_names_and_invalid_ones():
    names = np.array([f"item {j}" for j in range(25)])
    test = Dyads(HELD_OUT, column_names=names)
    named = names.astype(object)[ITEMS]
    named[:, 8] = None
    positions = np.where(np.arange(25) == 8, -1, ITEMS)
    for metric in (recall_at_k, ndcg_at_k):
        assert metric(test, named, 10) == metric(HELD_OUT, positions, 10)
        assert metric(HELD_OUT, ITEMS.astype(np.uint32)) == metric(HELD_OUT, ITEMS)
    with pytest.raises(ValueError, match="X has no names of columns"):
        recall_at_k(HELD_OUT, named)
    with pytest.raises(ValueError, match="as 'zoe' is not"):
        recall_at_k(test, np.where(ITEMS == 3, "zoe", named))
    for items, k, match in (
        (ITEMS[:3], 10, r"items of shape \(3, 25\) do not hold k=10"),
        (ITEMS[:, :5], 10, r"do not hold k=10"),
        (ITEMS, 0, "do not hold k=0"),
        (ITEMS + 1, 25, "items should be columns of X"),
        (np.zeros((40, 10), int), 10, "the same item twice"),
    ):
        with pytest.raises(ValueError, match=match):
            ndcg_at_k(HELD_OUT, items, k)


def best_new(model, mixtures, known):
    P = (1 - model.smoothing_) * mixtures @ model.components_ + model.smoothing_ * model.unigram_
    return np.argsort(-np.where(known > 0, -1, P), axis=1, kind="stable")


@pytest.mark.parametrize(
    "names", [{}, {"row_names": np.arange(60)[::-1], "column_names": 2 * np.arange(80)}]
)
def test_the_scorer_divides_observations(names):
    observations = Dyads(X, **names)
    train, test = next(KFold(5, shuffle=True, random_state=0).split(observations))
    model = ASPECTS.fit(observations[train])
    known, new = observations[train].to_csr().toarray(), observations[test].to_csr().toarray()
    items = best_new(model, model.embedding_, known)
    scorer = make_ranking_scorer(observations, metric="recall", k=5)
    found, twin = scorer(model, observations[test]), literal_recall(new, items, 5)
    assert found == pytest.approx(literal_recall(new * (known == 0), items, 5), rel=1e-12)
    assert found != pytest.approx(twin, rel=1e-3)  # for which known items are hits, too


def test_the_scorer_divides_new_rows_and_a_search_takes_it():
    model = ASPECTS.fit(X[:40])
    known, held_out = (part.toarray() for part in thin(X[40:], 0.5, SPLIT_SEED, occupied=True))
    items = best_new(model, model.transform(known), known)
    expected = literal_ndcg(held_out * (known == 0), items, 10)
    assert make_ranking_scorer()(model, X[40:]) == pytest.approx(expected, rel=1e-12)
    observations = Dyads(X)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(
        ASPECTS, {"n_components": [1, 3]}, scoring=make_ranking_scorer(observations), cv=folds
    ).fit(observations)
    assert search.best_params_ == {"n_components": 3}
    with pytest.raises(ValueError, match="give make_ranking_scorer all tokens"):
        make_ranking_scorer()(search.best_estimator_, observations)
    with pytest.raises(ValueError, match="no tokens to score"):
        make_ranking_scorer()(search.best_estimator_, 40 * np.eye(80))
    with pytest.raises(ValueError, match="'metric' parameter"):
        make_ranking_scorer(metric="precision")
