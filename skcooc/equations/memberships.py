"""What models of clusters share: posteriors of objects, the critical temperature, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from skcooc.em import TemperatureRange
from skcooc.protocol import Array, Block, Clustering, Counts, Params, Rows, Statistics
from skcooc.simplex import entropy, first_largest, hardmax, log, softmax, sums

POWER_ITERATIONS, POWER_TOL = 100, 1e-4
LEAST_GAIN = 1e-3  # nats: less is rounding
# Inverse temperatures, times the mean number of observations of an object. On abstracts, word pairs
# and newsgroups the best one is 2 to 8, as if so few of its observations were independent.
USUAL, ASYMMETRIC = 6.0, (2.0, 20.0)
# Over the critical one, which rules where it takes very many observations to tell clusters apart.
USUAL_CRITICAL, ASYMMETRIC_CRITICAL = 2.0, (1.0, 8.0)


def posteriors(
    X: Block, scores: Array, factors: Array, weights: Array, hard: bool
) -> tuple[Rows, Array]:
    """P(c given object) ~ weights_c exp(factor * score_c), (n, K), or the largest score alone.

    Log-likelihoods ``scores`` (n, K) are overwritten; factors are (n, 1), weights (K,), and the
    threads are those of X. Also the evidence (n,), float64: log sum_c weights_c exp(factor *
    score_c), or the largest factor * score_c where hard.
    """
    log_weights, choose = (0.0, hardmax) if hard else (log(weights), softmax)

    def fill(factors: Array, evidence: Array, out: Array) -> None:
        out *= factors
        out += log_weights
        choose(out, evidence)

    evidence = np.empty((len(scores), 1), dtype=scores.dtype)
    X.rowwise(fill, factors, evidence, out=scores)
    return scores, evidence[:, 0].astype(np.float64)


def relative(components: Array, shared: Array, out: Array) -> None:
    """Logarithms less those of all components together, (M, K) and (M, 1); for Counts.rowwise."""
    log(components, out=out)
    out -= shared


def summed_out(
    X: Block, topics: Array, centers: Array, log_weights: Array, power: float
) -> tuple[Array, Array, Array, Array]:
    """psi_ic ~ exp(log_weights_c) prod_j P_jc^(power n_ij) with P = topics @ centers.T.

    From topics (M, K) and centers (C, K): psi (n, C); its evidence (n,), float64, the logarithms
    of what it is divided by, P being taken relative to what all clusters share; P (M, C); and what
    they share (M,), the mean of log P over the clusters.
    """

    def fill(evidence: Array, out: Array) -> None:
        out *= power
        out += log_weights
        softmax(out, evidence)

    P = topics @ centers.T
    relative = log(P)
    shared = relative.mean(axis=1)
    relative -= shared[:, None]  # small, so that rounding is, too
    psi = X.dot(relative)
    evidence = np.empty((len(psi), 1), dtype=psi.dtype)
    X.rowwise(fill, evidence, out=psi)
    return psi, evidence[:, 0].astype(np.float64), P, shared


def column_posteriors(scores: Array, weights: Array, hard: bool) -> Array:
    """As ``posteriors``, (M, K), of scores that are overwritten, with factors of one."""
    log_sums = np.empty((len(scores), 1), dtype=scores.dtype)
    if hard:
        hardmax(scores, log_sums)
    else:
        scores += log(weights)
        softmax(scores, log_sums)
    return scores


def column_prior(J: Array, weights: Array, beta: float) -> float:
    """Entropy and prior of posteriors (M, K) of columns: their part of the free energy, nats."""
    prior = float(np.sum(J * log(weights), dtype=np.float64))
    return (entropy(J) + prior) / beta


def worst_explained(gains: Array) -> int | None:
    """The object with which an empty cluster may start again, or None.

    ``gains`` (n,): log-likelihood of each object in a cluster of its own, less its present one.
    """
    worst = int(first_largest(gains[None])[0])
    return worst if gains[worst] > LEAST_GAIN else None


def fill_empty_cluster(posteriors: Array, own: Array, scores: Array) -> None:
    """Move the object that is explained worst to a cluster that is empty, if there is one.

    ``posteriors`` (n, K), zeros and ones, are overwritten; ``own`` (n,) is the log-likelihood of
    each object in a cluster of its own, ``scores`` (n, K) that in each cluster.
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
    """Where the best temperature of a model is looked for, on a logarithmic scale.

    ``within`` is a range, times the mean number of observations of an object; ``critical`` holds
    the least lower and upper end, over the critical inverse temperature.
    """
    low, high = _inverse_temperatures(model, X, within, critical)
    return TemperatureRange(min(low, high / 2), high, "log")


def usual_beta(model: Clustering[Params, Statistics], X: Counts) -> float:
    """The inverse temperature that is usually best."""
    return _inverse_temperatures(model, X, (USUAL,), (USUAL_CRITICAL,))[0]


def _inverse_temperatures(
    model: Clustering[Params, Statistics],
    X: Counts,
    of_size: Sequence[float],
    of_critical: Sequence[float],
) -> list[float]:
    """By the mean size of an object or over the critical one, whichever is larger, if it may be."""
    size, collapse, largest = model.object_size(X), model.critical_beta(X), model.largest_beta
    if np.isinf(min(collapse, largest)):
        collapse = 0.0  # nothing tells objects apart, at any temperature
    pairs = zip(of_size, of_critical, strict=True)
    return [min(largest, max(a / size, b * collapse)) for a, b in pairs]


def no_temperature(X: Counts) -> TemperatureRange:
    """The range for hard models, which do not depend on the temperature."""
    return TemperatureRange(1.0, 1.0)


def critical_beta(X: Counts, rows: Rows, column_factors: Array, expected: Array) -> float:
    """The inverse temperature at which a single cluster becomes unstable.

    With all clusters the same, a small change of them grows under EM by beta times the largest
    eigenvalue of Z'Z, where Z_ij = f_i (n_ij - u_i v_j) g_j with f and u in the columns of ``rows``
    (N, 2), the factors g of the columns, (M,), and v (M,): u_i v_j is what a single cluster
    expects. It is found by power iteration, and infinite where rows and columns are independent.
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
    """From columns (M, 1) to rows and back: X'z, and below it the sum of u_i z_i."""
    f, u = rows[:, :1], rows[:, 1:]
    z = f**2 * (X.dot(x) - u * expected)
    return np.append(X.tdot(z), [[np.sum(X.row_weights[:, None] * u * z)]], axis=0)


def reciprocals(totals: Array) -> Array:
    """1 / totals, and zero where there is nothing, or so little that it would be infinite."""
    some = totals >= np.finfo(totals.dtype).tiny
    return np.divide(1, totals, out=np.zeros_like(totals), where=some)
