"""Merge and split moves: further runs leave the local optimum of the best one so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skcooc.em.annealing import SplitComponents, mix_components
from skcooc.em.stages import EMStage, EMState, Solver, StageSchedule, State, Variation
from skcooc.protocol import Array, Block, Counts, Model, Params, Rows, Splittable, Statistics
from skcooc.simplex import hellinger

# Plain EM steps in which the copies separate: with fewer they hardly differ, with more they
# compete.
SEPARATION_ITERATIONS = 100
ROUNDING = 1e-6  # of the largest sum of squared shares: costs up to which a pair is equal


@dataclass(frozen=True)
class MergeAndSplitRuns(Variation):
    """Runs after the first one merge two components of the best result, and split another."""

    separating: Callable[[Mapping[str, Any]], Model]  # model in which copies separate, by values

    adds_iterations = False
    improves = True

    def improving(
        self, last: EMStage, solver: Solver, values: Mapping[str, Any], rank: int
    ) -> list[StageSchedule]:
        n_iter = min(round(SEPARATION_ITERATIONS / solver.pace), last.max_iter - 1)
        model = self.separating(values)
        separation = replace(last, model=model, max_iter=n_iter, tol=-np.inf, heldout=None)
        return [MergeAndSplit(separation, rank), replace(last, max_iter=last.max_iter - n_iter)]


@dataclass(frozen=True)
class MergeAndSplit(SplitComponents):
    """EM that leaves a local optimum: two components are merged, and another one is split.

    Merged is the pair that costs least. Then all are duplicated, EM separates the copies, and those
    are kept that would cost most to merge; see `merging_costs`. Merge and split moves are those of
    N. Ueda, R. Nakano, Z. Ghahramani and G. E. Hinton, SMEM algorithm for mixture models, Neural
    Computation 12, 2000; here they need no trials.
    """

    stage: EMStage  # in which copies separate, of a Splittable model
    rank: int = 0  # of the pair that is merged, the cheapest first

    def current_stage(self, run: EMState) -> EMStage:
        return self.stage

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        costs = merging_costs(self.model, self.stage.X, run.state)
        pairs = np.column_stack(np.triu_indices(len(costs), 1))
        order = np.argsort(costs[pairs[:, 0], pairs[:, 1]], kind="stable")
        first, second = pairs[order[self.rank % len(order)]].tolist()
        parts: list[tuple[int, ...]] = [(c,) for c in range(len(costs)) if c != second]
        parts[first] = (first, second)
        run.state = mix_components(self.model, run.state, parts)
        super().enter(run, rng)

    def finish(self, run: EMState) -> None:
        costs = merging_costs(self.model, self.stage.X, run.state)
        self.merge_copies(run, [int(costs.diagonal(run.n_clusters).argmax())])


def merging_costs(model: Splittable[Params, Statistics], X: Counts, state: State) -> Array:
    """Costs of merging pairs of components, (K, K): log-likelihood, roughly and up to a factor.

    The squared Hellinger distance of two components, times the variation of their shares within
    the sum of both: sum_i n_i (theta_ik - w (theta_ik + theta_il))^2, with the least w. So a pair
    costs little if its distributions are equal, or if rows use both in one proportion. For hard
    clusters this is the cost of `cheapest_merges`.
    """
    common = X.total(_common_shares, state.rows).astype(np.float64)
    return _variation(common) * hellinger(model.factors(*state)[1].T) ** 2


def merging_shares(model: Model, X: Counts, state: State, n: int) -> Array:
    """Return the shares (K, n) that merge components until n are left, the cheapest pair first.

    Costs are those of `merging_costs`; after a merge those of the new component are renewed.
    """
    common = X.total(_common_shares, state.rows).astype(np.float64)
    components = model.factors(*state)[1].T.astype(np.float64)
    masses = state.params.weights.astype(np.float64)
    distances = hellinger(components) ** 2
    shares = np.eye(len(masses), dtype=state.params.weights.dtype)
    alive = np.ones(len(masses), dtype=bool)
    for _ in range(len(masses) - n):
        costs = _variation(common) * distances
        costs[costs < ROUNDING * common.diagonal().max()] = 0  # pairs that are equal: the first
        costs[~(np.outer(alive, alive) & np.tri(len(alive), k=-1, dtype=bool))] = np.inf
        second, first = divmod(int(costs.argmin()), len(costs))
        alive[second] = False
        masses[first] += masses[second]
        share = masses[second] / max(masses[first], np.finfo(np.float64).tiny)
        components[first] += share * (components[second] - components[first])
        common[first] += common[second]
        common[:, first] += common[:, second]
        shares[:, first] += shares[:, second]
        squares = np.maximum(1 - np.sqrt(components) @ np.sqrt(components[first]), 0)
        distances[first] = squares
        distances[:, first] = squares
    return shares[:, alive]


def _variation(common: Array) -> Array:
    """Return the variation of two components' shares within the sum of both, (K, K)."""
    squares = common.diagonal()
    variation = np.maximum(np.outer(squares, squares) - common**2, 0)
    variation /= np.maximum(squares[:, None] + squares + 2 * common, np.finfo(np.float64).tiny)
    return variation


def _common_shares(X: Block, rows: Rows) -> Array:
    """Return sum_i n_i theta_ik theta_il, (K, K)."""
    tokens = (X.row_sums * X.row_weights).astype(rows.dtype)
    return rows.T @ (rows * tokens[:, None])
