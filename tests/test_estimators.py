"""scikit-learn's own checks of every estimator, and the reasons why one cannot pass."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
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
    ProductSpaceMixture,
    RowBlocks,
    SymmetricClustering,
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
    AsymmetricClustering(3),
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


NO_COUNTS = "labels of such .* mean nothing, and describe lists them in no cluster"


def sparse_table():
    """Counts with 3 of 60 rows and 12 of 40 columns empty."""
    X = planted(3, 3000, n_rows=60, n_columns=40, kind="coclusters").X.toarray()
    X[[3, 9, 40]] = 0
    X[:, 5:17] = 0
    return X


def messages_of(call, *args, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **options)
    return [str(warning.message) for warning in caught]


def messages_without_counts(*call, **options):
    return [one for one in messages_of(*call, **options) if re.search(NO_COUNTS, one)]


@pytest.mark.usefixtures("few_starts")
def test_items_without_counts_are_counted_by_side_and_have_labels():
    X = sparse_table()
    full = X[X.any(axis=1)][:, X.any(axis=0)]
    rows, columns = "3 of 60 rows have no counts", "12 of 40 columns have no counts"
    by_columns = AsymmetricClustering(3, axis="columns")
    both = SymmetricClustering(3, 3, hard=True)
    cases = [(one, [rows]) for one in CLUSTERERS if not isinstance(one, SymmetricClustering)]
    for estimator, expected in [*cases, (both, [rows, columns]), (by_columns, [columns])]:
        model = clone(estimator).set_params(random_state=0, max_iter=5)
        messages = messages_without_counts(model.fit, X)
        assert [one.split(":")[0] for one in messages] == expected, model
        assert model.labels_.shape == (40 if estimator is by_columns else 60,)
        assert model.labels_.dtype == np.int64
        assert not messages_without_counts(model.fit, full)


@pytest.mark.usefixtures("few_starts")
def test_labels_of_new_rows_without_counts_mean_nothing_and_those_of_weight_zero_mean_something():
    X = sparse_table()
    model = AsymmetricClustering(3, random_state=0, max_iter=5)
    sample_weight = np.ones(60)
    sample_weight[:2] = 0
    (message,) = messages_without_counts(model.fit, X, sample_weight=sample_weight)
    assert message.startswith("3 of 60 rows have no counts: ")
    assert model.labels_[:2].tolist() == model.predict(X[:2]).tolist()
    for call in (model.predict, model.predict_proba, model.transform):
        (message,) = messages_of(call, X[:10])
        assert message.startswith("2 of 10 rows have no counts in the columns of the fit")
        assert "such as row 3" in message
        assert not messages_of(call, X[:3])
        (message,) = messages_of(call, X[[3, 9]])
        assert message.startswith("None of the 2 rows of X has counts")
    blocks = RowBlocks([sp.csr_array(X[:30]), sp.csr_array(X[30:])])
    assert not messages_without_counts(model.fit, blocks)
    for call in (model.predict, model.predict_proba, model.transform):
        (message,) = messages_of(call, RowBlocks([X[10:20], X[:10]]))
        assert message.startswith("2 of 20 rows")
        assert "such as row 13" in message


@pytest.mark.parametrize(
    "estimator", [AspectModel(4), AsymmetricClustering(4), ProductSpaceMixture(4, 4)], ids=repr
)
def test_components_of_noise_are_doubted(estimator):
    rng = np.random.default_rng(0)
    estimator = clone(estimator).set_params(random_state=0)
    message = (
        r"Held-out tokens are predicted by the overall frequencies|components equal the unigram"
    )
    noise = rng.poisson(np.outer(rng.gamma(4, 15, 100), rng.dirichlet(np.full(900, 0.3))))
    assert any(re.search(message, found) for found in messages_of(estimator.fit, noise))
    table = planted(4, 8000, n_rows=100, n_columns=200).X
    assert not any(re.search(message, found) for found in messages_of(estimator.fit, table))
    fixed = clone(estimator).set_params(smoothing=0.95)
    assert not any("Held-out tokens" in found for found in messages_of(fixed.fit, noise))


def test_tied_items_need_counts_on_one_side_only():
    X = planted(3, 3000, n_rows=40, n_columns=40, kind="coclusters").X.toarray()
    X[[3, 9]] = 0
    X[:, 9] = 0
    tied = SymmetricClustering(3, 3, hard=True, tied=True, max_iter=3, random_state=0)
    messages = messages_without_counts(tied.fit, X)
    assert [one.split(":")[0] for one in messages] == ["1 of 40 items has no counts"]
    assert not tied.rows_[:, [3, 9]].any()
    assert tied.columns_[:, 3].sum() == 3
    assert not tied.columns_[:, 9].any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("hard", [True, False])
def test_biclusters_have_no_members_without_counts(hard):
    X = sparse_table()
    model = SymmetricClustering(3, 3, hard=hard, random_state=0).fit(X)
    has_counts = X.any(axis=1), X.any(axis=0)
    members = [model.get_indices(i) for i in range(9)]
    for side, labels in enumerate((model.row_labels_, model.column_labels_)):
        all_members = np.unique(np.concatenate([pair[side] for pair in members]))
        assert all_members.tolist() == np.flatnonzero(has_counts[side]).tolist()
        for i, pair in enumerate(members):
            assert set(labels[pair[side]]) <= {divmod(i, 3)[side]}
