"""A table, quick fits and lists of estimators for tests of every estimator."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from tests.cases import CLASSES, ESTIMATORS, FAST, META
from tests.tables import planted

FAST = {**FAST, "max_iter": 10}
X = planted(n_tokens=4000).X.astype(float)
TEXTS = [
    f"red green blue {'sky cloud rain ' * (i % 3)} {'stone sand ' * (i % 4)}" for i in range(40)
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
every_class = pytest.mark.parametrize("estimator", CLASSES, ids=repr)
every_class_or_average = pytest.mark.parametrize("estimator", [*CLASSES, *META], ids=repr)


def size(estimator):
    """Name of the parameter that is the number of components."""
    return next(
        name
        for name in estimator.__dataclass_fields__
        if name.startswith("n_") and name not in ("n_init", "n_jobs")
    )


def is_hard(estimator):
    return getattr(estimator, "hard", False)


def fitted(estimator, X=X, **params):
    return quick(estimator, **params).fit(X)


shared = cache(fitted)  # for tests that do not change it


def quick(estimator, **params):
    """A clone with few iterations; meta-estimators have no such parameters."""
    given = {name: value for name, value in FAST.items() if name in estimator.get_params()}
    return clone(estimator).set_params(**{**given, **params})


def assert_same_fit(one, two, tolerance=0.0):
    names = [name for name in ("weights_", "row_distribution_") if hasattr(one, name)]
    for name in ("components_", "embedding_", "unigram_", *names):
        values = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(*values, rtol=tolerance, atol=1e-3 * tolerance, err_msg=name)
    if hasattr(one, "objective_"):
        np.testing.assert_allclose(one.objective_, two.objective_, rtol=tolerance)
    for name in ("beta_", "smoothing_"):
        assert getattr(one, name, None) == getattr(two, name, None)
