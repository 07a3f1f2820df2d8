"""Base classes of scikit-learn, with types, and with hints where a name is wrong.

scikit-learn has no types, so mypy would accept every parameter and attribute of a class that
inherits from it: it sees only what is declared here. Other type checkers see both. Each class is
written twice, as pyright does not follow aliases of base classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Self

import sklearn.base
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skcooc.protocol import Array, AttributeHints, TableLike, refuse_class

SIZES = (  # what is meant by n_topics, num_topics and k of other libraries
    "n_components n_row_components n_column_components n_clusters n_row_clusters "
    "n_column_clusters n_segments n_components_per_class candidates"
)
OTHERS = {  # parameters, and what other libraries call them
    "max_iter": "iterations passes epochs n_epochs n_iters",
    "row_prior": "alpha doc_topic_prior",
    "component_prior": "eta topic_word_prior",
    "random_state": "seed random_seed",
    "n_jobs": "workers n_workers n_threads",
    "tol": "tolerance",
    "beta": "temperature",
    "candidates": "ks k_range n_components components param_grid",
    "estimator": "model base_estimator base_model",
    "estimators": "models members",
    "n_estimators": "n_models n_members n_runs",
    "neighbors": "k n_neighbors",
    "concentration": "alpha",
    "seed_features": "seeds seed_words seed_topics",
    "features": "filters",
    "n_features": "n n_words n_top_words num_words top_n topn top_k k",
    "n_rows": "n_docs n_documents n_samples",
    "n_columns": "n_words n_features vocab_size",
    "n": "k n_items top_n",
    "test_size": "test_fraction validation_fraction",
    "by": "groups group labels",
    "level": "confidence alpha",
    "feature_names": "vocabulary vocab words names columns",
    "row_names": "doc_names titles index",
    "texts": "documents docs",
}

MYPY = False  # mypy takes this name for True
if TYPE_CHECKING:
    from skcooc.protocol import scikit_learn

    class _Object:
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
        def __sklearn_tags__(self) -> Tags: ...

    class _Parameters(_Object):
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: object) -> Self: ...
        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_transform_request(self, **requests: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **requests: bool | str | None) -> Self: ...
        def _validate_params(self) -> None: ...

    _Estimator = _Parameters

    class _Callbacks:
        def set_callbacks(self, *callbacks: object) -> Self: ...
        def _init_callback_context(
            self, task_name: str = "fit", *, max_subtasks: int | None = 0
        ) -> scikit_learn.CallbackContext: ...

    class _Transform(_Object):
        def __init_subclass__(cls, **options: Any) -> None: ...
        def fit_transform(self, X: TableLike, y: object = None, **fit_params: object) -> Array: ...
        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self: ...

    class _Names:
        def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array: ...

    class _Classes(_Object):
        def score(
            self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
        ) -> float: ...

    class _Clusters:
        def fit_predict(self, X: TableLike, y: object = None, **fit_params: object) -> Array: ...

    class _Biclusters:
        @property
        def biclusters_(self) -> tuple[Array, Array]: ...
        def get_indices(self, i: int) -> tuple[Array, Array]: ...
        def get_shape(self, i: int) -> tuple[int, int]: ...
        def get_submatrix(self, i: int, data: TableLike) -> Any: ...

else:
    _Estimator = object


def did_you_mean(name: str, valid: Sequence[str]) -> str:
    """Return a hint: similar names, and all valid parameters."""
    if name == "verbose":
        return "Show progress by set_callbacks(ProgressBar()), from sklearn.callback (1.9+)."
    near = [parameter for parameter in valid if name in OTHERS.get(parameter, "").split()]
    near = near or get_close_matches(name, valid, cutoff=0.7)
    if not near and (name.lower() in ("k", "topics", "factors") or name.startswith(("n_", "num_"))):
        near = [size for size in SIZES.split() if size in valid]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}Valid parameters are: {valid}."


class EstimatorHints(AttributeHints, _Estimator):
    """Mixin class: errors name the parameter or the attribute that is meant."""

    def __new__(cls, *args: object, **parameters: object) -> Self:
        """Create an estimator; TypeError where a parameter is unknown, a class, or needs a name."""
        valid = cls._get_param_names()
        by_position = _by_position(cls.__init__)
        if len(args) > len(by_position):
            raise TypeError(
                f"{cls.__name__}() takes {' and '.join(by_position)} by position, got "
                f"{len(args)} positional arguments. Give all others by name."
            )
        for name in parameters.keys() - valid:
            raise TypeError(
                f"{cls.__name__}() got an unexpected keyword argument {name!r}. "
                f"{did_you_mean(name, valid)}"
            )
        for name, value in (*zip(by_position, args, strict=False), *parameters.items()):
            refuse_class(value, name)
        return super().__new__(cls)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:  # scikit-learn reads the signature at every call
        return super()._get_param_names()

    def set_params(self, **params: object) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Values of parameters.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a name is unknown. The message suggests a parameter.
        """
        valid = self._get_param_names()
        for name in params.keys() - valid:
            inside, _, nested = name.partition("__")
            if nested and hasattr(self.get_params().get(inside), "set_params"):
                continue
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {self}. {did_you_mean(name, valid)}"
            )
        return super().set_params(**params)


@cache
def _by_position(constructor: Callable[..., None]) -> list[str]:
    parameters = signature(constructor).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]


if TYPE_CHECKING:
    if MYPY:

        class BaseEstimator(EstimatorHints): ...

        class CallbackSupportMixin(_Callbacks): ...

        class TransformerMixin(_Transform): ...

        class ClassNamePrefixFeaturesOutMixin(_Names): ...

        class ClassifierMixin(_Classes): ...

        class ClusterMixin(_Clusters): ...

        class BiclusterMixin(_Biclusters): ...

        class MetaEstimatorMixin: ...

    else:

        class BaseEstimator(EstimatorHints, sklearn.base.BaseEstimator): ...

        class CallbackSupportMixin(_Callbacks, scikit_learn.CallbackSupportMixin): ...

        class TransformerMixin(_Transform, sklearn.base.TransformerMixin): ...

        class ClassNamePrefixFeaturesOutMixin(
            _Names, sklearn.base.ClassNamePrefixFeaturesOutMixin
        ): ...

        class ClassifierMixin(_Classes, sklearn.base.ClassifierMixin): ...

        class ClusterMixin(_Clusters, sklearn.base.ClusterMixin): ...

        class BiclusterMixin(_Biclusters, sklearn.base.BiclusterMixin): ...

        class MetaEstimatorMixin(sklearn.base.MetaEstimatorMixin): ...

else:
    from sklearn.base import (
        BiclusterMixin,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        TransformerMixin,
    )

    from skcooc.protocol.scikit_learn import CallbackSupportMixin

    class BaseEstimator(EstimatorHints, sklearn.base.BaseEstimator):
        """The base class of scikit-learn, with hints."""


class MixturesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin class of transformers with a column for each component of a model.

    Frames of pandas that ``transform`` returns have the names of rows that X has: scikit-learn
    keeps those of frames alone.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in vars(cls):
            cls.transform = _with_index(cls.transform)  # type: ignore[attr-defined]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : (K,) array of str
            Class name and number, such as "aspectmodel0", or the name that
            :func:`skcooc.inspection.set_names` has set.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        for k, name in getattr(self._model_of_columns, "component_names_", {}).items():
            names[k] = str(name)
        return names

    @property
    def _model_of_columns(self) -> Any:
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self._model_of_columns.components_)


def _with_index(transform: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(transform)
    def named(self: Any, X: TableLike, *args: Any, **options: Any) -> Any:
        mixtures = transform(self, X, *args, **options)
        names = None if hasattr(X, "iloc") else getattr(X, "row_names", None)
        if names is not None and hasattr(mixtures, "iloc"):
            mixtures.index = names.tolist()
        return mixtures

    return named
