"""Symmetric clustering: limits, mutual information, what it finds, and clusters that are empty."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import mutual_info_score

from skcooc import SymmetricClustering
from skcooc.em import State
from skcooc.equations.coclusters import (
    ClassBigrams,
    CoClusters,
    Params,
    log_association,
    mutual_information,
)
from skcooc.metrics import coclustering_adjusted_rand
from skcooc.metrics import mutual_information as information_of_table
from tests.equations.broken import ForgottenBeta
from tests.equations.literal_coclusters import association_of, random_state, state_of
from tests.equations.models import blurred, nearly_right
from tests.equations.running import energies, run
from tests.tables import planted, random_table

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def distance(pair):
    return np.abs(pair[0] - pair[1]).max()


def test_the_objective_never_rises_where_clusters_run_empty():
    X = planted(3, 1500, n_rows=25, n_columns=20, kind="coclusters").X.astype(float)
    for seed in range(6):
        fit = run(CoClusters(9, 8, hard=True), X, random_state(X, 9, 8, seed, hard=True), n_iter=25)
        assert np.diff(energies(fit)).max() < 1e-12 * np.abs(energies(fit)).max()


def test_hard_steps_raise_the_mutual_information_which_is_the_objective():
    X, state = nearly_right(hard=True)
    path = [mutual_information(state.params.joint)]

    def observe(record, state, run):
        path.append(mutual_information(state.params.joint))

    fit = run(CoClusters(3, 3, hard=True), X, state, observe=observe)
    assert fit.objective == pytest.approx(-X.sum() * mutual_information(fit.params.joint))
    assert (np.diff(path) >= -1e-12).all()
    assert path[-1] > 1.1 * path[0]


def test_mutual_information_is_that_of_the_labels_of_all_observations():
    X = planted(kind="coclusters", seed=2).X
    model = SymmetricClustering(4, 3, hard=True, random_state=0).fit(X)
    i, j = (np.repeat(side, X.tocoo().data) for side in X.tocoo().coords)
    by_labels = mutual_info_score(model.row_labels_[i], model.column_labels_[j])
    assert model.mutual_information_ == pytest.approx(by_labels)
    assert 0.5 * information_of_table(X) < by_labels < information_of_table(X)


@pytest.mark.parametrize("options", [{"hard": True}, {"beta": 0.3}, {}], ids=repr)
def test_recovers_planted_co_clusters(options):
    truth = planted(3, 20_000, 4, n_rows=60, n_columns=50, kind="coclusters", n_column_clusters=4)
    model = SymmetricClustering(3, 4, random_state=0, **options).fit(truth.X)
    labels = truth.labels, truth.column_labels, model.row_labels_, model.column_labels_
    assert coclustering_adjusted_rand(*labels) > 0.95
    of_rows, of_columns = (np.abs(a[:, None] - b).sum(axis=2) for a, b in profiles(truth, model))
    assert (of_rows.min(axis=1) < 0.05).all()
    assert (of_columns.min(axis=1) < 0.05).all()


def profiles(truth, model):
    """P(y given row cluster), and P(row cluster given column cluster) without its order."""
    yield truth.components, model.components_
    joint = np.eye(3)[truth.labels].T @ truth.X @ np.eye(4)[truth.column_labels]
    yield tuple(np.sort(table / table.sum(axis=0), axis=0).T for table in (joint, model.joint_))


def swapped(X, state):
    """The state of the transposed table."""
    (J, _, joint, weights, column_weights), I = state
    shares = X.toarray().sum(axis=1) / X.sum()
    return State(Params(I, shares, joint.T, column_weights, weights), J)


def unrest_of_the_transpose(model, hard=False):
    """Change by one step from a fixed point of the transposed table."""
    X, state = nearly_right(hard)
    there = run(model, X, state, 0.5, n_iter=300)
    transposed = sp.csr_array(X.T)
    back = run(model, transposed, swapped(X, State(there.params, there.rows)), 0.5, n_iter=1)
    pairs = (back.rows, there.params.memberships), (back.params.memberships, there.rows)
    return max(map(distance, pairs)), back.params.joint.T - there.params.joint


@pytest.mark.parametrize(("hard", "proportions"), [(False, "estimated"), (True, "uniform")])
def test_fixed_points_are_those_of_the_transposed_table(hard, proportions):
    unrest, joint = unrest_of_the_transpose(CoClusters(3, 3, hard, proportions), hard)
    assert unrest < 1e-6
    assert np.abs(joint).max() < 1e-6
    assert unrest_of_the_transpose(ForgottenBeta(CoClusters(3, 3)))[0] > 0.01


def test_biclusters_are_pairs_of_clusters_and_predictions_those_of_the_paper():
    X = planted(3, 4000, kind="coclusters", n_column_clusters=4).X
    model = SymmetricClustering(3, 4, beta=0.2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.row_labels_)
    cells = model.rows_.astype(int).T @ model.columns_.astype(int)
    np.testing.assert_array_equal(cells, np.ones(X.shape))
    for index, (c, d) in enumerate(product(range(3), range(4))):
        rows, columns = model.get_indices(index)
        np.testing.assert_array_equal(rows, np.flatnonzero(model.row_labels_ == c))
        np.testing.assert_array_equal(columns, np.flatnonzero(model.column_labels_ == d))
        assert model.get_shape(index) == (len(rows), len(columns))
        block = model.get_submatrix(index, X)
        np.testing.assert_array_equal(block.toarray(), X.toarray()[np.ix_(rows, columns)])
    np.testing.assert_allclose(model.association_, association_of(model.joint_))
    direct = model.embedding_.T @ X @ model.column_posteriors_ / X.sum()
    np.testing.assert_allclose(model.joint_, direct, atol=1e-3)
    # eq. (47), given the row: sum_cd I_ic c_cd J_jd P(y_j)
    I, shares = model.transform(X), np.asarray(X.sum(axis=0)) / X.sum()
    literal = I @ model.association_ @ model.column_posteriors_.T * shares
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    np.testing.assert_allclose(I @ model.components_, literal, rtol=1e-9)


def test_an_empty_cluster_is_associated_with_nothing():
    joint = np.array([[0.2, 0.3, 0.0], [0.0, 0.0, 0.0], [0.1, 0.4, 0.0]])
    expected = np.ones((3, 3))
    expected[np.ix_([0, 2], [0, 1])] = association_of(joint[[0, 2]][:, :2])
    np.testing.assert_allclose(np.exp(log_association(joint)), expected)


@pytest.mark.parametrize(("hard", "empty"), [(False, "both"), (True, "rows"), (True, "columns")])
def test_empty_clusters_are_re_initialised(hard, empty):
    """Two clusters of three are joined at the start."""
    X, labels, column_labels = blurred()
    if empty in ("rows", "both"):
        labels[labels == 2] = 1
    if empty in ("columns", "both"):
        column_labels[column_labels == 2] = 0
    state = state_of(X, np.eye(3)[labels], np.eye(3)[column_labels])
    fit = run(CoClusters(3, 3, hard), X, state, beta=1.0, n_iter=10)
    assert (fit.params.joint.sum(axis=0) > 0.01).all()
    assert (fit.params.joint.sum(axis=1) > 0.01).all()
    before, after = (mutual_information(p.joint) for p in (state.params, fit.params))
    assert after > 1.1 * before


@pytest.mark.parametrize("joined", ["rows", "columns"])
def test_an_empty_cluster_is_re_initialised_without_a_badly_explained_object(joined):
    """The second and third of three blocks are joined, and still better off than by chance."""
    X = np.kron([[8, 4, 1], [1, 8, 1], [1, 1, 8]], np.ones((4, 4)))
    X = sp.csr_array(X if joined == "rows" else X.T)
    whole = np.eye(3)[np.repeat(range(3), 4)]
    parts = np.eye(3)[np.repeat([0, 1, 1], 4)]
    state = state_of(X, *((parts, whole) if joined == "rows" else (whole, parts)))
    n, sides = (X.toarray(), (0, 1)) if joined == "rows" else (X.toarray().T, (1, 0))
    scores = n @ whole @ log_association(state.params.joint.transpose(sides)).T
    assert ((scores * parts).sum(axis=1) > 0).all()
    fit = run(CoClusters(3, 3, hard=True), X, state, beta=1.0, n_iter=5)
    np.testing.assert_array_equal(fit.rows.sum(axis=0), [4, 4, 4])
    np.testing.assert_array_equal(fit.params.memberships.sum(axis=0), [4, 4, 4])


@pytest.mark.parametrize(
    ("options", "sizes"), [({"hard": True}, (10, 10)), ({"beta": 1.0}, (4, 4))]
)
def test_more_clusters_than_distinct_objects(options, sizes):
    X = np.repeat([[50, 10, 0, 20], [0, 30, 40, 10]], 3, axis=0)
    model = SymmetricClustering(*sizes, random_state=0, **options).fit(X)
    assert model.mutual_information_ == pytest.approx(information_of_table(X), rel=0.01)
    assert len(set(model.row_labels_[:3])) == len(set(model.row_labels_[3:])) == 1
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


TIED_REFUSED = [
    ({"hard": False}, 12, "hard=True"),
    ({"n_column_clusters": 4}, 12, "n_row_clusters=3 and n_column_clusters=4"),
    ({}, 9, r"square X.*\(12, 9\)"),
    ({"coarsening": [np.arange(12) // 2]}, 12, "coarsening=None"),
]


def test_bad_parameters_of_a_tied_model_are_refused(monkeypatch):
    def fail(*_):
        raise AssertionError("it started")

    monkeypatch.setattr(CoClusters, "start", fail)
    monkeypatch.setattr(ClassBigrams, "start", fail)
    for changed, n_columns, message in TIED_REFUSED:
        options = {"n_row_clusters": 3, "n_column_clusters": 3, "hard": True} | changed
        model = SymmetricClustering(tied=True, **options)
        with pytest.raises(ValueError, match=message):
            model.fit(random_table(12, n_columns))
        assert not hasattr(model, "components_")
