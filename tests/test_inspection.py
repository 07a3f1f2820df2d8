import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError

from skcooc import AspectModel, Dyads
from skcooc.inspection import nearest_rows, top_features


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).poisson(2.0, (20, 7))


def _hellinger(p, q):
    return np.sqrt(max(0.0, 1 - np.sqrt(p * q).sum()))


def test_top_features_are_in_decreasing_order_of_probability(X):
    model = AspectModel(3, beta=1, random_state=0, tol=1e-3).fit(X)
    for k, names in enumerate(top_features(model, 4)):
        columns = [int(name.removeprefix("x")) for name in names]
        probabilities = model.components_[k, columns]
        assert len(columns) == 4
        assert (np.diff(probabilities) <= 0).all()
        rest = np.delete(model.components_[k], columns)
        assert probabilities.min() >= rest.max()


def test_top_features_are_all_features_where_there_are_no_more(X):
    model = AspectModel(2, beta=1, random_state=0, tol=1e-3).fit(X)
    assert [sorted(names) for names in top_features(model, 99)] == [[f"x{j}" for j in range(7)]] * 2


def test_names_seen_in_fit_are_used_unless_others_are_given(X):
    seen, given = list("abcdefg"), list("ABCDEFG")
    dyads = Dyads(X, column_names=seen)
    model = AspectModel(2, beta=1, random_state=0, tol=1e-3).fit(dyads)
    assert set(top_features(model, 7)[0]) == set(seen)
    assert set(top_features(model, 7, given)[0]) == set(given)


def test_a_model_of_another_library_will_do(X):
    lda = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X)
    assert top_features(lda, 1, list("abcdefg"))[0] == ["abcdefg"[lda.components_[0].argmax()]]


def test_wrong_number_of_names(X):
    model = AspectModel(2, beta=1, random_state=0, tol=1e-3).fit(X)
    with pytest.raises(ValueError, match="7 columns"):
        top_features(model, 2, ["a", "b"])


def test_not_fitted():
    with pytest.raises(NotFittedError):
        top_features(AspectModel())


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
