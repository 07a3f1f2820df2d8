"""Warm starts: ten iterations and ten more are twenty, where nothing else has changed."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    ClusteringProjection,
    ProductSpaceMixture,
    SymmetricClustering,
)
from tests.tables import planted

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components")

X = planted(n_observations=4000).X.astype(float)
OPTIONS = {"tol": 0, "random_state": 0, "warm_start": True}
MODELS = [
    AspectModel(3, beta=0.9),
    AspectModel(3, beta=0.9, relaxation=1.8),
    AspectModel(3, beta=1.0, relaxation="alternating"),
    AspectModel(3, beta=0.7, cooling=0.8),
    AspectModel(3, beta=0.9, leave_one_out=True),
    ProductSpaceMixture(3, 3, beta=0.9),
    AsymmetricClustering(3, beta=0.3),
    AsymmetricClustering(3, beta=0.3, relaxation="momentum"),
    SymmetricClustering(3, 3, beta=0.7),
    ClusterAbstraction(3, beta=0.4, abstraction="constant"),
    ClusteringProjection(3, 4, beta=0.3),
]


def fitted(estimator, n_iter, **options):
    return clone(estimator).set_params(**OPTIONS, max_iter=n_iter).set_params(**options).fit(X)


def again(model, **options):
    """Ten more iterations of a model that was pickled."""
    return pickle.loads(pickle.dumps(model)).set_params(**{"max_iter": 10, **options}).fit(X)


def assert_same(one, two):
    for name in ("components_", "embedding_", "weights_", "objective_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_ten_and_ten_iterations_are_twenty(model):
    half, whole = fitted(model, 10), fitted(model, 20)
    assert_same(again(half), whole)
