"""Short fits, which judge the values of hyper-parameters on held-out tokens."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from skcooc.em import State, TemperatureRange, fit
from skcooc.em.stages import StageSchedule
from skcooc.fitting.recipe import Recipe
from skcooc.fitting.tuning import Values
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.predictors import CachedPredictions, Factors
from skcooc.protocol import Array, Block, Model, Params, TableLike


class ComposableEstimator(Protocol):
    """Interface of estimators for ensembles and searches, in addition to scikit-learn's."""

    size_parameters: tuple[str, ...]  # names of its numbers of components
    is_factorised: bool  # whether it predicts transform(X) @ components_, but for smoothing

    def check_sizes(self) -> None:
        """Raise ValueError where a number of components is not given."""

    def recipe(self) -> Recipe:
        """Return what its model brings to a fit, and its settings, without seeds."""

    def short_fits(
        self, X: TableLike, sample_weight: ArrayLike | None = None
    ) -> tuple[ShortFits, TemperatureRange]:
        """Return short fits at temperatures to be tried, and the range to be searched."""

    def fold_in(self, X: Block) -> Array:
        """Return P(k given x) of checked rows, (n, K)."""

    @property
    def factors(self) -> Factors:
        """Return P(k given x) of the training rows, and P(y given k)."""


class ShortFit(NamedTuple):
    """A fit of a few iterations, and what it predicts of the held-out tokens."""

    validation: Validation
    predicted: CachedPredictions
    params: Params


class ShortFits:
    """Fits of a few iterations with some values of hyper-parameters.

    All start from one state, which is kept: after the warm-up, if there is one. Threads may call it
    side by side.
    """

    def __init__(self, recipe: Recipe, X: Block, heldout: HeldOut) -> None:
        self._recipe, self._heldout = recipe, heldout
        self._short = recipe.with_settings(recipe.settings.short)
        self._tables = recipe.scales(X)
        self._lock = Lock()
        self._starts: dict[tuple[int, Model], State] = {}

    def __call__(self, values: Values) -> ShortFit:
        recipe = self._short.with_values(values)
        parts = recipe.schedule(self._tables, values["beta"], annealed=False)
        n_shared = 0
        if recipe.family.has_warmup:  # what comes before the last stage does not depend on beta
            n_shared = len(parts) - 1 - (recipe.concentration is not None)
        warmup = recipe.warmup_model or recipe.equations
        start = self._start(parts[:n_shared], parts[0], warmup)
        found = fit(parts[n_shared:], self._rng, recipe.settings.solver, start=start)
        predicted = self._heldout.predicted(recipe.equations, found.params, found.rows)
        return ShortFit(self._heldout.score(predicted), predicted, found.params)

    def _start(self, shared: Sequence[StageSchedule], first: StageSchedule, warmup: Model) -> State:
        """Return the state after the stages that all fits share, from the same initialisation."""
        with self._lock:
            if (key := (len(shared), warmup)) not in self._starts:
                state = first.begin(self._rng)
                if shared:
                    state = fit(shared, self._rng, self._short.settings.solver, start=state).state
                self._starts[key] = state
            return self._starts[key]

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._recipe.settings.seeds[0])
