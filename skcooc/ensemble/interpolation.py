"""Interpolation: weighted means of the predictions of different models."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from skcooc.base import attributes
from skcooc.ensemble.members import Member, MetaModel, check_in_memory, members_of
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout.predictors import (
    LARGEST_SMOOTHING,
    LEAST_SMOOTHING,
    CachedPredictions,
    Interpolated,
    Unigram,
    best_weights,
    side_by_side,
    weighted,
)
from skcooc.heldout.validation import HeldOutPredictions, HoldOutOptions, add_one_unigram, hold_out
from skcooc.protocol import Array, Block, Estimator, RandomState, TableLike, TableWarning
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import BaseComposition, Interval
from skcooc.simplex import normalise
from skcooc.tables import Table, read_in_memory, with_names


@dataclass(eq=False, repr=False)
class InterpolatedModels(BaseComposition, MetaModel):  # set_params: the list, models, others
    """Weighted average of the predictions of different models.

    Different models capture different structure of a table. Their weighted average is

        P(y_j given x_i) = (1 - s) sum_m w_m P_m(y_j given x_i) + s b_j

    The weights w_m of the models and the weight s of the unigram b maximise the likelihood of
    held-out tokens. EM finds this optimum, which is unique. The average is one model: it contains
    the K components of all models, and its mixtures are those of the models times their weights.

    Each model is fitted twice: without the held-out tokens, to estimate the weights, and then to
    all tokens. The weights are not estimated on the tokens that a model holds out for its own
    tuning, because only its short fits predict those tokens.

    Read more in the :doc:`user guide </guide/averages>`.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        Names and models. A model is an estimator of this package, `AveragedModels`, or any
        transformer with non-negative ``components_``, such as scikit-learn's
        LatentDirichletAllocation and NMF. Each keeps its own ``n_jobs``.

    validation_fraction : float, default=0.1
        Proportion of tokens to hold out for estimating the weights.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the choice of held-out tokens, and of models whose own seed is None.

    Attributes
    ----------
    estimators_, named_estimators_ : list, and Bunch by name, of fitted estimators
        The fitted models.
    interpolation_weights_ : (n_estimators,) array
        The weights w_m of the models. They sum to one.
    smoothing_ : float
        The weight s of the unigram, from 0.001 to 0.95.
    components_ : (K, M) array
        P(y_j given z_k) of all models.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows, times the weight of the model.

    See Also
    --------
    AveragedModels : Average of many fits of one model.

    Notes
    -----
    An interrupted fit resumes if you call ``fit`` again with the same data and parameters. With
    :class:`skcooc.callbacks.Checkpoint` it also resumes in another process, by
    ``read_checkpoint(path).fit``.

    References
    ----------
    F. Jelinek and R. L. Mercer, Interpolated estimation of Markov source parameters from sparse
    data, Pattern Recognition in Practice, 381-397, 1980.

    T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine Learning
    42, 177-196, 2001, section 5, which combines models with different numbers of components.

    Examples
    --------
    >>> from skcooc import AspectModel, AsymmetricClustering, InterpolatedModels
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(60, 100, 3, random_state=0).X
    >>> models = [
    ...     ("aspects", AspectModel(3, random_state=0)),
    ...     ("clusters", AsymmetricClustering(5, random_state=0)),
    ... ]
    >>> mean = InterpolatedModels(models).fit(X)
    >>> mean.transform(X).shape
    (60, 8)
    >>> aspects, clusters = mean.interpolation_weights_
    >>> bool(aspects > clusters)
    True
    """

    estimators: list[tuple[str, BaseEstimator]]
    _: KW_ONLY
    validation_fraction: float = 0.1
    n_jobs: int | None = None
    random_state: RandomState = None
    estimators_: list[Estimator] = field(init=False)
    interpolation_weights_: Array = field(init=False)
    named_estimators_: dict[str, Estimator] = field(init=False)
    _members: list[Member] = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimators": [list],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also the models by name and their parameters."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, models by name, or their parameters: ``aspects__n_components=5``."""
        self._set_params("estimators", **params)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit all models and estimate their weights.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Non-negative counts or weights.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads. All models must support it.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If X is not in memory: a dask array, RowBlocks or a DiskTable.
        ValueError
            If a model has negative components, does not support weights, or names are not unique.
        """
        check_in_memory(X, self)
        unseeded = members_of(self.estimators, type(self).__name__)
        names = [name for name, _ in self.estimators]
        self._validate_names(names)
        new = copy.copy(self)  # a fit that fails leaves self as it was
        table = read_in_memory(new, X, sample_weight)
        counts = table.sample
        with (
            self._journal(counts.table, counts.weights, table.schema.names) as journal,
            warnings.catch_warnings(action="ignore", category=TableWarning),
        ):
            (seed,) = journal.get_or_compute(("seeds",), draw_seeds, self.random_state, 1)
            seeded = [replace(m, estimator=self._seeded(m.estimator, seed)) for m in unseeded]
            members = self._fits("all", journal, seeded, X, counts, sample_weight)
            weights, smoothing, predicted = self._estimate(members, table, seed, journal)
        factors = side_by_side([member.fitted for member in members], weights)
        mass = counts.row_sums * counts.row_weights
        estimators = [member.estimator for member in members]
        attributes.set_fitted_attributes(
            self,
            attributes.input_attributes(new)
            | {
                "_members": members,
                "_schema": table.schema,
                "_heldout_predictions": predicted,
                "estimators_": estimators,
                "named_estimators_": Bunch(**dict(zip(names, estimators, strict=True))),
                "interpolation_weights_": np.array(weights),
                "smoothing_": smoothing,
                "components_": factors.B.T,
                "embedding_": factors.A,
                "row_distribution_": mass / mass.sum(),
                "unigram_": add_one_unigram(counts),
            },
        )
        return self

    def _fits(
        self,
        name: str,
        journal: Journal,
        members: Sequence[Member],
        X: TableLike,
        counts: Block,
        sample_weight: ArrayLike | None,
    ) -> list[Member]:
        """All models fitted to the same data in parallel, unless the journal has them."""

        def fit(number: int) -> Member:
            member = members[number]
            return journal.get_or_compute(
                (name, number), lambda: member.fit(X, counts, sample_weight), checkpoint=True
            )

        return self._each(fit, range(len(members)))

    def _estimate(
        self, members: Sequence[Member], table: Table, seed: int, journal: Journal
    ) -> tuple[list[float], float, HeldOutPredictions]:
        """Weights and smoothing best for held-out tokens; predictions without smoothing."""
        division = HoldOutOptions(self.validation_fraction, seed, "auto")
        rest, heldout = hold_out(
            table.sample, *division, purpose="to estimate the weights. Change validation_fraction."
        )
        named = with_names(rest.table, table.schema.column_names)
        fits = self._fits("rest", journal, members, named, rest, rest.weights)
        predicted = [CachedPredictions(member.fitted.cells(heldout.X)) for member in fits]
        parts = best_weights([*predicted, Unigram(heldout.background)], heldout.X)
        smoothing = float(np.clip(parts[-1], LEAST_SMOOTHING, LARGEST_SMOOTHING))
        normalised = normalise(parts[None, :-1], axis=1, otherwise=1 / len(predicted))
        weights = normalised[0].tolist()
        mean = CachedPredictions(Interpolated(predicted, weights).cells(heldout.X))
        return weights, smoothing, HeldOutPredictions(division, mean)

    def fold_in(self, X: Block) -> Array:
        mixtures = self._each(lambda member: member.fold_in(X), self._members)
        return weighted(mixtures, self.interpolation_weights_.tolist())

    def _without_rows(self) -> Self:
        new = super()._without_rows()
        new._members = [member.without_rows() for member in self._members]
        new.estimators_ = [member.estimator for member in new._members]
        del new.named_estimators_
        return new
