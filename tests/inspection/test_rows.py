import numpy as np
import pytest

from skcooc import AsymmetricClustering
from skcooc.hierarchy import binary_tree
from skcooc.inspection import nearest_rows, representative_rows
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in


def test_nearest_rows_against_the_definition():
    P = np.random.default_rng(1).dirichlet(np.ones(4), size=30)
    distances, neighbors = nearest_rows(P, [3, 17], 6)
    for row, near, at in zip([3, 17], distances, neighbors, strict=True):
        expected = np.array([np.sqrt(max(0.0, 1 - np.sqrt(P[row] * q).sum())) for q in P])
        expected[row] = np.inf
        assert at.tolist() == np.argsort(expected)[:6].tolist()
        np.testing.assert_allclose(near, np.sort(expected)[:6], atol=1e-7)
    distances, _ = nearest_rows([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0], 2)
    np.testing.assert_allclose(distances, [[0, 1]], atol=1e-7)
    P = [[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]]
    np.testing.assert_array_equal(nearest_rows(P, [-1], 1)[1], nearest_rows(P, [2], 1)[1])
    P = np.full((50, 3), 1 / 3)
    rows = np.arange(50)
    distances, neighbors = nearest_rows(P, rows, 4)
    assert neighbors.shape == (50, 4)
    assert (neighbors != rows[:, None]).all()
    assert (distances == 0).all()


@pytest.mark.parametrize("tree", ["binary", EXPLICIT], ids=["binary", "any"])
def test_representative_rows_against_the_definition(tree):
    model = hierarchy_model(5, tree=tree)
    rows = representative_rows(model, n_rows=40)
    for node, share in enumerate(model.embedding_.T):
        weight = model.row_distribution_ @ share
        parts = {
            i: model.row_distribution_[i] * share[i] / weight * np.log(share[i] / weight)
            for i in range(40)
            if share[i] > 0
        }
        assert rows[node] == sorted(parts, key=lambda i: -parts[i])


def test_representative_rows_of_a_leaf_are_in_its_cluster_and_have_names():
    model = hierarchy_model(4)
    rows = representative_rows(model, n_rows=3)
    for cluster, leaf in enumerate(model.tree_.leaves):
        assert len(rows[leaf]) == 3
        assert set(model.labels_[rows[leaf]]) == {cluster}
    titles = [f"title {i}" for i in range(40)]
    numbers, named = (
        representative_rows(model, n_rows=2),
        representative_rows(model, titles, n_rows=2),
    )
    assert named == [[titles[i] for i in rows] for rows in numbers]


def test_rows_without_observations_represent_nothing_and_longer_ones_more():
    embedding = np.array([[0.2, 0.8, 0.0], [0.2, 0.8, 0.0], [0.2, 0.0, 0.8]])
    fitted = {"embedding_": embedding, "row_distribution_": np.array([0.1, 0.3, 0.6])}
    assert representative_rows(stand_in(binary_tree(2), n_rows=3, **fitted))[1] == [1, 0]
    embedding = np.tile([0.5, 0.5, 0.0], (4, 1))
    assert representative_rows(stand_in(binary_tree(2), n_rows=4, embedding_=embedding))[2] == []
    embedding = np.tile([0.5, 0.5, 0.0], (2, 1))
    fitted = {"embedding_": embedding, "row_distribution_": np.array([0.0, 1.0])}
    assert representative_rows(stand_in(binary_tree(2), n_rows=2, **fitted)) == [[1], [1], []]


@pytest.mark.parametrize("hard", [True, False])
def test_representative_rows_of_components_without_a_tree(hard):
    X = np.random.default_rng(0).poisson(1.5, (20, 8))
    model = AsymmetricClustering(3, hard=hard, beta=1.0, random_state=0).fit(X)
    x = X.sum(axis=1) / X.sum()
    for k, rows in enumerate(representative_rows(model, n_rows=4)):
        share = model.embedding_[:, k]
        weight = x @ share
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(share > 0, x * share * np.log(share / weight), -np.inf)
        assert rows == [i for i in np.argsort(-parts, kind="stable")[:4] if share[i] > 0]
