from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from skcooc import AsymmetricClustering, Dyads, SymmetricClustering
from skcooc.counts import CSRCounts, csr
from skcooc.em.stages import PlainRunner
from skcooc.equations.coclusters import (
    ClassBigrams,
    CoClusters,
    Params,
    log_association,
    mutual_information,
)
from skcooc.metrics import coclustering_adjusted_rand
from skcooc.metrics import mutual_information as information_of_table
from skcooc.starts.clusters import bigram_start
from tests.equations.literal_class_bigrams import state_of as state_of_labels
from tests.equations.literal_coclusters import association_of, random_state, state_of
from tests.equations.models import blurred, noise
from tests.equations.running import energies, run
from tests.tables import planted, random_table, refused

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def test_the_objective_never_rises_where_clusters_run_empty():
    X = planted(3, 1500, n_rows=25, n_columns=20, kind="coclusters").X.astype(float)
    for seed in range(6):
        fit = run(CoClusters(9, 8, hard=True), X, random_state(X, 9, 8, seed, hard=True), n_iter=25)
        assert np.diff(energies(fit)).max() < 1e-12 * np.abs(energies(fit)).max()


def test_mutual_information_is_that_of_the_labels_of_all_observations():
    X = planted(kind="coclusters", seed=2).X
    model = SymmetricClustering(4, 3, hard=True, random_state=0).fit(X)
    i, j = (np.repeat(side, X.tocoo().data) for side in X.tocoo().coords)
    by_labels = mutual_info_score(model.row_labels_[i], model.column_labels_[j])
    assert model.mutual_information_ == pytest.approx(by_labels)
    assert model.objective_ == pytest.approx(-X.sum() * by_labels)
    assert 0.5 * information_of_table(X) < by_labels < information_of_table(X)


def test_recovers_planted_co_clusters():
    truth = planted(3, 20_000, 4, n_rows=60, n_columns=50, kind="coclusters", n_column_clusters=4)
    for options in ({"hard": True}, {"beta": 0.3}, {}):
        model = SymmetricClustering(3, 4, random_state=0, **options).fit(truth.X)
        labels = truth.labels, truth.column_labels, model.row_labels_, model.column_labels_
        assert coclustering_adjusted_rand(*labels) > 0.95
        for planted_ones, found in profiles(truth, model):
            distances = np.abs(planted_ones[:, None] - found).sum(axis=2)
            assert (distances.min(axis=1) < 0.05).all()


def profiles(truth, model):
    """P(y given row cluster), and P(row cluster given column cluster) without its order."""
    yield truth.components, model.components_
    joint = np.eye(3)[truth.labels].T @ truth.X @ np.eye(4)[truth.column_labels]
    yield tuple(np.sort(table / table.sum(axis=0), axis=0).T for table in (joint, model.joint_))


def test_biclusters_are_pairs_of_clusters_and_predictions_those_of_the_paper():
    X = planted(3, 4000, kind="coclusters", n_column_clusters=4).X.astype(float)
    model = SymmetricClustering(3, 4, beta=0.2, solver="em", random_state=0).fit(X)
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


def test_empty_clusters_are_re_initialised():
    """Two clusters of three are joined at the start."""
    for hard, sides in ((False, "rows, columns"), (True, "rows"), (True, "columns")):
        X, labels, column_labels = blurred()
        if "rows" in sides:
            labels[labels == 2] = 1
        if "columns" in sides:
            column_labels[column_labels == 2] = 0
        state = state_of(X, np.eye(3)[labels], np.eye(3)[column_labels])
        fit = run(CoClusters(3, 3, hard), X, state, beta=1.0, n_iter=10)
        assert (fit.params.joint.sum(axis=0) > 0.01).all()
        assert (fit.params.joint.sum(axis=1) > 0.01).all()
        before, after = (mutual_information(p.joint) for p in (state.params, fit.params))
        assert after > 1.1 * before


def test_an_empty_cluster_is_re_initialised_without_a_badly_explained_object():
    """The second and third of three blocks are joined, and still better off than by chance."""
    n = np.kron([[8, 4, 1], [1, 8, 1], [1, 1, 8]], np.ones((4, 4)))
    whole, parts = (np.eye(3)[np.repeat(labels, 4)] for labels in ([0, 1, 2], [0, 1, 1]))
    scores = n @ whole @ log_association(parts.T @ n @ whole / n.sum()).T
    assert ((scores * parts).sum(axis=1) > 0).all()
    for X, sides in ((n, (parts, whole)), (n.T, (whole, parts))):
        X = sp.csr_array(X)
        fit = run(CoClusters(3, 3, hard=True), X, state_of(X, *sides), beta=1.0, n_iter=5)
        np.testing.assert_array_equal(fit.rows.sum(axis=0), [4, 4, 4])
        np.testing.assert_array_equal(fit.params.memberships.sum(axis=0), [4, 4, 4])


def test_a_row_of_no_weight_does_not_fill_an_empty_cluster():
    """It is explained worst; as if it were not there, another row is taken."""
    n = np.kron([[8, 4, 1], [1, 8, 1], [1, 1, 8]], np.ones((4, 4)))
    odd = np.vstack([n, np.repeat([0, 0, 90.0], 4)])
    whole, parts = (np.eye(3)[np.repeat(labels, 4)] for labels in ([0, 1, 2], [0, 1, 1]))
    model = CoClusters(3, 3, hard=True)
    (params, rows), without = state_of(sp.csr_array(n), parts, whole), CSRCounts(sp.csr_array(n))
    expected = model.expect(without, params, rows, 1.0)[1]
    counts = CSRCounts(sp.csr_array(odd), np.repeat([1.0, 0.0], [12, 1]))
    found = model.expect(counts, params, np.vstack([rows, rows[-1:]]), 1.0)[1]
    assert expected.spare.any()
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two)
    weighty = model.expect(CSRCounts(sp.csr_array(odd)), params, np.vstack([rows, rows[-1:]]), 1.0)
    np.testing.assert_array_equal(weighty[1].spare, odd[-1] @ whole)


def test_hard_clusters_with_estimated_proportions_prefer_larger_ones():
    """A row goes where sum_j n_ij log c_cd + log rho_c is largest; equal ones change nothing."""
    X = CSRCounts(sp.csr_array(np.array([[6.0, 5.0], [1.0, 9.0]])))
    joint = np.array([[0.3, 0.2], [0.2, 0.3]])
    for proportions, weights, expected in (
        ("estimated", [0.2, 0.8], [1, 1]),
        ("estimated", [0.5, 0.5], [0, 1]),
        ("uniform", [0.5, 0.5], [0, 1]),
    ):
        model = CoClusters(2, 2, True, proportions)
        half = np.full(2, 0.5)
        params = Params(np.eye(2), half, joint, np.array(weights), half, np.array(1.0))
        rows, _ = model.expect(X, params, np.full((2, 2), 0.5), 1.0)
        np.testing.assert_array_equal(rows, np.eye(2)[expected])


def test_more_clusters_than_distinct_objects():
    X = np.repeat([[50, 10, 0, 20], [0, 30, 40, 10]], 3, axis=0)
    for options, sizes in (({"hard": True}, (10, 10)), ({"beta": 1.0}, (4, 4))):
        model = SymmetricClustering(*sizes, random_state=0, **options).fit(X)
        assert model.mutual_information_ == pytest.approx(information_of_table(X), rel=0.01)
        # No hard cluster is emptied as long as there are rows; equal ones of a soft one stay equal.
        groups = set(model.row_labels_[:3].tolist()), set(model.row_labels_[3:].tolist())
        assert not groups[0] & groups[1]
        assert len(groups[0]) == len(groups[1]) == (3 if "hard" in options else 1)
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

    for start in ("cocluster_start", "bigram_start"):
        monkeypatch.setattr(f"skcooc.estimators.symmetric.{start}", fail)
    for changed, n_columns, message in TIED_REFUSED:
        options = {"n_row_clusters": 3, "n_column_clusters": 3, "hard": True} | changed
        model = SymmetricClustering(tied=True, **options)
        refused(message, model.fit, random_table(12, n_columns))
        assert not hasattr(model, "components_")
    pairs = Dyads.from_pairs(list("abdabe"), list("bacbaf"))  # 4 x 4, but not the same items
    refused("their names differ", SymmetricClustering(2, 2, hard=True, tied=True).fit, pairs)


# Classes 0 and 1 are followed by the same classes, 2 and 3 by different ones: by what follows
# them, 0 and 1 cannot be told apart, nor 2 and 3 by what they follow.
CYCLE = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [1, 0, 0, 0], [0, 1, 0, 0]])


def bigrams(n_objects=60, n_tokens=6000, seed=0):
    """Counts of pairs of objects, with the classes that they were drawn from."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n_objects) % 4)
    frequency = rng.uniform(0.5, 1.5, n_objects)
    P = (0.9 * CYCLE + 0.1 / 4)[np.ix_(classes, classes)] * np.outer(frequency, frequency)
    P /= P.sum()
    counts = rng.multinomial(n_tokens, P.ravel()).reshape(P.shape)
    return sp.csr_array(counts.astype(float)), classes


def path(X, weights=None):
    """The parameters after every sweep, and the objective before it."""
    found = []
    n = X.toarray() if weights is None else X.toarray() * weights[:, None]
    start = state_of_labels(n, np.random.default_rng(0).integers(4, size=X.shape[0]), 4)

    def observe(record, state, run):
        found.append((*state.params, record.free_energy))

    run(ClassBigrams(4), X, start, n_iter=10, weights=weights, observe=observe)
    return found


def test_weights_of_rows_are_factors_of_their_counts():
    X, weights = noise(diagonal=1), np.random.default_rng(0).uniform(0, 3, 14)
    scaled = sp.csr_array(X.toarray() * weights[:, None])
    for mine, its in zip(path(X, weights), path(scaled), strict=True):
        for one, other in zip(mine, its, strict=True):
            np.testing.assert_allclose(one, other)


def tied(n_clusters=4, **options):
    options = {"hard": True, "tied": True, "random_state": 0} | options
    return SymmetricClustering(n_clusters, n_clusters, **options)


def test_recovers_classes_that_one_side_does_not_show(monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X, classes = bigrams()
    model, threaded = tied(n_init=2).fit(X), tied(n_init=2, n_jobs=2).fit(X)
    assert adjusted_rand_score(classes, model.labels_) == 1
    assert model.objective_ == threaded.objective_
    np.testing.assert_array_equal(model.components_, threaded.components_)
    stopped = tied(early_stopping=True).fit(X)
    assert adjusted_rand_score(classes, stopped.labels_) > 0.9
    assert np.isfinite(stopped.history_[-1].validation_perplexity)
    by_row = AsymmetricClustering(4, hard=True, random_state=0).fit(X)
    assert adjusted_rand_score(classes, by_row.labels_) < 0.8
    untied = SymmetricClustering(4, 4, hard=True, random_state=0).fit(X)
    assert adjusted_rand_score(classes, untied.row_labels_) < 0.8


def test_rows_and_columns_have_the_same_clusters_that_predict():
    X, _ = bigrams()
    model = tied().fit(X)
    np.testing.assert_array_equal(model.row_labels_, model.column_labels_)
    np.testing.assert_array_equal(model.embedding_, model.column_posteriors_)
    i, j = (np.repeat(side, X.tocoo().data.astype(int)) for side in X.tocoo().coords)
    by_labels = mutual_info_score(model.labels_[i], model.labels_[j])
    assert model.mutual_information_ == pytest.approx(by_labels)
    assert model.mutual_information_ < information_of_table(X)
    assert model.objective_ == pytest.approx(-X.sum() * by_labels)
    assert model.converged_
    # P(y given x) = P(y given its class) P(class given class)
    I, shares = model.embedding_, np.asarray(X.sum(axis=0)) / X.sum()
    given_class = model.joint_ / model.joint_.sum(axis=1, keepdims=True)
    within = I * shares[:, None] / (shares @ I)
    np.testing.assert_allclose(I @ model.components_, I @ given_class @ within.T)
    new = X[:20] + X[20:40]
    scores = new @ model.column_posteriors_ @ np.log(model.association_).T
    np.testing.assert_array_equal(model.predict(new), scores.argmax(axis=1))
    np.testing.assert_array_equal(model.transform(new), np.eye(4)[scores.argmax(axis=1)])
    held_out = bigrams(n_tokens=1000)[0]
    unigram = np.log(shares) @ np.asarray(held_out.sum(axis=0)) / held_out.sum()
    for dyads_or_rows in (Dyads(held_out), X):
        assert unigram + 0.3 < model.score(dyads_or_rows) < 0


def test_a_warm_start_goes_on(monkeypatch):
    """From one start, which does not keep to ``max_iter``, to where a single fit ends."""

    def start(model, X, rng, runner):
        return bigram_start(model, X, rng, PlainRunner())

    monkeypatch.setattr("skcooc.estimators.symmetric.bigram_start", start)
    X, _ = bigrams(n_tokens=350, seed=1)
    whole = tied().fit(X)
    model = tied(max_iter=1, warm_start=True).fit(X)
    information = [model.mutual_information_]
    for _ in range(whole.n_iter_):
        information.append(model.fit(X).mutual_information_)
    assert information == sorted(information)
    assert information[-1] > information[0]
    np.testing.assert_array_equal(model.labels_, whole.labels_)
