"""Numbers of components that are "auto": found by a search, when there are data."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import BaseEstimator, clone

from skcooc.protocol import TableLike
from skcooc.tables import is_elsewhere, read_in_memory

if TYPE_CHECKING:
    from skcooc.model_selection import ComponentSearchCV

Sizes = dict[str, int]  # by the names of the parameters
Estimator = TypeVar("Estimator", bound=BaseEstimator)


def is_sought(estimator: BaseEstimator) -> bool:
    """Whether numbers of components are to be found; ValueError where only one of two is."""
    from skcooc.model_selection.candidates import names_of

    given = {name: getattr(estimator, name) for name in names_of(estimator)}
    sought = [name for name in given if isinstance(given[name], str)]
    if len(sought) not in (0, len(given)):
        raise ValueError(
            f"{sought[0]}='auto' needs that {' and '.join(given)} are both 'auto', got {given}."
        )
    return bool(sought)


def check_numbers(estimator: BaseEstimator) -> None:
    """Raise ValueError where a number of components would still have to be found."""
    from skcooc.model_selection.candidates import names_of

    if is_sought(estimator):
        name = names_of(estimator)[0]
        raise ValueError(f"A search for the temperature needs {name} as a number, got 'auto'.")


def numbers(estimator: BaseEstimator) -> dict[str, object]:
    """The numbers of components as attributes, where properties do not say them already."""
    from skcooc.model_selection.candidates import names_of

    own = type(estimator)
    names = [name for name in names_of(estimator) if not hasattr(own, f"{name}_")]
    return {f"{name}_": getattr(estimator, name) for name in names}


def fit_with_found(
    estimator: Estimator, X: TableLike, y: object, sample_weight: ArrayLike | None
) -> Estimator:
    """Fit with the numbers of components that a search finds, or has found for a warm start.

    A copy that has these numbers is fitted, and what it has learnt is taken over.
    """
    from skcooc.model_selection.candidates import names_of

    if is_elsewhere(X):
        name = names_of(estimator)[0]
        raise ValueError(
            f"{name}='auto' divides the observations of a table in memory, got X of type "
            f"{type(X).__name__}. Give a number, which may be one found on a sample of rows."
        )
    if estimator.warm_start and hasattr(estimator, "components_"):
        search, sizes = _found_before(estimator)
    else:
        search, sizes = _searched(estimator, X, sample_weight)
    new = copy.copy(estimator).set_params(**sizes)
    new.fit(X, y, sample_weight)
    sought = dict.fromkeys(sizes, "auto")
    estimator.__dict__.clear()
    estimator.__dict__.update(vars(new) | sought | {"component_search_": search})
    return estimator


def _found_before(estimator: BaseEstimator) -> tuple[ComponentSearchCV, Sizes]:
    """What an earlier fit has found; ValueError where it was told the numbers."""
    from skcooc.model_selection.candidates import names_of

    names = names_of(estimator)
    if not hasattr(estimator, "component_search_"):
        raise ValueError(
            f"warm_start=True goes on from a fit with a number of its own, got {names[0]}='auto'. "
            "Set warm_start=False to start anew."
        )
    search = estimator.component_search_
    return search, dict(search.best_params_)


def _searched(
    estimator: BaseEstimator, X: TableLike, sample_weight: ArrayLike | None
) -> tuple[ComponentSearchCV, Sizes]:
    """A search on these data, all of which have been checked."""
    from skcooc.model_selection import ComponentSearchCV
    from skcooc.model_selection.candidates import sizes_of

    read_in_memory(copy.copy(estimator), X, sample_weight)
    few = dict.fromkeys(sizes_of(estimator), 1)
    plain = clone(estimator).set_params(**few, n_jobs=1, warm_start=False)
    search = ComponentSearchCV(
        plain.set_callbacks(),
        refit=False,
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
    )
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with config_context(enable_metadata_routing=False):  # fit hands weights on, whoever asks
        search.fit(X, **weights)
    return search, dict(search.best_params_)
