"""Similar rows, the map of topics, and topics that recur in several runs."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.inspection import TopicStability, nearest_rows, top_features, topic_stability
from skcooc.inspection.similarity import map_positions
from tests.tables import planted

COMPONENTS = np.eye(6)[:3] + 0.01


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
    np.testing.assert_array_equal(nearest_rows(P, [-1], 1)[1], nearest_rows(P, [29], 1)[1])
    rows = np.arange(50)
    distances, neighbors = nearest_rows(np.full((50, 3), 1 / 3), rows, 4)
    assert neighbors.shape == (50, 4)
    assert (neighbors != rows[:, None]).all()
    assert (distances == 0).all()


def test_the_map_has_the_distances():
    q = np.random.default_rng(0).dirichlet(np.ones(6), size=3)
    at = map_positions(q)
    for k, l in ((0, 1), (0, 2), (1, 2)):
        distance = np.sqrt(1 - np.sqrt(q[k] * q[l]).sum())
        assert np.linalg.norm(at[k] - at[l]) == pytest.approx(distance, rel=0.02)


class Scripted(BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        self.components_ = self.runs.pop(0)
        return self


def test_topics_are_matched_in_any_order_and_each_is_of_one_kind():
    strange = np.vstack([COMPONENTS[:2], np.eye(6)[5] + 0.01])
    unlike = np.roll(COMPONENTS, 3, axis=1)
    Scripted.runs = [unlike, COMPONENTS, COMPONENTS[[2, 0, 1]], strange[[1, 2, 0]]]
    found = topic_stability(Scripted(), [[1]], n_runs=4, random_state=0)
    assert found.model.components_ is COMPONENTS
    np.testing.assert_array_equal(found.n_found, [3, 3, 2])
    assert found.affinities.shape == (3, 3)
    np.testing.assert_array_equal(found.affinities[1], 1)
    assert found.always.size == 0
    np.testing.assert_array_equal(found.often, [0, 1, 2])
    unmatched = (COMPONENTS * COMPONENTS[[2, 0, 1]]).sum(axis=1)  # a twin that does not match
    assert unmatched.max() < 0.1
    affinities = np.array([[1, 0.9, 0.9, 0.3], [1, 0.9, 0.1, 0.3], [1, 0.2, 0.1, 0.3],
                           [1, 0.1, 0.1, 0.3], [1, 0.9, 0.2, 0.3]])  # fmt: skip
    found = TopicStability(None, affinities)
    kinds = [found.always, found.often, found.seldom, found.get_or_compute]
    assert [kind.tolist() for kind in kinds] == [[0], [1], [2], [3]]
    np.testing.assert_allclose(found.affinity, affinities.mean(axis=0))


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_planted_topics_are_always_found_with_any_number_of_threads_and_starts_differ():
    X = planted(3, 6000).X
    one, three = (
        topic_stability(AspectModel(3, tol=1e-4), X, 3, random_state=0, n_jobs=n) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.always, [0, 1, 2])
    np.testing.assert_array_equal(one.affinities, three.affinities)
    with pytest.raises(ValueError, match="n_runs=1 should be at least 2"):
        topic_stability(AspectModel(2), [[1, 2], [2, 1]], n_runs=1)
    model = AspectModel(2, beta=0.9, max_iter=2, tol=0)
    alone, inside = (
        topic_stability(one, X, n_runs=2, random_state=0)
        for one in (model, make_pipeline("passthrough", model))
    )
    assert top_features(inside.model) != []
    assert inside.affinities.max() < 1
    np.testing.assert_array_equal(alone.affinities, inside.affinities)
