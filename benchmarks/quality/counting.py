"""Counts the EM iterations of a fit, those of its temperature search too."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skcooc import AspectModel
from skcooc.equations.aspects import Aspects, Params, Statistics
from skcooc.estimators.aspect import AspectFamily
from skcooc.fitting import Recipe
from skcooc.fitting.tuning import Values


class Counted(NamedTuple):
    """What a fit did."""

    search_iterations: int  # of the burn-in and of all probes
    iterations: int  # of the final fit
    converged: bool
    collapsed: bool  # whether the estimator warned that it is the unigram


@dataclass(frozen=True)
class CountingAspects(Aspects):
    """The aspect model, which takes down the temperature of every E-step."""

    betas: list[float] = field(default_factory=list, compare=False)

    def expect(
        self, X: Any, params: Params, rows: np.ndarray, beta: float
    ) -> tuple[np.ndarray, Statistics]:
        self.betas.append(beta)
        return super().expect(X, params, rows, beta)


class CountingAspectModel(AspectModel):
    """An AspectModel that keeps what its equations take down."""

    @cached_property
    def betas(self) -> list[float]:
        """The temperatures of all E-steps so far."""
        return []

    def recipe(self) -> Recipe:
        recipe = super().recipe()
        return replace(recipe, family=CountingFamily(**vars(recipe.family), betas=self.betas))


@dataclass(frozen=True)
class CountingFamily(AspectFamily):
    """Aspects that keep what their E-steps take down."""

    betas: list[float] = field(default_factory=list)

    def plain(self, values: Values) -> CountingAspects:
        plain = super().plain(values)
        counted = plain.n_components, plain.tempering, plain.component_prior
        return CountingAspects(*counted, self.betas)


def counted_fit(model: AspectModel, X: Any) -> tuple[AspectModel, Counted]:
    """Fit a model, and count its E-steps."""
    counting = CountingAspectModel(**model.get_params())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        counting.fit(X)
    collapsed = any("collapsed" in str(warning.message) for warning in caught)
    final = counting.n_iter_
    search = len(counting.betas) - final
    return counting, Counted(search, final, counting.converged_, collapsed)
