"""Warm starts and interrupted fits: a fit goes on where the last one has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from skcooc.base.attributes import Attributes, iteration_attributes
from skcooc.em import EMState, Record, State
from skcooc.em.stages import unknown_rows
from skcooc.fitting import Recipe
from skcooc.fitting.fit import Tuned, token_distribution
from skcooc.fitting.journal import Journal
from skcooc.fitting.watching import WatchedContext
from skcooc.protocol import Array
from skcooc.tables import Table

NO_GROUPS = np.empty(0, dtype=int)

REMEDY = "Set warm_start=False to start anew."
# Parameters that may change before an interrupted fit resumes, since its seeds are kept.
RESUMABLE = {"n_jobs", "random_state", "warm_start"}
# Those that may change, too, if a fit has ended: each iteration is what it would have been.
LENGTH_PARAMETERS = {"max_iter", "tol", "n_init"}
# Those that each batch of a stream may have anew, and those of whole fits, which batches ignore.
OF_BATCHES = {
    *("smoothing", "validation_fraction", "max_iter", "tol", "solver", "n_init"),
    *("random_state", "warm_start", "early_stopping"),
}

Parameters = Mapping[str, object]  # of an estimator when it was fitted


@contextmanager
def watched_fit(
    estimator: Any, recipe: Recipe, table: Table, fitted: Attributes, data: Mapping[str, object]
) -> Iterator[WatchedContext]:
    """Begin a fit that callbacks watch, or that may resume an interrupted one.

    ``fitted`` are attributes that an estimator has that would have stopped at an iteration, and
    ``data`` is what ``fit`` was given. ValueError where the interrupted fit had another table or
    other parameters.
    """
    before = estimator._unfinished if estimator.warm_start else None
    journal = Journal(estimator) if before is None else before.copy_for(estimator)
    parameters = journal.get_or_compute(("parameters",), estimator.get_params, False)
    fingerprint = journal.get_or_compute(("table",), table_fingerprint, table)
    if before is not None:
        check_as_before(estimator, parameters, fingerprint.matches(table))

    def attributes(
        tuned: Tuned, smoothing: float | Literal["auto"], record: Record, state: State
    ) -> Attributes:
        return {
            **iteration_attributes(tuned, record, state, table, smoothing),
            "_unfinished": journal.copy_for(None),
            **fitted,
        }

    if not hasattr(estimator, "_skl_callbacks"):
        yield WatchedContext(recipe.settings, journal, attributes)
        return
    n_tasks = (recipe.structure is not None) + recipe.settings.tunes + estimator.n_init
    task = estimator._init_callback_context(max_subtasks=n_tasks)
    data = {"estimator": estimator, **data}
    task.call_on_fit_task_begin(**data)
    yield WatchedContext(recipe.settings, journal, attributes, task, data)
    task.call_on_fit_task_end(**data)


def continuing(estimator: Any, recipe: Recipe, table: Table) -> Recipe:
    """Return the recipe of a fit that goes on; it keeps the temperature that was tuned."""
    settings = recipe.settings
    trials = estimator.tuning_
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
    return replace(recipe, settings=settings, continued=last_run(estimator, recipe, table))


def kept_attributes(estimator: Any, recipe: Recipe) -> Attributes:
    """Return the attributes of the last fit that a warm start does not change."""
    names = ["splits_"] if hasattr(estimator, "splits_") else []
    if not recipe.settings.tunes:
        names.append("tuning_")
    return {name: getattr(estimator, name) for name in names}


def last_run(estimator: Any, recipe: Recipe, table: Table) -> EMState:
    """Return the last run where EM would continue it exactly, else a new one."""
    end = estimator._end
    fitted = estimator._fitted_parameters
    if end and not changed_parameters(estimator, fitted, LENGTH_PARAMETERS):
        fingerprint = TableFingerprint(
            estimator.components_.dtype,
            estimator.unigram_,
            estimator.row_distribution_,
            getattr(estimator, "row_groups_", NO_GROUPS),
        )
        if fingerprint.matches(table):
            return end.relocated(table.counts.array)
    return EMState(estimator.warm_state(recipe, table), recipe.settings.solver)


def warm_state(estimator: Any, recipe: Recipe, table: Table) -> State:
    """Return the initial state of a new run; equally many rows keep their mixtures."""
    check_shape(estimator._fitted_parameters, recipe, "warm_start=True")
    check_columns(estimator.components_, table)
    X = table.counts
    params, rows = estimator._state
    params = type(params)(*(array.astype(X.dtype) for array in params))
    if table.columns is not None:
        params = recipe.equations.restrict(params, table.columns)
    params = recipe.equations.for_table(params, X)
    if len(rows) != X.shape[0]:
        return State(params, unknown_rows(params, X))
    return State(params, X.array(rows).astype(X.dtype))


class TableFingerprint(NamedTuple):
    """Fingerprint of a table: its type, the shares of columns and rows, and the groups of rows."""

    dtype: np.dtype
    unigram: Array
    row_distribution: Array
    row_groups: Array  # empty where there are none

    def matches(self, table: Table) -> bool:
        dtype, unigram, shares, groups = table_fingerprint(table)
        return (
            dtype == self.dtype
            and shares.shape == self.row_distribution.shape
            and bool((shares == self.row_distribution).all())  # also of dask arrays
            and np.array_equal(groups, self.row_groups)
            and np.array_equal(unigram, self.unigram)
        )


def table_fingerprint(table: Table) -> TableFingerprint:
    X = table.counts
    groups = getattr(X, "row_groups", None)
    unigram = table.unigram(X)
    groups = NO_GROUPS if groups is None else groups
    return TableFingerprint(X.dtype, unigram, token_distribution(X)[1], groups)


def changed_parameters(
    estimator: BaseEstimator, fitted: Parameters, free: Set[str] = frozenset()
) -> list[str]:
    """Return the names of parameters changed since the last fit, less those free."""
    params = estimator.get_params(deep=False)
    names = [name for name in params if name not in RESUMABLE | free]
    return [name for name in names if joblib.hash(params[name]) != joblib.hash(fitted[name])]


def check_as_before(estimator: BaseEstimator, fitted: Parameters, same_table: bool) -> None:
    """Raise ValueError where an interrupted fit had another table or parameters."""
    changed = changed_parameters(estimator, fitted)
    if not same_table:
        changed.append("X")
    if changed:
        raise ValueError(
            "An interrupted fit resumes with the same table and parameters, but these have "
            f"changed: {', '.join(changed)}. {REMEDY}"
        )


def check_batch(estimator: BaseEstimator, fitted: Parameters) -> None:
    """Raise ValueError where a further batch has other parameters than the first."""
    if changed := changed_parameters(estimator, fitted, OF_BATCHES):
        raise ValueError(
            "partial_fit continues with the parameters of the first batch, but these have "
            f"changed: {', '.join(changed)}. Set them back, or fit anew."
        )


def check_shape(fitted: Parameters, recipe: Recipe, mode: str, remedy: str = REMEDY) -> None:
    """Raise ValueError where the fitted model has another shape than the recipe.

    ``mode`` is what continues the model: "partial_fit" or "warm_start=True".
    """
    shape = {name: fitted[name] for name in recipe.shape}
    if shape != recipe.shape:
        raise ValueError(
            f"{mode} continues a model fitted with {shape}, got {dict(recipe.shape)}. {remedy}"
        )


def check_columns(components: Array, table: Table) -> None:
    """Raise ValueError where X has columns without probability in components (K, M)."""
    n_columns = components.shape[1]
    if n_columns != table.n_columns:
        raise ValueError(
            f"warm_start=True continues a model of {n_columns} columns, but X has "
            f"{table.n_columns}. {REMEDY}"
        )
    new = np.flatnonzero((table.all_sums(table.counts) > 0) & ~components.any(axis=0))
    if new.size:
        raise ValueError(
            f"warm_start=True cannot continue with X: {new.size} of its columns, such as {new[0]},"
            f" have probability zero in components_. {REMEDY}"
        )
