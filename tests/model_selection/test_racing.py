import numpy as np
import pytest

from skcooc.model_selection.temperature_search import (
    SequentialElimination,
    coarse_to_fine,
    hill_climb,
    may_win,
)


class Losses:
    """Losses by (candidate, fold), and a record of what was asked."""

    def __init__(self, table):
        self.table, self.asked = np.asarray(table, dtype=float), []

    def __call__(self, pairs):
        assert not set(pairs) & set(self.asked)
        self.asked += pairs
        return [self.table[pair] for pair in pairs]


def valley(n, least, n_folds=5, noise=0.0, seed=0):
    """Losses that rise away from one candidate, all the same up and down from fold to fold."""
    rng = np.random.default_rng(seed)
    mean = 6 + 0.01 * np.abs(np.arange(n) - least)
    folds = rng.normal(0, 0.1, n_folds)
    return Losses(mean[:, None] + folds + noise * rng.normal(size=(n, n_folds)))


def race_of(losses):
    return SequentialElimination(losses, *losses.table.shape)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 12, 27, 40, 78])
def test_zoom_finds_the_least_wherever_it_is(n):
    for least in range(n):
        race = race_of(valley(n, least))
        coarse_to_fine(race)
        assert race.best == least
        assert len(race.visited) <= max(n // 3 + 4, 17) or n <= 8
    assert n < 40 or len(race.visited) <= 17


def test_clearly_worse_candidates_are_dropped_and_close_ones_are_not():
    losses = valley(4, 1, n_folds=8)
    losses.table[2] = losses.table[1] + np.tile([0.05, -0.04], 4)
    losses.table[3] = losses.table[1] + [0.1, -0.02, 0.1, 0.1, 0.11, 0.1, 0.1, 0.1]
    race = race_of(losses)
    race.visit([0, 1, 2, 3])
    assert np.isnan(race.losses).sum(axis=1).tolist() == [5, 0, 0, 2]
    assert race.best == 1
    assert race.visited.tolist() == [0, 1, 2, 3]
    losses = valley(3, 0, n_folds=6)
    race = race_of(losses)
    race.visit([0])
    race.visit([2])
    assert np.isnan(race.losses[2]).sum() == 3
    losses.table[1] = losses.table[0] - 0.1
    race.visit([1])
    assert race.best == 1
    losses = valley(5, 2, n_folds=4)
    losses.table[0] = np.inf
    race = race_of(losses)
    coarse_to_fine(race)
    assert race.best == 2
    assert may_win(losses.table[0], losses.table[2])


def test_few_folds_are_all_visited():
    for n_folds in (1, 2, 3):
        race = race_of(valley(4, 2, n_folds))
        race.visit(range(4))
        assert not np.isnan(race.losses).any()


def test_around_goes_on_until_the_best_is_passed_for_it_descends():
    race = race_of(valley(12, least=9))
    hill_climb(race, start=5)
    assert race.best == 9
    assert race.visited.tolist() == [4, 5, 6, 7, 8, 9, 10]
    race = race_of(valley(12, least=9))
    race.visit([4, 5, 6])
    assert race.best == 6
    hill_climb(race)
    assert race.best == 9


def test_what_loses_clearly_may_be_ruled_out_and_is_not_visited():
    race = SequentialElimination(valley(12, least=5), 12, 5)
    coarse_to_fine(race)
    means = race.losses.mean(axis=1)
    gap = means[4] - means[5]
    assert 4 in race.worse_by(0.5 * gap)
    assert 4 not in race.worse_by(2 * gap)
    losses = valley(12, least=5)
    first = race_of(losses)
    coarse_to_fine(first)
    assert first.best == 5
    assert first.worse_by(0.0) == [c for c in first.visited if c != 5]
    race = SequentialElimination(
        valley(12, least=4), 12, 5, ruled_out=[c for c in first.worse_by(0.0) if c > 5]
    )
    hill_climb(race, start=5)
    assert race.best == 4
    assert race.visited.tolist() == [3, 4, 5]


def test_noise_costs_little():
    lost = []
    for seed in range(50):
        losses = valley(12, 6, n_folds=10, noise=0.005, seed=seed)
        race = race_of(losses)
        coarse_to_fine(race)
        lost.append(losses.table.mean(axis=1)[race.best] - losses.table.mean(axis=1).min())
    assert np.mean(lost) < 0.002
    assert max(lost) < 0.01
