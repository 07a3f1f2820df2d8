"""Posteriors, critical temperatures and initialisation shared by the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from skcooc.em import (
    EMResult,
    EMStage,
    OverRelaxation,
    State,
    TemperatureRange,
    fit,
    increasing_beta,
)
from skcooc.em.annealing import mix_components
from skcooc.em.solvers import PlainEM
from skcooc.em.stages import StageSchedule
from skcooc.protocol import (
    CSR,
    Array,
    Block,
    Clustering,
    Counts,
    MergeableClusters,
    Params,
    Rows,
    Statistics,
)
from skcooc.simplex import entropy, first_largest, hardmax, log, normalise, softmax, sums

POWER_ITERATIONS, POWER_TOL = 100, 1e-4
LEAST_GAIN = 1e-3  # nats: less is rounding

# Usual best inverse temperature and search range, times the mean number of tokens of a row: as
# if so few of its tokens were independent.
USUAL, ASYMMETRIC = 6.0, (2.0, 20.0)
# Lower bounds of these, relative to the critical inverse temperature.
USUAL_CRITICAL, ASYMMETRIC_CRITICAL = 2.0, (1.0, 8.0)

# The same where the runs of `best_start` begin: softer clusters have fewer local optima.
SOFT, SOFT_CRITICAL = 3.0, 3.0
SEPARATION = 1e-2  # relative noise: some coincide that would not at a larger beta

# Seeding.
UNIGRAM_SHARE = 0.8  # share of the unigram in a cluster that begins with one row
PER_CLUSTER, MIN_SAMPLED = 8, 100  # sampled rows: for each cluster, and at least
MANY_SAMPLED = 200  # the same of `best_start`
LITTLE = 1e-9  # probability of rows that gain nothing
NOISE = 0.1  # relative, so that clusters differ

# Initialisation by short runs.
SPARE = 3  # one more cluster for each so many, to be merged after the first iterations
FIRST_ITERATIONS = 4  # before merging
ONLY_ITERATIONS = 8  # before merging, if there is a single run
ROUNDS = (3, 4, 4)  # iterations of each round, after which the better half of the runs continues
# Number of runs: 64 / n_clusters within these limits.
RUNS_TIMES_CLUSTERS, MIN_RUNS, MAX_RUNS = 64, 4, 8
START_ITERATIONS, START_TOL, START_STEP_SIZE = 30, 1e-5, 1.8

ObjectWeights: TypeAlias = Literal["counts", "sqrt", "equal"]
POWERS = {"counts": 1.0, "sqrt": 0.5, "equal": 0.0}  # a row weighs as much as size^power

Mergeable: TypeAlias = MergeableClusters[Params, Statistics]


class ColumnDistributions:
    """A mixture of distributions of columns, the ``components`` (M, K), without a prior."""

    def restrict(self, params: Any, columns: Array) -> Any:
        return params._replace(components=params.components[columns])

    def factors(self, params: Any, rows: Rows) -> tuple[Array, Array]:
        return rows, params.components


def random_distributions(shape: tuple[int, int], X: Counts, rng: np.random.Generator) -> Array:
    """Columns of an array that are random distributions, not far from uniform."""
    return normalise(rng.uniform(0.5, 1.5, shape).astype(X.dtype), axis=0, otherwise=0.0)


def perturbed(P: Array, rng: np.random.Generator, amount: float, axis: int = 0) -> Array:
    """Distributions along an axis, with noise of this relative size."""
    noise = rng.uniform(1 - amount, 1 + amount, P.shape)
    return normalise(P * noise.astype(P.dtype), axis=axis, otherwise=0.0)


def merged_components(components: Array, weights: Array, shares: Array) -> Array:
    """Means of components (M, K) of these weights, by their shares (K, K') in new ones."""
    unweighted = components @ shares / sums(shares, axis=0)
    return normalise((components * weights) @ shares, axis=0, otherwise=unweighted)


def uniform_mixtures(X: Counts, n: int) -> tuple[Array, Rows]:
    """Equal weights, (n,), and row states that equal them."""
    weights = np.full(n, 1 / n, dtype=X.dtype)
    return weights, np.broadcast_to(weights, (X.shape[0], n))


def posteriors(
    X: Block, scores: Array, factors: Array, weights: Array, hard: bool
) -> tuple[Rows, Array]:
    """P(c given row) ~ weights_c exp(factor * score_c), (n, K); hard: 1 at the largest score.

    Log-likelihoods ``scores`` (n, K) are overwritten; factors are (n, 1), weights (K,). Also
    returns the logarithms of the normalisers (n,), float64; hard: the largest factor * score_c, and
    an empty row keeps the prior.
    """
    log_weights, choose = (0.0, hardmax) if hard else (log(weights), softmax)

    def fill(factors: Array, evidence: Array, out: Array) -> None:
        out *= factors
        out += log_weights
        choose(out, evidence)

    evidence = np.empty((len(scores), 1), dtype=scores.dtype)
    X.map_row_ranges(fill, factors, evidence, out=scores)
    log_sums = evidence[:, 0].astype(np.float64)
    if hard:
        scores[X.row_sums == 0], log_sums[X.row_sums == 0] = weights, 0
    return scores, log_sums


def relative_scores(X: Block, components: Array, weights: Array) -> tuple[Array, Array]:
    """Log-likelihoods of rows in clusters, (n, K), minus those in one cluster: with less rounding.

    Also returns the log-probabilities of the columns in this cluster, (M, 1). From components
    (M, K) and their weights (K,).
    """
    shared = log(components @ weights)[:, None]
    return X.dot(X.map_row_ranges(_log_ratios, components, shared)), shared


def _log_ratios(components: Array, shared: Array, out: Array) -> None:
    log(components, out=out)
    out -= shared


def marginal_posteriors(
    X: Block, topics: Array, centers: Array, log_weights: Array, power: float
) -> tuple[Array, Array, Array, Array]:
    """Posteriors psi_ic ~ w_c prod_j P_jc^(power n_ij), with P = topics @ centers.T.

    From topics (M, K) and centers (C, K). Returns psi (n, C); the logarithms of its normalisers
    (n,), float64, with P relative to ``shared``; P (M, C); and ``shared`` (M,), the mean of log P.
    """

    def fill(evidence: Array, out: Array) -> None:
        out *= power
        out += log_weights
        softmax(out, evidence)

    P = topics @ centers.T
    log_P = log(P)
    shared = log_P.mean(axis=1)
    log_P -= shared[:, None]  # smaller numbers have less rounding error
    psi = X.dot(log_P)
    evidence = np.empty((len(psi), 1), dtype=psi.dtype)
    X.map_row_ranges(fill, evidence, out=psi)
    return psi, evidence[:, 0].astype(np.float64), P, shared


def column_posteriors(scores: Array, weights: Array, hard: bool) -> Array:
    """Posteriors of columns, (M, K), in place of their scores; see `posteriors`."""
    log_sums = np.empty((len(scores), 1), dtype=scores.dtype)
    if hard:
        hardmax(scores, log_sums)
    else:
        scores += log(weights)
        softmax(scores, log_sums)
    return scores


def column_prior(J: Array, weights: Array, beta: float) -> float:
    """Entropy and log prior of column posteriors (M, K), divided by beta, nats."""
    prior = float(np.sum(J * log(weights), dtype=np.float64))
    return (entropy(J) + prior) / beta


def worst_explained(gains: Array) -> int | None:
    """The row with which an empty cluster is re-initialised, or None.

    ``gains`` (n,): its log-likelihood in a cluster of its own, minus the present one.
    """
    worst = int(first_largest(gains[None])[0])
    return worst if gains[worst] > LEAST_GAIN else None


def fill_empty_cluster(posteriors: Array, own: Array, scores: Array) -> None:
    """Move the row with the worst log-likelihood to an empty cluster, if any.

    ``posteriors`` (n, K), zeros and ones, are changed in place; ``own`` (n,) are log-likelihoods of
    rows in clusters of their own, ``scores`` (n, K) those in each cluster.
    """
    sizes = sums(posteriors, axis=0)
    if not sizes.all():
        worst = worst_explained(own - sums(posteriors * scores, axis=1))
        if worst is not None:
            posteriors[worst] = np.arange(len(sizes)) == sizes.argmin()


def temperatures(
    model: Clustering[Params, Statistics],
    X: Counts,
    within: tuple[float, float] = ASYMMETRIC,
    critical: tuple[float, float] = ASYMMETRIC_CRITICAL,
) -> TemperatureRange:
    """The range in which the best temperature is searched; see `inverse_temperatures`."""
    low, high = inverse_temperatures(model, X, within, critical)
    return TemperatureRange(min(low, high / 2), high, "log")


def usual_cluster_beta(model: Clustering[Params, Statistics], X: Counts) -> float:
    return inverse_temperatures(model, X, (USUAL,), (USUAL_CRITICAL,))[0]


def inverse_temperatures(
    model: Clustering[Params, Statistics],
    X: Counts,
    of_size: Sequence[float],
    of_critical: Sequence[float],
) -> list[float]:
    """Multiples of 1 / mean tokens of a row, or of the critical beta if that is larger."""
    size, collapse, largest = model.object_size(X), model.critical_beta(X), model.largest_beta
    if np.isinf(min(collapse, largest)):
        collapse = 0.0  # rows cannot be told apart at any temperature
    pairs = zip(of_size, of_critical, strict=True)
    return [min(largest, max(a / size, b * collapse)) for a, b in pairs]


def no_temperature(X: Counts) -> TemperatureRange:
    """A range of one value: hard models do not depend on the temperature."""
    return TemperatureRange(1.0, 1.0)


def critical_beta(X: Counts, rows: Rows, column_factors: Array, expected: Array) -> float:
    """The inverse temperature at which a single cluster becomes unstable.

    A small difference of clusters grows per EM step by beta times the largest eigenvalue of Z'Z,
    where Z_ij = f_i (n_ij - u_i v_j) g_j, with f and u the columns of ``rows`` (N, 2), g the
    ``column_factors`` (M,) and v ``expected`` (M,). Infinite if rows and columns are independent.
    """
    g, v = column_factors[:, None], expected[:, None]
    x = np.random.default_rng(0).standard_normal(g.shape)
    growth = 0.0
    for _ in range(POWER_ITERATIONS):
        x *= g / np.sqrt(np.sum(x**2))
        back = X.total(partial(_there_and_back, x=x, expected=np.sum(v * x)), rows)
        x = g * (back[:-1] - v * back[-1])
        before, growth = growth, float(np.sqrt(np.sum(x**2)))
        if growth < 1e-9:
            return float("inf")
        if growth - before < POWER_TOL * growth:
            break
    return 1 / growth


def _there_and_back(X: Block, rows: Array, x: Array, expected: float) -> Array:
    f, u = rows[:, :1], rows[:, 1:]
    z = f**2 * (X.dot(x) - u * expected)
    return np.append(X.tdot(z), [[np.sum(X.row_weights[:, None] * u * z)]], axis=0)


def reciprocals(totals: Array) -> Array:
    """1 / totals, and zero where that would be infinite."""
    some = totals >= np.finfo(totals.dtype).tiny
    return np.divide(1, totals, out=np.zeros_like(totals), where=some)


def size_factors(sizes: Array, object_weights: ObjectWeights, unit: float | Array = 1.0) -> Array:
    """Factors unit * size^(power - 1) of the counts of rows with these numbers of tokens, (n,)."""
    return unit * reciprocals(sizes) ** (1 - POWERS[object_weights])


def total_weights(X: Block, object_weights: ObjectWeights) -> Array:
    """Number of tokens, and sum of size^power of the rows, (2,)."""
    weights, sizes = X.row_weights, X.row_sums
    weighted = sizes * size_factors(sizes, object_weights)
    return np.array([np.sum(weights * sizes), np.sum(weights * weighted)])


def weight_unit(X: Counts, object_weights: ObjectWeights) -> Array:
    """Unit of `size_factors` with which the number of tokens stays, ()."""
    n_tokens, total = X.total(partial(total_weights, object_weights=object_weights)).tolist()
    return unit_of(n_tokens, total, X.dtype)


def unit_of(n_tokens: float, total: float, dtype: np.dtype[Any]) -> Array:
    """Unit of `size_factors`, (), from the results of `total_weights`; 1 if the second is zero."""
    return np.array(n_tokens / total if total else 1.0, dtype=dtype)


def seed_clusters(objects: CSR, overall: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Clusters (M, K): the unigram ``overall`` (M,), mixed with one of the rows (n, M) each.

    Greedy k-means++ (D. Arthur and S. Vassilvitskii, SODA 2007): some rows are drawn in
    proportion to what their log-likelihood gains in a cluster of their own; the largest total wins.
    """
    sizes = np.asarray(objects.sum(axis=1), dtype=np.float64)
    gains = seed_gains(objects, overall, sizes)
    own, reached, n_tried = gains.diagonal(), np.zeros(len(sizes)), 2 + int(np.log(n_clusters))
    chosen, usual = [], sizes.mean() or 1.0
    for _ in range(n_clusters):
        chances = np.maximum(own - reached, 0) / usual + LITTLE * (1 + sizes / usual)
        tried = rng.choice(len(sizes), n_tried, p=chances / chances.sum())
        reachable = np.maximum(reached[:, None], gains[:, tried])
        best = int(reachable.sum(axis=0).argmax())
        reached = reachable[:, best]
        chosen.append(tried[best])
    noise = rng.uniform(1 - NOISE, 1 + NOISE, (len(overall), n_clusters))
    single = objects[chosen].toarray().T * reciprocals(sizes[chosen])
    return UNIGRAM_SHARE * overall[:, None] * noise + (1 - UNIGRAM_SHARE) * single


def scaled_rows(objects: CSR, factors: Array) -> CSR:
    data = objects.data * np.repeat(factors, np.diff(objects.indptr))
    return sp.csr_array((data, objects.indices, objects.indptr), shape=objects.shape)


def seed_gains(objects: CSR, overall: Array, sizes: Array) -> Array:
    """Gains in log-likelihood of rows by clusters that begin with rows, (n, n)."""
    ratios = scaled_rows(objects, (1 - UNIGRAM_SHARE) / UNIGRAM_SHARE * reciprocals(sizes))
    ratios.data = np.log1p(ratios.data * reciprocals(overall)[ratios.indices])
    return (objects.astype(np.float64) @ ratios.T).toarray()


def best_start(model: Mergeable, X: Counts, rng: np.random.Generator) -> State:
    """The best of several short runs at the usual temperature, by successive halving.

    From random clusters EM often ends where two share one true cluster and another covers two. So
    each run begins with dissimilar rows and spare clusters, and the most similar are merged.
    With more clusters runs differ less, so that fewer are made.
    """
    if model.n_clusters == 1:
        return State(*model.random(X, rng))
    soft, usual = inverse_temperatures(model, X, (SOFT, USUAL), (SOFT_CRITICAL, USUAL_CRITICAL))
    stage = _short_stage(model, X, soft, FIRST_ITERATIONS)
    n_runs = min(MAX_RUNS, max(MIN_RUNS, RUNS_TIMES_CLUSTERS // model.n_clusters))
    states = [_merged_start(model, stage, rng, MANY_SAMPLED) for _ in range(n_runs)]
    for n_iter in ROUNDS:
        stage = replace(stage, max_iter=n_iter)
        ended = sort_by_objective([_run(stage, rng, state) for state in states])
        states = ended[: (len(ended) + 1) // 2]
        stage = replace(stage, beta=usual)
    params, rows = states[0]
    return State(model.perturb(params, rng, SEPARATION), rows)


def short_start(model: Mergeable, X: Counts, rng: np.random.Generator) -> State:
    """A single run of `best_start`."""
    stage = _short_stage(model, X, usual_cluster_beta(model, X), ONLY_ITERATIONS)
    return _merged_start(model, stage, rng, MIN_SAMPLED)


def soft_start(
    soft: Clustering[Params, Statistics],
    X: Counts,
    rng: np.random.Generator,
    annealing: float | None = None,
) -> EMResult:
    """Short fit of a soft model at the usual temperature, from which other models start.

    If ``annealing`` is a number, clusters split on the way.
    """
    stage = EMStage(soft, X, usual_cluster_beta(soft, X), START_ITERATIONS, START_TOL)
    stages: Sequence[StageSchedule] = [stage]
    if annealing is not None:
        stages = increasing_beta(annealing, soft.critical_beta)(stage)
    return fit(stages, rng, PlainEM())


def hard_start(model: Any, X: Counts, rng: np.random.Generator) -> State:
    """Start a hard model from a soft one: it keeps most of a random initialisation."""
    return soft_start(replace(model, hard=False), X, rng).state


def sort_by_objective(runs: Sequence[EMResult]) -> list[State]:
    """Final states of runs, the best first; a stable order of equal ones."""
    least = min(run.objective for run in runs)
    unit = START_TOL * (abs(least) or 1.0)  # zero for a table of one column
    order = sorted(runs, key=lambda run: (run.objective - least) // unit)
    return [run.state for run in order]


def ward_groups(overlaps: Array, n_clusters: int) -> list[tuple[int, ...]]:
    """Groups of clusters to merge, by Ward's method at Hellinger distance.

    ``overlaps`` (K, K): scalar products of the roots of the clusters' shares of each row.
    """
    masses, least = overlaps.diagonal().astype(np.float64), np.finfo(float).tiny
    cosines = overlaps / np.sqrt(np.maximum(np.outer(masses, masses), least))
    weights = np.outer(masses, masses) / np.maximum(np.add.outer(masses, masses), least)
    cost = weights * (2 - 2 * cosines)  # increase of the within-cluster variance by merging
    np.fill_diagonal(cost, np.inf)
    parts: dict[int, tuple[int, ...]] = {c: (c,) for c in range(len(cost))}
    while len(parts) > n_clusters:
        alive = np.array(list(parts))
        nearest = divmod(int(cost[np.ix_(alive, alive)].argmin()), len(alive))
        a, b = alive[sorted(nearest)].tolist()
        others = alive[(alive != a) & (alive != b)]
        far = [(masses[c] + masses[others]) * cost[c, others] for c in (a, b)]
        total = masses[a] + masses[b] + masses[others]
        further = far[0] + far[1] - masses[others] * cost[a, b]
        cost[a, others] = cost[others, a] = further / np.maximum(total, least)
        masses[a] += masses[b]
        parts[a] += parts.pop(b)
    return list(parts.values())


def _short_stage(model: Mergeable, X: Counts, beta: float, n_iter: int) -> EMStage:
    return EMStage(model, X, beta, n_iter, 0.1 * START_TOL)


def _merged_start(
    model: Mergeable, stage: EMStage, rng: np.random.Generator, n_sampled: int
) -> State:
    """A short run with spare clusters, merged to the number asked for."""
    n_clusters = model.n_clusters + model.n_clusters // SPARE
    more = replace(model, n_clusters=n_clusters)  # type: ignore[type-var]
    found = _run(replace(stage, model=more), rng, State(*more.seeded(stage.X, rng, n_sampled)))
    state = found.state
    return mix_components(
        model, state, ward_groups(model.overlaps(stage.X, *state), model.n_clusters)
    )


def _run(stage: EMStage, rng: np.random.Generator, start: State) -> EMResult:
    return fit([stage], rng, OverRelaxation(START_STEP_SIZE), start=start)
