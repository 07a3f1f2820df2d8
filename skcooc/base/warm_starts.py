"""Warm starts: a fit goes on where the last one has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skcooc.base import attributes
from skcooc.em import EMState, State
from skcooc.em.stages import unknown_rows
from skcooc.fitting import Recipe
from skcooc.protocol import Counts


def continuing(estimator: Any, recipe: Recipe, X: Counts) -> Recipe:
    """Return the recipe of a fit that goes on; it keeps the temperature that was tuned."""
    settings, trials = recipe.settings, estimator.tuning_
    beta = settings.beta
    if beta == "auto" and trials:
        beta = next(trial.beta for trial in trials if trial.chosen)
    falls = (getattr(estimator, "annealing", None) or 1) < 1
    if falls and estimator.beta == estimator._fitted_parameters["beta"]:
        beta = estimator.beta_  # annealing may have ended before beta
    smoothing = settings.smoothing
    if smoothing == "auto" and trials and not (beta == "auto" or settings.early_stopping):
        smoothing = estimator.smoothing_
    settings = replace(settings, beta=beta, smoothing=smoothing)
    return replace(recipe, settings=settings, continued=last_run(estimator, recipe, X))


def kept_attributes(estimator: Any, recipe: Recipe) -> attributes.Attributes:
    """Return the attributes of the last fit that a warm start does not change."""
    names = ["splits_"] if hasattr(estimator, "splits_") else []
    if not recipe.settings.tunes:
        names.append("tuning_")
    return {name: getattr(estimator, name) for name in names}


def last_run(estimator: Any, recipe: Recipe, X: Counts) -> EMState:
    """Return the last run where EM would continue it exactly, else a new one."""
    end, parameters = estimator._end, estimator._fitted_parameters
    if end and not attributes.changed_parameters(
        estimator, parameters, attributes.LENGTH_PARAMETERS
    ):
        fingerprint = attributes.TableFingerprint(
            estimator.components_.dtype,
            estimator.unigram_,
            estimator.row_distribution_,
            getattr(estimator, "row_groups_", attributes.NO_GROUPS),
        )
        if fingerprint.matches(X):
            return end.relocated(X.array)
    return EMState(estimator.warm_state(recipe, X), recipe.settings.solver)


def warm_state(estimator: Any, recipe: Recipe, X: Counts) -> State:
    """Return the initial state of a new run; equally many rows keep their mixtures."""
    attributes.check_shape(estimator._fitted_parameters, recipe, "warm_start=True")
    attributes.check_columns(estimator.components_, X)
    params, rows = estimator._state
    params = type(params)(*(array.astype(X.dtype) for array in params))
    params = recipe.equations.for_table(params, X)
    if len(rows) != X.shape[0]:
        return State(params, unknown_rows(params, X))
    return State(params, X.array(rows).astype(X.dtype))
