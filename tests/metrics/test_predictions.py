"""Perplexity of factorisations, and scores of words new to their rows."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, KFold

from skcooc import AspectModel, AspectRetriever, Dyads, RowMemory, metrics
from skcooc.counts import thin
from skcooc.heldout import Factors, Unigram, Unseen
from skcooc.heldout.memory import Memory, with_cache
from skcooc.heldout.predictors import smoothed
from skcooc.heldout.scoring import SPLIT_SEED
from skcooc.model_selection import split_observations
from skcooc.tables import as_counts
from tests.cases import FAST
from tests.tables import planted, random_table

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")
X = planted(n_rows=60, n_columns=80, n_observations=4000, burstiness=20).X.astype(float)
TRAIN, TEST = split_observations(X, random_state=0)
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
    train, test = split_observations(planted().X, random_state=0)
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
    grid = {"n_components": [1, 3]}
    dyads = Dyads(X * 0.37)  # weights that are no whole numbers
    for data, cv in ((dyads, KFold(2, shuffle=True, random_state=0)), (X, 2)):
        score = metrics.make_unseen_scorer(data if data is dyads else None)
        search = GridSearchCV(ASPECTS, grid, scoring=score, cv=cv).fit(data)
        assert search.best_params_ == {"n_components": 3}


def test_bad_input_is_refused():
    model = ASPECTS.fit(TRAIN)
    for scorer, observations, message in (
        (metrics.make_unseen_scorer(), Dyads(TEST), "give make_unseen_scorer all tokens"),
        (metrics.make_unseen_scorer(Dyads(TRAIN)), Dyads(TEST), "was not given"),
        (metrics.make_unseen_scorer(Dyads(X[:9])), Dyads(TEST), "table of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            scorer(model, observations)
    for test, known, message in (
        ([[1, 0]], [[1, 0]], "the known part has all their columns"),
        ([[0, 0]], [[1, 0]], "no tokens"),
        ([[1, 0]], [[0, 0]], "no tokens"),
        ([[1, 0]], [[1, 0, 0]], "does not match"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.unseen_perplexity(test, Unigram(np.full(2, 0.5)), known)
    with pytest.raises(TypeError, match="AspectRetriever has no components_"):
        metrics.make_unseen_scorer()(AspectRetriever(), np.ones((3, 4)))
    assert metrics.perplexity([[1, 1]], [[1.0]], [[1.0, 0.0]]) == np.inf
    with pytest.raises(ValueError, match="does not match"):
        metrics.perplexity([[1, 1]], [[1.0]], [[0.5, 0.25, 0.25]])
    for counts, smoothing, message in (
        ([[0, 0]], 0.0, "no tokens"),
        ([[-1, 2]], 0.0, "Negative"),
        ([[1, 1]], 7, "smoothing=7"),
        ([[1, 1]], 0.1, "smoothing=0.1 needs a background"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.perplexity(counts, [[1.0]], [[0.5, 0.5]], smoothing=smoothing)
