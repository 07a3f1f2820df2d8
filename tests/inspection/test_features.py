from functools import cache, partial

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import AspectModel, Dyads
from skcooc.hierarchy import binary_tree
from skcooc.inspection import characteristic_features, node_top_features, top_features
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in

X = np.random.default_rng(0).poisson(2.0, (20, 7))
aspects = cache(lambda: AspectModel(3, beta=1, random_state=0, tol=1e-3).fit(X))


def test_top_features_are_in_decreasing_order_of_probability():
    model = aspects()
    for q, names in zip(model.components_, top_features(model, n_features=4), strict=True):
        columns = [int(name.removeprefix("x")) for name in names]
        assert len(columns) == 4
        assert (np.diff(q[columns]) <= 0).all()
        assert q[columns].min() >= np.delete(q, columns).max()
    assert [sorted(names) for names in top_features(model, n_features=99)] == [
        [f"x{j}" for j in range(7)]
    ] * 3
    lda = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X)
    assert top_features(lda, list("abcdefg"), n_features=1)[0] == [
        "abcdefg"[lda.components_[0].argmax()]
    ]
    model = hierarchy_model(4)
    expected = [[f"x{j}" for j in np.argsort(-q)[:3]] for q in model.components_]
    assert node_top_features(model, n_features=3) == top_features(model, n_features=3) == expected


def test_names_seen_in_fit_are_used_unless_others_are_given():
    seen, given = list("abcdefg"), list("ABCDEFG")
    dyads = Dyads(X, column_names=seen)
    model = AspectModel(2, beta=1, random_state=0, tol=1e-3).fit(dyads)
    assert set(top_features(model, n_features=7)[0]) == set(seen)
    assert set(top_features(model, given, n_features=7)[0]) == set(given)
    model = stand_in(n_columns=4)
    assert set(node_top_features(model, list("abcd"), n_features=1)[0]) <= set("abcd")
    model.feature_names_in_ = np.array(list("ABCD"), dtype=object)
    assert set(characteristic_features(model)[0]) <= set("ABCD")


def _shannon_parts(q, reference):
    """Column by column, the part in the divergence of q from the mean of both, literally."""
    pairs = zip(q, reference, strict=True)
    return [a * np.log(a / ((a + b) / 2)) if a > 0 else 0.0 for a, b in pairs]


@pytest.mark.parametrize(
    "fitted",
    [partial(hierarchy_model, 5), partial(hierarchy_model, 5, tree=EXPLICIT), aspects],
    ids=["binary", "any", "no tree"],
)
def test_characteristic_features_against_the_definition(fitted):
    """Nodes are compared to their parents; the root, and what has no tree, to the unigram."""
    model = fitted()
    unigram = model.row_distribution_ @ (model.embedding_ @ model.components_)
    parents = model.tree_.parents if hasattr(model, "tree_") else [-1] * len(model.components_)
    names = characteristic_features(model, n_features=30)
    for node, q in enumerate(model.components_):
        reference = unigram if parents[node] < 0 else model.components_[parents[node]]
        parts = _shannon_parts(q, reference)
        order = np.argsort(-np.array(parts), kind="stable")
        assert names[node] == [f"x{j}" for j in order if parts[j] > 0]


def test_what_is_rare_or_of_the_parent_is_not_characteristic():
    q = np.array([[0.6, 0.4, 0.0], [0.5, 0.0, 0.5], [0.6, 0.4, 0.0]])
    model = stand_in(binary_tree(2), n_columns=3, components_=q)
    assert characteristic_features(model)[1:] == [["x2"], []]
    q = np.array([[0.98, 0.02, 0.0], [0.19, 0.8, 0.01], [1.0, 0.0, 0.0]])
    model = stand_in(binary_tree(2), n_columns=3, components_=q)
    assert characteristic_features(model)[1] == ["x1", "x2"]
