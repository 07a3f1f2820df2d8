from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold

from skcooc import AspectModel, TriadicAspectModel, Triads
from skcooc.counts import NewTriples
from skcooc.counts.passes import threads
from skcooc.em import EMStage, State, make_solver
from skcooc.equations.triadic_aspects import Params, TriadicAspects
from skcooc.heldout.predictors import Factors
from skcooc.model_selection import CountSplit, split_counts
from skcooc.tables.dyads import same_table
from tests.equations.literal_aspects import distinctive_shares
from tests.equations.running import run_stages, step
from tests.tables import refused

SHAPE, K = (7, 5, 6), 3
RNG = np.random.default_rng(0)
DENSE = RNG.poisson(0.6, SHAPE) * np.array([1, 1, 0, 1, 1, 1, 1])[:, None, None]  # x_2 is empty
DENSE[:, :, 4] = 0


def triads_of(dense):
    positions = np.nonzero(dense)
    return Triads(*positions, dense[positions].astype(float), shape=dense.shape)


X = triads_of(DENSE).to_counts()


def distributions(rng, n, axis):
    P = rng.uniform(0.2, 1.2, (n, K))
    return P / P.sum(axis=axis, keepdims=True)


def some_state(shape=SHAPE, seed=1):
    rng = np.random.default_rng(seed)
    N, M, L = shape
    weights = np.array([0.2, 0.3, 0.5])
    params = Params(distributions(rng, L, 0), distributions(rng, M, 0), weights, weights[::-1])
    return State(params, distributions(rng, N, 1))


def literal(n, state, beta, c=0.0, exponents=(1.0, 1.0), power_of_y=True, prior=True):
    """A step, and the free energy before it, in slow loops; with False it is a broken twin."""
    (C, B, pi, rho), A = state
    a, b = exponents
    newA, newB, newC, energy = np.zeros_like(A), np.zeros_like(B), np.zeros_like(C), 0.0
    for i, j, w in np.argwhere(n):
        y = [B[j, k] ** (b * beta) if power_of_y else B[j, k] for k in range(K)]
        x = [(A[i, k] / pi[k]) ** (a * beta) for k in range(K)]  # P(x given z) / P(x)
        left = [rho[k] ** (1 - beta) if prior else 1.0 for k in range(K)]
        r = [left[k] * x[k] * y[k] * (pi[k] * C[w, k]) ** beta for k in range(K)]
        energy -= n[i, j, w] * np.log(sum(r)) / beta
        for k in range(K):
            expected = n[i, j, w] * r[k] / sum(r)
            newA[i, k] += expected
            newB[j, k] += expected
            newC[w, k] += expected
    weights, rho = newC.sum(axis=0) / n.sum(), distinctive_shares(newC[None])
    newC, newB = newC + c, newB + c * len(C) / len(B)
    mass = newA.sum(axis=1, keepdims=True)
    rows = np.where(mass > 0, newA / np.where(mass > 0, mass, 1), state.params.weights)
    params = Params(newC / newC.sum(axis=0), newB / newB.sum(axis=0), weights, rho)
    return State(params, rows), energy


def off(one, two):
    pairs = zip((*one.params, one.rows), (*two.params, two.rows), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


PLAIN, UNEQUAL = (1.0, 1.0), (0.4, 0.7)


@pytest.mark.parametrize(
    ("beta", "c", "exponents"), [(1.0, 0.0, PLAIN), (0.8, 0.0, UNEQUAL), (0.7, 0.1, UNEQUAL)]
)
def test_a_step_is_the_literal_one_and_not_its_twin(beta, c, exponents):
    mine = expected = some_state()
    for _ in range(2):
        logs = [np.log(P).sum() if c else 0.0 for P in expected.params[:2]]
        prior = c * logs[0] + exponents[1] * c * SHAPE[2] / SHAPE[1] * logs[1]
        mine, _, objective = step(TriadicAspects(K, c, exponents), X, mine, beta)
        before = expected
        expected, energy = literal(DENSE, expected, beta, c, exponents)
        assert off(mine, expected) < 1e-12
        np.testing.assert_allclose(objective, energy - prior, rtol=1e-12)
    parts = ("power_of_y", "prior") if beta < 1 else ()
    twins = [literal(DENSE, before, beta, c, exponents, **{part: False})[0] for part in parts]
    if exponents != PLAIN:
        twins += [literal(DENSE, before, beta, c, other)[0] for other in (PLAIN, UNEQUAL[::-1])]
    assert all(off(mine, twin) > 1e-3 for twin in twins)


def test_the_bound_falls():
    model = TriadicAspects(K, 0.05, UNEQUAL, "joint")  # else the prior changes
    for solver in (1.0, "momentum"):
        stage = EMStage(model, X, 0.8, 30, 0.0)
        found = run_stages([stage], make_solver(solver), start=some_state())
        energies = [record.free_energy for record in found.history]
        assert energies[-1] < energies[0]
        if solver == 1.0:
            assert max(b - a for a, b in pairwise(energies)) < 1e-10 * abs(energies[0])


def test_weights_are_repetitions_and_parts_add_up():
    positions = np.nonzero(DENSE)
    once = Triads(*positions, np.ones(len(positions[0])), shape=SHAPE)
    joint = TriadicAspects(K, tempering="joint")
    for model, weight in ((TriadicAspects(K), 1.0), (joint, 0.5)):
        expected = step(model, X, some_state(), 0.9)
        counts = once.reweighted(weight * DENSE[positions]).to_counts()
        assert off(step(model, counts, some_state(), 0.9)[0], expected[0]) < 1e-14
    rest, drawn = (part.pairs.toarray() for part in X.divide(0.3, 0))
    np.testing.assert_array_equal(rest + drawn, X.pairs.toarray())
    assert 0 < drawn.sum() < rest.sum()
    again = triads_of(DENSE[::-1]).to_counts().divide(0.3, 0)[1]  # by the content of rows
    np.testing.assert_array_equal(again.pairs.toarray()[::-1], drawn)


def test_a_prediction_is_a_conditional_distribution():
    params, rows = some_state()
    for a, b in (PLAIN, UNEQUAL, (0.0, 1.0)):
        given = (rows / params.weights) ** a * params.weights
        P = np.einsum("ik,jk,lk->ijl", given, params.middle**b, params.components)
        P /= P.sum(axis=2, keepdims=True)
        factors = TriadicAspects(K, exponents=(a, b)).prediction_factors(params, rows)
        cells = Factors(*factors).cells(X)
        i = np.repeat(np.arange(SHAPE[0]), np.diff(X.indptr))
        np.testing.assert_allclose(cells, P[i, X.middle, X.indices], rtol=1e-12)
        factors[0][SHAPE[0] :] = 0  # every y is new
        without = given / given.sum(axis=1, keepdims=True) @ params.components.T
        np.testing.assert_allclose(Factors(*factors).cells(X), without[i, X.indices], rtol=1e-12)


def planted(n, rng, n_each=4):
    """Triads of three classes, each with its own values in every way, now and then another's."""
    z = rng.integers(K, size=n)
    ways = []
    for _ in range(3):
        seen = np.where(rng.random(n) < 0.1, rng.integers(K, size=n), z)
        ways.append(n_each * seen + rng.integers(n_each, size=n))
    return Triads(*ways, shape=(K * n_each,) * 3)


def test_a_planted_model_is_recovered_and_predicts_better_than_two_ways():
    observed = planted(6000, np.random.default_rng(0))
    train, test = split_counts(observed, random_state=0)
    model = TriadicAspectModel(K, random_state=0).fit(train)
    truth = np.full((K, K), 0.1 / K) + 0.9 * np.eye(K)
    truth = np.repeat(truth, 4, axis=1) / 4
    order = model.components_[:, ::4].argmax(axis=0)
    for P in (model.components_, model.middle_components_, model.row_components_):
        assert np.abs(P[order] - truth).sum(axis=1).max() < 0.15
    assert abs(model.weights_ - 1 / K).max() < 0.05
    perplexities = [
        AspectModel(K, random_state=0).fit(train.dyads(*ways)).perplexity(test.dyads(*ways))
        for ways in ((0, 2), (1, 2))
    ]
    assert model.perplexity(test) < 0.95 * min(perplexities)


def test_what_says_the_same_twice_or_nothing_counts_less():
    """The second way repeats the first, now and then; the search finds it, and predicts better."""
    rng = np.random.default_rng(0)
    z, n_each = rng.integers(K, size=3000), 6
    x, w = (n_each * z + rng.integers(n_each, size=3000) for _ in range(2))
    # Half of the x are another class's, and nearly always y is what x is.
    x = np.where(rng.random(3000) < 0.5, rng.integers(K * n_each, size=3000), x)
    y = np.where(rng.random(3000) < 0.1, rng.integers(K * n_each, size=3000), x)
    train, test = split_counts(Triads(x, y, w, shape=(K * n_each,) * 3), random_state=0)
    found, plain = (
        TriadicAspectModel(K, exponents=exponents, random_state=0).fit(train)
        for exponents in ("auto", (1, 1))
    )
    assert plain.exponents_ == (1.0, 1.0)
    assert min(found.exponents_) < 0.9
    assert found.perplexity(test) < plain.perplexity(test)
    assert {probe.exponents is None for probe in found.tuning_} == {True, False}
    again = clone(found).set_params(warm_start=True).fit(train)
    assert again.fit(train).exponents_ == found.exponents_


SMALL = planted(500, np.random.default_rng(1))
QUICK = TriadicAspectModel(2, beta=0.9, max_iter=8, random_state=0, tol=1e-2)


def test_single_precision_stays_and_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    model = clone(QUICK).fit(SMALL.reweighted(np.ones(len(SMALL), np.float32)))
    wide = clone(QUICK).fit(SMALL)
    for name in ("components_", "middle_components_", "row_components_", "embedding_"):
        assert getattr(model, name).dtype == np.float32
        np.testing.assert_allclose(getattr(model, name), getattr(wide, name), atol=1e-3)
    found = []
    for n_threads in (1, 3):
        with threads(n_threads) as map:
            found.append(
                step(TriadicAspects(K), X.with_threads(n_threads, map), some_state(), 0.9)[0]
            )
    assert off(*found) == 0


def test_new_rows_are_folded_in_and_what_is_drawn_is_of_the_table():
    model = clone(QUICK).set_params(max_iter=500, tol=1e-9).fit(SMALL)
    np.testing.assert_allclose(model.transform(SMALL), model.embedding_, atol=0.02)
    one = SMALL[SMALL.rows == 3]
    row = Triads(np.zeros(len(one), int), *one.positions[1:], shape=(1, *SMALL.table_shape[1:]))
    np.testing.assert_allclose(model.transform(row)[0], model.transform(SMALL)[3], atol=1e-4)
    drawn = model.sample(300)
    assert same_table(drawn.schema, SMALL.schema)
    assert model.perplexity(drawn) < 12
    warm = clone(model).set_params(warm_start=True, tol=1).fit(SMALL).set_params(max_iter=3)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        warm.set_params(tol=0).fit(SMALL)
    new = Triads([0], [12], [0], shape=(12, 13, 12))
    refused("values of the second index", warm.fit, new)


def test_what_is_no_table_of_three_ways_is_refused():
    model = clone(QUICK).fit(SMALL)
    with pytest.raises(TypeError, match=r"takes tokens of three indices, skcooc\.Triads"):
        TriadicAspectModel(2).fit(np.ones((3, 3)))
    for exponents in ((1.0,), (0.5, 1.2), (-0.1, 1.0)):
        with pytest.raises(ValueError, match=r"should be two numbers in the \[0, 1\] range"):
            TriadicAspectModel(2, exponents=exponents).fit(SMALL)
    refused("Got Triads, which have three indices", AspectModel(2).fit, SMALL, error=TypeError)
    other = Triads([0], [0], [0], shape=(12, 12, 13))
    for method in (model.score, model.transform):
        refused("tokens of a table of shape", method, other)
    refused("minimum of 1 is required by TriadicAspectModel", TriadicAspectModel(2).fit, SMALL[:0])
    for name in ("partial_fit", "aic", "bic", "row_log_likelihood"):
        assert not hasattr(model, name)
    assert model.n_parameters_ == (12 + 12 + 12 - 2) * 2 - 1
    assert isinstance(X.as_new(), NewTriples)


def test_folds_divide_observations():
    search = GridSearchCV(clone(QUICK), {"n_components": [1, 3]}, cv=KFold(2, shuffle=True))
    assert search.fit(SMALL).best_params_ == {"n_components": 3}
    for train, test in CountSplit(3, random_state=0).split(SMALL):
        assert len(train) + len(test) == len(SMALL)
        assert set(SMALL[test].rows) <= set(SMALL[train].rows)
