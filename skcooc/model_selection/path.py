"""Fits of one part of the data with different numbers of components, and measures of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone

from skcooc.em import EMStage, MergeAndSplitRuns, SplitComponents, State, merge_components
from skcooc.em import fit as fit_stages
from skcooc.em.stages import StageSchedule
from skcooc.fitting import Recipe
from skcooc.fitting.context import FitContext
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.tuning import LeaveOneOut
from skcooc.heldout import Factors, HeldOut, Unseen
from skcooc.heldout.memory import cross_fitted_logs, memory_cells, rows_with
from skcooc.heldout.predictors import log_cells, rows_of, smoothed
from skcooc.heldout.scoring import is_observed
from skcooc.heldout.validation import add_one, chosen_smoothing, hold_out
from skcooc.line_search import TemperatureRange
from skcooc.metrics import integrated_complete_likelihood, npmi_coherence
from skcooc.model_selection.candidates import Score
from skcooc.model_selection.folds import CountFold, Data
from skcooc.protocol import Array, Block, Model, Predictor
from skcooc.simplex import cosines, match_rows, residuals
from skcooc.tables import as_counts, read_in_memory

N_FIRST = 30  # iterations from a start before other temperatures are tried
N_LOWER = 10  # iterations at each lower temperature
N_LEFT_OUT = 20  # iterations of leave-one-out EM
MIN_SHARE = 0.1  # of an equal share of the counts: less is no component of its own
# Cosine of residuals from which components are the same; in halves, it is 0.8 in all tokens by the
# formula of Spearman and Brown.
ALIKE = 2 / 3

# Hard clusters of rows and of columns; None for a side that is not clustered.
Labels: TypeAlias = tuple[Array | None, Array | None]


class PathFit(NamedTuple):
    """Parameters of a fit with one number of components."""

    factors: Factors
    shares: Array  # (K,): of the counts
    predictor: Predictor  # of the rows fitted, smoothed
    beta: float
    work: float  # number of iterations, times that of components
    labels: Labels = (None, None)


class PathPoint(NamedTuple):
    """Parameters of one number of components at the best temperature so far."""

    model: Model
    state: State
    beta: float
    perplexity: float  # of the validation part; NaN if there is none
    smoothing: float
    n_iter: int

    def or_better(self, before: PathPoint | None) -> PathPoint:
        """The better of this point and an earlier one, with the iterations of both."""
        if before is None:
            return self
        best = before if before.perplexity < self.perplexity else self
        return best._replace(n_iter=before.n_iter + self.n_iter)


class ComponentPath:
    """Fits of the same data with different numbers of components, warm-started from each other.

    If components of the model can be split, a fit starts from the smallest fit with more components
    by merging the most similar ones, or else from the largest fit with fewer by splitting some. A
    size that is fitted again can only improve. If the temperature is tuned, a fit starts at that of
    fewer components and lowers beta as long as validation perplexity falls, since more components
    need a lower beta. Other models are fitted from scratch by ``estimator.fit``.
    """

    def __init__(self, estimator: BaseEstimator, data: Data, seed: int) -> None:
        self._estimator, self._data, self._seed = estimator, data, seed
        self._points: dict[int, PathPoint] = {}

    @property
    def has_warm_starts(self) -> bool:
        return bool(self._points)

    def fit(self, sizes: Mapping[str, int]) -> PathFit:
        """A fit with numbers of components, by names of parameters."""
        estimator = clone(self._estimator).set_params(random_state=self._seed, **sizes)
        recipe = estimator.recipe()
        if not recipe.has(MergeAndSplitRuns) or estimator.early_stopping:
            return _fit_of(estimator.fit(self._data.X, **self._data.params))
        weights = self._data.params.get("sample_weight")
        table = read_in_memory(copy.copy(estimator), self._data.X, weights)  # type: ignore[arg-type]
        if not recipe.needs_empty_columns:
            table = table.occupied()
        X = table.sample
        recipe = recipe.with_seeds(draw_seeds(self._seed, estimator.n_init))
        settings = recipe.settings
        within = recipe.beta_range(X)
        (n,) = sizes.values()
        train, heldout = hold_out(X, *settings.division) if settings.tunes else (X, None)
        path = WarmStartedPath(recipe, train.with_threads(1, map), heldout, self._seed + n)
        fewer = self._points.get(max((k for k in self._points if k < n), default=0))
        more = self._points.get(min((k for k in self._points if k > n), default=0))
        point = path.descend(path.start(within, n, fewer, more), within)
        point = point.or_better(self._points.get(n))
        self._points[n] = point
        best = path.left_out(point)
        params = table.all_params(best.model, best.state.params, train)
        factors = Factors(*best.model.factors(params, best.state.rows))
        shares = train.row_sums * train.row_weights
        smoothing = best.smoothing
        if heldout is None:
            smoothing = chosen_smoothing(settings.smoothing, None)
        return PathFit(
            factors,
            (shares / shares.sum()) @ factors.A,
            smoothed(factors, table.unigram(train), smoothing),
            best.beta,
            float(n * best.n_iter),
        )


class WarmStartedPath(NamedTuple):
    """Fits of one number of components at ever lower beta, each from the one before."""

    recipe: Recipe
    X: Block
    heldout: HeldOut | None
    seed: int

    def start(
        self, within: TemperatureRange, n: int, fewer: PathPoint | None, more: PathPoint | None
    ) -> PathPoint:
        """Start from more components, or else from fewer, or else from scratch at high beta."""
        if (nearest := fewer or more) is None:
            parts = self.recipe.with_values({"beta": within.high}).stages(self.X)
            return self.fit_from(parts, None, within.high, 0)
        stage = self.stage(nearest.beta, N_FIRST)
        if more is None:
            return self.fit_from([SplitComponents(stage), stage], nearest.state, nearest.beta, 0)
        merged = merge_components(stage.model, more.state, n)  # type: ignore[arg-type]
        return self.fit_from([stage], merged, nearest.beta, 0)

    def descend(self, point: PathPoint, within: TemperatureRange) -> PathPoint:
        """Lower beta as long as validation perplexity falls; then fit to convergence."""
        while (beta := within.unscaled(within.scaled(point.beta) - within.step)) > within.low:
            lower = self.fit_from([self.stage(beta, N_LOWER)], point.state, beta, point.n_iter)
            if not lower.perplexity < point.perplexity:
                point = point._replace(n_iter=lower.n_iter)
                break
            point = lower
        last = self.stage(point.beta, self.recipe.settings.max_iter)
        return self.fit_from([last], point.state, point.beta, point.n_iter)

    def left_out(self, point: PathPoint) -> PathPoint:
        """Go on with leave-one-out EM, where ``fit`` would try it; return the better point."""
        for tunable in self.recipe.family.tunables(self.X) if self.heldout else ():
            if isinstance(tunable, LeaveOneOut):
                values = tunable.usual_values(1)
                path = self._replace(recipe=self.recipe.with_values(values))
                stage = replace(path.stage(values["beta"], N_LEFT_OUT), tol=-np.inf)
                return path.fit_from([stage], point.state, stage.beta, 0).or_better(point)
        return point

    def stage(self, beta: float, n_iter: int) -> EMStage:
        recipe = self.recipe.with_values({**self.recipe.values, "beta": beta})
        stage = recipe.plain_stages(self.X)[-1]
        return replace(stage, max_iter=min(n_iter, stage.max_iter))

    def fit_from(
        self, parts: list[StageSchedule], start: State | None, beta: float, n_iter: int
    ) -> PathPoint:
        rng = np.random.default_rng(self.seed)
        if start is None:
            first = parts[0].stage
            start = first.start(first.model, first.X, rng, FitContext(self.recipe.settings))
        run = fit_stages(parts, rng, self.recipe.settings.solver, start)
        model = self.recipe.equations
        n_iter += len(run.history)
        if self.heldout is None:
            return PathPoint(model, run.state, beta, np.nan, np.nan, n_iter)
        return PathPoint(model, run.state, beta, *self.heldout(model, *run.state), n_iter)


def _fit_of(model: BaseEstimator) -> PathFit:
    factors = Factors(np.asarray(model.embedding_), model.components_.T)
    labels = None, None
    if is_hard(model):
        if hasattr(model, "column_labels_"):
            labels = model.row_labels_, model.column_labels_
        else:
            labels = (model.labels_, None) if model.axis == "rows" else (None, model.labels_)
    return PathFit(
        factors,
        np.asarray(model.row_distribution_) @ factors.A,
        model.predictor(None),
        model.beta_,
        float(factors.A.shape[1] * model.n_iter_),
        labels,
    )


def is_hard(estimator: BaseEstimator) -> bool:
    """Whether it is a flat clustering that assigns each row to one cluster."""
    params = estimator.get_params(deep=False)
    return bool(params.get("hard", False)) and "tree" not in params


def score_fold(fold: CountFold, predictor: Predictor) -> dict[str, Score]:
    """Log-likelihoods of test tokens by row: by the model, in a cache, and of new columns.

    The cache knows the training part of each row, and its parameters are estimated on other test
    tokens than they predict. Columns are new if they are not in the training part of the row; that
    they are new is given.
    """
    train = fold.known
    X = as_counts(fold.scored.to_csr())
    cells = memory_cells(train.table, X, predictor, add_one(rows_with(train)))
    n = X.weighted_counts
    rows = rows_of(X.table)
    new = np.where(is_observed(train, X), 0, n)

    def by_row(rows: Array, counts: Array, logs: Array) -> Score:
        logs = np.where(counts > 0, logs, 0)  # 0 * -inf would give NaN
        sums = np.bincount(rows, counts * logs, minlength=X.shape[0])
        return Score(sums, np.bincount(rows, counts, minlength=X.shape[0]))

    return {
        "test": by_row(rows, n, log_cells(predictor, X)),
        "cache": by_row(cells.rows, cells.scored, cross_fitted_logs(cells)),
        "unseen": by_row(rows, new, log_cells(Unseen(train, predictor), X)),
    }


def are_distinct(components: Array, shares: Array) -> Array:
    """Mask of components, (K, M), that are not negligible and unlike all larger ones, (K,).

    They have at least a tenth of an equal share of the counts, and cosines of Pearson residuals
    below 2/3.

    >>> components = np.array([[0.6, 0.4, 0.0], [0.5, 0.5, 0.0], [0.0, 0.1, 0.9]])
    >>> are_distinct(components, np.array([0.4, 0.2, 0.4]))
    array([ True, False,  True])
    >>> are_distinct(components, np.array([0.01, 0.5, 0.49]))
    array([False,  True,  True])
    """
    order = np.argsort(-shares, kind="stable")
    R = residuals(components[order], shares @ components)
    alike = np.tril(cosines(R, R) >= ALIKE, k=-1).any(axis=1)
    distinct = shares >= MIN_SHARE / len(shares)
    distinct[order] &= ~alike
    return distinct


def distinct_components(fit: PathFit) -> Array:
    return fit.factors.B.T[are_distinct(fit.factors.B.T, fit.shares)]


def affinities(fits: Sequence[PathFit]) -> Array:
    """Affinities of matched components, (n, K), of n pairs of fits; NaN of fewer than two."""
    components = [fitted.factors.B.T for fitted in fits]
    pairs = [match_rows(P, Q)[1] for i, P in enumerate(components) for Q in components[:i]]
    return np.array(pairs) if pairs else np.full((1, 1), np.nan)


def describe_fits(
    X: Block, folds: Sequence[PathFit], halves: Sequence[PathFit], runs: Sequence[PathFit]
) -> dict[str, float]:
    components = [fold.factors.B.T for fold in folds]
    rows = X.table[X.row_weights > 0]
    n_distinct = [len(distinct_components(fold)) for fold in folds]
    _, half_affinities = match_rows(*sorted(map(distinct_components, halves), key=len))
    measures = {
        "n_distinct": float(np.mean(n_distinct)),
        "n_found_again": float((half_affinities >= ALIKE).sum()),
        "half_agreement": float(affinities(halves).mean()),
        "seed_agreement": float(affinities(runs).mean()),
        "coherence": float(np.mean([npmi_coherence(P, rows).mean() for P in components])),
        "beta": float(np.mean([fitted.beta for fitted in folds])),
    }
    if any(labels is not None for labels in folds[0].labels):
        weighted = partial(integrated_complete_likelihood, X.table, sample_weight=X.row_weights)
        measures["icl"] = max(weighted(*run.labels) for run in runs)
    return measures
