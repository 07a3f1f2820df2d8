import numpy as np
import pytest

from skcooc.inspection.blocks import cluster_orders
from skcooc.plotting.arrangement import Side, arrange, log_association, spread


def literal_orders(joint):
    """The definition, cluster by cluster."""
    C, D = joint.shape
    pi_c, pi_d = joint.sum(axis=1), joint.sum(axis=0)
    rows = sorted(range(C), key=lambda c: -pi_c[c])

    def part(c, d):
        return joint[c, d] * np.log(joint[c, d] / (pi_c[c] * pi_d[d])) if joint[c, d] > 0 else 0.0

    def place(d):
        parts = [part(c, d) for c in rows]
        return parts.index(max(parts)), -max(parts)

    return rows, sorted(range(D), key=place)


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3), (1, 4)])
def test_orders_against_the_definition(shape):
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(shape[0] * shape[1], 0.3)).reshape(shape)
    rows, columns = cluster_orders(joint)
    assert (rows.tolist(), columns.tolist()) == literal_orders(joint)


def test_shuffled_blocks_come_to_the_diagonal():
    rng = np.random.default_rng(1)
    joint = np.diag([0.4, 0.25, 0.15, 0.1, 0.06]) + 0.04 / 25
    shuffled = joint[rng.permutation(5)][:, rng.permutation(5)]
    rows, columns = cluster_orders(shuffled)
    np.testing.assert_array_equal(shuffled[rows][:, columns], joint)
    assert not np.array_equal(shuffled, joint)


def test_empty_clusters_have_no_association():
    joint = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    expected = [[np.log(2), -np.inf, 0], [-np.inf, np.log(2), 0], [0, 0, 0]]
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(log_association(joint), expected)
        rows, columns = cluster_orders(joint)
    assert rows.tolist() == [0, 1, 2]
    assert sorted(columns.tolist()) == [0, 1, 2]


def test_objects_are_side_by_side_and_their_clusters_too():
    rng = np.random.default_rng(0)
    labels, order = rng.integers(0, 4, 30), np.array([2, 0, 3, 1])
    masses = rng.dirichlet(np.ones(30))
    places = arrange(Side(labels, masses, [[]] * 4), order, masses)
    sizes = [masses[labels == c].sum() for c in order]
    np.testing.assert_allclose(np.diff(places.edges), sizes)
    sequence = np.argsort(places.objects)
    assert labels[sequence].tolist() == [c for c in order for _ in range((labels == c).sum())]
    for c in order:
        assert (np.diff(masses[sequence][labels[sequence] == c]) <= 0).all()
    ends = np.cumsum(masses[sequence])
    np.testing.assert_allclose(places.objects[sequence], ends - masses[sequence] / 2)
    side = Side(np.array([1, 1, 0, 1]), np.array([0.1, 0.2, 0.6, 0.1]), [[], [], []])
    places = arrange(side, np.array([1, 2, 0]), np.ones(4))
    np.testing.assert_allclose(places.edges, [0, 0.75, 0.75, 1])
    np.testing.assert_allclose(places.objects, [0.375, 0.125, 0.875, 0.625])


def test_what_is_moved_apart_moves_as_little_as_possible():
    rng = np.random.default_rng(0)
    for _ in range(20):
        places, gap = np.sort(rng.random(6)), 0.15
        moved = spread(places, gap, 0.0, 1.0)
        assert np.diff(moved).min() >= gap - 1e-9
        assert 0 <= moved.min() <= moved.max() <= 1 + 1e-12
        # Least squares: no other feasible places are nearer.
        others = np.sort(rng.random((500, 6)) * (1 - 5 * gap), axis=1) + gap * np.arange(6)
        assert ((others - places) ** 2).sum(axis=1).min() >= ((moved - places) ** 2).sum() - 1e-12
    far = np.array([0.1, 0.4, 0.9])
    np.testing.assert_allclose(spread(far, 0.2, 0.0, 1.0), far)
    assert spread(np.full(6, 0.9), 0.15, 0.0, 1.0).max() <= 1 + 1e-12
