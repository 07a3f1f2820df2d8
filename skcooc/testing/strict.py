"""Arrays that stand for those of another device: nothing makes them arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from skcooc.protocol import Array, Block


class Elsewhere(NDArrayOperatorsMixin):
    """Numbers that are not in this memory.

    Functions of NumPy work on them where they are. Whatever would bring them here raises TypeError:
    ``np.asarray``, SciPy's matrices, compiled loops. So does an array of NumPy that meets them, for
    which ``*_like`` and ``Counts.array`` are; numbers may.
    """

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array__(self, *arguments: object, **named: object) -> Array:
        raise TypeError("an array of another device is made one of NumPy")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        result = getattr(ufunc, method)(*here(inputs), **here(named))
        return named["out"][0] if "out" in named else sent(result)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, inputs: Any, named: Any
    ) -> Any:
        result = function(*here(inputs), **here(named))
        return named["out"] if named.get("out") is not None else sent(result)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # no protocol by which arrays are exchanged
            raise AttributeError(name)
        return moved(getattr(self.values, name))

    def __getitem__(self, place: Any) -> Any:
        return sent(self.values[here(place)])

    def __setitem__(self, place: Any, values: Any) -> None:
        self.values[here(place)] = here(values)

    def __len__(self) -> int:
        return len(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)


class ThereToo:
    """Counts, or products with them, whose arrays are not in this memory."""

    def __init__(self, here: Any) -> None:
        self._here = here

    def __getattr__(self, name: str) -> Any:
        return moved(getattr(self._here, name))


class CountsElsewhere(ThereToo):
    """Counts of which equations are given a block; nothing else has tables."""

    _here: Block

    def array(self, values: Array) -> Elsewhere:
        """An array there."""
        return Elsewhere(values)

    def rowwise(self, function: Callable[..., object], *arrays: Any, out: Any = None) -> Any:
        """The function of ranges of rows, filled in there."""

        def there(*parts: Array) -> None:
            function(*map(Elsewhere, parts))

        filled = self._here.rowwise(there, *here(arrays), out=here(out))
        return Elsewhere(filled) if out is None else out

    def parts(self, function: Callable[[int, int], Any]) -> list[Any]:
        """What the function gives of ranges of rows."""
        return self._here.parts(function)

    def by_row(self, function: Callable[..., Any], *states: Any) -> Any:
        """The function of these counts and states of their rows, for each row."""
        return function(self, *states)

    def total(self, function: Callable[..., Any], *states: Any) -> Any:
        """The same, added up over the rows."""
        return function(self, *states)

    def over_states(self, *arguments: Any) -> Any:
        """TypeError: equations are given a block."""
        raise TypeError("equations have row states, and the driver of EM has tables")


def here(value: Any) -> Any:
    """What functions of NumPy are called with in place of this."""
    if isinstance(value, Elsewhere):
        return value.values
    if isinstance(value, tuple | list):
        return type(value)(map(here, value))
    if isinstance(value, dict):
        return {name: here(one) for name, one in value.items()}
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("an array of NumPy meets one of another device")
    return value


def sent(value: Any) -> Any:
    """The same on the other device; products of counts, too."""
    if isinstance(value, np.ndarray):
        return Elsewhere(value)
    if isinstance(value, tuple | list):
        values = map(sent, value)
        return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
    return ThereToo(value) if hasattr(value, "log_likelihood") else value


def moved(value: Any) -> Any:
    """An attribute, or a method whose arguments and results are on the other device."""
    if not callable(value):
        return sent(value)
    return lambda *inputs, **named: sent(value(*here(inputs), **here(named)))
