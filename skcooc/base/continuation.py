"""Whether a further call of fit goes on as the one before it has ended: same table, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Set

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from skcooc.fitting import Plan
from skcooc.fitting.table import distributed
from skcooc.heldout.validation import add_one_unigram
from skcooc.protocol import Counts

REMEDY = "Set warm_start=False to start anew."
# Parameters that may change before a fit that was cut short goes on, since its seeds are kept.
FREE = {"n_jobs", "random_state", "warm_start"}
# Those that may change, too, if a fit has ended: each iteration is what it would have been.
HOW_LONG = {"max_iter", "tol", "n_init"}

Parameters = Mapping[str, object]  # of an estimator when it was fitted


def is_same_run(estimator: BaseEstimator, fitted: Parameters, X: Counts) -> bool:
    """Whether further iterations are those that the last fit, which ended, would have made."""
    return not changed(estimator, fitted, HOW_LONG) and is_fitted_to(estimator, X)


def is_fitted_to(estimator: BaseEstimator, X: Counts) -> bool:
    """Whether X is the table fitted, as far as its type and the sums of rows and columns tell."""
    unigram = add_one_unigram(X.column_sums, X.grain)
    (_, shares), fitted = distributed(X), estimator.row_distribution_
    same_rows = shares.shape == fitted.shape and bool((shares == fitted).all())
    same_columns = np.array_equal(unigram, estimator.unigram_)
    return same_rows and same_columns and bool(estimator.components_.dtype == X.dtype)


def changed(
    estimator: BaseEstimator, fitted: Parameters, free: Set[str] = frozenset()
) -> list[str]:
    """The parameters that are not those of the last fit, beside those that may change."""
    asked = estimator.get_params(deep=False)
    names = [name for name in asked if name not in FREE | free]
    return [name for name in names if joblib.hash(asked[name]) != joblib.hash(fitted[name])]


def check_as_before(estimator: BaseEstimator, fitted: Parameters, same_table: bool) -> None:
    """Raise ValueError where a fit that was cut short would not go on as it was."""
    others = changed(estimator, fitted) + ["X"] * (not same_table)
    if others:
        raise ValueError(
            "A fit that was cut short goes on with the same table and parameters, but there "
            f"are other values of {', '.join(others)}. {REMEDY}"
        )


def check_shape(fitted: Parameters, plan: Plan, what: str, remedy: str = REMEDY) -> None:
    """Raise ValueError where the model fitted has another shape than that asked for."""
    shape = {name: fitted[name] for name in plan.shape}
    if shape != plan.shape:
        raise ValueError(
            f"{what} goes on from a model fitted with {shape}, but {dict(plan.shape)} is "
            f"asked for. {remedy}"
        )
