"""Numbers of parameters, counted by hand, and the information criteria that weigh them."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import skcooc
from skcooc import AspectModel, AsymmetricClustering, ClusterAbstraction, Dyads, SymmetricClustering
from skcooc.datasets import make_cooccurrences
from tests.tables import occupied, refused

TRUTH = make_cooccurrences(40, 30, n_components=3, n_tokens=4000, random_state=0)
X = occupied(TRUTH.X).astype(float)
N, M = X.shape
L = X.sum()
QUICK = {"beta": 0.9, "max_iter": 8, "tol": 1e-3, "random_state": 0}
ESTIMATED = {"proportions": "estimated"}
MARGIN = N - 1  # P(x)


def product(C, D):
    """Hofmann & Puzicha (1998), eq. (17)."""
    return (C * D - 1) + C * (N - 1) + D * (M - 1)


def fitted(model, X=X, **options):
    return model.set_params(**QUICK | options).fit(X)


pytestmark = pytest.mark.usefixtures("few_starts")
# Binary trees of three leaves have five nodes, and paths of 2, 3 and 3 nodes.
BY_HAND = [
    (AspectModel(3), (N + M - 1) * 3 - 1),  # Hofmann & Puzicha (1998), section 2.1
    (AspectModel(3, leave_one_out=True), (N + M - 1) * 3 - 1),
    (skcooc.ProductSpaceMixture(3, 4), product(3, 4)),
    (AsymmetricClustering(3), MARGIN + 3 * (M - 1) + 2),
    (AsymmetricClustering(3, proportions="uniform"), MARGIN + 3 * (M - 1)),
    (AsymmetricClustering(3, hard=True), MARGIN + 3 * (M - 1)),
    (AsymmetricClustering(3, axis="columns"), (M - 1) + 3 * (N - 1)),
    (AsymmetricClustering(3, axis="columns", **ESTIMATED), (M - 1) + 3 * (N - 1) + 2),
    (SymmetricClustering(3, 4), MARGIN + (M - 1) + 2 * 3),
    (SymmetricClustering(3, 3, hard=True), MARGIN + (M - 1) + 2 * 2),
    (SymmetricClustering(3, 4, **ESTIMATED), MARGIN + (M - 1) + 2 * 3 + 2 + 3),
    (ClusterAbstraction(3, abstraction="constant"), MARGIN + 5 * (M - 1)),
    (ClusterAbstraction(3, **ESTIMATED), MARGIN + 5 * (M - 1) + (1 + 2 + 2) + 2),
    (ClusterAbstraction(3, abstraction="row"), MARGIN + 5 * (M - 1) + N * (1 + 2 + 2)),
]
ONE = [
    AspectModel(1),
    skcooc.ProductSpaceMixture(1, 1),
    AsymmetricClustering(1, object_weights="counts"),
    AsymmetricClustering(1, axis="columns"),
    SymmetricClustering(1, 1),
    ClusterAbstraction(1),
    skcooc.ClusteringProjection(1, 1),
]


def test_parameters_are_those_counted_by_hand_and_of_one_component_those_of_the_margins():
    for model, by_hand in BY_HAND:
        assert (model, fitted(model).n_parameters_) == (model, by_hand)
    given, groups, guided = np.ones((1, M)), np.arange(N) % 4, {"n_components": 3, **QUICK}
    for known, n_topics, n_factors in (({}, 3, 3), ({"fixed_components": given}, 2, 4)):
        model = skcooc.GuidedAspectModel(**guided, **known)
        free = MARGIN + n_topics * (M - 1) + N * 2
        assert model.fit(X).n_parameters_ == free
        model.set_params(group_effects="topics").fit(X, groups=groups)
        assert model.n_parameters_ == free
        model.set_params(group_effects="both").fit(X, groups=groups)
        assert model.n_parameters_ == free + n_factors * (M - 1)
    for n_clusters in (4, None):
        model = fitted(skcooc.ClusteringProjection(3, n_clusters))
        C = model.n_clusters_
        assert (n_clusters or N) >= C
        assert model.n_parameters_ == MARGIN + 3 * (M - 1) + C * 2 + C - 1
    rows, columns = X.sum(axis=1), X.sum(axis=0)
    independent = sum(m @ np.log(m / L) for m in (rows[rows > 0], columns[columns > 0]))
    for model in ONE:
        fitted(model, smoothing=0.0)
        assert (model, model.n_parameters_) == (model, (N - 1) + (M - 1))
        assert model.aic(Dyads(X)) == pytest.approx(2 * (N + M - 2) - 2 * independent)


def literal(model, n, mixtures, n_parameters):
    """Both criteria, observation by observation."""
    P = (1 - model.smoothing_) * mixtures @ model.components_ + model.smoothing_ * model.unigram_
    shares, total = n.sum(axis=1) / n.sum(), 0.0
    for i, j in zip(*n.nonzero(), strict=True):
        total += n[i, j] * (np.log(shares[i]) + np.log(P[i, j]))
    return 2 * n_parameters - 2 * total, n_parameters * np.log(n.sum()) - 2 * total


def criteria(model, X):
    return model.aic(X), model.bic(X)


def test_criteria_are_those_of_pairs_of_rows_and_columns():
    model, n = fitted(AspectModel(3), smoothing=0.05), X.toarray()
    known = literal(model, n, model.embedding_, model.n_parameters_)
    assert criteria(model, Dyads(X)) == pytest.approx(known)
    of_rows = {"mixtures": model.transform(X[:9]), "n_parameters": 3 * (M - 1) + 9 * 2 + 9 - 1}
    assert criteria(model, X[:9]) == pytest.approx(literal(model, n[:9], **of_rows))
    assert criteria(model, X) == pytest.approx(known, rel=1e-3)
    conditional = -2 * L * model.score(Dyads(X)) + model.n_parameters_ * np.log(L)
    assert known[1] > conditional + 1  # without P(x)
    k, once = model.n_parameters_, model.aic(Dyads(X))
    for weight in (2.0, 0.37):  # of 0.37 each: observations that are not whole
        weighted = model.aic(Dyads(X * weight))
        assert weighted - 2 * k == pytest.approx(weight * (once - 2 * k))


def test_the_number_of_aspects_planted_is_found_and_what_cannot_be_counted_is_refused():
    models = {K: fitted(AspectModel(K), beta=1.0, max_iter=100, tol=1e-6) for K in (1, 2, 3, 4, 8)}
    found = {K: models[K].bic(Dyads(X)) for K in models}
    assert min(found, key=found.get) == 3
    likelihoods = [models[K].score(Dyads(X)) for K in models]
    assert likelihoods == sorted(likelihoods)  # which would ever have more
    with pytest.raises(NotFittedError):
        AspectModel(2).bic(X)
    assert not hasattr(AspectModel(2), "n_parameters_")
    model = fitted(AspectModel(2))
    refused("no tokens to score", model.aic, np.zeros((2, M)))
    refused("was fitted on a table of shape", model.bic, Dyads(X[:10]))
    stream = fitted(AspectModel(2), skcooc.RowBlocks([X[:20], X[20:]]))
    with pytest.raises(AttributeError, match="counts the training rows, which are not kept"):
        stream.n_parameters_  # noqa: B018
    assert np.isfinite(stream.bic(X))
