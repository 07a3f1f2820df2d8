"""Merged topics against sums, written out, and models without some topics."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import AspectModel, AsymmetricClustering, AveragedModels, Dyads, SymmetricClustering
from skcooc.equations.aspects import Aspects, Params, PredictiveAspects
from skcooc.inspection import describe, drop_topics, merge_topics, set_names
from tests.tables import planted

X = planted(n_rows=60, n_columns=40, n_observations=3000).X.toarray()[:50]
NEW = planted(n_rows=10, n_columns=40, n_observations=600).X.toarray()
GROUPS = [[2, 0]]
pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components")
MODELS = [
    AspectModel(3, beta=0.9, leave_one_out=False, max_iter=30, random_state=0),
    AsymmetricClustering(3, hard=True, max_iter=10, random_state=0),
    AsymmetricClustering(3, beta=0.5, proportions="estimated", max_iter=10, random_state=0),
    AsymmetricClustering(3, beta=2.0, object_weights="equal", max_iter=10, random_state=0),
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: repr(model)[:60])
def model(request):
    return clone(request.param).fit(X)


def merged_literally(model, groups):
    theta, q = model.embedding_, model.components_
    n = X.sum(axis=1) / X.sum()
    if getattr(model, "object_weights", None) == "equal":
        n = np.full(len(X), 1 / len(X))
    P = np.zeros(X.shape)
    for group in groups:
        mass = {k: sum(n[i] * theta[i, k] for i in range(len(X))) for k in group}
        for i, j in np.ndindex(X.shape):
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
    assert np.isfinite([merged.score(NEW), merged.perplexity(Dyads(X)), merged.bic(NEW)]).all()
    assert merged.component_distribution_.shape == merged.get_feature_names_out().shape == (2,)
    assert not hasattr(merged, "history_")
    assert len(describe(merged)) == 2
    if hasattr(model, "labels_"):
        assert set(merged.labels_) <= set(range(2))
    again = clone(merged).set_params(warm_start=True)
    merged.set_params(warm_start=True).fit(X)
    assert merged.components_.shape == again.fit(X).components_.shape == (2, 40)


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
    double.components_, double.embedding_ = q, theta
    one = merge_topics(double, [[0, 3]])
    np.testing.assert_allclose(one.embedding_ @ one.components_, theta @ q, rtol=1e-6)
    np.testing.assert_allclose(one.components_, model.components_, rtol=1e-6)
    assert one.perplexity(Dyads(X)) == pytest.approx(model.perplexity(Dyads(X)))
    assert merge_topics(double, [[1, 2]]).perplexity(Dyads(X)) > model.perplexity(Dyads(X))


def test_names_go_with_topics_that_remain_and_some_are_not_merged():
    model = set_names(clone(MODELS[0]).fit(X), list("abc"))
    merged = merge_topics(model, [[0, 2]])
    assert merged.component_names_ == {1: "b"}
    assert drop_topics(model, [0, 1]).get_feature_names_out().tolist() == ["c"]
    inside = make_pipeline(FunctionTransformer(), model)
    assert merge_topics(inside, [[0, 2]]).component_names_ == merged.component_names_
    model = clone(MODELS[0]).set_params(max_iter=1).fit(X)
    for function, topics, message in (
        (merge_topics, [0, 1], r"should be groups of topics, such as \[\[0, 1\]\]"),
        (merge_topics, [["a", "b"]], "no topic a: topics are 0 to 2"),
        (drop_topics, 1, r"should be numbers of topics, such as \[1\]"),
        (drop_topics, [0.5], "no topic 0.5"),
        (merge_topics, [[0, 3]], "no topic 3: topics are 0 to 2"),
        (merge_topics, [[0, 1], [1, 2]], "none of them twice"),
        (merge_topics, [[]], "none of them twice"),
        (drop_topics, [-1], "no topic -1"),
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
        with pytest.raises(TypeError, match="cannot be merged or left out"):
            merge_topics(model.fit(X), [[0, 1]])


def test_leave_one_out_equations_are_merged_as_plain_ones():
    params = Params(np.random.default_rng(0).dirichlet(np.ones(6), size=3).T, np.full(3, 1 / 3))
    mass, shares = np.array([0.2, 0.3, 0.5]), np.array([[1.0, 0], [0, 1], [1, 0]])
    plain, expected = Aspects(3).merge(params, mass, shares)
    model, found = PredictiveAspects(Aspects(3), 0.3).merge(params, mass, shares)
    assert (model.aspects, model.row_prior) == (plain, 0.3) == (Aspects(2), 0.3)
    for ours, its in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, its)
