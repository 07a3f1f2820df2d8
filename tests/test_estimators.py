"""scikit-learn's own checks of every estimator, and the reasons why one cannot pass."""

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.cases import CLASSES, ESTIMATORS, META
from tests.tables import planted

PREDICT_PROBA = "takes every estimator with predict_proba and sparse input for a classifier"
NEGATIVE = "fits negative values; see test_clusters_as_check_clustering_does"


def impossible(estimator):
    checks = {}
    if is_clusterer(estimator):
        checks["check_clustering"] = NEGATIVE
    if hasattr(estimator, "predict_proba"):
        checks["check_estimator_sparse_array"] = PREDICT_PROBA
        checks["check_estimator_sparse_matrix"] = PREDICT_PROBA
    return checks


ROW_CLUSTERERS = [estimator for estimator in ESTIMATORS if hasattr(estimator, "predict_proba")]
QUICK = [clone(estimator).set_params(max_iter=4) for estimator in CLASSES]


@pytest.mark.usefixtures("few_starts")
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([*QUICK, *META], expected_failed_checks=impossible)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ROW_CLUSTERERS, ids=repr)
def test_clusters_as_check_clustering_does(estimator):
    """What check_clustering asks for, on counts."""
    truth = planted(3, 3000, n_rows=50, n_columns=20, kind="clusters")
    estimator = clone(estimator).set_params(random_state=0)
    labels = estimator.fit(truth.X.toarray().tolist()).labels_
    assert labels.shape == (50,)
    assert labels.dtype == np.int64
    assert adjusted_rand_score(truth.mixtures.argmax(axis=1), labels) > 0.4
    np.testing.assert_array_equal(estimator.fit_predict(truth.X), labels)
    n_clusters = getattr(estimator, "n_clusters_", len(estimator.components_))
    assert set(labels) <= set(range(n_clusters))
