"""Symmetric clustering, transcribed: Hofmann & Puzicha (1998), eqs. (34)-(49), (64)."""

from dataclasses import dataclass

import numpy as np

from skcooc.em import State
from skcooc.equations.coclusters import Params
from tests.equations.literal_clusters import factors, unit_of


def joint_of(n, I, J):
    """pi_cd: eq. (43)."""
    return np.einsum("ij,ic,jd->cd", n / n.sum(), I, J)


def association_of(pi):
    """c_cd: eq. (42)."""
    return pi / np.outer(pi.sum(axis=1), pi.sum(axis=0))


def posterior(n, J, association, rho, beta, hard):
    """I_ic: eqs. (44) and (49), with a plus; an empty object gets rho."""
    I = np.zeros((len(n), len(rho)))
    for i in range(len(n)):
        exponents = np.log(rho) + beta * np.log(association) @ (n[i] @ J)
        if not n[i].any():
            I[i] = rho
        elif hard:
            I[i, exponents.argmax()] = 1
        else:
            I[i] = np.exp(exponents - exponents.max())
            I[i] /= I[i].sum()
    return I


def free_energy(n, I, J, association, rho, sigma, beta):
    """Eq. (64) for factorial posteriors: expected cost + T (relative entropy)."""
    cost = -np.einsum("ij,ic,jd,cd->", n, I, J, np.log(association))
    return cost + (relative_entropy(I, rho) + relative_entropy(J, sigma)) / beta


def relative_entropy(P, prior):
    terms = P * np.log(np.where(P > 0, P, 1) / prior)
    return terms[P > 0].sum()


@dataclass(frozen=True)
class LiteralCoClusters:
    """In the order I, c, J, c. Where clusters are hard there are no prior probabilities."""

    hard: bool = False
    proportions: str = "uniform"
    object_weights: str = "counts"

    def step(self, n, params, rows, beta):
        J, _, pi, rho, sigma, _ = params
        unit, n = unit_of(n, self.object_weights), self.weighted(n)
        I = posterior(n, J, association_of(pi), rho, beta, self.hard)
        association = association_of(joint_of(n, I, J))
        J = posterior(n.T, I, association.T, sigma, beta, self.hard)
        if self.proportions == "estimated":
            rho, sigma = I.mean(axis=0), J.mean(axis=0)
        return Params(J, n.sum(axis=0) / n.sum(), joint_of(n, I, J), rho, sigma, unit), I

    def weighted(self, n):
        """The counts that rows of these weights stand for."""
        return n * factors(n, self.object_weights)[:, None]

    def objective(self, n, params, rows, beta):
        J, _, pi, rho, sigma, _ = params
        n = self.weighted(n)
        association = association_of(pi)
        I = posterior(n, J, association, rho, beta, self.hard)
        if self.hard:
            I, J = I * n.any(axis=1)[:, None], J * n.any(axis=0)[:, None]
            rho, sigma = np.ones_like(rho), np.ones_like(sigma)
        return free_energy(n, I, J, association, rho, sigma, beta)


def state_of(X, I, J, object_weights="counts"):
    """Posteriors of both sides, and the association that follows from them."""
    n = X.toarray()
    unit = np.array(unit_of(n, object_weights))
    uniform = [np.full(P.shape[1], 1 / P.shape[1]) for P in (I, J)]
    return State(Params(J, n.sum(axis=0) / n.sum(), joint_of(n, I, J), *uniform, unit), I)


def random_state(X, C=3, D=2, seed=0, hard=False):
    """Random posteriors of both sides."""
    rng = np.random.default_rng(seed)
    I, J = (rng.dirichlet(np.ones(k), size) for k, size in zip((C, D), X.shape, strict=True))
    if hard:
        I, J = (np.eye(P.shape[1])[P.argmax(axis=1)] for P in (I, J))
    return state_of(X, I, J)
