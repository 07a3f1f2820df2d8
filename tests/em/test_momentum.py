"""EM with momentum: downhill, faster than over-relaxed EM, and to the same place."""

import numpy as np
import pytest

from skcooc.counts import CSRCounts
from skcooc.em import EM, State
from skcooc.em.momentum import Momentum
from skcooc.em.schedules import constant
from skcooc.equations.aspects import Aspects
from skcooc.equations.row_clusters import RowClusters
from tests.tables import planted

X = CSRCounts(planted(n_observations=3000).X.astype(float))


class Unguarded(Momentum):
    """Broken: goes on where the objective rises."""

    def undo(self, step):
        return None


def energies(relaxation, model, beta, n_iter, start=None):
    em = EM(constant(beta, n_iter), -np.inf, relaxation)
    fit = em.fit(model, [X], np.random.default_rng(0), start=start)
    return np.array([record.free_energy for record in fit.history]), State(fit.params, fit.rows)


@pytest.mark.parametrize(("model", "beta"), [(Aspects(4), 0.9), (RowClusters(3), 0.3)])
def test_free_energy_never_rises(model, beta):
    values = energies("momentum", model, beta, 120)[0]
    assert (np.diff(values) <= 1e-9 * abs(values[0])).all()


def test_without_the_guard_it_rises(monkeypatch):
    monkeypatch.setattr("skcooc.em.legs.Momentum", Unguarded)
    values = energies("momentum", Aspects(4), 0.9, 120)[0]
    assert (np.diff(values) > 1e-9 * abs(values[0])).any()


def test_reaches_the_same_energy_in_fewer_steps():
    start = energies(1.0, Aspects(4), 0.9, 20)[1]
    plain = energies(1.0, Aspects(4), 0.9, 400, start)[0]
    goal = plain[-1] * (1 + 1e-6)
    steps = {
        relaxation: int(np.argmax(energies(relaxation, Aspects(4), 0.9, 400, start)[0] <= goal))
        for relaxation in (1.0, "momentum")
    }
    assert 0 < steps["momentum"] < 0.6 * steps[1.0]
