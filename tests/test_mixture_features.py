from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from skcooc import AspectModel, AsymmetricClustering, Dyads, GuidedAspectModel, MixtureFeatures
from tests.tables import random_table, refused

pytestmark = pytest.mark.usefixtures("few_starts")
X = random_table(30, 20)
NEW = random_table(6, 20, seed=1)
ASPECTS = AspectModel(3, beta=0.9, max_iter=30, random_state=0)


@pytest.fixture(scope="module")
def features():
    return MixtureFeatures(ASPECTS).fit(X)


def test_features_are_roots_of_mixtures_at_that_temperature_of_a_plain_fit(features):
    for beta in (0.05, 0.2, 0.7):
        model = MixtureFeatures(ASPECTS, beta=beta).fit(X)
        plain = clone(ASPECTS).fit(X)
        plain.beta_ = beta  # test_fold_in compares mixtures with the steps of the papers
        np.testing.assert_allclose(model.transform(NEW), np.sqrt(plain.transform(NEW)))
    # Broken twins: folded in at the temperature of the fit; without roots.
    found = features.transform(NEW)
    for twin in (features.estimator_.transform(NEW) ** 0.5, found**2):
        assert np.abs(found - twin).max() > 0.05
    plain = clone(ASPECTS).fit(X)
    assert not hasattr(features.estimator, "components_")
    assert features.estimator_.beta_ == plain.beta_ == 0.9
    np.testing.assert_array_equal(features.estimator_.transform(NEW), plain.transform(NEW))
    same = MixtureFeatures(ASPECTS, beta=0.9).fit(X)  # the temperature of the fit
    np.testing.assert_array_equal(same.transform(NEW), np.sqrt(plain.transform(NEW)))


def test_rows_fitted_are_folded_in_like_new_ones_from_any_container(features):
    found = clone(features).fit_transform(X)
    np.testing.assert_array_equal(found, features.transform(X))
    np.testing.assert_array_equal(found[[4]], features.transform(X[[4]]))
    np.testing.assert_allclose((found**2).sum(axis=1), 1)
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(20)])
    named = clone(features).fit(frame)
    assert list(named.feature_names_in_) == list(frame)
    assert list(named.get_feature_names_out()) == [f"mixturefeatures{k}" for k in range(3)]
    np.testing.assert_array_equal(named.transform(frame), features.transform(X))
    np.testing.assert_array_equal(features.transform(Dyads(X)), features.transform(X))
    inside = MixtureFeatures(clone(ASPECTS).set_output(transform="pandas")).fit(X)
    assert type(inside.transform(X)) is np.ndarray
    weights = np.arange(30) % 3
    weighted = clone(features).fit(X, sample_weight=weights).estimator_.components_
    np.testing.assert_array_equal(weighted, clone(ASPECTS).fit(X, None, weights).components_)


def test_clusters_are_softened_and_bad_parameters_keep_the_fit(features):
    clusters = AsymmetricClustering(3, beta=0.5, max_iter=10, random_state=0)
    found = MixtureFeatures(clusters, beta=0.02).fit(X)
    assert (found.transform(NEW) ** 2).max() < found.estimator_.transform(NEW).max()
    expected = features.transform(NEW)
    for params in ({"beta": 0}, {"beta": 1.1}, {"estimator": "aspects"}):
        known = copy(features).set_params(**params)
        refused(r"The '(beta|estimator)' parameter", known.fit, X)
        np.testing.assert_array_equal(known.transform(NEW), expected)
    grouped = GuidedAspectModel(2, group_effects="topics")
    refused("A meta-estimator does not take groups", MixtureFeatures(grouped).fit, X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("short_starts")
def test_scikit_learn_checks():
    check_estimator(MixtureFeatures(AspectModel(2, beta=0.9, max_iter=3, random_state=0)))
