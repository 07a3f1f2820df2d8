"""More components than before: which are split, and that EM goes on from there."""

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em import (
    EMStage,
    OverRelaxation,
    SplitComponents,
    State,
    annealing,
    fit,
    merge_components,
)
from skcooc.em.annealing import farthest
from skcooc.em.annealing import joined as joined_of
from skcooc.equations.aspects import Aspects, Params
from skcooc.simplex import match_rows
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
    stage = EMStage(Aspects(k), X, 1.0, 60, 1e-6)
    end = fit([SplitComponents(stage), stage], np.random.default_rng(0), SOLVER, start=state)
    assert end.rows.shape == (80, k)
    np.testing.assert_allclose(end.params.components.sum(axis=0), 1)
    return match_rows(DATA.components[: min(4, k)], end.params.components.T)[1].min()


def test_what_was_joined_comes_apart_and_with_a_wrong_choice_it_does_not(monkeypatch):
    assert found(4, joined()) > 0.95
    monkeypatch.setattr(annealing, "farthest", lambda components, weights, n: [0])
    assert found(4, joined()) < 0.95


def test_many_more_are_reached_by_doubling():
    stage = EMStage(Aspects(6), X, 1.0, 3, 0.0)
    end = fit(
        [SplitComponents(stage)], np.random.default_rng(0), SOLVER, start=joined(((0, 1, 2, 3),))
    )
    assert end.rows.shape == (80, 6)
    np.testing.assert_allclose(end.rows.sum(axis=1), 1)


def test_components_are_ranked_by_mass_and_by_distance():
    components = np.array([[0.5, 1, 0.5, 0.5, 0, 0.5], [0.5, 0, 0.5, 0.5, 1, 0.5]])
    assert farthest(components, np.full(6, 1 / 6), 1) == [1]
    components = np.array([[0.9, 0.7, 0.1, 0.3], [0.1, 0.3, 0.9, 0.7]])
    assert farthest(components, np.array([0.01, 0.49, 0.01, 0.49]), 1) == [1]
    assert farthest(components, np.array([0.25, 0.25, 0.25, 0.25]), 1) == [0]
    assert farthest(components, np.zeros(4), 2) == [0, 1]  # nobody has any mass


def test_pairs_that_are_joined_one_by_one():
    """The same by loops over pairs, as a sum over columns."""
    rng = np.random.default_rng(3)
    components, weights = rng.dirichlet(np.full(6, 0.5), size=9).T, rng.dirichlet(np.full(9, 0.5))
    P, shares, groups = list(components.T), list(weights), [(c,) for c in range(9)]
    while len(groups) > 4:
        costs = {
            (a, b): (np.sqrt(P[a]) - np.sqrt(P[b])) @ (np.sqrt(P[a]) - np.sqrt(P[b]))
            / (1 / shares[a] + 1 / shares[b])
            for b in range(len(P)) for a in range(b)
        }  # fmt: skip
        a, b = min(costs, key=costs.get)
        P[a] = (shares[a] * P[a] + shares[b] * P[b]) / (shares[a] + shares[b])
        shares[a], groups[a] = shares[a] + shares[b], groups[a] + groups[b]
        del P[b], shares[b], groups[b]
    assert joined_of(components, weights, 4) == groups
    assert joined_of(components, np.full(9, 1 / 9), 4) != groups  # a twin that knows no weights


def test_what_was_split_is_joined_again_and_nothing_else():
    whole = joined(((0,), (1,), (2,), (3,)))
    halved = State(
        Params(np.tile(whole.params.components, 2), np.tile(whole.params.weights / 2, 2)),
        np.tile(whole.rows / 2, 2),
    )
    again = merge_components(Aspects(4), halved, 4)
    np.testing.assert_allclose(again.rows, whole.rows)
    np.testing.assert_allclose(again.params.components, whole.params.components)
    np.testing.assert_allclose(again.params.weights, whole.params.weights)
    massless = joined_of(halved.params.components, np.zeros(8), 7)
    assert len(massless) == 7
