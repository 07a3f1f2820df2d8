"""How much more often a column is in a component than in the others: log-ratios, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import chi2

from skcooc.protocol import Array

PRIOR = 0.5  # observations of a column that are as others are, which shrink the ratios of rare ones
LEAST = 1e-6  # of the unigram, in the others that have nothing of a column
FARTHEST, STEPS = 30.0, 45  # of logits; halvings of an interval twice as long


class Ratios(NamedTuple):
    """Of C columns in a component, in nats."""

    ratio: Array  # (C,)
    low: Array  # (C,)
    high: Array  # (C,)


class Evidence(NamedTuple):
    """The observations of C columns, one after the other."""

    counts: Array  # (n,)
    expected: Array  # (n,): by the model
    odds: Array  # (n,): u / (u + v), for P(row given component) u and P(row given the others) v
    starts: Array  # (C,): where each column begins


def log_ratios(of: Evidence, share: float, level: float) -> Ratios:
    """The ratios that are most likely, and those that are not much less so.

    Of the observations of a column a share pi is of the component. Its likelihood is

        sum_i n_ij log(pi u_i + (1 - pi) v_i) + a (w log(pi) + (1 - w) log(1 - pi)),

    with a prior of a observations, which are of the component as often as all are, w; it is concave
    in pi. The logarithm of the ratio is logit(pi) - logit(w). Its interval is where twice the
    likelihood is less than a quantile of chi squared below its maximum.
    """
    C = len(of.starts)
    low, high = np.full(C, -FARTHEST), np.full(C, FARTHEST)
    best = _halved(lambda at: _slope(of, share, at) > 0, low, high)
    enough = _likelihood(of, share, best) - _dispersion(of, best) * chi2.ppf(level, 1) / 2
    first = _halved(lambda at: _likelihood(of, share, at) < enough, low, best)
    last = _halved(lambda at: _likelihood(of, share, at) >= enough, best, high)
    return Ratios(*(at - logit(share) for at in (best, first, last)))


def _halved(is_below: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where what is true below becomes false, between low and high, (C,)."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = is_below(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _likelihood(of: Evidence, share: float, at: Array) -> Array:
    """Of each column, (C,), where the logit of pi is this; see `log_ratios`."""
    prior = share * np.log(expit(at)) + (1 - share) * np.log(expit(-at))
    return np.add.reduceat(of.counts * np.log(_mixed(of, at)), of.starts) + PRIOR * prior


def _slope(of: Evidence, share: float, at: Array) -> Array:
    """Its derivative by the logit, (C,)."""
    return np.add.reduceat(of.counts * _surplus(of, at), of.starts) + PRIOR * (share - expit(at))


def _dispersion(of: Evidence, at: Array) -> Array:
    """How many times the variance of Poisson counts their variance is, (C,), but at least 1.

    By squares of what rows add to the slope, as of a quasi-likelihood: counts of rows that repeat
    what they have say less than as many from different rows.
    """
    squares = _surplus(of, at) ** 2
    found = np.add.reduceat((of.counts - of.expected) ** 2 * squares, of.starts)
    poisson = np.add.reduceat(of.counts * squares, of.starts)
    return np.divide(found, poisson, out=np.ones_like(found), where=found > poisson)


def _surplus(of: Evidence, at: Array) -> Array:
    """P(component given row and column) - pi, (n,)."""
    pi = np.repeat(expit(at), np.diff(of.starts, append=len(of.counts)))
    return pi * of.odds / _mixed(of, at) - pi


def _mixed(of: Evidence, at: Array) -> Array:
    """pi u + (1 - pi) v, divided by u + v, (n,)."""
    lengths = np.diff(of.starts, append=len(of.counts))
    pi, other = np.repeat(expit(at), lengths), np.repeat(expit(-at), lengths)
    return pi * of.odds + other * (1 - of.odds)
