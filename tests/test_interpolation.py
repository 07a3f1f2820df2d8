"""Weighted means of different models: their weights and predictions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV, KFold

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    Dyads,
    InterpolatedModels,
    RowMemory,
)
from skcooc.counts import thin
from skcooc.fitting.recipe import draw_seeds
from skcooc.model_selection import split_observations
from tests.cases import FAST
from tests.tables import planted

X = planted(n_rows=60, n_columns=80, n_observations=4000).X.astype(float)
TRAIN, TEST = split_observations(X, random_state=0)
ASPECTS, CLUSTERS = AspectModel(8, beta=1.0, **FAST), AsymmetricClustering(3, beta=0.2, **FAST)
SEARCHING = [("aspects", AspectModel(3, **FAST)), ("clusters", AsymmetricClustering(3, **FAST))]


def mean_of(estimators=(("aspects", ASPECTS), ("clusters", CLUSTERS)), **params):
    named = [(name, clone(estimator)) for name, estimator in estimators]
    return InterpolatedModels(named, **{"random_state": 0, **params})


@pytest.fixture(scope="module")
def model():
    return mean_of().fit(TRAIN)


def predicted(estimator):
    return estimator.embedding_ @ estimator.components_


def literal_weights(counts, predictions, n_steps=2000):
    """EM of the weights, on dense tables."""
    weights = np.full(len(predictions), 1 / len(predictions))
    for _ in range(n_steps):
        mean = sum(w * P for w, P in zip(weights, predictions, strict=True))
        weights = np.array(
            [w * (counts * P / mean).sum() for w, P in zip(weights, predictions, strict=True)]
        )
        weights /= weights.sum()
    return weights


def weights_of(members, heldout, background):
    P = [*map(predicted, members), np.broadcast_to(background, X.shape)]
    *weights, s = literal_weights(heldout.toarray(), P)
    return np.array(weights) / sum(weights), s


def test_weights_are_those_of_a_literal_transcription(model):
    rest, heldout = thin(TRAIN, 0.1, draw_seeds(0, 1)[0])
    b = (rest.sum(axis=0) + 1) / (rest.sum() + X.shape[1])
    members = [clone(estimator).fit(rest) for estimator in (ASPECTS, CLUSTERS)]
    weights, s = weights_of(members, heldout, b)
    np.testing.assert_allclose(model.interpolation_weights_, weights, atol=2e-3)
    assert model.smoothing_ == pytest.approx(max(s, 1e-3), abs=2e-3)
    # A twin fitted to the held-out counts would trust the model that overfits.
    twin, _ = weights_of(model.estimators_, heldout, b)
    assert twin[0] > weights[0] + 0.02


def test_the_prediction_is_the_weighted_mean_and_better_than_each_member(model):
    w = model.interpolation_weights_
    assert w.sum() == pytest.approx(1)
    assert (w > 0.02).all()
    P = [predicted(member) for member in model.estimators_]
    np.testing.assert_allclose(predicted(model), w[0] * P[0] + w[1] * P[1], rtol=1e-10)
    P = [member.inverse_transform(member.transform(X)) for member in model.estimators_]
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ model.components_, w[0] * P[0] + w[1] * P[1], rtol=1e-10)
    assert model.components_.shape == (11, X.shape[1])
    np.testing.assert_array_equal(
        model.named_estimators_.clusters.components_, model.components_[8:]
    )
    members = [member.perplexity(Dyads(TEST)) for member in model.estimators_]
    assert model.perplexity(Dyads(TEST)) < 0.99 * min(members)


def test_models_are_fitted_twice_also_in_a_cache():
    fits = []

    class Counting(AspectModel):
        def fit(self, X, *args, **params):
            fits.append(X.sum())
            return super().fit(X, *args, **params)

    model = mean_of([("one", Counting(3, beta=0.9, **FAST))])
    RowMemory(model).fit(TRAIN)
    assert sorted(fits) == [thin(TRAIN, 0.1, draw_seeds(0, 1)[0])[0].sum(), TRAIN.sum()]


@pytest.mark.parametrize(
    "other",
    [
        AveragedModels(CLUSTERS, 2, random_state=0),
        LatentDirichletAllocation(3, max_iter=5, random_state=0),
        NMF(3, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_averages_and_transformers_as_members(other):
    model = mean_of([("aspects", ASPECTS), ("other", other)]).fit(TRAIN)
    for mixtures in (model.embedding_, model.transform(X)):
        np.testing.assert_allclose(mixtures.sum(axis=1), 1, rtol=1e-6)
    assert model.perplexity(Dyads(TEST)) < model.estimators_[0].perplexity(Dyads(TEST))
    assert np.isfinite(model.perplexity(X[:20]))


def test_a_cache_around_an_interpolation():
    bursty = planted(n_rows=60, n_columns=80, n_observations=6000, burstiness=20).X.astype(float)
    train, test = split_observations(bursty, random_state=0)
    for estimators in (SEARCHING, (("aspects", ASPECTS), ("clusters", CLUSTERS))):
        model = RowMemory(mean_of(estimators)).fit(train)
        assert model.perplexity(Dyads(test)) < 0.95 * model.estimator_.perplexity(Dyads(test))
        assert model.transform(bursty).shape == model.embedding_.shape


def test_parameters_reach_the_models_and_searches_use_them():
    model = mean_of()
    assert model.get_params()["aspects__n_components"] == 8
    model.set_params(aspects__n_components=2, clusters=clone(ASPECTS))
    assert model.estimators[0][1].n_components == 2
    assert isinstance(dict(model.estimators)["clusters"], AspectModel)
    assert "aspects" not in model.get_params(deep=False)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(mean_of(), {"aspects__n_components": [1, 3]}, cv=folds).fit(Dyads(X))
    assert search.best_params_ == {"aspects__n_components": 3}


LDA = LatentDirichletAllocation(2, max_iter=2)


REFUSED = [
    ([], {}, "non-empty list of"),
    ([ASPECTS], {}, "non-empty list of"),
    ([("aspects", ASPECTS), ("aspects", CLUSTERS)], {}, "not unique"),
    ([("n_jobs", ASPECTS)], {}, "conflict with constructor arguments"),
    ([("a__b", ASPECTS)], {}, "must not contain __"),
    ([("aspects", AspectModel)], {}, "The 'aspects' parameter of InterpolatedModels must be"),
    ([("none", None)], {}, "The 'none' parameter of InterpolatedModels must be"),
    ((("aspects", ASPECTS),), {}, "The 'estimators' parameter of InterpolatedModels must be"),
    ([("memory", RowMemory())], {}, "RowMemory predicts more than the product"),
    ([("pca", PCA(2))], {}, "negative components"),
    ([("lda", LDA)], {"sample_weight": np.ones(60)}, "sample_weight is given, but Latent"),
]


def test_bad_input():
    for estimators, params, message in REFUSED:
        model = InterpolatedModels(estimators)
        with pytest.raises(ValueError, match=message):
            model.fit(X, **params)
        assert not hasattr(model, "components_")
