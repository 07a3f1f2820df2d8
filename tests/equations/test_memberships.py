"""Critical temperatures, empty clusters, and single precision of models of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering, SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.equations.tree_clusters import Abstractions
from skcooc.hierarchy import binary_tree
from tests.equations.literal_clusters import KINDS, factors, random_posteriors, start_of
from tests.equations.running import energies, run
from tests.tables import planted

every_axis = pytest.mark.parametrize("axis", ["rows", "columns"])
every_weights = pytest.mark.parametrize("object_weights", ["counts", "equal"])
every_weighting = pytest.mark.parametrize(
    ("axis", "object_weights"), [("rows", "equal"), ("columns", "counts")]
)


def uneven_table(n_clusters=2):
    """Rows and columns of very different size, an empty row and an empty column."""
    X = planted(n_clusters, 2000, kind="clusters", n_rows=30, n_columns=20).X.toarray()
    X = X * (1 + np.arange(30) % 5)[:, None] * (1 + np.arange(20) % 3)
    X[3], X[:, 4] = 0, 0
    return sp.csr_array(X.astype(float))


def literal_critical_beta(n, object_weights):
    """1 / the largest growth of a small change of equal centroids, by a dense Jacobian.

    The centroids q (1 + e_c), with changes e_c that sum to zero over c, become after one step
    q (1 + beta J e_c): J_jl = (sum_i w_i^2 n_ij n_il / T_j) less its mean under q.
    """
    weights = factors(n, object_weights)
    T = weights @ n
    n, T = n[:, T > 0], T[T > 0]
    J = (n * weights[:, None] ** 2).T @ n / T[:, None]
    J -= T / T.sum() @ J
    mean = np.eye(len(T)) - T / T.sum()  # changes keep the sum of q
    return 1 / np.linalg.eigvals(J @ mean).real.max()


@every_axis
@every_weights
def test_critical_beta_equals_a_dense_computation(axis, object_weights):
    X, weights = uneven_table(), np.random.default_rng(0).integers(0, 4, 30)
    n = X.toarray() if axis == "rows" else X.toarray().T
    expected = literal_critical_beta(n, object_weights)
    model = KINDS[axis](2, object_weights=object_weights)
    assert model.critical_beta(CSRCounts(X)) == pytest.approx(expected, rel=1e-3)
    counts, equal = (literal_critical_beta(n, weighting) for weighting in ("counts", "equal"))
    assert counts != pytest.approx(equal, rel=0.1)
    weighted = model.critical_beta(CSRCounts(X, weights.astype(float)))
    repeated = model.critical_beta(CSRCounts(X[np.repeat(np.arange(30), weights)]))
    assert weighted == pytest.approx(repeated, rel=1e-3)


@every_weighting
def test_small_differences_decay_below_the_critical_beta_and_grow_above(axis, object_weights):
    X = uneven_table()
    model = KINDS[axis](2, object_weights=object_weights)
    critical = model.critical_beta(CSRCounts(X))
    n_objects = X.shape[0 if axis == "rows" else 1]
    equal = start_of(axis, X.toarray(), np.full((n_objects, 2), 0.5), np.full(2, 0.5))
    params = model.perturb(equal.params, np.random.default_rng(0), 1e-3)

    def differences(beta):
        found = []

        def observe(record, state, run):
            found.append(np.ptp(model.factors(*state)[1], axis=1).max())

        run(model, X, equal._replace(params=params), beta, 60, observe=observe)
        return found

    decaying, growing = differences(0.9 * critical), differences(1.1 * critical)
    assert decaying[-1] < 0.05 * decaying[20]
    assert growing[-1] > 20 * growing[20]


def test_independent_rows_and_columns_never_split():
    X = sp.csr_array(np.outer([1.0, 2.0, 3.0], [4.0, 1.0, 2.0, 2.0]))
    for kind in KINDS.values():
        assert kind(2).critical_beta(CSRCounts(X)) == np.inf


def overlapping(axis, empty_object):
    """A table of 40 objects in which a feature, and perhaps an object, has no observations."""
    n = planted(3, 3000, kind="clusters", n_rows=40, n_columns=30, concentration=0.5).X.toarray()
    n[:, 4] = 0
    n[3] *= not empty_object
    return sp.csr_array((n if axis == "rows" else n.T).astype(float))


def start_with_an_empty_cluster(axis, X, k):
    """No object is best explained by the first cluster, which has the feature that never occurs."""
    n, J = X.toarray(), np.pad(random_posteriors(40, k - 1), [(0, 0), (1, 0)])
    if axis == "columns":
        return start_of(axis, n, J, np.full(k, 1 / k))
    J[:, 0] = 1
    state = start_of(axis, n, J, np.full(k, 1 / k))
    state.params.components[:, 0] = np.arange(30) == 4
    return state


def members(axis, fit):
    """Number of non-empty objects in each cluster."""
    posteriors = fit.rows if axis == "rows" else fit.params.memberships
    return (posteriors == 1).sum(axis=0)


def hard_fit(model, X, start, max_iter=50):
    fit = run(model, X, start, n_iter=max_iter)
    assert (np.diff(energies(fit)) <= 1e-12 * energies(fit)[0]).all()
    for array in (*fit.params, fit.rows):
        assert np.isfinite(array).all()
    return fit


@every_axis
@pytest.mark.parametrize(("object_weights", "empty_object"), [("counts", True), ("equal", False)])
def test_an_empty_cluster_is_re_initialised(axis, object_weights, empty_object):
    X = overlapping(axis, empty_object)
    start = start_with_an_empty_cluster(axis, X, 4)
    model = KINDS[axis](4, True, object_weights)
    assert members(axis, hard_fit(model, X, start, max_iter=1))[0] <= 1
    fit = hard_fit(model, X, start)
    assert members(axis, fit).all()
    assert members(axis, fit).sum() == 40 - empty_object


@every_weighting
def test_more_clusters_than_distinct_objects(axis, object_weights):
    distinct = np.random.default_rng(0).poisson(3, (3, 6)).astype(float)
    n = np.repeat(distinct, 4, axis=0)
    X = sp.csr_array(n if axis == "rows" else n.T)
    model = KINDS[axis](7, True, object_weights)
    start = start_of(axis, X.toarray(), random_posteriors(12, 7), np.full(7, 1 / 7))
    fit = hard_fit(model, X, start)
    posteriors = fit.rows if axis == "rows" else fit.params.memberships
    np.testing.assert_array_equal(posteriors, np.repeat(posteriors[::4], 4, axis=0))
    assert len(np.unique(posteriors.argmax(axis=1))) == 3


def test_rows_without_weight_do_not_occupy_a_cluster():
    for column in (4, 5):  # alone in the first cluster, or badly explained in any
        n = overlapping("rows", False).toarray()
        n[7] = 1000 * (np.arange(30) == column)
        X, weights = sp.csr_array(n), (np.arange(40) != 7).astype(float)
        start = start_with_an_empty_cluster("rows", X, 4)
        fit = run(KINDS["rows"](4, True), X, start, weights=weights)
        assert (fit.rows[weights > 0] == 1).any(axis=0).all()


def alike(seed=0, n_words=1000):
    """Blocks whose odds are 1.5 : .83, hard to tell apart but for very many observations."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, 4, 200), rng.integers(0, 4, 300)
    association = 1 + 0.5 * (2 * np.eye(4) - 0.5) / 1.5
    P = rng.dirichlet(np.ones(300)) * association[rows][:, columns]
    P /= P.sum(axis=1, keepdims=True)
    return np.stack([rng.multinomial(n_words, p) for p in P]), rows


@pytest.mark.parametrize("options", [{}, {"annealing": 1.3}, {"object_weights": "equal"}])
def test_the_chosen_temperature_does_not_collapse_clusters(options):
    X, rows = alike()
    model = AsymmetricClustering(4, n_init=3, random_state=1, **options).fit(X)
    assert adjusted_rand_score(rows, model.labels_) > 0.7


@pytest.mark.parametrize("hard", [False, True])
def test_both_sides_start_with_clusters_of_their_own(hard):
    X, rows = alike()
    model = SymmetricClustering(4, 4, hard=hard, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(rows, model.row_labels_) > 0.7


@pytest.mark.parametrize(("axis", "hard"), [("rows", False), ("columns", True)])
def test_single_precision_tells_long_rows_apart(axis, hard):
    X, _ = alike(n_words=3000)
    X = sp.csr_array((X if axis == "rows" else X.T).astype(np.float32)) * np.float32(1000)
    model = AsymmetricClustering(4, axis=axis, hard=hard, n_init=3, beta=0.01, random_state=0)
    single = model.fit(X).labels_
    double = model.fit(X.astype(float)).labels_
    assert adjusted_rand_score(single, double) > 0.9


def test_single_precision_tells_long_rows_apart_in_a_tree():
    X, _ = alike(n_words=3000)
    X = sp.csr_array(X.astype(float)) * 1000
    model, rng = Abstractions(binary_tree(4)), np.random.default_rng(0)
    params, _ = model.start(CSRCounts(X), rng)
    nodes = X.sum(axis=0)[:, None] * rng.uniform(1 - 1e-3, 1 + 1e-3, params.nodes.shape)
    params = params._replace(nodes=(nodes / nodes.sum(axis=0)).astype(np.float32))
    (rows, _), (rounded, _) = (
        model.expect(CSRCounts(X.astype(dtype)), params, None, 0.1)
        for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose(rounded, rows, atol=1e-3)


def test_transform_of_training_rows_is_their_embedding():
    X = planted(6, 5000, kind="clusters").X
    for options in ({}, {"axis": "columns"}, {"object_weights": "equal"}):
        model = AsymmetricClustering(6, random_state=0, **options).fit(X)
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
