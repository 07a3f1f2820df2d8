"""Where topics are on a map."""

import numpy as np
import pytest

from skcooc.inspection.places import places


def test_the_map_has_the_distances():
    """Three distributions are as far from each other as three points can be."""
    q = np.random.default_rng(0).dirichlet(np.ones(6), size=3)
    at = places(q)
    for k, l in ((0, 1), (0, 2), (1, 2)):
        distance = np.sqrt(1 - np.sqrt(q[k] * q[l]).sum())
        assert np.linalg.norm(at[k] - at[l]) == pytest.approx(distance, rel=0.02)
