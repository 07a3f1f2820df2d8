"""Retrieval against a dense transcription of its equations."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.utils.estimator_checks import check_estimator

from skcooc import AspectModel, AspectRetriever, Dyads, retrieval
from skcooc.inspection import set_names
from skcooc.retrieval import DocumentIndex
from tests.tables import random_table, refused

pytestmark = pytest.mark.filterwarnings("ignore:.*queries have no known word")
X = random_table(30, 20)
QUERIES = random_table(6, 20, seed=1)
FAST = {"estimator": AspectModel(beta=0.95, max_iter=30), "random_state": 0, "n_feedback": 0}


def retriever(n_components=(2, 3), **params):
    return AspectRetriever(n_components, **{**FAST, **params})


@pytest.fixture(scope="module")
def model():
    return retriever().fit(X)


def unit(P):
    lengths = np.linalg.norm(P, axis=1, keepdims=True)
    return P / np.where(lengths, lengths, 1)


def transcription(model, X, queries, smoothed=True, prior=True, weighted=True):
    """The docstring, with dense matrices; a broken twin leaves something out."""
    X, queries = X.toarray(), queries.toarray()
    idf = np.log((len(X) + 1) / ((X > 0).sum(axis=0) + 1)) + 1
    f, g = (np.where(n > 0, 1 + np.log(np.maximum(n, 1)), 0) for n in (X, queries))
    members = model.estimators_
    P = np.mean([m.embedding_ @ m.components_ for m in members], axis=0)
    share = model.smoothing_weight if smoothed else 0.0
    frequency = f / np.maximum(f.sum(axis=1, keepdims=True), 1)
    smooth = ((1 - share) * frequency + share * P) * idf * X.any(axis=1)[:, None]
    d, q = (f * idf, g * idf) if weighted else (X, queries)
    cosines = []
    for m in members:
        weights = X.sum(axis=1) @ m.embedding_ if prior else np.ones(len(m.components_))
        joint = weights[:, None] * m.components_
        posterior = joint / np.maximum(joint.sum(axis=0), 1e-300)
        cosines.append(unit(q @ posterior.T) @ unit(d @ posterior.T).T)
    a = model.aspect_weight
    return (1 - a) * unit(g * idf) @ unit(smooth).T + a * np.mean(cosines, axis=0)


def test_similarity_is_that_of_the_equations():
    for a, share in ((0.3, 0.2), (0, 1), (1, 0.5), (0.5, 0)):
        model = retriever(aspect_weight=a, smoothing_weight=share).fit(X)
        expected = transcription(model, X, QUERIES)
        np.testing.assert_allclose(model.similarity(QUERIES), expected, atol=1e-12)
    model = retriever(aspect_weight=0, smoothing_weight=0).fit(X)
    tf_idf = TfidfTransformer(sublinear_tf=True).fit(X)
    cosines = (tf_idf.transform(QUERIES) @ tf_idf.transform(X).T).toarray()
    np.testing.assert_allclose(model.similarity(QUERIES), cosines, atol=1e-12)
    model = retriever(smoothing_weight=0.2).fit(X)
    for part in ("smoothed", "prior", "weighted"):
        broken = transcription(model, X, QUERIES, **{part: False})
        assert np.abs(model.similarity(QUERIES) - broken).max() > 1e-3


def test_feedback_adds_half_the_mean_of_the_first_documents():
    model = retriever(n_feedback=3).fit(X)
    tf_idf = TfidfTransformer(sublinear_tf=True).fit(X)
    documents, queries = (tf_idf.transform(Y).toarray() for Y in (X, QUERIES))
    plain = retriever().fit(X)
    first = plain.kneighbors(QUERIES, 3, return_distance=False)
    found, index = model.similarity(QUERIES), DocumentIndex(plain, X)
    for share in (0.5, 1.0):
        expanded = unit(queries + share * documents[first].mean(axis=1))
        expanded[3] = 0  # the empty query
        differences = np.abs(found - index.match(sp.csr_array(expanded)))
        assert (differences.max() < 1e-12) == (share == 0.5)
    all_of_them, more = (retriever(n_feedback=n).fit(X).similarity(QUERIES) for n in (30, 100))
    np.testing.assert_array_equal(more, all_of_them)


def test_neighbours_are_the_most_similar_documents_also_in_chunks(model, monkeypatch):
    similarity = model.similarity(QUERIES)
    distances, documents = model.kneighbors(QUERIES, 4)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(documents, order)
    np.testing.assert_allclose(distances, 1 - np.take_along_axis(similarity, order, axis=1))
    assert (np.diff(distances, axis=1) >= 0).all()
    np.testing.assert_array_equal(model.kneighbors(QUERIES, 4, return_distance=False), order)
    # One query at a time, and chunks of two.
    alone = [model.similarity(QUERIES[[i]])[0] for i in range(QUERIES.shape[0])]
    np.testing.assert_allclose(model.similarity(QUERIES), alone, atol=1e-12)
    monkeypatch.setattr(retrieval, "get_chunk_n_rows", lambda **options: 2)
    np.testing.assert_array_equal(model.kneighbors(QUERIES, 4, return_distance=False), order)
    np.testing.assert_allclose(model.kneighbors(QUERIES, 4)[0], distances)


def test_tables_of_any_kind_and_threads(model):
    expected = model.similarity(QUERIES)
    assert not expected[3].any()  # of the empty query
    assert not expected[:, 3].any()  # and document
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(20)])
    for other in (X.toarray(), sp.csc_matrix(X), Dyads(X)):
        same = retriever(n_jobs=2).fit(other).similarity(QUERIES)
        np.testing.assert_allclose(same, expected)
    named = retriever().fit(frame)
    queries = pd.DataFrame(QUERIES.toarray(), columns=frame.columns)
    np.testing.assert_allclose(named.similarity(queries), expected)
    assert list(named.feature_names_in_) == list(frame.columns)
    single = retriever().fit(X.astype(np.float32)).similarity(QUERIES.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=0.02)


def test_bad_input(model):
    for call, message in (
        (lambda: retriever(aspect_weight=1.5).fit(X), "The 'aspect_weight' parameter"),
        (lambda: retriever(smoothing_weight=-0.1).fit(X), "The 'smoothing_weight' param"),
        (lambda: retriever(n_feedback=-1).fit(X), "The 'n_feedback' parameter"),
        (lambda: retriever(n_components=[]).fit(X), "n_components is empty"),
        (lambda: retriever(n_components=[3, 0]).fit(X), "n_components == 0"),
        (lambda: retriever(estimator="aspects").fit(X), "The 'estimator' parameter"),
        (lambda: retriever(vectorizer="count").fit(X), "The 'vectorizer' parameter"),
        (lambda: retriever().kneighbors(QUERIES), "is not fitted yet"),
        (lambda: model.similarity(QUERIES[:, :5]), "20 features"),
        (lambda: model.kneighbors(QUERIES, 31), "n_neighbors == 31, must be <= 30"),
        (lambda: model.similarity(-QUERIES), "Negative"),
        (lambda: retriever().fit(TEXTS), r"give AspectRetriever\(vectorizer=CountVectorizer"),
        (lambda: retriever().fit(TEXTS[0]), "X holds texts"),
        (lambda: of_texts().fit(X), r"table of shape \(30, 20\), but vectorizer=Count"),
        (lambda: of_texts().fit(TEXTS[0]), "Iterable over raw text"),
        (lambda: of_texts().fit(TEXTS).similarity(X), "takes texts"),
    ):
        refused(message, call)
    failed = retriever()
    refused("0 token", failed.fit, np.zeros((5, 4)))
    assert not hasattr(failed, "n_features_in_")


def test_columns_called_by_numbers_are_compared():
    frame = pd.DataFrame(X.toarray(), columns=np.arange(20) + 1900)
    model = AspectRetriever(2, **FAST).fit(frame)
    assert model.column_names_in_.tolist() == frame.columns.tolist()
    refused("feature names should match", model.kneighbors, frame.iloc[:, ::-1])
    assert not hasattr(model.fit(X), "column_names_in_")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("short_starts")
def test_check_estimator():
    check_estimator(retriever(2, n_feedback=2, estimator=AspectModel(beta=0.95, max_iter=5)))


TEXTS = ["tea and milk", "milk and honey", "tea and honey", "a ball of wool", "wool of sheep"]


def of_texts(**params):
    return retriever(2, vectorizer=CountVectorizer(), **params)


def test_texts_are_counted_and_a_warning_lists_queries_without_any_known_word():
    vectorizer = CountVectorizer()
    model, expected = of_texts().fit(TEXTS), retriever(2).fit(vectorizer.fit_transform(TEXTS))
    queries = ["milk", "Sheep and a ball"]
    similarity = expected.similarity(vectorizer.transform(queries))
    np.testing.assert_array_equal(model.similarity(queries), similarity)
    first = model.kneighbors(pd.Series(queries), 1, return_distance=False)[:, 0]
    assert first[0] in (0, 1)  # those with milk, and of a ball or a sheep
    assert first[1] in (3, 4)
    assert not hasattr(model.vectorizer, "vocabulary_")
    set_names(model, ["dairy", "wool"]).set_params(vectorizer=None).fit(X)
    assert vars(model).keys() == vars(retriever(2).fit(X)).keys()  # nothing of the first fit
    model = of_texts().fit(TEXTS)
    with pytest.warns(UserWarning, match=r"^2 of 3 queries have no known word.*: at 0, 2\.$"):
        distances, _ = model.kneighbors(["", "milk", "zebra"])
    assert (distances[[0, 2]] == 1).all()
    with pytest.warns(UserWarning, match=r"^7 of 7 .*: at 0, 1, 2, 3, 4, \.\.\.\.$"):
        model.similarity([""] * 7)


def test_a_warning_for_tf_idf_instead_of_counts():
    tf_idf, model = TfidfVectorizer().fit_transform(TEXTS), retriever(2)
    for method in (model.fit, model.similarity, model.kneighbors):
        with pytest.warns(UserWarning, match="not whole numbers, such as tf-idf") as caught:
            method(tf_idf)
        files = [w.filename for w in caught if "such as tf-idf" in str(w.message)]
        assert files == [__file__]
    with warnings.catch_warnings(action="error", category=UserWarning):
        warnings.filterwarnings("ignore", "EM did not")
        of_texts().fit(TEXTS).similarity(["milk"])
