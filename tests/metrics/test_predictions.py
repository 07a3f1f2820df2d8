import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
)  # fmt: skip
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import (
    AspectModel,
    AspectRetriever,
    Dyads,
    GuidedAspectModel,
    RowMemory,
    metrics,
)
from skcooc.counts import thin
from skcooc.heldout import Factors, Interpolated, Unigram, Unseen
from skcooc.heldout.memory import Memory, with_cache
from skcooc.heldout.predictors import smoothed
from skcooc.heldout.scoring import SPLIT_SEED
from skcooc.metrics import average_precision_by_query, make_ranking_scorer, ndcg_at_k, recall_at_k
from skcooc.model_selection import split_counts
from skcooc.tables import as_counts
from tests.cases import FAST
from tests.tables import planted, random_table, refused

X = planted(n_rows=60, n_columns=80, n_tokens=4000, burstiness=20).X.astype(float)
TRAIN, TEST = split_counts(X, random_state=0)
RNG = np.random.default_rng(0)
FACTORS = Factors(RNG.dirichlet(np.ones(3), 60), RNG.dirichlet(np.ones(80), 3).T)
ASPECTS = AspectModel(3, beta=0.9, **FAST)


def test_perplexity_is_the_definition_and_that_of_estimators():
    X = random_table()
    rng = np.random.default_rng(0)
    A, B = rng.dirichlet(np.ones(3), X.shape[0]), rng.dirichlet(np.ones(X.shape[1]), 3)
    b = metrics.unigram(X)
    n, P = X.toarray(), 0.9 * A @ B + 0.1 * b
    expected = np.exp(-(n * np.log(P)).sum() / n.sum())
    assert metrics.perplexity(X, A, B, background=b, smoothing=0.1) == pytest.approx(expected)
    b = metrics.unigram(np.ones((5, 8)))
    assert metrics.perplexity(np.ones((5, 8)), np.ones((5, 1)), [b]) == pytest.approx(8)
    X = sp.csr_array(([2.0, 0.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert metrics.perplexity(X, [[1.0]], [[1.0, 0.0]]) == 1
    train, test = split_counts(planted().X, random_state=0)
    model = AspectModel(3, random_state=0).fit(train)
    options = {"background": metrics.unigram(train), "smoothing": model.smoothing_}
    ours = metrics.perplexity(test, model.embedding_, model.components_, **options)
    assert ours == pytest.approx(model.perplexity(Dyads(test)))
    model = AspectModel(5, beta=1.0, random_state=0).fit(train)
    b, factors = metrics.unigram(train), (model.embedding_, model.components_)
    s = metrics.best_smoothing(test, *factors, b)
    perplexity = partial(metrics.perplexity, test, *factors, background=b)
    assert perplexity(smoothing=s) < min(perplexity(smoothing=t) for t in (s / 2, 1.5 * s))


def literal(test, P, known, renormalised=True):
    """The mean log-likelihood of observations in new columns, one by one."""
    total, n = 0.0, 0.0
    for i, j in zip(*test.nonzero(), strict=True):
        if known[i, j] > 0:
            continue
        left = sum(P[i, column] for column in range(P.shape[1]) if known[i, column] == 0)
        total += test[i, j] * np.log(P[i, j] / (left if renormalised else 1))
        n += test[i, j]
    return total / n


def test_it_is_the_definition_and_the_parts_add_up():
    n, known, P = TEST.toarray(), TRAIN.toarray(), FACTORS.A @ FACTORS.B.T
    found = -np.log(metrics.unseen_perplexity(TEST, FACTORS, TRAIN))
    assert found == pytest.approx(literal(n, P, known), rel=1e-10)
    assert found > literal(n, P, known, renormalised=False) + 0.1  # a broken twin
    parts = metrics.score_parts(TEST, FACTORS, TRAIN)
    assert parts.seen_share == pytest.approx(1 - n[known == 0].sum() / n.sum())
    mean = parts.seen_share * parts.seen + (1 - parts.seen_share) * parts.unseen
    assert np.exp(-mean) == pytest.approx(metrics.perplexity_of(TEST, FACTORS))
    assert parts.unseen == pytest.approx(literal(n, P, known, renormalised=False))
    assert np.exp(-parts.renormalised) == metrics.unseen_perplexity(TEST, FACTORS, TRAIN)
    weighted = metrics.score_parts(3 * TEST, FACTORS, 0.5 * TRAIN)
    np.testing.assert_allclose(weighted, parts)


def test_a_memory_of_the_row_cancels_out():
    b = metrics.unigram(TRAIN)
    remembered = with_cache(TRAIN, FACTORS, b, Memory(20.0, 0.3, 0.1))
    alone = metrics.unseen_perplexity(TEST, smoothed(FACTORS, b, 0.1), TRAIN)
    assert metrics.unseen_perplexity(TEST, remembered, TRAIN) == pytest.approx(alone)
    parts = [metrics.score_parts(TEST, p, TRAIN) for p in (remembered, FACTORS)]
    assert parts[0].seen > parts[1].seen + 0.5


def test_stored_zeros_are_not_known_and_known_columns_with_all_the_probability():
    known = sp.csr_array(([2.0, 0.0], ([0, 0], [0, 1])), shape=(1, 3))
    thirds = Unigram(np.full(3, 1 / 3))
    assert metrics.unseen_perplexity([[0, 1, 0]], thirds, known) == pytest.approx(2)
    cells = Unseen(as_counts(known), thirds).cells(as_counts(known))
    np.testing.assert_allclose(cells, [0, 0.5])
    known, X = [[5, 0, 0]], [[0, 1, 0]]
    assert metrics.unseen_perplexity(X, Unigram(np.array([1.0, 0.0, 0.0])), known) == np.inf
    rounded = Unigram(np.array([1.0, 1e-9, 0.0]))  # sums to more than one, by rounding
    assert metrics.unseen_perplexity(X, rounded, known) == 1
    parts = metrics.score_parts([[1, 0, 0]], thirds, known)
    assert parts.seen_share == 1
    assert np.isnan([parts.unseen, parts.renormalised]).all()


def test_the_scorer_of_further_observations_needs_no_memory():
    model = ASPECTS.fit(TRAIN)
    memory = RowMemory(ASPECTS, concentration=9.0, discount=0.2, smoothing=0.1).fit(TRAIN)
    for scored in (model, memory):
        factors, b = Factors(scored.embedding_, scored.components_.T), scored.unigram_
        predictor = smoothed(factors, b, model.smoothing_)
        if scored is memory:
            predictor = with_cache(TRAIN, factors, b, Memory(9.0, 0.2, 0.1))
        expected = -np.log(metrics.unseen_perplexity(TEST, predictor, TRAIN))
        found = metrics.make_unseen_scorer(Dyads(X))(scored, Dyads(TEST))
        assert found == pytest.approx(expected)
    groups = np.arange(60) % 2
    for scored in (
        RowMemory(neighbors=5, random_state=0).fit(TRAIN),
        GuidedAspectModel(3, group_effects="columns", **FAST).fit(TRAIN, groups=groups),
    ):  # not all that they predict is a product of factors
        expected = -np.log(metrics.unseen_perplexity(TEST, scored.predictor(None), TRAIN))
        found = metrics.make_unseen_scorer(Dyads(X))(scored, Dyads(TEST))
        assert found == pytest.approx(expected)


def test_the_scorer_of_new_rows_and_in_searches():
    model = ASPECTS.fit(X[:40])
    known, scored = thin(X[40:], 0.5, SPLIT_SEED, occupied=True)
    P = model.transform(known) @ model.components_
    P = (1 - model.smoothing_) * P + model.smoothing_ * model.unigram_
    expected = literal(scored.toarray(), P, known.toarray())
    assert metrics.make_unseen_scorer()(model, X[40:]) == pytest.approx(expected)
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(80)])
    named = AspectModel(3, beta=0.9, **FAST).set_output(transform="pandas").fit(frame[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.make_unseen_scorer()(named, frame[40:]) == pytest.approx(expected)
    assert list(named.feature_names_in_) == list(frame.columns)
    scaled = make_pipeline(FunctionTransformer(), ASPECTS).fit(X[:40])
    assert metrics.make_unseen_scorer()(scaled, X[40:]) == pytest.approx(expected)
    grid = {"n_components": [1, 3]}
    dyads = Dyads(X * 0.37)  # weights that are no whole numbers
    for data, cv in ((dyads, KFold(2, shuffle=True, random_state=0)), (X, 2)):
        score = metrics.make_unseen_scorer(data if data is dyads else None)
        search = GridSearchCV(ASPECTS, grid, scoring=score, cv=cv).fit(data)
        assert search.best_params_ == {"n_components": 3}
    assert score(search, X) == score(search.best_estimator_, X)


def test_bad_input_is_refused():
    model = ASPECTS.fit(TRAIN)
    for scorer, observations, message in (
        (metrics.make_unseen_scorer(), Dyads(TEST), "give make_unseen_scorer all_tokens"),
        (metrics.make_unseen_scorer(Dyads(TRAIN)), Dyads(TEST), "not among all_tokens"),
        (metrics.make_unseen_scorer(Dyads(X[:9])), Dyads(TEST), "table of shape"),
    ):
        refused(message, scorer, model, observations)
    for test, known, message in (
        ([[1, 0]], [[1, 0]], "has all their columns"),
        ([[0, 0]], [[1, 0]], "no tokens"),
        ([[1, 0]], [[0, 0]], "no tokens"),
        ([[1, 0]], [[1, 0, 0]], "does not match"),
    ):
        refused(message, metrics.unseen_perplexity, test, Unigram(np.full(2, 0.5)), known)
    with pytest.raises(TypeError, match="AspectRetriever has no components_"):
        metrics.make_unseen_scorer()(AspectRetriever(), np.ones((3, 4)))
    assert metrics.perplexity([[1, 1]], [[1.0]], [[1.0, 0.0]]) == np.inf
    refused("does not match", metrics.perplexity, [[1, 1]], [[1.0]], [[0.5, 0.25, 0.25]])
    for counts, smoothing, message in (
        ([[0, 0]], 0.0, "no tokens"),
        ([[-1, 2]], 0.0, "Negative"),
        ([[1, 1]], 7, "smoothing=7"),
        ([[1, 1]], 0.1, "smoothing=0.1 needs a background"),
    ):
        refused(message, metrics.perplexity, counts, [[1.0]], [[0.5, 0.5]], smoothing=smoothing)
    for mixtures, components, background, message in (
        ([[-1.0]], [[-0.5, -0.5]], [0.5, 0.5], "Negative values in data passed to mixtures"),
        ([[1.0]], [[1.5, -0.5]], [0.5, 0.5], "Negative values in data passed to components"),
        ([[1.0]], [[0.5, 0.5]], [1.5, -0.5], "with negative values"),
        ([[1.0]], [[0.5, 0.5]], [np.nan, 0.5], "sums to nan"),
    ):
        refused(message, metrics.best_smoothing, [[1, 1]], mixtures, components, background)
    fifty = Factors(np.ones((1, 1)), np.full((2, 1), 50.0))
    for predictor in (fifty, Interpolated([Unigram(np.full(2, 0.5)), fifty], [0.5, 0.5])):
        refused("Divide the rows of components by", metrics.perplexity_of, [[1, 1]], predictor)
        refused("sums to 100", metrics.score_parts, [[1, 1]], predictor, [[0, 1]])
    for mixtures, components, rows in (
        ([[2.2]], [[0.5, 0.5]], "mixtures by"),
        ([[2.2]], [[5, 5]], r"mixtures \* components.sum\(axis=1\), and components, by"),
    ):
        refused(f"Divide the rows of {rows}", metrics.perplexity, [[1, 1]], mixtures, components)


RANDOM = np.random.default_rng(0)
RELEVANCE = (RANDOM.random((8, 30)) < 0.2).astype(int)
RELEVANCE[:, 0] = 1
SCORES = RANDOM.permuted(np.tile(np.arange(30.0), (8, 1)), axis=1)


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
    refused("does not match", average_precision_by_query, RELEVANCE, SCORES[:, 1:])
    refused("NaN", average_precision_by_query, RELEVANCE, SCORES * np.nan)


HELD_OUT = RANDOM.poisson(0.15, (40, 25))
HELD_OUT[3] = 0
SCORED = RANDOM.random((40, 25))
ITEMS = np.argsort(-SCORED, axis=1)
FEW = planted(n_rows=60, n_columns=80, n_tokens=3000).X.astype(float)


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
    refused("X has no names of columns", recall_at_k, HELD_OUT, named)
    for unknown in (np.where(ITEMS == 3, "zoe", named), np.full(ITEMS.shape, "zoe")):
        refused(", but 'zoe' is not", recall_at_k, test, unknown)
    for items, k, match in (
        (ITEMS[:3], 10, r"items of shape \(3, 25\) do not hold k=10"),
        (ITEMS[:, :5], 10, r"do not hold k=10"),
        (ITEMS, 0, "do not hold k=0"),
        (ITEMS + 1, 25, "items should be columns of X"),
        (np.zeros((40, 10), int), 10, "the same item twice"),
    ):
        refused(match, ndcg_at_k, HELD_OUT, items, k)


def best_new(model, mixtures, known):
    P = (1 - model.smoothing_) * mixtures @ model.components_ + model.smoothing_ * model.unigram_
    return np.argsort(-np.where(known > 0, -1, P), axis=1, kind="stable")


@pytest.mark.parametrize(
    "names", [{}, {"row_names": np.arange(60)[::-1], "column_names": 2 * np.arange(80)}]
)
def test_the_scorer_divides_observations(names):
    observations = Dyads(FEW, **names)
    train, test = next(KFold(5, shuffle=True, random_state=0).split(observations))
    model = ASPECTS.fit(observations[train])
    known, new = observations[train].to_csr().toarray(), observations[test].to_csr().toarray()
    items = best_new(model, model.embedding_, known)
    scorer = make_ranking_scorer(observations, metric="recall", k=5)
    found, twin = scorer(model, observations[test]), literal_recall(new, items, 5)
    assert found == pytest.approx(literal_recall(new * (known == 0), items, 5), rel=1e-12)
    assert found != pytest.approx(twin, rel=1e-3)  # for which known items are hits, too
    weights = np.where(np.arange(len(observations)) % 3 == 0, 0.01, 1.0)
    liked = observations.reweighted(weights)
    model = ASPECTS.fit(liked[train])
    seen, rated = liked[train].to_csr().toarray(), liked[test].to_csr().toarray()
    items, fresh = best_new(model, model.embedding_, seen), rated * (seen == 0)
    for least in (0.0, 0.5):
        scorer = make_ranking_scorer(liked, k=5, min_weight=least)
        expected = literal_ndcg(fresh * (fresh > least), items, 5)
        assert scorer(model, liked[test]) == pytest.approx(expected, rel=1e-12)


def test_the_scorer_divides_new_rows_and_a_search_takes_it():
    model = ASPECTS.fit(FEW[:40])
    known, held_out = (part.toarray() for part in thin(FEW[40:], 0.5, SPLIT_SEED, occupied=True))
    items = best_new(model, model.transform(known), known)
    expected = literal_ndcg(held_out * (known == 0), items, 10)
    assert make_ranking_scorer()(model, FEW[40:]) == pytest.approx(expected, rel=1e-12)
    observations = Dyads(FEW)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(
        ASPECTS, {"n_components": [1, 3]}, scoring=make_ranking_scorer(observations), cv=folds
    ).fit(observations)
    assert search.best_params_ == {"n_components": 3}
    with pytest.raises(ValueError, match="give make_ranking_scorer all_tokens"):
        make_ranking_scorer()(search.best_estimator_, observations)
    assert make_ranking_scorer()(make_pipeline(model), FEW[40:]) == make_ranking_scorer()(
        model, FEW[40:]
    )
    refused("no tokens to score", make_ranking_scorer(), search.best_estimator_, 40 * np.eye(80))
    refused("'metric' parameter", make_ranking_scorer, metric="precision")
