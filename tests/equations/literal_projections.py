"""Probabilistic clustering-projection word for word, eqs. (4)-(9), on small dense tables.

gamma (C, K) and eta (C,) belong to all clusters, also to those that have died.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from skcooc.em import State
from skcooc.equations.projections import Params


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
    """The posterior from the parameters of the package."""
    topics, counts, sizes, alpha, lambda_, *_ = params
    return Posterior(topics, counts + lambda_, sizes + alpha / len(sizes), float(alpha), lambda_)


def normalised(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def memberships(q, S, beta, alive):
    """Eq. (6)."""
    psi = np.zeros((len(S), len(q.eta)))
    for i in range(len(S)):
        scores = q.log_pi + beta * q.log_theta @ S[i]
        psi[i, alive] = normalised(scores[alive])
    return psi


def topics_of_words(q, psi, n, beta):
    """Eq. (8): phi (N, M, K)."""
    phi = np.zeros((*n.shape, q.B.shape[1]))
    for i, row in enumerate(n):
        with np.errstate(divide="ignore"):
            scores = np.log(q.B[row > 0]) + psi[i] @ q.log_theta
        phi[i, row > 0] = normalised(beta * scores)
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
    for c, log_theta in enumerate(q.log_theta):
        joint = q.B * np.exp(log_theta)
        sums = joint.sum(axis=1).clip(1e-300)
        phi[c] = joint / sums[:, None]
        scores[:, c] += beta * n @ np.log(sums)
    psi = np.zeros_like(scores)
    for i in range(len(n)):
        psi[i, alive] = normalised(scores[i, alive])
    return psi, phi


def log_dirichlet(log_theta, a):
    """E[log Dir(theta; a)] from E[log theta]."""
    return gammaln(a.sum()) - gammaln(a).sum() + ((a - 1) * log_theta).sum()


def xlogx(p):
    return p * np.log(np.where(p > 0, p, 1))


def bound(q, psi, phi, n, beta, topic_prior, structured):
    """Eq. (5) with the likelihood to the power beta, term by term; empty rows left out."""
    C = len(q.eta)
    total = log_dirichlet(q.log_pi, np.full(C, q.alpha / C)) - log_dirichlet(q.log_pi, q.eta)
    for log_theta, gamma in zip(q.log_theta, q.gamma, strict=True):
        total += log_dirichlet(log_theta, q.lam) - log_dirichlet(log_theta, gamma)
    log_B = np.log(np.where(q.B > 0, q.B, 1))
    for i in np.flatnonzero(n.any(axis=1)):
        total += psi[i] @ q.log_pi - xlogx(psi[i]).sum()
        if structured:
            for c in range(C):
                terms = (phi[c] * (log_B + q.log_theta[c]) - xlogx(phi[c])).sum(axis=1)
                total += beta * psi[i, c] * n[i] @ terms
        else:
            expected = (phi[i] * (log_B + psi[i] @ q.log_theta)).sum(axis=1)
            total += n[i] @ (beta * expected - xlogx(phi[i]).sum(axis=1))
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


@dataclass(frozen=True)
class LiteralProjections:
    """Both posteriors; the priors stay what they are."""

    structured: bool
    topic_prior: float = 0.0

    def _expect(self, q, n, params, rows, beta):
        """The next row states, psi and phi."""
        alive = params.sizes > 0
        if self.structured:
            psi, phi = structured_step(q, n, beta, alive)
            return psi * n.any(axis=1, keepdims=True), psi, phi
        return factorial_step(q, rows, n, beta, alive)

    def step(self, n, params, rows, beta):
        q = posterior_of(params)
        rows, psi, phi = self._expect(q, n, params, rows, beta)
        q = m_step(q, psi, phi, n, beta, self.topic_prior, self.structured)
        counts, sizes = q.gamma - q.lam, q.eta - q.alpha / len(q.eta)
        after = params._replace(topics=q.B, counts=counts, sizes=sizes, beta=np.array(beta))
        return after, rows

    def objective(self, n, params, rows, beta):
        q = posterior_of(params)
        _, psi, phi = self._expect(q, n, params, rows, beta)
        return -bound(q, psi, phi, n, beta, self.topic_prior, self.structured) / beta


DEAD = 1  # the cluster of a random state that has died


def random_state(structured, X, C=4, K=3, seed=0):
    """Random topics, clusters, one of them removed, and row states."""
    rng = np.random.default_rng(seed)
    n, sizes = X.toarray(), rng.uniform(1, 3, C)
    sizes[DEAD] = 0
    counts = rng.gamma(2.0, 3.0, (C, K)) * (sizes > 0)[:, None]
    B = rng.dirichlet(np.ones(n.shape[1]), K).T * n.any(axis=0)[:, None]
    B /= B.sum(axis=0)
    S = rng.dirichlet(np.ones(K), len(n)) * n.sum(axis=1, keepdims=True)
    rows = np.zeros((len(n), C)) if structured else S
    lam = np.array([0.3, 0.5, 0.2])[:K]
    params = Params(B, counts, sizes, np.array(1.5), lam, np.array(1.0), np.zeros(rows.shape[1]))
    return State(params, rows)
