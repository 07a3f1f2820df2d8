"""The model that the options ask for, its fit, and the Python that gives it again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skcooc.cli.arguments import READING, Arguments
from skcooc.cli.texts import NamedCounts
from skcooc.estimators.aspect import AspectModel
from skcooc.estimators.asymmetric import AsymmetricClustering
from skcooc.estimators.cluster_abstraction import ClusterAbstraction
from skcooc.estimators.clustering_projection import ClusteringProjection
from skcooc.estimators.guided import GuidedAspectModel
from skcooc.estimators.product_space import ProductSpaceMixture
from skcooc.estimators.symmetric import SymmetricClustering
from skcooc.protocol import CSR, Array

# Takes the number of components first, then the parameters that all estimators share, by name.
ModelFactory: TypeAlias = Callable[..., BaseEstimator]


def _with_equal_sizes(estimator: ModelFactory) -> ModelFactory:
    """The estimator with equally many components of rows and columns."""
    return lambda components, **parameters: estimator(components, components, **parameters)


MODELS: dict[str, ModelFactory] = {
    "aspect": AspectModel,
    "product-space": _with_equal_sizes(ProductSpaceMixture),
    "asymmetric": AsymmetricClustering,
    "projection": ClusteringProjection,
    "symmetric": _with_equal_sizes(SymmetricClustering),
    "abstraction": ClusterAbstraction,
}

N_COMPONENTS, LEAST_COMPONENTS = 32, 2  # by default
ROWS_PER_COMPONENT = 10  # at least, by default


class Fitted(NamedTuple):
    seconds: float
    notes: tuple[str, ...]  # convergence warnings


def with_components(options: Arguments, table: NamedCounts) -> Arguments:
    """The options with a number of components, which depends on the rows if it is not given."""
    usual = min(N_COMPONENTS, max(LEAST_COMPONENTS, table.X.shape[0] // ROWS_PER_COMPONENT))
    components = options.components or max(usual, len(table.seeds or ()))
    return replace(options, components=components)


def make_model(table: NamedCounts, options: Arguments, **changed: Any) -> BaseEstimator:
    """The model that the options ask for, with changed parameters."""
    parameters: dict[str, Any] = {
        "beta": options.beta, "max_iter": options.max_iter, "n_jobs": options.jobs,
        "random_state": options.seed, **changed,
    }  # fmt: skip
    if table.seeds is None and table.batches is None:
        return MODELS[options.model](options.components, **parameters)
    if table.seeds is not None:
        parameters |= {"seed_features": table.seeds, "feature_names": table.column_names}
    if table.batches is not None:
        parameters["group_effects"] = "columns"
    return GuidedAspectModel(options.components, **parameters)


def fit(model: BaseEstimator, X: CSR, batches: Array | None = None) -> Fitted:
    """Fit a model; its seconds and convergence warnings, which are not printed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        begin = time.perf_counter()
        model.fit(X, **({} if batches is None else {"groups": batches}))
        seconds = time.perf_counter() - begin
    notes: tuple[str, ...] = ()
    for w in caught:
        if issubclass(w.category, ConvergenceWarning):
            notes += (str(w.message),)
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return Fitted(seconds, notes)


def python_lines(table: NamedCounts, options: Arguments, model: BaseEstimator) -> list[str]:
    """Five lines of Python that read the same data, fit the same model and name its topics."""
    given = {name: getattr(options, name) for name in READING}
    read = [f"{name}={_literal(value)}" for name, value in given.items() if value is not None]
    if options.data is not None:
        read.insert(0, _literal(options.data))
    defaults = type(model)().get_params()
    parameters = {
        name: repr(value) for name, value in model.get_params().items() if value != defaults[name]
    }
    if table.seeds is not None:
        parameters |= {"seed_features": "table.seeds", "feature_names": "table.column_names"}
    made = ", ".join(f"{name}={value}" for name, value in parameters.items())
    name, groups = type(model).__name__, "" if table.batches is None else ", groups=table.batches"
    return [
        f"from skcooc import {name}, inspection",
        "from skcooc.cli import read_counts",
        f"table = read_counts({', '.join(read)})",
        f"model = {name}({made}).fit(table.X{groups})",
        'print(*inspection.name_topics(model, table.column_names, table.row_names), sep="\\n")',
    ]


def _literal(value: object) -> str:
    return repr(value if isinstance(value, int | float) else str(value))
