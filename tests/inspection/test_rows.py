import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skcooc import AspectModel
from skcooc.hierarchy import binary_tree
from skcooc.inspection import nearest_rows, typical_rows
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in


def _hellinger(p, q):
    return np.sqrt(max(0.0, 1 - np.sqrt(p * q).sum()))


def test_nearest_rows_against_the_definition():
    P = np.random.default_rng(1).dirichlet(np.ones(4), size=30)
    distances, neighbors = nearest_rows(P, [3, 17], 6)
    for row, near, at in zip([3, 17], distances, neighbors, strict=True):
        expected = np.array([_hellinger(P[row], q) for q in P])
        expected[row] = np.inf
        assert at.tolist() == np.argsort(expected)[:6].tolist()
        np.testing.assert_allclose(near, np.sort(expected)[:6], atol=1e-7)


def test_distances_span_the_unit_interval():
    distances, _ = nearest_rows([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0], 2)
    np.testing.assert_allclose(distances, [[0, 1]], atol=1e-7)


def test_a_row_is_no_neighbour_of_itself_among_equal_rows():
    P = np.full((50, 3), 1 / 3)
    rows = np.arange(50)
    distances, neighbors = nearest_rows(P, rows, 4)
    assert neighbors.shape == (50, 4)
    assert (neighbors != rows[:, None]).all()
    assert (distances == 0).all()


@pytest.mark.parametrize("n_neighbors", [0, 3])
def test_wrong_number_of_neighbors(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors"):
        nearest_rows(np.eye(3), [0], n_neighbors)


def test_negative_positions_count_from_the_end():
    P = [[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]]
    np.testing.assert_array_equal(nearest_rows(P, [-1], 1)[1], nearest_rows(P, [2], 1)[1])


# ---- hierarchies


@pytest.mark.parametrize("tree", ["binary", EXPLICIT], ids=["binary", "any"])
def test_typical_rows_against_the_definition(tree):
    model = hierarchy_model(5, tree=tree)
    rows = typical_rows(model, 40)
    for node, share in enumerate(model.embedding_.T):
        weight = model.row_distribution_ @ share
        parts = {
            i: model.row_distribution_[i] * share[i] / weight * np.log(share[i] / weight)
            for i in range(40)
            if share[i] > 0
        }
        assert rows[node] == sorted(parts, key=lambda i: -parts[i])


def test_typical_rows_of_a_leaf_are_in_its_cluster():
    model = hierarchy_model(4)
    rows = typical_rows(model, 3)
    for cluster, leaf in enumerate(model.tree_.leaves):
        assert len(rows[leaf]) == 3
        assert set(model.labels_[rows[leaf]]) == {cluster}


def test_a_row_of_many_observations_is_more_typical_than_a_short_one_of_the_same_share():
    embedding = np.array([[0.2, 0.8, 0.0], [0.2, 0.8, 0.0], [0.2, 0.0, 0.8]])
    fitted = {"embedding_": embedding, "row_distribution_": np.array([0.1, 0.3, 0.6])}
    assert typical_rows(stand_in(binary_tree(2), n_rows=3, **fitted))[1] == [1, 0]


def test_a_node_without_observations_has_no_typical_rows():
    embedding = np.tile([0.5, 0.5, 0.0], (4, 1))
    assert typical_rows(stand_in(binary_tree(2), n_rows=4, embedding_=embedding))[2] == []


def test_a_row_without_observations_is_typical_of_nothing():
    embedding = np.tile([0.5, 0.5, 0.0], (2, 1))
    fitted = {"embedding_": embedding, "row_distribution_": np.array([0.0, 1.0])}
    assert typical_rows(stand_in(binary_tree(2), n_rows=2, **fitted)) == [[1], [1], []]


def test_names_of_rows():
    titles = [f"title {i}" for i in range(40)]
    model = hierarchy_model()
    numbers, named = typical_rows(model, 2), typical_rows(model, 2, titles)
    assert named == [[titles[i] for i in rows] for rows in numbers]
    with pytest.raises(ValueError, match="40 rows"):
        typical_rows(model, 2, titles[1:])


def test_typical_rows_need_a_fitted_model_with_a_tree():
    with pytest.raises(NotFittedError):
        typical_rows(AspectModel())
    with pytest.raises(TypeError, match="AspectModel has no tree_"):
        typical_rows(AspectModel(1, beta=1).fit([[1, 2], [2, 1]]))
