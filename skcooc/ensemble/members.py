"""What a meta-estimator holds: models, ours or another library's, as factorisations P(y given x).

Here alone it is asked whose a model is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._param_validation import validate_parameter_constraints

from skcooc.base.predictions import Predictions
from skcooc.heldout import Factors
from skcooc.heldout.memory import rows_with
from skcooc.heldout.validation import HeldOutPredictions, add_one_unigram
from skcooc.protocol import CSR, Array, Block, TableLike

MODEL = [Predictions, TransformerMixin]  # what may be a member
NOTHING = Factors(np.empty((0, 0)), np.empty((0, 0)))  # before a fit


class Member(Protocol):
    """A model of which P(y given x) is a product of two factors."""

    @property
    def estimator(self) -> BaseEstimator | None:
        """It, if it is one."""

    @property
    def judged(self) -> HeldOutPredictions | None:
        """What was predicted of observations held out in the last fit; None where none were."""

    @property
    def fitted(self) -> Factors:
        """P(z given x) of the rows fitted, (N, K), and P(y given z), (M, K)."""

    def fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> Member:
        """Fit a copy, to X as it was given, or to its counts."""

    def partial_fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> Member:
        """A copy that has gone on with a batch of further rows."""

    def fold_in(self, X: Block) -> Array:
        """P(z given x) of checked rows, (n, K)."""


@dataclass(frozen=True)
class Ours:
    """An estimator of this package."""

    estimator: Predictions

    @property
    def judged(self) -> HeldOutPredictions | None:
        """What it held out itself."""
        return self.estimator._judged

    @property
    def fitted(self) -> Factors:
        """Its attributes."""
        return Factors(self.estimator.embedding_, self.estimator.components_.T)

    def fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> Ours:
        """As it was given."""
        return Ours(clone(self.estimator).fit(X, sample_weight=sample_weight))

    def partial_fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> Ours:
        """As it was given."""
        return Ours(copy.deepcopy(self.estimator).partial_fit(X, sample_weight=sample_weight))

    def fold_in(self, X: Block) -> Array:
        """As ``transform`` does."""
        return self.estimator._fold_in(X)


@dataclass(frozen=True)
class Foreign:
    """A transformer of another library, whose components are non-negative.

    Where all rows that ``transform`` makes sum to one, as those of LatentDirichletAllocation, they
    are P(z given x), and the components are P(y given z) once they are divided by their sums. Else,
    as of NMF, they are coefficients: x is proportional to their product with the components.
    """

    estimator: BaseEstimator
    are_shares: bool = False  # what its transform makes
    judged: None = None
    fitted: Factors = NOTHING

    def fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> Foreign:
        """To its counts."""
        return self._learnt(clone(self.estimator).fit, counts, sample_weight)

    def partial_fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> Foreign:
        """To its counts."""
        return self._learnt(copy.deepcopy(self.estimator).partial_fit, counts, sample_weight)

    def fold_in(self, X: Block) -> Array:
        """As ``transform`` does, but for scales."""
        return self._mixtures(self.estimator.transform(_without_zeros(X)), X.dtype)

    def _mixtures(self, made: ArrayLike, dtype: np.dtype) -> Array:
        """P(z given x) of what ``transform`` made of x."""
        coefficients = np.asarray(made, dtype=dtype)
        components = np.asarray(self.estimator.components_, dtype=dtype)
        if coefficients.min(initial=0) < 0 or components.min() < 0:
            raise ValueError(
                f"{type(self.estimator).__name__} has negative components or coefficients, which "
                "give no probabilities."
            )
        if not self.are_shares:
            coefficients = coefficients * components.sum(axis=1)
        return _distributions(coefficients)

    def _learnt(
        self, learn: Callable[[CSR], BaseEstimator], X: Block, sample_weight: ArrayLike | None
    ) -> Foreign:
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight is given, but {type(self.estimator).__name__} is no estimator of "
                "skcooc: repeat rows, or multiply their counts."
            )
        fitted = learn(table := _without_zeros(X))
        if not hasattr(fitted, "components_"):
            raise ValueError(
                f"{type(fitted).__name__} has no components_ when it is fitted, and so gives no "
                "probabilities of columns."
            )
        made = np.asarray(fitted.transform(table))
        new = Foreign(fitted, bool(np.allclose(made.sum(axis=1), 1, atol=1e-4)))
        components = _distributions(np.asarray(fitted.components_, dtype=X.dtype))
        return replace(new, fitted=Factors(new._mixtures(made, X.dtype), components.T))


@dataclass(frozen=True)
class NoTopics:
    """A single component, which all rows have: in how many rows each column was seen."""

    estimator: None = None
    judged: None = None
    fitted: Factors = NOTHING

    def fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> NoTopics:
        """Count rows."""
        distribution = add_one_unigram(rows_with(counts), 1).astype(counts.dtype)
        return NoTopics(fitted=Factors(_ones(counts), distribution[:, None]))

    partial_fit = fit  # there is nothing to go on with

    def fold_in(self, X: Block) -> Array:
        """Ones."""
        return _ones(X)


def member_of(estimator: BaseEstimator | None) -> Member:
    """A model, not yet fitted; None is that without topics. ValueError where it is no product."""
    if estimator is None:
        return NoTopics()
    if not isinstance(estimator, Predictions):
        return Foreign(estimator)
    if not estimator._factorised:
        raise ValueError(
            f"{type(estimator).__name__} predicts more than the product of its mixtures and "
            "components, which is all that is taken of a model: let it be the outermost."
        )
    return Ours(estimator)


def members_of(named: Sequence[tuple[str, BaseEstimator]], whose: str) -> list[Member]:
    """Several, given as (name, estimator); ValueError where they are not, or are no models."""
    if not named or not all(_is_named(item) for item in named):
        raise ValueError(
            "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
            "estimator) tuples."
        )
    validate_parameter_constraints({name: MODEL for name, _ in named}, dict(named), whose)
    return [member_of(estimator) for _, estimator in named]


def _is_named(item: object) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str)


def _ones(X: Block) -> Array:
    return np.ones((X.shape[0], 1), dtype=X.dtype)


def _without_zeros(X: Block) -> CSR:
    """The counts, of which scikit-learn's NMF may store no zeros."""
    table = X.table
    if not table.data.all():
        table = table.copy()
        table.eliminate_zeros()
    return table


def _distributions(P: Array) -> Array:
    """Rows divided by their sums; uniform ones where there is nothing."""
    sums = P.sum(axis=1, keepdims=True)
    return np.where(sums > 0, P, 1) / np.where(sums > 0, sums, P.shape[1])
