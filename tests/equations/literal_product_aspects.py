"""The product-space mixture, transcribed: Hofmann & Puzicha (1998), (6), (15)-(19), (65)."""

from dataclasses import dataclass

import numpy as np

from skcooc.em import State
from skcooc.equations.product_aspects import Params
from tests.equations.literal_aspects import of_rows


def terms_of(pi, p, q, beta, tempering):
    """prior x (likelihood)^beta of every cell and pair, (N, M, C, D)."""
    likelihood = p[:, None, :, None] * q[None, :, None, :]
    return (pi**beta if tempering == "joint" else pi) * likelihood**beta


def literal_step(n, pi, p, q, beta, tempering):
    terms = terms_of(pi, p, q, beta, tempering)
    total = terms.sum(axis=(2, 3), keepdims=True)
    nr = n[:, :, None, None] * terms / np.where(total > 0, total, 1)
    joint = nr.sum(axis=(0, 1))
    p = nr.sum(axis=(1, 3)) / joint.sum(axis=1)
    q = nr.sum(axis=(0, 2)) / joint.sum(axis=0)
    return joint / n.sum(), p, q


def free_energy(n, pi, p, q, beta, tempering):
    evidence = terms_of(pi, p, q, beta, tempering).sum(axis=(2, 3))
    return -(n[n > 0] * np.log(evidence[n > 0])).sum() / beta


def state_of(n, pi, p, q):
    """The state for parameters with the P(x) of the table."""
    A = p * pi.sum(axis=1)
    A = A / np.where(n.any(axis=1), A.sum(axis=1), 1)[:, None]
    return State(Params(q, pi, pi.sum(axis=1)), A)


def parameters(n, state):
    """P(c, d), P(x|c), P(y|d) of a state."""
    (q, pi, weights), A = state
    return pi, A * (n.sum(axis=1) / n.sum())[:, None] / weights, q


@dataclass(frozen=True)
class LiteralProducts:
    tempering: str = "likelihood"

    def step(self, n, params, rows, beta):
        before = parameters(n, (params, rows))
        return state_of(n, *literal_step(n, *before, beta, self.tempering))

    def objective(self, n, params, rows, beta):
        pi, p, q = parameters(n, (params, rows))
        return free_energy(n, pi, p, q, beta, self.tempering) - of_rows(n)


def random_state(n, sizes=(3, 2), seed=0):
    """Random P(c,d), P(x|c), P(y|d)."""
    rng = np.random.default_rng(seed)
    # P(x) is n_i / L after any M-step, so the mixtures of the rows determine p given pi.
    A = rng.dirichlet(np.ones(sizes[0]), len(n))
    weights = n.sum(axis=1) / n.sum() @ A
    pi = weights[:, None] * rng.dirichlet(np.ones(sizes[1]), sizes[0])
    q = rng.dirichlet(np.ones(n.shape[1]), sizes[1]).T
    return State(Params(q, pi, weights), A)
