from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skcooc import (
    AspectModel,
    AveragedModels,
    Dyads,
    ProductSpaceMixture,
    TriadicAspectModel,
)
from skcooc.counts import CSRCounts
from skcooc.em.solvers import Momentum
from skcooc.em.stages import PlainRunner, fit
from skcooc.ensemble.averaging import LARGER_BETA, consensus, mean_tunables, predicted_mean
from skcooc.equations.aspects import distinctive_shares, usual_beta
from skcooc.equations.row_clusters import RowClusters
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.tuning import LeaveOneOut
from skcooc.heldout import Factors, HeldOut
from skcooc.inspection import describe, set_names
from skcooc.model_selection import CountSplit, split_counts
from skcooc.simplex import match_rows
from tests.cases import CLASSES, FAST
from tests.tables import held_out, occupied, planted, refused

pytestmark = pytest.mark.usefixtures("few_starts")
X = planted(n_tokens=4000).X.astype(float)
HARD = occupied(planted(10, 3000, n_rows=100, n_columns=200).X)  # more topics than the models have
ASPECTS = AspectModel(4, **{**FAST, "random_state": None})


def average(estimator=ASPECTS, n_estimators=3, random_state=0, **params):
    options = {"random_state": random_state, "n_jobs": 1, **params}
    return AveragedModels(clone(estimator), n_estimators, **options)


@pytest.fixture(scope="module")
def model():
    return average().fit(X)


@pytest.mark.parametrize("estimator", CLASSES, ids=repr)
def test_the_prediction_is_the_mean_of_those_of_the_members(estimator):
    mean = average(estimator, 2, max_iter=10).fit(X)
    for ours, theirs in (
        (mean.transform(X) @ mean.components_, lambda m: m.transform(X) @ m.components_),
        (mean.embedding_ @ mean.components_, lambda m: m.embedding_ @ m.components_),
        (mean.weights_ @ mean.components_, lambda m: m.weights_ @ m.components_),
    ):
        expected = np.mean([theirs(member) for member in mean.estimators_], axis=0)
        np.testing.assert_allclose(ours, expected, rtol=1e-10)
    np.testing.assert_allclose(mean.transform(X).sum(axis=1), 1)


def test_members_differ_by_their_seeds_for_any_number_of_threads(model):
    first, second, _ = model.estimators_
    assert np.abs(first.components_ - second.components_).max() > 1e-3
    parallel = average(n_jobs=2).fit(X)
    np.testing.assert_array_equal(parallel.components_, model.components_)
    np.testing.assert_array_equal(parallel.embedding_, model.embedding_)
    estimator = ProductSpaceMixture(2, 2, beta=0.95, max_iter=5, random_state=7)
    average(estimator, 2).fit(X)
    assert estimator.random_state == 7
    assert not hasattr(estimator, "components_")


def test_the_mean_of_short_fits_beats_one_fit_to_the_end():
    estimator = AspectModel(4)
    train, test = split_counts(HARD, random_state=1)
    mean = AveragedModels(estimator, 4, random_state=0).fit(train)
    single = clone(estimator).set_params(random_state=0).fit(train)
    assert mean.perplexity(Dyads(test)) < 0.99 * single.perplexity(Dyads(test))
    members = [member.perplexity(Dyads(test)) for member in mean.estimators_]
    assert mean.perplexity(Dyads(test)) < min(members)


def short_fit(table, seed, beta, n_iter):
    """Literal transcription: EM on 4 topics from single rows, 8 iterations of them at beta = 1."""
    rng = np.random.default_rng(draw_seeds(seed, 1)[0])
    counts = CSRCounts(sp.csr_array(table))
    seeds = RowClusters(4).seeded(counts, rng, 100)[0].components
    m = counts.column_sums + 1e-3 * counts.column_sums.mean()
    B, A = 0.9 * seeds + 0.1 * (m / m.sum())[:, None], np.full((len(table), 4), 0.25)
    rho = np.full(4, 0.25)
    for iteration in range(n_iter + 1):
        b = 1.0 if iteration < 8 else beta
        R = (A[:, None, :] * B[None]) ** b * rho ** (1 - b)
        R *= table[:, :, None] / R.sum(axis=2, keepdims=True)
        A, expected = R.sum(axis=1), R.sum(axis=0)
        A /= A.sum(axis=1, keepdims=True)
        if iteration == n_iter:  # rows are those of the last parameters
            return A @ B.T
        B, weights = expected / expected.sum(axis=0), expected.sum(axis=0) / table.sum()
        rho = distinctive_shares(expected, weights)


def test_a_member_makes_so_many_iterations_from_a_quick_start():
    table = planted(4, 4000, n_rows=40, n_columns=30).X.toarray().astype(float)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    options = {"beta": 0.85, "solver": "em", "tempering": "distinctive", "component_prior": 0.0}
    mean = average(AspectModel(4, **options), 2, max_iter=12).fit(table)
    for member in mean.estimators_:
        expected = short_fit(table, member.random_state, 0.85, 12)
        found = member.embedding_ @ member.components_
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert member.n_iter_ == 12
        assert np.abs(short_fit(table, member.random_state, 0.85, 6) - expected).max() > 1e-3


def test_members_make_all_iterations_whatever_the_objective_does():
    loose = AspectModel(4, beta=0.8, tol=1.0)
    assert loose.fit(HARD).n_iter_ < 20  # a fit of its own ends at once
    mean = average(loose, 2).fit(HARD)
    assert [member.n_iter_ for member in mean.estimators_] == [20, 20]


def test_the_mean_is_tuned_from_the_temperature_of_a_single_fit():
    mean = average(ProductSpaceMixture(2, 2), 6).fit(HARD)
    single = [trial for trial in mean.tuning_ if trial.stage != "mean"]
    means = [trial for trial in mean.tuning_ if trial.stage == "mean"]
    best = min(single, key=lambda t: t.loss)
    (chosen,) = (trial for trial in mean.tuning_ if trial.chosen)
    assert chosen is min(means, key=lambda t: t.loss)
    assert means[0].beta == pytest.approx(min(1.07 * best.beta, 1))
    assert mean.beta_ == chosen.beta == mean.estimators_[0].beta_
    assert mean.smoothing_ == chosen.validation.smoothing


def test_the_mean_of_aspect_models_is_tuned_from_their_usual_temperature():
    mean = average(AspectModel(4), 6).fit(HARD)
    (chosen,) = (trial for trial in mean.tuning_ if trial.chosen)
    usual = usual_beta(CSRCounts(HARD.astype(float)), 4)
    assert {trial.stage for trial in mean.tuning_} == {"mean"}
    assert mean.tuning_[0].beta == pytest.approx(min((3 + 1.07 * usual) / 4, 1))
    assert mean.beta_ == chosen.beta == mean.estimators_[0].beta_
    assert mean.smoothing_ == chosen.validation.smoothing


def test_what_is_given_is_not_tuned():
    given = AspectModel(4, beta=0.8, component_prior=0.01)
    fixed = average(given, 2).fit(HARD)
    assert fixed.beta_ == 0.8
    assert fixed.estimators_[0].component_prior_ == 0.01


def test_the_temperature_of_members_is_never_larger_than_one():
    long = planted(2, 30_000, n_rows=40, n_columns=40).X  # hardly overfitted
    mean = average(ProductSpaceMixture(2, 2), 2).fit(long)
    single = [trial for trial in mean.tuning_ if trial.stage != "mean"]
    assert min(single, key=lambda trial: trial.loss).beta > 0.95
    assert {trial.beta for trial in mean.tuning_ if trial.stage == "mean"} == {1.0}


def test_a_mean_has_a_larger_beta_with_leave_one_out_too():
    left_out = LeaveOneOut(0.8, {"row_prior": 1.0}, [])
    candidates = mean_tunables({"beta": 0.7}, [left_out], 1.0)[0].candidates
    assert candidates[1]["leave_one_out"]
    assert candidates[1]["beta"] == pytest.approx((1 + LARGER_BETA * 0.8) / 2)


def test_nothing_is_extrapolated_where_a_member_finds_a_token_impossible():
    counts, rng = CSRCounts(sp.csr_array(np.ones((2, 3)))), np.random.default_rng(0)
    heldout = HeldOut(counts, np.full(3, 1 / 3), smoothing=0.0)
    A, B = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(3), 2).T
    models = [Factors(A, B), Factors(A, np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]))]
    mean = predicted_mean(models, 8, heldout, None)
    P = np.mean([model.A @ model.B.T for model in models], axis=0)
    assert mean.validation.perplexity == pytest.approx(np.exp(-np.log(P).mean()))


def test_components_of_a_consensus_are_weighted_by_their_tokens():
    rng = np.random.default_rng(0)
    first, rows = rng.dirichlet(np.full(20, 0.2), 2), rng.dirichlet(np.ones(30))
    second = 0.7 * first + 0.3 * rng.dirichlet(np.ones(20), 2)
    mixtures = [rng.dirichlet(size, 30) for size in ([8.0, 2.0], [2.0, 8.0])]
    models = [Factors(A, P.T) for A, P in zip(mixtures, (first, second), strict=True)]
    found = consensus(models, rows)
    np.testing.assert_allclose(found.affinity_, match_rows(first, second)[1])  # not of itself
    shares = [rows @ A for A in mixtures]
    for k in range(2):
        tokens = [share[k] for share in shares]
        expected = (tokens[0] * first[k] + tokens[1] * second[k]) / sum(tokens)
        np.testing.assert_allclose(found.components_[k], expected)
        assert found.component_distribution_[k] == pytest.approx(np.mean(tokens))


def test_the_temperature_of_a_mean_only_rises():
    for largest, beta, expected in ((1.0, 0.5, 0.75), (np.inf, 0.5, 0.75), (0.7, 0.5, 0.7)):
        *_, raised = mean_tunables({"beta": beta}, [], largest)
        assert raised.next(beta) == expected
        assert raised.next(2.0) == 2.0  # of clusters, which may be larger than one


@pytest.mark.parametrize(("n_components", "is_raised"), [(3, True), (8, False)])
def test_a_prior_that_gains_a_percent_is_raised_and_then_the_temperature(n_components, is_raised):
    first, prior, *raised, last = average(AspectModel(n_components)).fit(HARD).tuning_
    gain = 1 - prior.validation.perplexity / first.validation.perplexity
    assert (gain > 0.01) == bool(raised) == is_raised
    for trial in raised:
        assert trial.prior == pytest.approx(2.2 * prior.prior)
        assert trial.beta == prior.beta == first.beta
    best = min(first, prior, *raised, key=lambda trial: trial.loss)
    assert last.prior == best.prior
    assert last.beta == pytest.approx((1 + first.beta) / 2)


@pytest.mark.parametrize("n", [2, 6])
def test_the_mean_is_validated_by_three_members(n):
    """Literal transcription, with perplexity and smoothing extrapolated to all members."""
    mean = average(AspectModel(4), n).fit(HARD)
    seeds = draw_seeds(0, n)
    rest, held = held_out(HARD.astype(float), 0.1, seeds[0])
    (chosen,) = (trial for trial in mean.tuning_ if trial.chosen)
    counts = CSRCounts(rest)
    predicted = []
    for seed in seeds[:3]:
        recipe = AspectModel(4, max_iter=20).recipe().of_member().with_values(chosen.values)
        stages = recipe.stages(counts)
        rng = np.random.default_rng(draw_seeds(seed, 1)[0])
        first = stages[0].stage
        start = first.start(first.model, counts, rng, PlainRunner())
        result = fit(stages, rng, Momentum(), start)
        rows, _ = counts.expect(recipe.equations, *result.state, chosen.beta)
        predicted.append(rows @ result.params.components.T)
    b = (rest.sum(axis=0) + 1) / (rest.sum() + HARD.shape[1])
    held = held.toarray()

    def log_perplexity(P, s):
        return -(held * np.log((1 - s) * P + s * b)).sum() / held.sum()

    def best(P):
        bounds = {"bounds": (1e-3, 1 - 1e-9), "method": "bounded", "options": {"xatol": 1e-9}}
        result = minimize_scalar(partial(log_perplexity, P), **bounds)
        return result.fun, result.x

    if n == 2:
        expected, smoothing = best((predicted[0] + predicted[1]) / 2)
    else:
        pairs = [(predicted[i] + predicted[(i + 1) % 3]) / 2 for i in range(3)]
        singles = np.array([best(P) for P in predicted])
        last = best(sum(predicted) / 3)
        logs = [singles[:, 0].mean(), np.mean([best(P)[0] for P in pairs]), last[0]]
        vandermonde = np.vander(1 / np.array([1, 2, 3]))
        expected = np.linalg.solve(vandermonde, logs) @ [1 / n**2, 1 / n, 1]
        power = (np.log(singles[:, 1]).mean() - np.log(last[1])) / np.log(3)
        smoothing = last[1] * (3 / n) ** power
    assert np.log(chosen.validation.perplexity) == pytest.approx(expected, rel=1e-5)
    assert mean.smoothing_ == pytest.approx(smoothing, rel=0.02)


def test_smoothing_is_estimated_if_members_hold_out_counts_and_grids_are_searched():
    sparse = planted(n_tokens=300).X
    stopping = average(clone(ASPECTS).set_params(beta=1.0, early_stopping=True)).fit(sparse)
    assert stopping.smoothing_ > 1e-2
    assert stopping.beta_ == 1
    assert [trial.stage for trial in stopping.tuning_] == ["mean"]
    assert average(clone(ASPECTS).set_params(beta=0.9)).fit(sparse).smoothing_ == 1e-3
    assert average(clone(ASPECTS).set_params(smoothing=0.2)).fit(sparse).smoothing_ == 0.2
    grid = {"estimator__n_components": [2, 4], "n_estimators": [1, 2]}
    base = average(clone(ASPECTS).set_params(beta=0.9), max_iter=10)
    search = GridSearchCV(base, grid, cv=CountSplit(2, random_state=0)).fit(Dyads(X))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["n_estimators"] == 2


def test_bad_parameters():
    for mean, message in (
        (AveragedModels("aspects"), "'estimator' .* must be a model of skcooc such as A"),
        (average(TriadicAspectModel(2)), "TriadicAspectModel predicts more than the prod"),
        (average(n_estimators=0), "The 'n_estimators' parameter"),
        (average(max_iter=0), "The 'max_iter' parameter of AveragedModels"),
        (average(AspectModel(beta="hot")), "The 'beta' parameter of AspectModel must be"),
    ):
        refused(message, mean.fit, X)


DATA = planted(3, 6000)
SHARES = np.full(80, 1 / 80)


def members(orders, noise=0.0):
    """The planted model with its components in these orders, each a little different."""
    rng = np.random.default_rng(0)
    for order in orders:
        B = DATA.components[order] * rng.uniform(1 - noise, 1 + noise, DATA.components.shape)
        yield Factors(DATA.mixtures[:, order], (B / B.sum(axis=1, keepdims=True)).T)


ORDERS = [[0, 1, 2], [2, 0, 1], [1, 0, 2]]


def test_members_in_other_orders_are_one_model():
    agreed = consensus(list(members(ORDERS)), SHARES)
    order = ORDERS[agreed.reference_]
    np.testing.assert_allclose(agreed.components_, DATA.components[order])
    np.testing.assert_allclose(agreed.embedding_, DATA.mixtures[:, order])
    np.testing.assert_allclose(agreed.component_distribution_, DATA.mixtures.mean(axis=0)[order])
    low, high = agreed.component_intervals_
    np.testing.assert_allclose(low, high)
    np.testing.assert_allclose(agreed.affinity_, 1)
    side_by_side = np.mean([member.B.T for member in members(ORDERS)], axis=0)  # a twin
    assert np.abs(side_by_side - agreed.components_).max() > 0.05


def test_intervals_are_quantiles_of_matched_components_and_the_reference_agrees_best():
    models = list(members([[0, 1, 2]] * 21, noise=0.5))
    agreed = consensus(models, SHARES)
    first = np.sort([model.B[5, 1] for model in models])
    np.testing.assert_allclose(agreed.component_intervals_[:, 1, 5], first[[1, 19]])
    inside = (agreed.component_intervals_[0] <= agreed.components_).mean()
    assert inside > 0.95
    models = list(members(ORDERS, noise=0.2))
    strange = models[0]._replace(B=np.roll(models[0].B, 7, axis=0))
    assert consensus([strange, *models], SHARES).reference_ != 0


def test_the_consensus_of_averaged_models_and_none_of_different_sizes():
    model = AveragedModels(AspectModel(3), random_state=0).fit(DATA.X)
    agreed = model.consensus_
    np.testing.assert_allclose(agreed.components_.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(agreed.embedding_.sum(axis=1), 1, rtol=1e-6)
    assert match_rows(DATA.components, agreed.components_)[1].min() > 0.95
    table = describe(agreed, n_features=2)
    low, high = table["intervals"][0][0]
    assert low <= table["probabilities"][0][0] <= high
    assert list(table["affinity"]) == list(agreed.affinity_)
    assert "intervals" not in describe(model)
    assert set_names(agreed, ["a", "b", "c"]).component_names_ == dict(enumerate("abc"))
    first, second = list(members(ORDERS[:2]))
    with pytest.raises(ValueError, match="different numbers of components"):
        consensus([first, Factors(second.A[:, :2], second.B[:, :2])], SHARES)
