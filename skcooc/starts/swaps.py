"""Swaps of clusters of rows: one is divided, another removed, and EM from there may end lower."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from skcooc.em import EMResult, EMStage, OverRelaxation, State
from skcooc.em.stages import Runner
from skcooc.equations.memberships import MIN_SAMPLED, weight_unit, weighted_rows
from skcooc.equations.row_clusters import Params, RowClusters
from skcooc.protocol import Array, Block
from skcooc.simplex import first_largest, log, normalise, sums
from skcooc.starts import short_stage

SETTLING_ITERATIONS = 30  # before the first swap
# Of a trial. It has as many again if it is at most as far above the clusters before as it has
# fallen in the recent ones.
TRIAL_ITERATIONS, RECENT_ITERATIONS = 12, 4
DIVISION_ITERATIONS = 6
N_TRIALS = 3  # in vain, before the search ends
N_OF_ONE_DIVISION = 2  # of these, at most
MAX_SWAPS = 4
MIN_GAIN = 1e-5  # relative fall of the objective that is worth a swap
TOL, STEP_SIZE = 1e-6, 1.8


def swapped(
    model: RowClusters,
    X: Block,
    beta: float,
    state: State,
    rng: np.random.Generator,
    runner: Runner,
) -> State:
    """Return clusters after EM, and after swaps by which it ends lower.

    EM may end where two clusters share one true cluster and another covers two. To divide the one
    and remove one of the others leaves such an optimum; these moves are those of N. Ueda,
    R. Nakano, Z. Ghahramani and G. E. Hinton, SMEM algorithm for mixture models, Neural Computation
    12, 2000.
    """
    divisions: dict[int, tuple[float, Array]] = {}  # of clusters that no swap has changed since

    def run(start: State, max_iter: int) -> EMResult:
        stage = short_stage(model, X, beta, max_iter, TOL, runner)
        return runner.run([stage], rng, OverRelaxation(STEP_SIZE), start)

    def improved(best: EMResult) -> EMResult | None:
        for cluster in range(model.n_clusters):
            if cluster not in divisions:
                divisions[cluster] = division(cluster, model, X, beta, best.state, rng, runner)
        gains = np.array([divisions[cluster][0] for cluster in range(model.n_clusters)])
        costs = removal_costs(model, X, best.params, best.rows)
        for divided, removed in promising_pairs(gains, costs):
            if runner.stopped:
                break
            components = best.params.components.copy()
            components[:, [divided, removed]] = divisions[divided][1]
            params = best.params._replace(components=components)
            trial = run(State(params, best.rows), TRIAL_ITERATIONS)
            if trial.objective - recent_fall(trial) <= best.objective:
                trial = run(trial.state, TRIAL_ITERATIONS)
            if best.objective - trial.objective > MIN_GAIN * abs(best.objective):
                del divisions[divided], divisions[removed]
                return trial
        return None

    best = run(state, SETTLING_ITERATIONS)
    for _ in range(MAX_SWAPS):
        better = None if runner.stopped else improved(best)
        if better is None:
            break
        best = better
    return best.state


def recent_fall(run: EMResult) -> float:
    """Return by how many nats the objective fell in the recent iterations."""
    objectives = [record.free_energy for record in run.history[-1 - RECENT_ITERATIONS :]]
    return objectives[0] - objectives[-1]


def removal_costs(model: RowClusters, X: Block, params: Params, rows: Array) -> Array:
    """Return the nats (K,) that the clusters explain worse if one is removed.

    Each row is then divided among the other clusters in proportion to its posteriors, and these
    have the distributions of their counts.
    """
    counts = expected_counts(model, X, params, rows)
    nats = surprise(counts)
    costs = np.empty(len(nats))
    for cluster in range(len(costs)):
        others = np.arange(len(costs)) != cluster
        shares = normalise(rows[:, others], axis=1, otherwise=1 / (len(costs) - 1))
        moved = expected_counts(model, X, params, rows[:, [cluster]] * shares)
        costs[cluster] = (surprise(counts[:, others] + moved) - nats[others]).sum() - nats[cluster]
    return costs


def division(
    cluster: int,
    model: RowClusters,
    X: Block,
    beta: float,
    state: State,
    rng: np.random.Generator,
    runner: Runner,
) -> tuple[float, Array]:
    """Return the gain in nats from dividing a cluster, and P(y_j given each half), (M, 2).

    The halves are two clusters of the rows of which it is the most probable cluster. If these are
    all equal there are none, and the gain is minus infinity.
    """
    params, rows = state
    part = X.take(np.flatnonzero(first_largest(rows) == cluster))
    if len(part.draw(2, seed=0).keys) < 2:
        return -np.inf, np.empty((X.shape[1], 2), dtype=X.dtype)
    pair = replace(model, n_clusters=2)
    relative_unit = float(params.unit / weight_unit(part, model.object_weights))
    stage = EMStage(pair, part, beta * relative_unit, DIVISION_ITERATIONS, runner.tol)
    start = State(*pair.seeded(part, rng, MIN_SAMPLED))
    fit = runner.run([stage], rng, OverRelaxation(STEP_SIZE), start)
    counts = expected_counts(model, part, params, fit.rows)
    gain = surprise(sums(counts, axis=1)[:, None]).sum() - surprise(counts).sum()
    doubt = -np.sum(part.row_weights * sums(fit.rows * log(fit.rows), axis=1), dtype=np.float64)
    return float(gain + doubt / beta), fit.params.components


def promising_pairs(gains: Array, costs: Array) -> Iterator[tuple[int, int]]:
    """Yield a few pairs of a cluster to divide and one to remove, the largest net gain first."""
    net = np.subtract.outer(gains, costs)
    np.fill_diagonal(net, -np.inf)
    n_divided = np.zeros(len(costs), dtype=int)
    for place in np.argsort(-net, axis=None, kind="stable").tolist():
        divided, removed = divmod(place, len(costs))
        if n_divided.sum() == N_TRIALS or np.isneginf(net[divided, removed]):
            break
        if n_divided[divided] < N_OF_ONE_DIVISION:
            n_divided[divided] += 1
            yield divided, removed


def expected_counts(model: RowClusters, X: Block, params: Params, rows: Array) -> Array:
    """Return sum_i I_ik n_ij, (M, k), with rows of their weight."""
    return X.tdot(weighted_rows(X, rows, model.object_weights, params.unit)).astype(np.float64)


def surprise(counts: Array) -> Array:
    """Return the nats of counts (M, k) in their distributions: -sum_j C_jk log C_jk / C_k, (k,)."""
    totals = sums(counts, axis=0)
    return totals * log(totals) - sums(counts * log(counts), axis=0)
