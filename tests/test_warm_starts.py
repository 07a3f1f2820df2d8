"""Warm starts: ten iterations and ten more are twenty, where nothing else has changed."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import skcooc
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    ClusteringProjection,
    Dyads,
)
from tests.contract import assert_same_fit as assert_same
from tests.tables import occupied, planted, refused

pytestmark = pytest.mark.usefixtures("short_starts")

X = planted(n_tokens=4000).X.astype(float)
DENSE = occupied(X)
OPTIONS = {"tol": 0, "random_state": 0, "warm_start": True}
MODELS = [
    AspectModel(3, beta=0.9),
    AspectModel(3, beta=0.9, solver=1.8),
    AspectModel(3, beta=0.7, annealing=0.8, tempering="joint"),
    AspectModel(3, beta=0.7, leave_one_out=True),
    skcooc.ProductSpaceMixture(3, 3, beta=0.9),
    AsymmetricClustering(3, beta=0.3),
    AsymmetricClustering(3, beta=0.3, solver="momentum"),
    skcooc.SymmetricClustering(3, 3, beta=0.7),
    ClusterAbstraction(3, tree="binary", beta=0.4, abstraction="constant"),
    ClusteringProjection(3, 4, beta=0.3),
]


def fitted(estimator, n_iter, table=X, **options):
    return clone(estimator).set_params(**OPTIONS, max_iter=n_iter).set_params(**options).fit(table)


def again(model, table=X, **options):
    """Ten more iterations of a model that was pickled."""
    model = pickle.loads(pickle.dumps(model))
    return model.set_params(**{"max_iter": 10, "warm_start": True, **options}).fit(table)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_ten_and_ten_iterations_are_twenty(model):
    half, whole = fitted(model, 10), fitted(model, 20)
    assert_same(again(half), whole)
    assert_same(copy(half).fit(X), whole)
    assert_same(half.fit(X), whole)  # what was kept is as it was


OTHERS = [
    {"table": planted(n_tokens=4000, seed=1).X.astype(float)},
    {"table": X[::-1]},
    {"table": X[:50]},
    {"table": X.astype(np.float32)},
    {"beta": 0.8},
    {"solver": 1.5},
    {"tempering": "likelihood"},
]


def test_steps_begin_anew_with_other_data_or_another_model():
    model = AspectModel(3, beta=0.9, component_prior=0.01)
    one, two = (fitted(model, 10, warm_start=kept) for kept in (True, False))
    assert [vars(begun)["_end"] is None for begun in (one, two)] == [False, True]
    for other in OTHERS:
        assert_same(again(one, **other), again(two, **other))
    assert_same(again(one.partial_fit(X[:20])), again(two.partial_fit(X[:20])))


def test_a_warm_start_keeps_the_splits_of_annealing():
    model = fitted(AsymmetricClustering(3, beta=0.3, annealing=1.3), 10)
    assert again(model).splits_ == again(model, X[:50]).splits_ == model.splits_ != []


def test_a_warm_start_takes_other_priors():
    model = again(fitted(ClusteringProjection(3, beta=0.9), 5), cluster_prior=5.0, center_prior=0.5)
    assert (model.alpha_, *model.lambda_) == (5.0, 0.5, 0.5, 0.5)


def test_a_warm_start_needs_columns_of_the_same_names():
    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(X.shape[1])])
    model = clone(MODELS[0]).set_params(**OPTIONS, max_iter=5).fit(frame)
    for other in (frame.iloc[:, ::-1], Dyads(X, column_names=range(1, X.shape[1] + 1))):
        refused("columns with other names, or in another order. Set warm", model.fit, other)
    again(model, table=X)


@pytest.mark.parametrize("solver", ["momentum", 1.8])
def test_other_data_with_the_same_sums_do_no_harm(solver):
    """Sums of rows and columns are the same: the first steps are wrong, and none after them."""
    table, swapped = X.toarray() + 1, np.zeros(X.shape)
    swapped[:20, :20] = np.outer(*[1 - 2 * (np.arange(20) % 2)] * 2)
    other = table + swapped
    model = AspectModel(3, beta=1.0, solver=solver, tol=0, max_iter=10, random_state=0)
    end = clone(model).set_params(warm_start=True).fit(table).set_params(max_iter=300, tol=1e-9)
    end.fit(other)
    energies = np.array([record.free_energy for record in end.history_])
    assert (np.diff(energies[2:]) <= 1e-9 * energies[0]).all()
    anew = clone(model).fit(table).set_params(max_iter=300, tol=1e-9, warm_start=True).fit(other)
    assert end.objective_ == pytest.approx(anew.objective_, rel=1e-4)


def test_the_state_that_is_kept_is_small():
    for solver, n_rows, n_columns in (("momentum", 2, 1), (1.8, 2, 2), (1.0, 1, 0)):
        model = AspectModel(8, beta=0.9, solver=solver)
        warm, cold = (fitted(model, 10, DENSE, warm_start=kept) for kept in (True, False))
        more = len(pickle.dumps(warm)) - len(pickle.dumps(cold))
        kept = n_rows * warm.embedding_.nbytes + n_columns * warm.components_.nbytes
        assert kept <= more < kept + 2000
        assert vars(again(warm, DENSE, warm_start=False))["_end"] is None
