"""Model quantities by name, and the likelihood of whole rows, against slow transcriptions."""

import itertools
import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skcooc
from skcooc import AsymmetricClustering, ClusterAbstraction, ClusteringProjection
from skcooc.base.quantities import positions
from skcooc.heldout.predictors import Factors
from skcooc.heldout.scoring import log_likelihoods
from skcooc.protocol.scikit_learn import HAS_CALLBACKS
from skcooc.tables import as_counts
from tests.cases import CLASSES, FAST, META
from tests.contract import fitted
from tests.tables import random_table, refused

pytestmark = pytest.mark.usefixtures("short_starts")
FORMS = [
    *CLASSES,
    AsymmetricClustering(3, axis="columns", beta=0.2),
    skcooc.SymmetricClustering(3, 3, hard=True),
    ClusterAbstraction(3, hard=True),
    ClusterAbstraction(3, beta=0.2, abstraction="row", row_iter=2),
    ClusteringProjection(3, beta=0.8),
    *META,
]
MEANS = 0.4 + 4 * (np.arange(14)[:, None] % 3 == np.arange(6) % 3)
X = sp.csr_array(np.random.default_rng(0).poisson(MEANS).astype(float))
SEQUENCES = np.array(list(itertools.product(range(6), repeat=3)))
COUNTED = np.array([np.bincount(sequence, minlength=6) for sequence in SEQUENCES]).astype(float)
every_form = pytest.mark.parametrize("estimator", FORMS, ids=repr)


@cache
def shared(estimator):
    return fitted(estimator, X)


def literal_joint(model):
    """P(x_i, z_k, y_j), (N, K, M), number by number."""
    P = np.empty((*model.embedding_.shape, model.components_.shape[1]))
    for i, k, j in np.ndindex(P.shape):
        of_aspect = model.embedding_[i, k] * model.components_[k, j]
        P[i, k, j] = model.row_distribution_[i] * of_aspect
    return P


@every_form
def test_quantities_are_margins_and_conditionals_of_one_joint_distribution(estimator):
    model = shared(estimator)
    P = literal_joint(model)
    rows, columns = np.ix_(range(X.shape[0]), range(X.shape[1]))
    joint = model.joint_distribution(rows, columns)
    assert joint.sum() == pytest.approx(1)
    np.testing.assert_allclose(joint, P.sum(axis=1))
    np.testing.assert_allclose(model.component_distribution_, P.sum(axis=(0, 2)))
    mass = np.maximum(P.sum(axis=(0, 2)), 1e-300)[:, None]
    np.testing.assert_allclose(model.row_components_ * mass, P.sum(axis=2).T, atol=1e-15)
    of_columns = P.sum(axis=0) / P.sum(axis=(0, 1))
    np.testing.assert_allclose(model.column_embedding_, of_columns.T)
    for distributions in (model.row_components_, model.column_embedding_):
        np.testing.assert_allclose(distributions.sum(axis=1), 1)
    again = model.row_components_.T * model.component_distribution_ @ model.components_
    np.testing.assert_allclose(again, joint)
    assert not {"column_embedding_", "row_components_"} & set(vars(model))


@every_form
def test_columns_never_seen_empty_rows_and_single_precision(estimator):
    table = random_table().toarray()
    model = fitted(estimator, table)
    if not model.components_[:, 4].any():
        np.testing.assert_allclose(model.column_embedding_[4], model.component_distribution_)
    np.testing.assert_allclose(model.column_embedding_.sum(axis=1), 1)
    np.testing.assert_allclose(model.row_components_.sum(axis=1), 1)
    assert (model.row_components_[:, 3] == 0).all()
    assert (model.joint_distribution(3, np.arange(9)) == 0).all()
    assert model.row_log_likelihood(np.zeros((2, 9))) == pytest.approx(0, abs=1e-6)
    single = fitted(estimator, X.astype(np.float32))
    for name in ("column_embedding_", "row_components_", "component_distribution_"):
        assert getattr(single, name).dtype == np.float32
    assert single.joint_distribution([0], [1]).dtype == np.float32
    likelihoods = single.row_log_likelihood(X[:4].astype(np.float32))
    assert likelihoods.dtype == np.float64
    np.testing.assert_allclose(likelihoods, shared(estimator).row_log_likelihood(X[:4]), rtol=2e-2)


def test_pairs_are_those_of_numpy_and_other_indices_are_refused(monkeypatch):
    model = shared(CLASSES[0])
    P = literal_joint(model).sum(axis=1)
    monkeypatch.setattr("skcooc.base.quantities.CHUNK_SIZE", 7)  # several pieces
    pairs = [
        ([0, 3, 3], [1, 1, -1]),
        (np.arange(14)[:, None], [0, 2, 5]),
        (2, [[0, 1], [2, -6]]),
        (-14, 5),
        ([], []),
        (np.zeros((0, 2), int), 1),
    ]
    for i, j in pairs:
        expected = P[np.asarray(i, int), np.asarray(j, int)]
        assert model.joint_distribution(i, j).shape == expected.shape
        np.testing.assert_allclose(model.joint_distribution(i, j), expected)
    for rows, columns, message in (
        ([14], [0], "row index 14 is out of bounds for a table of 14 rows"),
        ([0], [-7], "column index -7 is out of bounds for a table of 6 columns"),
        ([0.0], [0], "row indices must be of integer type. Got float64"),
        ([0], [True], "column indices must be of integer type. Got bool"),
        ([0, 1], [0, 1, 2], r"shape mismatch: .* \(2,\) \(3,\)"),
    ):
        refused(message, model.joint_distribution, rows, columns, error=IndexError)


def test_positions_of_small_integer_types():
    np.testing.assert_array_equal(positions(np.array([-1, 5], np.int8), None, 200, "row"), [199, 5])


def prior_of(model):
    """Weights and distributions over columns that a row may have, written out for each model."""
    name = type(model).__name__
    if name == "ClusteringProjection":
        return model.cluster_weights_, model.cluster_centers_ @ model.components_
    if name == "ClusterAbstraction":
        params, (indptr, _, nodes) = model._state.params, model.tree_.slots
        P = np.zeros((len(indptr) - 1, model.components_.shape[1]))
        for c in range(len(P)):
            for s in range(indptr[c], indptr[c + 1]):
                P[c] += params.abstraction[s] * model.components_[nodes[s]]
        return params.proportions, P
    of_columns = getattr(model, "axis", "rows") == "columns"
    if name.endswith("Clustering") and not of_columns:
        return model.weights_, model.components_
    return model.row_distribution_, model.embedding_ @ model.components_


def literal_likelihood(model, row):
    """sum_a w_a prod_j P'_aj^n_j, factor by factor."""
    weights, P = prior_of(model)
    s, b = model.smoothing_, model.unigram_
    total = 0.0
    for w, p in zip(weights, P, strict=True):
        product = w
        for j, n in enumerate(row):
            product *= ((1 - s) * p[j] + s * b[j]) ** n
        total += product
    return total


@every_form
def test_likelihoods_of_whole_rows_are_a_distribution_and_the_literal_sum(estimator, monkeypatch):
    model, new = shared(estimator), X[:5].toarray()
    expected = [np.log(literal_likelihood(model, row)) for row in new]
    np.testing.assert_allclose(model.row_log_likelihood(new), expected, rtol=1e-9)
    np.testing.assert_allclose(model.row_log_likelihood(skcooc.Dyads(new)), expected, rtol=1e-9)
    without_powers = [np.log(literal_likelihood(model, np.minimum(row, 1))) for row in new]
    assert (np.abs(np.subtract(without_powers, expected)) > 0.1).any()
    order = [3, 0, 4]
    rows = model.row_log_likelihood(new[order])
    np.testing.assert_allclose(rows, np.array(expected)[order], rtol=1e-9)
    monkeypatch.setattr("skcooc.heldout.scoring.CHUNK_SIZE", 30)  # several pieces
    np.testing.assert_allclose(model.row_log_likelihood(new), expected, rtol=1e-9)
    monkeypatch.undo()
    assert np.exp(model.row_log_likelihood(COUNTED)).sum() == pytest.approx(1)
    P = model.transform(COUNTED) @ model.components_
    told = np.exp((COUNTED * np.log(np.maximum(P, 1e-30))).sum(axis=1)).sum()
    assert told > 1.001
    new = clone(estimator)
    for name in ("column_embedding_", "row_components_", "component_distribution_"):
        assert not hasattr(new, name)
    with pytest.raises(NotFittedError):
        new.row_log_likelihood(X)
    with pytest.raises(NotFittedError):
        new.joint_distribution(0, 0)
    model = shared(estimator)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.row_components_, model.row_components_)
    refused("Negative values", model.row_log_likelihood, -X)
    refused("5 features", model.row_log_likelihood, X[:, :5])


def test_class_bigrams_have_the_prior_of_clusters_and_rows_of_weight_two_count_twice():
    square = sp.csr_array(np.random.default_rng(1).poisson(1.5, (6, 6)).astype(float))
    model = skcooc.SymmetricClustering(2, 2, hard=True, tied=True, **FAST).fit(square)
    expected = [np.log(literal_likelihood(model, row)) for row in COUNTED[:20]]
    np.testing.assert_allclose(model.row_log_likelihood(COUNTED[:20]), expected)
    assert np.exp(model.row_log_likelihood(COUNTED)).sum() == pytest.approx(1)
    weights = np.ones(14)
    weights[2] = 2
    estimator = clone(CLASSES[0]).set_params(**FAST)
    one = clone(estimator).fit(X, sample_weight=weights)
    two = clone(estimator).fit(X[[*range(14), 2]])
    np.testing.assert_allclose(one.row_log_likelihood(X), two.row_log_likelihood(X), rtol=1e-6)
    np.testing.assert_allclose(one.column_embedding_, two.column_embedding_, rtol=1e-5)
    joint = two.joint_distribution([2, 14], [1, 1]).sum()
    assert one.joint_distribution(2, 1) == pytest.approx(joint)


def test_impossible_rows_have_likelihood_zero_and_bounds_are_below_it():
    table, rng = as_counts(X), np.random.default_rng(0)
    weights, A, B = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3), 4), np.zeros((6, 3))
    B[:5] = rng.dirichlet(np.ones(5), 3).T
    mine = log_likelihoods(table, weights, Factors(A, B))
    has_it = X.toarray()[:, 5] > 0
    assert has_it.any()
    np.testing.assert_array_equal(np.isneginf(mine), has_it)
    without = log_likelihoods(table, np.eye(4)[0], Factors(A, np.full((6, 3), 1 / 6)))
    np.testing.assert_allclose(without, X.sum(axis=1) * np.log(1 / 6))
    for estimator in (CLASSES[4], ClusteringProjection(3, beta=0.8)):
        model = shared(estimator)
        assert (model.bound(X) < model.row_log_likelihood(X)).all()


def test_of_a_table_in_blocks_no_rows_are_left():
    blocks = skcooc.RowBlocks([X[:7], X[7:]])
    clusters = AsymmetricClustering(2, beta=0.2, **FAST).fit(blocks)
    assert np.exp(clusters.row_log_likelihood(COUNTED)).sum() == pytest.approx(1)
    aspects = skcooc.AspectModel(2, beta=0.9, **FAST).fit(blocks)
    for ask in (
        lambda: aspects.row_log_likelihood(X),
        lambda: aspects.column_embedding_,
        lambda: aspects.row_components_,
        lambda: clusters.joint_distribution(0, 0),
    ):
        refused("training rows are not kept", ask)
    assert not hasattr(aspects, "column_embedding_")
    assert ("unigram_" in aspects._repr_html_()) == HAS_CALLBACKS  # as it asks for all attributes
