"""Probabilistic clustering-projection word for word, eqs. (4)-(9), on small dense tables.

gamma (C, K) and eta (C,) belong to all clusters, also to those that have died.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln


class Posterior(NamedTuple):
    """Everything that the bound speaks of."""

    B: np.ndarray  # (M, K)
    gamma: np.ndarray  # (C, K)
    eta: np.ndarray  # (C,)
    alpha: float
    lam: np.ndarray  # (K,)

    @property
    def log_pi(self):
        return digamma(self.eta) - digamma(self.eta.sum())

    @property
    def log_theta(self):
        return digamma(self.gamma) - digamma(self.gamma.sum(axis=1, keepdims=True))


def posterior_of(params):
    """The same from the parameters of the library."""
    C = len(params.sizes)
    return Posterior(
        params.topics,
        params.counts + params.lambda_,
        params.sizes + params.alpha / C,
        float(params.alpha),
        params.lambda_,
    )


def normalised(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def memberships(q, S, beta, alive):
    """Eq. (6)."""
    psi = np.zeros((len(S), len(q.eta)))
    for i in range(len(S)):
        scores = q.log_pi + beta * np.array([S[i] @ log_theta for log_theta in q.log_theta])
        psi[i, alive] = normalised(scores[alive])
    return psi


def topics_of_words(q, psi, n, beta):
    """Eq. (8): phi (N, M, K)."""
    phi = np.zeros((*n.shape, q.B.shape[1]))
    for i, j in np.argwhere(n):
        with np.errstate(divide="ignore"):
            phi[i, j] = normalised(beta * (np.log(q.B[j]) + psi[i] @ q.log_theta))
    return phi


def factorial_step(q, S, n, beta, alive):
    """psi, phi and psi again."""
    psi = memberships(q, S, beta, alive)
    phi = topics_of_words(q, psi, n, beta)
    S = np.einsum("ij,ijk->ik", n, phi)
    return S, memberships(q, S, beta, alive), phi


def structured_step(q, n, beta, alive):
    """psi, and phi (C, M, K) given the cluster."""
    phi, scores = np.zeros((len(q.eta), *q.B.shape)), np.tile(q.log_pi, (len(n), 1))
    for c, j in np.ndindex(len(q.eta), n.shape[1]):
        joint = q.B[j] * np.exp(q.log_theta[c])
        phi[c, j] = joint / max(joint.sum(), 1e-300)
        scores[:, c] += beta * n[:, j] * np.log(max(joint.sum(), 1e-300))
    psi = np.zeros_like(scores)
    for i in range(len(n)):
        psi[i, alive] = normalised(scores[i, alive])
    return psi, phi


def log_dirichlet(log_theta, a):
    """E[log Dir(theta; a)] from E[log theta]."""
    return gammaln(a.sum()) - gammaln(a).sum() + ((a - 1) * log_theta).sum()


def xlogx(p):
    return p * np.log(np.where(p > 0, p, 1))


def bound(q, psi, phi, n, beta, topic_prior):
    """Eq. (5) with the likelihood to the power beta, term by term; empty rows left out."""
    C = len(q.eta)
    total = log_dirichlet(q.log_pi, np.full(C, q.alpha / C)) - log_dirichlet(q.log_pi, q.eta)
    for log_theta, gamma in zip(q.log_theta, q.gamma, strict=True):
        total += log_dirichlet(log_theta, q.lam) - log_dirichlet(log_theta, gamma)
    structured = phi.shape[0] == C and phi.shape[1:] == q.B.shape and phi.ndim == 3
    log_B = np.log(np.where(q.B > 0, q.B, 1))
    for i in np.flatnonzero(n.any(axis=1)):
        total += psi[i] @ q.log_pi - xlogx(psi[i]).sum()
        for j in np.flatnonzero(n[i]):
            if structured:
                for c in range(C):
                    terms = phi[c, j] @ (log_B[j] + q.log_theta[c]) - xlogx(phi[c, j]).sum()
                    total += beta * psi[i, c] * n[i, j] * terms
            else:
                expected = phi[i, j] @ (log_B[j] + psi[i] @ q.log_theta)
                total += n[i, j] * (beta * expected - xlogx(phi[i, j]).sum())
    return total + beta * topic_prior * log_B.sum()


def m_step(q, psi, phi, n, beta, topic_prior, structured):
    """Eqs. (7) and (9), for rows that have observations."""
    psi = psi * n.any(axis=1, keepdims=True)
    if structured:
        words = np.einsum("ic,ij,cjk->jk", psi, n, phi)
        centers = np.einsum("ic,ij,cjk->ck", psi, n, phi)
    else:
        words = np.einsum("ij,ijk->jk", n, phi)
        centers = np.einsum("ic,ij,ijk->ck", psi, n, phi)
    B = words + topic_prior * n.any(axis=0)[:, None]
    eta = q.alpha / len(q.eta) + psi.sum(axis=0)
    return Posterior(B / B.sum(axis=0), q.lam + beta * centers, eta, q.alpha, q.lam)
