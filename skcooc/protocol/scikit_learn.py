"""Private names of scikit-learn, imported here alone, and its callbacks where it has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import sklearn
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _param_validation
from sklearn.utils._chunking import get_chunk_n_rows
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._param_validation import (
    HasMethods,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

from skcooc.protocol import Array

LARGEST = 2**63 - 1  # of the integers of NumPy
TOO_LARGE = (
    "has an integer that is too large for a floating point number: counts and weights should be "
    "below 2^53."
)
HAS_CALLBACKS = find_spec("sklearn.callback") is not None  # since version 1.9


class Tasks:
    """Tasks of a fit without callbacks, with the methods of scikit-learn's CallbackContext."""

    def subcontext(self, **options: object) -> Self:
        return self

    def call_on_fit_task_begin(self, **data: object) -> Self:
        return self

    def call_on_fit_task_end(self, **data: object) -> bool:
        return False

    @contextmanager
    def propagate_callback_context(self, estimator: object) -> Iterator[Self]:
        yield self


class WithoutCallbacks:
    """Mixin class of estimators where scikit-learn has no callbacks."""

    def set_callbacks(self, *callbacks: object) -> Self:
        """Accept no callback; RuntimeError where one is given."""
        if callbacks:
            raise RuntimeError(
                "Callbacks, such as ProgressBar and Checkpoint, need scikit-learn 1.9 or later; "
                f"found {sklearn.__version__}. Install a later version, or fit without callbacks."
            )
        return self

    def _init_callback_context(self, **options: object) -> Tasks:
        return Tasks()


if HAS_CALLBACKS or TYPE_CHECKING:
    from sklearn.callback import CallbackContext, CallbackSupportMixin, ProgressBar, with_callbacks
else:
    CallbackContext = Tasks
    CallbackSupportMixin = WithoutCallbacks
    ProgressBar = None

    def with_callbacks(method: object) -> object:
        return method


class Interval(_param_validation.Interval):
    """A constraint on a number, which is no boolean and which NumPy can hold."""

    def is_satisfied_by(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not super().is_satisfied_by(value):
            return False
        return not isinstance(value, int) or abs(value) <= LARGEST


class InstanceOf(HasMethods):
    """A constraint on the class of a parameter, described in words instead of a module's path."""

    def __init__(self, kind: type, words: str) -> None:
        super().__init__(["fit"])
        self._kind = kind
        self._words = words

    def is_satisfied_by(self, value: object) -> bool:
        return isinstance(value, self._kind)

    def __str__(self) -> str:
        return self._words


@contextmanager
def without_overflow(name: str) -> Iterator[None]:
    """Raise ValueError where integers are too large to become floating point numbers."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"{name} {TOO_LARGE}") from None


def check_sample_weight(sample_weight: Any, X: Any, **options: Any) -> Any:
    """Checked weights of rows; before version 1.9 weights may all be zero."""
    if not HAS_CALLBACKS:
        options.pop("allow_all_zero_weights", None)
    with without_overflow("sample_weight"):
        return _check_sample_weight(sample_weight, X, **options)


def is_missing(values: Array) -> Array:
    """Mask of None, NaN, NaT and the NA of pandas, (n,)."""
    if values.dtype.kind == "O":
        items = values.tolist()
        missing = {v for v in set(items) if v is None or is_pandas_na(v) or v != v}
        return np.array([v in missing for v in items], dtype=bool)
    return np.asarray(values != values)


def __getattr__(name: str) -> Any:
    """Import what is slow to import and needed only for searches."""
    if name in {"BaseSearchCV", "yield_masked_array_for_each_param"}:
        search = import_module("sklearn.model_selection._search")
        return getattr(search, name if name[0] == "B" else f"_{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
