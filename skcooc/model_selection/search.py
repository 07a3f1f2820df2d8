"""Parts shared by the searches: data, threads, callbacks, the refit and the table of results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skcooc.counts import check_sparse_structure
from skcooc.counts.passes import threads
from skcooc.model_selection.folds import Data, ParamMapping
from skcooc.protocol import Array, Estimator, TableLike, scikit_learn
from skcooc.protocol.bases import EstimatorHints
from skcooc.protocol.decorators import available_if
from skcooc.protocol.scikit_learn import BaseSearchCV, CallbackContext, CallbackSupportMixin

Container: TypeAlias = Literal["default", "pandas", "polars"]
Hooks: TypeAlias = dict[str, Any]  # arguments of callback hooks during a fit
RunParallel: TypeAlias = Callable[[Callable, Iterable[tuple]], list]


def _estimator_has(method: str) -> Callable[[BaseSearchCV], bool]:
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), method)


class Search(EstimatorHints, BaseSearchCV, CallbackSupportMixin):
    """Base class of the searches, compatible with scikit-learn's; subclasses define ``fit``."""

    scoring = None  # required by the base class; the score is the estimator's own
    estimator: BaseEstimator
    n_jobs: int | None
    best_estimator_: Estimator
    refit_time_: float
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    cv_results_: dict[str, Any]
    n_splits_: int
    n_features_in_: int
    feature_names_in_: Array

    def _run_parallel(self, function: Callable, arguments: Iterable[tuple]) -> list:
        parallel = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return list(parallel(delayed(function)(*args) for args in arguments))

    def _route_params(
        self, X: TableLike, y: ArrayLike | None, params: ParamMapping
    ) -> tuple[Data, ParamMapping]:
        """Data with the parameters of the estimator, and the parameters of the splitter."""
        X, y = indexable(check_sparse_structure(X) if sp.issparse(X) else X, y)
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            return Data(X, y, routed.estimator.fit), routed.splitter.split
        given = {name: value for name, value in params.items() if value is not None}
        split = {"groups": given.pop("groups")} if "groups" in given else {}
        return Data(X, y, given), split

    def _begin(self, data: Data) -> tuple[CallbackContext, Hooks]:
        """The callback task of ``fit``, which has begun, and the arguments of hooks."""
        hooks = {"estimator": self, "X": data.X, "y": data.y, "metadata": data.params}
        root = self._init_callback_context(max_subtasks=1 + self.refit)
        return root.call_on_fit_task_begin(**hooks), hooks

    def _without_results(self) -> Self:
        """Return a copy without fitted attributes."""
        new = copy.copy(self)
        for name in [name for name in vars(new) if name.endswith("_")]:
            delattr(new, name)
        return new

    def _set_results(
        self, results: dict[str, Array], params: Sequence[ParamMapping], best: int, n_splits: int
    ) -> None:
        """Set the attributes that scikit-learn's searches have without a refit."""
        self.cv_results_, self.n_splits_ = {**results, "params": params}, n_splits
        self.best_index_, self.best_params_ = best, dict(params[best])
        self.best_score_ = float(results["mean_test_score"][best])
        self.scorer_, self.multimetric_ = check_scoring(self.estimator), False

    def _fit_best(
        self, best: BaseEstimator, data: Data, root: CallbackContext, hooks: Hooks
    ) -> None:
        began = perf_counter()
        with fit_task(root.subcontext(task_name="refit-with-best-params"), best, hooks):
            best.fit(data.X, data.y, **data.params)
        self.best_estimator_, self.refit_time_ = best, perf_counter() - began
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    @available_if(_estimator_has("transform"))
    def fit_transform(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Array:
        """Fit, and transform the same data; parameters are those of ``fit``."""
        return self.fit(X, y, **params).transform(X)

    @available_if(_estimator_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Names of the columns that ``transform`` returns."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    @available_if(_estimator_has("set_output"))
    def set_output(self, *, transform: Container | None = None) -> Self:
        """Set the container that ``transform`` returns, as of the estimator itself."""
        self.estimator.set_output(transform=transform)
        if hasattr(self, "best_estimator_"):
            self.best_estimator_.set_output(transform=transform)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.transformer_tags = inner.input_tags, inner.transformer_tags
        return tags


@contextmanager
def search_task(root: CallbackContext, hooks: Hooks) -> Iterator[CallbackContext]:
    """The search as a callback task, with one thread of BLAS throughout."""
    task = root.subcontext(task_name="search", max_subtasks=None).call_on_fit_task_begin(**hooks)
    with threads(1):
        yield task
    task.call_on_fit_task_end(**hooks)


@contextmanager
def fit_task(
    task: CallbackContext, estimator: BaseEstimator, hooks: Hooks
) -> Iterator[BaseEstimator]:
    """The fit of an estimator as a task of a callback context."""
    with task.propagate_callback_context(estimator):
        task.call_on_fit_task_begin(**hooks)
        yield estimator
    task.call_on_fit_task_end(**hooks)


def cv_results(params: Sequence[ParamMapping], tables: dict[str, Array]) -> dict[str, Array]:
    """Columns of ``cv_results_`` by name, without ``params``, from tables of measurements.

    Tables are (n_candidates, n_folds), NaN where nothing was measured. Those of scores give a
    column for each split; all give means and standard deviations, NaN unless all folds were
    visited. ``test_score`` is ranked, 1 for the largest and NaN last.
    """
    results: dict[str, Array] = {}
    for name, table in tables.items():
        if name.endswith("score"):
            results |= {f"split{fold}_{name}": table[:, fold] for fold in range(table.shape[1])}
        results[f"mean_{name}"], results[f"std_{name}"] = table.mean(axis=1), table.std(axis=1)
    scores = results["mean_test_score"]
    known = np.where(np.isnan(scores), -np.inf, scores)
    results["rank_test_score"] = rankdata(-known, method="min").astype(np.int32)
    return results | dict(scikit_learn.yield_masked_array_for_each_param(params))
