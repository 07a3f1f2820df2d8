"""What a call may come to: a correct result, or a ValueError or TypeError that says why."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import skcooc

OURS, SKLEARN = (str(Path(package.__file__).parent) for package in (skcooc, sklearn))
SAYS = "pandas", "polars", "narwhals", "scipy/sparse", "joblib"  # they check what they get, too


class Wrong(AssertionError):
    """A result, or an error, that is not as it should be."""


class Refused(Exception):
    """A ValueError or TypeError with a clear message."""


def tried(call: Callable[[], Any]) -> Any:
    """Result of a call; raises Refused for a clear refusal, else Wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (ValueError, TypeError, AttributeError) as error:
        if not is_clear(error):
            raise Wrong(f"unclear {_told(error)}") from error
        raise Refused(f"{type(error).__name__}: {error}") from error
    except Wrong:
        raise
    except BaseException as error:
        raise Wrong(_told(error)) from error


def is_clear(error: Exception) -> bool:
    """True for errors raised on purpose: by this package, or by checks of inputs."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not str(error).strip():
        return False
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    if last.filename.startswith(OURS):
        return line.startswith("raise")
    if isinstance(error, AttributeError):  # there is no such method, as scikit-learn says it
        return last.filename.startswith(SKLEARN) and "has no attribute" in str(error)
    return last.filename.startswith(SKLEARN) or any(name in last.filename for name in SAYS)


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if "skcooc" in f.filename]
    return f"{type(error).__name__}: {error} at {' '.join(places[-4:])}"


def check(condition: Any, what: str) -> None:
    if not np.all(condition):
        raise Wrong(what)


def distributions(P: Any, what: str, tolerance: float) -> None:
    P = np.asarray(P)
    check(np.isfinite(P), f"{what} is not finite: {P}")
    check(P >= 0, f"{what} is negative: {P}")
    sums = P.sum(axis=1, dtype=float)
    check((np.abs(sums - 1) < tolerance) | (sums == 0), f"rows of {what} sum to {sums}")


def same(one: Any, two: Any, what: str) -> None:
    one, two = np.asarray(one), np.asarray(two)
    rtol, atol = (1e-4, 1e-7) if np.float32 in (one.dtype, two.dtype) else (1e-6, 1e-9)
    equal = one.shape == two.shape and np.allclose(one, two, rtol, atol, equal_nan=True)
    check(equal, f"{what} depends on the container: {one} and {two}")
