"""Which part of an estimator has the temperature that is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skcooc.protocol import Array

Params: TypeAlias = Mapping[str, object]  # by name


@dataclass(frozen=True)
class Target:
    """An estimator with a temperature, alone or at the end of a pipeline."""

    prefix: str  # of its parameters; empty where there is no pipeline
    has_steps: bool  # whether other steps come before it

    def parts(self, estimator: BaseEstimator) -> tuple[BaseEstimator, Pipeline | None]:
        """The estimator with a temperature, and the steps before it, or None."""
        if not self.prefix:
            return estimator, None
        return estimator[-1], estimator[:-1] if self.has_steps else None

    def name(self, parameter: str) -> str:
        """The name of a parameter for ``set_params``."""
        return self.prefix + parameter

    def weights(self, params: Params) -> Array | None:
        """The ``sample_weight`` among the parameters of ``fit``."""
        given = [params[name] for name in self._weight_names if params.get(name) is not None]
        return np.asarray(given[0], dtype=np.float64) if given else None

    def unweighted(self, params: Params) -> Params:
        """The parameters of ``fit`` without ``sample_weight``."""
        return {name: params[name] for name in params if name not in self._weight_names}

    @property
    def _weight_names(self) -> tuple[str, ...]:
        return self.name("sample_weight"), "sample_weight"


def find_target(estimator: BaseEstimator) -> Target:
    """The estimator with a temperature; TypeError where it is not this, nor the last step."""
    target, last = Target("", False), estimator
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        target = Target(f"{name}__", len(estimator.steps) > 1)
    if not hasattr(last, "short_fits"):
        raise TypeError(
            "TemperatureSearchCV needs an estimator of skcooc, alone or as the last step of a "
            f"Pipeline, got {last!r}."
        )
    return target


def check_temperatures(estimator: BaseEstimator, betas: Array | None) -> None:
    """Raise ValueError where a model does not depend on the temperature, or has none of these."""
    if getattr(estimator, "hard", False):
        raise ValueError(
            f"{type(estimator).__name__} with hard=True has no temperature: its results are the "
            "same for every beta. Use GridSearchCV for its other parameters, or hard=False."
        )
    largest = estimator.recipe().equations.largest_beta
    if betas is None:
        return
    if not (betas.size and np.isfinite(betas).all() and betas[0] > 0 and betas[-1] <= largest):
        raise ValueError(f"betas should be numbers in (0, {largest:g}], got {betas.tolist()}.")
