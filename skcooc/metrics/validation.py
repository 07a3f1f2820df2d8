"""Checks of counts and labels, and split of rows into known and scored counts."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skcooc import tables
from skcooc.heldout import Factors
from skcooc.heldout.scoring import halves, warn_about_unknown_rows
from skcooc.protocol import CSR, Array, Predictor, TableLike, refuse_objects
from skcooc.protocol.scikit_learn import is_missing
from skcooc.tables import Dyads

SUM_TOLERANCE = 1e-3  # by which sums of probabilities may exceed one
NOTHING_NEW = "X has no tokens to score: the known part of each row has all their columns."


def check_counts(X: TableLike) -> CSR:
    """Copy of the counts in float64, without stored zeros."""
    counts = tables.checked_copy(tables.as_table(X), np.float64)
    tables.check_total(counts.data.sum())
    return counts


def check_observed(X: TableLike) -> CSR:
    """Like ``check_counts``; ValueError if all counts are zero."""
    counts = check_counts(X)
    if not counts.nnz:
        raise ValueError("X has no tokens: all entries are zero.")
    return counts


def column_names(X: TableLike) -> Array | None:
    """Names of the columns of a data frame or Dyads, (M,), or None."""
    names = tables.columns_of(X)
    return None if names is None else tables.as_names(names)


def check_column_order(X: TableLike, **arrays: object) -> None:
    """Refuse frames and Series with the columns of X in another order, unless that is 0, 1, ..."""
    columns = tables.columns_of(X)
    for name, values in arrays.items():
        names = tables.columns_of(values)
        if columns is None or names is None or not tables.in_another_order(names, columns):
            continue
        if not tables.same_names(names, np.arange(len(names))):
            raise ValueError(
                f"{name} has the columns of X in another order: take those of X by reindex, or "
                "give a NumPy array."
            )


def check_labels(labels: ArrayLike, name: str) -> Array:
    """Numbers of labels of any type, (n,), in sorted order; error messages begin with ``name``."""
    options = {"of_anndata": "a column of adata.obs", "of_model": "its labels_"}
    refuse_objects(labels, name, "labels", **options)
    if np.ndim(labels) == 0:
        raise TypeError(f"{name} is {labels!r}: give a label for each item, in a list.")
    if missing := int(is_missing(np.asarray(labels)).sum()):
        raise ValueError(
            f"{name}: {missing} of {len(np.asarray(labels))} labels are missing, NaN or None: "
            "leave these items out."
        )
    try:
        values = column_or_1d(check_array(labels, ensure_2d=False, dtype=None))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return tables.unique_names(values, name)[1]


def check_predictor(predictor: Predictor) -> Predictor:
    """The predictor; TypeError if it is something else, such as a model.

    ValueError if its factors are no distributions, as those of NMF.
    """
    if not hasattr(predictor, "cells"):
        raise TypeError(
            f"{type(predictor).__name__} is not a predictor. For a model, give "
            "skcooc.heldout.Factors(model.transform(X_known), model.components_.T). X is the "
            "first argument."
        )
    for factors in _factors_in(predictor):
        check_sums(factors)
    return predictor


def _factors_in(predictor: object) -> Iterator[Factors]:
    if isinstance(predictor, Factors):
        yield predictor
    parts = [*getattr(predictor, "predictors", ())]
    for name in ("first", "second", "lower"):
        if hasattr(predictor, name):
            parts.append(getattr(predictor, name))
    for part in parts:
        yield from _factors_in(part)


def check_sums(factors: Factors) -> None:
    """Raise ValueError if a row of probabilities sums to more than one."""
    A, B = factors
    largest = float((A @ B.sum(axis=0)).max(initial=0))
    if largest <= 1 + SUM_TOLERANCE:
        return
    if abs(A.sum(axis=1) - 1).max() <= SUM_TOLERANCE:
        rows = "components"
    elif abs(B.sum(axis=0) - 1).max() <= SUM_TOLERANCE:
        rows = "mixtures"
    else:  # as of NMF
        rows = "mixtures * components.sum(axis=1), and components,"
    raise ValueError(
        f"A row of mixtures @ components sums to {largest:.4g}, but probabilities sum to one. "
        f"Divide the rows of {rows} by their sums, .sum(axis=1, keepdims=True)."
    )


def check_partitions(
    true: ArrayLike, pred: ArrayLike, names: tuple[str, str]
) -> tuple[Array, Array]:
    """Two labellings of the same items, each (n,)."""
    partitions = check_labels(true, names[0]), check_labels(pred, names[1])
    tables.check_index(true, **{names[1]: pred})
    try:
        check_consistent_length(*partitions)
    except ValueError as error:
        raise ValueError(f"{' and '.join(names)}: {error}") from error
    return partitions


def unwrap(estimator: Any, X: TableLike) -> tuple[Any, TableLike]:
    """The model inside a pipeline or a search, and X after the steps before the model."""
    while hasattr(estimator, "steps") or hasattr(estimator, "best_estimator_"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator[-1]
    return estimator, X


def check_fitted_model(estimator: Any, scorer: str) -> None:
    """TypeError if the estimator has no smoothed predictions, as the models of skcooc do."""
    for name in ("components_", "unigram_", "smoothing_"):
        if not hasattr(estimator, name):
            raise TypeError(
                f"{scorer} needs a fitted model of skcooc; {type(estimator).__name__} has no "
                f"{name}."
            )


def split_known(
    estimator: Any, X: TableLike, all_tokens: Dyads | None, scorer: str
) -> tuple[CSR, CSR]:
    """Known and scored counts of the same rows; the tokens of new rows are halved."""
    if not isinstance(X, Dyads):
        half, other = halves(tables.read_rows(estimator, X, scored=True))
        return half.table, other.table
    if all_tokens is None:
        raise ValueError(
            f"X is Dyads, so its known tokens are needed: give {scorer} all_tokens, the Dyads "
            "that are divided into folds."
        )
    tables.check_same_table(all_tokens.schema, X, scorer)
    total, scored = (
        dyads.with_positions(dyads.positions, None).to_csr() for dyads in (all_tokens, X)
    )
    X_known = total - scored
    X_known.eliminate_zeros()
    if X_known.nnz and X_known.data.min() < 0:
        raise ValueError(
            f"X has tokens that are not among all_tokens of {scorer}: give it the Dyads that are "
            "divided into folds."
        )
    warn_about_unknown_rows(np.diff(X_known.indptr), X.rows)
    return X_known, X.to_csr()


def without_feature_names(estimator: Any) -> Any:
    """Copy that does not check names of columns, which have been checked already."""
    estimator = copy.copy(estimator)
    vars(estimator).pop("feature_names_in_", None)
    return estimator
