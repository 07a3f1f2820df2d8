"""Leave-one-out clusters of rows, transcribed, on dense tables."""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from skcooc.equations.row_clusters import PredictiveParams
from tests.equations.literal_clusters import proportions

NEGLIGIBLE = 1e-4  # a posterior below it leaves nothing out, in the library too


@dataclass(frozen=True)
class LiteralPredictiveRows:
    """The expected counts of all rows are made anew for each row, without its own."""

    component_prior: float = 0.02
    proportions: str = "uniform"

    def exponents(self, n, params, rows, beta):
        """Logarithms of what the posteriors are proportional to, (N, K)."""
        N, M = n.shape
        counts = params.components * params.totals - self.component_prior  # of all rows
        scores = np.empty((N, len(params.weights)))
        for i, k in np.ndindex(scores.shape):
            own = rows[i, k] if rows[i, k] > NEGLIGIBLE else 0.0
            left = [max(counts[j, k] - own * n[i, j], 0) + self.component_prior for j in range(M)]
            total = params.totals[k] - own * n[i].sum()
            total = max(total, M * self.component_prior)
            logs = sum(n[i, j] * log(left[j] / total) for j in range(M) if n[i, j])
            scores[i, k] = log(params.weights[k]) + beta * logs
        return scores

    def step(self, n, params, rows, beta):
        scores = self.exponents(n, params, rows, beta)
        I = np.array([[exp(s - max(row)) for s in row] for row in scores])
        I /= I.sum(axis=1, keepdims=True)
        counts = np.full((n.shape[1], I.shape[1]), self.component_prior)
        for i, j in np.argwhere(n):
            counts[j] += I[i] * n[i, j]
        totals = counts.sum(axis=0)
        rho = proportions(I) if self.proportions == "estimated" else params.weights
        return PredictiveParams(counts / totals, rho, np.array(1.0), totals), I

    def objective(self, n, params, rows, beta):
        scores = self.exponents(n, params, rows, beta)
        return -sum(max(row) + log(sum(exp(s - max(row)) for s in row)) for row in scores) / beta
