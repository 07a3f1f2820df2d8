"""Guided aspect models, transcribed in slow loops over a dense table."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skcooc.equations.guided_aspects import GroupedParams, GuidedParams
from tests.equations.literal_aspects import distinctive_shares

GROUP_TOKENS, FACTOR_TOKENS = 100.0, 20.0


def to_one(P):
    return P / P.sum(axis=0)


@dataclass(frozen=True)
class LiteralGuided:
    """Seeds, kept components and counts, (M, K) each: zero where nothing is known."""

    seeds: Any
    kept: Any
    counts: Any
    seed_strength: float = 0.0
    tempering: str = "joint"
    component_prior: float = 0.0

    def joint(self, params, theta, beta):
        """Numerators of the posteriors, [i, j, k]."""
        N, (M, K) = len(theta), params.components.shape
        joint = np.zeros((N, M, K))
        for i in range(N):
            for j in range(M):
                for k in range(K):
                    joint[i, j, k] = (theta[i, k] * params.components[j, k]) ** beta
                    if self.tempering != "joint":
                        joint[i, j, k] *= params.prior[k] ** (1 - beta)
        return joint

    def expected(self, n, joint):
        """Expected counts, [i, j, k]."""
        total = joint.sum(axis=2, keepdims=True)
        return n[:, :, None] * joint / np.where(total > 0, total, 1)

    def pseudo_counts(self, L):
        b = self.component_prior + self.counts + self.seed_strength * L * self.seeds / self.K
        return b * (self.kept.sum(axis=0) == 0)  # what is kept has none

    @property
    def K(self):
        return self.seeds.shape[1]

    def components(self, known_and_expected):
        phi = to_one(known_and_expected)
        for k in range(phi.shape[1]):
            if self.kept[:, k].any():
                phi[:, k] = self.kept[:, k]
        return phi

    def weights(self, nr):
        weights = nr.sum(axis=(0, 1)) / nr.sum()
        return weights, distinctive_shares(nr) if self.tempering == "distinctive" else weights

    def step(self, n, params, rows, beta):
        nr = self.expected(n, self.joint(params, rows, beta))
        phi = self.components(nr.sum(axis=0) + self.pseudo_counts(n.sum()))
        N_ik = nr.sum(axis=1)
        mixtures = N_ik / N_ik.sum(axis=1, keepdims=True).clip(1e-300)
        return GuidedParams(phi, *self.weights(nr), np.array(n.sum())), mixtures

    def energy(self, n, joint, beta):
        total = 0.0
        for i in range(n.shape[0]):
            for j in range(n.shape[1]):
                if n[i, j]:
                    total -= n[i, j] / beta * np.log(joint[i, j].sum())
        return total

    def minus_log_prior(self, params):
        b, phi = self.pseudo_counts(float(params.n_tokens)), params.components
        return -sum(b[j, k] * np.log(phi[j, k]) for j, k in np.argwhere(b))

    def objective(self, n, params, rows, beta):
        return self.energy(n, self.joint(params, rows, beta), beta) + self.minus_log_prior(params)


@dataclass(frozen=True)
class LiteralGrouped(LiteralGuided):
    """Rows in the groups that ``groups_of`` says, -1 for none."""

    n_groups: int = 1
    has_factors: bool = False
    has_shares: bool = False
    row_prior: float = 0.0
    allowed: Any = None  # (G + 1, K)
    groups_of: Any = None

    def start(self, params):
        """What the parameters of a guided model become."""
        G1, (M, K) = self.n_groups + 1, params.components.shape
        shares, ones = np.tile(params.weights, (G1, 1)), np.ones((G1, M))
        return GroupedParams(*params, shares, ones, np.ones((G1, K)))

    def allowed_rows(self, rows, groups):
        if self.allowed is None:
            return rows
        rows = np.array([theta * self.allowed[g] for theta, g in zip(rows, groups, strict=True)])
        return rows / rows.sum(axis=1, keepdims=True)

    def step(self, n, params, rows, beta):
        groups, K, G = self.groups_of(n), self.K, self.n_groups
        s, S = params.column_factors, params.column_factors @ params.components
        nr = self.expected(n, self.joint(params, self.allowed_rows(rows, groups), beta))
        L, weights = nr.sum(), self.weights(nr)
        theta, of_group, use = np.zeros((len(n), K)), np.zeros((G + 1, K)), np.zeros((G + 1, K))
        for i, g in enumerate(groups):
            pi = nr[i].sum(axis=0)
            if self.has_shares:
                pi = pi + self.row_prior * params.group_mixtures[g]
            if not pi.sum():
                pi = params.group_mixtures[g] if self.has_shares else params.weights
            pi = pi / pi.sum()
            of_group[g] += n[i].sum() * pi
            use[g] += n[i].sum() * pi / S[g]
            theta[i] = pi / S[g] / (pi / S[g]).sum()
        shares = np.array([q / q.sum() for q in of_group + GROUP_TOKENS * weights[0]])
        shares[-1] = weights[0]
        m, b = nr.sum(axis=0), self.pseudo_counts(L)
        phi = self.components(m + b)
        if self.has_factors:
            phi, s = self.factors(n, groups, s, m + b, m.sum(axis=0), use)
        S = s @ phi
        return GroupedParams(phi, *weights, np.array(L), shares, s, S), theta

    def factors(self, n, groups, s, known_and_expected, mass, use):
        (M, K), G = known_and_expected.shape, self.n_groups
        exposed = np.array(
            [[sum(s[g, j] * use[g, k] for g in range(G + 1)) for k in range(K)] for j in range(M)]
        )
        phi = self.components(known_and_expected / exposed)
        use = use * mass / (phi * exposed).sum(axis=0)
        new = np.ones_like(s)
        for g in range(G):
            for j in range(M):
                N_gj = n[groups == g, j].sum()
                expected = sum(use[g, k] * phi[j, k] for k in range(K))
                new[g, j] = (N_gj + FACTOR_TOKENS) / (expected + FACTOR_TOKENS)
        if self.kept.any():
            return phi, new
        for j in range(M):
            having = [g for g in range(G) if n[groups == g, j].any()]
            mean = np.exp(np.mean(np.log(new[having, j]))) if having else 1.0
            new[:G, j] /= mean
            phi[j] *= mean
        return to_one(phi), new

    def objective(self, n, params, rows, beta):
        """Minus the log-likelihood, tempered, of n_ij with P(y_j given x_i), and of the priors."""
        groups, s = self.groups_of(n), params.column_factors
        S = s @ params.components
        rows = self.allowed_rows(rows, groups)
        total = self.energy(n, self.joint(params, rows, beta), beta) + self.minus_log_prior(params)
        for i, g in enumerate(groups):
            for j in range(n.shape[1]):
                if n[i, j]:
                    total -= n[i, j] * np.log(s[g, j] / (rows[i] @ S[g]))
            if self.has_shares:
                total -= self.row_prior * (params.group_mixtures[g] * np.log(rows[i])).sum()
        return total - FACTOR_TOKENS * (np.log(s) - s + 1).sum()
