"""Names of columns from a vectorizer to the model: named counts in pipelines and searches."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skcooc import (
    AspectClassifier,
    AspectModel,
    AspectRetriever,
    AveragedModels,
    GuidedAspectModel,
    InterpolatedModels,
    NamedCounts,
    RowBlocks,
    RowMemory,
)
from skcooc.inspection import describe, explore, top_features
from skcooc.model_selection import ComponentSearchCV, split_counts
from skcooc.tables import columns_of, with_names
from tests.contract import assert_same_fit as assert_same
from tests.tables import planted, refused

pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore:EM did not converge"),
    pytest.mark.filterwarnings("ignore:Topics are nearly equal"),
    pytest.mark.filterwarnings("ignore:The (held-out )?perplexity.*still falling"),
]

FAST = {"beta": 0.9, "max_iter": 15, "tol": 1e-3, "random_state": 0}
TRUTH = planted()
WORDS = np.array([f"w{j:02d}" for j in range(60)], dtype=object)  # as CountVectorizer sorts them
TEXTS = [" ".join(np.repeat(WORDS, row)) for row in TRUTH.X.toarray().astype(int)]
TYPICAL = (TRUTH.components**2 / TRUTH.components.sum(axis=0)).argsort(axis=1)[:, -2:]
SEEDS = {"sky": WORDS[TYPICAL[2]].tolist(), "sea": WORDS[TYPICAL[0]].tolist()}
GUIDED = GuidedAspectModel(3, seed_features=SEEDS, **FAST)
COUNTS = NamedCounts(CountVectorizer())
X = COUNTS.fit_transform(TEXTS)
NAMES = X.column_names.tolist()
N, M = X.shape  # without words of no text
FRAME = pd.DataFrame(X.toarray(), columns=NAMES)


def test_models_know_the_words_as_of_a_data_frame():
    model = clone(GUIDED).fit(X)
    assert_same(model, clone(GUIDED).fit(FRAME))
    assert model.feature_names_in_.tolist() == COUNTS.get_feature_names_out().tolist()
    np.testing.assert_array_equal(model.transform(X[:5]), model.transform(FRAME[:5]))
    np.testing.assert_allclose(model.score(X), model.score(FRAME), rtol=1e-6)
    refused("X has other column names", model.transform, X[:, ::-1])
    refused("X has other column names", model.transform, X[:, :-1])
    numbers = with_names(sp.csr_array(X), np.arange(M)[::-1])
    assert clone(GUIDED).set_params(seed_features=None).fit(numbers).column_names_in_[0] == M - 1


@pytest.mark.parametrize(
    "estimator",
    [
        AveragedModels(GUIDED, 2, random_state=0),
        InterpolatedModels([("a", GUIDED), ("b", AspectModel(2, **FAST))], random_state=0),
        RowMemory(GUIDED, random_state=0),
        ComponentSearchCV(GUIDED, [2, 3], cv=2, random_state=0),
        AspectRetriever(3, estimator=GUIDED, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_names_reach_the_models_inside_of_others(estimator):
    fitted = make_pipeline(COUNTS, estimator).fit(TEXTS)
    assert fitted[-1].feature_names_in_.tolist() == NAMES


def test_seeds_in_the_vocabulary_of_each_fold():
    pipeline = make_pipeline(NamedCounts(CountVectorizer(min_df=5)), GUIDED)
    done = cross_validate(pipeline, TEXTS, cv=3, return_estimator=True, error_score="raise")
    sizes = {len(fitted[-1].feature_names_in_) for fitted in done["estimator"]}
    assert len(sizes) > 1
    for fitted in done["estimator"]:
        names = fitted[-1].feature_names_in_
        places = {topic: np.searchsorted(names, seeds).tolist() for topic, seeds in SEEDS.items()}
        by_place = clone(GUIDED).set_params(seed_features=places)
        table = sp.csr_array(fitted[0].transform(TEXTS))
        assert set(by_place.fit(table).predict(table)) == {"sky", "sea"}
    counts = {"namedcounts__vectorizer__min_df": [2, 8]}
    search = GridSearchCV(pipeline, counts, cv=3, error_score="raise").fit(TEXTS)
    best = search.best_estimator_[-1]
    counted = search.best_estimator_[0].transform(TEXTS)
    assert set(describe(search)["name"]) >= {"sky", "sea"}
    assert top_features(search) == top_features(best)
    assert explore(search, TEXTS)._repr_html_() == explore(best, counted, texts=TEXTS)._repr_html_()


def test_a_seed_that_a_fold_lacks_is_left_out_and_a_topic_without_any_is_an_error():
    texts = [*TEXTS, *["rain " + TEXTS[0]] * 3]  # the last fold holds all of the rain out
    pipeline = make_pipeline(COUNTS, clone(GUIDED))
    seeds = {**SEEDS, "sky": [*SEEDS["sky"], "rain"]}
    pipeline.set_params(guidedaspectmodel__seed_features=seeds)
    with pytest.warns(UserWarning, match="1 of the seeds .* such as 'rain'. They are left out"):
        scores = cross_validate(pipeline, texts, cv=4)["test_score"]
    assert np.isfinite(scores).all()
    pipeline.set_params(guidedaspectmodel__seed_features={**SEEDS, "sky": ["rain"]})
    with pytest.warns(RuntimeWarning, match="None of the seeds of 'sky'"):
        scores = cross_validate(pipeline, texts, cv=4)["test_score"]
    assert np.isnan(scores).tolist() == [False, False, False, True]
    refused("Check their spelling", pipeline.fit, TEXTS)


def test_errors_name_named_counts():
    pipeline = make_pipeline(CountVectorizer(), clone(GUIDED))
    refused(r"X has no names of columns: put NamedCounts around", pipeline.fit, TEXTS)
    pipeline.set_params(guidedaspectmodel__feature_names=WORDS[:5])
    refused("has the shape .* Leave feature_names out .*NamedCounts", pipeline.fit, TEXTS)
    classes = AspectClassifier(seed_features=SEEDS)
    refused("put NamedCounts around", make_pipeline(CountVectorizer(), classes).fit, TEXTS)
    make_pipeline(COUNTS, classes).fit(TEXTS)
    first = AspectModel(3, **FAST).fit(sp.csr_array(X))
    refused("counts of skcooc.NamedCounts", first.partial_fit, sp.csr_array(X), by_name=True)


def test_tables_of_priors_and_topics_are_matched_by_name():
    """In another order, with fewer columns and with some that no text has."""
    topics = pd.DataFrame(TRUTH.components, columns=WORDS)[NAMES]
    whole = topics.to_numpy()
    for name, scale in (("component_prior", 50), ("fixed_components", 1)):
        model = (AspectModel if scale > 1 else GuidedAspectModel)(3, **FAST)
        by_place = clone(model).set_params(**{name: scale * whole}).fit(X)
        shuffled = scale * topics.iloc[:, ::-1]
        assert_same(clone(model).set_params(**{name: shuffled}).fit(X), by_place)
        fewer = clone(model).set_params(**{name: shuffled.iloc[:, :40].assign(rain=7.0)})
        with pytest.warns(UserWarning, match="1 of the 41 columns of .* such as 'rain'"):
            fewer.fit(X)
        zeros = np.where(np.isin(NAMES, NAMES[::-1][:40]), scale * whole, 0)
        assert_same(fewer, clone(model).set_params(**{name: zeros}).fit(X))
        unknown = clone(model).set_params(**{name: topics.add_prefix("no ")})
        refused("None of the .* columns of .*, such as 'no w.*', is a column", unknown.fit, X)
        twice = with_names(sp.csr_array(X), [NAMES[1], *NAMES[1:]])
        refused("names repeat", clone(model).set_params(**{name: shuffled}).fit, twice)
        with pytest.warns(UserWarning, match="but X has none: values are matched by position"):
            clone(model).set_params(**{name: scale * topics}).fit(sp.csr_array(X))
        pipeline = make_pipeline(NamedCounts(CountVectorizer(min_df=5)), fewer)
        with pytest.warns(UserWarning, match="such as"):
            cross_validate(pipeline, TEXTS, cv=2, error_score="raise")


def test_batches_of_two_vocabularies():
    model = AspectModel(3, **FAST)
    few = NamedCounts(CountVectorizer(min_df=5))
    first = few.fit_transform(TEXTS[:40])
    second = NamedCounts(CountVectorizer()).fit_transform(TEXTS[40:])
    frames = [
        pd.DataFrame(table.toarray(), columns=table.column_names) for table in (first, second)
    ]
    assert first.shape[1] < second.shape[1]
    named = clone(model).partial_fit(first).partial_fit(second, by_name=True)
    assert_same(named, clone(model).partial_fit(frames[0]).partial_fit(frames[1], by_name=True))
    blocks = clone(model).fit(RowBlocks([X[:40], X[40:]]))
    assert blocks.feature_names_in_.tolist() == NAMES
    assert all(columns_of(part).tolist() == NAMES for part in split_counts(X))


def test_names_follow_rows_and_columns(tmp_path):
    joblib.dump(X, tmp_path / "counts")
    mapped = joblib.load(tmp_path / "counts", mmap_mode="r")  # as in other processes
    mask = np.arange(80) < 9
    for rows in (slice(9), np.arange(9), list(range(9)), mask, mask.tolist()):
        for part in (X[rows], X[rows, ...], X[rows, :]):
            assert part.shape == (9, M)
            assert part.column_names.tolist() == NAMES
    odd = np.arange(M) % 2 == 1
    for columns in (slice(1, None, 2), np.flatnonzero(odd), odd, odd.tolist()):
        for part in (X[:, columns], X[..., columns], X[:5, columns]):
            assert part.column_names.tolist() == NAMES[1::2]
    for same in (X.copy(), X.astype(float), X.astype(X.dtype, copy=False), X.tocsr(),
                 mapped, mapped[3:], pickle.loads(pickle.dumps(X))):  # fmt: skip
        assert same.column_names.tolist() == NAMES
    for other in (X.T, 2 * X, X + X, sp.vstack([X, X]), X @ X.T, X[[[0, 1]], [[3], [4]]], X[0],
                  X[:, 3], sp.csr_array(X), X.sum(axis=0), X[X > 0]):  # fmt: skip
        assert getattr(other, "column_names", None) is None
    cut = X.copy()
    cut.resize(N, 10)
    assert cut.column_names is None
    refused("column_names has shape", with_names, sp.csr_array(X), NAMES[1:])


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(ngram_range=(1, 2)),
        FeatureUnion([("words", CountVectorizer()), ("letters", CountVectorizer(analyzer="char"))]),
        make_pipeline(CountVectorizer(), SelectKBest(chi2, k=7)),
        make_pipeline(DictVectorizer(sparse=False)),
        OneHotEncoder(sparse_output=False).set_output(transform="pandas"),
        ColumnTransformer([("both", OneHotEncoder(), [0, 1])]),
    ],
    ids=lambda vectorizer: type(vectorizer).__name__,
)
def test_any_transformer_with_names(vectorizer):
    data, y = TEXTS, np.arange(80) % 2
    if "Dict" in repr(vectorizer):
        data = [dict(zip(WORDS, row, strict=True)) for row in TRUTH.X.toarray()]
    elif "OneHot" in repr(vectorizer):
        data = pd.DataFrame({"a": list("xyxz") * 20, "b": list("uuvv") * 20})
    counts = NamedCounts(vectorizer)
    table = counts.fit_transform(data, y)
    plain = clone(vectorizer).fit(data, y)
    assert table.column_names.tolist() == plain.get_feature_names_out().tolist()
    np.testing.assert_array_equal(table.toarray(), sp.csr_array(plain.transform(data)).toarray())
    for other in (counts.transform(data), clone(counts).fit(data, y).transform(data)):
        assert (other != table).nnz == 0
        assert other.column_names.tolist() == table.column_names.tolist()


def test_the_words_survive_a_selection_between_both():
    selected = make_pipeline(COUNTS, SelectKBest(chi2, k=20), AspectModel(3, **FAST))
    selected.fit(TEXTS, TRUTH.mixtures.argmax(axis=1))
    names = selected[:-1].get_feature_names_out(X.column_names)
    assert selected[-1].feature_names_in_.tolist() == names.tolist()


def test_frames_are_made_by_the_model_only():
    pipeline = make_pipeline(COUNTS, GUIDED).set_output(transform="pandas")
    names = ["sky", "sea", "guidedaspectmodel2"]
    assert pipeline.fit_transform(TEXTS).columns.tolist() == names
    with config_context(transform_output="pandas"):
        assert make_pipeline(COUNTS, GUIDED).fit_transform(TEXTS).columns.tolist() == names


def test_what_has_no_names_is_refused():
    hashed = NamedCounts(HashingVectorizer())
    refused("HashingVectorizer has no get_feature_names_out", hashed.fit, TEXTS, error=TypeError)
    refused("'vectorizer' parameter", NamedCounts(None).fit, TEXTS)
    counts = clone(COUNTS).fit(TEXTS)
    refused("no terms remain", counts.set_params(vectorizer__min_df=1.0).fit, TEXTS)
    assert counts.transform(TEXTS).shape == X.shape  # a fit that fails leaves it as it was
    assert counts.build_analyzer()("Some words") == ["some", "words"]
    assert not hasattr(NamedCounts(DictVectorizer()), "build_analyzer")


def test_counts_of_a_series_have_the_names_of_its_rows():
    texts = pd.Series(TEXTS, [f"text {i}" for i in range(N)])
    counts = clone(COUNTS).fit_transform(texts)
    assert counts.row_names.tolist() == texts.index.tolist()
    assert X.row_names is None
    assert clone(COUNTS).fit_transform(texts.reset_index(drop=True)).row_names is None
    pipeline = make_pipeline(clone(COUNTS), AspectClassifier(random_state=0))
    labels = pd.Series(np.arange(N) % 2, texts.index)
    pipeline.fit(texts, labels)
    message = "y has the index of the rows in another order"
    refused(message, pipeline.fit, texts, labels[::-1])
    model = make_pipeline(CountVectorizer(), AspectModel(2, **FAST)).fit(texts)
    message = "texts has the index of the rows in another order"
    refused(message, explore, model, texts, texts=texts[::-1])
