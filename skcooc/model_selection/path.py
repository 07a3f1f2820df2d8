"""Fits of one part of the data with ever more components, each from one with fewer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from skcooc.em import Leg, State, TemperatureRange, Widening, narrowed
from skcooc.em import fit as fit_legs
from skcooc.em.legs import Part
from skcooc.fitting import Recipe
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout import Factors, HeldOut
from skcooc.heldout.predictors import smoothed
from skcooc.heldout.validation import add_one_unigram, chosen_smoothing, hold_out
from skcooc.model_selection.folds import Data
from skcooc.protocol import Array, Block, Predictor
from skcooc.tables import read_in_memory

SETTLING = 30  # iterations before other temperatures are tried
LOWERING = 10  # iterations at each of them

Labels = tuple[Array | None, Array | None]  # of rows and of columns; None where each is by itself


class Fitted(NamedTuple):
    """What is kept of a fit."""

    factors: Factors
    shares: Array  # (K,): of the observations
    unigram: Array  # (M,)
    smoothing: float
    beta: float
    work: float  # number of iterations, times that of components
    labels: Labels = (None, None)  # of a hard clustering

    @property
    def predictor(self) -> Predictor:
        """What it predicts of further observations of the same rows."""
        return smoothed(self.factors, self.unigram, self.smoothing)


class Stage(NamedTuple):
    """Where a path has come to: parameters at the best temperature so far."""

    state: State
    beta: float
    perplexity: float  # of what the path holds out; NaN where it holds out nothing
    smoothing: float
    n_iter: int

    def or_better(self, before: Stage | None) -> Stage:
        """This, or what was found before if that predicts better."""
        if before is None:
            return self
        best = before if before.perplexity < self.perplexity else self
        return best._replace(n_iter=before.n_iter + self.n_iter)


class Path:
    """Fits of the same observations with different numbers of components.

    Where the plan says that components may split, a fit goes on from the smallest fit that has
    more, of which the most alike are joined. Such a fit is in a better place than one from fewer;
    where nothing has more it goes on from the largest that has fewer, of which some are split. A
    size that is fitted again can only get better. Where the temperature is to be found, a fit
    begins at that of fewer components, and it is lowered, step by step, as long as this predicts
    the observations better that the path holds out: the best temperature of more components is
    lower. All others are fits from the start, as ``estimator.fit`` makes them.
    """

    def __init__(self, estimator: BaseEstimator, data: Data, seed: int) -> None:
        self._estimator, self._data, self._seed = estimator, data, seed
        self._stages: dict[int, Stage] = {}

    @property
    def goes_on(self) -> bool:
        """Whether there is a fit from which others begin."""
        return bool(self._stages)

    def fit(self, sizes: Mapping[str, int]) -> Fitted:
        """A fit with numbers of components, by the names of the parameters."""
        estimator = clone(self._estimator).set_params(random_state=self._seed, **sizes)
        recipe, weights = estimator.recipe(), self._data.params.get("sample_weight")
        if not recipe.supports_splitting or estimator.early_stopping:
            return _fitted(estimator.fit(self._data.X, **self._data.params))
        X = read_in_memory(copy.copy(estimator), self._data.X, weights).sample  # type: ignore[arg-type]
        recipe = recipe.with_seeds(draw_seeds(self._seed, estimator.n_init))
        return self._further(recipe, X, *sizes.values())

    def _further(self, recipe: Recipe, X: Block, n: int) -> Fitted:
        """A fit that begins with another one, if there is any."""
        settings = recipe.settings
        train, heldout = hold_out(X, *settings.division) if settings.tunes else (X, None)
        within = recipe.beta_range(X)
        ladder = Ladder(recipe, train.spread(1, map), heldout, self._seed + n)
        stage = ladder.descend(self._begun(ladder, within, n), within)
        self._stages[n] = stage = stage.or_better(self._stages.get(n))
        factors = Factors(*recipe.equations.factors(*stage.state))
        shares = train.row_sums * train.row_weights
        return Fitted(
            factors,
            (shares / shares.sum()) @ factors.A,
            add_one_unigram(train.column_sums, train.grain),
            chosen_smoothing(settings.smoothing, None) if heldout is None else stage.smoothing,
            stage.beta,
            float(n * stage.n_iter),
        )

    def _begun(self, ladder: Ladder, within: TemperatureRange, n: int) -> Stage:
        """Not far from the fit with the next larger or smaller number."""
        fewer = self._stages.get(max((k for k in self._stages if k < n), default=0))
        more = self._stages.get(min((k for k in self._stages if k > n), default=0))
        if more is not None:
            return ladder.narrow(more, (fewer or more).beta, n)
        return ladder.start(within) if fewer is None else ladder.widen(fewer)


class Ladder(NamedTuple):
    """Fits of one number of components at ever lower temperatures."""

    recipe: Recipe
    X: Block
    heldout: HeldOut | None
    seed: int

    def start(self, within: TemperatureRange) -> Stage:
        """From the start, at the highest temperature."""
        parts = self.recipe.schedule(self.recipe.scales(self.X), within.high)
        return self._stage(parts, None, within.high, 0)

    def widen(self, before: Stage) -> Stage:
        """From fewer components, at their temperature."""
        leg = self._leg(before.beta, SETTLING)
        return self._stage([Widening(leg), leg], before.state, before.beta, 0)

    def narrow(self, before: Stage, beta: float, n: int) -> Stage:
        """From more components."""
        leg = self._leg(beta, SETTLING)
        return self._stage([leg], narrowed(leg.model, before.state, n), beta, 0)  # type: ignore[arg-type]

    def descend(self, stage: Stage, within: TemperatureRange) -> Stage:
        """Lower the inverse temperature as long as it predicts better; then to the end."""
        while (beta := within.unscaled(within.scaled(stage.beta) - within.step)) > within.low:
            lower = self._stage([self._leg(beta, LOWERING)], stage.state, beta, stage.n_iter)
            if not lower.perplexity < stage.perplexity:
                stage = stage._replace(n_iter=lower.n_iter)
                break
            stage = lower
        last = self._leg(stage.beta, self.recipe.settings.max_iter)
        return self._stage([last], stage.state, stage.beta, stage.n_iter)

    def _leg(self, beta: float, n_iter: int) -> Leg:
        leg: Leg = self.recipe.warm_start_schedule(self.X, beta, None)[0]  # type: ignore[assignment]
        return replace(leg, max_iter=min(n_iter, leg.max_iter))

    def _stage(self, parts: list[Part], start: State | None, beta: float, n_iter: int) -> Stage:
        rng = np.random.default_rng(self.seed)
        found = fit_legs(parts, rng, self.recipe.settings.solver, start=start)
        state, n_iter = State(found.params, found.rows), n_iter + len(found.history)
        if self.heldout is None:
            return Stage(state, beta, np.nan, np.nan, n_iter)
        validation = self.heldout(self.recipe.equations, *state)
        return Stage(state, beta, *validation, n_iter)


def _fitted(model: BaseEstimator) -> Fitted:
    """What is kept of an estimator."""
    factors = Factors(np.asarray(model.embedding_), model.components_.T)
    return Fitted(
        factors,
        np.asarray(model.row_distribution_) @ factors.A,
        model.unigram_,
        model.smoothing_,
        model.beta_,
        float(factors.A.shape[1] * model.n_iter_),
        _labels(model) if is_hard(model) else (None, None),
    )


def is_hard(estimator: BaseEstimator) -> bool:
    """Whether objects belong to one cluster each, and clusters lie beside each other."""
    params = estimator.get_params(deep=False)
    return bool(params.get("hard", False)) and "tree" not in params


def _labels(model: BaseEstimator) -> Labels:
    """Clusters of the rows and of the columns."""
    if hasattr(model, "column_labels_"):
        return model.row_labels_, model.column_labels_
    return (model.labels_, None) if model.axis == "rows" else (None, model.labels_)
