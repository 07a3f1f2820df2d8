"""The attributes of a fitted estimator, made from what a fit found."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from skcooc.em import Record, State
from skcooc.fitting import Plan
from skcooc.fitting.journal import Journal
from skcooc.fitting.restarts import Begun
from skcooc.fitting.table import Fitted, distributed
from skcooc.heldout.validation import add_one_unigram, chosen_smoothing
from skcooc.protocol import Array, Counts, Model, RandomState
from skcooc.tables import CheckedBlocks

COLLAPSED = 1e-2  # total variation between every component and the distribution of the columns

Attributes = dict[str, object]


def usable(
    model: Model,
    state: State,
    beta: float,
    smoothing: float,
    unigram: Array,
    row_distribution: Array,
) -> Attributes:
    """What transform, score and sample need; ValueError where it is not finite."""
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


def lacking(plan: Plan) -> str | None:
    """Why a model cannot follow a stream; None where it can."""
    reason = plan.lacks(CheckedBlocks.offers)
    if reason is None and not hasattr(plan.equations, "diluted"):
        return "the equations do not say how parameters meet new columns, which diluted would"
    return reason


def seeds(random_state: RandomState, n: int) -> tuple[int, ...]:
    """Seeds of so many random starts."""
    return tuple(check_random_state(random_state).randint(2**31, size=n).tolist())


def become(estimator: BaseEstimator, fitted: Attributes) -> None:
    """Take over the attributes of a finished fit, and none of an earlier one."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    estimator.__dict__.update(fitted)


def tagged(tags: Tags) -> Tags:
    """What scikit-learn has to know of input and output."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def of_input(estimator: BaseEstimator) -> Attributes:
    """What an estimator knows of the columns, once they have been checked."""
    names = ("n_features_in_", "feature_names_in_")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}


def of_fit(fitted: Fitted) -> Attributes:
    """All attributes of a finished fit."""
    fit, model, beta, smoothing, unigram, _, row_distribution, trials, judged = fitted
    annealed = {} if fit.splits is None else {"splits_": fit.splits}
    state = State(fit.params, fit.rows)
    return {
        **annealed,
        **usable(model, state, beta, smoothing, unigram, row_distribution),
        "_unfinished": None,
        "_end": fit.end,
        "_judged": judged,
        "tuning_": trials,
        "n_iter_": len(fit.history),
        "converged_": fit.converged,
        "objective_": fit.objective,
        "history_": fit.history,
    }


def at_iteration(
    X: Counts, smoothing: float | Literal["auto"], known: Attributes
) -> Callable[[Model, Record, State, Begun, Journal], Attributes]:
    """What turns an iteration into the attributes of an estimator that stopped there."""

    def attributes(
        model: Model, record: Record, state: State, begun: Begun, journal: Journal
    ) -> Attributes:
        state = State(state.params, X.lasting(state.rows))
        splits = begun.grown.splits
        s = chosen_smoothing(smoothing, begun.validation)
        unigram = add_one_unigram(X.column_sums, X.grain)
        _, row_distribution = distributed(X)
        return {
            **({} if splits is None else {"splits_": splits}),
            **usable(model, state, record.beta, s, unigram, row_distribution),
            "_unfinished": journal,
            "_judged": None,
            "tuning_": begun.trials,
            **known,
        }

    return attributes


def warn_about(estimator: BaseEstimator, plan: Plan, stopped: bool) -> None:
    """Warn where a fit ended in the unigram, or, unless stopped, before it converged."""
    if not (estimator.converged_ or stopped):
        _warn(
            f"EM did not converge within max_iter={estimator.max_iter} iterations. Increase "
            "max_iter, or the tolerance tol."
        )
    if collapsed(estimator.components_, estimator.weights_, len(estimator.embedding_)):
        remedy = "Use a larger beta, or beta='auto'."
        if plan.largest_beta == 1 and (estimator.beta_ == 1 or estimator.tuning_):
            remedy = "Give counts in larger units, if they are not numbers of observations."
        _warn(
            f"All {len(estimator.components_)} components are the unigram: at "
            f"beta={estimator.beta_:.3g} the model has collapsed, or rows and columns are "
            f"independent. {remedy}"
        )


def collapsed(components: Array, weights: Array, n_rows: int) -> bool:
    """Whether no component, (K, M), differs from the mean of all, though the data would let it."""
    if 1 in (*components.shape, n_rows):
        return False
    distances = np.abs(components - weights @ components).sum(axis=1) / 2
    return bool((distances < COLLAPSED).all())


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)
