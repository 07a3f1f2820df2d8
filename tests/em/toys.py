"""Toy models whose every step is known; their counts know no table."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Here:
    """Where arrays are worked on directly."""

    def expect(self, model, params, rows, beta):
        return model.expect(self, params, rows, beta)

    def map_row_ranges(self, function, *states):
        out = np.empty_like(states[0])
        function(*states, out)
        return out


HERE = Here()


class Point(NamedTuple):
    x: float
    weights: np.ndarray


class Moved(NamedTuple):
    x: np.ndarray
    free_energy: float


@dataclass(frozen=True)
class Halving:
    """Each step halves the distance of x to 1 / beta."""

    patience = 1

    def start(self, X, rng):
        return Point(0.0, np.ones(1)), np.ones((1, 1))

    def for_table(self, params, X):
        return params

    def expect(self, X, params, rows, beta):
        goal = 1 / beta
        return rows, Moved(np.array([(params.x + goal) / 2]), 1 + (params.x - goal) ** 2)

    def maximize(self, stats, params, beta):
        return params._replace(x=float(stats.x[0]))

    def log_prior(self, params, beta):
        return 0.0

    def factors(self, params, rows):
        return rows, np.ones((1, 1))


@dataclass(frozen=True)
class Forks(Halving):
    """Clusters at 0 divide into -.2 and .2 at beta = .3, and these by .1 to both sides at .6."""

    n_clusters: int = 4
    amounts: list = field(default_factory=list)  # of noise, in the order in which it was asked for

    def start(self, X, rng):
        K = self.n_clusters
        return Point(np.linspace(-0.1, 0.1, K), np.ones(K) / K), np.ones((1, K)) / K

    def mix_components(self, params, shares):
        x = params.x @ (shares / shares.sum(axis=0))
        return Point(x, np.full(len(x), 1 / len(x)))

    def perturb(self, params, rng, amount):
        self.amounts.append(amount)
        return params._replace(x=params.x + amount * np.repeat([-1, 1], len(params.x) // 2))

    def expect(self, X, params, rows, beta):
        p = params.x
        first = np.sign(p) * np.minimum(np.abs(p) * beta / 0.3, 0.2)
        d = p - 0.2 * np.sign(p)
        second = 0.2 * np.sign(p) + np.sign(d) * np.minimum(np.abs(d) * beta / 0.6, 0.1)
        moved = np.where((np.abs(p) < 0.05) | (beta < 0.3), first, second)
        return np.ones((1, len(p))) / len(p), Moved(moved, 1.0)

    def maximize(self, stats, params, beta):
        return params._replace(x=stats.x)

    def factors(self, params, rows):
        return rows, np.array([0.5 + params.x, 0.5 - params.x])
