"""Averages of models: the mean of what several random starts predict."""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.base import CooccurrenceEstimator, attributes
from skcooc.ensemble.composed import Composed
from skcooc.ensemble.consensus import Consensus, consensus
from skcooc.ensemble.mean import Mean, equal, mean_of
from skcooc.fitting.fit import in_threads, shares
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout.predictors import Factors, weighted
from skcooc.heldout.validation import HeldOutPredictions, add_one_unigram, chosen_smoothing
from skcooc.protocol import Array, Block, RandomState, TableLike
from skcooc.protocol.decorators import fit_context
from skcooc.tables import read_in_memory


class AveragedModels(Composed):
    """Average of what one estimator predicts from several random starts.

    Each start ends in another local optimum, and the errors of these differ: the mean over S starts

        P(y_j given x_i) = sum_s P_s(y_j given x_i) / S

    predicts better than any of them. The mean of S models with K components is one with S K
    components, which are those of all members side by side, while the mixtures are divided by S.

    A mean needs less regularisation than its members. So where the estimator has ``beta="auto"``
    the inverse temperature is that at which the *mean* of short fits predicts held-out
    observations best, of seven that golden section search tries. It is common to all members, and
    the smoothing of the mean is estimated with it; so is its pseudo-count, where an `AspectModel`
    has ``component_prior="auto"``. Members are fitted from random starts.

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
    component_distribution_ : (S K,) array
        P(z_k) = sum_i P(x_i) P(z_k given x_i).
    column_embedding_ : (M, S K) array
        P(z_k given y_j).
    row_components_ : (S K, N) array
        P(x_i given z_k).
    unigram_ : (M,) array
        Add-one distribution of the columns, used for smoothing.
    beta_ : float
        Inverse temperature of the members.
    smoothing_ : float
        Smoothing of the mean: that of the estimator if it is a number; estimated on held-out
        observations where the estimator holds some out; else .001.
    consensus_ : Consensus
        One model of K components, each the mean of those of the members that match, with intervals:
        to be read, and shown by :func:`skcooc.inspection.describe`. Not where members have
        different numbers of components.
    tuning_ : list of Trial
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
    row_names_in_ : (N,) array
        Names of the rows fitted, where the data has them: of `Dyads`, or of a data frame.

    Notes
    -----
    A fit that was interrupted goes on where it was when ``fit`` is called with the same data and
    parameters: temperatures that were tried, and members that have ended, are kept. With
    :class:`skcooc.callbacks.Checkpoint` it can do so in another process: ``fit`` of what
    ``read_checkpoint`` reads goes on.

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

    @property
    def consensus_(self) -> Consensus:
        """One model of the components that match, with intervals over the members."""
        check_is_fitted(self)
        models = [Factors(member.embedding_, member.components_.T) for member in self.estimators_]
        return consensus(models, self.row_distribution_)

    def __init__(
        self,
        estimator: CooccurrenceEstimator,
        n_estimators: int = 5,
        *,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator, self.n_estimators = estimator, n_estimators
        self.n_jobs, self.random_state = n_jobs, random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
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
        new, member = copy.copy(self), clone(self.estimator)
        table = read_in_memory(new, X, sample_weight)  # a fit that fails leaves self as it was
        counts, recipe = table.sample, member.recipe().for_table(table.sample)
        with self._journal(counts) as journal:
            seeds = journal.once(
                ("seeds",), lambda: draw_seeds(self.random_state, self.n_estimators)
            )
            recipe = recipe.with_seeds(seeds)
            mean = Mean(self.estimator, seeds, self.n_jobs)
            found, trials, leader = mean.chosen(recipe, counts, journal)
            members = mean.members(counts, journal, **found)
        factors, settings = mean_of(members), recipe.settings
        attributes.become(
            self,
            attributes.of_input(new)
            | {
                "_frame": table.frame,
                "_judged": leader and HeldOutPredictions(settings.division, leader.predicted),
                "estimators_": members,
                "components_": factors.B.T,
                "weights_": np.hstack([member.weights_ for member in members]) / len(members),
                "embedding_": factors.A,
                "row_distribution_": members[0].row_distribution_,
                "unigram_": add_one_unigram(counts.column_sums, counts.grain),
                "beta_": found["beta"],
                "smoothing_": chosen_smoothing(settings.smoothing, leader and leader.validation),
                "tuning_": trials if settings.tunes else [],
                "n_iter_": sum(member.n_iter_ for member in members),
                "converged_": all(member.converged_ for member in members),
            },
        )
        return self

    def _fold_in(self, X: Block) -> Array:
        """P(k given x) of checked rows under every member, divided by their number."""
        n_outer, _ = shares(self.n_jobs, len(self.estimators_))
        members = [(member,) for member in self.estimators_]
        folded = in_threads(lambda member: member._fold_in(X), members, n_outer)
        return weighted(folded, equal(len(folded)))
