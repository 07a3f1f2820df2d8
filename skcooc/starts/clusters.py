"""Starts of clusters: the best of several short runs, or a short fit of a softer model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em import EMResult, OverRelaxation, State, increasing_beta
from skcooc.em.annealing import mix_components, one_cluster_start
from skcooc.em.solvers import PlainEM
from skcooc.em.stages import Runner, Start
from skcooc.equations.coclusters import ClassBigrams, CoClusters
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import (
    MIN_SAMPLED,
    USUAL,
    USUAL_CRITICAL,
    inverse_temperatures,
    usual_cluster_beta,
)
from skcooc.equations.row_clusters import PredictiveClusters, RowClusters
from skcooc.protocol import Array, Counts, MergeableClusters, Params, Statistics
from skcooc.starts import short_stage
from skcooc.starts.swaps import swapped

# Inverse temperature at which the runs begin, like USUAL: softer clusters have fewer local optima.
SOFT, SOFT_CRITICAL = 3.0, 3.0
# Below the usual, where swaps are made with estimated proportions, and above it.
FIRM, CLEAR = 4.5, 8.0
SEPARATION = 1e-2  # relative noise: some coincide that would not at a larger beta
MANY_SAMPLED = 200  # rows from which the runs are seeded, at least

SPARE = 3  # one more cluster for each so many, to be merged after the first iterations
FIRST_ITERATIONS = 4  # before merging
ONLY_ITERATIONS = 8  # before merging, if there is a single run
ROUNDS = (3, 4, 4)  # iterations of each round, after which the better half of the runs continues
# Number of runs: 64 / n_clusters within these limits.
RUNS_TIMES_CLUSTERS, MIN_RUNS, MAX_RUNS = 64, 4, 8
LEAST_MAX_ITER = 60  # of a fit whose clusters are swapped; fewer would not do for a swap
LAST_ITERATIONS = 10  # after which clusters with swaps and without are compared
START_ITERATIONS, START_TOL, START_STEP_SIZE = 30, 1e-5, 1.8
SHARE_OF_TOL = 0.1  # of the tolerance, in runs of a few iterations

Mergeable: TypeAlias = MergeableClusters[Params, Statistics]


def best_start(model: Mergeable, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return the best of several short runs at the usual temperature, by successive halving.

    From random clusters EM often ends where two share one true cluster and another covers two. So
    each run begins with dissimilar rows and spare clusters, and the most similar are merged.
    With more clusters runs differ less, so that fewer are made. A run has at most
    ``runner.max_iter`` iterations in all. If these allow no round after merging, one run is made.
    """
    if model.n_clusters == 1:
        return State(*model.start(X, rng))
    soft, usual = inverse_temperatures(model, X, (SOFT, USUAL), (SOFT_CRITICAL, USUAL_CRITICAL))
    n_runs = min(MAX_RUNS, max(MIN_RUNS, RUNS_TIMES_CLUSTERS // model.n_clusters))
    n_left = runner.max_iter - FIRST_ITERATIONS
    if n_left <= 0:
        n_runs = 1
    states = []
    for _ in range(n_runs):
        states.append(merged_start(model, X, soft, FIRST_ITERATIONS, MANY_SAMPLED, rng, runner))
    beta = soft
    for n_iter in ROUNDS:
        if n_left <= 0 or runner.stopped:
            break
        stage = short_stage(model, X, beta, min(n_iter, n_left), START_TOL, runner, SHARE_OF_TOL)
        runs = [runner.run([stage], rng, OverRelaxation(START_STEP_SIZE), s) for s in states]
        states = sort_by_objective(runs)[: (len(runs) + 1) // 2]
        beta = usual
        n_left -= n_iter
    params, rows = states[0]
    return State(model.perturb(params, rng, SEPARATION), rows)


def swapped_start(model: RowClusters, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return the best of `best_start` and what swaps make of it.

    At the usual inverse temperature few swaps end lower, so they are made at a smaller one, with
    uniform proportions, because estimated ones would starve clusters there. But uniform ones divide
    a large cluster. So where proportions are estimated, further swaps are made with them at an
    inverse temperature in between. There they still join clusters that are separate: what they find
    must be lower at one above the usual. A table whose rows are not in memory has no swaps, as they
    need a table of the rows of one cluster.
    """
    uniform = replace(model, proportions="uniform")
    start = best_start(uniform, X, rng, runner)
    if runner.max_iter < LEAST_MAX_ITER or runner.stopped:
        return start
    if model.n_clusters < 3 or not isinstance(X, CSRCounts):
        return start
    of_size = SOFT, FIRM, CLEAR
    soft, firm, clear = inverse_temperatures(model, X, of_size, 3 * (USUAL_CRITICAL,))

    def lowest(states: Sequence[State], beta: float) -> State:
        stage = short_stage(model, X, beta, LAST_ITERATIONS, START_TOL, runner, SHARE_OF_TOL)
        runs = [runner.run([stage], rng, OverRelaxation(START_STEP_SIZE), s) for s in states]
        return sort_by_objective(runs)[0]

    evenly = swapped(uniform, X, soft, start, rng, runner)
    best = lowest([start, evenly], firm)
    if model.proportions == "estimated":
        best = lowest([evenly, swapped(model, X, firm, best, rng, runner)], clear)
    params, rows = best
    return State(model.perturb(params, rng, SEPARATION), rows)


def short_start(model: Mergeable, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return a single run of `best_start`."""
    beta = usual_cluster_beta(model, X)
    return merged_start(model, X, beta, ONLY_ITERATIONS, MIN_SAMPLED, rng, runner)


def merged_start(
    model: Mergeable,
    X: Counts,
    beta: float,
    n_iter: int,
    n_sampled: int,
    rng: np.random.Generator,
    runner: Runner,
) -> State:
    """Return a short run with spare clusters, merged to the number asked for."""
    n_clusters = model.n_clusters + model.n_clusters // SPARE
    larger = replace(model, n_clusters=n_clusters)  # type: ignore[type-var]
    stage = short_stage(larger, X, beta, n_iter, START_TOL, runner, SHARE_OF_TOL)
    seeds = State(*larger.seeded(X, rng, n_sampled))
    state = runner.run([stage], rng, OverRelaxation(START_STEP_SIZE), seeds).state
    groups = ward_groups(model.overlaps(X, *state), model.n_clusters)
    return mix_components(model, state, groups)


def sort_by_objective(runs: Sequence[EMResult]) -> list[State]:
    """Return the final states of runs, the best first, in a stable order of equal ones."""
    lowest = min(run.objective for run in runs)
    unit = START_TOL * (abs(lowest) or 1.0)  # zero for a table of one column
    order = sorted(runs, key=lambda run: (run.objective - lowest) // unit)
    return [run.state for run in order]


def soft_fit(
    model: Any,
    start: Start,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    annealing: float | None = None,
) -> EMResult:
    """Return a short fit of soft clusters at the usual temperature, from which other models start.

    If ``annealing`` is a number, clusters split on the way.
    """
    beta = usual_cluster_beta(model, X)
    stage = short_stage(model, X, beta, START_ITERATIONS, START_TOL, runner)
    if annealing is None:
        return runner.run([stage], rng, PlainEM(), start(model, X, rng, runner))
    stages = increasing_beta(replace(stage, tol=START_TOL), annealing, model.critical_beta)
    return runner.run(stages, rng, PlainEM(), one_cluster_start(model, X, rng, runner))


def hard_start(model: Any, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return a soft fit, as a hard model keeps most of a random initialisation."""
    return soft_fit(replace(model, hard=False), best_start, X, rng, runner).state


def hard_row_start(
    model: RowClusters, X: Counts, rng: np.random.Generator, runner: Runner
) -> State:
    """Return a soft fit with estimated proportions, and square roots in the place of counts.

    A row hardly leaves its hard cluster, whose distribution has its counts. So the soft fit decides
    what is found, and by maximum likelihood it follows a few long rows.
    """
    weights = "sqrt" if model.object_weights == "counts" else model.object_weights
    soft = replace(model, hard=False, object_weights=weights, proportions="estimated")
    params, rows = soft_fit(soft, swapped_start, X, rng, runner).state
    uniform = np.full_like(params.weights, 1 / model.n_clusters)
    return State(model.for_table(params._replace(weights=uniform), X), rows)


def seeded_start(model: Mergeable, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return clusters that begin with single rows far from each other."""
    return State(*model.seeded(X, rng, MIN_SAMPLED))


def left_out_start(
    model: PredictiveClusters, X: Counts, rng: np.random.Generator, runner: Runner
) -> State:
    """Return a fit of plain clusters, and the E-step whose counts are left out."""
    fit = soft_fit(model.clusters, best_start, X, rng, runner)
    return State(*model.after_a_step(X, fit.params, fit.rows, fit.beta))


def cocluster_start(
    model: CoClusters,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    annealing: float | None = None,
) -> State:
    """Return both sides from asymmetric clusterings, annealed if ``annealing`` is given.

    Random clusters would fail: with posteriors rho_c (1 + a_ic) of rows and rho_d (1 + b_jd) of
    columns, the log-associations are of second order, sum_ij p_ij a_ic b_jd but for a constant,
    and the next a and b of third. The unigram is stable at any temperature.
    """
    columns_model = ColumnClusters(model.n_column_clusters)
    rows = soft_fit(model.row_clusters, best_start, X, rng, runner, annealing).rows
    columns = soft_fit(columns_model, best_start, X, rng, runner, annealing)
    return State(*model.from_clusters(X, rows, columns.params.memberships))


def bigram_start(model: ClassBigrams, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return clusters of rows, which are also those of columns."""
    rows = soft_fit(RowClusters(model.n_clusters), best_start, X, rng, runner).rows
    return State(*model.from_labels(X, rows.argmax(axis=1)))


def ward_groups(overlaps: Array, n_clusters: int) -> list[tuple[int, ...]]:
    """Groups of clusters to merge, by Ward's method at Hellinger distance.

    ``overlaps`` (K, K): scalar products of the roots of the clusters' shares of each row.
    """
    tiny = np.finfo(float).tiny
    masses = overlaps.diagonal().astype(np.float64)
    cosines = overlaps / np.sqrt(np.maximum(np.outer(masses, masses), tiny))
    weights = np.outer(masses, masses) / np.maximum(np.add.outer(masses, masses), tiny)
    cost = weights * (2 - 2 * cosines)  # increase of the within-cluster variance by merging
    np.fill_diagonal(cost, np.inf)
    parts: dict[int, tuple[int, ...]] = {c: (c,) for c in range(len(cost))}
    while len(parts) > n_clusters:
        alive = np.array(list(parts))
        nearest = divmod(int(cost[np.ix_(alive, alive)].argmin()), len(alive))
        a, b = alive[sorted(nearest)].tolist()
        rest = alive[(alive != a) & (alive != b)]
        from_a = (masses[a] + masses[rest]) * cost[a, rest]
        from_b = (masses[b] + masses[rest]) * cost[b, rest]
        numerators = from_a + from_b - masses[rest] * cost[a, b]
        totals = masses[a] + masses[b] + masses[rest]
        cost[a, rest] = cost[rest, a] = numerators / np.maximum(totals, tiny)
        masses[a] += masses[b]
        parts[a] += parts.pop(b)
    return list(parts.values())
