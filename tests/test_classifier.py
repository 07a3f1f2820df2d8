"""A classifier that learns from a few labelled rows, and from all others."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import log_loss

from skcooc import AspectClassifier, Dyads, RowBlocks
from skcooc.datasets import make_cooccurrences
from skcooc.estimators.classifier import calibration
from tests.tables import refused

SIZES = {"n_rows": 150, "n_columns": 80, "n_components": 3, "concentration": 0.5}
TRUTH = make_cooccurrences(**SIZES, kind="clusters", n_tokens=4500, random_state=1)
X, Y = TRUTH.X.astype(float), TRUTH.labels
N, M = X.shape
NAMES = np.array(["sea", "sky", "sun"], dtype=object)


def labelled(n, seed=0):
    """Labels of n rows of each class; -1 of the others."""
    rng = np.random.default_rng(seed)
    y = np.full(N, -1)
    for c in range(3):
        y[rng.choice(np.flatnonzero(TRUTH.labels == c), n, replace=False)] = c
    return y


FEW = labelled(3)


@cache
def default():
    return AspectClassifier(random_state=0).fit(X, FEW)


def test_three_labels_a_class_are_enough():
    rest = FEW < 0
    assert (default().predict(X)[rest] == Y[rest]).mean() > 0.9
    assert default().score(X, Y) > 0.9
    assert default().classes_.tolist() == [0, 1, 2]
    new = make_cooccurrences(**SIZES, kind="clusters", n_tokens=4500, random_state=1).X[:20]
    np.testing.assert_array_equal(default().predict(new), default().predict(X)[:20])


@pytest.mark.parametrize("cv", [0, 5])
def test_probabilities_are_distributions_of_classes(cv):
    for per_class, free in ((1, 0), (2, 1)):
        options = {"cv": cv, "max_iter": 8, "random_state": 0}
        model = AspectClassifier(per_class, free, **options).fit(X, FEW)
        P = model.predict_proba(X)
        assert P.shape == (N, 3)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))
        mixtures = model.transform(X)
        assert mixtures.shape == (N, 3 * per_class + free)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), P)
        if not cv:
            assert model.calibration_ == (1.0, 1e-6)
            shares = mixtures[:, : 3 * per_class].reshape(N, 3, per_class).sum(axis=2)
            shares /= shares.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(P, shares, atol=1e-5)


def test_calibrated_probabilities_are_better():
    losses = {}
    y = labelled(8, seed=3)
    rest = y < 0
    for cv in (0, 5):
        model = AspectClassifier(cv=cv, random_state=0).fit(X, y)
        losses[cv] = log_loss(Y[rest], model.predict_proba(X)[rest])
    assert losses[5] < 0.8 * losses[0]


def test_classes_keep_their_order_and_are_possible_however_labels_were_predicted():
    for codes in ([0, 1], [1, 0]):  # all of them right, or wrong
        exponent, floor = calibration(
            np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(codes), np.ones(2)
        )
        logs = exponent * np.log(np.array([0, 0.499, 0.501]) + floor)
        assert np.isfinite(logs).all()
        assert (np.diff(logs) > 0).all()


def test_labels_come_in_many_forms():
    numbers = FEW.astype(object)
    strings = np.where(FEW < 0, None, NAMES[FEW])
    model = AspectClassifier(cv=2, random_state=0)
    expected = clone(model).fit(X, FEW)
    predicted = expected.predict(X[:20])
    for y, classes in (
        (FEW.tolist(), [0, 1, 2]),
        (numbers, [0, 1, 2]),
        (np.where(FEW < 0, None, numbers), [0, 1, 2]),
        (np.where(FEW < 0, np.nan, FEW.astype(float)), [0, 1, 2]),
        (strings, NAMES.tolist()),
        (np.where(FEW < 0, np.nan, NAMES[FEW]), NAMES.tolist()),
        (np.where(FEW < 0, np.nan, NAMES[FEW]).tolist(), NAMES.tolist()),
        (pd.Series(strings, dtype="string"), NAMES.tolist()),
        (pd.Series(strings, dtype="category"), NAMES.tolist()),
        (pd.Series(np.where(FEW < 0, None, numbers), dtype="Int64"), [0, 1, 2]),
    ):
        assert model.fit(X, y).classes_.tolist() == classes
        assert model.model_.component_names_ == dict(enumerate(map(str, model.classes_)))
        np.testing.assert_array_equal(model.components_, expected.components_)
        assert model.calibration_ == expected.calibration_
        np.testing.assert_array_equal(model.predict(X[:20]), model.classes_[predicted])


def test_bad_labels_are_refused():
    model = AspectClassifier()
    refused("y has no labels", model.fit, X, np.full(N, -1))
    refused("y has no labels", model.fit, X, [None] * N)
    refused("inconsistent numbers of samples", model.fit, X, FEW[1:])
    refused("inconsistent numbers of samples", model.fit, Dyads(X), FEW[1:])
    refused("Unknown label type", model.fit, X, FEW + 0.5)
    refused(r"1d array, got an array of shape \(150, 2\)", model.fit, X, pd.Series([(1, 2)] * N))
    refused("in memory, got X of type RowBlocks", model.fit, RowBlocks([X]), FEW)
    of_strings = AspectClassifier(seed_features={"1": [2]})
    refused("Some classes are strings and others are not", of_strings.fit, X, FEW)
    assert not hasattr(model, "classes_")
    for missing in (np.nan, -1, ""):  # an array of strings has strings of these
        with pytest.warns(UserWarning, match=f"class '{missing}', a string.*known, labels, None"):
            model.fit(X, np.where(FEW < 0, missing, NAMES[FEW]).astype(str))


def test_one_class_and_one_label():
    with pytest.warns(UserWarning, match="one class, 1, because -1.*y == 1"):
        one = AspectClassifier(random_state=0).fit(X, np.where(FEW == 1, 1, -1))
    assert set(one.predict(X)) == {1}
    np.testing.assert_array_equal(one.predict_proba(X), np.ones((N, 1)))
    y = FEW.copy()
    y[np.flatnonzero(y == 2)[1:]] = -1  # a single label: never left out
    model = AspectClassifier(random_state=0).fit(X, y)
    rest = y < 0
    assert (model.predict(X)[rest] == Y[rest]).mean() > 0.8
    for y in (labelled(1), np.where(np.arange(N) == 5, 1, -1)):
        assert AspectClassifier(random_state=0).fit(X, y).calibration_ == (1.0, 1e-6)


@pytest.mark.parametrize("options", [{}, {"beta": "auto"}, {"n_free_components": 1}], ids=str)
def test_labelled_rows_have_no_share_of_other_classes(options):
    model = AspectClassifier(2, random_state=0, max_iter=8, cv=0).set_params(**options).fit(X, FEW)
    for c in range(3):
        of_class = model.embedding_[np.equal(FEW, c)]
        others = np.delete(of_class[:, :6], [2 * c, 2 * c + 1], axis=1)
        assert (others == 0).all()
        np.testing.assert_allclose(of_class.sum(axis=1), 1)
    assert (model.embedding_[FEW < 0][:, :6] > 0).any(axis=0).all()
    of_topics = np.array([int(name.split()[0]) for name in model.model_.predict(X)])
    assert (of_topics == model.predict(X)).mean() > 0.9


def test_a_class_of_empty_rows():
    empty = np.where((Y == 2)[:, None], 0, X.toarray())
    for y in (FEW, Y):
        model = AspectClassifier(random_state=0).fit(empty, y)
        np.testing.assert_allclose(model.components_.sum(axis=1), 1)
        np.testing.assert_allclose(model.predict_proba(empty).sum(axis=1), 1)


def test_order_of_rows_and_labels_does_not_matter():
    order = np.random.default_rng(0).permutation(N)
    one = AspectClassifier(cv=0, random_state=0).fit(X, FEW)
    two = AspectClassifier(cv=0, random_state=0).fit(X[order], FEW[order])
    np.testing.assert_allclose(two.components_, one.components_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(two.embedding_, one.embedding_[order], rtol=1e-8, atol=1e-12)
    other = np.where(FEW < 0, -1, 2 - FEW)  # the classes in the other order
    three = AspectClassifier(cv=0, random_state=0).fit(X, other)
    np.testing.assert_array_equal(2 - three.predict(X), one.predict(X))


def test_seeds_stand_for_labels_or_help_them():
    typical = (TRUTH.components / TRUTH.components.sum(axis=0)).argsort(axis=1)[:, -3:]
    words = np.array([f"w{j}" for j in range(M)])
    places = {c: typical[c].tolist() for c in range(3)}
    names = {c: words[typical[c]].tolist() for c in range(3)}
    for seeds, options in ((places, {}), (names, {"feature_names": words})):
        model = AspectClassifier(seed_features=seeds, random_state=0, **options).fit(X)
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.score(X, Y) > 0.9
        assert model.calibration_ == (1.0, 1e-6)
    two = AspectClassifier(seed_features={2: places[2]}, random_state=0)
    both = two.fit(X, np.where(FEW == 2, -1, FEW))  # classes of labels, and one of seeds
    assert both.classes_.tolist() == [0, 1, 2]
    assert both.score(X, Y) > 0.9


def test_unlabelled_rows_help():
    """Columns that no labelled row has are learned from the others."""
    truth = make_cooccurrences(**SIZES, kind="clusters", n_tokens=1500, random_state=1)
    table, y = truth.X.astype(float), np.full(N, -1)
    for c in range(3):
        y[np.flatnonzero(truth.labels == c)[:2]] = c
    known, scores = y >= 0, []
    for rows in (known, np.ones(N, dtype=bool)):
        model = AspectClassifier(cv=0, random_state=0).fit(table[rows], y[rows])
        scores.append(model.score(table[~known], truth.labels[~known]))
    assert scores[1] > scores[0] + 0.1


def test_names_storage_and_weights():
    names = default().get_feature_names_out()
    assert names.tolist() == [f"aspectclassifier{k}" for k in range(3)]
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(M)])
    model = clone(default()).set_output(transform="pandas").fit(frame, FEW)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.transform(frame).columns.tolist() == names.tolist()
    for container in ("pandas", "polars"):
        P = model.set_output(transform=container).predict_proba(frame)
        np.testing.assert_array_equal(P, default().predict_proba(X))
        with config_context(transform_output=container):
            assert clone(default()).fit(frame, FEW).score(frame, Y) == default().score(X, Y)
    for other in (model, clone(default()).fit(Dyads(X), FEW)):
        np.testing.assert_array_equal(other.components_, default().components_)
    np.testing.assert_array_equal(clone(default()).set_params(n_jobs=2).fit(X, FEW).components_,
                                  default().components_)  # fmt: skip
    single = clone(default()).fit(X.astype(np.float32), FEW)
    assert single.components_.dtype == single.embedding_.dtype == np.float32
    weights = np.arange(N) % 3
    times = np.repeat(np.arange(N), weights)
    # At beta=1 columns that rows of weight zero alone have of a class are next to zero there.
    float32 = X.astype(np.float32)
    for table, y, beta, rtol in ((X, FEW, 0.8, 1e-8), (float32, labelled(20), 1.0, 1e-3)):
        plain = AspectClassifier(cv=0, beta=beta, random_state=0)
        weighted = clone(plain).fit(table, y, sample_weight=weights)
        repeated = clone(plain).fit(table[times], y[times])
        np.testing.assert_allclose(weighted.components_, repeated.components_, rtol, atol=1e-6)
    assert default().n_iter_ == 20


def test_weights_of_rows_count_in_the_calibration():
    weights, many = np.arange(N) % 2, labelled(8)
    many[:20] = (Y[:20] + (np.arange(20) % 5 == 0)) % 3  # some of them are wrong
    left_out = clone(default()).fit(X[weights > 0], many[weights > 0])
    dyads = Dyads(X)
    for table, of_samples in ((X, weights), (dyads, weights[dyads.rows])):
        weightless = clone(default()).fit(table, many, sample_weight=of_samples)
        np.testing.assert_allclose(weightless.calibration_, left_out.calibration_)
    rng = np.random.default_rng(0)
    shares, times = rng.dirichlet(np.full(3, 0.3), 200), np.arange(200) % 4
    codes = np.array([rng.choice(3, p=p) for p in shares])
    weighted = calibration(shares, codes, times)
    repeated = (np.repeat(values, times, axis=0) for values in (shares, codes, np.ones(200)))
    np.testing.assert_allclose(weighted, calibration(*repeated), rtol=1e-4)
    assert abs(weighted[0] - calibration(shares, codes, np.ones(200))[0]) > 0.01


def test_errors_about_the_table_name_the_classifier():
    for table in (-X, X * 0):
        refused("AspectClassifier", clone(default()).fit, table, FEW)
    refused("AspectClassifier is expecting 80 features", default().predict, X[:, 1:])
    numbered = pd.DataFrame(X.toarray(), columns=5 * np.arange(M))
    model = AspectClassifier(cv=0, random_state=0).fit(numbered, FEW)
    refused("X has other column names", model.predict, numbered[numbered.columns[::-1]])
