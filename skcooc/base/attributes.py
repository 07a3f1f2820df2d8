"""Attributes of a fitted estimator, made from the result of a fit."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from skcooc.em import Record, State
from skcooc.fitting import Recipe
from skcooc.fitting.fit import AttributesAt, Fit, Start, distributed
from skcooc.fitting.journal import Journal
from skcooc.heldout.validation import add_one_unigram, chosen_smoothing
from skcooc.protocol import Array, Counts, Model
from skcooc.tables import CheckedBlocks

COLLAPSED = 1e-2  # total variation between every component and the distribution of the columns

Attributes = dict[str, object]


def prediction_attributes(
    model: Model,
    state: State,
    beta: float,
    smoothing: float,
    unigram: Array,
    row_distribution: Array,
) -> Attributes:
    """Return the attributes for predictions; ValueError where not finite."""
    embedding, components = model.factors(*state)
    unknown, _ = model.factors(state.params, state.params.weights[None])
    if not np.isfinite([components.sum(), unknown.sum()]).all():
        raise ValueError(
            "EM came to parameters that are not finite: the counts of X, or their weights, are too "
            f"many orders of magnitude apart for {components.dtype}. Leave out rows that sum to "
            "next to nothing, or give counts in float64."
        )
    return {
        "_fitted_model": model,
        "_state": state,
        "components_": components.T,
        "weights_": unknown[0],  # of a row without observations
        "embedding_": embedding,
        "row_distribution_": row_distribution,
        "unigram_": unigram,
        "beta_": beta,
        "smoothing_": smoothing,
        "_end": None,
    }


def streaming_obstacle(recipe: Recipe) -> str | None:
    """Return why a model cannot follow a stream; None where it can."""
    reason = recipe.unmet_need(CheckedBlocks.capabilities)
    if reason is None and not hasattr(recipe.equations, "mix_with"):
        return "the equations do not say how parameters meet new columns, which diluted would"
    return reason


def set_fitted_attributes(estimator: BaseEstimator, fitted: Attributes) -> None:
    """Replace all fitted attributes."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    estimator.__dict__.update(fitted)


def tagged(tags: Tags) -> Tags:
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def of_input(estimator: BaseEstimator) -> Attributes:
    """Return the attributes of the columns, set by the checks of X."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}


def of_sizes(estimator: BaseEstimator) -> Attributes:
    """Return the numbers of components that are not properties of the class."""
    sizes = {f"{name}_": getattr(estimator, name) for name in estimator.size_parameters}
    return {name: n for name, n in sizes.items() if not hasattr(type(estimator), name)}


def of_fit(fit: Fit) -> Attributes:
    run = fit.run
    splits = {} if run.splits is None else {"splits_": run.splits}
    state = State(run.params, run.rows)
    return {
        **splits,
        **prediction_attributes(
            fit.model, state, run.beta, fit.smoothing, fit.unigram, fit.row_distribution
        ),
        "_unfinished": None,
        "_end": run.end,
        "_heldout_predictions": fit.judged,
        "tuning_": fit.start.trials,
        "n_iter_": len(run.history),
        "converged_": run.converged,
        "objective_": run.objective,
        "history_": run.history,
    }


def at_iteration(X: Counts, smoothing: float | Literal["auto"], known: Attributes) -> AttributesAt:
    """Return a function that makes the attributes of a fit stopped at an iteration."""

    def attributes(
        model: Model, start: Start, journal: Journal, record: Record, state: State
    ) -> Attributes:
        state = State(state.params, X.collect_rows(state.rows))
        splits = start.structure.splits
        s = chosen_smoothing(smoothing, start.validation)
        unigram = add_one_unigram(X.column_sums, X.mean_count_weight)
        _, row_distribution = distributed(X)
        return {
            **({} if splits is None else {"splits_": splits}),
            **prediction_attributes(model, state, record.beta, s, unigram, row_distribution),
            "_unfinished": journal,
            "_heldout_predictions": None,
            "tuning_": start.trials,
            **known,
        }

    return attributes


def warn_about(estimator: BaseEstimator, recipe: Recipe, stopped: bool) -> None:
    """Warn where a fit collapsed to the unigram, or did not converge."""
    if not (estimator.converged_ or stopped):
        _warn(
            f"EM did not converge within max_iter={estimator.max_iter} iterations. Increase "
            "max_iter, or the tolerance tol."
        )
    if collapsed(estimator.components_, estimator.weights_, len(estimator.embedding_)):
        remedy = "Use a larger beta, or beta='auto'."
        if recipe.equations.largest_beta == 1 and (estimator.beta_ == 1 or estimator.tuning_):
            remedy = "Give counts in larger units, if they are not numbers of observations."
        _warn(
            f"All {len(estimator.components_)} components are the unigram: at "
            f"beta={estimator.beta_:.3g} the model has collapsed, or rows and columns are "
            f"independent. {remedy}"
        )


def collapsed(components: Array, weights: Array, n_rows: int) -> bool:
    """Return whether all components (K, M) equal their mean; False where they must."""
    if 1 in (*components.shape, n_rows):
        return False
    distances = np.abs(components - weights @ components).sum(axis=1) / 2
    return bool((distances < COLLAPSED).all())


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)
