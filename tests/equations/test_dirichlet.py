"""Dirichlet distributions: the evidence and what Newton's method makes of it."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from skcooc.equations.dirichlet import best_prior, best_total, divergence, evidence, expected_log


def counts(C=40, prior=(0.5, 2.0, 0.1), seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(50, p) for p in rng.dirichlet(prior, C)]).astype(float)


def test_moments_are_those_of_samples():
    n, prior = np.array([[3.0, 0.0, 1.0]]), np.array([0.7, 0.5, 0.9])
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(n[0] + prior, 200_000)
    logs = np.log(np.maximum(posterior, 1e-300))
    np.testing.assert_allclose(expected_log(n, prior, prior.sum())[0], logs.mean(axis=0), rtol=0.02)
    likelihood = np.prod(rng.dirichlet(prior, 400_000) ** n, axis=1).mean()
    assert evidence(n, prior, prior.sum()) == pytest.approx(np.log(likelihood), abs=0.02)
    # log of the density ratio of posterior and prior is n log theta - evidence
    assert divergence(n, prior, prior.sum()) == pytest.approx(
        (logs @ n[0]).mean() - np.log(likelihood), abs=0.05
    )


def test_the_best_prior_is_that_of_a_general_optimiser():
    n = counts()
    peer = minimize(
        lambda t: -evidence(n, np.exp(t), np.exp(t).sum()), np.zeros(3), method="Nelder-Mead"
    )
    for start in (1e-3, 0.3, 100.0):
        found = best_prior(n, np.full(3, start))
        assert evidence(n, found, found.sum()) == pytest.approx(-peer.fun, abs=1e-4)


def test_the_best_total_is_that_of_a_general_optimiser():
    n, C = np.array([30.0, 5.0, 2.0, 1.0]), 10

    def value(total):
        return evidence(n[None], np.full(4, total / C), total)

    peer = minimize_scalar(lambda t: -value(np.exp(t)), bounds=(-9, 9), method="bounded")
    for start in (1e-3, 1.0, 100.0):
        assert value(best_total(n, start, C)) == pytest.approx(-peer.fun, abs=1e-4)


def test_the_evidence_never_falls():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, prior = rng.gamma(0.2, 20, (5, 4)), rng.gamma(0.3, 3, 4) + 1e-3
        found = best_prior(n, prior)
        assert evidence(n, found, found.sum()) >= evidence(n, prior, prior.sum())
        assert (found > 0).all()
