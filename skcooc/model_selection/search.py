"""What all searches of this package share: data, threads, callbacks, and the best estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self, TypeAlias, TypedDict

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackContext
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skcooc.model_selection.folds import Data
from skcooc.model_selection.target import Params
from skcooc.protocol import Array, TableLike
from skcooc.protocol.decorators import available_if

Container: TypeAlias = Literal["default", "pandas", "polars"]


class Hooks(TypedDict):
    """What callbacks are told of a fit."""

    estimator: BaseEstimator
    X: TableLike
    y: ArrayLike | None
    metadata: Params


def _estimator_has(method: str) -> Callable[[BaseSearchCV], bool]:
    """Whether the best estimator, or else the one given, has a method."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), method)


class Search(BaseSearchCV):
    """A search as scikit-learn knows it; its ``fit`` is up to subclasses."""

    scoring = None  # the base class asks for it: the estimator's own score
    estimator: BaseEstimator
    n_jobs: int | None
    best_estimator_: BaseEstimator
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    cv_results_: dict[str, Any]
    n_splits_: int
    n_features_in_: int
    feature_names_in_: Array

    def _run(self, function: Callable, arguments: Iterable[tuple]) -> list:
        parallel = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return list(parallel(delayed(function)(*these) for these in arguments))

    def _routed(self, X: TableLike, y: ArrayLike | None, params: Params) -> tuple[Data, Params]:
        """Data with the parameters of the estimator, and the parameters of the splitter."""
        X, y = indexable(X, y)
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            return Data(X, y, routed.estimator.fit), routed.splitter.split
        given = {name: value for name, value in params.items() if value is not None}
        split = {"groups": given.pop("groups")} if "groups" in given else {}
        return Data(X, y, given), split

    def _fit_best(
        self, best: BaseEstimator, data: Data, task: CallbackContext, hooks: Hooks
    ) -> None:
        """Fit all data with the best parameters."""
        with fitting(task, best, hooks):
            best.fit(data.X, data.y, **data.params)
        self.best_estimator_ = best
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
def fitting(
    task: CallbackContext, estimator: BaseEstimator, hooks: Hooks
) -> Iterator[BaseEstimator]:
    """The fit of an estimator as a task of a callback context."""
    with task.propagate_callback_context(estimator):
        task.call_on_fit_task_begin(**hooks)
        yield estimator
    task.call_on_fit_task_end(**hooks)
