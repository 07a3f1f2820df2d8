"""Posteriors, critical temperatures and seeds shared by the models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from skcooc.line_search import TemperatureRange
from skcooc.protocol import CSR, Array, Block, Clustering, Counts, Params, Rows, Statistics
from skcooc.simplex import entropy, first_largest, hardmax, log, normalise, softmax, sums

POWER_ITERATIONS, POWER_TOL = 100, 1e-4
LEAST_GAIN = 1e-3  # nats: less is rounding

# Usual best inverse temperature and search range, times the mean number of tokens of a row: as
# if so few of its tokens were independent.
USUAL = 6.0
ASYMMETRIC = (2.0, 20.0)
# Lower bounds of these, relative to the critical inverse temperature.
USUAL_CRITICAL = 2.0
ASYMMETRIC_CRITICAL = (1.0, 8.0)

# Seeding.
UNIGRAM_SHARE = 0.8  # share of the unigram in a cluster that begins with one row
PER_CLUSTER, MIN_SAMPLED = 8, 100  # sampled rows: for each cluster, and at least
LITTLE = 1e-9  # probability of rows that gain nothing
NOISE = 0.1  # relative, so that clusters differ

ObjectWeights: TypeAlias = Literal["counts", "sqrt", "equal"]
POWERS = {"counts": 1.0, "sqrt": 0.5, "equal": 0.0}  # a row weighs as much as size^power


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

    def log_ratios(components: Array, shared: Array, out: Array) -> None:
        log(components, out=out)
        out -= shared

    return X.dot(X.map_row_ranges(log_ratios, components, shared)), shared


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


def fill_empty_cluster(posteriors: Array, own_scores: Array, scores: Array) -> None:
    """Move the row with the worst log-likelihood to an empty cluster, if any.

    ``posteriors`` (n, K), zeros and ones, are changed in place. ``own_scores`` (n,) are
    log-likelihoods of rows in clusters of their own, ``scores`` (n, K) those in each cluster.
    """
    sizes = sums(posteriors, axis=0)
    if not sizes.all():
        worst = worst_explained(own_scores - sums(posteriors * scores, axis=1))
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
    size = model.object_size(X)
    collapse = model.critical_beta(X)
    largest = model.largest_beta
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
    g = column_factors[:, None]
    v = expected[:, None]
    x = np.random.default_rng(0).standard_normal(g.shape)
    growth = 0.0
    for _ in range(POWER_ITERATIONS):
        x *= g / np.sqrt(np.sum(x**2))
        back = X.total(partial(_there_and_back, x=x, expected=np.sum(v * x)), rows)
        x = g * (back[:-1] - v * back[-1])
        before = growth
        growth = float(np.sqrt(np.sum(x**2)))
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
    is_finite = totals >= np.finfo(totals.dtype).tiny
    return np.divide(1, totals, out=np.zeros_like(totals), where=is_finite)


def size_factors(sizes: Array, object_weights: ObjectWeights, unit: float | Array = 1.0) -> Array:
    """Factors unit * size^(power - 1) of the counts of rows with these numbers of tokens, (n,)."""
    return unit * reciprocals(sizes) ** (1 - POWERS[object_weights])


def row_factors(X: Block, object_weights: ObjectWeights, unit: Array) -> Array:
    """`size_factors` of the rows of a block, (n, 1), in the type of its counts."""
    if object_weights == "counts":
        return np.ones((X.shape[0], 1), dtype=X.dtype)
    return size_factors(X.row_sums, object_weights, unit)[:, None].astype(X.dtype)


def weighted_rows(X: Block, rows: Rows, object_weights: ObjectWeights, unit: Array) -> Rows:
    """Row states times the factors of their counts."""
    return rows * row_factors(X, object_weights, unit)


def total_weights(X: Block, object_weights: ObjectWeights) -> Array:
    """Number of tokens, and sum of size^power of the rows, (2,)."""
    sizes = X.row_sums
    weighted = sizes * size_factors(sizes, object_weights)
    return np.array([np.sum(X.row_weights * sizes), np.sum(X.row_weights * weighted)])


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
    reached = np.zeros(len(sizes))
    n_candidates = 2 + int(np.log(n_clusters))
    mean_size = sizes.mean() or 1.0
    seeds = []
    for _ in range(n_clusters):
        missing = np.maximum(gains.diagonal() - reached, 0)
        chances = missing / mean_size + LITTLE * (1 + sizes / mean_size)
        candidates = rng.choice(len(sizes), n_candidates, p=chances / chances.sum())
        reachable = np.maximum(reached[:, None], gains[:, candidates])
        best = int(reachable.sum(axis=0).argmax())
        reached = reachable[:, best]
        seeds.append(candidates[best])
    clusters = rng.uniform(1 - NOISE, 1 + NOISE, (len(overall), n_clusters))
    clusters *= UNIGRAM_SHARE * overall[:, None]
    single = scaled_rows(objects[seeds], reciprocals(sizes[seeds])).tocoo()
    clusters[single.col, single.row] += (1 - UNIGRAM_SHARE) * single.data
    return clusters


def scaled_rows(objects: CSR, factors: Array) -> CSR:
    data = objects.data * np.repeat(factors, np.diff(objects.indptr))
    return sp.csr_array((data, objects.indices, objects.indptr), shape=objects.shape)


def seed_gains(objects: CSR, overall: Array, sizes: Array) -> Array:
    """Gains in log-likelihood of rows by clusters that begin with rows, (n, n)."""
    ratios = scaled_rows(objects, (1 - UNIGRAM_SHARE) / UNIGRAM_SHARE * reciprocals(sizes))
    ratios.data = np.log1p(ratios.data * reciprocals(overall)[ratios.indices])
    return (objects.astype(np.float64) @ ratios.T).toarray()
