"""Numbers of components that are "auto": they are searched before the fit."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone

from skcooc.protocol import CSR, TableLike, TableWarning, warn
from skcooc.tables import is_out_of_core, read_in_memory

LARGE_DIAGONAL, MIN_DIAGONAL = 5, 30  # times what independence expects; tokens expected


def has_auto_size(estimator: Any) -> bool:
    """Return whether sizes are "auto"; ValueError where only one of two is."""
    sizes = {name: getattr(estimator, name) for name in estimator.size_parameters}
    auto = [name for name in sizes if isinstance(sizes[name], str)]
    if len(auto) not in (0, len(sizes)):
        raise ValueError(
            f"{auto[0]}='auto' needs that {' and '.join(sizes)} are both 'auto', got {sizes}."
        )
    return bool(auto)


def fit_with_searched_size(
    model: Any, X: TableLike, y: object, sample_weight: ArrayLike | None
) -> Any:
    """Fit a copy with sizes searched, or kept for a warm start; take its attributes."""
    names = model.size_parameters
    if is_out_of_core(X):
        raise ValueError(
            f"{names[0]}='auto' divides the tokens of a table in memory, got X of type "
            f"{type(X).__name__}. Give a number, which may be one found on a sample of rows."
        )
    if model._is_warm_start():
        sizes = vars(model).get("_searched_sizes")
        if sizes is None:
            raise ValueError(
                "warm_start=True continues a fit with a given number of components, got "
                f"{names[0]}='auto'. Set warm_start=False to start anew."
            )
        fitted = vars(model)
        results = {name: fitted[name] for name in ("component_search_",) if name in fitted}
    else:
        with warnings.catch_warnings(action="ignore", category=TableWarning):
            sizes, results = _searched_sizes(model, X, sample_weight)
    new = copy.copy(model).set_params(**sizes)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        new.fit(X, y, sample_weight)
    n_used = len(np.unique(new.labels_)) if sizes.keys() == {"n_clusters"} else 0
    if 0 < n_used < sizes["n_clusters"] and not hasattr(new, "tree_"):
        # The number is that of hard clusters; soft ones left some of them empty.
        sizes = {"n_clusters": n_used}
        new.set_params(**sizes).fit(X, y, sample_weight)
    else:
        for w in record:
            warn(w.message, w.category)
    auto = dict.fromkeys(sizes, "auto")
    model.__dict__.clear()
    model.__dict__.update(vars(new) | auto | results | {"_searched_sizes": sizes})
    return model


def _searched_sizes(
    estimator: Any, X: TableLike, sample_weight: ArrayLike | None
) -> tuple[dict[str, int], dict[str, object]]:
    """Return the best sizes, and the attributes that tell of their search."""
    from skcooc.model_selection import ComponentSearchCV

    table = read_in_memory(copy.copy(estimator), X, sample_weight)
    ones = dict.fromkeys(estimator.size_parameters, 1)
    model = clone(estimator).set_params(**ones, n_jobs=1, warm_start=False)
    if not model.recipe().needs_empty_columns:
        occupied = table.occupied()
        if occupied is not table:
            table = occupied
            X = occupied.sample.table
            sample_weight = occupied.sample.weights
    sizes = model.best_sizes(table)
    if sizes is not None:
        if len(sizes) > 1 and (message := _doubt_of_diagonal(table.sample.table)):
            warn(message)
        elif set(sizes.values()) == {1}:
            warn(
                f"{next(iter(sizes))}='auto' finds no structure: one cluster of rows and one of "
                "columns have the best integrated likelihood, as if rows and columns were "
                "independent. Give a number to cluster in any case."
            )
        return sizes, {}
    search = ComponentSearchCV(
        model.set_callbacks(),
        refit=False,
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
    )
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with config_context(enable_metadata_routing=False):  # fit passes weights on in any case
        search.fit(X, **weights)
    return dict(search.best_params_), {"component_search_": search}


def _doubt_of_diagonal(table: CSR) -> str | None:
    """Return a message if the diagonal of a square table is empty or large, as of moves."""
    n_rows, n_columns = table.shape
    total = table.sum(dtype=np.float64)
    if n_rows != n_columns or not total:
        return None
    sums = (table.sum(axis=axis, dtype=np.float64) for axis in (0, 1))
    expected = np.prod([*sums], axis=0).sum() / total
    share = table.diagonal().sum(dtype=np.float64) / total
    if expected < MIN_DIAGONAL or 0 < share <= LARGE_DIAGONAL * expected / total:
        return None
    return (
        f"The diagonal of X holds {share:.0%} of its tokens; {expected / total:.0%} were expected "
        "of independent rows and columns. If both sides are the same items, 'auto' fits this "
        "difference with clusters of its own, or finds none: set the numbers of clusters."
    )
