"""Topics that come back: counted one by one, and that runs are compared with the right one."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skcooc import AspectModel
from skcooc.inspection import TopicStability, topic_stability
from tests.tables import planted

COMPONENTS = np.eye(6)[:3] + 0.01


class Scripted(BaseEstimator):
    """A model whose topics depend on how often one has been fitted."""

    runs: list = []  # noqa: RUF012

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        self.components_ = self.runs.pop(0)
        return self


def test_topics_are_found_in_other_orders_and_missed_where_they_are_not():
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


def test_each_topic_is_of_one_kind():
    affinities = np.array([[1, 0.9, 0.9, 0.3], [1, 0.9, 0.1, 0.3], [1, 0.2, 0.1, 0.3],
                           [1, 0.1, 0.1, 0.3], [1, 0.9, 0.2, 0.3]])  # fmt: skip
    found = TopicStability(None, affinities)
    kinds = [found.always, found.often, found.seldom, found.once]
    assert [kind.tolist() for kind in kinds] == [[0], [1], [2], [3]]
    np.testing.assert_allclose(found.affinity, affinities.mean(axis=0))


def test_planted_topics_are_always_found_and_threads_do_not_matter():
    X = planted(3, 6000).X
    one, three = (
        topic_stability(AspectModel(3, tol=1e-4), X, 3, random_state=0, n_jobs=n) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.always, [0, 1, 2])
    np.testing.assert_array_equal(one.affinities, three.affinities)


def test_what_is_refused():
    with pytest.raises(ValueError, match="n_runs=1 should be at least 2"):
        topic_stability(AspectModel(2), [[1, 2], [2, 1]], n_runs=1)
