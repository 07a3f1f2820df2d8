"""scikit-learn's own checks of every estimator, and the reasons why one cannot pass."""

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

import skcooc
from skcooc import (
    AspectClassifier,
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusteringProjection,
)
from tests.cases import CLASSES, META
from tests.tables import planted

WEIGHTED = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
PREDICT_PROBA = "takes every estimator with predict_proba and sparse input for a classifier"
NEGATIVE = "fits negative values; see test_clusters_as_check_clustering_does"
UNLABELLED = "-1 is no class"
FOLDS = "sets cv to a list of folds; see test_classifier.py"
A_CLUSTER_A_ROW = "without n_clusters every row has a cluster, and a repeated row several"

# As they are, without shorter fits; and three other ways that fits may go, for weights of rows.
DEFAULTS = [type(estimator)() for estimator in CLASSES]
SHORT = [
    AspectClassifier(max_iter=4, cv=2),
    skcooc.InterpolatedModels(META[2].estimators[:1], random_state=0),
]
FORKS = [
    AspectModel(3, early_stopping=True, max_iter=60),
    AsymmetricClustering(3, hard=True),
    AspectModel(3, beta=0.9, leave_one_out=True, annealing=0.8, max_iter=60),
]
OF_DEFAULTS = [
    AveragedModels(AspectModel(), 2),
    skcooc.RowMemory(AspectModel(random_state=0)),
    skcooc.InterpolatedModels(
        [
            ("aspects", AspectModel(random_state=0)),
            ("clusters", AsymmetricClustering(random_state=0)),
        ]
    ),
]


def impossible(estimator):
    checks = {}
    if is_clusterer(estimator):
        checks["check_clustering"] = NEGATIVE
    if isinstance(estimator, AspectClassifier):
        return {"check_classifiers_classes": UNLABELLED, **dict.fromkeys(WEIGHTED, FOLDS)}
    if hasattr(estimator, "predict_proba"):
        checks["check_estimator_sparse_array"] = PREDICT_PROBA
        checks["check_estimator_sparse_matrix"] = PREDICT_PROBA
    if getattr(estimator, "n_clusters", 0) is None:
        checks |= dict.fromkeys(WEIGHTED, A_CLUSTER_A_ROW)
    return checks


def failures(estimator):
    """(name, error) of each check that fails, and was not expected to."""
    checked = check_estimator(
        estimator, expected_failed_checks=impossible(estimator), on_skip=None, on_fail=None
    )
    assert len(checked) > 50
    return [(one["check_name"], one["exception"]) for one in checked if one["status"] == "failed"]


@pytest.mark.usefixtures("few_starts")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [*DEFAULTS, *META[:2], *SHORT], ids=repr)
def test_check_estimator(estimator):
    assert failures(estimator) == []


def weights_are_repetitions(estimator):
    """What `check_sample_weight_equivalence` asks of every number of components."""
    X, weights = np.random.default_rng(42).random((15, 30)), np.arange(15) % 5
    estimator = clone(estimator).set_params(random_state=0)
    weighted = clone(estimator).fit(X, sample_weight=weights).transform(X)
    repeated = clone(estimator).fit(X.repeat(weights, axis=0)).transform(X)
    return np.allclose(weighted, repeated, rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator", [*FORKS, *OF_DEFAULTS, ClusteringProjection(n_clusters=4)], ids=repr
)
def test_weights_of_rows_are_repetitions(estimator):
    assert weights_are_repetitions(estimator)


CLUSTERERS = [one for one in CLASSES if hasattr(one, "predict_proba")]


@pytest.mark.usefixtures("few_starts")
@pytest.mark.filterwarnings("ignore")
def test_clusters_as_check_clustering_does():
    """On counts."""
    truth = planted(3, 3000, n_rows=50, n_columns=20, kind="clusters")
    for estimator in CLUSTERERS:
        model = clone(estimator).set_params(random_state=0, max_iter=40)
        labels = model.fit(truth.X.toarray().tolist()).labels_
        assert labels.shape == (50,)
        assert labels.dtype == np.int64
        assert adjusted_rand_score(truth.mixtures.argmax(axis=1), labels) > 0.4, estimator
        np.testing.assert_array_equal(model.fit_predict(truth.X), labels)
        n_clusters = getattr(model, "n_clusters_", len(model.components_))
        assert set(labels) <= set(range(n_clusters))
