"""Dirichlet distributions: expected logarithms, KL divergence, estimated priors.

A posterior is its prior (K,) plus expected counts (C, K), one distribution per row. Entries without
counts cancel and may be omitted; ``total`` is therefore the sum of the whole prior.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from skcooc.protocol import Array
from skcooc.simplex import sums

HALVINGS = 40  # of a step that lowers the evidence
NEWTON_STEPS, NEWTON_TOL = 50, 1e-8  # relative change of the prior
ROUNDING = 1e-13  # of the evidence, relative
LONGEST = 2.0  # step in the logarithm
MIN_PRIOR, MAX_PRIOR = 1e-6, 1e6  # limits of the prior, which may diverge


def expected_log(counts: Array, prior: Array, total: float) -> Array:
    """E[log theta] under Dir(prior + counts), (C, K).

    >>> expected_log(np.array([[0.0, 1.0]]), np.array([1.0, 1.0]), 2.0)
    array([[-1.5, -0.5]])
    """
    return digamma(counts + prior) - digamma(sums(counts, axis=1) + total)[:, None]


def divergence(counts: Array, prior: Array, total: float) -> float:
    """Sum over the rows of KL(Dir(prior + counts) || Dir(prior)), in nats."""
    counts = counts.astype(np.float64)
    prior = prior.astype(np.float64)
    expected = np.sum(counts * expected_log(counts, prior, total))
    return float(expected) - evidence(counts, prior, total)


def evidence(counts: Array, prior: Array, total: float) -> float:
    """Sum over the rows of log int prod_k theta_k^counts_k dDir(theta; prior), nats.

    >>> round(float(np.exp(evidence(np.array([[2.0, 1.0]]), np.array([1.0, 1.0]), 2.0))), 4)
    0.0833
    """
    rows = np.sum(gammaln(counts + prior) - gammaln(prior), dtype=np.float64)
    return float(rows - np.sum(gammaln(sums(counts, axis=1) + total) - gammaln(total)))


def best_prior(counts: Array, prior: Array) -> Array:
    """The prior (K,) with the largest evidence of counts (C, K), by Newton's method.

    The Hessian is diagonal plus a constant, so that its inverse costs no more than the gradient (T.
    Minka, Estimating a Dirichlet distribution, 2000).
    """
    counts = counts.astype(np.float64)

    def step(prior: Array) -> Array:
        slopes, shared, diagonal, constant = _slopes(counts, prior, float(prior.sum()))
        gradient, diagonal = _of_logarithms(prior, slopes + shared, diagonal)
        inverse = 1 / constant + np.sum(prior**2 / diagonal)
        if inverse > 0:  # the matrix is negative definite: else only its diagonal is
            gradient = gradient - prior * np.sum(prior * gradient / diagonal) / inverse
        return -gradient / diagonal

    return _climb(lambda prior: evidence(counts, prior, float(prior.sum())), step, prior)


def best_total(counts: Array, total: float, n_entries: int) -> float:
    """The sum of a symmetric prior with the largest evidence of one distribution.

    ``counts`` (k,) are its non-zero counts; the sum is divided equally over all n_entries.
    """
    row = counts.astype(np.float64)[None]

    def entries(total: Array) -> Array:
        return np.full(len(counts), total[0] / n_entries)

    def value(total: Array) -> float:
        return evidence(row, entries(total), float(total[0]))

    def step(total: Array) -> Array:
        slopes, shared, diagonal, constant = _slopes(row, entries(total), float(total[0]))
        slope = slopes.sum() / n_entries + shared
        curvature = diagonal.sum() / n_entries**2
        curvature += constant * (curvature + constant < 0)
        gradient, curvature = _of_logarithms(total, np.array([slope]), curvature)
        return -gradient / curvature

    return float(_climb(value, step, np.array([total]))[0])


def _slopes(counts: Array, prior: Array, total: float) -> tuple[Array, float, Array, float]:
    """First and second derivatives of the evidence by the entries and by their sum."""
    sizes = sums(counts, axis=1)
    slopes = sums(digamma(counts + prior) - digamma(prior), axis=0)
    shared = float(np.sum(digamma(total) - digamma(sizes + total)))
    diagonal = sums(polygamma(1, counts + prior) - polygamma(1, prior), axis=0)
    constant = float(np.sum(polygamma(1, total) - polygamma(1, sizes + total)))
    return slopes, shared, np.minimum(diagonal, -1e-300), constant


def _of_logarithms(prior: Array, gradient: Array, curvature: Array) -> tuple[Array, Array]:
    """Derivatives by the logarithms of the prior; curvatures are never positive."""
    return prior * gradient, prior**2 * curvature + np.minimum(prior * gradient, 0)


def _climb(value: Callable[[Array], float], step: Callable[[Array], Array], start: Array) -> Array:
    """Clipped steps in the logarithm, each halved until the value does not fall."""
    x = start.astype(np.float64)
    height = value(x)
    for _ in range(NEWTON_STEPS):
        direction = np.clip(step(x), -LONGEST, LONGEST)
        for halving in range(HALVINGS):
            new = np.clip(x * np.exp(direction * 0.5**halving), MIN_PRIOR, MAX_PRIOR)
            if (new_height := value(new)) >= height - ROUNDING * abs(height):
                break
        else:
            break
        change = np.abs(np.log(new / x)).max()
        x = new
        height = new_height
        if change < NEWTON_TOL:
            break
    return x.astype(start.dtype)
