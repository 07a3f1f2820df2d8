"""The cluster-abstraction model, transcribed: Hofmann & Puzicha (1998), eqs. (52)-(58)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skcooc.em import State
from skcooc.equations.tree_clusters import Params
from skcooc.hierarchy import Tree, binary_tree

TREE = binary_tree(3)  # 0 above 1 and 2; 1 above 3 and 4; the leaves 2, 3, 4 are the clusters


def paths(tree):
    """The slots of each leaf."""
    return [range(*pair) for pair in pairwise(tree.slots.indptr)]


def literal_step(n, q, tau, rho, R, beta, level, tempering, tree=TREE, hard=False):
    """E-step and M-step: free energy, P(leaf|x), P(c, v|x), and the next q and tau."""
    N, V, K, nodes = len(n), tree.n_nodes, len(tree.leaves), tree.slots.nodes
    own = np.tile(tau, (N, 1))
    for i in range(N if level == "row" else 0):
        for slots in paths(tree):
            if n[i].any() and R[i, slots].any():  # a hard row has weights of its own leaf alone
                own[i, slots] = R[i, slots] / R[i, slots].sum()
    power = 1.0 if tempering == "path" else beta
    energy, I = 0.0, np.zeros((N, K))
    posterior = np.zeros((N, n.shape[1], len(nodes)))  # of the slots of a leaf, given the leaf
    for i in range(N):
        scores = np.zeros(K) if hard else np.log(rho)
        seen = np.flatnonzero(n[i])
        for c, slots in enumerate(paths(tree)):
            terms = own[i, slots] * q[np.ix_(seen, nodes[slots])] ** power
            sums = terms.sum(axis=1, keepdims=True).clip(1e-300)
            scores[c] += (beta / power) * n[i, seen] @ np.log(sums[:, 0])
            posterior[i, seen, slots.start : slots.stop] = terms / sums
        energy -= (scores.max() if hard else np.logaddexp.reduce(scores)) / beta
        I[i] = np.exp(scores - np.logaddexp.reduce(scores))
        if hard:
            I[i] = np.arange(K) == scores.argmax() if n[i].any() else rho
    counts = n[:, :, None] * posterior * I[:, tree.slots.leaves][:, None, :]
    new_q = np.zeros((n.shape[1], V))
    for s, v in enumerate(nodes):
        new_q[:, v] += counts[:, :, s].sum(axis=0)
    new_tau, mixtures = tau.copy(), own.copy()
    within = (n[:, :, None] * posterior).sum(axis=1)
    for slots in paths(tree):
        if level != "constant" and counts[:, :, slots].any():
            new_tau[slots] = counts[:, :, slots].sum(axis=(0, 1)) / counts[:, :, slots].sum()
        occupied = n.any(axis=1)
        of_row = within[:, slots] / within[:, slots].sum(axis=1, keepdims=True).clip(1e-300)
        mixtures[:, slots] = np.where(occupied[:, None], of_row, own[:, slots])
    if level != "row":
        mixtures = own
    unigram = new_q.sum(axis=1) / new_q.sum()  # what a node without rows becomes
    for v in range(V):
        new_q[:, v] = new_q[:, v] / new_q[:, v].sum() if new_q[:, v].any() else unigram
    return energy, I, I[:, tree.slots.leaves] * mixtures, new_q, new_tau


@dataclass(frozen=True, eq=False)
class LiteralTree:
    level: str
    tempering: str = "path"
    proportions: str = "uniform"
    tree: Tree = TREE
    hard: bool = False

    def _step(self, n, params, rows, beta):
        q, tau, rho, _ = params
        how = self.level, self.tempering, self.tree, self.hard
        return literal_step(n, q, tau, rho, rows, 1.0 if self.hard else beta, *how)

    def step(self, n, params, rows, beta):
        _, I, R, q, tau = self._step(n, params, rows, beta)
        rho = I.mean(axis=0) if self.proportions == "estimated" else params.proportions
        if self.level == "row":
            return Params(q, tau, rho, rho[self.tree.slots.leaves] * tau), R
        return Params(q, tau, rho, rho), I

    def objective(self, n, params, rows, beta):
        return self._step(n, params, rows, beta)[0]


class LiteralSplitting:
    """A growing tree: weights of paths as a table, (K, V)."""

    def _step(self, n, params, beta):
        q, paths, rho = params
        I, of_nodes, of_paths, energy = [], np.zeros(q.shape), np.zeros(paths.shape), 0.0
        for row in n:
            P = q @ paths.T
            scores = np.log(rho) + beta * row @ np.log(np.maximum(P, 1e-30))
            energy -= np.logaddexp.reduce(scores) / beta
            I.append(np.exp(scores - np.logaddexp.reduce(scores)))
            shares = np.divide(row[:, None] * I[-1], P, out=np.zeros_like(P), where=P > 0)
            expected = np.einsum("jc,cv,jv->jcv", shares, paths, q)
            of_nodes += expected.sum(axis=1)
            of_paths += expected.sum(axis=0)
        return energy, np.array(I), of_nodes, of_paths

    def step(self, n, params, rows, beta):
        _, I, of_nodes, of_paths = self._step(n, params, beta)
        q, paths = of_nodes / of_nodes.sum(axis=0), of_paths / of_paths.sum(axis=1, keepdims=True)
        return params._replace(nodes=q, paths=paths), I

    def objective(self, n, params, rows, beta):
        return self._step(n, params, beta)[0]


def random_state(X, level, tree=TREE, seed=0):
    """Random nodes, vertical weights and row states."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(X.shape[1]), tree.n_nodes).T
    tau = np.concatenate([rng.dirichlet(np.ones(n)) for n in np.diff(tree.slots.indptr)])
    rho = np.full(len(tree.leaves), 1 / len(tree.leaves))
    own = level == "row"
    rows = rng.dirichlet(np.ones(len(tau if own else rho)), X.shape[0])
    return State(Params(q, tau, rho, rho[tree.slots.leaves] * tau if own else rho), rows)
