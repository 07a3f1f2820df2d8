"""Batches whose columns are found by name: in any order, some missing, some new."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import AspectModel, Dyads, GuidedAspectModel, RowMemory
from skcooc.inspection import explore
from skcooc.metrics import recall_at_k
from skcooc.tables import same_names
from tests.contract import assert_same_fit as assert_same
from tests.tables import planted, refused
from tests.test_stream_mixin import SHORT, STREAMERS

pytestmark = pytest.mark.usefixtures("few_starts")

X = planted(n_rows=240, n_tokens=12000).X.toarray().astype(float)
NAMES = np.array([f"w{j}" for j in range(60)], dtype=object)
EARLY = 40  # columns of the first batch
MODEL = AspectModel(3, beta=0.9, **SHORT)
GUIDED = [
    GuidedAspectModel(3, beta=0.9, seed_features={"a": ["w1", "w2"], "b": ["w30"]}, **SHORT),
    GuidedAspectModel(3, beta=0.9, fixed_components={"a": np.arange(1.0, 41)}, **SHORT),
]
OF_COLUMNS = {
    "components",
    "nodes",
    "topics",
    "spare",
    "column_sums",
}  # fields of parameters and statistics
FIRST, SECOND, THIRD = (slice(start, start + 80) for start in (0, 80, 160))


def frame(rows, columns=slice(None), order=slice(None)):
    """A batch as a data frame, with some of the columns, in some order."""
    return pd.DataFrame(X[rows], columns=NAMES)[NAMES[columns]].iloc[:, order]


def widened(model):
    """The same fitted model of a table with columns of zeros, without names."""

    def wide(fields):
        padded = {
            name: np.pad(array, [(0, X.shape[1] - EARLY)] + [(0, 0)] * (array.ndim - 1))
            for name, array in fields._asdict().items()
            if name in OF_COLUMNS
        }
        return fields._replace(**padded)

    twin = pickle.loads(pickle.dumps(model))
    parts = vars(twin)
    state, stream = parts["_state"], parts["_stream"]
    parts["_state"] = state._replace(params=wide(state.params))
    averages = stream.averages
    columns = np.arange(EARLY) if averages.columns is None else averages.columns

    def spread(name, narrow):
        if name not in OF_COLUMNS:
            return narrow
        array = np.zeros((X.shape[1], *narrow.shape[1:]))
        array[columns] = narrow
        return array

    stats = {name: spread(name, array) for name, array in averages.stats._asdict().items()}
    averages = averages._replace(stats=averages.stats._replace(**stats), columns=None)
    parts["_stream"] = wide(stream._replace(averages=averages))
    parts["n_features_in_"] = X.shape[1]
    del parts["feature_names_in_"]
    return twin


@pytest.mark.parametrize("estimator", [*STREAMERS, *GUIDED], ids=repr)
def test_new_columns_are_columns_that_had_no_counts_so_far(estimator):
    """Also where a batch lacks columns. The twin is widened by hand, and then gets matrices."""
    model = clone(estimator).partial_fit(frame(FIRST, slice(EARLY)))
    twin = widened(model)
    late = X[THIRD].copy()
    late[:, :10] = 0
    model.partial_fit(frame(SECOND), by_name=True).partial_fit(
        frame(THIRD, slice(10, None), slice(None, None, -1)), by_name=True
    )
    twin.partial_fit(X[SECOND]).partial_fit(sp.csr_array(late))
    assert_same(model, twin)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    assert model.n_features_in_ == model.components_.shape[1] == 60
    counts = X[FIRST, :EARLY].sum() + X[SECOND].sum() + late.sum()
    share = (X[SECOND].sum(0) + late.sum(0))[EARLY:].sum() / counts
    assert model.weights_ @ model.components_[:, EARLY:].sum(axis=1) > 0.5 * share


@pytest.mark.parametrize("estimator", [STREAMERS[0], AspectModel(3, **SHORT)], ids=repr)
def test_the_order_of_columns_does_not_matter(estimator):
    rng = np.random.default_rng(0)
    plain, named, shuffled = (clone(estimator).fit(frame(FIRST)) for _ in range(3))
    for rows in (SECOND, THIRD):
        plain.partial_fit(frame(rows))
        named.partial_fit(frame(rows), by_name=True)
        shuffled.partial_fit(frame(rows, order=rng.permutation(60)), by_name=True)
    assert_same(named, plain)
    assert_same(shuffled, plain)
    # New columns are appended as they come; but for that the model is the same.
    start = clone(estimator).set_params(beta=0.9).fit(frame(FIRST, slice(EARLY)))
    one, two = (pickle.loads(pickle.dumps(start)) for _ in range(2))
    one.partial_fit(frame(SECOND), by_name=True)
    two.partial_fit(frame(SECOND, order=slice(None, None, -1)), by_name=True)
    np.testing.assert_array_equal(two.feature_names_in_[EARLY:], NAMES[EARLY:][::-1])
    order = np.argsort(pd.Index(NAMES).get_indexer(two.feature_names_in_))
    np.testing.assert_allclose(two.components_[:, order], one.components_, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("beta", [0.9, "auto"])
def test_a_vocabulary_in_two_halves_is_learnt_as_well_as_one(beta, monkeypatch):
    monkeypatch.setattr("skcooc.em.online.FULL_STEP_TOKENS", 40.0)
    model = clone(MODEL).set_params(beta=beta, component_prior=0.0)
    batches = [slice(start, start + 40) for start in range(0, 200, 40)]
    whole, halves = clone(model), clone(model)
    for number in range(15):
        rows, seen = batches[number % 5], slice(30 if number == 0 else 60)
        whole.partial_fit(frame(rows), by_name=True)
        halves.partial_fit(frame(rows, seen), by_name=True)
    test = frame(slice(200, 240))
    assert halves.perplexity(test) < 1.05 * whole.perplexity(test)
    untold = clone(model).fit(frame(slice(0, 40)))
    assert halves.perplexity(test) < 0.98 * untold.perplexity(test)
    # A new name without counts has the probability that smoothing gives it.
    empty = frame(SECOND).assign(never=0)
    halves.partial_fit(empty, by_name=True)
    assert halves.feature_names_in_[-1] == "never"
    assert not halves.components_[:, -1].any()
    assert halves.unigram_[-1] == halves.unigram_.min()
    assert np.isfinite(halves.score(empty[[*halves.feature_names_in_]].assign(never=1)))


def test_names_of_dyads_numbers_and_polars():
    def dyads(rows, names):
        i, j = np.nonzero(X[rows])
        return Dyads.from_pairs(i, names[j], X[rows][i, j].astype(int))

    numbers = np.arange(60)[::-1] + 5
    model = clone(MODEL).partial_fit(dyads(FIRST, numbers))
    model.partial_fit(dyads(SECOND, numbers), by_name=True)
    of_frames = clone(MODEL).partial_fit(pd.DataFrame(X[FIRST].astype(int), columns=numbers))
    other = pd.DataFrame(X[SECOND].astype(int), columns=numbers).iloc[:, ::-1]
    of_frames.partial_fit(other.iloc[:, 5:], by_name=True).partial_fit(other, by_name=True)
    assert set(of_frames.column_names_in_) == set(numbers)
    occurring = X[:160].any(axis=0)
    assert set(model.column_names_in_) == set(numbers[occurring])
    shares = pd.Series(model.unigram_, model.column_names_in_)[numbers[occurring]]
    sums = X[:160].sum(axis=0)[occurring] + 1
    np.testing.assert_allclose(shares, sums / sums.sum())
    assert not hasattr(model, "feature_names_in_")
    named = clone(MODEL).partial_fit(dyads(FIRST, NAMES))
    with pytest.warns(UserWarning, match="valid feature names"):  # as before
        named.partial_fit(X[SECOND][:, X[FIRST].any(axis=0)])
    named.partial_fit(dyads(SECOND, np.array(["new", *NAMES[1:]])), by_name=True)
    assert "new" in named.feature_names_in_
    assert named.feature_names_in_.dtype == object
    polars = pytest.importorskip("polars")
    frames = [polars.from_pandas(frame(rows)) for rows in (FIRST, SECOND)]
    of_polars = clone(MODEL).partial_fit(frames[0])
    of_polars.partial_fit(frames[1].select(*NAMES[::-1]), by_name=True)
    assert_same(of_polars, clone(MODEL).partial_fit(frame(FIRST)).partial_fit(frame(SECOND)))


DAYS = pd.date_range("2020-01-01", periods=60)


@pytest.mark.parametrize("names", [DAYS, np.arange(60) / 2])
def test_names_of_any_type_are_compared(names):
    early, late = (pd.DataFrame(X[rows], columns=names) for rows in (FIRST, SECOND))
    model = clone(MODEL).partial_fit(early)
    assert list(model.column_names_in_) == list(names)
    other = late.iloc[:, ::-1]
    warm = clone(MODEL).set_params(warm_start=True).fit(early)
    for call in (model.transform, model.partial_fit, warm.fit):
        refused("column names|columns with other names", call, other)
    best = [one.recommend(X[FIRST], 3).items for one in (model, clone(MODEL).fit(X[FIRST]))]
    assert recall_at_k(late, best[0], 3) == recall_at_k(X[SECOND], best[1], 3)
    assert len(explore(model, early).html)
    model.partial_fit(other, by_name=True)
    assert_same(model, clone(MODEL).partial_fit(early).partial_fit(late))
    numbered = clone(MODEL).fit(pd.DataFrame(X[FIRST]))
    refused("column names", numbered.transform, pd.DataFrame(X[SECOND]).iloc[:, ::-1])


def test_the_same_names_are_of_any_type_in_order_and_some_are_missing():
    some = DAYS[:3], ["a", None, "b"], [1.5, np.nan], pd.to_datetime(["2020", None])
    for names in (*some, pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])):
        assert same_names(names, pd.Index(names))
        assert not same_names(names, pd.Index(names)[::-1])
        assert not same_names(names, names[:-1])
    table = pd.DataFrame(X[FIRST], columns=[*range(59), np.nan])  # as of a crosstab
    model = clone(MODEL).fit(table)
    assert np.isfinite(model.transform(table)).all()
    assert len(explore(model, table).html)


def test_input_is_not_changed_and_refused_batches_keep_the_model():
    model = clone(MODEL).fit(frame(FIRST))
    batch, dyads = frame(SECOND), Dyads(X[SECOND], column_names=NAMES[::-1])
    given = pickle.dumps((batch, dyads))
    for each in (batch, dyads):
        pickle.loads(pickle.dumps(model)).partial_fit(each, by_name=True)
    assert pickle.dumps((batch, dyads)) == given
    before = pickle.dumps(model)
    repeated = ["w4" if name == "w3" else name for name in NAMES]
    twice = Dyads(X[SECOND], column_names=repeated)
    refused("same name|distinct", *by_name(model, frame(SECOND).set_axis(repeated, axis=1)))
    refused("1 of the 60 names of X repeat others, such as 'w4'", *by_name(model, twice))
    refused("by their names, but X has none", *by_name(model, X[SECOND]))
    numbers = pd.DataFrame(X[SECOND], columns=np.arange(5, 65))
    with pytest.raises(TypeError, match="all strings or all numbers"):
        model.partial_fit(numbers, by_name=True)
    refused("[Nn]egative", *by_name(model, -frame(SECOND).assign(new=1)))
    for further in (frame(SECOND, order=slice(None, 9)), Dyads(frame(SECOND, slice(9)))):
        refused("feature names should match", model.partial_fit, further)
    assert pickle.dumps(model) == before
    for estimator in (MODEL, RowMemory(MODEL)):  # scikit-learn compares names that are strings
        first, second = (
            pd.DataFrame(X[rows], columns=np.arange(60) + 5) for rows in (FIRST, SECOND)
        )
        of_numbers = clone(estimator).partial_fit(first)
        refused("feature names should match", of_numbers.partial_fit, second.iloc[:, ::-1])
        of_numbers.partial_fit(second)
    refused("AspectModel has none", *by_name(clone(MODEL).fit(X[FIRST]), frame(SECOND)))
    first = Dyads(X[FIRST], column_names=repeated)
    refused("names of AspectModel repeat", *by_name(clone(MODEL).fit(first), frame(SECOND)))


def by_name(model, batch):
    return lambda X: model.partial_fit(X, by_name=True), batch


def test_a_cache_around_a_stream_learns_new_columns_too():
    plain, named = (RowMemory(clone(MODEL), random_state=0) for _ in range(2))
    for rows, columns in ((FIRST, slice(EARLY)), (SECOND, slice(None))):
        named.partial_fit(frame(rows, columns, slice(None, None, -1)), by_name=True)
    assert named.n_features_in_ == 60
    inner = clone(MODEL).partial_fit(frame(FIRST, slice(EARLY), slice(None, None, -1)))
    inner.partial_fit(frame(SECOND, order=slice(None, None, -1)), by_name=True)
    np.testing.assert_array_equal(named.components_, inner.components_)
    rows_with = (frame(FIRST, slice(EARLY)) > 0).sum().reindex(NAMES, fill_value=0)
    rows_with = (rows_with + (frame(SECOND) > 0).sum() + 1)[named.feature_names_in_]
    np.testing.assert_allclose(named.unigram_, rows_with / rows_with.sum())
    # Models of other libraries have no new columns, but any order.
    for model, order in ((plain, slice(None)), (named, slice(None, None, -1))):
        model.set_params(estimator=LatentDirichletAllocation(3, random_state=0))
        model.__dict__.pop("estimator_", None)
        model.partial_fit(frame(FIRST)).partial_fit(frame(SECOND, order=order), by_name=True)
    np.testing.assert_array_equal(plain.components_, named.components_)
    refused("features", *by_name(named, frame(SECOND).assign(new=1)))


def test_a_batch_without_a_column_of_the_fit_is_refused():
    model = clone(MODEL).fit(frame(FIRST))
    batch = frame(SECOND)
    before = dict(vars(model))
    for other in (batch.rename(columns=lambda name: name + " "), batch.T.rename(columns=str)):
        refused("none of the .* columns of X, such as", model.partial_fit, other, by_name=True)
        assert vars(model) == before


def test_names_that_are_numbers_are_compared_with_texts_of_numbers():
    numbered = frame(FIRST).set_axis(range(1, 61), axis=1)
    model = clone(MODEL).fit(numbered)
    texts = numbered.rename(columns=str)
    for other in (texts, texts.iloc[:, ::-1], Dyads(texts)):
        refused("X has other column names", model.transform, other)
