"""Decorators of scikit-learn that keep the types of what they decorate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from sklearn.base import _fit_context
from sklearn.callback import with_callbacks as _with_callbacks
from sklearn.utils._param_validation import validate_params
from sklearn.utils.metaestimators import available_if as _available_if

F = TypeVar("F", bound=Callable[..., object])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[F], F]:
    """Check the parameters of an estimator before its fit."""
    decorator = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return cast(Callable[[F], F], decorator)


def validated(constraints: Mapping[str, Any]) -> Callable[[F], F]:
    """Check the arguments of a function or method."""
    decorator = validate_params(dict(constraints), prefer_skip_nested_validation=True)
    return cast(Callable[[F], F], decorator)


def with_callbacks(method: F) -> F:
    """End the callbacks when a method does."""
    return cast(F, _with_callbacks(method))


def available_if(check: Callable[[Any], bool]) -> Callable[[F], F]:
    """Hide a method where it has no meaning."""
    return cast(Callable[[F], F], _available_if(check))
