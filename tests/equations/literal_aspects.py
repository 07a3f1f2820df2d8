"""The aspect model, transcribed: Hofmann & Puzicha (1998), eqs. (1)-(9) and (65)."""

from dataclasses import dataclass

import numpy as np

from skcooc.equations.aspects import Params


def posterior(pi, p, q, beta, tempering):
    """r[i, j, k] for joint parameters pi (K,), p (N, K), q (M, K)."""
    likelihood = (p[:, None, :] * q[None, :, :]) ** beta
    prior = pi**beta if tempering == "joint" else pi
    r = prior * likelihood
    total = r.sum(axis=2, keepdims=True)
    return r / np.where(total > 0, total, 1)  # zero in the empty row and column


def literal_step(n, pi, p, q, beta, tempering, pseudo_count=0.0):
    nr = n[:, :, None] * posterior(pi, p, q, beta, tempering)
    mass = nr.sum(axis=(0, 1))
    q = nr.sum(axis=0) + pseudo_count
    return mass / n.sum(), nr.sum(axis=1) / mass, q / q.sum(axis=0)


def free_energy(n, pi, p, q, beta, tempering):
    prior = pi**beta if tempering == "joint" else pi
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
        pi, p, q = literal_step(n, *before, beta, self.tempering, self.component_prior)
        return Params(q, pi), mixtures(pi, p)

    def objective(self, n, params, rows, beta):
        energy = free_energy(n, *parameters(n, params, rows), beta, self.tempering) - of_rows(n)
        if self.component_prior:
            energy -= self.component_prior * np.log(params.components).sum()
        return energy
