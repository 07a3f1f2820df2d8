"""Mock arrays of another device, such as a GPU: conversion to NumPy fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from skcooc.protocol import Array, Block


class DeviceArray(NDArrayOperatorsMixin):
    """Mock array of another device, on which NumPy's functions work.

    Conversions to host arrays raise TypeError (``np.asarray``, SciPy's matrices, compiled loops),
    as do operations with host arrays other than scalars; use ``*_like`` and ``Counts.array``.
    """

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array__(self, *arguments: object, **named: object) -> Array:
        raise TypeError("an array of another device is converted to a NumPy array")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        result = getattr(ufunc, method)(*to_host(inputs), **to_host(named))
        return named["out"][0] if "out" in named else to_device(result)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, inputs: Any, named: Any
    ) -> Any:
        result = function(*to_host(inputs), **to_host(named))
        return named["out"] if named.get("out") is not None else to_device(result)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # no exchange protocols
            raise AttributeError(name)
        return relocated(getattr(self.values, name))

    def __getitem__(self, place: Any) -> Any:
        return to_device(self.values[to_host(place)])

    def __setitem__(self, place: Any, values: Any) -> None:
        self.values[to_host(place)] = to_host(values)

    def __len__(self) -> int:
        return len(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)


class OnDevice:
    """Counts, or products with them, whose arrays are on another device."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return relocated(getattr(self._host, name))


class DeviceCounts(OnDevice):
    _host: Block

    def array(self, values: Array) -> DeviceArray:
        return DeviceArray(values)

    def map_row_ranges(self, function: Callable[..., object], *arrays: Any, out: Any = None) -> Any:
        def on_device(*parts: Array) -> None:
            function(*map(DeviceArray, parts))

        filled = self._host.map_row_ranges(on_device, *to_host(arrays), out=to_host(out))
        return DeviceArray(filled) if out is None else out

    def map_slices(self, function: Callable[[int, int], Any]) -> list[Any]:
        return self._host.map_slices(function)

    def map_blocks(self, function: Callable[..., Any], *states: Any) -> Any:
        return function(self, *states)

    total = map_blocks

    def map_rows(self, *arguments: Any) -> Any:
        raise TypeError("map_rows is for the driver of EM; equations use map_row_ranges")


def to_host(value: Any) -> Any:
    """Values with device arrays replaced by host arrays; TypeError for host arrays."""
    if isinstance(value, DeviceArray):
        return value.values
    if isinstance(value, tuple | list):
        return type(value)(map(to_host, value))
    if isinstance(value, dict):
        return {name: to_host(one) for name, one in value.items()}
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("a NumPy array is used together with one of another device")
    return value


def to_device(value: Any) -> Any:
    """Values with host arrays, and products of counts, moved to the device."""
    if isinstance(value, np.ndarray):
        return DeviceArray(value)
    if isinstance(value, tuple | list):
        values = map(to_device, value)
        return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
    return OnDevice(value) if hasattr(value, "log_likelihood") else value


def relocated(value: Any) -> Any:
    """An attribute, or a method, with arguments and results on the device."""
    if not callable(value):
        return to_device(value)
    return lambda *inputs, **named: to_device(value(*to_host(inputs), **to_host(named)))
