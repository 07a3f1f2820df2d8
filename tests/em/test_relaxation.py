import numpy as np

from skcooc.counts.here import Here
from skcooc.em.solvers import FLOOR, relax
from skcooc.em.sweep import Sweep
from skcooc.equations.aspects import Statistics


def sweeps():
    rng = np.random.default_rng(0)
    return [
        Sweep([rng.dirichlet(np.ones(3), 5)], Statistics(rng.random((4, 3)), energy), energy)
        for energy in (2.0, 1.0)
    ]


def test_one_is_the_plain_step():
    old, new = sweeps()
    relaxed = relax(old, new, [Here()], 1.0)
    np.testing.assert_allclose(relaxed.stats.components, new.stats.components)
    np.testing.assert_allclose(relaxed.rows[0], new.rows[0])


def test_goes_beyond_the_step_and_stays_positive():
    old, new = sweeps()
    relaxed = relax(old, new, [Here()], 1.9)
    beyond = old.stats.components + 1.9 * (new.stats.components - old.stats.components)
    inside = beyond > 0.01
    np.testing.assert_allclose(relaxed.stats.components[inside], beyond[inside])
    assert (relaxed.stats.components >= FLOOR * new.stats.components).all()
    assert (relaxed.rows[0] > 0).all()
    np.testing.assert_allclose(relaxed.rows[0].sum(axis=1), 1)
    assert relaxed.objective == new.objective
