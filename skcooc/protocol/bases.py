"""Base classes of scikit-learn, with types.

scikit-learn has no types, so mypy would accept every parameter and attribute of a class that
inherits from it: it sees only what is declared here. Other type checkers see both. Each class is
written twice, as pyright does not follow aliases of base classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import sklearn.base
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from skcooc.protocol import Array, TableLike

__all__ = [
    "BaseEstimator",
    "BiclusterMixin",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "MetaEstimatorMixin",
    "TransformerMixin",
]

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

    class _Callbacks:
        def set_callbacks(self, *callbacks: object) -> Self: ...
        def _init_callback_context(
            self, task_name: str = "fit", *, max_subtasks: int | None = 0
        ) -> scikit_learn.CallbackContext: ...

    class _Transform(_Object):
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

    if MYPY:

        class BaseEstimator(_Parameters): ...

        class CallbackSupportMixin(_Callbacks): ...

        class TransformerMixin(_Transform): ...

        class ClassNamePrefixFeaturesOutMixin(_Names): ...

        class ClassifierMixin(_Classes): ...

        class ClusterMixin(_Clusters): ...

        class BiclusterMixin(_Biclusters): ...

        class MetaEstimatorMixin: ...

    else:

        class BaseEstimator(_Parameters, sklearn.base.BaseEstimator): ...

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
        BaseEstimator,
        BiclusterMixin,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        TransformerMixin,
    )

    from skcooc.protocol.scikit_learn import CallbackSupportMixin
