import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skcooc
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    Dyads,
    SymmetricClustering,
    inspection,
    plotting,
)
from skcooc.equations.aspects import Aspects, Params, PredictiveAspects
from skcooc.inspection import (
    Mixtures,
    compare_shares,
    describe,
    drop_topics,
    merge_topics,
    representative_rows,
    set_names,
    topic_shares,
)
from skcooc.inspection.models import unwrap
from skcooc.model_selection import ComponentSearchCV
from tests.tables import planted, refused

TEXTS = ["tea cup tea", "cup of tea", "goal ball", "ball ball goal", "tea of tea", "a goal ball"]
X = CountVectorizer().fit_transform(TEXTS).toarray()
WORDS = ["ball", "cup", "goal", "of", "tea"]
LABELS = [0, 0, 1, 1, 0, 1]
BY = {"group": ["a", "b", "b"] * 2}


def aspects():
    return skcooc.AspectModel(2, beta=0.9, max_iter=5, random_state=0)


def piped(model=None, *between):
    return make_pipeline(CountVectorizer(), *between, aspects() if model is None else model)


def beta(estimator, name):
    return GridSearchCV(estimator, {name: [0.9]}, cv=2)


def test_the_model_inside():
    for given in (
        piped(skcooc.RowMemory(aspects(), concentration=1.0, discount=0.5, smoothing=0.1)),
        piped(skcooc.MixtureFeatures(aspects())),
        piped(make_pipeline("passthrough", TfidfTransformer(use_idf=False), aspects())),
        beta(piped(), "aspectmodel__beta"),
        piped(beta(make_pipeline(aspects()), "aspectmodel__beta")),
        piped(ComponentSearchCV(aspects(), [2], cv=2, random_state=0)),
    ):
        found = unwrap(given.fit(TEXTS), "components_")
        assert found.column_names().tolist() == WORDS
        assert found.column_names(list("abcde")).tolist() == list("abcde")
        assert found.model.components_.shape == (2, 5)
        inner = found.table(TEXTS).toarray()
        np.testing.assert_array_equal(inner > 0, X > 0)
        assert found.model.transform(inner).shape == (6, 2)
    found = unwrap(make_pipeline(FunctionTransformer(), aspects()).fit(X), "components_")
    assert found.column_names().tolist() == ["x0", "x1", "x2", "x3", "x4"]
    refused("model has 5 columns", found.column_names, ["a"])


def test_the_outermost_estimator_with_all_attributes_or_none():
    clusters = skcooc.AsymmetricClustering(2, hard=True, random_state=0)
    memory = skcooc.RowMemory(clusters, concentration=1, discount=0, smoothing=0).fit(X)
    assert unwrap(memory, "components_").model is memory
    assert unwrap(memory, "components_", "labels_").model is memory.estimator_
    mean = skcooc.AveragedModels(aspects(), 2, random_state=0).fit(X)
    assert unwrap(mean, "components_").model is mean
    with pytest.raises(TypeError, match=r"AspectModel has, which is its estimators_\[0\]"):
        unwrap(mean, "history_")
    memory = skcooc.RowMemory(LatentDirichletAllocation(2, max_iter=1)).fit(X)
    with pytest.raises(TypeError, match="nor has the estimator inside: La"):
        unwrap(memory, "tree_")
    for given in (aspects(), piped(), beta(aspects(), "beta")):
        refused(type(given).__name__, unwrap, given, "components_", error=NotFittedError)
    unmatched = piped(LogisticRegression(), aspects()).fit(TEXTS, LABELS)
    without_model = GridSearchCV(aspects(), {"beta": [0.9]}, cv=2, refit=False).fit(X)
    report = skcooc.fit_texts(TEXTS, n_components=2, beta=0.9, random_state=0)
    for given, message in (
        (None, "NoneType has no components_"),
        (X, "ndarray has no components_"),
        (LogisticRegression().fit(X, LABELS), "LogisticRegression has no components_"),
        (report, "TopicReport has no components_, but its pipeline has: give report.pipeline"),
        (unmatched, r"no components_, but its step 'aspectmodel' has: give .*\[:2\]\."),
        (without_model, "GridSearchCV has no components_, for it was fitted with refit=False"),
    ):
        refused(message, unwrap, given, "components_", error=TypeError)


@pytest.fixture(scope="module")
def tree():
    model = skcooc.ClusterAbstraction(2, tree="annealed", beta=0.9, max_iter=20, random_state=0)
    return piped(model).fit(TEXTS)


def test_all_functions_use_the_model_inside(tree):
    for function in (
        inspection.top_features,
        inspection.characteristic_features,
        inspection.name_topics,
        inspection.export_text,
        inspection.export_dict,
        lambda *given: inspection.to_linkage(given[0]).tolist(),
        lambda *given: describe(*given).to_dict("records"),
        lambda *given: plotting.HierarchyDisplay.from_estimator(*given).features,
        lambda *given: plotting.SplitsDisplay.from_estimator(*given).labels,
        lambda model, *names: plotting.AbstractionDisplay.from_estimator(model, "tea", *names).name,
    ):
        assert function(tree) == function(tree[-1], WORDS)
    assert representative_rows(tree) == representative_rows(tree[-1])
    shown, given = inspection.to_pyldavis(tree, TEXTS), inspection.to_pyldavis(tree[-1], X, WORDS)
    for name in given:
        np.testing.assert_array_equal(shown[name], given[name])
    refused("X is a table, but CountVectorizer", inspection.explore, tree, X, error=TypeError)


@pytest.fixture(scope="module")
def fitted():
    return aspects().fit(X)


def test_mixtures_have_the_shares_of_the_model(fitted):
    mixtures = Mixtures(fitted.embedding_, X.sum(axis=1), names=inspection.name_topics(fitted))
    for function, options in ((topic_shares, {}), (compare_shares, {"random_state": 0})):
        found = function(mixtures, BY, **options)
        with pytest.warns(UserWarning, match="^Without X, the share"):
            pd.testing.assert_frame_equal(found, function(fitted, BY, **options))
    table = topic_shares(Mixtures(fitted.embedding_), BY)  # rows of equal weights
    of_b = table[table["group"] == "b"]
    expected = fitted.embedding_[np.array(BY["group"]) == "b"].mean(axis=0)
    np.testing.assert_allclose(of_b["share"], expected, rtol=1e-6)
    assert of_b["topic"].tolist() == ["topic 0", "topic 1"]


def test_displays_and_tables_of_mixtures_and_pipelines(fitted):
    mixtures = Mixtures(pd.DataFrame(fitted.embedding_), X.sum(axis=1), names={1: "one"})
    display = plotting.StructureDisplay.from_estimator(mixtures, BY)
    expected = plotting.StructureDisplay.from_estimator(fitted, BY)
    np.testing.assert_array_equal(display.bars.mixtures, expected.bars.mixtures)
    assert describe(mixtures)["name"].tolist() == display.names == ["topic 0", "one"]
    shares = plotting.SharesDisplay.from_estimator(mixtures, BY, topics=[1])
    assert shares.names == ["one"]
    assert representative_rows(mixtures) == representative_rows(fitted)
    for arguments, names, message in (
        (([[0.5, 0.6]],), None, "rows that sum to one"),
        (([[1.5, -0.5]],), None, "Negative values"),
        (([[0.5, 0.5]],), ["one"], "names has 1 entries, but there are 2 topics"),
        (([[0.5, 0.5]], [1, 2]), None, r"shape \(2,\), but there are 1 mixtures"),
        (([[0.5, 0.5]], [0]), None, "not all zero"),
        (([[0.5, 0.5]], [np.nan]), None, "should be finite"),
    ):
        refused(message, Mixtures, *arguments, names=names)
    refused("like has 2 topics, but mixtures have 3", Mixtures, [[0.5, 0.5, 0]], like=fitted)
    # Topics of new rows in which the other topic is the largest keep the colours of the model.
    largest = int(np.argmax(X.sum(axis=1) @ fitted.embedding_))
    others = np.eye(2)[[1 - largest, 1 - largest, largest]]
    for display in (plotting.StructureDisplay, plotting.SharesDisplay):
        for like, first in ((None, 0), (piped(fitted), 1)):
            shown = display.from_estimator(Mixtures(others, like=like), list("abb"))
            assert list(shown.ranks) == [first, 1 - first]
    both = piped(skcooc.SymmetricClustering(2, 2, hard=True, random_state=0)).fit(TEXTS)
    display = plotting.AssociationDisplay.from_estimator(both, TEXTS)
    assert sorted(word for words in display.columns.words for word in words) == WORDS
    np.testing.assert_array_equal(np.sort(display.pairs[2]), np.sort(X[X > 0]))
    search = piped(beta(aspects(), "beta").set_params(param_grid={"beta": [0.8, 0.9]})).fit(TEXTS)
    assert plotting.PerplexityDisplay.from_search(search).over == "beta"
    alone = piped(skcooc.AspectModel(2, max_iter=5, random_state=0)).fit(TEXTS)
    assert plotting.PerplexityDisplay.from_estimator(alone).over == "beta"


TABLE = planted(n_rows=60, n_columns=40, n_tokens=3000).X.toarray().astype(float)[:50]
NEW = planted(n_rows=10, n_columns=40, n_tokens=600).X.toarray().astype(float)
GROUPS = [[2, 0]]
MODELS = [
    AspectModel(3, beta=0.9, leave_one_out=False, max_iter=30, random_state=0),
    AsymmetricClustering(3, hard=True, max_iter=10, random_state=0),
    AsymmetricClustering(3, beta=0.5, proportions="estimated", max_iter=10, random_state=0),
    AsymmetricClustering(3, beta=2.0, object_weights="equal", max_iter=10, random_state=0),
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: repr(model)[:60])
def model(request):
    return clone(request.param).fit(TABLE)


def merged_literally(model, groups):
    theta, q = model.embedding_, model.components_
    n = TABLE.sum(axis=1) / TABLE.sum()
    powers = {"counts": 1, "sqrt": 0.5, "equal": 0}
    n = n ** powers[getattr(model, "object_weights_", "counts")]
    P = np.zeros(TABLE.shape)
    for group in groups:
        mass = {k: sum(n[i] * theta[i, k] for i in range(len(TABLE))) for k in group}
        for i, j in np.ndindex(TABLE.shape):
            q_j = sum(mass[k] * q[k, j] for k in group) / sum(mass.values())
            P[i, j] += sum(theta[i, k] for k in group) * q_j
    return P


def test_predictions_of_merged_topics_are_the_sums(model):
    before = pickle.dumps(model)
    merged = merge_topics(model, GROUPS)
    expected = merged_literally(model, [[0, 2], [1]])
    np.testing.assert_allclose(merged.embedding_ @ merged.components_, expected, rtol=1e-6)
    np.testing.assert_allclose(merged.weights_.sum(), 1)
    assert pickle.dumps(model) == before
    wrong = model.components_[[0, 2]].mean(axis=0)  # a broken twin: members count alike
    assert not np.allclose(merged.components_[0], wrong, rtol=1e-6)
    smaller = drop_topics(model, [1])
    np.testing.assert_allclose(smaller.weights_.sum(), 1, rtol=1e-6)
    left = model.embedding_[:, [0, 2]]
    some = left.sum(axis=1) > 0
    expected = left[some] / left[some].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(smaller.embedding_[some], expected, rtol=1e-6)
    assert (smaller.embedding_[~some] == smaller.weights_).all()
    np.testing.assert_allclose(smaller.components_, model.components_[[0, 2]], rtol=1e-6)
    assert smaller.transform(NEW).shape == (10, 2)


def test_a_merged_model_is_a_fitted_one(model):
    merged = pickle.loads(pickle.dumps(merge_topics(model, GROUPS)))
    number = "n_clusters" if hasattr(model, "n_clusters") else "n_components"
    assert getattr(merged, number) == len(merged.components_) == 2
    assert merged.transform(NEW).shape == (10, 2)
    np.testing.assert_allclose(merged.transform(NEW).sum(axis=1), 1)
    assert np.isfinite([merged.score(NEW), merged.perplexity(Dyads(TABLE)), merged.bic(NEW)]).all()
    assert merged.component_distribution_.shape == merged.get_feature_names_out().shape == (2,)
    assert not hasattr(merged, "history_")
    assert len(describe(merged)) == 2
    if hasattr(model, "labels_"):
        assert set(merged.labels_) <= set(range(2))
    again = clone(merged).set_params(warm_start=True)
    merged.set_params(warm_start=True).fit(TABLE)
    assert merged.components_.shape == again.fit(TABLE).components_.shape == (2, 40)


def test_merging_equal_topics_changes_no_prediction(model):
    double = merge_topics(model, [])
    theta = np.hstack([model.embedding_, model.embedding_[:, :1] / 3])
    theta[:, 0] *= 2 / 3
    q = np.vstack([model.components_, model.components_[:1]])
    params = double._state.params
    weights = np.append(params.weights, params.weights[0] / 2)
    double._state = double._state._replace(
        params=params._replace(components=q.T, weights=weights / weights.sum()), rows=theta
    )
    if hasattr(params, "prior"):
        prior = double._state.params.weights
        double._state = double._state._replace(params=double._state.params._replace(prior=prior))
    double.components_, double.embedding_ = q, theta
    one = merge_topics(double, [[0, 3]])
    np.testing.assert_allclose(one.embedding_ @ one.components_, theta @ q, rtol=1e-6)
    np.testing.assert_allclose(one.components_, model.components_, rtol=1e-6)
    assert one.perplexity(Dyads(TABLE)) == pytest.approx(model.perplexity(Dyads(TABLE)))
    assert merge_topics(double, [[1, 2]]).perplexity(Dyads(TABLE)) > model.perplexity(Dyads(TABLE))


def test_names_go_with_topics_that_remain_and_some_are_not_merged():
    model = set_names(clone(MODELS[0]).fit(TABLE), list("abc"))
    merged = merge_topics(model, [[0, 2]])
    assert merged.component_names_ == {1: "b"}
    assert merge_topics(model, iter([[0, 2]])).component_names_ == {1: "b"}
    assert drop_topics(model, [0, 1]).get_feature_names_out().tolist() == ["c"]
    inside = make_pipeline(FunctionTransformer(), model)
    assert merge_topics(inside, [[0, 2]]).component_names_ == merged.component_names_
    model = clone(MODELS[0]).set_params(max_iter=1).fit(TABLE)
    for function, topics, message in (
        (merge_topics, [0, 1], r"should be groups of topics, such as \[\[0, 1\]\]"),
        (merge_topics, [["a", "b"]], "no topic a: topics are 0 to 2"),
        (drop_topics, 1, r"should be numbers of topics, such as \[1\]"),
        (drop_topics, [0.5], "no topic 0.5"),
        (merge_topics, [[0, 3]], "no topic 3: topics are 0 to 2"),
        (merge_topics, [[0, 1], [1, 2]], "nor name a topic twice"),
        (merge_topics, [[]], "nor name a topic twice"),
        (drop_topics, [-1], "no topic -1"),
        (drop_topics, np.array([True, False, False]), "Topics are given as a mask"),
        (merge_topics, [[True, False]], "Topics are given as a mask"),
        (drop_topics, range(3), "topics are all 3 topics of the model"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            function(model, topics)
    for model in (
        SymmetricClustering(3, 3, hard=True, random_state=0),
        AveragedModels(AspectModel(3, beta=0.9, max_iter=1), 2, random_state=0),
        AsymmetricClustering(3, axis="columns", beta=0.5, max_iter=1, random_state=0),
        AsymmetricClustering(3, leave_one_out=True, beta=0.5, max_iter=1, random_state=0),
    ):
        with pytest.raises(TypeError, match="merged or dropped"):
            merge_topics(model.fit(TABLE), [[0, 1]])


def test_leave_one_out_equations_are_merged_as_plain_ones():
    components, weights = np.random.default_rng(0).dirichlet(np.ones(6), 3).T, np.full(3, 1 / 3)
    params = Params(components, weights, weights)
    mass, shares = np.array([0.2, 0.3, 0.5]), np.array([[1.0, 0], [0, 1], [1, 0]])
    plain, expected = Aspects(3).merge(params, mass, shares)
    model, found = PredictiveAspects(Aspects(3), 0.3).merge(params, mass, shares)
    assert (model.aspects, model.row_prior) == (plain, 0.3) == (Aspects(2), 0.3)
    for ours, its in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, its)


def test_the_topics_of_a_classifier_have_the_names_of_its_classes():
    classifier = skcooc.AspectClassifier(cv=0, random_state=0).fit(X, LABELS)
    assert inspection.name_topics(classifier) == [str(c) for c in classifier.classes_]
    assert describe(classifier, WORDS).equals(describe(classifier.model_, WORDS))
