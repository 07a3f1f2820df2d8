"""Base class of meta-estimators, and the models that they hold as factorisations P(y given x)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.utils import get_tags

from skcooc.base.parameters import ATTRIBUTES, fill_docstring
from skcooc.base.predictions import Predictions
from skcooc.fitting.context import in_threads
from skcooc.fitting.journal import Journal, resume_or_new
from skcooc.fitting.recipe import with_seed
from skcooc.heldout import Factors
from skcooc.heldout.memory import CacheParameters, rows_with
from skcooc.heldout.validation import HeldOutPredictions, add_one
from skcooc.protocol import CSR, Array, Block, RandomState, T, TableLike
from skcooc.protocol.bases import BaseEstimator, CallbackSupportMixin, MetaEstimatorMixin
from skcooc.protocol.scikit_learn import InstanceOf, validate_parameter_constraints
from skcooc.tables import is_out_of_core, without_zeros

S = TypeVar("S")

MEMBER_TYPES = [
    InstanceOf(Predictions, "a model of skcooc such as AspectModel (no Pipeline)"),
    InstanceOf(TransformerMixin, "a transformer such as LatentDirichletAllocation"),
]
SHARED = (  # attributes with the same meaning in all estimators
    *("row_distribution_", "component_distribution_", "column_embedding_", "row_components_"),
    *("unigram_", "n_features_in_", "feature_names_in_", "row_names_in_"),
)
UNFITTED = Factors(np.empty((0, 0)), np.empty((0, 0)))


class MetaModel(Predictions, MetaEstimatorMixin, CallbackSupportMixin, BaseEstimator):
    """Base class of estimators around others, whose P(y given x) is a product of two factors.

    Docstrings of subclasses get the paragraphs of shared attributes that they lack.
    """

    random_state: RandomState

    @property
    def _integers(self) -> np.dtype:
        """Type in which counts of integers are fitted: the widest of the models inside."""
        types = (getattr(inside, "_integers", np.float32) for inside in self.get_params().values())
        return np.result_type(np.float32, *types)

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        shared = {name: ATTRIBUTES[name] for name in ATTRIBUTES if name.startswith(SHARED)}
        cls.__doc__ = fill_docstring(cls.__doc__, "Attributes", shared, {})

    def _mixture_prior(self) -> tuple[Array, Array]:
        return self.row_distribution_, self.embedding_

    def _each(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """Return function(item) of each item, computed in parallel."""
        return in_threads(function, [(item,) for item in items], self.n_jobs)

    def _seeded(self, estimator: Any, seed: int) -> Any:
        """Return the estimator, with the seed where it has none and this one has."""
        if estimator is None or self.random_state is None:
            return estimator
        return with_seed(estimator, seed)

    @contextmanager
    def _journal(self, *data: object) -> Iterator[Journal]:
        """The journal of a fit, which may resume an interrupted one, as a callback task."""
        root = self._init_callback_context().call_on_fit_task_begin(estimator=self)
        yield resume_or_new(self, *data)
        del self._unfinished
        root.call_on_fit_task_end(estimator=self)


@dataclass(frozen=True)
class NativeMember:
    """An estimator of this package; immutable, as all members.

    ``fit`` returns a fitted copy, and ``partial_fit`` a copy updated with further rows. X is the
    user's input, and ``counts`` are its checked counts, with columns in the order fitted.
    """

    estimator: Predictions
    cache: CacheParameters | None = None  # parameters of the cache around the estimator

    @property
    def heldout_predictions(self) -> HeldOutPredictions | None:
        """Predictions of the validation part of the last fit; None if there was none."""
        return self.estimator._heldout_predictions

    @property
    def fitted(self) -> Factors:
        """P(z given x) of the training rows, (N, K), and P(y given z), (M, K)."""
        return self.estimator.factors

    def fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> NativeMember:
        new = clone(self.estimator)
        new._cache = self.cache
        return replace(self, estimator=new.fit(X, sample_weight=sample_weight))

    def partial_fit(
        self, X: TableLike, counts: Block, sample_weight: ArrayLike | None, by_name: bool
    ) -> NativeMember:
        new: Any = copy.deepcopy(self.estimator)
        new._cache = self.cache
        new.partial_fit(X, sample_weight=sample_weight, by_name=by_name)
        return replace(self, estimator=new)

    def fold_in(self, X: Block) -> Array:
        return self.estimator.fold_in(X)

    def without_rows(self) -> NativeMember:
        return replace(self, estimator=self.estimator._without_rows())


@dataclass(frozen=True)
class TransformerMember:
    """A transformer of another library with non-negative components.

    If all rows of ``transform`` sum to one, as for LatentDirichletAllocation, they are P(z given
    x), and the components divided by their sums are P(y given z). Otherwise, as for NMF, they are
    coefficients: x is proportional to their product with the components.
    """

    estimator: TransformerMixin
    are_mixtures: bool = False  # whether rows of transform sum to one
    fitted: Factors = UNFITTED
    heldout_predictions: ClassVar[None] = None

    def fit(
        self, X: TableLike, counts: Block, sample_weight: ArrayLike | None
    ) -> TransformerMember:
        check_in_memory(X, self.estimator)
        return self._fitted_to(clone(self.estimator).fit, counts, sample_weight)

    def partial_fit(
        self, X: TableLike, counts: Block, sample_weight: ArrayLike | None, by_name: bool
    ) -> TransformerMember:
        return self._fitted_to(copy.deepcopy(self.estimator).partial_fit, counts, sample_weight)

    def fold_in(self, X: Block) -> Array:
        return self._mixtures(self.estimator.transform(without_zeros(X.table)), X.dtype)

    def without_rows(self) -> TransformerMember:
        return replace(self, fitted=UNFITTED)

    def _mixtures(self, transformed: ArrayLike, dtype: np.dtype) -> Array:
        coefficients = np.asarray(transformed, dtype=dtype)
        components = np.asarray(self.estimator.components_, dtype=dtype)
        if coefficients.min(initial=0) < 0 or components.min() < 0:
            raise ValueError(
                f"{type(self.estimator).__name__} has negative components or coefficients, which "
                "do not give probabilities: use a non-negative model."
            )
        if not self.are_mixtures:
            coefficients = coefficients * components.sum(axis=1)
        return _distributions(coefficients)

    def _fitted_to(
        self, fit: Callable[[CSR], TransformerMixin], X: Block, sample_weight: ArrayLike | None
    ) -> TransformerMember:
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight is given, but {type(self.estimator).__name__} is not an estimator "
                "of skcooc: repeat rows, or multiply their counts."
            )
        table = without_zeros(X.table)  # NMF of scikit-learn refuses stored zeros
        fitted = fit(table)
        if not hasattr(fitted, "components_"):
            raise ValueError(f"{type(fitted).__name__} has no components_ when it is fitted.")
        transformed = np.asarray(fitted.transform(table))
        new = TransformerMember(fitted, bool(np.allclose(transformed.sum(axis=1), 1, atol=1e-4)))
        components = _distributions(np.asarray(fitted.components_, dtype=X.dtype))
        return replace(new, fitted=Factors(new._mixtures(transformed, X.dtype), components.T))


@dataclass(frozen=True)
class TopicFreeMember:
    """The topic-free baseline: one component, the share of rows in which each column occurs."""

    fitted: Factors = UNFITTED
    estimator: ClassVar[None] = None
    heldout_predictions: ClassVar[None] = None

    def fit(self, X: TableLike, counts: Block, sample_weight: ArrayLike | None) -> TopicFreeMember:
        distribution = add_one(rows_with(counts)).astype(counts.dtype)
        return TopicFreeMember(Factors(self.fold_in(counts), distribution[:, None]))

    def partial_fit(
        self, X: TableLike, counts: Block, sample_weight: ArrayLike | None, by_name: bool
    ) -> TopicFreeMember:
        return self.fit(X, counts, sample_weight)  # no state to update

    def fold_in(self, X: Block) -> Array:
        return np.ones((X.shape[0], 1), dtype=X.dtype)

    def without_rows(self) -> TopicFreeMember:
        return TopicFreeMember()


Member: TypeAlias = NativeMember | TransformerMember | TopicFreeMember


def member_of(estimator: BaseEstimator | None, cache: CacheParameters | None = None) -> Member:
    """A member, not yet fitted, and the cache around it; None is the topic-free baseline."""
    if estimator is None:
        return TopicFreeMember()
    if not isinstance(estimator, Predictions):
        if get_tags(estimator).target_tags.required:
            raise ValueError(
                f"{type(estimator).__name__} learns from labels, but a meta-estimator has none: "
                "give a model without labels, or its seed_features."
            )
        return TransformerMember(estimator)
    check_member(estimator)
    return NativeMember(estimator, cache)


def check_without_groups(estimator: Predictions) -> None:
    if effects := getattr(estimator, "group_effects", None):
        raise ValueError(
            f"A meta-estimator does not take groups of rows, but group_effects={effects!r} needs "
            f"them: set group_effects=None, or fit {type(estimator).__name__} by itself."
        )


def check_member(estimator: Predictions) -> None:
    check_without_groups(estimator)
    if not estimator.is_factorised:
        raise ValueError(
            f"{type(estimator).__name__} predicts more than the product of its mixtures and "
            "components, but a meta-estimator uses only that product: make "
            f"{type(estimator).__name__} the outermost estimator."
        )


def members_of(named: Sequence[tuple[str, BaseEstimator]], whose: str) -> list[Member]:
    """Members of (name, estimator) pairs; ``whose`` names the meta-estimator in messages."""
    are_named = [
        isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str)
        for item in named
    ]
    if not named or not all(are_named):
        raise ValueError(
            "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
            "estimator) tuples."
        )
    validate_parameter_constraints({name: MEMBER_TYPES for name, _ in named}, dict(named), whose)
    return [member_of(estimator) for _, estimator in named]


def check_in_memory(X: TableLike, estimator: BaseEstimator) -> None:
    """Raise TypeError where an estimator cannot be fitted to a table because of its place."""
    if is_out_of_core(X):
        raise TypeError(
            f"{type(estimator).__name__} needs a table in memory, got {type(X).__name__}: fit it "
            "to a sample of the rows, such as X[:10_000].compute() of a dask array or a block, and "
            "transform the others. Models such as AspectModel and their averages are fitted to all."
        )


def _distributions(P: Array) -> Array:
    """Rows divided by their sums; uniform if a row is zero."""
    sums = P.sum(axis=1, keepdims=True)
    return np.where(sums > 0, P, 1) / np.where(sums > 0, sums, P.shape[1])
