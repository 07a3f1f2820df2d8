"""Decorators: those of scikit-learn, with the types of what they decorate, and compiled loops."""

from __future__ import annotations

import gc
import logging
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import Event, Listener, register
from sklearn.utils.metaestimators import available_if as _available_if

from skcooc.protocol import scikit_learn, warn
from skcooc.protocol.bases import did_you_mean
from skcooc.protocol.locks import free_in_forks

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "skcooc cannot run with NUMBA_DISABLE_JIT=1: its loops are made of vector instructions, "
        "which Python does not have. Unset this environment variable."
    )
free_in_forks(global_compiler_lock)

logger = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., object])
Result = TypeVar("Result")


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[F], F]:
    """Check the parameters of an estimator before its fit."""
    decorator = scikit_learn.fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )

    def decorate(fit: F) -> F:
        name = fit.__qualname__
        fit.__qualname__ = fit.__name__  # errors would name a base class
        wrapped = decorator(fit)
        wrapped.__qualname__ = name  # by which it is pickled
        return cast(F, wrapped)

    return decorate


def validated(constraints: Mapping[str, Any]) -> Callable[[F], F]:
    """Check the names of the arguments of a function or method, and the values of some."""

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        parameters = signature(function)
        caller = function.__qualname__.removesuffix(".__init__")
        valid = [name for name in parameters.parameters if name not in ("self", "cls")]

        @wraps(function)
        def call(*args: Any, **named: Any) -> Result:
            try:
                arguments = parameters.bind(*args, **named).arguments
            except TypeError as error:
                hints = [did_you_mean(name, valid) for name in named if name not in valid]
                raise TypeError(". ".join([f"{caller}(): {error}", *hints[:1]])) from None
            scikit_learn.validate_parameter_constraints(constraints, arguments, caller)
            return function(*args, **named)

        return call

    return cast(Callable[[F], F], decorate)


def with_callbacks(method: F) -> F:
    """End the callbacks when a method does."""
    return cast(F, scikit_learn.with_callbacks(method))


def available_if(check: Callable[[Any], bool]) -> Callable[[F], F]:
    """Hide a method where it has no meaning."""
    return cast(Callable[[F], F], _available_if(check))


class _Cache(FunctionCache):
    """Cache of compiled loops on disk that tolerates damaged files and a full disk."""

    def load_overload(self, *arguments: Any) -> Any:
        """Return a loop; None, so that it is compiled again, if it cannot be read."""
        try:
            return super().load_overload(*arguments)
        except (EOFError, pickle.UnpicklingError):  # of a file that was cut off
            with suppress(OSError):
                self.flush()
        except OSError:
            pass
        return None

    def save_overload(self, *arguments: Any) -> None:
        """Write a loop; a warning if that is not possible, since the fit can go on."""
        try:
            super().save_overload(*arguments)
        except OSError as error:
            warn(
                f"Compiled loops are not kept in {self.cache_path} ({error}): every process "
                "compiles them again. Make room, or set NUMBA_CACHE_DIR to another folder.",
            )


def compiled(function: Callable[..., Result], **options: Any) -> Callable[..., Result]:
    """Compile a loop without the GIL, with further options of numba.

    It is cached on disk, unless neither the package folder nor the user's cache folder is writable.
    Loops allocate nothing: like checks for division by zero and function pointers for C, the code
    for that would take time to compile.
    """
    options = {
        "nogil": True,
        "fastmath": True,
        "error_model": "numpy",
        "_nrt": False,
        "no_cfunc_wrapper": True,
        **options,
    }
    loop: Any = njit(**options)(function)
    try:
        vars(loop).update(_cache=_Cache(function))  # as njit(cache=True) does with its own
    except RuntimeError:  # there is no such folder
        COMPILATION.frequency = (
            "in every process, as no folder can be written: set NUMBA_CACHE_DIR to one"
        )
    return cast(Callable[..., Result], loop)


class CompilationListener(Listener):
    """Logs, once a process, that loops of this package are compiled: none was found on disk.

    It pauses the collection of cycles meanwhile, which takes a sixth of the time. Loops, and those
    that they call, are compiled one at a time: numba has a lock.
    """

    is_logged = False
    frequency = "once, and the results stay on disk"

    def __init__(self) -> None:
        self._was_enabled: list[bool] = []

    def on_start(self, event: Event) -> None:
        if self._is_own(event):
            if not self.is_logged:
                self.is_logged = True
                logger.info(f"Compiling loops: that takes seconds, {self.frequency}.")
            self._was_enabled.append(gc.isenabled())
            gc.disable()

    def on_end(self, event: Event) -> None:
        if self._is_own(event) and self._was_enabled.pop():
            gc.enable()

    def _is_own(self, event: Event) -> bool:
        return bool(event.data["dispatcher"].py_func.__module__.startswith("skcooc."))


COMPILATION = CompilationListener()
register("numba:compile", COMPILATION)
