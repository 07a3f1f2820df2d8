"""The consensus of averaged models: matching of components, and intervals."""

import numpy as np
import pytest

from skcooc import AspectModel, AveragedModels
from skcooc.ensemble.averaging import consensus
from skcooc.heldout import Factors
from skcooc.inspection import describe
from skcooc.metrics import perplexity
from skcooc.simplex import match_rows
from tests.tables import planted

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


def test_intervals_are_quantiles_of_matched_components():
    models = list(members([[0, 1, 2]] * 21, noise=0.5))
    agreed = consensus(models, SHARES)
    first = np.sort([model.B[5, 1] for model in models])
    np.testing.assert_allclose(agreed.component_intervals_[:, 1, 5], first[[1, 19]])
    inside = (agreed.component_intervals_[0] <= agreed.components_).mean()
    assert inside > 0.95


def test_the_reference_agrees_best():
    models = list(members(ORDERS, noise=0.2))
    strange = models[0]._replace(B=np.roll(models[0].B, 7, axis=0))
    assert consensus([strange, *models], SHARES).reference_ != 0


def test_of_averaged_models():
    X = DATA.X.astype(float)
    model = AveragedModels(AspectModel(3, tol=1e-4), 3, random_state=0).fit(X)
    agreed = model.consensus_
    np.testing.assert_allclose(agreed.components_.sum(axis=1), 1)
    np.testing.assert_allclose(agreed.embedding_.sum(axis=1), 1)
    assert match_rows(DATA.components, agreed.components_)[1].min() > 0.95
    table = describe(agreed, n_features=2)
    low, high = table["intervals"][0][0]
    assert low <= table["probabilities"][0][0] <= high
    assert list(table["affinity"]) == list(agreed.affinity_)
    single = perplexity(X, agreed.embedding_, agreed.components_)
    assert single < 1.02 * perplexity(X, model.embedding_, model.components_)
    assert "intervals" not in describe(model)


def test_members_of_different_sizes_raise():
    first, second = list(members(ORDERS[:2]))
    with pytest.raises(ValueError, match="different numbers of components"):
        consensus([first, Factors(second.A[:, :2], second.B[:, :2])], SHARES)
