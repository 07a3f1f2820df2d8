"""The columns and rows of components, against their definitions."""

from functools import cache

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import AspectModel, AsymmetricClustering, Dyads
from skcooc.hierarchy import binary_tree
from skcooc.inspection import characteristic_features, representative_rows, top_features
from skcooc.inspection import node_top_features as of_nodes
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
    assert {len(set(names)) for names in top_features(model, n_features=99)} == {7}
    lda = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X)
    first = top_features(lda, list("abcdefg"), n_features=1)[0]
    assert first == ["abcdefg"[lda.components_[0].argmax()]]
    model = hierarchy_model(5)
    expected = [[f"x{j}" for j in np.argsort(-q)[:3]] for q in model.components_]
    assert of_nodes(model, n_features=3) == top_features(model, n_features=3) == expected


def test_names_seen_in_fit_are_used_unless_others_are_given():
    seen, given = list("abcdefg"), list("ABCDEFG")
    dyads = Dyads(X, column_names=seen)
    model = AspectModel(2, beta=1, random_state=0, tol=1e-3).fit(dyads)
    assert set(top_features(model, n_features=7)[0]) == set(seen)
    assert set(top_features(model, given, n_features=7)[0]) == set(given)
    model = stand_in(n_columns=4)
    assert set(of_nodes(model, list("abcd"), n_features=1)[0]) <= set("abcd")
    model.feature_names_in_ = np.array(list("ABCD"), dtype=object)
    assert set(characteristic_features(model)[0]) <= set("ABCD")


def test_characteristic_features_and_representative_rows_against_the_definitions():
    """The reference of a node is its parent; that of roots and without a tree, the unigram."""
    hard = AsymmetricClustering(3, hard=True, random_state=0).fit(X)
    trees = hierarchy_model(5), hierarchy_model(5, tree=EXPLICIT)
    for model in (*trees, aspects(), hard):
        unigram = model.row_distribution_ @ (model.embedding_ @ model.components_)
        parents = model.tree_.parents if hasattr(model, "tree_") else [-1] * len(model.components_)
        names = characteristic_features(model, n_features=30)
        rows = representative_rows(model, n_rows=40)
        for node, q in enumerate(model.components_):
            reference = unigram if parents[node] < 0 else model.components_[parents[node]]
            pairs = zip(q, reference, strict=True)
            parts = [a * np.log(a / ((a + b) / 2)) if a > 0 else 0.0 for a, b in pairs]
            order = np.argsort(-np.array(parts), kind="stable")
            assert names[node] == [f"x{j}" for j in order if parts[j] > 0]
            x, share = model.row_distribution_, model.embedding_[:, node]
            some = [i for i in range(len(x)) if share[i] > 0]
            parts = {i: x[i] * share[i] * np.log(share[i] / (x @ share)) for i in some}
            assert rows[node] == sorted(parts, key=lambda i: -parts[i])


def test_columns_that_are_rare_or_of_the_parent_are_not_characteristic():
    q = np.array([[0.6, 0.4, 0.0], [0.5, 0.0, 0.5], [0.6, 0.4, 0.0]])
    model = stand_in(binary_tree(2), n_columns=3, components_=q)
    assert characteristic_features(model)[1:] == [["x2"], []]
    q = np.array([[0.98, 0.02, 0.0], [0.19, 0.8, 0.01], [1.0, 0.0, 0.0]])
    model = stand_in(binary_tree(2), n_columns=3, components_=q)
    assert characteristic_features(model)[1] == ["x1", "x2"]


def test_representative_rows_of_a_leaf_are_in_its_cluster_and_longer_ones_are_first():
    model = hierarchy_model(5)
    rows = representative_rows(model, n_rows=3)
    for cluster, leaf in enumerate(model.tree_.leaves):
        assert set(model.labels_[rows[leaf]]) == {cluster}
    named = representative_rows(model, [f"title {i}" for i in range(40)], n_rows=3)
    assert named == [[f"title {i}" for i in few] for few in rows]
    embedding = np.array([[0.2, 0.8, 0.0], [0.2, 0.8, 0.0], [0.2, 0.0, 0.8]])
    fitted = {"embedding_": embedding, "row_distribution_": np.array([0.1, 0.3, 0.6])}
    assert representative_rows(stand_in(binary_tree(2), n_rows=3, **fitted))[1] == [1, 0]
    embedding = np.tile([0.5, 0.5, 0.0], (4, 1))
    assert representative_rows(stand_in(binary_tree(2), n_rows=4, embedding_=embedding))[2] == []
    fitted = {"embedding_": embedding[:2], "row_distribution_": np.array([0.0, 1.0])}
    assert representative_rows(stand_in(binary_tree(2), n_rows=2, **fitted)) == [[1], [1], []]
