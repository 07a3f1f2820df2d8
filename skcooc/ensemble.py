"""Averages of models: the mean of what several random starts predict."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from skcooc.base import attributes
from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.predictions import Predictions
from skcooc.counts import CSRCounts
from skcooc.counts.threads import threads
from skcooc.em import TemperatureRange, Validation
from skcooc.em.temperature import Probe, best, search, search_with_prior
from skcooc.fitting.plan import Settings
from skcooc.heldout.split import add_one_unigram, chosen_smoothing, hold_out
from skcooc.protocol import Array
from skcooc.tables.checks import check_training, n_threads


class AveragedModels(Predictions, MetaEstimatorMixin, BaseEstimator):
    """Average of what one estimator predicts from several random starts.

    Each start ends in another local optimum, and the errors of these differ: the mean over S starts

        P(y_j given x_i) = sum_s P_s(y_j given x_i) / S

    predicts better than any of them. The mean of S models with K components is one with S K
    components, which are those of all members side by side, while the mixtures are divided by S.

    A mean needs less regularisation than its members. So where the estimator has ``beta="auto"``
    the inverse temperature is that at which the *mean* of short fits predicts held-out
    observations best. It is common to all members, and the smoothing of the mean is estimated with
    it; so is its pseudo-count, where an `AspectModel` has ``component_prior="auto"``.

    Parameters
    ----------
    estimator : estimator of this package
        What is fitted. Its ``random_state`` and ``n_jobs`` are replaced, and ``warm_start`` is
        ignored.

    n_estimators : int, default=5
        Number S of members.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Members are fitted side by side. Results do not
        depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the members and of the division into training and held-out observations.

    Attributes
    ----------
    estimators_ : list of S fitted estimators
    components_ : (S K, M) array
        P(y_j given z_k) of all members.
    weights_ : (S K,) array
        P(z_k) of all members, divided by S.
    embedding_ : (N, S K) array
        P(z_k given x_i) of the rows fitted, divided by S.
    row_distribution_ : (N,) array
        P(x_i).
    unigram_ : (M,) array
        Add-one distribution of the columns, used for smoothing.
    beta_ : float
        Inverse temperature of the members.
    smoothing_ : float
        Smoothing of the mean: that of the estimator if it is a number; estimated on held-out
        observations where the estimator holds some out; else .001.
    temperature_search_ : list of Probe
        The temperatures tried: each has ``beta``, and ``validation.perplexity`` and
        ``validation.smoothing`` of the mean. Empty where none was searched.
    n_iter_ : int
        Number of EM iterations of the final fits, added up.
    converged_ : bool
        Whether all members did.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, where the data has names that are strings.

    References
    ----------
    T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine Learning
    42, 177-196, 2001, section 5: models with different numbers of components are combined there.

    Examples
    --------
    >>> from skcooc import AspectModel, AveragedModels, Dyads
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import split_observations
    >>> X = make_cooccurrences(150, 120, n_components=12, random_state=0).X
    >>> train, test = split_observations(X, random_state=0)
    >>> average = AveragedModels(AspectModel(n_components=6), random_state=0).fit(train)
    >>> average.transform(X[:2]).shape
    (2, 30)
    >>> members = [member.perplexity(Dyads(test)) for member in average.estimators_]
    >>> average.perplexity(Dyads(test)) < min(members)
    True
    """

    estimators_: list[CooccurrenceEstimator]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [CooccurrenceEstimator],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: CooccurrenceEstimator,
        n_estimators: int = 5,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> AveragedModels:
        """Fit all members.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Non-negative counts or weights.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; of each observation where X is Dyads.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, or a parameter has no valid value.
        """
        self.estimator._validate_params()
        new = copy.copy(self)  # a fit that fails leaves self as it was
        table, row_weights = check_training(new, X, sample_weight)
        seeds = self._seeds(self.n_estimators)
        counts = CSRCounts(table, row_weights)
        settings = replace(clone(self.estimator)._settings(counts, warm=False), seeds=seeds)
        probes = self._search(table, row_weights, settings) if settings.holds_out else []
        chosen = best(probes, worth=0.0) if probes else None  # a mean leaves little to chance
        found = {"beta": chosen.beta if chosen else settings.beta}
        if chosen and settings.searches and settings.priors is not None:
            found["component_prior"] = chosen.prior
        members = self._members(table, row_weights, seeds, **found)
        embedding, components = side_by_side(members)
        self._become(
            attributes.of_input(new)
            | {
                "estimators_": members,
                "components_": components.T,
                "weights_": np.hstack([member.weights_ for member in members]) / len(members),
                "embedding_": embedding,
                "row_distribution_": members[0].row_distribution_,
                "unigram_": add_one_unigram(counts.column_sums),
                "beta_": found["beta"],
                "smoothing_": chosen_smoothing(settings.smoothing, chosen and chosen.validation),
                "temperature_search_": probes if settings.searches else [],
                "n_iter_": sum(member.n_iter_ for member in members),
                "converged_": all(member.converged_ for member in members),
            }
        )
        return self

    def _search(self, X: Any, row_weights: Array | None, settings: Settings) -> list[Probe]:
        """Probe temperatures, and priors, with short fits of all members, judged by their mean."""
        rest, heldout = hold_out(X, row_weights, settings)
        short = {"n_init": 1, "max_iter": settings.probe_iterations}

        def evaluate(**parameters: float) -> Validation:
            members = self._members(rest, row_weights, settings.seeds, **parameters, **short)
            return heldout.score([side_by_side(members)])

        within = settings.beta
        if not isinstance(within, TemperatureRange):
            within = TemperatureRange(within, within)  # for the smoothing alone
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if settings.searches and settings.priors is not None:
                return search_with_prior(
                    lambda beta, prior: evaluate(beta=beta, component_prior=prior),
                    within,
                    settings.priors.within,
                )
            return search(lambda beta: evaluate(beta=beta), within)

    def _members(
        self, X: Any, row_weights: Array | None, seeds: Sequence[int], **parameters: Any
    ) -> list[Any]:
        """One fitted estimator for each seed."""
        shared = {"n_jobs": max(1, n_threads(self.n_jobs) // len(seeds)), "warm_start": False}

        def fitted(seed: int) -> Any:
            member = clone(self.estimator).set_params(random_state=seed, **shared, **parameters)
            return member.fit(X, sample_weight=row_weights)

        return self._for_each(fitted, seeds)

    def _fold_in(self, X: Any) -> Array:
        """P(k given x) of rows of a checked table under every member, divided by their number."""
        folded = self._for_each(lambda member: member._fold_in(X), self.estimators_)
        return np.hstack(folded) / len(folded)

    def _for_each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """What the function makes of each item, in order; side by side in threads."""
        n_jobs = min(n_threads(self.n_jobs), len(items))
        with threads(1):  # throughout: by turns BLAS would have one thread, or several
            if n_jobs == 1:
                return [function(item) for item in items]
            run = Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")
            return list(run(delayed(function)(item) for item in items))


def side_by_side(members: Sequence[Any]) -> tuple[Array, Array]:
    """The mean prediction of fitted models as one product.

    Parameters
    ----------
    members : sequence of S estimators
        Each with ``embedding_`` (N, K) and ``components_`` (K, M).

    Returns
    -------
    A : (N, S K) array
        Rows sum to one.
    B : (M, S K) array
        A @ B.T is the mean of embedding_ @ components_.
    """
    A = np.hstack([member.embedding_ for member in members]) / len(members)
    return A, np.hstack([member.components_.T for member in members])
