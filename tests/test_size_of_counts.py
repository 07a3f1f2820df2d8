"""Counts that are too large or too small are refused everywhere; all else is finite."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    RowBlocks,
    TriadicAspectModel,
    Triads,
    open_table,
    save_table,
)
from skcooc.equations.aspects import Aspects
from skcooc.metrics import npmi_coherence, perplexity
from skcooc.model_selection import split_observations
from tests.cases import CLASSES
from tests.tables import random_table

X = random_table()
FAST = {"max_iter": 3, "random_state": 0}
MODEL = AspectModel(2, beta=0.9, **FAST)
REFUSED = "from 1e-30 to 2"


def with_cell(value, X=X):
    table = X.copy()
    table.data[0] = value
    return table


@pytest.mark.parametrize("value", [1e17, 1e307])
def test_too_large_counts_are_refused_wherever_they_are_given(value, tmp_path):
    table, model = with_cell(value), clone(MODEL).fit(X)
    before = model.components_.copy()
    save_table(tmp_path / "table", [table])
    for use in (
        model.fit,
        model.partial_fit,
        model.transform,
        model.score,
        split_observations,
        lambda X: model.fit(random_table(), sample_weight=np.where(np.arange(12), 1, value)),
        lambda X: model.fit(RowBlocks([X[:6], X[6:]])),
        lambda X: model.fit(open_table(tmp_path / "table")),
        lambda X: perplexity(X, model.embedding_, model.components_),
        lambda X: npmi_coherence(model.components_, X),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            use(table)
    np.testing.assert_array_equal(model.components_, before)


def test_sums_outside_the_limits_are_refused():
    for estimator in (AsymmetricClustering(), AspectModel(2, annealing=1.2)):
        for scale in (1e38, 5e-324, 2.0**52):
            with pytest.raises(ValueError, match=REFUSED):
                clone(estimator).fit(np.eye(4, 3) * scale)
        with pytest.raises(ValueError, match="all counts, or their weights, are zero"):
            clone(estimator).fit(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=REFUSED):
        TriadicAspectModel(2, **FAST).fit(Triads([0, 1], [0, 1], [1, 0]), sample_weight=[1, 1e17])


@pytest.mark.parametrize("estimator", CLASSES, ids=repr)
def test_results_are_finite_up_to_the_limits(estimator):
    eye = sp.csr_array(np.eye(12, 9) * 2.0**49)
    for table in (with_cell(2.0**53 - 2**31), eye, X * (1e-29 / X.sum())):
        model = clone(estimator).set_params(**FAST).fit(table.astype(np.float32))
        arrays = model.components_, model.embedding_, model.weights_, model.objective_
        assert all(np.isfinite(array).all() for array in arrays)
        assert np.isfinite(model.score(table))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_parameters_that_are_not_finite_are_refused():
    table = X.toarray().astype(np.float32)
    model = AsymmetricClustering(
        3, beta=0.2, object_weights="equal", proportions="estimated", max_iter=5, random_state=0
    ).fit(table)
    before = dict(vars(model))
    table[0] = [1e-40, *np.zeros(8)]  # whose weight overflows
    with pytest.raises(ValueError, match=r"not finite: .* apart for float32"):
        model.fit(table)
    assert vars(model) == before


def test_a_step_that_is_not_finite_is_refused(monkeypatch):
    model = clone(MODEL).fit(X)
    before = dict(vars(model))
    maximize = Aspects.maximize
    monkeypatch.setattr(
        Aspects,
        "maximize",
        lambda self, *arguments: maximize(self, *arguments)._replace(weights=np.full(2, np.nan)),
    )
    for fit in (model.partial_fit, model.fit, lambda X: model.fit(RowBlocks([X[:6], X[6:]]))):
        with pytest.raises(ValueError, match="parameters that are not finite"):
            fit(X)
        assert vars(model) == before
