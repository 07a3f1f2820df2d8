"""More components than before: which are split, and that EM goes on from there."""

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em import Leg, OverRelaxation, State, Widening, fit, widening
from skcooc.em.widening import farthest
from skcooc.equations.aspects import Aspects, Params
from skcooc.simplex import matched
from tests.tables import planted

DATA = planted(4, 8000)
X = CSRCounts(DATA.X.astype(float))
SOLVER = OverRelaxation(1.0)


def joined(pairs=((0,), (1,), (2, 3))):
    """The planted aspects, some of them joined."""
    shares = np.zeros((4, len(pairs)))
    for new, part in enumerate(pairs):
        shares[list(part), new] = 1
    rows = DATA.mixtures @ shares
    weights = rows.mean(axis=0)
    components = DATA.components.T @ (shares * DATA.mixtures.mean(axis=0)[:, None])
    return State(Params(components / components.sum(axis=0), weights), rows)


def found(k, state):
    """How well the planted aspects are found again, after some iterations of EM."""
    leg = Leg(Aspects(k), X, 1.0, 60, 1e-6)
    end = fit([Widening(leg), leg], np.random.default_rng(0), SOLVER, start=state)
    assert end.rows.shape == (80, k)
    np.testing.assert_allclose(end.params.components.sum(axis=0), 1)
    return matched(DATA.components[: min(4, k)], end.params.components.T)[1].min()


def test_what_was_joined_comes_apart_and_with_a_wrong_choice_it_does_not(monkeypatch):
    assert found(4, joined()) > 0.95
    monkeypatch.setattr(widening, "farthest", lambda components, weights, n: [0])
    assert found(4, joined()) < 0.95


def test_many_more_are_reached_by_doubling():
    leg = Leg(Aspects(6), X, 1.0, 3, 0.0)
    end = fit([Widening(leg)], np.random.default_rng(0), SOLVER, start=joined(((0, 1, 2, 3),)))
    assert end.rows.shape == (80, 6)
    np.testing.assert_allclose(end.rows.sum(axis=1), 1)


def test_components_are_ranked_by_mass_and_by_distance():
    components = np.array([[0.5, 1, 0.5, 0.5, 0, 0.5], [0.5, 0, 0.5, 0.5, 1, 0.5]])
    assert farthest(components, np.full(6, 1 / 6), 1) == [1]
    components = np.array([[0.9, 0.7, 0.1, 0.3], [0.1, 0.3, 0.9, 0.7]])
    assert farthest(components, np.array([0.01, 0.49, 0.01, 0.49]), 1) == [1]
    assert farthest(components, np.array([0.25, 0.25, 0.25, 0.25]), 1) == [0]
    assert farthest(components, np.zeros(4), 2) == [0, 1]  # nobody has any mass
