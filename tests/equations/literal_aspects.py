"""The aspect model, transcribed: Hofmann & Puzicha (1998), eqs. (1)-(9) and (65)."""

from dataclasses import dataclass

import numpy as np

from skcooc.equations.aspects import Params


def prior_of(pi, rho, beta, tempering):
    """What stands before the likelihood's power; rho (K,) are the shares of distinctive words."""
    return {
        "joint": pi**beta,
        "likelihood": pi,
        "distinctive": rho ** (1 - beta) * pi**beta,
    }[tempering]


def posterior(pi, p, q, beta, tempering, rho=None):
    """r[i, j, k] for joint parameters pi (K,), p (N, K), q (M, K)."""
    likelihood = (p[:, None, :] * q[None, :, :]) ** beta
    r = prior_of(pi, pi if rho is None else rho, beta, tempering) * likelihood
    total = r.sum(axis=2, keepdims=True)
    return r / np.where(total > 0, total, 1)  # zero in the empty row and column


def distinctive_shares(nr, random=0.15):
    """rho from the expected counts nr[i, j, k]: words that are as P(z) have no vote."""
    m, L, K = nr.sum(axis=0), nr.sum(), nr.shape[2]
    P, votes, by_chance = m.sum(axis=0) / L, np.zeros(K), 0.0
    for k in range(K):
        for j in range(len(m)):
            votes[k] += max(m[j, k] - m[j].sum() * P[k], 0) / (1 - P[k])
            by_chance += random * np.sqrt(m[j].sum() * P[k])
    return (votes + by_chance / K) / (votes.sum() + by_chance)


def literal_step(n, pi, p, q, beta, tempering, pseudo_count=0.0, rho=None):
    nr = n[:, :, None] * posterior(pi, p, q, beta, tempering, rho)
    mass = nr.sum(axis=(0, 1))
    q = nr.sum(axis=0) + pseudo_count
    return mass / n.sum(), nr.sum(axis=1) / mass, q / q.sum(axis=0)


def free_energy(n, pi, p, q, beta, tempering, rho=None):
    prior = prior_of(pi, pi if rho is None else rho, beta, tempering)
    total = 0.0
    for i in range(n.shape[0]):
        for j in range(n.shape[1]):
            if n[i, j]:
                total -= n[i, j] / beta * np.log((prior * (p[i] * q[j]) ** beta).sum())
    return total


def of_rows(n):
    """The part of the free energy that P(x_i) = n_i / L brings in; the library leaves it out."""
    n_i = n.sum(axis=1)[n.any(axis=1)]
    return -(n_i * np.log(n_i / n.sum())).sum()


def parameters(n, params, rows):
    """P(z), P(x|z), P(y|z): P(x) is n_i / L after any M-step, so mixtures of rows give P(x|z)."""
    p_x = n.sum(axis=1, keepdims=True) / n.sum()
    return params.weights, rows * p_x / params.weights, params.components


def mixtures(pi, p):
    """P(z|x), zero where P(x) is."""
    joint = p * pi
    return joint / joint.sum(axis=1, keepdims=True).clip(1e-300)


@dataclass(frozen=True)
class LiteralAspects:
    tempering: str = "joint"
    component_prior: float = 0.0

    def step(self, n, params, rows, beta):
        before = parameters(n, params, rows)
        how = beta, self.tempering
        pi, p, q = literal_step(n, *before, *how, self.component_prior, params.prior)
        rho = pi
        if self.tempering == "distinctive":
            rho = distinctive_shares(n[:, :, None] * posterior(*before, *how, params.prior))
        return Params(q, pi, rho), mixtures(pi, p)

    def objective(self, n, params, rows, beta):
        joint = parameters(n, params, rows)
        energy = free_energy(n, *joint, beta, self.tempering, params.prior) - of_rows(n)
        if self.component_prior:
            energy -= self.component_prior * np.log(params.components).sum()
        return energy
