import numpy as np

from skcooc.model_selection.temperature_search import (
    SequentialElimination,
    coarse_to_fine,
    hill_climb,
    may_win,
)


class Losses:
    """Losses by (candidate, fold), and a record of those requested."""

    def __init__(self, table):
        self.table, self.requested = np.asarray(table, dtype=float), []

    def __call__(self, pairs):
        assert not set(pairs) & set(self.requested)
        self.requested += pairs
        return [self.table[pair] for pair in pairs]


def valley(n, least, n_folds=5, noise=0.0, seed=0):
    """Losses that rise away from one candidate, with differences between folds."""
    rng = np.random.default_rng(seed)
    mean = 6 + 0.01 * np.abs(np.arange(n) - least)
    folds = rng.normal(0, 0.1, n_folds)
    return Losses(mean[:, None] + folds + noise * rng.normal(size=(n, n_folds)))


def elimination(losses, **options):
    return SequentialElimination(losses, *losses.table.shape, **options)


def test_coarse_to_fine_finds_the_least_everywhere():
    for n in (1, 2, 3, 9, 12, 40, 78):
        for least in range(n):
            candidates = elimination(valley(n, least))
            coarse_to_fine(candidates)
            assert candidates.best == least
            assert len(candidates.visited) <= max(n // 3 + 4, 17) or n <= 8
        assert n < 40 or len(candidates.visited) <= 17


def test_clearly_worse_candidates_are_dropped_and_close_ones_are_not():
    losses = valley(4, 1, n_folds=8)
    losses.table[2] = losses.table[1] + np.tile([0.05, -0.04], 4)
    losses.table[3] = losses.table[1] + [0.1, -0.02, 0.1, 0.1, 0.11, 0.1, 0.1, 0.1]
    candidates = elimination(losses)
    candidates.visit([0, 1, 2, 3])
    assert np.isnan(candidates.losses).sum(axis=1).tolist() == [5, 0, 0, 2]
    assert candidates.best == 1
    assert candidates.visited.tolist() == [0, 1, 2, 3]
    losses = valley(3, 0, n_folds=6)
    candidates = elimination(losses)
    candidates.visit([0])
    candidates.visit([2])
    assert np.isnan(candidates.losses[2]).sum() == 3
    losses.table[1] = losses.table[0] - 0.1
    candidates.visit([1])
    assert candidates.best == 1
    losses = valley(5, 2, n_folds=4)
    losses.table[0] = np.inf
    candidates = elimination(losses)
    coarse_to_fine(candidates)
    assert candidates.best == 2
    assert may_win(losses.table[0], losses.table[2])
    for n_folds in (1, 2, 3):  # too few to drop any
        candidates = elimination(valley(4, 2, n_folds))
        candidates.visit(range(4))
        assert not np.isnan(candidates.losses).any()


def test_hill_climbing_passes_the_best_and_skips_what_is_ruled_out():
    candidates = elimination(valley(12, least=9))
    hill_climb(candidates, start=5)
    assert candidates.best == 9
    assert candidates.visited.tolist() == [4, 5, 6, 7, 8, 9, 10]
    screening = elimination(valley(12, least=5))
    coarse_to_fine(screening)
    assert screening.worse_by(0.0) == [c for c in screening.visited if c != 5]
    means = screening.losses.mean(axis=1)
    gap = means[4] - means[5]
    assert 4 in screening.worse_by(0.5 * gap)
    assert 4 not in screening.worse_by(2 * gap)
    larger = [c for c in screening.worse_by(0.0) if c > 5]
    candidates = elimination(valley(12, least=4), ruled_out=larger)
    hill_climb(candidates, start=5)
    assert candidates.best == 4
    assert candidates.visited.tolist() == [3, 4, 5]


def test_noise_costs_little():
    lost = []
    for seed in range(50):
        losses = valley(12, 6, n_folds=10, noise=0.005, seed=seed)
        candidates = elimination(losses)
        coarse_to_fine(candidates)
        means = losses.table.mean(axis=1)
        lost.append(means[candidates.best] - means.min())
    assert np.mean(lost) < 0.002
    assert max(lost) < 0.01
