import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skcooc import AspectModel, AveragedModels, Dyads, ProductSpaceMixture
from skcooc.counts import thin
from skcooc.ensemble.averaging import consensus
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout import Factors
from skcooc.inspection import describe
from skcooc.model_selection import CountSplit, split_counts
from skcooc.simplex import match_rows
from tests.cases import CLASSES, FAST
from tests.tables import planted, refused

pytestmark = pytest.mark.usefixtures("few_starts")
X = planted(n_tokens=4000).X.astype(float)
HARD = planted(10, 3000, n_rows=100, n_columns=200).X  # more topics than the models have
ASPECTS = AspectModel(4, **{**FAST, "random_state": None})


def average(estimator=ASPECTS, n_estimators=3, random_state=0, **params):
    options = {"random_state": random_state, "n_jobs": 1, **params}
    return AveragedModels(clone(estimator), n_estimators, **options)


@pytest.fixture(scope="module")
def model():
    return average().fit(X)


@pytest.mark.parametrize("estimator", CLASSES, ids=repr)
def test_the_prediction_is_the_mean_of_those_of_the_members(estimator):
    mean = average(clone(estimator).set_params(max_iter=10), 2).fit(X)
    for ours, theirs in (
        (mean.transform(X) @ mean.components_, lambda m: m.transform(X) @ m.components_),
        (mean.embedding_ @ mean.components_, lambda m: m.embedding_ @ m.components_),
        (mean.weights_ @ mean.components_, lambda m: m.weights_ @ m.components_),
    ):
        expected = np.mean([theirs(member) for member in mean.estimators_], axis=0)
        np.testing.assert_allclose(ours, expected, rtol=1e-10)
    np.testing.assert_allclose(mean.transform(X).sum(axis=1), 1)


def test_members_differ_and_are_those_of_their_seeds(model):
    first, second, _ = model.estimators_
    assert np.abs(first.components_ - second.components_).max() > 1e-3
    alone = clone(first).set_params(random_state=second.random_state).fit(X)
    np.testing.assert_array_equal(alone.components_, second.components_)
    estimator = ProductSpaceMixture(2, 2, beta=0.95, max_iter=5, random_state=7)
    average(estimator, 2).fit(X)
    assert estimator.random_state == 7
    assert not hasattr(estimator, "components_")


def test_the_mean_beats_its_members():
    train, test = split_counts(HARD, random_state=0)
    mean = average(AspectModel(4, max_iter=40), 3).fit(train)
    members = [member.perplexity(Dyads(test)) for member in mean.estimators_]
    single = AspectModel(4, max_iter=40, random_state=0).fit(train)
    assert mean.perplexity(Dyads(test)) < min(*members, single.perplexity(Dyads(test)))


def test_the_temperature_is_that_of_the_mean():
    """Literal transcription of the mean of short fits."""
    X = HARD
    mean = average(AspectModel(4, max_iter=40), 3).fit(X)
    first = mean.estimators_[0]
    (chosen,) = (trial for trial in mean.tuning_ if trial.chosen)
    assert mean.beta_ == chosen.beta == first.beta_
    assert first.component_prior_ == chosen.prior > 0
    assert mean.smoothing_ == chosen.validation.smoothing
    seeds = draw_seeds(mean.random_state, 3)
    rest, held = thin(X, 0.1, seeds[0])
    given = {"beta": mean.beta_, "component_prior": chosen.prior, "max_iter": 25}
    short = [AspectModel(4, **given, random_state=seed).fit(rest) for seed in seeds]
    P = np.mean([m.embedding_ @ m.components_ for m in short], axis=0)
    b = (rest.sum(axis=0) + 1) / (rest.sum() + X.shape[1])
    P = (1 - mean.smoothing_) * P + mean.smoothing_ * b
    held = held.toarray()
    expected = np.exp(-(held * np.log(P)).sum() / held.sum())
    assert chosen.validation.perplexity == pytest.approx(expected, rel=1e-6)


def test_smoothing_is_estimated_if_members_hold_out_counts_and_grids_are_searched():
    sparse = planted(n_tokens=300).X
    stopping = average(clone(ASPECTS).set_params(beta=1.0, early_stopping=True)).fit(sparse)
    assert stopping.smoothing_ > 1e-2
    assert stopping.beta_ == 1
    assert stopping.tuning_ == []
    assert average(clone(ASPECTS).set_params(beta=0.9)).fit(sparse).smoothing_ == 1e-3
    assert average(clone(ASPECTS).set_params(smoothing=0.2)).fit(sparse).smoothing_ == 0.2
    grid = {"estimator__n_components": [2, 4], "n_estimators": [1, 2]}
    base = average(clone(ASPECTS).set_params(beta=0.9, max_iter=10))
    search = GridSearchCV(base, grid, cv=CountSplit(2, random_state=0)).fit(Dyads(X))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["n_estimators"] == 2


def test_bad_parameters():
    for mean, message in (
        (AveragedModels("aspects"), "The 'estimator' parameter of AveragedModels must be"),
        (average(n_estimators=0), "The 'n_estimators' parameter"),
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
    model = AveragedModels(AspectModel(3, tol=1e-4), 3, random_state=0).fit(DATA.X)
    agreed = model.consensus_
    np.testing.assert_allclose(agreed.components_.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(agreed.embedding_.sum(axis=1), 1, rtol=1e-6)
    assert match_rows(DATA.components, agreed.components_)[1].min() > 0.95
    table = describe(agreed, n_features=2)
    low, high = table["intervals"][0][0]
    assert low <= table["probabilities"][0][0] <= high
    assert list(table["affinity"]) == list(agreed.affinity_)
    assert "intervals" not in describe(model)
    first, second = list(members(ORDERS[:2]))
    with pytest.raises(ValueError, match="different numbers of components"):
        consensus([first, Factors(second.A[:, :2], second.B[:, :2])], SHARES)
