"""Averages of the predictions of one estimator from several random initialisations."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skcooc.base import A_MODEL, CooccurrenceEstimator, attributes, warm_starts
from skcooc.ensemble.members import MetaModel, check_member
from skcooc.fitting import Recipe, tuning
from skcooc.fitting.context import FitContext, in_threads, split_threads, threaded
from skcooc.fitting.fit import learned_structure, tuned_fit
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.short_fits import ShortFits
from skcooc.fitting.watching import WatchedContext
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.memory import CacheValidation
from skcooc.heldout.predictors import LEAST_SMOOTHING, CachedPredictions, Factors, weighted
from skcooc.heldout.validation import (
    HeldOutPredictions,
    chosen_smoothing,
    hold_out,
)
from skcooc.protocol import Array, Block, Capability, Counts, Predictor, RandomState, TableLike
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import Interval
from skcooc.simplex import match_rows, normalise
from skcooc.tables import Table, TableSchema, read

LARGER_BETA = 1.07  # factor of the inverse temperature of members: a mean overfits less
FEW = 3  # members that are fitted to tune the mean of all
# What is not tuned for a single fit: it is tuned for the mean, or the mean makes up for it.
NOT_OF_ONE = tuning.ComponentPrior, tuning.LeaveOneOut, tuning.SmallerPseudoCounts, tuning.OneOf
PRIOR_FACTOR, N_PRIORS, N_BETAS = 2.2, 1, 1  # trials of the mean, at most
NEEDS: Mapping[Capability, str] = {"row states": "averages keep the mixtures of the training rows"}
QUANTILES = 0.05, 0.95  # of the members, for intervals


@dataclass(eq=False, repr=False)
class AveragedModels(MetaModel):
    """Average of the predictions of many short fits of one estimator.

    Each of S members makes a few EM iterations from its own initialisation. The average is

        P(y_j given x_i) = sum_s P_s(y_j given x_i) / S

    The errors of the members differ, so the average predicts better than a single converged fit.
    Sixteen members cost a few times as much as one fit. The average is one model: it contains the
    components of all members, and its mixtures are those of the members divided by S. Use it for
    prediction.

    If the estimator has ``beta="auto"``, averages of three members are compared on held-out tokens.
    This chooses beta, the pseudo-counts of the components, and whether EM is leave-one-out. Beta
    is larger than for a single fit.

    Read more in the :doc:`user guide </guide/averages>`.

    Parameters
    ----------
    estimator : estimator of this package
        Model whose clones are fitted. They use the ``max_iter``, ``n_jobs`` and ``random_state``
        below, and ignore ``n_init``, ``tol`` and ``warm_start``.

    n_estimators : int, default=16
        Number S of members. Perplexity falls with each further member, but ever more slowly.

    max_iter : int, default=20
        Number of EM iterations of each member.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the members and of the held-out tokens.

    Attributes
    ----------
    estimators_ : list of S fitted estimators
    components_ : (K, M) array
        P(y_j given z_k) of all members.
    weights_ : (K,) array
        P(z_k) of all members, divided by S.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows, divided by S.
    beta_ : float
        Inverse temperature of the members.
    smoothing_ : float
        Smoothing of the average. This is the ``smoothing`` of the estimator if it is a number.
        Otherwise it is estimated on held-out tokens, or 0.001 if the estimator holds none out.
    consensus_ : Consensus
        One model to interpret, whose components are averages of matching components of the members,
        with intervals. See :func:`skcooc.inspection.describe`. Not available if members have
        different numbers of components.
    tuning_ : list of Trial
        Trials on held-out tokens. In the stage "mean", a trial is an average of three members. Its
        perplexity and smoothing are extrapolated to all members. Inside a `RowMemory` they include
        the cache. For models without a first guess of beta, trials of single fits come first.
    n_iter_ : int
        Total number of EM iterations of the members.

    See Also
    --------
    RowMemory : Cache around a model or an average, for the best predictions.
    InterpolatedModels : Weighted average of different models.

    Notes
    -----
    Members are not fitted until convergence. To interpret topics, fit one `AspectModel`.

    An interrupted fit resumes if you call ``fit`` again with the same data and parameters. With
    :class:`skcooc.callbacks.Checkpoint` it also resumes in another process, by
    ``read_checkpoint(path).fit``.

    References
    ----------
    T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine Learning
    42, 177-196, 2001, section 5, which combines models with different numbers of components.

    Examples
    --------
    >>> from skcooc import AspectModel, AveragedModels, Dyads
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import split_counts
    >>> X = make_cooccurrences(150, 120, n_components=12, random_state=0).X
    >>> train, test = split_counts(X, random_state=0)
    >>> average = AveragedModels(AspectModel(n_components=6), random_state=0).fit(train)
    >>> members = [member.perplexity(Dyads(test)) for member in average.estimators_]
    >>> average.perplexity(Dyads(test)) < min(members)
    True
    """

    estimator: CooccurrenceEstimator
    n_estimators: int = 16
    _: KW_ONLY
    max_iter: int = 20
    n_jobs: int | None = None
    random_state: RandomState = None
    estimators_: list[CooccurrenceEstimator] = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [A_MODEL],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    @property
    def consensus_(self) -> Consensus:
        """One model whose components average matching ones, with intervals over the members."""
        check_is_fitted(self)
        factors = [member.factors for member in self.estimators_]
        unnamed = consensus(factors, self.row_distribution_)
        reference = self.estimators_[unnamed.reference_]
        return replace(
            unnamed,
            feature_names_in_=getattr(self, "column_names_in_", None),
            component_names_=getattr(reference, "component_names_", {}),
            _schema=self._schema,
        )

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit all members.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or DiskTable
            Non-negative counts or weights, of shape (N, M). For a dask array or DiskTable, a sample
            of the rows is used for tuning, and all rows for the members.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads. Not supported for dask arrays and
            DiskTable.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X is RowBlocks, or the estimator does not support this type of X.
        """
        self.estimator._validate_params()
        self.estimator.check_sizes()
        check_member(self.estimator)
        new = copy.copy(self)  # a fit that fails leaves self as it was
        recipe = self.estimator.recipe()
        table = read(
            new,
            X,
            sample_weight,
            needs={**recipe.needs_of_fit, **NEEDS},
            searches=recipe.settings.beta == "auto",
            random_state=self.random_state,
        )
        inputs = attributes.input_attributes(new) | {"_schema": table.schema}
        data: tuple[object, ...] = warm_starts.table_fingerprint(table)
        if table.in_memory:
            data = table.sample.table, table.sample.weights
        if not recipe.needs_empty_columns:
            table = table.occupied()
        counts = table.counts
        recipe = recipe.for_table(counts, table.schema.column_names)
        with self._journal(*data, table.schema.names) as journal:
            seeds = journal.get_or_compute(
                ("seeds",), draw_seeds, self.random_state, self.n_estimators
            )
            recipe = recipe.with_seeds(seeds)
            settings = recipe.settings
            tuned = self._tune(recipe, table, journal) if settings.holds_out else None
            values = tuned.values if tuned else {"beta": settings.beta}
            members = self._fit_members(table, inputs, values, seeds, journal)
        mixtures = counts.map_blocks(_side_by_side, *(member.embedding_ for member in members))
        attributes.set_fitted_attributes(
            self,
            inputs
            | {
                "_heldout_predictions": tuned
                and HeldOutPredictions(settings.division, tuned.mean.predicted),
                "estimators_": members,
                "components_": np.vstack([member.components_ for member in members]),
                "weights_": np.hstack([member.weights_ for member in members]) / len(members),
                "embedding_": counts.collect_rows(mixtures),
                "row_distribution_": members[0].row_distribution_,
                "unigram_": table.unigram(counts),
                "beta_": values["beta"],
                "smoothing_": chosen_smoothing(settings.smoothing, tuned and tuned.mean.validation),
                "tuning_": tuned.trials if tuned else [],
                "n_iter_": sum(member.n_iter_ for member in members),
            },
        )
        return self

    def _tune(
        self,
        recipe: Recipe,
        table: Table,
        journal: Journal,
    ) -> TunedMean:
        """Tune what the mean of a few members needs.

        It begins near the usual temperature of a single fit; where there is none, that is tuned
        first. Priors of the members are raised from none, and their inverse temperature further, as
        long as that gains; where rows are short, leave-one-out responsibilities are tried.
        """
        settings = recipe.settings
        rest, heldout = hold_out(table.sample, *settings.division)
        tunables = recipe.family.tunables(table.sample) if settings.tunes else []
        context = WatchedContext(settings, journal)
        usual = recipe.beta_range(table.sample).guess
        single: list[tuning.Trial] = []
        if settings.tunes and usual is None:
            of_one = [tunable for tunable in tunables if not isinstance(tunable, NOT_OF_ONE)]
            with context.part("tuned") as part:
                start = context.once("tuned", tuned_fit, recipe, rest, heldout, of_one, part)
            single = start.trials
        cache = None
        if self._cache is not None:
            cache = CacheValidation.from_tables(rest, heldout.X, self._cache)

        record = journal.get_or_compute(("means",), tuning.TrialRecord[MeanPrediction])
        if settings.tunes:
            chosen = next((trial.values for trial in single if trial.chosen), {})
            largest = recipe.with_values(chosen).equations.largest_beta
            if usual is None:
                beta = min(LARGER_BETA * chosen["beta"], largest)
            else:
                beta = nearer_one(nearer_one(LARGER_BETA * usual, largest), largest)
            of_mean = mean_tunables({**chosen, "beta": beta}, tunables, largest)
        else:
            of_mean = [tuning.Candidates([{"beta": settings.beta}])]
        with context.part("mean") as part, ExitStack() as pools:
            members = self._short_fits(settings.seeds[:FEW], table, rest, heldout, part, pools)

            def predict(values: tuning.Values, trial: FitContext) -> MeanPrediction:
                tasks = [(fits, values, trial, seed) for seed, fits in members.items()]
                predicted = in_threads(_member_prediction, tasks, self.n_jobs)
                return predicted_mean(predicted, len(settings.seeds), heldout, cache)

            best = tuning.tune(of_mean, settings.names, predict, record, part)
        trials = [trial._replace(chosen=False) for trial in single] + record.trials
        return TunedMean(best.values, trials, record.best)

    def _short_fits(
        self,
        seeds: Sequence[int],
        table: Table,
        X: Block,
        heldout: HeldOut,
        context: FitContext,
        pools: ExitStack,
    ) -> dict[int, ShortFits]:
        """Return the fits of a member for each seed, which share its start and its structure."""
        _, n_inner = split_threads(self.n_jobs, len(seeds))
        fits = {}
        for seed in seeds:
            member = self._member(seed, n_inner)
            recipe = member.recipe().of_member().for_table(X, table.schema.column_names)
            recipe = recipe.with_seeds(draw_seeds(seed, 1))
            if recipe.structure is not None:
                structure = learned_structure(recipe.settings, recipe.structure, X, None, context)
                recipe = recipe.tuned(structure.model, recipe.settings.beta, structure.start)
            fits[seed] = ShortFits(recipe, pools.enter_context(threaded(X, n_inner)), heldout)
        return fits

    def _member(self, seed: int, n_jobs: int) -> CooccurrenceEstimator:
        shared = {"n_jobs": n_jobs, "n_init": 1, "max_iter": self.max_iter, "warm_start": False}
        return clone(self.estimator).set_params(random_state=seed, **shared)

    def _fit_members(
        self,
        table: Table,
        inputs: attributes.Attributes,
        values: tuning.Values,
        seeds: Sequence[int],
        journal: Journal,
    ) -> list[CooccurrenceEstimator]:
        _, n_inner = split_threads(self.n_jobs, len(seeds))

        def fit(number: int, seed: int) -> CooccurrenceEstimator:
            member = self._member(seed, n_inner).set_params(**values)
            return journal.get_or_compute(
                ("member", number), member.fit_short, table, inputs, checkpoint=True
            )

        return in_threads(fit, list(enumerate(seeds)), self.n_jobs)

    def fold_in(self, X: Block) -> Array:
        folded = self._each(lambda member: member.fold_in(X), self.estimators_)
        return weighted(folded, [1 / len(folded)] * len(folded))

    def _without_rows(self) -> Self:
        new = super()._without_rows()
        new.estimators_ = [member._without_rows() for member in self.estimators_]
        return new


class MeanPrediction(NamedTuple):
    """Prediction of held-out tokens by the mean of a few members."""

    predicted: CachedPredictions
    validation: Validation  # expected of all members, with the cache if there is one


class TunedMean(NamedTuple):
    """Hyper-parameters of the members, how they were found, and what their mean predicts."""

    values: tuning.Values
    trials: list[tuning.Trial]
    mean: MeanPrediction


def mean_tunables(
    first: tuning.Values, tunables: Sequence[tuning.Tunable], largest_beta: float
) -> list[tuning.Tunable]:
    """What is tuned for a mean, from the first values and the tunables of a single fit."""
    candidates = [first]
    priors: list[tuning.Tunable] = []
    for tunable in tunables:
        if isinstance(tunable, tuning.ComponentPrior):
            candidates.append({**first, "component_prior": tunable.within.guess})
            raised = partial(operator.mul, PRIOR_FACTOR)
            priors.append(tuning.Raised("component_prior", raised, N_PRIORS, tuning.MIN_GAIN))
        if isinstance(tunable, tuning.LeaveOneOut):
            values = tunable.usual_values(LARGER_BETA)
            candidates.append({**values, "beta": nearer_one(values["beta"], largest_beta)})
    nearer = partial(nearer_one, largest=largest_beta)
    return [tuning.Candidates(candidates), *priors, tuning.Raised("beta", nearer, N_BETAS)]


def nearer_one(beta: float, largest: float) -> float:
    """Return the mean of beta and one, at most the largest; clusters may have a larger beta."""
    return max(beta, min((beta + 1) / 2, largest, 1.0))


def _member_prediction(
    fits: ShortFits, values: tuning.Values, trial: FitContext, seed: int
) -> CachedPredictions:
    """Return what a member with these values predicts; its rows are of the last parameters."""
    with trial.part(seed) as part:
        result = fits.run(values, part)
    model = fits.recipe.with_values(values).equations
    last = cast(Counts, result.X)
    rows, _ = last.expect(model, result.params, result.rows, result.beta)
    return fits.heldout.predicted(model, result.params, rows)


def predicted_mean(
    models: Sequence[Predictor], n_all: int, heldout: HeldOut, cache: CacheValidation | None
) -> MeanPrediction:
    """Prediction of S models, whose perplexity and smoothing are extrapolated to a mean of n_all.

    The log perplexity of a mean of s models is taken to be quadratic in 1 / s; the curve passes
    through those of all S, of halves and of quarters. The smoothing falls as a power of s.
    """
    cells = [model.cells(heldout.X) for model in models]
    n = len(cells)

    def mean_of(group: Sequence[Array]) -> MeanPrediction:
        predicted = CachedPredictions(np.mean(group, axis=0))
        validation = heldout.score(predicted)
        if cache is not None:
            validation = validation._replace(perplexity=cache.perplexity(predicted))
        return MeanPrediction(predicted, validation)

    def log_validation(size: int) -> Array:
        """Mean logarithms of perplexity and smoothing, of groups of neighbours in a circle."""
        groups = [[cells[(at + i) % n] for i in range(size)] for at in range(n)]
        return np.mean([np.log(mean_of(group).validation) for group in groups], axis=0)

    mean = mean_of(cells)
    sizes = sorted({-(-n // 4), -(-n // 2), n})
    logs = np.array([*map(log_validation, sizes[:-1]), np.log(mean.validation)])
    if n == 1 or not np.all(np.isfinite(logs)):  # or a token has the probability zero
        return mean
    curve = Polynomial.fit([1 / size for size in sizes], logs[:, 0], len(sizes) - 1)
    power = max(0.0, float(logs[0, 1] - logs[-1, 1]) / np.log(n / sizes[0]))
    smoothing = mean.validation.smoothing * (n / n_all) ** power
    expected = Validation(float(np.exp(curve(1 / n_all))), max(smoothing, LEAST_SMOOTHING))
    return mean._replace(validation=expected)


def _side_by_side(X: Block, *mixtures: Array) -> Array:
    """P(z given x) of rows in the mean prediction of S models: (n, K), of all their components."""
    return weighted(mixtures, [1 / len(mixtures)] * len(mixtures))


@dataclass(eq=False)
class Consensus:
    """One model from the members of an average: each component averages S matching ones.

    The reference is the member that agrees best with all others. The components of the other
    members are matched to its components, as in :func:`skcooc.inspection.topic_stability`. Matching
    components are averaged, weighted by their shares of the tokens. The result has K components and
    can be interpreted like a single fit, for instance by :func:`skcooc.inspection.describe`.
    Intervals show how much the members differ. The consensus predicts worse than the average.

    Attributes
    ----------
    components_ : (K, M) array
        P(y_j given z_k), the averages of matching components.
    component_intervals_ : (2, K, M) array
        Quantiles 0.05 and 0.95 of these probabilities over the members.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows, averaged over the members.
    row_distribution_ : (N,) array
        P(x_i).
    component_distribution_ : (K,) array
        P(z_k), the shares of the components in the tokens.
    distribution_intervals_ : (2, K) array
        Quantiles 0.05 and 0.95 of these shares over the members.
    affinity_ : (K,) array
        Average affinity of each component of the reference with its matches, as in
        :func:`skcooc.inspection.topic_stability`. It is one if there is only one member.
    reference_ : int
        Index of the member to which the others are matched.
    feature_names_in_ : (M,) array or None
        Names of the columns, if there are any.
    component_names_ : dict of int to str
        Names of components that you gave to the estimator, such as those of topics with seeds.
    """

    components_: Array
    component_intervals_: Array
    embedding_: Array
    row_distribution_: Array
    component_distribution_: Array
    distribution_intervals_: Array
    affinity_: Array
    reference_: int
    feature_names_in_: Array | None = None
    component_names_: Mapping[int, str] = field(default_factory=dict)
    _schema: TableSchema | None = None

    @property
    def row_names_in_(self) -> Array:
        """Names of the training rows, (N,); AttributeError if there are none."""
        if self._schema is None or self._schema.row_names is None:
            raise AttributeError("Consensus was fitted to rows without names.")
        return self._schema.row_names

    @property
    def n_features_in_(self) -> int:
        return int(self.components_.shape[1])

    def __repr__(self) -> str:
        K, M = self.components_.shape
        affinity = self.affinity_.mean()
        return f"<Consensus: {K} components of {M} columns, mean affinity {affinity:.2f}>"


def consensus(models: Sequence[Factors], row_distribution: Array) -> Consensus:
    """The consensus of models; ValueError if their numbers of components differ."""
    components = [model.B.T for model in models]
    if len({len(P) for P in components}) > 1:
        raise ValueError("Members with different numbers of components cannot be matched.")
    matches = [[match_rows(P, Q) for Q in components] for P in components]
    agreement = [sum(affinity.mean() for _, affinity in pairs) for pairs in matches]
    reference = int(np.argmax(agreement))
    orders, affinities = zip(*matches[reference], strict=True)
    aligned = np.array([P[order] for P, order in zip(components, orders, strict=True)])
    mixtures = [model.A[:, order] for model, order in zip(models, orders, strict=True)]
    shares = np.array([row_distribution @ A for A in mixtures])
    matched_affinities = np.delete(np.array(affinities), reference, axis=0)
    mean = np.einsum("sk,skm->km", shares, aligned, dtype=np.float64)
    plain = aligned.mean(axis=0)
    return Consensus(
        normalise(mean, axis=1, otherwise=plain).astype(aligned.dtype),
        np.quantile(aligned, QUANTILES, axis=0),
        np.mean(mixtures, axis=0),
        row_distribution,
        shares.mean(axis=0),
        np.quantile(shares, QUANTILES, axis=0),
        matched_affinities.mean(axis=0) if len(matched_affinities) else np.ones(len(plain)),
        reference,
    )
