"""What predictions and fitted estimators promise."""

from __future__ import annotations

from typing import Protocol

from skcooc.protocol.counts import Block
from skcooc.protocol.types import Array, TableLike


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
