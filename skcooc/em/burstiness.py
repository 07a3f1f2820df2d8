"""Burstiness: a repetition of a column in a row counts less than its first occurrence.

A row is taken as drawn from a Dirichlet compound multinomial (DCM; Madsen, Kauchak and Elkan,
ICML 2005), whose mean is what the model predicts of it, P_ij, and whose concentration is a:

    log P(n_i) = log G(a) / G(a + n_i) + sum_j log G(al_ij + n_ij) / G(al_ij),   al_ij = a P_ij,

with G the gamma function. So the more often a row has a column, the likelier it has it again: each
token either sits down at a table where others have the same column, or opens a new one with
the column drawn from P_ij, and T_ij of them are expected to have done the latter,

    T_ij = sum_{l < n_ij} al_ij / (al_ij + l) = al_ij [psi(al_ij + n_ij) - psi(al_ij)].

log (e^u + l) is convex in u and so is the sum over l < n_ij, which is log G(al + n_ij) / G(al) as a
function of u = log al with slope T_ij. A tangent lies below:

    sum_ij log G(al_ij + n_ij) / G(al_ij) >= sum_ij T_ij log P_ij + constant,

with equality at the P that the T are made of. The right hand side is the log-likelihood of the
model where T takes the place of the counts. EM at beta = 1 raises it, and hence what is on the
left: with every new T the likelihood of the DCM rises again, or stays (Elkan, ICML 2006; Doyle and
Elkan, ICML 2009, who do the same inside the E-step of a mixture of clusters, and of LDA).

At beta < 1 the E-step uses S_ij >= P_ij, the tempered sum over components, where the likelihood has
P_ij. Within a round, T fixed, the tempered free energy - sum T_ij log S_ij never rises. From round
to round it is the tangent at al = a S that would let -sum log G(a S + n) / G(a S) fall throughout.
T is made of P nevertheless, which sums to one: else beta would act on a as well. So a new T may
raise the objective; no proof says that it does not.

A count that is no integer stands for c = ceil(n) tokens of equal weight, as elsewhere: T is
n / c times that of c. A T lies between one table and n; if a grows without end it is n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import digamma, gammaln

from skcooc.em.stages import EMStage, EMState, StageSchedule, Variation
from skcooc.protocol import Array, Block, Capability, Counts

N_ROUNDS = 3
TINY = 1e-200  # a concentration of zero has a table for each column, as this one
FAR = 1e5  # from where asymptotic differences have ten digits, and exact ones begin to lose them


@dataclass(frozen=True)
class Bursty(Variation):
    """Rounds on discounted counts after the last stage."""

    concentration: float  # a, tokens

    needs: ClassVar[Mapping[Capability, str]] = {
        "replaced": "burstiness replaces counts after each round of EM; set burstiness=None"
    }

    def in_short_fits(self, X: Counts, *, chosen: bool) -> Bursty | None:
        return self if chosen else None  # others are validated on single tokens, without a cache

    def apply(
        self, stages: list[StageSchedule], X: Counts, values: Mapping[str, Any]
    ) -> list[StageSchedule]:
        return [*stages, *self.continued(stages[-1].stage)]

    def continued(self, last: EMStage) -> list[StageSchedule]:
        return [BurstinessRounds(replace(last, members=None), self.concentration)]


@dataclass(frozen=True)
class BurstinessRounds(StageSchedule):
    """Rounds of EM, each on the tables T of the state in which it begins.

    The objective is that of the DCM without what does not depend on the model: the sum over
    l < n_ij of -log(P_ij + l / a), which tends to -n_ij log P_ij as a grows.
    """

    stage: EMStage  # a round, on the counts
    concentration: float  # a, tokens

    def current_stage(self, run: EMState) -> EMStage:
        if run.anchor is None:
            return self.stage
        X = cast(Block, self.stage.X)
        tables, constant = bound(X, *self.stage.model.factors(*run.anchor), self.concentration)
        return replace(self.stage, X=X.replaced(tables), offset=constant)

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        run.anchor = run.state

    def leave(self, run: EMState) -> None:
        run.number += 1
        if run.number == N_ROUNDS:
            super().leave(run)


def bound(X: Block, A: Array, B: Array, a: float) -> tuple[Array, float]:
    """Return the tangent to the log-likelihood at the predictions P of factors, (n, k) and (M, k).

    It is sum T log P and a constant, in nats. Returns the T, (nnz,), and the constant.
    """
    counts = X.table.data
    repeated = np.flatnonzero(counts > 1)  # a single token has its table
    n = counts[repeated].astype(np.float64)
    c = np.ceil(n)
    al = np.maximum(a * X.cells(A, B)[repeated].astype(np.float64), TINY)
    tables = counts.copy()
    tables[repeated] = T = n / c * al * slope(al, c)
    weights = X.weighted_counts[repeated] / n
    gains = T * np.log(al / a) - n / c * (rise(al, c) - c * np.log(a))
    return tables, float((weights * gains).sum())


def slope(x: Array, c: Array) -> Array:
    """psi(x + c) - psi(x)."""
    near = np.minimum(x, FAR)
    far = np.maximum(x, FAR)
    return np.where(x < FAR, digamma(near + c) - digamma(near), np.log1p(c / (far - 0.5)))


def rise(x: Array, c: Array) -> Array:
    """log G(x + c) / G(x)."""
    near = np.minimum(x, FAR)
    far = np.maximum(x, FAR)
    stirling = (far - 0.5) * np.log1p(c / far) + c * np.log(far + c) - c
    return np.where(x < FAR, gammaln(near + c) - gammaln(near), stirling)
