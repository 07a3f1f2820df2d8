"""Features of rows against a slow fold-in, and their use in a classifier."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from skcooc import AspectModel, AsymmetricClustering, Dyads, MixtureFeatures
from tests.tables import random_table

pytestmark = pytest.mark.usefixtures("few_starts")
X = random_table(30, 20)
NEW = random_table(6, 20, seed=1)
ASPECTS = AspectModel(3, beta=0.9, max_iter=30, random_state=0)


@pytest.fixture(scope="module")
def features():
    return MixtureFeatures(ASPECTS).fit(X)


def slow(model, counts, beta):
    """Mixtures by tempered EM, observation by observation."""
    mixtures = np.empty((len(counts), len(model.components_)))
    for i, row in enumerate(counts):
        mixture = model.weights_
        for _ in range(300):
            total = np.zeros(len(mixture))
            for j in np.flatnonzero(row):
                joint = (mixture * model.components_[:, j]) ** beta
                total += row[j] * joint / joint.sum()
            mixture = total / total.sum() if row.any() else model.weights_
        mixtures[i] = mixture
    return mixtures


def test_features_are_roots_of_mixtures_at_that_temperature(features):
    for beta in (0.05, 0.2, 0.7):
        model = MixtureFeatures(ASPECTS, beta=beta).fit(X)
        expected = np.sqrt(slow(model.estimator_, NEW.toarray(), beta))
        np.testing.assert_allclose(model.transform(NEW), expected, atol=1e-4)
    # Broken twins: folded in at the temperature of the fit; without roots.
    found = features.transform(NEW)
    for twin in (features.estimator_.transform(NEW) ** 0.5, found**2):
        assert np.abs(found - twin).max() > 0.05


def test_the_estimator_is_that_of_a_plain_fit(features):
    plain = clone(ASPECTS).fit(X)
    assert not hasattr(features.estimator, "components_")
    assert features.estimator_.beta_ == plain.beta_ == 0.9
    np.testing.assert_array_equal(features.estimator_.transform(NEW), plain.transform(NEW))
    same = MixtureFeatures(ASPECTS, beta=0.9).fit(X)  # the temperature of the fit
    np.testing.assert_array_equal(same.transform(NEW), np.sqrt(plain.transform(NEW)))


def test_rows_fitted_are_folded_in_like_new_ones(features):
    found = clone(features).fit_transform(X)
    np.testing.assert_array_equal(found, features.transform(X))
    np.testing.assert_array_equal(found[[4]], features.transform(X[[4]]))
    np.testing.assert_allclose((found**2).sum(axis=1), 1)


def test_names_and_containers(features):
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(20)])
    named = clone(features).fit(frame)
    assert list(named.feature_names_in_) == list(frame)
    assert list(named.get_feature_names_out()) == [f"mixturefeatures{k}" for k in range(3)]
    np.testing.assert_array_equal(named.transform(frame), features.transform(X))
    np.testing.assert_array_equal(features.transform(Dyads(X)), features.transform(X))


def test_clusters_are_softened():
    clusters = AsymmetricClustering(3, beta=0.5, max_iter=10, random_state=0)
    found = MixtureFeatures(clusters, beta=0.02).fit(X)
    assert (found.transform(NEW) ** 2).max() < found.estimator_.transform(NEW).max()


def test_bad_parameters_keep_the_fit(features):
    expected = features.transform(NEW)
    for params in ({"beta": 0}, {"beta": 1.1}, {"estimator": "aspects"}):
        known = copy(features).set_params(**params)
        with pytest.raises(ValueError, match=r"The '(beta|estimator)' parameter"):
            known.fit(X)
        np.testing.assert_array_equal(known.transform(NEW), expected)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks():
    check_estimator(MixtureFeatures(AspectModel(2, beta=0.9, max_iter=10, random_state=0)))
