import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from threadpoolctl import threadpool_limits

from skcooc.counts import CSRCounts
from skcooc.equations.aspects import Aspects
from skcooc.heldout import Discounted, Factors, HeldOut, Interpolated, Unigram
from skcooc.heldout.memory import Memory, best_memory, memory_cells, rows_with, with_cache
from skcooc.heldout.predictors import CachedPredictions, best_smoothing
from skcooc.heldout.scoring import warn_about_unknown_rows, weighted_mean
from skcooc.heldout.validation import add_one, add_one_unigram, hold_out
from skcooc.metrics import best_weights, perplexity_of
from skcooc.tables import as_counts
from tests.tables import planted, random_table, refused

N_ROWS, N_COLUMNS = 30, 12
EVERYWHERE = np.ones((N_ROWS, N_COLUMNS))


def whole_counts(seed=0, n_rows=N_ROWS, n_columns=N_COLUMNS):
    """Thin counts whose last two rows are empty, and whose last column is."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(rng.random((n_rows, 1)) * rng.random(n_columns) * 3.0)
    n[-2:], n[:, -1] = 0, 0
    return sp.csr_array(n.astype(float))


def dense(predictor, shape=EVERYWHERE.shape):
    """P(y_j given x_i) of all cells, (N, M)."""
    cells = predictor.cells(CSRCounts(sp.csr_array(np.ones(shape))))
    assert cells.dtype == np.float64
    return cells.reshape(shape)


def check_predictors(predictors, known):
    """Distributions in every row, empty ones too; the same at some cells as at all; pure."""
    before, some = known.copy(), whole_counts(seed=3)
    i, j = some.nonzero()
    for predictor in predictors:
        P = dense(predictor)
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_allclose(predictor.cells(CSRCounts(some)), P[i, j])
    for part in ("data", "indices", "indptr"):
        assert (getattr(known, part) == getattr(before, part)).all()


def test_all_predict_distributions():
    known, rng = whole_counts(), np.random.default_rng(1)
    factors = Factors(rng.dirichlet(np.ones(3), N_ROWS), rng.dirichlet(np.ones(N_COLUMNS), 3).T)
    unigram = Unigram(rng.dirichlet(np.ones(N_COLUMNS)))
    mean = Interpolated((factors, unigram), (0.3, 0.7))
    check_predictors([factors, unigram, mean, Discounted(known, 0.7, factors)], known)


def discounted(n, d, lower, broken=False):
    """Absolute discounting with interpolation; broken: what the zeros save is counted, too."""
    P = np.empty(n.shape)
    for i in range(n.shape[0]):
        for j in range(n.shape[1]):
            if not n[i].sum():
                P[i, j] = lower[j]
                continue
            types = n.shape[1] if broken else np.count_nonzero(n[i])
            P[i, j] = (max(n[i, j] - d, 0) + d * types * lower[j]) / n[i].sum()
    return P


@pytest.mark.parametrize("discount", [0.0, 0.4, 1.0])
def test_discounted_equals_the_transcription(discount):
    known = whole_counts()
    lower = np.random.default_rng(0).dirichlet(np.ones(N_COLUMNS))
    P = dense(Discounted(known, discount, Unigram(lower)))
    np.testing.assert_allclose(P, discounted(known.toarray(), discount, lower))
    broken = discounted(known.toarray(), discount, lower, broken=True)
    assert (np.abs(P - broken).max() > 0.01) == (discount > 0)


def literal_weights(n, cells, steps, broken=False):
    """EM for the weights of a mean; broken: every cell counts as one observation."""
    found = [1 / len(cells)] * len(cells)
    for _ in range(steps):
        expected = [0.0] * len(cells)
        for r in range(len(n)):
            total = sum(w * P[r] for w, P in zip(found, cells, strict=True))
            for k in range(len(cells)):
                expected[k] += (1 if broken else n[r]) * found[k] * cells[k][r] / total
        found = [e / sum(expected) for e in expected]
    return np.array(found)


def held_out_predictions(seed=0, n_predictors=3):
    rng = np.random.default_rng(seed)
    n = 1 + rng.poisson(2, 60).astype(float) ** 3
    return n, [CachedPredictions(rng.random(60) ** 3) for _ in range(n_predictors)]


def test_best_weights_are_those_of_literal_em_and_stationary():
    n, predictors = held_out_predictions()
    cells = [predictor.values for predictor in predictors]
    weights = best_weights(n[None], predictors)
    np.testing.assert_allclose(weights, literal_weights(n, cells, 300), atol=1e-3)
    mean = np.dot(weights, cells)
    slopes = np.array([(n * P / mean).sum() / n.sum() for P in cells])
    np.testing.assert_allclose(slopes[weights > 1e-2], 1, atol=1e-3)
    assert (slopes < 1 + 1e-3).all()
    steps = [literal_weights(n, cells, steps) for steps in range(12)]
    assert (np.diff([(n * np.log(w @ np.array(cells))).sum() for w in steps]) > 0).all()
    broken = literal_weights(n, cells, 300, broken=True)
    assert np.abs(weights - broken).max() > 0.01


def test_impossible_tokens_do_not_count_in_weights():
    n, (first, second, _) = held_out_predictions()
    some = first.values * (np.arange(60) % 2), second.values * (np.arange(60) % 2)
    odd = n * (np.arange(60) % 2)
    found = best_weights(n[None], [CachedPredictions(P) for P in some])
    X = sp.csr_array(odd[None])
    alone = best_weights(X, [CachedPredictions(P[1::2]) for P in some])
    np.testing.assert_allclose(found, alone)
    with pytest.raises(ValueError, match="X has no tokens to which any of the predictors"):
        best_weights(n[None], [CachedPredictions(np.zeros(60))])


def test_wrong_arguments_are_refused():
    unigram = Unigram(np.ones(2) / 2)
    with pytest.raises(ValueError, match=r"discount=1.5 should be in the \[0, 1\] range"):
        Discounted(whole_counts(), 1.5, unigram)
    refused("concentration=-1", Discounted, whole_counts(), 0.5, unigram, -1)
    refused("no tokens", perplexity_of, np.zeros((2, 2)), unigram)


def literal_perplexity(X, P, s, b):
    dense = X.toarray()
    smoothed = (1 - s) * P + s * b
    return np.exp(-(dense * np.log(smoothed)).sum() / dense.sum())


def state(X, k=3, seed=0):
    model = Aspects(k)
    params, _ = model.start(CSRCounts(X), np.random.default_rng(seed))
    return model, params, np.random.default_rng(1).dirichlet(np.ones(k), X.shape[0])


def test_perplexity_is_the_definition_and_infinite_where_the_impossible_is_seen():
    X = random_table()
    model, params, rows = state(X)
    b = np.full(X.shape[1], 1 / X.shape[1])
    validation = HeldOut(CSRCounts(X), b, smoothing=0.1)(model, params, rows)
    P = rows @ params.components.T
    assert validation.perplexity == pytest.approx(literal_perplexity(X, P, 0.1, b))
    params = params._replace(components=np.zeros_like(params.components))
    assert HeldOut(CSRCounts(X), b, smoothing=0.0)(model, params, rows).perplexity == np.inf
    assert np.isfinite(HeldOut(CSRCounts(X), b)(model, params, rows).perplexity)


def test_one_observation_more_weighs_what_others_do():
    X = random_table()
    shares = X / X.sum(axis=1).clip(1)[:, None]
    for n, observations in ((X, X.sum()), (shares, X.nnz), (1e-6 * shares, X.nnz)):
        counts, one = CSRCounts(sp.csr_array(n)), n.sum() / observations
        literal = [(column + one) / (n.sum() + one * 9) for column in n.sum(axis=0)]
        found = add_one_unigram(counts)
        np.testing.assert_allclose(found, literal)
    flat = add_one(counts.column_sums)  # adds whole observations to tiny shares
    assert np.abs(flat - found).sum() > 0.1


def test_estimated_smoothing_is_the_best_of_a_grid():
    rng = np.random.default_rng(0)
    P, b, n = rng.random(400) ** 4, rng.random(400), 1 + rng.poisson(2, 400).astype(float)
    s = best_smoothing(CachedPredictions(P), b, CSRCounts(sp.csr_array(n[None])))
    grid = np.linspace(0.001, 0.95, 2000)
    losses = [-(n * np.log((1 - g) * P + g * b)).sum() for g in grid]
    assert s == pytest.approx(grid[int(np.argmin(losses))], abs=1e-3)


def test_weights_of_rows_are_repetitions_in_the_best_smoothing():
    rng = np.random.default_rng(0)
    n, b = 1.0 + rng.poisson(2, (30, 12)), rng.random(12)
    P = b * rng.lognormal(0.5, 0.9, (30, 12))
    P[15:] /= 2  # the background is better
    weights = np.where(np.arange(30) < 15, 1, 6)
    times = np.repeat(np.arange(30), weights)
    weighted = CSRCounts(sp.csr_array(n), weights.astype(float))
    s = best_smoothing(CachedPredictions(P.ravel()), b, weighted)
    repeated = CachedPredictions(P[times].ravel()), b, CSRCounts(sp.csr_array(n[times]))
    assert s == pytest.approx(best_smoothing(*repeated), abs=1e-4)
    plain = best_smoothing(CachedPredictions(P.ravel()), b, CSRCounts(sp.csr_array(n)))
    assert 0.01 < plain < s - 0.05 < 0.9


def test_impossible_tokens_that_are_held_out_do_not_make_perplexities_infinite():
    counts = CSRCounts(whole_counts())
    nothing = CachedPredictions(np.zeros(counts.table.nnz))
    for asked in (0.0, 0.1, "auto"):
        heldout = replace(hold_out(counts, 0.5, 0, asked)[1], X=counts)
        assert np.isfinite(heldout.score(nothing).perplexity)


def test_parts_of_tokens_are_scored_like_whole_ones():
    known, test = whole_counts(), whole_counts(seed=3)
    model = Discounted(known, 0.4, Unigram(np.full(N_COLUMNS, 1 / N_COLUMNS)))
    expected = perplexity_of(test, model)
    for unit in (0.5, 1e-3):
        assert perplexity_of(unit * test, model) == pytest.approx(expected, rel=1e-12)


def test_tokens_of_no_weight_are_not_scored_even_if_they_are_impossible():
    samples, weights = np.array([-np.inf, -2.0, -3.0]), np.array([0.0, 1.0, 3.0])
    assert weighted_mean(samples, weights) == -2.75
    assert weighted_mean(samples, weights[::-1]) == -np.inf


def test_rows_without_training_tokens_are_told_where_most_tokens_are_in_them():
    mass, message = np.array([0.2, 0.8, 0.0]), "Most tokens to score are in rows without"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in ([], [0, 1, 2], [0, 1, 0, 2, 2], [1, 2]):
            warn_about_unknown_rows(mass, np.array(rows, dtype=int))
    with pytest.warns(UserWarning, match=message):
        warn_about_unknown_rows(mass, np.array([0, 1, 2, 2, 2]))


def test_the_number_of_blas_threads_changes_no_digit():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = random_table(n_rows=300, n_columns=400, seed=seed)
        model, params, rows = state(X)
        heldout = HeldOut(CSRCounts(X), rng.dirichlet(np.ones(X.shape[1])))
        found = []
        for threads in (1, 2, 4):
            with threadpool_limits(threads):
                found.append(heldout(model, params, rows))
        assert found[0] == found[1] == found[2]


KNOWN = sp.csr_array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.4, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
MODEL = Unigram(np.array([0.1, 0.2, 0.3, 0.4]))
BACKGROUND = np.array([0.4, 0.3, 0.2, 0.1])
ALL = as_counts(sp.csr_array(np.ones(KNOWN.shape)))


def literal(known, P, b, a, d, s):
    """P(y given x) cell by cell, as the Chinese restaurant has it."""
    predicted = np.zeros(known.shape)
    for i, row in enumerate(known):
        saved = sum(min(n, d) for n in row)
        for j, n in enumerate(row):
            lower = (1 - s) * P[j] + s * b[j]
            known_share = max(n - d, 0) + (a + saved) * lower
            predicted[i, j] = known_share / (sum(row) + a)
    return predicted


def test_the_prediction_is_that_of_the_restaurant():
    n, P = KNOWN.toarray(), MODEL.distribution
    without_discount = literal(n, P, BACKGROUND, 2.0, 0.0, 0.3)
    for given in ((5.0, 0.6, 0.3), (0.5, 0.0, 0.0), (80.0, 1.0, 1.0)):
        cells = with_cache(KNOWN, MODEL, BACKGROUND, Memory(*given)).cells(ALL)
        expected = literal(n, P, BACKGROUND, *given)
        np.testing.assert_allclose(cells.reshape(n.shape), expected, rtol=1e-12)
        np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-12)
        assert not np.allclose(expected, without_discount)


@pytest.fixture
def bursty():
    """Bursty rows, the counts to be predicted, a model and a background."""
    X = planted(n_rows=40, n_columns=60, n_tokens=4000, burstiness=15).X.astype(float)
    rest, heldout = hold_out(as_counts(X), 0.3, 0, "auto")
    model = Unigram(np.random.default_rng(0).dirichlet(np.ones(60)))
    return rest.table, heldout.X, model, np.full(60, 1 / 60)


def literal_lower(n, P, Q, b, u, s, t, c, e):
    """Prediction of a row of n known tokens below its cache; without P the background."""
    behind = (c**2 * u + n**2 * b) / (c**2 + n**2)
    P = behind if P is None else (e**2 * u + n**2 * P) / (e**2 + n**2)
    w = t * n / (n + c)
    return (1 - s) * ((1 - w) * P + w * Q) + s * behind


@pytest.mark.parametrize("with_model", [True, False])
def test_neighbours_and_background_gain_weight_with_the_known_tokens(with_model):
    known = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    P, Q, b, u = np.random.default_rng(0).dirichlet(np.ones(4), 4)
    a, d, s, t, c, e = memory = Memory(5.0, 0.6, 0.3, 0.8, 2.5, 1.5)
    model = Unigram(P) if with_model else None
    found = with_cache(sp.csr_array(known), model, b, memory, Unigram(Q), u).cells(
        as_counts(sp.csr_array(np.ones(known.shape)))
    )
    expected = np.zeros(known.shape)
    for i, row in enumerate(known):
        lower = literal_lower(row.sum(), P if with_model else None, Q, b, u, s, t, c, e)
        expected[i : i + 1] = literal(row[None], lower, b, a, d, 0.0)
    np.testing.assert_allclose(found.reshape(known.shape), expected, rtol=1e-12)
    np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(expected[2], u)  # nothing is known
    constant = with_cache(sp.csr_array(known), model, b, memory._replace(neighbor_tokens=0.0))
    with_weights = constant.cells(as_counts(sp.csr_array(np.ones(known.shape))))
    assert not np.allclose(with_weights, expected.ravel(), rtol=0.05)


@pytest.mark.parametrize("with_model", [True, False])
def test_slopes_are_those_of_the_log_likelihood(bursty, with_model):
    known, heldout, model, background = bursty
    other, unigram = np.random.default_rng(1).dirichlet(np.ones(60), 2)
    given = model if with_model else None, background, Unigram(other), unigram
    cells, at = memory_cells(known, heldout, *given), np.array([7.0, 0.4, 0.3, 0.2, 20.0, 9.0])
    value, slopes = cells.log_likelihood(Memory(*at))
    model, background, other, unigram = given
    predictor = with_cache(known, model, background, Memory(*at), other, unigram)
    assert value == pytest.approx(-math.log(perplexity_of(heldout.table, predictor)))
    numerical = approx_fprime(at, lambda x: cells.log_likelihood(Memory(*x))[0], 1e-7)
    np.testing.assert_allclose(slopes, numerical, rtol=1e-3, atol=1e-7)
    assert not np.allclose(slopes[::-1], numerical, rtol=0.5)
    logs = cells.logs(Memory(*at))
    assert (cells.scored * logs).sum() / cells.scored.sum() == pytest.approx(value)


def test_the_best_memory_beats_a_grid_and_keeps_what_is_given(bursty):
    cells = memory_cells(*bursty)
    best, _ = cells.log_likelihood(best_memory(cells))
    assert best_memory(cells).neighbor_share == 0.0
    grid = itertools.product((1, 5, 15, 30, 100), (0.01, 0.2, 0.5, 0.8), (0.01, 0.3, 0.9))
    assert all(cells.log_likelihood(Memory(*point))[0] <= best + 1e-9 for point in grid)
    assert cells.log_likelihood(Memory(1e4, 0.01, 0.3))[0] < best - 0.05  # next to no cache
    given = best_memory(cells, (None, 0.25, None, 0.0, 0.0, 0.0))
    assert given.discount == 0.25
    assert cells.log_likelihood(given)[0] <= best + 1e-9


def test_rows_of_which_nothing_is_known_are_predicted_by_the_lower_one():
    X = sp.csr_array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    cells = memory_cells(KNOWN[[0, 2]], as_counts(X), MODEL, BACKGROUND)
    value, slopes = cells.log_likelihood(Memory(0.0, 0.5, 0.2))
    lower = 0.8 * MODEL.distribution + 0.2 * BACKGROUND
    known = (np.array([2.5, 0.5]) + 1.0 * lower[:2]) / 4
    assert value == pytest.approx(np.log([*known, lower[3]]).mean())
    assert np.isfinite(slopes).all()
    assert (
        best_memory(cells, (0.0, 0.0, None, 0.0, 0.0, 0.0)).smoothing != 0.02
    )  # where the search begins


def test_rows_count_by_their_weights():
    X = as_counts(KNOWN)
    np.testing.assert_array_equal(rows_with(X), [1, 2, 0, 1])
    twice = as_counts(sp.vstack([KNOWN, KNOWN[[1]]]).tocsr())
    np.testing.assert_array_equal(rows_with(twice), [1, 3, 0, 2])
