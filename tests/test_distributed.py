"""Dask arrays, fitted by a real cluster of worker processes."""

import os
import pickle
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    ClusteringProjection,
    Dyads,
    ProductSpaceMixture,
    SymmetricClustering,
)
from skcooc.model_selection import TemperatureSearchCV
from tests.tables import planted

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.xdist_group("dask"),  # one cluster
    pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components"),
]
SHORT = {"max_iter": 12, "tol": 0.0, "random_state": 0}
ESTIMATORS = [
    AspectModel(3, beta=0.9, **SHORT),
    AspectModel(3, beta=0.9, component_prior=0.01, tempering="likelihood", relaxation=1.8, **SHORT),
    AsymmetricClustering(3, beta=0.2, proportions="estimated", **SHORT),
    AsymmetricClustering(3, beta=0.2, cooling=1.8, **SHORT),
    AsymmetricClustering(3, hard=True, **SHORT),
    AsymmetricClustering(3, axis="columns", beta=0.1, **SHORT),
    SymmetricClustering(3, 4, beta=0.1, **SHORT),
    ClusterAbstraction(4, beta=0.2, abstraction="object", **SHORT),
    ProductSpaceMixture(3, 4, beta=0.95, **SHORT),
]
X = planted(n_rows=240, n_observations=12000).X.astype(float)


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def in_blocks(X, *ends):
    blocks = [X[first:last] for first, last in zip((0, *ends), (*ends, X.shape[0]), strict=True)]
    return delayed_rows(map(delayed, blocks), X.shape[1], X.dtype)


from dask import delayed  # noqa: E402

from skcooc.counts.dask import delayed_rows  # noqa: E402


def assert_same(one, two, **tolerance):
    for name in ("components_", "embedding_", "weights_", "unigram_", "row_distribution_"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), err_msg=name, **tolerance)
    np.testing.assert_allclose(one.objective_, two.objective_, rtol=tolerance["rtol"])
    assert (one.n_iter_, one.beta_, one.smoothing_) == (two.n_iter_, two.beta_, two.smoothing_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_it_is_the_fit_in_memory(client, estimator):
    whole = clone(estimator).fit(X)
    assert_same(clone(estimator).fit(in_blocks(X)), whole, rtol=0, atol=0)
    assert_same(clone(estimator).fit(in_blocks(X, 30, 30, 131)), whole, rtol=1e-6, atol=1e-9)
