"""Attributes of fitted estimators: made of a fit, and compared in a warm start."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skcooc.base.clusters import RowClusterMixin
from skcooc.em import Record, State
from skcooc.fitting import Recipe
from skcooc.fitting.fit import Fit, Tuned, token_distribution
from skcooc.heldout.validation import chosen_smoothing
from skcooc.protocol import Array, Model, TableWarning, warn
from skcooc.simplex import warning_of_twins
from skcooc.tables import CheckedBlocks, Table

UNIGRAM_ALONE = 0.92  # smoothing: of noise it was 0.93 to 0.95, of short titles up to 0.91
COLLAPSED = 1e-2  # total variation between every component and the distribution of the columns

Attributes = dict[str, object]


def prediction_attributes(
    model: Model, state: State, beta: float, smoothing: float, unigram: Array,
    row_distribution: Array,
) -> Attributes:  # fmt: skip
    """Return the attributes for predictions; ValueError where not finite."""
    embedding, components = model.factors(*state)
    no_columns = model.restrict(state.params, np.empty(0, dtype=np.intp))
    unknown, _ = model.factors(no_columns, state.params.weights[None])
    if not np.isfinite([components.sum(), unknown.sum()]).all():
        raise ValueError(
            "EM reached parameters that are not finite: the counts of X, or their weights, differ "
            f"by too many orders of magnitude for {components.dtype}. Drop rows whose sums are "
            "near zero, or give counts in float64."
        )
    return {
        "_fitted_model": model,
        "_state": state,
        "components_": components.T,
        "weights_": unknown[0],  # of an empty row
        "embedding_": embedding,
        "row_distribution_": row_distribution,
        "unigram_": unigram,
        "beta_": beta,
        "smoothing_": smoothing,
        "_end": None,
    }


def streaming_obstacle(recipe: Recipe) -> str | None:
    """Return why a model cannot follow a stream; None where it can."""
    for need, reason in recipe.needs.items():
        if need not in CheckedBlocks.capabilities:
            return reason
    if not hasattr(recipe.equations, "mix_with"):
        return "its equations have no mix_with, which new columns need"
    return None


def set_fitted_attributes(estimator: BaseEstimator, fitted: Attributes) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    estimator.__dict__.update(fitted)


def input_attributes(estimator: BaseEstimator) -> Attributes:
    """Return the attributes of the columns, set by the checks of X."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}


def size_attributes(estimator: BaseEstimator) -> Attributes:
    """Return the numbers of components that are not properties of the class."""
    sizes = {f"{name}_": getattr(estimator, name) for name in estimator.size_parameters}
    return {name: n for name, n in sizes.items() if not hasattr(type(estimator), name)}


def columns_with_tokens(column_sums: Array) -> Array | None:
    """Return the columns whose probabilities are free parameters, (m,); None: all."""
    columns = np.flatnonzero(column_sums)
    return None if len(columns) == len(column_sums) else columns


def fit_attributes(fit: Fit, table: Table) -> Attributes:
    run = fit.run
    splits = fit.splits if run.splits is None else run.splits
    state = State(table.all_params(fit.model, run.params, fit.X), run.rows)
    unigram = table.unigram(fit.X)
    return {
        **({} if splits is None else {"splits_": splits}),
        **prediction_attributes(
            fit.model, state, run.beta, fit.smoothing, unigram, fit.row_distribution
        ),
        "_columns": columns_with_tokens(table.all_sums(table.counts)),
        "_mass": fit.mass,
        "_unfinished": None,
        "_end": run.end,
        "_stopped": run.stopped,
        "_heldout_predictions": fit.heldout_predictions,
        "tuning_": fit.trials,
        "n_iter_": len(run.history),
        "converged_": run.converged,
        "objective_": run.objective,
        "history_": run.history,
    }


def iteration_attributes(
    fit: Tuned, record: Record, state: State, table: Table, smoothing: float | Literal["auto"]
) -> Attributes:
    """Return the attributes of a fit that would have stopped at an iteration."""
    X = table.counts
    state = State(table.all_params(fit.model, state.params, X), X.collect_rows(state.rows))
    s = chosen_smoothing(smoothing, fit.validation)
    unigram = table.unigram(X)
    mass, row_distribution = token_distribution(X)
    return {
        **({} if fit.splits is None else {"splits_": fit.splits}),
        **prediction_attributes(fit.model, state, record.beta, s, unigram, row_distribution),
        "_columns": columns_with_tokens(table.all_sums(X)),
        "_mass": mass,
        "_heldout_predictions": None,
        "tuning_": fit.trials,
    }


def warn_about(estimator: BaseEstimator, recipe: Recipe, table: Table, stopped: bool) -> None:
    """Warn where a fit did not converge, predicts no better than the unigram, or has equal topics.

    And where it clustered rows or columns without counts.
    """
    if not (estimator.converged_ or stopped or recipe.settings.tol < 0):
        warn(
            f"EM did not converge within max_iter={estimator.max_iter} iterations. Increase "
            "max_iter, or the tolerance tol.",
            ConvergenceWarning,
        )
    if isinstance(estimator, RowClusterMixin) and table.blocks is None:
        for side, have_counts in estimator._have_counts(table).items():
            if n_empty := np.count_nonzero(~have_counts):
                warn(
                    f"{n_empty} of {len(have_counts)} {side} {'have' if n_empty > 1 else 'has'} no "
                    f"counts: labels of such {side} mean nothing, and describe lists them in no "
                    "cluster. Leave them out of X.",
                    TableWarning,
                )
    sizes = [getattr(estimator, name) for name in estimator.size_parameters]
    if 1 not in sizes and is_collapsed(
        estimator.components_, estimator.weights_, len(estimator.embedding_)
    ):
        remedy = "Use a larger beta, or beta='auto'."
        if recipe.equations.largest_beta == 1 and (estimator.beta_ == 1 or estimator.tuning_):
            mean = table.counts.column_sums.sum() / table.counts.shape[0]
            remedy = (
                f"X has {mean:.3g} tokens per row. If there should be more, X holds shares or "
                "other small values: give the counts themselves."
            )
        warn(
            f"All {len(estimator.components_)} components equal the unigram: either the model has "
            f"collapsed at beta={estimator.beta_:.3g}, or rows and columns are independent. "
            f"{remedy}",
            ConvergenceWarning,
        )
    elif message := _too_many_components(estimator, table.schema.shape):
        warn(message)
    elif 1 not in sizes and estimator.smoothing == "auto" and estimator.smoothing_ > UNIGRAM_ALONE:
        warn(
            "Held-out tokens are predicted by the overall frequencies of the columns alone "
            f"(smoothing_ is {estimator.smoothing_:.2f}), so the components may be due to chance. "
            "Check that they make sense and recur in other runs, or give more tokens."
        )
    elif estimator.converged_ and (noun := _noun_of_components(estimator)):
        components = [estimator.components_]
        if hasattr(estimator, "middle_components_"):  # which tell topics apart as well
            components.append(estimator.middle_components_)
        can_merge = hasattr(estimator, "merged")
        if message := warning_of_twins(*components, noun=noun, can_merge=can_merge):
            if estimator.beta != "auto" and estimator.beta < 1:
                message += f" A beta above {estimator.beta:g}, or beta='auto', may separate them."
            warn(message, ConvergenceWarning)


def _noun_of_components(estimator: BaseEstimator) -> str | None:
    """Return what components are where each has a distribution of its own, unlike in trees."""
    if "n_components" in estimator.size_parameters:
        return "topic"
    is_flat = estimator.size_parameters == ("n_clusters",) and not hasattr(estimator, "tree_")
    return "cluster" if is_flat else None


def _too_many_components(estimator: BaseEstimator, shape: tuple[int, ...]) -> str | None:
    n_rows, *_, n_columns = shape
    sizes = {"rows": n_rows or np.inf, "columns": n_columns}  # rows of blocks are not counted
    for name in estimator.size_parameters * (len(shape) == 2):
        axis = getattr(estimator, "axis", "rows" if name == "n_clusters" else name)
        divided = [side for side in sizes if side[:3] in axis] or list(sizes)
        side = min(divided, key=lambda side: sizes[side])
        if (size := getattr(estimator, name)) > (n_items := sizes[side]):
            return (
                f"{name}={size}, but X has {n_items} {side if n_items > 1 else side[:-1]}: set "
                f"{name} to a much smaller number. If a row of X is a pair, such as user and item, "
                "use Dyads.from_frame."
            )
    return None


def is_collapsed(components: Array, weights: Array, n_rows: int) -> bool:
    """Return whether all components (K, M) equal their mean; False where they must."""
    if 1 in (*components.shape, n_rows):
        return False
    distances = np.abs(components - weights @ components).sum(axis=1) / 2
    return bool((distances < COLLAPSED).all())
