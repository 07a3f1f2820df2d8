"""The class bigram model: exchange moves against their definition, and tied estimators."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from skcooc import AsymmetricClustering, Dyads, SymmetricClustering
from skcooc.counts import CSRCounts, csr
from skcooc.equations.coclusters import ClassBigrams, mutual_information
from skcooc.metrics import mutual_information as information_of_table
from tests.equations.literal_class_bigrams import information, literal_sweep, state_of
from tests.equations.models import noise
from tests.equations.running import run

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

# Classes 0 and 1 are followed by the same classes, 2 and 3 by different ones: by what follows
# them, 0 and 1 cannot be told apart, nor 2 and 3 by what they follow.
CYCLE = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [1, 0, 0, 0], [0, 1, 0, 0]])


def bigrams(n_objects=60, n_observations=6000, seed=0):
    """Counts of pairs of objects, with the classes that they were drawn from."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n_objects) % 4)
    frequency = rng.uniform(0.5, 1.5, n_objects)
    P = (0.9 * CYCLE + 0.1 / 4)[np.ix_(classes, classes)] * np.outer(frequency, frequency)
    P /= P.sum()
    counts = rng.multinomial(n_observations, P.ravel()).reshape(P.shape)
    return sp.csr_array(counts.astype(float)), classes


def path(X, n_iter=10, n_clusters=4, seed=0, weights=None):
    """Labels at the start and after every sweep, and the record of each."""
    labels = [np.random.default_rng(seed).integers(n_clusters, size=X.shape[0])]
    n = X.toarray() if weights is None else X.toarray() * weights[:, None]
    records = []

    def observe(record, state, run):
        labels.append(state.params.memberships.argmax(axis=1))
        records.append((record, state.params))

    start = state_of(n, labels[0], n_clusters)
    model = ClassBigrams(n_clusters)
    run(model, X, start, n_iter=n_iter, weights=weights, observe=observe)
    return labels, records


TABLES = [noise(), noise(diagonal=5), bigrams(30, 800)[0]]


def test_the_diagonal_matters():
    n = noise(diagonal=5).toarray()
    labels = np.random.default_rng(0).integers(4, size=14)
    without = literal_sweep(n - np.diag(np.diag(n)), labels, 4)
    assert (literal_sweep(n, labels, 4) != without).any()


def test_no_single_move_is_better_at_convergence():
    labels = path(TABLES[0], 1)[0][-1]
    assert (literal_sweep(TABLES[0].toarray(), labels, 4) != labels).any()
    for X in TABLES:
        labels = path(X, 30, seed=1)[0][-1]
        n, here = X.toarray(), information(X.toarray(), labels, 4)
        for i in range(len(labels)):
            for c in range(4):
                moved = labels.copy()
                moved[i] = c
                assert information(n, moved, 4) <= here + 1e-12


def test_weights_of_rows_are_factors_of_their_counts_and_transposing_changes_nothing():
    X = noise(diagonal=1)
    np.testing.assert_array_equal(path(X)[0], path(sp.csr_array(X.T))[0])
    weights = np.random.default_rng(0).uniform(0, 3, X.shape[0])
    weighted, records = path(X, weights=weights)
    scaled, others = path(sp.csr_array(X.toarray() * weights[:, None]))
    np.testing.assert_array_equal(weighted, scaled)
    for (record, params), (other, its) in zip(records, others, strict=True):
        assert record.free_energy == pytest.approx(other.free_energy)
        np.testing.assert_allclose(params.joint, its.joint)
        np.testing.assert_allclose(params.shares, its.shares)


def test_permuted_objects_take_their_clusters_along():
    """At convergence, where the order of the moves does not matter."""
    X, _ = bigrams()
    labels = path(X, 20)[0][-1]
    order = np.random.default_rng(0).permutation(len(labels))
    counts = CSRCounts(sp.csr_array(X[order][:, order]))
    np.testing.assert_array_equal(counts.exchange(labels[order], 4), labels[order])


def tied(n_clusters=4, **options):
    options = {"hard": True, "tied": True, "random_state": 0} | options
    return SymmetricClustering(n_clusters, n_clusters, **options)


def test_recovers_classes_that_one_side_does_not_show():
    X, classes = bigrams()
    labels = tied(n_init=5).fit(X).labels_
    assert adjusted_rand_score(classes, labels) == 1
    by_row = AsymmetricClustering(4, hard=True, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(classes, by_row.labels_) < 0.8
    untied = SymmetricClustering(4, 4, hard=True, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(classes, untied.row_labels_) < 0.8


def test_rows_and_columns_have_the_same_clusters_that_predict():
    X, _ = bigrams()
    model = tied(n_init=3).fit(X)
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
    held_out = bigrams(n_observations=1000)[0]
    unigram = np.log(shares) @ np.asarray(held_out.sum(axis=0)) / held_out.sum()
    for dyads_or_rows in (Dyads(held_out), X):
        assert unigram + 0.3 < model.score(dyads_or_rows) < 0


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_a_warm_start_goes_on():
    X, _ = bigrams(n_observations=1200)
    whole = tied().fit(X)
    model = tied(max_iter=1, warm_start=True).fit(X)
    information = [model.mutual_information_]
    for _ in range(whole.n_iter_):
        information.append(model.fit(X).mutual_information_)
    assert information == sorted(information)
    assert information[-1] > information[0]
    np.testing.assert_array_equal(model.labels_, whole.labels_)


def test_fits_in_several_threads_are_bitwise_equal(monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X, _ = bigrams(seed=4)
    one, two = tied(n_init=3).fit(X), tied(n_init=3, n_jobs=2).fit(X)
    assert one.objective_ == two.objective_
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.components_, two.components_)


def test_more_clusters_than_objects_keep_all_information():
    X = sp.csr_array(np.array([[5.0, 1, 0], [0, 2, 4], [3, 0, 1]]))
    model = tied(5, n_init=5).fit(X)
    assert model.mutual_information_ == pytest.approx(information_of_table(X))
    assert mutual_information(model.joint_) == model.mutual_information_
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


def test_early_stopping_holds_out_observations():
    X, classes = bigrams()
    model = tied(early_stopping=True, n_init=3).fit(X)
    assert adjusted_rand_score(classes, model.labels_) > 0.9
    assert np.isfinite(model.history_[-1].validation_perplexity)
