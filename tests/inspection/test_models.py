"""Models inside of pipelines, searches and meta-estimators, and mixtures in place of a model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skcooc
from skcooc import inspection, plotting
from skcooc.inspection import Mixtures, compare_shares, describe, representative_rows, topic_shares
from skcooc.inspection.models import unwrap
from skcooc.model_selection import ComponentSearchCV, TemperatureSearchCV

TEXTS = ["tea cup tea", "cup of tea", "goal ball", "ball ball goal", "tea of tea", "a goal ball"]
X = CountVectorizer().fit_transform(TEXTS).toarray()
WORDS = ["ball", "cup", "goal", "of", "tea"]
LABELS = [0, 0, 1, 1, 0, 1]
BY = {"group": ["a", "b", "b"] * 2}
pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")


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
        piped(TemperatureSearchCV(aspects(), cv=2)),
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
    with pytest.raises(ValueError, match="model has 5 columns"):
        found.column_names(["a"])


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
    with pytest.raises(TypeError, match="RowMemory has no tree_, nor has the estimator inside: La"):
        unwrap(memory, "tree_")
    for given in (aspects(), piped(), beta(aspects(), "beta")):
        with pytest.raises(NotFittedError, match=type(given).__name__):
            unwrap(given, "components_")
    unmatched = piped(LogisticRegression(), aspects()).fit(TEXTS, LABELS)
    without_model = GridSearchCV(aspects(), {"beta": [0.9]}, cv=2, refit=False).fit(X)
    for given, message in (
        (None, "NoneType has no components_"),
        (X, "ndarray has no components_"),
        (LogisticRegression().fit(X, LABELS), "LogisticRegression has no components_"),
        (unmatched, r"no components_, but its step 'aspectmodel' has: give .*\[:2\]\."),
        (without_model, "GridSearchCV has no components_, for it was fitted with refit=False"),
    ):
        with pytest.raises(TypeError, match=message):
            unwrap(given, "components_")


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


@pytest.fixture(scope="module")
def fitted():
    return aspects().fit(X)


def test_mixtures_have_the_shares_of_the_model(fitted):
    mixtures = Mixtures(fitted.embedding_, X.sum(axis=1), names=inspection.name_topics(fitted))
    for function in (topic_shares, compare_shares):
        tables = (function(m, BY, n_resamples=20, random_state=0) for m in (mixtures, fitted))
        pd.testing.assert_frame_equal(*tables)
    table = topic_shares(Mixtures(fitted.embedding_), BY, n_resamples=1)  # rows of equal weights
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
    shares = plotting.SharesDisplay.from_estimator(mixtures, BY, topics=[1], n_resamples=5)
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
        with pytest.raises(ValueError, match=message):
            Mixtures(*arguments, names=names)
    both = piped(skcooc.SymmetricClustering(2, 2, hard=True, random_state=0)).fit(TEXTS)
    display = plotting.AssociationDisplay.from_estimator(both, TEXTS)
    assert sorted(word for words in display.columns.words for word in words) == WORDS
    np.testing.assert_array_equal(np.sort(display.pairs[2]), np.sort(X[X > 0]))
    search = piped(beta(aspects(), "beta").set_params(param_grid={"beta": [0.8, 0.9]})).fit(TEXTS)
    assert plotting.PerplexityDisplay.from_search(search).over == "beta"
    alone = piped(skcooc.AspectModel(2, max_iter=5, random_state=0)).fit(TEXTS)
    assert plotting.PerplexityDisplay.from_estimator(alone).over == "beta"
