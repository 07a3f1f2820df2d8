"""What is inside of pipelines, searches and other estimators around a model, and what is not."""

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    MixtureFeatures,
    RowMemory,
    SymmetricClustering,
)
from skcooc.inspection import (
    characteristic_features,
    describe,
    export_dict,
    export_text,
    name_topics,
    node_top_features,
    representative_rows,
    to_linkage,
    to_pyldavis,
    top_features,
    topic_stability,
)
from skcooc.inspection.unwrapping import unwrap
from skcooc.model_selection import ComponentSearchCV, TemperatureSearchCV
from skcooc.plotting import (
    AbstractionDisplay,
    AssociationDisplay,
    HierarchyDisplay,
    PerplexityDisplay,
    SplitsDisplay,
)

TEXTS = ["tea cup tea", "cup of tea", "goal ball", "ball ball goal", "tea of tea", "a goal ball"]
X = CountVectorizer().fit_transform(TEXTS).toarray()
WORDS = ["ball", "cup", "goal", "of", "tea"]
LABELS = [0, 0, 1, 1, 0, 1]
pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")


def aspects():
    return AspectModel(2, beta=0.9, max_iter=5, random_state=0)


def piped(model=None, *between):
    return make_pipeline(CountVectorizer(), *between, aspects() if model is None else model)


def beta(estimator, name):
    return GridSearchCV(estimator, {name: [0.9]}, cv=2)


@pytest.mark.parametrize(
    "given",
    [
        piped(),
        piped(RowMemory(aspects(), concentration=1.0, discount=0.5, smoothing=0.1)),
        piped(MixtureFeatures(aspects())),
        piped(make_pipeline("passthrough", TfidfTransformer(use_idf=False), aspects())),
        beta(piped(), "aspectmodel__beta"),
        piped(beta(aspects(), "beta")),
        piped(beta(make_pipeline(aspects()), "aspectmodel__beta")),
        piped(ComponentSearchCV(aspects(), [2], cv=2, random_state=0)),
        piped(TemperatureSearchCV(aspects(), cv=2)),
    ],
)
def test_what_is_inside(given):
    found = unwrap(given.fit(TEXTS), "components_")
    assert found.column_names().tolist() == WORDS
    assert found.column_names(["a", "b", "c", "d", "e"]).tolist() == ["a", "b", "c", "d", "e"]
    assert found.model.components_.shape == (2, 5)
    inner = found.table(TEXTS).toarray()
    for step in found.before:
        assert hasattr(step, "transform")
    np.testing.assert_array_equal(inner > 0, X > 0)
    assert found.model.transform(inner).shape == (6, 2)


def test_what_is_asked_decides():
    memory = RowMemory(
        AsymmetricClustering(2, hard=True, random_state=0), concentration=1, discount=0, smoothing=0
    ).fit(X)
    assert unwrap(memory, "components_").model is memory
    assert unwrap(memory, "components_", "labels_").model is memory.estimator_
    mean = AveragedModels(aspects(), 2, random_state=0).fit(X)
    assert unwrap(mean, "components_").model is mean
    with pytest.raises(TypeError, match=r"AspectModel has, which is its estimators_\[0\]"):
        unwrap(mean, "history_")


def test_names_where_steps_have_none():
    same = FunctionTransformer()
    found = unwrap(make_pipeline(same, aspects()).fit(X), "components_")
    assert found.column_names().tolist() == ["x0", "x1", "x2", "x3", "x4"]
    with pytest.raises(ValueError, match="model has 5 columns"):
        found.column_names(["a"])


@pytest.mark.parametrize("given", [aspects(), piped(), beta(aspects(), "beta")])
def test_what_is_not_fitted(given):
    with pytest.raises(NotFittedError, match=type(given).__name__):
        unwrap(given, "components_")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: None, "NoneType has no components_"),
        (lambda: X, "ndarray has no components_"),
        (lambda: LogisticRegression().fit(X, LABELS), "LogisticRegression has no components_"),
        (
            lambda: piped(LogisticRegression(), aspects()).fit(TEXTS, LABELS),
            r"Pipeline has no components_, but its step 'aspectmodel' has: give .* \[:2\]\.",
        ),
        (
            lambda: GridSearchCV(aspects(), {"beta": [0.9]}, cv=2, refit=False).fit(X),
            "GridSearchCV has no components_, for it was fitted with refit=False",
        ),
    ],
)
def test_what_has_nothing_inside(given, message):
    with pytest.raises(TypeError, match=message):
        unwrap(given(), "components_")


def test_what_none_of_them_has():
    memory = RowMemory(LatentDirichletAllocation(2, max_iter=1)).fit(X)
    message = "RowMemory has no tree_, nor has what is inside: LatentDirichletAllocation"
    with pytest.raises(TypeError, match=message):
        unwrap(memory, "tree_")


@pytest.fixture(scope="module")
def tree():
    model = ClusterAbstraction(2, tree="annealed", beta=0.9, max_iter=20, random_state=0)
    return piped(model).fit(TEXTS)


@pytest.mark.parametrize(
    "function",
    [
        top_features,
        node_top_features,
        characteristic_features,
        name_topics,
        representative_rows,
        export_text,
        export_dict,
        lambda *given: to_linkage(given[0]).tolist(),
        lambda *given: describe(*given).to_dict("records"),
        lambda *given: HierarchyDisplay.from_estimator(*given).features,
        lambda *given: SplitsDisplay.from_estimator(*given).labels,
        lambda model, *names: AbstractionDisplay.from_estimator(model, "tea", *names).name,
    ],
)
def test_all_functions_look_inside(function, tree):
    names = [] if function is representative_rows else [WORDS]
    assert function(tree) == function(tree[-1], *names)


def test_functions_of_tables_take_what_the_pipeline_takes(tree):
    shown, expected = to_pyldavis(tree, TEXTS), to_pyldavis(tree[-1], X, WORDS)
    for name in expected:
        np.testing.assert_array_equal(shown[name], expected[name])
    both = piped(SymmetricClustering(2, 2, hard=True, random_state=0)).fit(TEXTS)
    display = AssociationDisplay.from_estimator(both, TEXTS)
    assert sorted(word for words in display.columns.words for word in words) == WORDS
    np.testing.assert_array_equal(np.sort(display.pairs[2]), np.sort(X[X > 0]))


def test_the_starts_of_a_pipeline_differ():
    model = AspectModel(2, beta=0.9, max_iter=2, tol=0)
    found = topic_stability(piped(model), TEXTS, n_runs=2, random_state=0)
    assert top_features(found.model) != []
    assert found.affinities.max() < 1
    alone = topic_stability(model, X, n_runs=2, random_state=0)
    np.testing.assert_array_equal(alone.affinities, found.affinities)


def test_perplexities_of_what_is_inside():
    search = piped(beta(aspects(), "beta").set_params(param_grid={"beta": [0.8, 0.9]})).fit(TEXTS)
    assert PerplexityDisplay.from_search(search).over == "beta"
    alone = piped(AspectModel(2, max_iter=5, random_state=0)).fit(TEXTS)
    assert PerplexityDisplay.from_estimator(alone).over == "beta"
