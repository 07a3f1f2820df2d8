"""What equations promise: to EM, to the fold-in of rows, and to splits and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from skcooc.protocol.counts import Block, Counts, FoldIn
from skcooc.protocol.types import Array, Capability, P, Params, Rows, S, TableLike


class Equations(FoldIn[P, S], Protocol[P, S]):
    """A mixture model: its equations, as pure functions of a frozen object."""

    @property
    def needs(self) -> Mapping[Capability, str]:
        """What it needs of a table: which parameter asks for it, and what to set instead."""

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Parameters and row states to start from."""

    def maximize(self, stats: S, params: P, beta: float) -> P:
        """M-step: the parameters which the statistics of all rows determine."""

    def log_prior(self, params: P, beta: float) -> float:
        """Terms of the objective in the parameters alone; free energy minus it never rises."""

    def free_parameters(self, params: P, n_rows: int) -> int:
        """How many numbers are free in P(y given x) of so many rows; see ``base/criteria.py``."""
        raise NotImplementedError

    @property
    def patience(self) -> int:
        """Iterations in which the objective falls no further, after which EM has converged.

        One, unless a model says otherwise: that of EM never rises.
        """
        return 1

    @property
    def largest_beta(self) -> float:
        """Largest inverse temperature: 1 where it is the exponent of a likelihood."""
        return 1.0

    @property
    def stages(self) -> Sequence[tuple[Model, int | None]]:
        """Models fitted in turn, ever less constrained, and their largest numbers of iterations."""
        return [(self, None)]

    @property
    def supports_alternating(self) -> bool:
        """Whether rows and columns can be fitted in turn at beta = 1; see Alternating."""
        return False

    def fold_in_equations(self, params: P) -> tuple[FoldIn[Any, Any], Params]:
        """What new rows are folded in by: equations, and the parameters that they need.

        These, unless a model says otherwise.
        """
        return self, params

    def prediction_factors(self, params: P, rows: Rows) -> tuple[Array, Array]:
        """What ``cells`` of these rows predicts observations from.

        The factors, unless a model says otherwise.
        """
        return self.factors(params, rows)

    def mixture_prior(self, params: P) -> tuple[Array, Array] | None:
        """The prior of the mixture of a row: weights (a,) and A (a, k); see ``factors``.

        None where there is none: a mixture is then a parameter of its row.
        """
        return None


Model: TypeAlias = Equations[Any, Any]


class OnlineModel(Equations[P, S], Protocol[P, S]):
    """A model whose parameters can follow a stream of rows."""

    def mix_with(self, params: P, distribution: Array, share: float) -> P:
        """Parameters of which every component is, in this share, the distribution (M,)."""

    def batch_equations(self) -> FoldIn[P, Any]:
        """What folds rows of a batch in, before the E-step of these equations: these themselves."""
        return self


class Alternating(Equations[P, S], Protocol[P, S]):
    """A model whose rows and columns can be fitted in turn, at beta = 1."""

    def alternate(self, X: Block, params: P, rows: Rows) -> tuple[Rows, S]:
        """Row states that suit the parameters better, and statistics of which M-steps make better
        parameters for these; the free energy is that before, and with neither higher."""


class Clustering(Equations[P, S], Protocol[P, S]):
    """A model of clusters, whose best temperature depends on the size of the objects clustered."""

    def object_size(self, X: Counts) -> float:
        """Mean number of observations of an object."""

    def critical_beta(self, X: Counts) -> float:
        """The inverse temperature below which all clusters are the same."""


class Splittable(Equations[P, S], Protocol[P, S]):
    """A model of clusters, or of aspects, that split while the temperature falls.

    The states of its rows are their posterior distributions over the clusters.
    """

    n_clusters: int

    def random(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Clusters that chance has put together, from which a single one is made."""
        return self.start(X, rng)

    def mixed(self, params: P, shares: Array) -> P:
        """Parameters of other clusters, to which those there give these shares, (K, K')."""

    def perturb(self, params: P, rng: np.random.Generator, amount: float) -> P:
        """Parameters with noise of this relative size."""


class MergeableClusters(Clustering[P, S], Splittable[P, S], Protocol[P, S]):
    """Clusters of the objects of one side, which begin with more, of which some are joined."""

    def seeded(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Clusters that begin with objects far from each other."""

    def overlaps(self, X: Counts, params: P, rows: Rows) -> Array:
        """Scalar products of the roots of what clusters have of each object, (K, K), in counts."""


class Predictor(Protocol):
    """A prediction of further observations, bound to the rows of one table."""

    def cells(self, X: Block) -> Array:
        """P(y_j given x_i) at the non-zeros of other counts of these rows, (nnz,), float64."""


class Components(Protocol):
    """A fitted estimator of this library or of another: all that is asked of the latter."""

    components_: Array  # (K, M): P(y given z), up to a factor of each component


class FactorModel(Components, Protocol):
    """A fitted estimator, of which P(y given x) is a product of two factors."""

    embedding_: Array  # (N, K): P(z given x)
    row_distribution_: Array  # (N,): P(x)
    weights_: Array  # (K,): the prior, P(z given a row without observations)
    beta_: float

    def transform(self, X: TableLike) -> Array:
        """P(z given x) of rows, (n, K)."""
