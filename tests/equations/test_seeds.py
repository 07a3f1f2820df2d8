"""Objects with which clusters begin: what they gain, and how far from each other they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts.csr import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.equations import memberships as module
from skcooc.equations.memberships import SHARE, seeds
from skcooc.equations.row_clusters import RowClusters

K = 6
PLANTED = make_cooccurrences(
    60, 50, K, kind="clusters", n_observations=4000, concentration=0.05, random_state=0
)
TABLE = sp.csr_array(PLANTED.X.astype(float))
OVERALL = TABLE.sum(axis=0) / TABLE.sum()


def literal_gains(n, overall):
    """Log-likelihood of each object in a cluster that begins with each, less that overall.

    Up to what all objects lose that share no column with it, which is the same for all clusters.
    """
    gains = np.zeros((len(n), len(n)))
    for i, row in enumerate(n):
        for c, center in enumerate(n):
            q = SHARE * overall + (1 - SHARE) * center / center.sum()
            gains[i, c] = sum(x * np.log(a / b) for x, a, b in zip(row, q, overall, strict=True))
        gains[i] -= row.sum() * np.log(SHARE)
    return gains


def labels_of_seeds(components):
    """The class of the rows that the components are made of."""
    shapes = components - SHARE * OVERALL[:, None]
    profiles = TABLE.toarray() / TABLE.sum(axis=1)[:, None]
    distances = np.abs(profiles[:, :, None] - shapes / shapes.sum(axis=0)).sum(axis=1)
    return PLANTED.labels[distances.argmin(axis=0)]


def test_gains_are_those_of_single_clusters():
    sizes, occupied = TABLE.sum(axis=1), TABLE[:, OVERALL > 0]
    expected = literal_gains(occupied.toarray(), OVERALL[OVERALL > 0])
    np.testing.assert_allclose(module.gains_of(TABLE, OVERALL, sizes), expected, atol=1e-9)


def test_seeds_are_of_all_planted_clusters_but_not_where_nothing_is_gained(monkeypatch):
    def n_found():
        found = (seeds(TABLE, OVERALL, K, np.random.default_rng(s)) for s in range(10))
        return sum(len(set(labels_of_seeds(components))) == K for components in found)

    assert n_found() >= 8
    monkeypatch.setattr(module, "gains_of", lambda objects, *_: np.zeros(2 * (objects.shape[0],)))
    assert n_found() <= 2  # the broken twin: any objects


@pytest.mark.parametrize("n_rows", [1, 4])
def test_fewer_objects_than_clusters_are_seeds_that_differ(n_rows):
    components = seeds(TABLE[:n_rows], OVERALL, K, np.random.default_rng(0))
    assert len(np.unique(components.round(12), axis=1).T) == K
    np.testing.assert_allclose(components.sum(axis=0), 1, atol=0.1)


def test_objects_without_observations_are_no_seeds():
    empty = sp.csr_array(sp.vstack([TABLE[:K], sp.csr_array((30, TABLE.shape[1]))]))
    components = seeds(empty, OVERALL, K, np.random.default_rng(0))
    assert (np.abs(components - SHARE * OVERALL[:, None]).sum(axis=0) > 0.15).all()
    nothing = seeds(empty[K:], OVERALL, K, np.random.default_rng(0))
    assert np.isfinite(nothing).all()


@pytest.mark.parametrize("object_weights", ["counts", "equal"])
def test_rows_that_begin_are_distributions(object_weights):
    X = CSRCounts(TABLE.astype(np.float32))
    model = RowClusters(K, object_weights=object_weights)
    params, rows = model.seeded(X, np.random.default_rng(0))
    assert params.components.dtype == np.float32
    assert rows.shape == (60, K)
    np.testing.assert_allclose(params.components.sum(axis=0), 1, rtol=1e-5)
